"""Contents of a memory that are read without recall: its sessions, and the text of a
loaded file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..base.types import Mention
from ..engine.read import latest_sessions, map_points, map_stamp, session_titles, working_history
from ..files.files import chunks_of
from ..memory.memory import Memory
from ..working.store import NotedChange

CLUSTERS, LEAST = 8, 12  # on a map at most, and memories in each on average
CHARACTERS = 500  # of a memory by which its cluster is named
# changes of working memory that are read at most, and memories of each that are shown
CHANGES, MOVED = 1_000, 8
Turn = tuple[str, int]  # a session, and the number of a mention in it


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A memory, its place on a map, from 0 to 1 each way, and the number of its cluster. `text` is
    how its content begins.
    """

    id: str
    text: str
    created_at: datetime
    x: float
    y: float
    cluster: int


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Memories in a plane, oldest first, near to those whose vectors are like theirs.

    `clusters` are the words that set each cluster apart, by its number; the largest is the first.
    `shown` is the share of the variance that the plane shows. `nodes` is how many memories were
    looked at, also those without a vector. Where a map of now would show other memories, it has
    another `stamp`.
    """

    points: tuple[MapPoint, ...]
    clusters: tuple[tuple[str, ...], ...]
    shown: float
    nodes: int
    stamp: str

    @property
    def without_vector(self) -> int:
        """Number of memories that have no place yet."""
        return self.nodes - len(self.points)


@dataclass(frozen=True, slots=True)
class SessionTitle:
    """The names of a session: the title that was stored with it, and what a user said first in it,
    each in one line.
    """

    title: str | None
    opening: str | None


def map_of(
    memory: Memory, *, tags: Sequence[str] | None = None, limit: int, known: MemoryMap | None = None
) -> MemoryMap:
    """The map of the newest memories, or of those with some tags; `known` itself where it still
    shows the same.
    """
    stamp = map_stamp(memory._engine, tags=tags, limit=limit)
    if known is not None and known.stamp == stamp.stamp:
        return known
    # They need numpy, and most who import this ask for no map: each command that shows sessions, to
    # begin with.
    from .clusters import clusters, names, project

    rows = map_points(memory._engine, stamp.placed, characters=CHARACTERS)
    places, shown = project([row["embedding"] for row in rows])
    of_cluster = clusters(places, min(CLUSTERS, len(rows) // LEAST + 1))
    points = tuple(
        MapPoint(str(row["id"]), row["content"], row["created_at"], x, y, cluster)
        for row, (x, y), cluster in zip(rows, places.tolist(), of_cluster, strict=True)
    )
    labels = tuple(names([row["content"] for row in rows], of_cluster))
    return MemoryMap(points, labels, shown, max(stamp.nodes, len(rows)), stamp.stamp)


def sessions_of(memory: Memory, *, limit: int) -> list[tuple[str, datetime]]:
    """The sessions in which something was said last, and when; the latest first. What files say is
    none.
    """
    return latest_sessions(memory._engine, limit=limit)


def titles_of(memory: Memory, sessions: Sequence[str]) -> dict[str, SessionTitle]:
    """Return the titles of sessions, by their names, as far as this owner sees them."""
    titles = session_titles(memory._engine, list(dict.fromkeys(sessions))) if sessions else {}
    return {
        session: SessionTitle(title=_one_line(title), opening=_one_line(opening))
        for session, (title, opening) in titles.items()
    }


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def changes_of(
    memory: Memory, mentions: Sequence[Mention], *, begins: Mapping[str, int]
) -> Mapping[Turn, list[NotedChange]]:
    """Return what working memory recalled and evicted at the turns of some mentions, by session and
    number.

    A session is read from the first of these mentions to the last, or from an earlier number that
    `begins` says.
    """
    ends: dict[str, int] = {}
    starts = dict(begins)
    for mention in mentions:
        session = mention.session or ""
        starts[session] = min(mention.seq, starts.get(session, mention.seq))
        ends[session] = max(mention.seq, ends.get(session, 0))
    turns = {session: (start, ends.get(session, start)) for session, start in starts.items()}
    changes: defaultdict[Turn, list[NotedChange]] = defaultdict(list)
    for change in (
        working_history(memory._engine, turns, first=MOVED, limit=CHANGES) if turns else ()
    ):
        changes[change.session, change.seq].append(change)
    return changes


def file_chunks(memory: Memory, path: str) -> list[Mention]:
    """The chunks of a loaded file in its order, as this owner sees them; raises `NotFound` for one
    that is not loaded.
    """
    return chunks_of(memory._engine, path)
