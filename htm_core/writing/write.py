"""The only way to write memories: all changes of one call, in an order that avoids deadlocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.types import DEFAULT_IMPORTANCE, Node
from ..db import jobs, tenants
from ..db.connection import Queued
from ..db.database import Connection
from ..db.errors import RowsMissing
from ..db.queries import load
from ..db.records import Entry, WrittenEntry, node_of, timerange
from . import forgetting, keys, nodes, quotes, tags

_UNIQUE = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")
FEW = 16  # new nodes of one call, and passages of one node, for which somebody may be waiting


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `write`: one record for each entry, their nodes as they are now, and which of
    these and of others are live.

    `dead` are those of the entries' nodes and of all others that were changed which are not live.
    `waiting` are the new nodes whose vectors are made soon, since this was a message or a turn and
    not a part of an import.
    """

    written: list[WrittenEntry]
    nodes: dict[UUID, Node]
    live: set[UUID]
    dead: set[UUID]
    waiting: list[UUID]


@dataclass(frozen=True, slots=True)
class _Again:
    """Effects on nodes that are said again: which of the new mentions are copies, and the nodes,
    with those that are live.
    """

    nodes: frozenset[UUID]
    copies: Callable[[], set[UUID]]
    read: Callable[[], tuple[dict[UUID, Node], set[UUID]]]


@dataclass(frozen=True, slots=True)
class Begun:
    """Parts of a write sent with the beginning of its transaction; `again` is of nodes that were
    there already, as it seemed.
    """

    inserted: Queued
    late: Queued | None
    again: _Again | None
    active: Queued | None  # the tenant's model, where vectors were given


def begin_write(
    connection: Connection,
    entries: Sequence[Entry],
    *,
    owner: str,
    robot: str,
    model: str,
    seem_known: Collection[UUID],
) -> Begun:
    """Have entries written with what is sent next, unless an id of theirs is known in its session:
    `write` goes on from there.

    Where `seem_known` are just the nodes that are there already, what follows from that need not be
    sent after it.
    """
    named = [entry.key for entry in entries if entry.key is not None]
    if named:
        keys.lock_all(connection, named, owner=owner)
    latest = last_said(entries)
    inserted = _insert(
        connection, latest, latest, owner=owner, robot=robot, model=model, unless_known=True
    )
    of_tools = [entry for entry in latest if entry.role == "tool"]
    late = quotes.queue_late(connection, of_tools) if of_tools else None
    has_vectors = any(vector is not None for entry in latest for vector in entry.vectors)
    active = tenants.queue_active_model(connection) if has_vectors else None
    changes_more = (
        late or named or any(each.tags or each.importance is not None for each in entries)
    )
    if not seem_known or changes_more:
        return Begun(inserted, late, None, active)
    known = frozenset(seem_known)
    repeated = _repeated(latest, known)
    copies = _queue_copies(connection, [entry for entry in latest if entry.node in repeated])
    _refresh(connection, latest, repeated=repeated, changed=known)
    return Begun(
        inserted, late, _Again(known, copies, _queue_nodes(connection, known, owner=owner)), active
    )


