"""Requests that are sent twice with one Idempotency-Key: they are done once, and the second one
gets the first's answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from starlette.responses import Response
from starlette.types import Scope

from ..base.errors import HTMError
from ..base.types import Draft
from ..client.problems import Problem
from ..client.routes import Route
from ..db.database import Database
from . import idempotency
from .http import header
from .idempotency import KeptAnswer, KeptRequest
from .settings import Identity

_T = TypeVar("_T")
_log = logging.getLogger("htm.server")

LONGEST_KEY = 255
# a larger one is not kept: the request is done again, under the same ids
LARGEST_ANSWER = 1_000_000
WAIT = 5.0  # seconds for which a request waits for the same one that is being worked on
LASTING = ("content-type", "etag", "link")


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Keeps answers in the database for `keep` seconds."""

    database: Callable[[], Database]
    executor: Callable[[], Executor]
    keep: float
    lease: float  # seconds that a request may take

    async def once(self, request: KeptRequest, work: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of the work, or the one that the same request had before; raises `Problem`
        when neither is to be had.
        """
        begun = await self._begun(request)
        if isinstance(begun, KeptAnswer):
            return _again(begun)
        try:
            answer = await work()
        except BaseException as error:
            await asyncio.shield(self._abandon(request, begun, error))
            raise
        await asyncio.shield(self._finish(request, begun, answer))
        return answer

    async def _begun(self, request: KeptRequest) -> datetime | KeptAnswer:
        deadline, pause = asyncio.get_running_loop().time() + WAIT, 0.02
        while True:
            begun = await self._run(
                lambda: idempotency.begin(
                    self.database(),
                    request,
                    lease=self.lease + idempotency.LEASE_GRACE,
                    keep=self.keep,
                )
            )
            if not isinstance(begun, KeptAnswer):
                return begun
            if not begun.is_same:
                raise Problem(
                    "idempotency_key_reused",
                    "expected the same request as before with this "
                    "Idempotency-Key, got another one; a "
                    "key is for one request and its repetitions",
                )
            if begun.status is not None:
                return begun
            if asyncio.get_running_loop().time() > deadline:
                raise Problem(
                    "request_in_progress",
                    "the same request is still being worked on; ask again with the same key",
                    headers={"Retry-After": "2"},
                )
            await asyncio.sleep(pause)
            pause = min(0.5, pause * 2)

    async def _finish(self, request: KeptRequest, begun: datetime, answer: Response) -> None:
        if answer.status_code >= 500 or len(answer.body) > LARGEST_ANSWER:
            await self._abandon(request, begun, None)
            return
        headers = {name: value for name, value in answer.headers.items() if name in LASTING}
        try:
            await self._run(
                lambda: idempotency.finish(
                    self.database(),
                    request,
                    begun,
                    status=answer.status_code,
                    headers=headers,
                    body=bytes(answer.body),
                )
            )
        # it was done, and the client gets its answer; only a repetition does it again
        except HTMError as error:
            _log.warning("an answer could not be kept for a repetition: %s", type(error).__name__)

    async def _abandon(
        self, request: KeptRequest, begun: datetime, error: BaseException | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            # the verb may still be at work: its lease keeps others from doing the same beside it
            return
        try:
            await self._run(lambda: idempotency.abandon(self.database(), request, begun))
        except HTMError as failed:  # its lease ends by itself
            _log.warning("a request could not be given up: %s", type(failed).__name__)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self.executor(), work)


def _again(kept: KeptAnswer) -> Response:
    if kept.body is None or kept.status is None:
        raise Problem(
            "answer_dropped",
            "this request was done before; its answer was dropped, since "
            "something of this user was forgotten or "
            "erased in the meantime",
        )
    return Response(kept.body, kept.status, {**kept.headers, "Idempotent-Replayed": "true"})


def kept_request(scope: Scope, route: Route, identity: Identity, body: bytes) -> KeptRequest | None:
    """A request as it is known by its Idempotency-Key; None without one, and for what only reads.

    An answer that is read again is made again: one that was kept would still have what was erased
    or has expired since.
    """
    key = header(scope, "idempotency-key")
    if key is None or route.method == "GET" or route.scope == "read":
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise Problem(
            "bad_request",
            f"expected an Idempotency-Key of 1 to {LONGEST_KEY} printable ASCII "
            "characters, such as a UUID, got "
            f"{len(key)}",
        )
    names = ("if-match", "if-none-match", "htm-robot", "htm-session")
    parts = [
        route.verb.encode(),
        scope["raw_path"],
        scope["query_string"],
        *((header(scope, name) or "").encode() for name in names),
        body,
    ]
    fingerprint = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
    return KeptRequest(
        tenant=identity.tenant,
        user=identity.user,
        token=UUID(identity.token_id),
        key=hashlib.sha256(key.encode()).digest(),
        fingerprint=fingerprint,
    )


def with_ids(route: Route, arguments: dict[str, Any], request: KeptRequest) -> dict[str, Any]:
    """Give what is remembered ids that are the request's, so that it is there once even if the
    answer was never kept.
    """
    made = hashlib.sha256(request.token.bytes + request.key + request.fingerprint).hexdigest()[:40]
    if route.verb == "remember":
        return arguments if arguments.get("id") is not None else {**arguments, "id": f"http:{made}"}
    for name in ("drafts", "messages"):
        if name in arguments and route.verb != "log.replace":
            drafts: list[Draft] = arguments[name]
            named = [
                each if each.id is not None else replace(each, id=f"http:{made}:{place}")
                for place, each in enumerate(drafts)
            ]
            return {**arguments, name: named}
    return arguments
