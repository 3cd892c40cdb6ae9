"""Filing a memory in the palace: a form, a page that asks once more, and the palace's own checks
with their row of the audit.
"""

from __future__ import annotations

from starlette.responses import Response

from ...palace import Duplicate, Palace, PromotionConflict, check_reason, check_summary
from ...prompt.origin import mentions_of, shown_mention
from ...serve.access import require
from ..visit import Visit
from .memory import id_of


async def ask(visit: Visit) -> Response:
    """The form: which room and drawer, and why."""
    require(visit.who.identity, "write")
    async with visit.memory() as memory:
        node = await memory.aio.get(id_of(visit))
        rooms = await Palace(memory).aio.rooms()
    return visit.page("to_palace.html", node=node, rooms=rooms, step="write")


async def file(visit: Visit) -> Response:
    """Show what will be filed where; when that was confirmed, file the words that were seen."""
    id, fields = id_of(visit), await visit.form()
    async with visit.memory() as memory:
        node = await memory.aio.get(id)
        palace = Palace(memory)
        room, drawer = palace.checked_room(
            fields.get("room", "").strip(), fields.get("drawer", "").strip()
        )
        reason = check_reason(fields.get("reason", ""))
        if "confirmed" not in fields:
            check_summary(node.content)
            return visit.page(
                "to_palace.html", node=node, room=room, drawer=drawer, reason=reason, step="confirm"
            )
        mention = shown_mention(await memory.aio.run(mentions_of, memory, node))
        # a page's words stay a page's, whoever files them
        source = mention.source if mention else None
        done = await palace.aio.submit(
            node.content, room=room, drawer=drawer, reason=reason, source=source
        )
    if isinstance(done, Duplicate):
        return visit.go(
            "/palace",
            room=room,
            drawer=drawer,
            notice="The drawer says this already, so nothing was filed.",
        )
    notice = "The memory is filed."
    if isinstance(done, PromotionConflict):
        notice += (
            f" Texts of the palace that it contradicts: {len(done.contradicts)}. All are "
            "kept, and related."
        )
    return visit.go(
        "/palace", room=room, drawer=drawer, notice=" ".join(filter(None, (notice, done.degraded)))
    )
