"""Relations between memories: explicit links, and the strongest paths along all edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args
from uuid import UUID

from ..base import validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import Node, Related, Relation, RelationKind
from ..db.database import Connection
from ..db.errors import attempts
from ..engine.engine import Engine
from ..engine.read import find
from ..writing import nodes, relations

KINDS = get_args(RelationKind)
MOST_HOPS = 6


def link(
    engine: Engine, source: str | Node, target: str | Node, *, kind: RelationKind, weight: float
) -> Relation:
    """Join two nodes that this owner sees by an explicit edge; a weight of 0 removes it."""
    weight = validation.check_fraction(weight, what="weight")
    validation.check_choice(kind, KINDS, what="kind")
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            one, other = _visible(engine, connection, source), _visible(engine, connection, target)
            if one == other:
                raise InvalidInput(
                    f"expected two nodes, got {one} twice; a node is not related to itself"
                )
            relations.link(connection, one, other, kind=kind, weight=weight, owner=engine.owner)
    return Relation(source=str(one), target=str(other), kind=kind, origin="link", weight=weight)


def related(
    engine: Engine,
    node: str | Node,
    *,
    hops: int,
    kinds: Sequence[RelationKind] | None,
    limit: int,
    min_weight: float,
) -> list[Related]:
    """The nodes within so many edges of a node, each by its strongest path."""
    validation.check_whole(hops, what="hops", least=1, most=MOST_HOPS)
    if isinstance(kinds, str):
        raise InvalidInput(
            f"expected kinds to be a list, got the string {kinds!r}; write [{kinds!r}]"
        )
    for kind in kinds or ():
        validation.check_choice(kind, KINDS, what="kind")
    limit, min_weight = (
        validation.check_limit(limit),
        validation.check_fraction(min_weight, what="min_weight"),
    )
    with engine.transaction() as connection:
        start = _visible(engine, connection, node)
        reached = relations.walk(
            connection,
            start,
            hops=hops,
            kinds=KINDS if kinds is None else kinds,
            owners=engine.owners,
            limit=limit,
            min_weight=min_weight,
        )
        by_id = nodes.read(connection.fetch, [each.node for each in reached], owners=engine.owners)
    return [
        Related(node=by_id[each.node], weight=each.weight, path=each.path)
        for each in reached
        if each.node in by_id
    ]


def _visible(engine: Engine, connection: Connection, node: str | Node) -> UUID:
    """The id of a node that this owner sees and that is not forgotten; raises `NotFound`."""
    id_or_key = node.id if isinstance(node, Node) else node
    id = find(engine, connection.fetch, id_or_key)
    if id is None or not nodes.read(connection.fetch, [id], owners=engine.owners):
        raise NotFound(
            f"expected a node id or a key of this owner, got {id_or_key!r}", advice="memories"
        )
    return id
