"""Sessions, and what was said and what working memory did in one of them or in all,
page by page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response

from ...base.types import Mention
from ...serve.contents import Turn, changes_of
from ...working.store import NotedChange
from ..visit import Visit

LATEST = 500  # messages that one page of sessions is made of
ROWS = 50


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session: its messages among those that were looked at, and the last of them."""

    name: str | None
    messages: int
    last: Mention


async def show(visit: Visit) -> Response:
    """The sessions of the latest messages, or of those before one."""
    query = visit.query
    async with visit.memory() as memory:
        mentions = await memory.aio.timeline(limit=LATEST, before=query.get("before"))
    onward = mentions[0].id if len(mentions) == LATEST else None
    return visit.page(
        "sessions.html", rows=sessions_in(mentions), onward=onward, looked_at=len(mentions)
    )


def sessions_in(mentions: Sequence[Mention]) -> list[SessionRow]:
    """The sessions of messages that ascend in time, the latest first."""
    by_session: dict[str | None, list[Mention]] = {}
    for mention in reversed(mentions):
        by_session.setdefault(mention.session, []).append(mention)
    return [SessionRow(name, len(each), each[0]) for name, each in by_session.items()]


async def timeline(visit: Visit) -> Response:
    """Show what was said, oldest first: the latest page, or the one before or after a message. With
    what each turn did.
    """
    query = visit.query
    before, after = query.get("before"), None if "before" in query else query.get("after")
    is_all = "forgotten" in query
    async with visit.memory() as memory:
        read = partial(
            memory.aio.timeline,
            session=query.get("session"),
            robot=query.get("robot"),
            timeframe=query.get("timeframe"),
            before=before,
            after=after,
            limit=ROWS + 1,
        )
        mentions = await read(forgotten=is_all)
        # what only the first shows was forgotten
        shown = {each.id for each in await read()} if is_all else None
        more = len(mentions) > ROWS
        mentions = mentions[:ROWS] if after else mentions[-ROWS:]
        is_first = not (more or after)
        session = query.get("session")
        # What was recalled before the first message of a session stands before it.
        begins = {session: 0} if session and is_first else {}
        changes = await asyncio.to_thread(lambda: changes_of(memory, mentions, begins=begins))
    return visit.page(
        "timeline.html",
        said=mentions,
        shown=shown,
        fields=query,
        session=session,
        changes=_chosen(changes, query.get("robot")),
        before_all=_chosen(changes, query.get("robot")).get((session, 0), [])
        if session and is_first
        else [],
        earlier=mentions[0].id if mentions and (more or after) else None,
        later=mentions[-1].id if mentions and (before or (after and more)) else None,
    )


def _chosen(
    changes: Mapping[Turn, Sequence[NotedChange]], robot: str | None
) -> dict[Turn, list[NotedChange]]:
    """The changes of one robot's working memory, and of groups, or of all."""
    return {
        turn: [each for each in found if robot is None or each.shared or each.holder == robot]
        for turn, found in changes.items()
    }
