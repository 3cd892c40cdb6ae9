"""Tags, and what relates two nodes."""

from __future__ import annotations

from dataclasses import dataclass

from .memories import Node
from .options import RelationKind, RelationOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag, and how many nodes have it or a tag below it."""

    tag: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFound:
    """A tag that a search found; `score`, from 0 to 1, says how similar it is to the query."""

    tag: str
    nodes: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRelated:
    """A tag that occurs together with another, on `shared` nodes; `weight` is shared / (nodes with
    either).
    """

    tag: str
    shared: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge between two nodes, by their ids.

    `kind` is "related", "supports", "contradicts" or "derived" (`source` from `target`). `origin`
    is "tags" that both have, a "proposition" that a model took from its target, or an explicit
    "link". `weight` is above 0 and at most 1.
    """

    source: str
    target: str
    kind: RelationKind
    origin: RelationOrigin
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A node that is related to another, and how closely.

    `path` holds the edges of the strongest path within the hops; `weight` is the product of their
    weights.
    """

    node: Node
    weight: float
    path: tuple[Relation, ...]

    @property
    def hops(self) -> int:
        """The number of edges of the path."""
        return len(self.path)