def write(
    connection: Connection,
    entries: Sequence[Entry],
    *,
    owner: str,
    robot: str,
    model: str,
    begun: Begun | None = None,
) -> Outcome:
    """Write entries in the given order and return the result of each; `begun` is what `begin_write`
    answered.

    An entry with an id that its session knows is the same mention: with the same text nothing
    changes, with another text the mention gets that text. Nodes without a vector get an embed job
    in this transaction. Every writer locks keys first, then sessions, then nodes, each in order, so
    that no two writers wait for each other.
    """
    fresh, changed, known = last_said(entries), list[Entry](), Known()
    inserted = None if begun is None else _inserted(begun.inserted)
    if begun is not None and inserted is not None:
        late, again = begun.late, begun.again
    else:
        keys.lock_all(
            connection, [entry.key for entry in entries if entry.key is not None], owner=owner
        )
        if any(entry.external_id for entry in entries):  # without ids of the caller all are new
            fresh, changed, known = _sort(connection, entries, fresh, owner=owner)
        inserted = _inserted(
            _insert(connection, fresh + changed, fresh, owner=owner, robot=robot, model=model)
        )
        assert inserted is not None  # whatever is known
        late, again = quotes.queue_late(connection, fresh + changed), None
    written = fresh + changed
    there = frozenset(
        entry.node
        for entry in written
        if entry.node is not None and entry.node not in inserted.nodes
    )
    repeated = _repeated(written, there)
    again = again if again is not None and again.nodes == there else None
    if changed:
        connection.queue(load("writing/mentions")["replace"], _columns(changed))
    said_again = [entry for entry in fresh if entry.node in repeated]
    copies = again.copies if again else _queue_copies(connection, said_again) if said_again else set
    if any(entry.tags for entry in written):
        tags.insert(connection, written, new=inserted.nodes)
    # The nodes that a mention has left for another text, and those that a key has left or come to.
    left = {
        before for entry, before in known.values() if before is not None and before != entry.node
    }
    touched = set(left)
    if any(entry.key is not None for entry in written):
        touched |= keys.assign(connection, written, owner=owner, robot=robot)
    if again is None and (repeated or touched):
        _refresh(connection, written, repeated=repeated, changed=there | touched)
    hidden = set() if late is None else set(quotes.hidden_late(connection, late))
    if left:
        # no mention has this text any more
        forgetting.delete_unmentioned(connection, sorted(left), owner=owner)
    made = [entry for entry in _first(written) if entry.node in inserted.nodes]
    is_given = any(vector is not None for entry in made for vector in entry.vectors)
    active = None if begun is None else begun.active
    stale = is_given and _store_vectors(
        connection, made, model=model, active=active or tenants.queue_active_model(connection)
    )
    as_written = (
        _as_written(entries, written, known) if known or len(written) < len(entries) else entries
    )
    # Those that need not be read to be known: they are live, and were said once.
    once = [
        _new_node(e, inserted.metadata.get(str(e.node), {})) for e in made if e.node not in repeated
    ]
    nodes_made = {
        UUID(node.id): node for node in once if node is not None and UUID(node.id) not in hidden
    }
    ids = {entry.node for entry in as_written if entry.node is not None}
    touched |= hidden
    nodes_read, live = dict[UUID, Node](), set(nodes_made)
    if ids - live or touched - ids:
        nodes_read, live_read = _read_back(
            connection, ids - live, touched - ids, again, owner=owner
        )
        live |= live_read
    return Outcome(
        _results(as_written, known=known, new=inserted.nodes, changed=changed, copies=copies()),
        nodes_made | nodes_read,
        live,
        (ids | touched) - live,
        waiting=[]
        if stale
        else [entry.node for entry in reversed(made) if entry.node in inserted.waiting],
    )


def _repeated(entries: Sequence[Entry], known: frozenset[UUID]) -> frozenset[UUID]:
    """The nodes that are said again: those that are known, and those of several entries."""
    times = Counter(entry.node for entry in entries if entry.node is not None)
    return known.union(node for node, count in times.items() if count > 1)


def _read_back(
    connection: Connection,
    unread: Set[UUID],
    others: Set[UUID],
    again: _Again | None,
    *,
    owner: str,
) -> tuple[dict[UUID, Node], set[UUID]]:
    """The nodes that must be read to be known, and which of these and of `others` are live; in one
    message.
    """
    read_nodes = read_others = None
    if unread:
        read_nodes = (
            again.read
            if again and unread == again.nodes
            else _queue_nodes(connection, unread, owner=owner)
        )
    if others:
        read_others = nodes.queue_live(connection, sorted(others))
    by_id, live = read_nodes() if read_nodes else ({}, set())
    return by_id, (live | read_others() if read_others else live)


