"""A conversation as a tree: every edit of a message, and every new answer, begins a branch. One
branch is the current one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def branch(parents: Mapping[str, str | None], leaf: str | None) -> tuple[list[str], str | None]:
    """The ids from a root to a leaf, and the id at which the way up ends early: one that is not
    there, or leads back to itself.
    """
    path: dict[str, None] = {}
    id = leaf
    while id is not None and id in parents and id not in path:
        path[id] = None
        id = parents[id]
    return list(reversed(path)), id


def last_leaf(
    parents: Mapping[str, str | None],
    times: Mapping[str, datetime | None],
    candidates: Iterable[str],
) -> str | None:
    """Of the candidates without a child, the one that was said last: by its time, else by its place
    among the candidates.
    """
    with_children = {
        parent for id, parent in parents.items() if parent is not None and parent != id
    }
    leaves = [
        (times.get(id) or _LONG_AGO, number, id)
        for number, id in enumerate(candidates)
        if id not in with_children
    ]
    return max(leaves)[2] if leaves else None
