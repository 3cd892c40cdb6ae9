"""The only way to write memories: all changes of one call, in an order that avoids deadlocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.types import DEFAULT_IMPORTANCE, Node
from ..db import jobs, tenants
from ..db.connection import Queued
from ..db.database import Connection
from ..db.errors import RowsMissing
from ..db.queries import load
from ..db.records import Entry, WrittenEntry, new_node
from . import forgetting, keys, mentions, nodes, quotes, tags

FEW = 16  # new nodes of one call, and passages of one node, for which somebody may be waiting


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `write`: one record for each entry, their nodes as they are now, and which of these and of others are live.

    `dead` are those of the entries' nodes and of all others that were changed which are not live. `waiting` are the new nodes whose
    vectors are made soon, since this was a message or a turn and not a part of an import.
    """

    written: list[WrittenEntry]
    nodes: dict[UUID, Node]
    live: set[UUID]
    dead: set[UUID]
    waiting: list[UUID]


@dataclass(frozen=True, slots=True)
class _Again:
    """Effects on nodes that are said again: which of the new mentions are copies, and the nodes, with those that are live."""

    nodes: frozenset[UUID]
    copies: Callable[[], set[UUID]]
    read: Callable[[], tuple[dict[UUID, Node], set[UUID]]]


@dataclass(frozen=True, slots=True)
class Begun:
    """Parts of a write sent with the beginning of its transaction; `again` is of nodes that were there already, as it seemed."""

    inserted: Queued
    late: Queued | None
    again: _Again | None


def begin_write(
    connection: Connection,
    entries: Sequence[Entry],
    *,
    owner: str,
    robot: str,
    model: str,
    seem_known: Collection[UUID],
) -> Begun:
    """Have entries written with what is sent next, unless an id of theirs is known in its session: `write` goes on from there.

    Where `seem_known` are just the nodes that are there already, what follows from that need not be sent after it.
    """
    keys.lock_all(connection, [entry.key for entry in entries if entry.key is not None], owner=owner)
    latest = last_said(entries)
    inserted = _insert(connection, latest, latest, owner=owner, robot=robot, model=model, unless_known=True)
    late = quotes.queue_late(connection, latest)
    changes_more = late or any(each.key is not None or each.tags or each.importance is not None for each in entries)
    again = (
        _say_again(connection, latest, frozenset(seem_known), owner=owner) if seem_known and not changes_more else None
    )
    return Begun(inserted, late, again)


def _say_again(connection: Connection, entries: Sequence[Entry], known: frozenset[UUID], *, owner: str) -> _Again:
    times = Counter(entry.node for entry in entries)
    copies = mentions.queue_copies(connection, _said_again(entries, times, known))
    _refresh(connection, entries, times=times, known=known, touched=set())
    return _Again(known, copies, nodes.queue_written(connection, sorted(known), owner=owner))


def write(
    connection: Connection, entries: Sequence[Entry], *, owner: str, robot: str, model: str, begun: Begun | None = None
) -> Outcome:
    """Write entries in the given order and return the result of each; `begun` is what `begin_write` answered.

    An entry with an id that its session knows is the same mention: with the same text nothing changes, with another text
    the mention gets that text. Nodes without a vector get an embed job in this transaction. Every writer locks keys
    first, then sessions, then nodes, each in order, so that no two writers wait for each other.
    """
    fresh, changed, known = last_said(entries), list[Entry](), Known()
    inserted = None if begun is None else _inserted(begun.inserted)
    if begun is not None and inserted is not None:
        late, again = begun.late, begun.again
    else:
        keys.lock_all(connection, [entry.key for entry in entries if entry.key is not None], owner=owner)
        if any(entry.external_id for entry in entries):  # without ids of the caller all are new
            mentions.lock_sessions(connection, entries, owner=owner)
        fresh, changed, known = _sort(connection, fresh, owner=owner)
        inserted = _inserted(_insert(connection, fresh + changed, fresh, owner=owner, robot=robot, model=model))
        assert inserted is not None  # whatever is known
        late, again = quotes.queue_late(connection, fresh + changed), None
    written, times = fresh + changed, Counter(entry.node for entry in fresh + changed)
    there = frozenset(node for node in times if node is not None and node not in inserted.nodes)
    again = again if again is not None and again.nodes == there else None
    mentions.replace(connection, changed)
    copies = again.copies if again else mentions.queue_copies(connection, _said_again(fresh, times, there))
    tags.insert(connection, written, new=inserted.nodes)
    left = _left(known)
    touched = keys.assign(connection, written, owner=owner, robot=robot) | left
    if again is None:
        _refresh(connection, written, times=times, known=there, touched=touched)
    touched |= (hidden := set(quotes.hidden_late(connection, late)))
    if left:
        forgetting.delete_unmentioned(connection, sorted(left), owner=owner)  # no mention has this text any more
    made = [entry for entry in _first(written) if entry.node in inserted.nodes]
    stale = _store_vectors(connection, made, model=model)
    as_written = _as_written(entries, written, known)
    ids = {entry.node for entry in as_written if entry.node is not None}
    # Those that need not be read to be known: they are live, and were said once.
    nodes_made = [
        new_node(entry, inserted.metadata.get(str(entry.node), {})) for entry in made if times[entry.node] == 1
    ]
    by_id = {UUID(node.id): node for node in nodes_made if node is not None and UUID(node.id) not in hidden}
    unread = ids - by_id.keys()
    read = (
        again.read if again and unread == again.nodes else nodes.queue_written(connection, sorted(unread), owner=owner)
    )
    others = nodes.queue_live(connection, sorted(touched - ids))
    nodes_read, live_read = read()
    live = by_id.keys() | live_read | others()
    return Outcome(
        _results(as_written, known=known, new=inserted.nodes, changed=changed, copies=copies()),
        by_id | nodes_read,
        live,
        (ids | touched) - live,
        waiting=[] if stale else [entry.node for entry in reversed(made) if entry.node in inserted.waiting],
    )


