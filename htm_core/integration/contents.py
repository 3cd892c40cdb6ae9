"""What there is to read of a memory beside what recall finds: its sessions, and what a loaded file says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..memory import Memory
from ..operations.files import chunks_of
from ..operations.read import latest_sessions, session_titles, vectors_of, working_history
from ..rules.clusters import clusters, names
from ..rules.projection import project
from ..store.working import NotedChange
from ..types import Mention, Node

CLUSTERS, LEAST = 8, 12  # on a map at most, and memories in each on average
CHANGES, MOVED = 1_000, 8  # changes of working memory that are read at most, and memories of each that are shown
Turn = tuple[str, int]  # a session, and the number of a mention in it


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A memory, its place on a map, from 0 to 1 each way, and the number of its cluster."""

    node: Node
    x: float
    y: float
    cluster: int


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Memories in a plane, near to those whose vectors are like theirs. `shown` is the share of the variance that it shows.

    `clusters` are the words that set each cluster apart, by its number; the largest is the first.
    """

    points: tuple[MapPoint, ...]
    clusters: tuple[tuple[str, ...], ...]
    shown: float
    without_vector: int


@dataclass(frozen=True, slots=True)
class SessionTitle:
    """What a session is called: the title that was stored with it, and what a user said first in it, each in one line."""

    title: str | None
    opening: str | None


def map_of(memory: Memory, nodes: Sequence[Node]) -> MemoryMap:
    """The map of these nodes; those that have no vector yet are left out."""
    vectors = vectors_of(memory._engine, [node.id for node in nodes])
    placed = [node for node in nodes if node.id in vectors]
    places, shown = project([vectors[node.id] for node in placed])
    of_cluster = clusters(places, min(CLUSTERS, len(placed) // LEAST + 1))
    points = tuple(
        MapPoint(node, float(x), float(y), cluster)
        for node, (x, y), cluster in zip(placed, places, of_cluster, strict=True)
    )
    return MemoryMap(
        points, tuple(names([node.content for node in placed], of_cluster)), shown, len(nodes) - len(placed)
    )


def sessions_of(memory: Memory, *, limit: int) -> list[tuple[str, datetime]]:
    """The sessions in which something was said last, and when; the latest first. What files say is none."""
    return latest_sessions(memory._engine, limit=limit)


def titles_of(memory: Memory, sessions: Sequence[str]) -> dict[str, SessionTitle]:
    """What sessions are called, by their names, as far as this owner sees them."""
    found = session_titles(memory._engine, list(dict.fromkeys(sessions))) if sessions else {}
    return {
        session: SessionTitle(title=_one_line(title), opening=_one_line(opening))
        for session, (title, opening) in found.items()
    }


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def changes_of(
    memory: Memory, said: Sequence[Mention], *, begins: Mapping[str, int]
) -> Mapping[Turn, list[NotedChange]]:
    """What working memory recalled and evicted at the turns of some mentions, by session and number.

    A session is read from the first of these mentions to the last, or from an earlier number that `begins` says.
    """
    ends: dict[str, int] = {}
    starts = dict(begins)
    for each in said:
        session = each.session or ""
        starts[session] = min(each.seq, starts.get(session, each.seq))
        ends[session] = max(each.seq, ends.get(session, 0))
    turns = {session: (start, ends.get(session, start)) for session, start in starts.items()}
    found: defaultdict[Turn, list[NotedChange]] = defaultdict(list)
    for change in working_history(memory._engine, turns, first=MOVED, limit=CHANGES) if turns else ():
        found[change.session, change.seq].append(change)
    return found


def file_chunks(memory: Memory, path: str) -> list[Mention]:
    """The chunks of a loaded file in its order, as this owner sees them; raises `NotFound` for one that is not loaded."""
    return chunks_of(memory._engine, path)
