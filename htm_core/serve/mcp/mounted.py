"""The Model Context Protocol at `/mcp` of `htm serve`: the same tokens, limits, memories and events
as the verbs.
"""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from ...client.problems import Problem
from ..app import Mounted
from ..memories import Memories, Whose
from .http import streamable_http

PATH = "/mcp"
ROBOT = "default"


def mounted(memories: Memories, *, ignore_unknown: bool = False) -> Mounted:
    """Mount the endpoint. A client is told all ten tools, or with a token that may only read those
    that do.

    Whose memory it is comes from the token. Host and Origin were checked before, as for every
    request.
    """
    mcp = streamable_http(
        lambda request: request.scope["htm.memory"],
        allowed_hosts=None,
        ignore_unknown=ignore_unknown,
        read_only=lambda request: not request.scope["htm.identity"].may("write"),
    )

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["raw_path"].rstrip(b"/") != PATH.encode():
            raise Problem(
                "no_such_path", f"expected {PATH}, got {scope['raw_path'].decode('latin-1')!r:.80}"
            )
        # a request stands for itself: there is no stream to open, and no session to end
        if scope["method"] != "POST":
            raise Problem(
                "method_not_allowed",
                f"expected POST, got {scope['method']!r:.40}",
                headers={"Allow": "POST"},
            )
        identity = scope["htm.identity"]
        whose = Whose(
            tenant=identity.tenant, user=identity.user, robot=identity.robot or ROBOT, session=None
        )
        async with memories.of(whose) as memory:
            await mcp.endpoint({**scope, "htm.memory": memory}, receive, send)

    return Mounted(path=PATH, app=endpoint, lifespan=mcp.run)
