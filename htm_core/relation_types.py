"""The values of tags and relations: what joins one memory to others."""

from __future__ import annotations

from dataclasses import dataclass

from .types import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag, and how many nodes have it or one below it."""

    tag: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFound:
    """A tag that was looked for; `score` in [0, 1] is how much it is what was meant."""

    tag: str
    nodes: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRelated:
    """A tag that stands on the same nodes as another: on `shared` of them; `weight` is shared / (nodes with either)."""

    tag: str
    shared: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge between two nodes, by their ids.

    `kind` is "related", "supports", "contradicts" or "derived" (`source` from `target`); `origin` says where it comes from:
    "tags" that both have, a "proposition" that a model took from its target, or an explicit "link". `weight` is above 0 and
    at most 1.
    """

    source: str
    target: str
    kind: str
    origin: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A node that hangs together with another: by which edges, and how closely.

    `weight` is the product of the edges' weights along `path`, the strongest there is within the hops; `hops` is its length.
    """

    node: Node
    weight: float
    path: tuple[Relation, ...]

    @property
    def hops(self) -> int:
        """How many edges away it is."""
        return len(self.path)