def _said_again(entries: Sequence[Entry], times: Counter[UUID | None], known: frozenset[UUID]) -> list[Entry]:
    return [each for each in entries if each.node is not None and (each.node in known or times[each.node] > 1)]


def _first(entries: Sequence[Entry]) -> list[Entry]:
    """The first entry of each node, the newest node first."""
    return [entry for entry in {entry.node: entry for entry in reversed(entries)}.values() if entry.node is not None]


def last_said(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without those that a later one with the same id replaces."""
    last = {(e.session, e.external_id): index for index, e in enumerate(entries) if e.external_id is not None}
    return [e for i, e in enumerate(entries) if e.external_id is None or last[e.session, e.external_id] == i]


Known = dict[tuple[str, str | None], tuple[Entry, UUID | None]]


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
    entries: Sequence[Entry],
    fresh: Sequence[Entry],
    *,
    owner: str,
    robot: str,
    model: str,
    unless_known: bool = False,
) -> Queued:
    """Have nodes of `entries` that do not exist yet written, with their passages and embed jobs, and the fresh mentions in order.

    With `unless_known` nothing is where a session knows the id of one.
    """
    first = _first(entries)
    pieces = [(entry.node, ordinal, piece) for entry in first for ordinal, piece in enumerate(entry.pieces)]
    return connection.queue(
        load("writing/write")["insert"],
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
            "sessions": [entry.session for entry in fresh],
            "external": [entry.external_id for entry in fresh],
            "ats": [entry.at for entry in fresh],
            "keys": [entry.key for entry in fresh],
            "unless_known": unless_known,
            **mentions.columns(fresh),
        },
    )


def _inserted(queued: Queued) -> _Inserted | None:
    """Return what was written; None where nothing was, since an id is known."""
    (row,) = queued.rows
    if row["new_nodes"] is None:
        return None
    if row["unwritten"]:
        raise RowsMissing(
            f"expected all passages to be written, but {row['unwritten']} of them were not; nothing was written"
        )
    return _Inserted(set(row["new_nodes"]), row["new_metadata"] or {}, set(row["waiting"]))


def _left(known: Known) -> set[UUID]:
    """The nodes that a mention has left for another text."""
    return {before for entry, before in known.values() if before is not None and before != entry.node}


def _refresh(
    connection: Connection,
    entries: Sequence[Entry],
    *,
    times: Counter[UUID | None],
    known: frozenset[UUID],
    touched: set[UUID],
) -> None:
    described = {
        e.node for e in entries if e.node is not None and e.metadata and (e.node in known or times[e.node] > 1)
    }
    if known or touched or described:
        nodes.refresh(connection, known | touched, described=described)
    importances = {e.node: e.importance for e in entries if e.node is not None and e.importance is not None}
    nodes.set_importances(
        connection, {id: weight for id, weight in importances.items() if id in known or times[id] > 1}
    )


def _store_vectors(connection: Connection, made: Sequence[Entry], *, model: str) -> bool:
    """Store the given vectors of new nodes; says whether they are of a model that the tenant no longer has.

    Then all of these nodes have jobs, as if no vector had been given.
    """
    vectors = {
        piece.id: vector
        for entry in made
        for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
        if vector is not None
    }
    if vectors and tenants.active_model(connection) not in (None, model):
        many = len(made) > FEW
        bulk = {entry.node for entry in made if entry.node is not None and (many or len(entry.pieces) > FEW)}
        without = [entry.node for entry in made if entry.node is not None]
        jobs.enqueue_embedding(connection, without, model=model, bulk=bulk)
        return True
    nodes.insert_vectors(connection, vectors, model=model)
    return False


def _as_written(entries: Sequence[Entry], written: Sequence[Entry], known: Known) -> list[Entry]:
    """For each entry what stands for it: of several with one id the last, and of one that is known its mention."""
    last = {(entry.session, entry.external_id): entry for entry in written}
    last |= {id: entry for id, (entry, _) in known.items()}
    return [entry if entry.external_id is None else last[entry.session, entry.external_id] for entry in entries]


def _results(
    entries: Sequence[Entry], *, known: Known, new: set[UUID], changed: Sequence[Entry], copies: set[UUID]
) -> list[WrittenEntry]:
    edited = {entry.mention for entry in changed}
    return [
        WrittenEntry(
            mention=entry.mention,
            node=entry.node,
            is_new=entry.node in new,
            said_again=(entry.session, entry.external_id) not in known
            and entry.node is not None
            and entry.node not in new
            and entry.mention not in copies,
            known=(entry.session, entry.external_id) in known,
            changed=entry.mention in edited,
        )
        for entry in entries
    ]
