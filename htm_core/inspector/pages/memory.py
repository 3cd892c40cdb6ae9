"""A memory's page, and what can be done with it: forget, restore, revise, each confirmed by a page
of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from ...base.errors import NotFound
from ...base.identity import looks_like_id
from ...base.types import Conflict, Job, Mention, Node, Related, Supersession
from ...memory.memory import Memory
from ...prompt.origin import mentions_of
from ...serve.access import require
from ..by_hand import forget_by_hand, restore_by_hand, revise_by_hand
from ..visit import Visit

MENTIONS, RELATED, CHANGES, VERSIONS, KEYS = 50, 20, 20, 50, 5


@dataclass(frozen=True, slots=True)
class WholeMemory:
    """All that is shown of a memory."""

    node: Node
    mentions: Sequence[Mention]
    more_mentions: int  # how many are left out
    histories: Sequence[tuple[str, Sequence[Node]]]
    related: Sequence[Related]
    changes: Sequence[Supersession]
    jobs: Sequence[Job]


async def of_key(visit: Visit) -> Response:
    """The page of the present value of a key."""
    async with visit.memory() as memory:
        node = await memory.aio.get(visit.query.get("name", ""))
    return visit.go(f"/memory/{node.id}", notice=visit.who.notice)


async def show(visit: Visit) -> Response:
    """The page; of what was forgotten it says only that, and offers to restore it."""
    id = id_of(visit)
    async with visit.memory() as memory:
        try:
            node = await memory.aio.get(id)
        except NotFound:
            return visit.page("gone.html", status=404, id=id)
        whole = await _read(memory, node)
    return visit.page("memory.html", whole=whole, node=node)


async def _read(memory: Memory, node: Node) -> WholeMemory:
    mentions, related, changes, jobs, *histories = await asyncio.gather(
        asyncio.to_thread(mentions_of, memory, node),
        memory.aio.related(node.id, hops=1, limit=RELATED),
        memory.aio.changes.list(node.id, limit=CHANGES),
        memory.aio.jobs.list(node=node.id),
        *(memory.aio.history(key) for key in node.keys[:KEYS]),
    )
    return WholeMemory(
        node=node,
        mentions=mentions[:MENTIONS],
        more_mentions=max(0, len(mentions) - MENTIONS),
        histories=[
            (key, each[-VERSIONS:][::-1]) for key, each in zip(node.keys, histories, strict=False)
        ],
        related=related,
        changes=changes,
        jobs=jobs,
    )


async def ask_forget(visit: Visit) -> Response:
    """Ask whether a memory is to be forgotten."""
    return await _confirm(visit, "forget")


async def forget(visit: Visit) -> Response:
    """Forget it."""
    id = id_of(visit)
    await visit.form()
    async with visit.memory() as memory:
        await memory.aio.run(forget_by_hand, memory, id, by=visit.hand)
    return visit.go(
        f"/memory/{id}",
        notice="The memory is forgotten: nothing shows it any more. It can be restored until it "
        "is purged.",
    )


async def ask_restore(visit: Visit) -> Response:
    """Ask whether a forgotten memory is to be shown again."""
    require(visit.who.identity, "write")
    return visit.page("restore.html", id=id_of(visit))


async def restore(visit: Visit) -> Response:
    """Show it again."""
    id = id_of(visit)
    await visit.form()
    async with visit.memory() as memory:
        await memory.aio.run(restore_by_hand, memory, id, by=visit.hand)
    return visit.go(f"/memory/{id}", notice="The memory is restored.")


async def ask_revise(visit: Visit) -> Response:
    """The form for a new value of a key."""
    return await _confirm(visit, "revise")


async def revise(visit: Visit) -> Response:
    """Show the old value and the new one side by side; when that was confirmed, write it over the
    version that was seen.
    """
    id, fields = id_of(visit), await visit.form()
    key, content = fields.get("key", ""), fields.get("content", "")
    version = fields.number("version", default=0, least=0, most=999_999_999)
    async with visit.memory() as memory:
        if "confirmed" not in fields:
            node = await memory.aio.get(id)
            return visit.page(
                "revise.html", node=node, key=key, content=content, version=version, step="confirm"
            )
        written = await memory.aio.run(
            revise_by_hand, memory, key, content, if_version=version, by=visit.hand
        )
    if isinstance(written, Conflict):
        return visit.page("conflict.html", status=409, conflict=written, content=content)
    return visit.go(
        f"/memory/{written.id}", notice=f"The key has a new value, its version {written.version}."
    )


async def _confirm(visit: Visit, action: str) -> Response:
    require(visit.who.identity, "write")
    async with visit.memory() as memory:
        node = await memory.aio.get(id_of(visit))
    if action == "forget":
        return visit.page("forget.html", node=node)
    key = visit.query.get("key") or next(iter(node.keys), None)
    if key is None or key not in node.keys:
        raise NotFound(
            "expected a key of this memory, got none; only the value of a key is revised"
        )
    return visit.page(
        "revise.html",
        node=node,
        key=key,
        content=node.content,
        version=node.version or 0,
        step="write",
    )


def id_of(visit: Visit) -> str:
    """The id in the address of a memory's page; raises `NotFound`."""
    id = str(visit.request.path_params["id"])
    if not looks_like_id(id):
        raise NotFound(f"expected the id of a memory in the address, got {id!r:.80}")
    return id
