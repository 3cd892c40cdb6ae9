"""Memory for every client of the Model Context Protocol: ten tools, resources and a prompt, over
stdio or HTTP.

It needs the official SDK: `pip install "htm-memory[mcp]"`.
"""

from __future__ import annotations

try:
    from .http import StreamableHTTP, streamable_http
    from .server import MemoryFor, build_server
    from .stdio import serve_stdio
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
        raise
    raise ImportError(
        "expected the SDK of the Model Context Protocol, which is not installed; run: pip install "
        '"htm-memory[mcp]"'
    ) from error

__all__ = ["MemoryFor", "StreamableHTTP", "build_server", "serve_stdio", "streamable_http"]
