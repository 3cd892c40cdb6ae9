"""Requests and answers over ASGI: read within a size and a time, written within a time."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ..client.problems import MEDIA_TYPE, Problem

JSON = "application/json"


def problem_answer(problem: Problem, request_id: str) -> Response:
    """The answer that a problem is."""
    return Response(problem.body(request_id), problem.status, problem.headers, MEDIA_TYPE)


def header(scope: Scope, name: str) -> str | None:
    """A header that may be there once; raises `Problem` for two, of which somebody in between may
    have read the other.
    """
    values = Headers(scope=scope).getlist(name)
    if len(values) > 1:
        raise Problem(
            "bad_request", f"expected the header {name} at most once, got it {len(values)} times"
        )
    return values[0] if values else None


async def read_body(scope: Scope, receive: Receive, *, most: int, timeout: float) -> bytes:
    """The body of a request; raises `Problem` for one that is too slow or too large, unread where
    its length is known.
    """
    refuse_large(scope, most=most)
    try:
        async with asyncio.timeout(timeout):
            return await Request(scope, limited_receive(receive, most=most, timeout=None)).body()
    except TimeoutError:
        raise Problem(
            "request_timeout",
            f"expected the whole body within {timeout:g} s; send it faster, or less of it",
            headers={"Connection": "close"},
        ) from None


def refuse_large(scope: Scope, *, most: int) -> None:
    """Raise `Problem` for a length that is too large or no number, or that is given in two ways."""
    length = header(scope, "content-length")
    if length is None:
        return
    if header(scope, "transfer-encoding") is not None:
        raise Problem(
            "bad_request",
            "expected Content-Length or Transfer-Encoding, got both",
            headers={"Connection": "close"},
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
        "body_too_large",
        f"expected a body of at most {most:,} bytes; send less at once",
        headers={"Connection": "close"},
    )


def limited_receive(receive: Receive, *, most: int, timeout: float | None) -> Receive:
    """The same for an application that reads its body itself: each part comes in time, else the
    client counts as gone.

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
            raise ClientDisconnect from None

    return timed
