"""What there is to read of a memory beside what recall finds: its sessions, and what a loaded file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..memory import Memory
from ..operations.files import chunks_of
from ..operations.read import latest_sessions, session_titles, vectors_of
from ..rules.clusters import clusters, names
from ..rules.projection import project
from ..types import Mention, Node

CLUSTERS, LEAST = 8, 12  # on a map at most, and memories in each on average


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


def file_chunks(memory: Memory, path: str) -> list[Mention]:
    """The chunks of a loaded file in its order, as this owner sees them; raises `NotFound` for one that is not loaded."""
    return chunks_of(memory._engine, path)
