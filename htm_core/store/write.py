"""The only way to write memories: all changes of one call, in an order that avoids deadlocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..rules.text.traits import WISHES
from ..types import DEFAULT_IMPORTANCE, Node
from . import forgetting, jobs, keys, mentions, nodes, quotes, tags, tenants
from .database import Connection
from .errors import RowsMissing
from .queries import load
from .records import Entry, PassageDraft, WrittenEntry, new_node

FEW = 16  # new nodes of one call, and passages of one node, for which somebody may be waiting


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `write`: one record for each entry, and the nodes that may have become live or hidden.

    `made` are those of the new nodes that need not be read to be known: they are live, and were said once. `waiting` are the new
    nodes whose vectors are made soon, since this was a message or a turn and not a part of an import.
    """

    written: list[WrittenEntry]
    touched: set[UUID]
    made: dict[UUID, Node]
    waiting: list[UUID]


def write(connection: Connection, entries: Sequence[Entry], *, owner: str, robot: str, model: str) -> Outcome:
    """Write entries in the given order and return the result of each.

    An entry with an id that its session knows is the same mention: with the same text nothing changes, with another text
    the mention gets that text. Nodes without a vector get an embed job in this transaction. Every writer locks keys
    first, then sessions, then nodes, each in order, so that no two writers wait for each other.
    """
    keys.lock_all(connection, [entry.key for entry in entries if entry.key is not None], owner=owner)
    if any(entry.external_id for entry in entries):  # without ids of the caller all are new
        mentions.lock_sessions(connection, entries, owner=owner)
    fresh, changed, known = _sort(connection, last_said(entries), owner=owner)
    said = fresh + changed
    # The first entry of each node, the newest node first.
    first = [entry for entry in {entry.node: entry for entry in reversed(said)}.values() if entry.node is not None]
    wishes = {entry.node: entry.pieces for entry in said if any(piece.traits & WISHES for piece in entry.pieces)}
    times = Counter(entry.node for entry in said)
    inserted = _insert(connection, first, fresh, wishes=wishes, owner=owner, robot=robot, model=model)
    new = inserted.nodes
    mentions.replace(connection, changed)
    copies = mentions.copies(
        connection, [each for each in fresh if each.node is not None and (each.node not in new or times[each.node] > 1)]
    )
    tags.insert(connection, said, new=new)
    left = _left(known)
    touched = keys.assign(connection, said, owner=owner, robot=robot) | left
    _refresh(connection, said, times=times, new=new, touched=touched)
    hidden = set(quotes.forget_late(connection, said))
    if left:
        forgetting.delete_unmentioned(connection, sorted(left), owner=owner)  # no mention has this text any more
    made = [entry for entry in first if entry.node in new]
    stale = _store_vectors(connection, made, model=model)
    by_id = {(entry.session, entry.external_id): entry for entry in said}
    edited = {entry.mention for entry in changed}
    written = [_written(entry, by_id=by_id, known=known, new=new, edited=edited, copies=copies) for entry in entries]
    nodes_made = [
        new_node(entry, inserted.metadata.get(str(entry.node), {})) for entry in made if times[entry.node] == 1
    ]
    return Outcome(
        written,
        touched | hidden,
        made={UUID(node.id): node for node in nodes_made if node is not None and UUID(node.id) not in hidden},
        waiting=[] if stale else [entry.node for entry in reversed(made) if entry.node in inserted.waiting],
    )


