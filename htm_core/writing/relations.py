"""Relations: edges between nodes, and the search along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ..base.types import Relation, Source
from ..db.database import Connection
from ..db.queries import load
from ..db.transactions import take_locks

MIN_WEIGHT = 0.1  # below this, nodes share too little of their tags to be related
MAX_EDGES = 50  # edges from shared tags that each node chooses
COMMON_TAG = 1_000  # a tag that more nodes have makes no edge by itself
WALK_WIDTH = 1_000  # nodes from which the walk goes on, at each distance


@dataclass(frozen=True, slots=True)
class FactSource:
    """A text from which facts are extracted, and who said it, when and where."""

    content: str
    owner: str
    robot: str
    session: str
    role: str | None
    name: str | None
    at: datetime
    source_id: UUID | None
    source: Source | None
    trust: int | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RelatedNode:
    """A node found by `walk`, with the strongest path to it."""

    node: UUID
    weight: float
    path: tuple[Relation, ...]


def renew_tag_edges(connection: Connection, nodes: Sequence[UUID]) -> None:
    """Renew the edges of nodes to those that share their tags.

    One call at a time in a tenant: two for the same nodes would each miss the edges of the other.
    """
    take_locks(connection, "relate", ())
    values = {
        "nodes": list(nodes),
        "min_weight": MIN_WEIGHT,
        "max_edges": MAX_EDGES,
        "common": COMMON_TAG,
    }
    connection.execute(load("writing/relations")["renew_tag_edges"], values)


def link(
    connection: Connection, source: UUID, target: UUID, *, kind: str, weight: float, owner: str
) -> None:
    """Add an explicit edge or change its weight; a weight of 0 deletes it."""
    values = {"source": source, "target": target, "kind": kind, "owner": owner}
    if weight > 0:
        connection.execute(load("writing/relations")["link"], values | {"weight": weight})
    else:
        connection.execute(load("writing/relations")["unlink"], values)


def link_new(
    connection: Connection, pairs: Sequence[tuple[UUID, UUID]], *, kind: str, owner: str
) -> None:
    """Add explicit edges between pairs of nodes, with the weight 1; those that there are stay as
    they are.
    """
    values = {
        "sources": [source for source, _ in pairs],
        "targets": [target for _, target in pairs],
    }
    connection.execute(
        load("writing/relations")["link_new"], values | {"kind": kind, "owner": owner}
    )


def walk(
    connection: Connection,
    node: UUID,
    *,
    hops: int,
    kinds: Sequence[str],
    owners: Sequence[str],
    limit: int,
    min_weight: float,
) -> list[RelatedNode]:
    """The live nodes within `hops` edges, each with its strongest path, strongest first."""
    values = {
        "node": node,
        "hops": hops,
        "kinds": list(kinds),
        "owners": list(owners),
        "limit": limit,
    }
    rows = connection.execute(
        load("writing/relations")["walk"], values | {"min_weight": min_weight, "width": WALK_WIDTH}
    )
    return [
        RelatedNode(row["node"], row["weight"], tuple(Relation(**edge) for edge in row["path"]))
        for row in rows
    ]


def source(connection: Connection, node: UUID) -> FactSource | None:
    """The text of a node from which facts are extracted; None when it is hidden or deleted."""
    row = connection.execute(load("writing/relations")["source"], {"node": node}).fetchone()
    return None if row is None else FactSource(**row)


def lock_source(connection: Connection, node: UUID) -> bool:
    """Lock a node until the transaction ends, and return whether it exists and is live."""
    row = connection.execute(load("writing/relations")["lock_source"], {"node": node}).fetchone()
    return row is not None and row["live"]


def add_derived(
    connection: Connection, node: UUID, mentions: Sequence[UUID], *, owner: str
) -> None:
    """Mark mentions as facts from a node: they are hidden, shown and erased with it, and get an
    edge to it.
    """
    connection.execute(
        load("writing/relations")["add_derived"],
        {"source": node, "mentions": list(mentions), "owner": owner},
    )


def drop_of_owner(connection: Connection, *, owner: str) -> None:
    """Delete all edges of an owner."""
    connection.execute(load("writing/relations")["drop_of_owner"], {"owner": owner})
