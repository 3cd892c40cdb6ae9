"""A call of a verb as a request, and its answer as a value or an error."""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from ..base.errors import DatabaseUnavailable, HTMError
from ..base.types import Conflict
from . import arguments as wire
from .problems import error_of
from .routes import Route, by_verb


class ServerUnavailable(DatabaseUnavailable):
    """The server cannot be reached, or its answer was lost. Where the answer was lost,
    `outcome_unknown` is True.
    """


class RequestRefused(HTMError):
    """The server has refused the request before any verb was called: its token, its size or its
    rate.

    `status` is that of HTTP, `code` that of the problem, such as "unauthorized", "forbidden" or
    "too_many_requests".
    """

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


AGAIN = (429, 503)  # answers after which the same request may be sent again


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request that is ready to be sent, also more than once."""

    route: Route
    path: str
    body: bytes | None
    headers: Mapping[str, str]


@cache
def route_of(verb: Callable[..., Any]) -> Route:
    """The route of a verb, by the function that `Memory` or a handle has."""
    return next(route for route in by_verb().values() if route.function is verb)


def prepare(
    verb: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
    *,
    session: str | None = None,
) -> Prepared:
    """The request of a call; raises `TypeError` as the verb would, and `InvalidInput` for what
    cannot travel.
    """
    route = route_of(verb)
    bound = inspect.signature(verb).bind(None, *args, **options)
    arguments = dict(list(bound.arguments.items())[1:])
    if session is not None:
        arguments["session"] = session
    where = {each.name: each.where for each in wire.parameters(route)}
    values = wire.write(route, arguments)
    in_path = {name: value for name, value in values.items() if where[name] == "path"}
    query = [
        (name, text)
        for name, value in values.items()
        if where[name] == "query"
        for text in wire.query_texts(value)
    ]
    path = route.address(in_path) + (f"?{urlencode(query, quote_via=quote)}" if query else "")
    body, headers = None, {}
    if route.in_body:
        named = {name: value for name, value in values.items() if where[name] == "body"}
        body = json.dumps(named, ensure_ascii=True, allow_nan=False).encode()
        headers["Content-Type"] = "application/json"
    if route.method != "GET":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    return Prepared(route=route, path=path, body=body, headers=headers)


def read(prepared: Prepared, status: int, content_type: str, body: bytes) -> Any:
    """The value of an answer; raises the error that the server's memory raised, or
    `RequestRefused`.
    """
    if status == 204:
        return None
    if status == 200:
        return wire.read_answer(prepared.route, body)
    try:
        problem = json.loads(body) if "json" in content_type else {}
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or "code" not in problem:
        raise ServerUnavailable(
            f"expected an answer of htm serve, got the status {status}; look at the url and what "
            "is in between"
        )
    if "conflict" in problem:
        return wire.read_value(Conflict, problem["conflict"])
    error: HTMError | None = error_of(problem)
    raise error or RequestRefused(
        str(problem.get("detail", "")), status=status, code=str(problem["code"])
    )


def waiting(retry_after: str | None, attempt: int) -> float:
    """Seconds to wait before the same request is sent again."""
    own = 0.2 * 2.0**attempt
    return min(30.0, max(own, float(retry_after))) if retry_after and retry_after.isdigit() else own


def lost(error: Exception, url: str, *, sent: bool) -> ServerUnavailable:
    """The error of a connection that failed."""
    made = ServerUnavailable(
        f"expected an answer of {url}, got {type(error).__name__}; is htm serve running there?"
    )
    made.outcome_unknown = sent
    return made
