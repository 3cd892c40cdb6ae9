"""The server over stdin and stdout, for a client on the same machine. Nothing but the protocol is written to stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic_core import from_json

UNREADABLE = (
    "expected text that can be said in UTF-8, got a lone surrogate (half of a character); send the whole character, or leave "
    "it out"
)


class _Lines:
    """The lines of stdin, without those that the SDK would drop without an answer, after which a client waits for ever."""

    def __init__(self) -> None:
        self._lines = anyio.wrap_file(TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"))
        self.write: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            id = _unreadable_id(line)
            if id is None:
                yield line
            else:
                error = types.ErrorData(code=types.INVALID_PARAMS, message=UNREADABLE)
                await self.write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id, error=error)))


def _unreadable_id(line: str) -> str | int | None:
    """The id of a request that only a lenient reader can read; None for any other line."""
    if "\\ud" not in line and "\\uD" not in line:
        return None
    try:
        from_json(line)
    except ValueError:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            return None
        id = read.get("id") if isinstance(read, dict) else None
        return id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return None


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes stdin. While it runs, whatever else is printed goes to stderr."""
    lines = _Lines()
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        lines.write = write
        await server.run(read, write, server.create_initialization_options())
