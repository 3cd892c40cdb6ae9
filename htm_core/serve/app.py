"""The server as one ASGI application: /health, /ready, /openapi.json, /v1, and the applications
that are mounted beside it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..base.errors import HTMError
from ..client.problems import Problem, problem_of
from ..client.routes import TokenScope
from ..db import tokens
from ..db.database import Database
from .access import Access, RequestRate, require
from .events import Events
from .http import (
    JSON,
    header,
    limited_receive,
    problem_answer,
    refuse_large,
    timed_send,
)
from .kept_answers import KeptAnswers
from .memories import Memories, OpenMemory
from .openapi import document
from .settings import ServerSettings
from .verbs import Verbs

_log = logging.getLogger("htm.server")
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
READY_FOR = 1.0  # seconds for which an answer of the database about /ready counts
READY_WITHIN = 5.0
SECURITY = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """An application below a path such as "/mcp".

    Its requests have passed the same checks: the token, its rate, the size of the body, and
    `scope`. It finds whose memories they are about in `scope["htm.identity"]`. With `signs_in` it
    asks who its users are itself. `lifespan` is entered at the start.
    """

    path: str
    app: ASGIApp
    scope: TokenScope = "read"
    signs_in: bool = False
    lifespan: Callable[[], AbstractAsyncContextManager[object]] | None = None


class Application:
    """The ASGI application. `database` and `executor` are those of the process, `open_memory` opens
    a memory for an identity.
    """

    def __init__(
        self,
        settings: ServerSettings,
        *,
        database: Callable[[], Database],
        executor: Callable[[], Executor],
        open_memory: OpenMemory,
        verb_timeout: float = 30.0,
        mounted: Sequence[Mounted] = (),
    ) -> None:
        self.settings = settings
        self.events = Events(streams=settings.streams)
        self.memories = Memories(open_memory, self.events, executor, most=settings.memories)
        self.access = Access(settings, database, executor)
        self._database, self._executor, self._mounted = database, executor, tuple(mounted)
        self._rates = RequestRate(rate=settings.rate, burst=settings.burst)
        kept = KeptAnswers(database, executor, settings.keep_answers, verb_timeout)
        self._verbs = Verbs(settings, self.memories, kept)
        self._at_work = 0
        self._ready: tuple[float, Problem | None] = (0.0, None)
        self._looking = asyncio.Lock()
        self.is_draining = False

    def mount(self, mounted: Mounted) -> None:
        """Serve one more application below its path, from the next start on."""
        self._mounted = (*self._mounted, mounted)

    def drain(self) -> None:
        """Say of /ready that it is not, and end the streams of events; all else goes on."""
        self.is_draining = True
        self.events.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI calls it."""
        if scope["type"] == "lifespan":
            await Router(lifespan=self._live)(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    @asynccontextmanager
    async def _live(self, _: object) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for mount in self._mounted:
                if mount.lifespan is not None:
                    await stack.enter_async_context(mount.lifespan())
            yield
            self.drain()
            await self.memories.close()

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        supplied = next(
            (
                value.decode("latin-1")
                for name, value in scope["headers"]
                if name == b"x-request-id"
            ),
            "",
        )
        request_id = supplied if _ID.fullmatch(supplied) else uuid.uuid4().hex
        scope.setdefault("raw_path", scope["path"].encode())
        began, status = time.perf_counter(), 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [*SECURITY, (b"x-request-id", request_id.encode())]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        sent = timed_send(told, timeout=self.settings.send_timeout)
        try:
            try:
                await self._answer(scope, receive, sent)
            except (Problem, HTMError) as error:
                problem = error if isinstance(error, Problem) else problem_of(error)
                if not status:
                    await problem_answer(problem, request_id)(scope, receive, sent)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:
            # The message of an error may quote content, so it is not logged.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("request %s failed: %s\n%s", request_id, type(error).__name__, where)
            if not status:
                detail = "the server has failed; its log has the request's id"
                await problem_answer(Problem("internal_error", detail), request_id)(
                    scope, receive, sent
                )
        finally:
            what = scope.get("htm.route", "-")
            who = scope.get("htm.identity")
            name = "-" if who is None else f"{who.tenant}/{who.token_name}"
            taken = 1000 * (time.perf_counter() - began)
            _log.info("%s %s %s %d %.1f ms", request_id, name, what, status, taken)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: bytes = scope["raw_path"]
        if scope["method"] in ("GET", "HEAD") and path in (b"/health", b"/ready", b"/openapi.json"):
            await (await self._about(path, scope))(scope, receive, send)
            return
        # a client that looks here for a way to sign in is told that there is none
        if _is_below(path, "/.well-known"):
            raise Problem(
                "no_such_path",
                "expected a path of /openapi.json: tokens are made with htm tokens create",
            )
        mounted = next((each for each in self._mounted if _is_below(path, each.path)), None)
        if mounted is not None and mounted.signs_in:
            await self._mount(mounted, scope, receive, send)
            return
        identity = scope["htm.identity"] = await self.access.identify(scope)
        self._rates.take(identity.token_id)
        if mounted is not None:
            require(identity, mounted.scope)
            await self._mount(mounted, scope, receive, send)
        elif path == b"/v1/events" and scope["method"] == "GET":
            scope["htm.route"] = "GET /v1/events"
            require(identity, "read")
            last_id, is_valid = header(scope, "last-event-id"), partial(self._is_valid, scope)
            await self.events.serve(identity, last_id, scope, receive, send, is_valid=is_valid)
        else:
            # Not by Starlette's router: it would divide a key at a slash that is written %2F.
            match = self._verbs.route(scope)
            if match.route is not None:
                scope["htm.route"] = f"{match.route.method} {match.route.path}"
            if self._at_work >= self.settings.concurrency:
                raise Problem(
                    "overloaded",
                    "the server has too much to do; ask again",
                    headers={"Retry-After": "1"},
                )
            self._at_work += 1
            try:
                answer = await self._verbs.serve(match, identity, scope, receive)
            finally:
                self._at_work -= 1
            await answer(scope, receive, send)

    async def _is_valid(self, scope: Scope) -> bool:
        """True if the token of a request that is still open has neither been revoked nor expired
        since.
        """
        try:
            await self.access.identify(scope)
        except Problem:
            return False
        except HTMError:  # the database is away, which says nothing about the token
            return True
        return True

    async def _mount(self, mounted: Mounted, scope: Scope, receive: Receive, send: Send) -> None:
        scope["htm.route"] = mounted.path
        refuse_large(scope, most=self.settings.max_body)
        below = {**scope, "root_path": scope.get("root_path", "") + mounted.path}
        limited = limited_receive(
            receive, most=self.settings.max_body, timeout=self.settings.read_timeout
        )
        await mounted.app(below, limited, send)

    async def _about(self, path: bytes, scope: Scope) -> Response:
        scope["htm.route"] = path.decode()
        if path == b"/openapi.json":
            return Response(document(), media_type=JSON)
        if path == b"/ready":
            await self._check_ready()
        return Response(b'{"status": "ok"}', media_type=JSON)

    async def _check_ready(self) -> None:
        """Raise `Problem` while the database gives no answer, its schema is another one, or the
        server is stopping.
        """
        if self.is_draining:
            raise Problem(
                "stopping", "the server is stopping; ask another one", headers={"Retry-After": "2"}
            )
        async with self._looking:  # one look serves all who ask meanwhile
            at, problem = self._ready
            if time.monotonic() - at > READY_FOR:
                problem = await self._look()
                self._ready = (time.monotonic(), problem)
        if problem is not None:
            raise problem

    async def _look(self) -> Problem | None:
        """Return what keeps the database from answering; None where nothing does."""
        look = asyncio.get_running_loop().run_in_executor(
            self._executor(), lambda: tokens.exists(self._database())
        )
        try:
            async with asyncio.timeout(READY_WITHIN):
                await look
        except HTMError as error:
            problem = problem_of(error)
            return Problem(
                problem.code, "the database is not ready", status=503, headers={"Retry-After": "1"}
            )
        except TimeoutError:
            return Problem("database_unavailable", "the database gives no answer", status=503)
        return None


def _is_below(path: bytes, prefix: str) -> bool:
    """True if a path is this one or one below it."""
    start = prefix.encode()
    return path == start or path.startswith(start + b"/")
