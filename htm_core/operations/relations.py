"""How memories hang together: explicit links, and the walk along all edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args
from uuid import UUID

from ..engine.engine import Engine
from ..errors import InvalidInput, NotFound
from ..rules import validation
from ..store import nodes, relations
from ..store.database import Connection
from ..types import Node, Related, Relation, RelationKind
from .read import find

KINDS = get_args(RelationKind)
MOST_HOPS = 6


def link(engine: Engine, source: str | Node, target: str | Node, *, kind: RelationKind, weight: float) -> Relation:
    """Join two nodes that this owner sees, by an edge of their own, or with a weight of 0 take that edge away."""
    checked = _weight(weight)
    with engine.transaction() as connection:
        one, other = _seen(engine, connection, source), _seen(engine, connection, target)
        if one == other:
            raise InvalidInput(f"expected two nodes, got {one} twice; a node is not related to itself")
        relations.link(connection, one, other, kind=_kind(kind), weight=checked, owner=engine.owner)
    return Relation(source=str(one), target=str(other), kind=kind, origin="link", weight=checked)


def related(
    engine: Engine,
    node: str | Node,
    *,
    hops: int,
    kinds: Sequence[RelationKind] | None,
    limit: int,
    min_weight: float,
) -> list[Related]:
    """The nodes within so many edges, by the strongest path to each."""
    if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= MOST_HOPS:
        raise InvalidInput(f"expected hops to be a whole number from 1 to {MOST_HOPS}, got {hops!r}")
    wanted = KINDS if kinds is None else _kinds(kinds)
    lowest = _weight(min_weight, what="min_weight")
    with engine.transaction() as connection:
        start = _seen(engine, connection, node)
        walked = relations.walk(
            connection,
            start,
            hops=hops,
            kinds=wanted,
            owners=engine.owners,
            limit=validation.check_limit(limit),
            min_weight=lowest,
        )
        found = nodes.read(connection, [each.node for each in walked], owners=engine.owners)
    return [Related(node=found[w.node], weight=w.weight, path=w.path) for w in walked if w.node in found]


def _seen(engine: Engine, connection: Connection, node: str | Node) -> UUID:
    """The id of a node that this owner sees and that is not forgotten."""
    given = node.id if isinstance(node, Node) else node
    known = find(engine, connection, given)
    if known is None or not nodes.read(connection, [known], owners=engine.owners):
        raise NotFound(f"expected a node id or a key of this owner, got {given!r}; Memory.list() shows what there is")
    return known


def _kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    if isinstance(kinds, str):
        raise InvalidInput(f"expected kinds to be a list, got the string {kinds!r}; write [{kinds!r}]")
    return tuple(_kind(kind) for kind in kinds)


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise InvalidInput(f"expected kind to be one of {', '.join(KINDS)}, got {kind!r}")
    return kind


def _weight(weight: object, *, what: str = "weight") -> float:
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not math.isfinite(weight) or not 0 <= weight <= 1:  # type: ignore[operator,arg-type]
        raise InvalidInput(f"expected {what} to be a number from 0 to 1, got {weight!r}")
    return float(weight)  # type: ignore[arg-type]
