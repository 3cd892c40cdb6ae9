"""The verbs over HTTP: a request becomes a call of a memory, and what it returns or raises becomes
an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlencode

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope

from ..base.errors import InvalidInput, NotFound
from ..base.types import Conflict, Node
from ..client import arguments as wire
from ..client.problems import Problem, problem_of
from ..client.routes import FoundRoute, Route, find
from ..memory.memory import Memory
from .access import require
from .http import JSON, header, read_body
from .kept_answers import KeptAnswers, kept_request, with_ids
from .memories import Memories, Whose
from .settings import Identity, ServerSettings

MOST_QUERY = 16_000  # bytes
FLUSH_AT_ONCE = 20.0  # seconds that one flush may wait


@dataclass(frozen=True, slots=True)
class Verbs:
    """Answers requests under /v1."""

    settings: ServerSettings
    memories: Memories
    kept: KeptAnswers

    def route(self, scope: Scope) -> FoundRoute:
        """The route of a request; raises `Problem` where there is none."""
        raw: bytes = scope["raw_path"]
        try:
            match = find(scope["method"], raw)
        except ValueError:
            raise Problem("bad_request", "expected a path in UTF-8, got other bytes") from None
        if match.route is None and match.methods:
            raise Problem(
                "method_not_allowed",
                f"expected {' or '.join(match.methods)} of this path, got {scope['method']!r:.40}",
                headers={"Allow": ", ".join(match.methods)},
            )
        if match.route is None:
            raise Problem(
                "no_such_path",
                f"expected a path of /openapi.json, got {raw.decode('latin-1')!r:.80}",
            )
        return match

    async def serve(
        self, match: FoundRoute, identity: Identity, scope: Scope, receive: Receive
    ) -> Response:
        """Answer a request; raises `Problem` and `HTMError`."""
        route = match.route
        assert route is not None  # `route` has raised otherwise
        require(identity, route.scope)
        whose = _whose(scope, identity)
        body = await self._body(route, scope, receive)
        arguments = await self.memories.aside(
            lambda: _arguments(route, match.values, scope, body), size=len(body)
        )
        _refuse_others(route, identity, arguments)
        expected = _expected_version(route, scope, arguments)
        request = kept_request(scope, route, identity, body)
        if request is not None:
            arguments = with_ids(route, arguments, request)

        async def work() -> Response:
            async with self.memories.of(whose) as memory:
                return await _answer(route, memory, arguments, scope, expected)

        return await work() if request is None else await self.kept.once(request, work)

    async def _body(self, route: Route, scope: Scope, receive: Receive) -> bytes:
        body = await read_body(
            scope, receive, most=self.settings.max_body, timeout=self.settings.read_timeout
        )
        if not route.in_body:
            if body:
                raise Problem(
                    "bad_request",
                    f"expected no body for {route.method}; its arguments are in the query",
                )
            return b""
        kind = (header(scope, "content-type") or "").partition(";")[0].strip().lower()
        if body and kind != JSON:
            raise Problem(
                "unsupported_media_type", f"expected Content-Type: {JSON}, got {kind!r:.60}"
            )
        if header(scope, "content-encoding") not in (None, "identity"):
            raise Problem(
                "unsupported_media_type", "expected no Content-Encoding; send the JSON as it is"
            )
        return body


def _whose(scope: Scope, identity: Identity) -> Whose:
    robot, session = _name(scope, "HTM-Robot"), _name(scope, "HTM-Session")
    if robot is not None and identity.robot not in (None, robot):
        raise Problem(
            "forbidden", "expected no HTM-Robot, or the token's own robot, got another one"
        )
    return Whose(
        tenant=identity.tenant,
        user=identity.user,
        robot=robot or identity.robot or "default",
        session=session,
    )


def _name(scope: Scope, name: str) -> str | None:
    """A name in a header, percent-encoded where it is not plain ASCII."""
    value = header(scope, name)
    if not value:
        return None
    try:
        return unquote_to_bytes(value.encode("latin-1")).decode("utf-8")
    except ValueError:
        raise Problem(
            "bad_request", f"expected {name} to be percent-encoded UTF-8, got {value!r:.60}"
        ) from None


def _arguments(
    route: Route, in_path: Mapping[str, str], scope: Scope, body: bytes
) -> dict[str, Any]:
    """The arguments of a request, checked; raises `Problem` for JSON that cannot be read, and else
    `InvalidInput`.
    """
    query = _query(scope)
    try:
        if route.in_body:
            if query:
                raise InvalidInput(
                    f"expected no query, since {route.method} has its arguments in the body"
                )
            return {**wire.read_body(route, body), **in_path}
        return {**wire.read_query(route, query), **in_path}
    except ValidationError as error:
        detail, parts = wire.explain(error)
        if error.errors(include_url=False, include_context=False)[0]["type"] == "json_invalid":
            raise Problem("bad_request", detail) from None
        raise Problem("invalid_input", detail, status=422, more={"errors": parts}) from None


def _query(scope: Scope) -> dict[str, list[str]]:
    raw: bytes = scope["query_string"]
    if len(raw) > MOST_QUERY:
        raise Problem(
            "bad_request", f"expected a query of at most {MOST_QUERY:,} bytes, got {len(raw):,}"
        )
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=1_000
        )
    except ValueError:
        raise Problem(
            "bad_request", "expected a query of percent-encoded UTF-8, got other bytes"
        ) from None
    query: dict[str, list[str]] = {}
    for name, value in pairs:
        query.setdefault(name, []).append(value)
    return query


def _refuse_others(route: Route, identity: Identity, arguments: Mapping[str, Any]) -> None:
    """Require an administrator for what concerns others than the token's user."""
    if arguments.get("scope") == "tenant":
        require(identity, "admin", why=' for scope="tenant"')
    if arguments.get("user") not in (None, identity.user):
        require(identity, "admin", why=f" for {route.verb} of another user")


