"""Requests and answers over ASGI: read within a size and a time, written within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from ..client.problems import MEDIA_TYPE, Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"


class ClientGone(Exception):
    """The client has closed the connection; nobody reads an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        """Send it."""
        named = {"content-length": str(len(self.body))} | {name.lower(): value for name, value in self.headers.items()}
        if self.status == 204:
            del named["content-length"]
        raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in named.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        await send({"type": "http.response.body", "body": self.body})


def problem_answer(problem: Problem, request_id: str) -> Answer:
    """The answer that a problem is."""
    headers = {"content-type": MEDIA_TYPE} | problem.headers
    return Answer(status=problem.status, body=problem.body(request_id), headers=headers)


def header(scope: Scope, name: str) -> str | None:
    """A header that may be there once; raises `Problem` for two, of which somebody in between may have read the other."""
    wanted = name.lower().encode("latin-1")
    values = [value for each, value in scope["headers"] if each.lower() == wanted]
    if len(values) > 1:
        raise Problem("bad_request", f"expected the header {name} at most once, got it {len(values)} times")
    return values[0].decode("latin-1") if values else None


async def read_body(scope: Scope, receive: Receive, *, most: int, timeout: float) -> bytes:
    """The body of a request; raises `Problem` for one that is too slow or too large, unread where its length is known."""
    refuse_large(scope, most=most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                size += len(message.get("body", b""))
                if size > most:
                    raise too_large(most)
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Problem(
            "request_timeout", f"expected the whole body within {timeout:g} s; send it faster, or less of it",
            headers={"Connection": "close"},
        ) from None  # fmt: skip


def refuse_large(scope: Scope, *, most: int) -> None:
    """Raise `Problem` for a length that is too large or no number, or that is given in two ways."""
    length = header(scope, "content-length")
    if length is None:
        return
    if header(scope, "transfer-encoding") is not None:
        raise Problem(
            "bad_request", "expected Content-Length or Transfer-Encoding, got both", headers={"Connection": "close"}
        )
    if not length.isascii() or not length.isdigit():
        raise Problem(
            "bad_request",
            f"expected Content-Length to be a number, got {length!r:.40}",
            headers={"Connection": "close"},
        )
    if len(length) > 18 or int(length) > most:
        raise too_large(most)


def too_large(most: int) -> Problem:
    """The problem of a body that is larger than this."""
    return Problem(
        "body_too_large", f"expected a body of at most {most:,} bytes; send less at once",
        headers={"Connection": "close"},
    )  # fmt: skip


def limited_receive(receive: Receive, *, most: int, timeout: float) -> Receive:
    """The same for an application that reads its body itself: each part comes in time, else the client counts as gone.

    Raises `Problem` in that application as soon as the parts together are larger.
    """
    size = 0
    whole = False

    async def limited() -> Message:
        nonlocal size, whole
        if whole:  # what follows is the end of the connection, for which a stream may wait long
            return await receive()
        try:
            async with asyncio.timeout(timeout):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most)
        whole = not message.get("more_body", False)
        return message

    return limited


def timed_send(send: Send, *, timeout: float) -> Send:
    """Send to a client that reads: one that stops reading for this long is given up."""

    async def timed(message: Message) -> None:
        try:
            async with asyncio.timeout(timeout):
                await send(message)
        except TimeoutError:
            raise ClientGone from None

    return timed
