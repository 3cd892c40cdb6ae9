"""Ids as people type them: whole, or the first digits, at least four; a memory also by its key."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..base.errors import NotFound
from ..memory.memory import Memory
from ..prompt.origin import mentions_of
from .rendering import SHORT_ID
from .short_ids import whole_id


def short(id: str | None) -> str:
    """The first digits of an id, which commands take for the whole."""
    return "" if id is None else id[:SHORT_ID]


def memory_id(memory: Memory, id_or_key: str, *, forgotten: bool = False) -> str:
    """The id of a memory, or its key. With `forgotten` it may be one that is hidden. Raises
    `InvalidInput` for several.
    """
    return whole_id(memory._engine, id_or_key, hidden=forgotten)


def change_id(memory: Memory, wanted: str) -> str:
    """The id of a change."""
    return whole_id(memory._engine, wanted, kind="changes")


def job_ids(memory: Memory, wanted: Sequence[str]) -> list[str]:
    """The ids of jobs."""
    return [whole_id(memory._engine, each, kind="jobs") for each in wanted]


def mention_id(memory: Memory, wanted: str | None) -> str | None:
    """The id of a mention, given by its own or by that of its memory, which stands for the latest
    mention of it.
    """
    if wanted is None:
        return None
    own = whole_id(memory._engine, wanted, kind="mentions", hidden=True)
    if own != wanted:
        return own
    with suppress(NotFound):
        mentions = mentions_of(memory, memory.get(memory_id(memory, wanted)))
        return mentions[0].id if mentions else wanted
    return wanted