def last_said(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without those that a later one with the same id replaces."""
    last = {(e.session, e.external_id): index for index, e in enumerate(entries) if e.external_id is not None}
    return [e for i, e in enumerate(entries) if e.external_id is None or last[e.session, e.external_id] == i]


Known = dict[tuple[str, str], tuple[Entry, UUID | None]]


def _sort(connection: Connection, entries: Sequence[Entry], *, owner: str) -> tuple[list[Entry], list[Entry], Known]:
    """The new entries, those with a known id and another text, and all with a known id with the nodes they had."""
    if not any(entry.external_id for entry in entries):
        return list(entries), [], {}
    rows = mentions.known(connection, entries, owner=owner)
    fresh: list[Entry] = []
    changed: list[Entry] = []
    known: Known = {}
    for entry in entries:
        row = rows.get((entry.session, entry.external_id or ""))
        if row is None:
            fresh.append(entry)
            continue
        same = replace(entry, mention=row["id"])
        known[entry.session, entry.external_id or ""] = (same, row["node_id"])
        if row["node_id"] != entry.node or row["differs"]:
            changed.append(same)
    return fresh, changed, known


@dataclass(frozen=True, slots=True)
class _Inserted:
    """The new nodes, the metadata that they have, and those of them that somebody may wait for: they are few, and no long text."""

    nodes: set[UUID]
    metadata: dict[str, dict[str, Any]]
    waiting: set[UUID]


def _insert(
    connection: Connection,
    first: Sequence[Entry],
    fresh: Sequence[Entry],
    *,
    wishes: Mapping[UUID | None, Sequence[PassageDraft]],
    owner: str,
    robot: str,
    model: str,
) -> _Inserted:
    """Insert the nodes that do not exist yet, with their passages and embed jobs, and the fresh mentions in their order.

    `first` has one entry of each node. `wishes` has the passages of those in which a user wishes something, who need not be the
    first to say it.
    """
    pieces = [
        (entry.node, ordinal, piece)
        for entry in first
        for ordinal, piece in enumerate(wishes.get(entry.node, entry.pieces))
    ]
    row = connection.execute(
        load("write")["insert"],
        {
            "owner": owner,
            "robot": robot,
            "model": model,
            "long": [len(entry.pieces) > FEW if None in entry.vectors else None for entry in first],
            "few": FEW,
            "new_ids": [entry.node for entry in first],
            "new_contents": [entry.content for entry in first],
            "new_tokens": [entry.tokens for entry in first],
            "new_ats": [entry.at for entry in first],
            "new_importances": [
                DEFAULT_IMPORTANCE if entry.importance is None else entry.importance for entry in first
            ],
            "new_metadatas": [Jsonb(entry.metadata) for entry in first],
            "passages": [piece.id for _, _, piece in pieces],
            "passage_nodes": [node for node, _, _ in pieces],
            "ordinals": [ordinal for _, ordinal, _ in pieces],
            "starts": [piece.starts for _, _, piece in pieces],
            "stops": [piece.stops for _, _, piece in pieces],
            "bodies": [piece.words for _, _, piece in pieces],
            "traits": [int(piece.traits) for _, _, piece in pieces],
            "sessions": [entry.session for entry in fresh],
            "external": [entry.external_id for entry in fresh],
            "ats": [entry.at for entry in fresh],
            "keys": [entry.key for entry in fresh],
            **mentions.columns(fresh),
        },
    ).fetchone()
    assert row is not None  # a function that is no set has one row
    if row["unwritten"]:
        raise RowsMissing(
            f"expected {len(pieces)} passages to be written, but {row['unwritten']} of them were not; nothing was written"
        )
    return _Inserted(set(row["new_nodes"]), row["new_metadata"] or {}, set(row["waiting"]))


def _left(known: Known) -> set[UUID]:
    """The nodes that a mention has left for another text."""
    return {before for entry, before in known.values() if before is not None and before != entry.node}


def _refresh(
    connection: Connection, said: Sequence[Entry], *, times: Counter[UUID | None], new: set[UUID], touched: set[UUID]
) -> None:
    existing = {node for node in times if node is not None and node not in new}
    described = {
        e.node for e in said if e.node is not None and e.metadata and (e.node in existing or times[e.node] > 1)
    }
    if existing or touched or described:
        nodes.refresh(connection, existing | touched, described=described)
    importances = {e.node: e.importance for e in said if e.node is not None and e.importance is not None}
    nodes.set_importances(
        connection, {id: weight for id, weight in importances.items() if id in existing or times[id] > 1}
    )


def _store_vectors(connection: Connection, made: Sequence[Entry], *, model: str) -> bool:
    """Store the given vectors of new nodes; says whether they are of a model that the tenant no longer has.

    Then all of these nodes have jobs, as if no vector had been given.
    """
    given = {
        piece.id: vector
        for entry in made
        for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
        if vector is not None
    }
    if given and tenants.active_model(connection) not in (None, model):
        many = len(made) > FEW
        bulk = {entry.node for entry in made if entry.node is not None and (many or len(entry.pieces) > FEW)}
        without = [entry.node for entry in made if entry.node is not None]
        jobs.enqueue_embedding(connection, without, model=model, bulk=bulk)
        return True
    words = {piece.id: words for entry in made for piece, words in zip(entry.pieces, entry.words, strict=True) if words}
    nodes.insert_vectors(connection, given, model=model, words=words)
    return False


def _written(
    entry: Entry,
    *,
    by_id: dict[tuple[str, str | None], Entry],
    known: Known,
    new: set[UUID],
    edited: set[UUID],
    copies: set[UUID],
) -> WrittenEntry:
    found = None
    if entry.external_id is not None:
        found = known.get((entry.session, entry.external_id))
        entry = found[0] if found else by_id[entry.session, entry.external_id]
    return WrittenEntry(
        mention=entry.mention,
        node=entry.node,
        is_new=entry.node in new,
        said_again=found is None and entry.node is not None and entry.node not in new and entry.mention not in copies,
        changed=entry.mention in edited,
    )
