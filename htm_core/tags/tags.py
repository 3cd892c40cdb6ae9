"""Tags: hierarchical labels of nodes, to add, remove, search, count and show as a tree."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID

from ..base import validation
from ..base.errors import NotFound
from ..base.types import Node, TagCount, TagFound, TagRelated, TimeframeLike
from ..db.database import Connection
from ..db.errors import retry_transaction
from ..db.verbs import verbs
from ..engine.engine import Engine
from ..engine.read import find, get
from ..text import tags as rules
from ..text.redaction.values import redact_tags
from ..writing import tags as store
from .tag_tree import TagTree, grow

Change = Callable[[Connection, UUID], object]

LIKE_ENOUGH = 0.4  # below this, a tag is not what was looked for


@verbs("htm.tags")
class Tags:
    """The tags of what one owner sees: the owner's nodes and what the tenant shares. Only the
    owner's nodes are changed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, id_or_key: str, tags: Sequence[str]) -> Node:
        """Add tags to a node; it keeps those it has, up to 1,000 of them. Raises `InvalidInput` and
        `NotFound`.
        """
        redactor = self._engine.redactor
        normalized = rules.normalize_all(
            tags if redactor is None else redact_tags(tags, redactor, Counter())
        )
        return self._changed(
            id_or_key, lambda connection, node: store.add_to(connection, node, normalized)
        )

    def remove(self, id_or_key: str, tags: Sequence[str]) -> Node:
        """Remove tags from a node; tags that it does not have are ignored.

        An ancestor stays as long as another tag implies it. Raises `InvalidInput` and `NotFound`.
        """
        normalized = rules.normalize_all(tags)
        return self._changed(
            id_or_key, lambda connection, node: store.remove(connection, node, normalized)
        )

    def tree(self, prefix: str | None = None) -> TagTree:
        """All tags, or those from `prefix` down, each with its number of nodes: to print and to
        draw.
        """
        root = None if prefix is None else rules.normalize(prefix)
        with self._engine.transaction() as connection:
            counts = store.counts(connection, owners=self._engine.owners, prefix=root)
            nodes = (
                store.count_tagged(connection, owners=self._engine.owners) if root is None else 0
            )
        return grow(counts, prefix=root, nodes=nodes)

    def search(self, query: str, *, limit: int = 20) -> builtins.list[TagFound]:
        """Tags by name, best first: whole levels, beginnings, parts, and spelling mistakes.

        Reads every tag of the owner.
        """
        wanted, most = validation.check_query(query), validation.check_limit(limit)
        with self._engine.transaction() as connection:
            counts = store.counts(connection, owners=self._engine.owners, prefix=None)
        hits = [
            TagFound(tag=tag, nodes=nodes, score=score)
            for tag, nodes in counts.items()
            if (score := rules.similarity(wanted, tag)) >= LIKE_ENOUGH
        ]
        return sorted(hits, key=lambda hit: (-hit.score, -hit.nodes, hit.tag))[:most]

    def popular(
        self, *, limit: int = 20, timeframe: TimeframeLike = None
    ) -> builtins.list[TagCount]:
        """The tags that were given to most nodes, of those said in a timeframe. Ancestors count
        only where they were given.
        """
        windows = self._engine.time_windows(timeframe)
        with self._engine.transaction() as connection:
            return store.popular(
                connection,
                owners=self._engine.owners,
                windows=windows,
                limit=validation.check_limit(limit),
            )

    def related(self, tag: str, *, limit: int = 20) -> builtins.list[TagRelated]:
        """The tags that share most nodes with a tag and those below it, closest first; its own
        branch is left out.
        """
        name = rules.normalize(tag)
        with self._engine.transaction() as connection:
            return store.related(
                connection, name, owners=self._engine.owners, limit=validation.check_limit(limit)
            )

    def _held(self, connection: Connection, id_or_key: str) -> UUID:
        node = find(self._engine, connection.fetch, id_or_key)
        if node is None or not store.lock_node(connection, node, owner=self._engine.owner):
            raise NotFound(
                f"expected a node id or a key of this owner, got {id_or_key!r}; what the tenant "
                "shares is tagged by a memory "
                "without a user"
            )
        return node

    def _changed(self, id_or_key: str, change: Change) -> Node:
        node = retry_transaction(lambda: self._change(id_or_key, change))
        self._engine.wake()
        return get(self._engine, str(node))

    def _change(self, id_or_key: str, change: Change) -> UUID:
        with self._engine.transaction() as connection:
            node = self._held(connection, id_or_key)
            change(connection, node)
            return node