def _queue_nodes(
    connection: Connection, ids: Set[UUID], *, owner: str
) -> Callable[[], tuple[dict[UUID, Node], set[UUID]]]:
    """The nodes of these ids, forgotten ones too, and which of them are live, read with what is
    sent next.
    """
    values = {"ids": sorted(ids), "owners": [owner], "hidden": True, "as_of": None}
    queued = connection.queue(load("writing/nodes")["read"], values)
    return lambda: (
        {row["id"]: node_of(row) for row in queued.rows},
        {row["id"] for row in queued.rows if row["live"]},
    )


def _first(entries: Sequence[Entry]) -> list[Entry]:
    """The first entry of each node, the newest node first."""
    return [
        entry
        for entry in {entry.node: entry for entry in reversed(entries)}.values()
        if entry.node is not None
    ]


def last_said(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without those that a later one with the same id replaces."""
    last = {
        (e.session, e.external_id): index
        for index, e in enumerate(entries)
        if e.external_id is not None
    }
    return [
        e
        for i, e in enumerate(entries)
        if e.external_id is None or last[e.session, e.external_id] == i
    ]


Known = dict[tuple[str, str | None], tuple[Entry, UUID | None]]


def _sort(
    connection: Connection, entries: Sequence[Entry], latest: Sequence[Entry], *, owner: str
) -> tuple[list[Entry], list[Entry], Known]:
    """Lock the sessions of entries, of which a new one is made, and see which mentions they have
    already.

    Answers with the new entries, those with a known id and another text, and all with a known id
    with the nodes they had.
    """
    sessions = list(dict.fromkeys(entry.session for entry in entries))
    connection.queue(
        load("writing/mentions")["lock_sessions"], {"owner": owner, "sessions": sessions}
    )
    named = [entry for entry in latest if entry.external_id is not None]
    columns = {
        "owner": owner,
        "sessions": [entry.session for entry in named],
        "external": [entry.external_id for entry in named],
        "payloads": [entry.payload for entry in named],
    }
    existing = connection.queue(load("writing/mentions")["known_ids"], columns).rows
    rows = {(row["session"], row["external_id"]): row for row in existing}
    fresh: list[Entry] = []
    changed: list[Entry] = []
    known: Known = {}
    for entry in latest:
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
    """The new nodes, the metadata that they have, and those of them that somebody may wait for:
    they are few, and no long text.
    """

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
    """Have nodes of `entries` that do not exist yet written, with their passages and embed jobs,
    and the fresh mentions in order.

    With `unless_known` nothing is where a session knows the id of one.
    """
    first = _first(entries)
    pieces = [
        (entry.node, ordinal, piece)
        for entry in first
        for ordinal, piece in enumerate(entry.pieces)
    ]
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
                DEFAULT_IMPORTANCE if entry.importance is None else entry.importance
                for entry in first
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
            **_columns(fresh),
        },
    )


def _columns(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """Return what mentions have of their entries, in lists of one length. A text that has a node
    stands there alone.
    """
    return {
        "ids": [entry.mention for entry in entries],
        "nodes": [entry.node for entry in entries],
        "contents": [None if entry.node is not None else entry.content for entry in entries],
        "metadatas": [Jsonb(entry.metadata) for entry in entries],
        "payloads": [entry.payload for entry in entries],
        "roles": [entry.role for entry in entries],
        "names": [entry.name for entry in entries],
        "logged": [entry.logged for entry in entries],
        "valid": [None if entry.valid is None else timerange(entry.valid) for entry in entries],
        "valid_words": [entry.valid_words for entry in entries],
        "expires": [entry.expires_at for entry in entries],
        "sources": [entry.source for entry in entries],
        "trust": [entry.trust for entry in entries],
    }


def _inserted(queued: Queued) -> _Inserted | None:
    """Return what was written; None where nothing was, since an id is known."""
    (row,) = queued.rows
    if row["new_nodes"] is None:
        return None
    if row["unwritten"]:
        raise RowsMissing(
            f"expected all passages to be written, but {row['unwritten']} of them were not; "
            "nothing was written"
        )
    return _Inserted(set(row["new_nodes"]), row["new_metadata"] or {}, set(row["waiting"]))


def _queue_copies(connection: Connection, entries: Sequence[Entry]) -> Callable[[], set[UUID]]:
    """Queue a look-up of just written mentions that copy others in any session; copies of what is
    forgotten are forgotten.
    """
    candidates = [
        each
        for each in entries
        if each.is_dated or each.is_retold or _is_made_to_be_unique(each.external_id)
    ]
    if not candidates:
        return set
    values = {
        "ids": [entry.mention for entry in candidates],
        "by_id": [_is_made_to_be_unique(entry.external_id) for entry in candidates],
        "by_time": [entry.is_dated for entry in candidates],
        "by_words": [entry.is_retold for entry in candidates],
    }
    queued = connection.queue(load("writing/mentions")["copies"], values)
    return lambda: {row["id"] for row in queued.rows}


def _is_made_to_be_unique(id: str | None) -> bool:
    """True if an id is one that a framework gives to a message once, and no number or name of a
    place in a conversation.
    """
    return id is not None and _UNIQUE.search(id) is not None


def _refresh(
    connection: Connection,
    entries: Sequence[Entry],
    *,
    repeated: frozenset[UUID],
    changed: Set[UUID],
) -> None:
    """Recompute which of the changed nodes are live, and what nodes that are said again have of
    their mentions.
    """
    again = [entry for entry in entries if entry.node in repeated]
    described = {entry.node for entry in again if entry.node is not None and entry.metadata}
    if changed or described:
        nodes.refresh(connection, changed, described=described)
    importances = {
        e.node: e.importance for e in again if e.node is not None and e.importance is not None
    }
    if importances:
        ids = sorted(importances)
        values = {"ids": ids, "importances": [importances[id] for id in ids]}
        connection.queue(load("writing/nodes")["set_importance"], values)


def _new_node(entry: Entry, metadata: dict[str, Any]) -> Node | None:
    """The node of an entry that has just made it, as it would be read; None where that takes the
    database to say.

    That is so for a key, and for the order of several tags. `metadata` is the entry's as the
    database has it, which may write a number in another way.
    """
    if entry.node is None or entry.key is not None or len(entry.tags) > 1:
        return None
    at = entry.at.astimezone(UTC)
    return Node(
        id=str(entry.node),
        content=entry.content,
        importance=DEFAULT_IMPORTANCE if entry.importance is None else entry.importance,
        tags=entry.tags,
        metadata=metadata,
        tokens=entry.tokens,
        created_at=at,
        accessed_at=at,
        expires_at=None if entry.expires_at is None else entry.expires_at.astimezone(UTC),
        last_said=at,
    )


def _store_vectors(
    connection: Connection, made: Sequence[Entry], *, model: str, active: Queued
) -> bool:
    """Store the given vectors of new nodes; says whether they are of a model that the tenant no
    longer has: `active` is the one that it has.

    Then all of these nodes have jobs, as if no vector had been given.
    """
    vectors = {
        piece.id: vector
        for entry in made
        for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
        if vector is not None
    }
    if vectors and tenants.name_of(active) not in (None, model):
        many = len(made) > FEW
        bulk = {
            entry.node
            for entry in made
            if entry.node is not None and (many or len(entry.pieces) > FEW)
        }
        without = [entry.node for entry in made if entry.node is not None]
        jobs.enqueue_embedding(connection, without, model=model, bulk=bulk)
        return True
    nodes.insert_vectors(connection, vectors, model=model)
    return False


def _as_written(entries: Sequence[Entry], written: Sequence[Entry], known: Known) -> list[Entry]:
    """For each entry what stands for it: of several with one id the last, and of one that is known
    its mention.
    """
    last = {(entry.session, entry.external_id): entry for entry in written}
    last |= {id: entry for id, (entry, _) in known.items()}
    return [
        entry if entry.external_id is None else last[entry.session, entry.external_id]
        for entry in entries
    ]


def _results(
    entries: Sequence[Entry],
    *,
    known: Known,
    new: set[UUID],
    changed: Sequence[Entry],
    copies: set[UUID],
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
