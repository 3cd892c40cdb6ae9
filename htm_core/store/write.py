"""The one way in: everything that saying something changes, in the order that keeps writers from dead ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from . import forgetting, jobs, keys, mentions, nodes, tags, tenants
from .database import Connection
from .records import Entry, WrittenEntry


@dataclass(frozen=True, slots=True)
class Outcome:
    """What writing did: what became of each entry, and every node whose standing may have changed."""

    written: list[WrittenEntry]
    touched: set[UUID]


def write(connection: Connection, entries: Sequence[Entry], *, owner: str, robot: str, model: str) -> Outcome:
    """Write entries in the order given and say what became of each.

    An entry whose id its session knows is the same mention: with the same words nothing happens, with others it now
    says those. What has no vector yet is owed one, as a job in this transaction. Every writer locks keys first, then
    sessions, then nodes, each in order, so that none waits for another that waits for it.
    """
    keys.lock_all(connection, [entry.key for entry in entries if entry.key is not None], owner=owner)
    mentions.lock_sessions(connection, entries, owner=owner, take=False)
    fresh, changed, settled = _sort(connection, last_said(entries), owner=owner)
    said = fresh + changed
    new = nodes.insert(connection, said, owner=owner)
    mentions.insert(connection, fresh, owner=owner, robot=robot)
    mentions.replace(connection, changed)
    tags.insert(connection, said)
    left = _left(settled)
    touched = keys.assign(connection, said, owner=owner, robot=robot) | left
    _refresh(connection, said, new=new, touched=touched)
    if left:
        forgetting.delete_unmentioned(connection, sorted(left), owner=owner)  # nobody says these words any more
    _embed(connection, said, new=new, model=model)
    by_id = {(entry.session, entry.external_id): entry for entry in said}
    return Outcome([_written(entry, by_id=by_id, settled=settled, new=new) for entry in entries], touched)


def last_said(entries: Sequence[Entry]) -> list[Entry]:
    """Entries without those that a later one of the same id replaces."""
    last = {(e.session, e.external_id): index for index, e in enumerate(entries) if e.external_id is not None}
    return [e for i, e in enumerate(entries) if e.external_id is None or last[e.session, e.external_id] == i]


Settled = dict[tuple[str, str], tuple[Entry, UUID | None]]


def _sort(connection: Connection, entries: Sequence[Entry], *, owner: str) -> tuple[list[Entry], list[Entry], Settled]:
    """Entries by whether they are new, say something else under a known id, or are known as they are."""
    if not any(entry.external_id for entry in entries):
        return list(entries), [], {}
    rows = mentions.known(connection, entries, owner=owner)
    fresh: list[Entry] = []
    changed: list[Entry] = []
    settled: Settled = {}
    for entry in entries:
        row = rows.get((entry.session, entry.external_id or ""))
        if row is None:
            fresh.append(entry)
            continue
        known = replace(entry, mention=row["id"])
        settled[entry.session, entry.external_id or ""] = (known, row["node_id"])
        if row["node_id"] != entry.node or row["differs"]:
            changed.append(known)
    return fresh, changed, settled


def _left(settled: Settled) -> set[UUID]:
    """The nodes that a mention no longer says."""
    return {before for entry, before in settled.values() if before is not None and before != entry.node}


def _refresh(connection: Connection, said: Sequence[Entry], *, new: set[UUID], touched: set[UUID]) -> None:
    times = Counter(entry.node for entry in said)
    again = {node for node in times if node is not None and node not in new}
    described = {e.node for e in said if e.node is not None and e.metadata and (e.node in again or times[e.node] > 1)}
    if again or touched or described:
        nodes.refresh(connection, again | touched, described=described)
    importances = {e.node: e.importance for e in said if e.node is not None and e.importance is not None}
    nodes.set_importances(
        connection, {id: weight for id, weight in importances.items() if id in again or times[id] > 1}
    )


def _embed(connection: Connection, said: Sequence[Entry], *, new: set[UUID], model: str) -> None:
    """Store the vectors that came along and owe the others; those of a model that the tenant has no longer are owed too."""
    first = {entry.node: entry for entry in reversed(said) if entry.node in new}
    given = {
        piece.id: vector
        for entry in first.values()
        for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
        if vector is not None
    }
    stale = bool(given) and tenants.active_model(connection) not in (None, model)
    if not stale:
        nodes.insert_vectors(connection, given, model=model)
    owed = [node for node, entry in first.items() if node is not None and (stale or None in entry.vectors)]
    jobs.enqueue_embedding(connection, owed, model=model)


def _written(
    entry: Entry, *, by_id: dict[tuple[str, str | None], Entry], settled: Settled, new: set[UUID]
) -> WrittenEntry:
    if entry.external_id is not None:
        known = settled.get((entry.session, entry.external_id))
        entry = known[0] if known else by_id[entry.session, entry.external_id]
    return WrittenEntry(mention=entry.mention, node=entry.node, is_new=entry.node in new)
