"""Tags of nodes: explicit ones, and the ancestors that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from uuid import UUID

from ..base.limits import TAGS_PER_MEMORY
from ..base.types import TagCount, TagRelated, Window
from ..db import jobs
from ..db.database import Connection
from ..db.queries import load
from ..db.records import Entry, multirange
from ..text.tags import closure, too_many

Given = tuple[UUID, AbstractSet[str]]


def insert(connection: Connection, entries: Sequence[Entry], *, new: set[UUID]) -> None:
    """Add the tags of entries to their nodes, of which some are new; see `add`."""
    tags_by_node: dict[UUID, set[str]] = {}
    for entry in entries:
        if entry.node is not None and entry.tags:
            tags_by_node.setdefault(entry.node, set()).update(entry.tags)
    add(connection, list(tags_by_node.items()))
    # A new node has the tags of this call and no others.
    if any(len(tags) > TAGS_PER_MEMORY for tags in tags_by_node.values()):
        raise too_many("of one memory, with those of other drafts that say the same")
    known = [node for node in tags_by_node if node not in new]
    if known:
        _check_room(connection, known)


def add_to(connection: Connection, node: UUID, tags: Sequence[str]) -> None:
    """Add tags to a node that exists; see `add`. Raises `InvalidInput` when it would have more than
    1,000.
    """
    add(connection, [(node, set(tags))])
    _check_room(connection, [node])


def add_from_model(connection: Connection, node: UUID, tags: Sequence[str]) -> None:
    """Add as many of the tags that a model found as the node has room for."""
    row = connection.execute(load("writing/tags")["count_explicit"], {"nodes": [node]}).fetchone()
    add(connection, [(node, set(tags[: max(0, TAGS_PER_MEMORY - (row["tags"] if row else 0))]))])


def _check_room(connection: Connection, nodes: Sequence[UUID]) -> None:
    """Raise `InvalidInput` when one of these nodes has too many tags by now; that undoes the
    transaction.
    """
    for row in connection.fetch(load("writing/tags")["count_explicit"], {"nodes": list(nodes)}):
        if row["tags"] > TAGS_PER_MEMORY:
            raise too_many(f"of one memory, with the ones that {row['node_id']} has already")


def add(connection: Connection, tagged: Sequence[Given]) -> None:
    """Add normalized tags and their ancestors to nodes, and queue new relations for nodes whose
    tags changed.
    """
    rows = [(path, node, path in tags) for node, tags in tagged for path in sorted(closure(tags))]
    if rows:
        tags, nodes, explicit = (list(column) for column in zip(*rows, strict=True))
        changed = connection.fetch(
            load("writing/tags")["add"], {"tags": tags, "nodes": nodes, "explicit": explicit}
        )
        jobs.enqueue(connection, [row["node_id"] for row in changed], kind="relate")


def lock_node(connection: Connection, node: UUID, *, owner: str) -> bool:
    """Lock a node before its tags change; False when this owner has no such node."""
    return (
        connection.execute(
            load("writing/tags")["lock_node"], {"node": node, "owner": owner}
        ).fetchone()
        is not None
    )


def lock_existing(connection: Connection, node: UUID) -> bool:
    """Lock a node against being erased until the transaction ends; False when it does not exist."""
    return (
        connection.execute(load("writing/tags")["lock_existing"], {"node": node}).fetchone()
        is not None
    )


def remove(connection: Connection, node: UUID, tags: Sequence[str]) -> int:
    """Remove normalized tags from a node, and ancestors that no other tag implies; returns how many
    tags were removed.
    """
    statements = load("writing/tags")
    # The next statement sees what other writers were adding.
    connection.execute(statements["lock_tags"], {"node": node})
    taken = connection.execute(
        statements["unmark_explicit"], {"node": node, "tags": list(tags)}
    ).rowcount
    if taken:
        rows = connection.execute(statements["tags_of_node"], {"node": node}).fetchall()
        implied = closure(row["tag"] for row in rows if row["explicit"])
        unneeded = [row["tag"] for row in rows if row["tag"] not in implied]
        connection.execute(statements["delete_implied"], {"node": node, "tags": unneeded})
        jobs.enqueue(connection, [node], kind="relate")
    return taken


def counts(connection: Connection, *, owners: Sequence[str], prefix: str | None) -> dict[str, int]:
    """Count the live nodes that have each tag or one below it; only `prefix` and
    below, if given.
    """
    rows = connection.execute(
        load("writing/tags")["counts"], {"owners": list(owners), "prefix": prefix}
    )
    return {row["tag"]: row["nodes"] for row in rows}


def count_tagged(connection: Connection, *, owners: Sequence[str]) -> int:
    """Count the live nodes that have any tag."""
    row = connection.execute(
        load("writing/tags")["count_tagged"], {"owners": list(owners)}
    ).fetchone()
    assert row is not None  # an aggregate has one row
    return int(row["nodes"])


def popular(
    connection: Connection, *, owners: Sequence[str], windows: Sequence[Window], limit: int
) -> list[TagCount]:
    """The most frequent explicit tags, of nodes mentioned in the windows."""
    values = {"owners": list(owners), "windows": multirange(windows), "limit": limit}
    return [TagCount(**row) for row in connection.execute(load("writing/tags")["popular"], values)]


def related(
    connection: Connection, tag: str, *, owners: Sequence[str], limit: int
) -> list[TagRelated]:
    """Other tags of the nodes that have a tag, without its ancestors and those below it."""
    values = {"tag": tag, "owners": list(owners), "limit": limit}
    return [
        TagRelated(**row) for row in connection.execute(load("writing/tags")["related"], values)
    ]


def for_tagging(connection: Connection, node: UUID, *, limit: int) -> tuple[str, list[str]] | None:
    """A live node's text, and the tags that its owner uses most; None when it is
    hidden or deleted.
    """
    row = connection.execute(
        load("writing/tags")["for_tagging"], {"node": node, "limit": limit}
    ).fetchone()
    return None if row is None else (row["content"], row["known"])
