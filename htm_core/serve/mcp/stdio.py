"""The server over stdin and stdout, for a client on the same machine. Nothing but the protocol is
written to stdout.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from .messages import refusal


class _Lines:
    """The lines of stdin, without those that the SDK would drop without an answer, after which a
    client waits for ever.
    """

    def __init__(self) -> None:
        self._lines = anyio.wrap_file(
            TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        )
        self.write: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            error = await refusal(line, broken=True)
            if error is None:
                yield line
            else:
                await self.write.send(SessionMessage(error))


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes stdin. While it runs, whatever else is printed goes to
    stderr.
    """
    lines = _Lines()
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        lines.write = write
        await server.run(read, write, server.create_initialization_options())
