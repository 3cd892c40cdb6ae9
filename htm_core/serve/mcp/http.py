"""The server over streamable HTTP, to be mounted in an application that knows who asks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..http import JSON
from .messages import refusal
from .server import MemoryFor, ReadsOnly, build_server
from .tools import DEFAULT_BUDGET

BODY = 8 << 20  # bytes of a request: more than a memory may have
LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")


@dataclass(frozen=True, slots=True)
class StreamableHTTP:
    """The endpoint, and what has to run as long as the application does.

    mcp = streamable_http(memory_for)
    app = Starlette(routes=[Route("/mcp", endpoint=mcp.endpoint)], lifespan=lambda app: mcp.run())
    """

    endpoint: ASGIApp
    _manager: StreamableHTTPSessionManager

    def run(self) -> AbstractAsyncContextManager[None]:
        """Enter this in the application's lifespan, once; without it every request fails."""
        return self._manager.run()


def streamable_http(
    memory_for: MemoryFor,
    *,
    budget: int = DEFAULT_BUDGET,
    allowed_hosts: Sequence[str] | None = LOOPBACK,
    allowed_origins: Sequence[str] = (),
    max_body: int = BODY,
    read_only: bool | ReadsOnly = False,
    ignore_unknown: bool = False,
) -> StreamableHTTP:
    """The endpoint of the Model Context Protocol for an ASGI application.

    Args:
        memory_for: Finds the memory of a request from what the application has found out about it,
            such as `request.state` or `request.user`, as for `build_server`. It is called for every
            request: no session of the protocol keeps an identity, so that one which was taken over
                gives nobody's memories.
        budget: The most tokens of an answer, where a call names none.
        allowed_hosts: What the header Host may be, with `:*` for any port; anything else is
            refused, so that no page can reach a server on the reader's machine by a name of its
            own. None allows all: for an application that checks it itself.
        allowed_origins: What the header Origin may be where there is one, likewise.
        max_body: Bytes of a request at most.
        read_only: Offer and do the tools that only read, for all requests or for those of which the
            function says so.
        ignore_unknown: Leave out arguments that a tool does not have, and say so, as for
            `build_server`.

    The application refuses who has no right to ask, before a request gets here. Every request
    stands for itself, and is answered in JSON.
    """
    security: Any = TransportSecuritySettings(
        enable_dns_rebinding_protection=allowed_hosts is not None,
        allowed_hosts=list(allowed_hosts or ()),
        allowed_origins=list(allowed_origins),
    )
    manager = StreamableHTTPSessionManager(
        app=build_server(
            memory_for, budget=budget, read_only=read_only, ignore_unknown=ignore_unknown
        ),
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=max_body,
    )
    return StreamableHTTP(_Endpoint(StreamableHTTPASGIApp(manager), max_body), manager)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The SDK's endpoint, behind a look at the size of each message."""

    app: Any
    max_body: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI calls it."""
        came: deque[Message] = deque()
        body, more = bytearray(), scope["type"] == "http"
        while more and len(body) <= self.max_body:  # what is longer the SDK refuses
            came.append(await receive())
            body += came[-1].get("body", b"")
            more = came[-1].get("more_body", False)
        refused = None if more else await refusal(bytes(body), broken=False)
        if refused is not None:
            content = refused.model_dump_json(by_alias=True).encode()
            await Response(content, 413, media_type=JSON)(scope, receive, send)
            return

        async def again() -> Message:
            return came.popleft() if came else await receive()

        await self.app(scope, again, send)