def _expected_version(route: Route, scope: Scope, arguments: Mapping[str, Any]) -> int | str | None:
    """The version of If-Match, 0 for "If-None-Match: *", "*" for any that there is; None without a
    condition.
    """
    match, none_match = header(scope, "if-match"), header(scope, "if-none-match")
    if match is None and (none_match is None or route.method == "GET"):
        return None
    if route.verb != "revise":
        raise Problem(
            "bad_request",
            "expected no If-Match or If-None-Match here; PUT /v1/keys/{key} understands them",
        )
    if match is not None and none_match is not None:
        raise Problem("bad_request", "expected If-Match or If-None-Match, got both")
    if arguments.get("if_version") is not None:
        raise Problem("bad_request", "expected If-Match or if_version in the body, got both")
    if none_match is not None:
        if none_match.strip() != "*":
            raise Problem("bad_request", f"expected If-None-Match: *, got {none_match!r:.60}")
        return 0
    wanted = (match or "").strip()
    if wanted == "*":
        return "*"
    digits = wanted[1:-1]
    if not (
        wanted[:1] == wanted[-1:] == '"'
        and digits.isascii()
        and digits.isdigit()
        and 0 < len(digits) < 10
    ):
        raise Problem(
            "bad_request", f'expected If-Match with one ETag such as "3", or *, got {wanted!r:.60}'
        )
    return int(digits)


async def _answer(
    route: Route,
    memory: Memory,
    arguments: dict[str, Any],
    scope: Scope,
    expected: int | str | None,
) -> Response:
    if expected == "*":
        try:
            expected = (await memory.aio.get(arguments["key"])).version
        except NotFound:
            raise Problem(
                "precondition_failed",
                "expected the key to have a value, as If-Match: * says, got none",
            ) from None
    if expected is not None:
        arguments = {**arguments, "if_version": expected}
    if route.verb == "flush":
        arguments = {
            **arguments,
            "timeout": min(arguments.get("timeout") or FLUSH_AT_ONCE, FLUSH_AT_ONCE),
        }
    value = await _call(route, memory, arguments)
    if isinstance(value, Conflict):
        raise _conflict(value, by_header=expected is not None)
    if value is None:
        return Response(status_code=204)
    headers = _links(route, arguments, scope, value)
    if route.is_key and isinstance(value, Node) and value.version is not None:
        headers["ETag"] = f'"{value.version}"'
    return Response(wire.write_answer(route, value), headers=headers, media_type=JSON)


async def _call(route: Route, memory: Memory, arguments: Mapping[str, Any]) -> Any:
    """Call a verb on the memory's threads, within its time; raises `Problem` that names the
    argument that it refuses.
    """
    handle, _, name = route.verb.rpartition(".")
    values = dict(arguments)
    twin: Any = memory.aio
    if handle == "log":
        twin = twin.log(values.pop("session"))
    elif handle:
        twin = getattr(twin, handle)
    try:
        return await getattr(twin, name)(**values)
    except InvalidInput as error:
        raise _naming_argument(problem_of(error), route) from error


def _naming_argument(problem: Problem, route: Route) -> Problem:
    """A problem with the argument of a request that its sentence is about."""
    named = problem.detail.removeprefix("expected ").partition(" ")[0]
    if any(each.name == named for each in wire.parameters(route)):
        problem.more["errors"] = [{"argument": named, "message": problem.detail}]
    return problem


def _conflict(conflict: Conflict, *, by_header: bool) -> Problem:
    version = 0 if conflict.current is None else conflict.current.version
    return Problem(
        "precondition_failed" if by_header else "conflict",
        f"expected the key at version {conflict.expected}, got version {version}; nothing was "
        "written. Read it and decide again",
        headers={} if conflict.current is None else {"ETag": f'"{version}"'},
        more={"conflict": wire.jsonable(conflict)},
    )


def _links(route: Route, arguments: Mapping[str, Any], scope: Scope, value: Any) -> dict[str, str]:
    """The address of the next page, where the answer is as long as was asked for."""
    if route.page is None or not isinstance(value, Sequence):
        return {}
    default = next(each.default for each in wire.parameters(route) if each.name == "limit")
    if not value or len(value) < arguments.get("limit", default):
        return {}
    onward, name = value[-1], route.page
    if route.goes_back:
        name = "after" if arguments.get("after") is not None else "before"
        onward = value[-1] if name == "after" else value[0]
    kept = [
        (each, text)
        for each, texts in _query(scope).items()
        for text in texts
        if each not in (route.page, name)
    ]
    query = urlencode([*kept, (name, onward.id)])
    return {"Link": f'<{route.address({})}?{query}>; rel="next"'}
