"""LlamaIndex: the tables of `PGVectorStore` and of `PostgresChatStore`."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

from ..base.types import CollectionItem
from ..prompt.documents import jsonb_metadata
from .foreign.database import ForeignDatabase, ForeignTable
from .messages import distinct_ids, llamaindex_message
from .parts import ForeignDocument, ForeignPart, ForeignRow, NotUnderstood

SQL = "importers/foreign/llama_index"
PREFIX = "data_"  # PGVectorStore puts it before the name that it was given
_CONTENT = "_node_content"


class PGVectorStoreNodes:
    """Tables of `PGVectorStore`, one for each store, with one row for each node."""

    kind = "llamaindex-pgvectorstore"
    expects = "the columns id, node_id, text, metadata_ and embedding"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with its columns. LlamaIndex searches by vectors, which need no name of a
        model.
        """
        return [
            ForeignPart(
                kind=self.kind,
                table=table,
                destination="collection",
                into=_name(table),
                named=False,
            )
            for table in database.tables
            if table.has("id", "node_id", "text", "metadata_", "embedding")
        ]

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the nodes of the table; one that was added twice counts once."""
        return database.count(part.table, SQL, "count_nodes")

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The nodes in the order of their ids, as HTMVectorStore keeps them."""
        for row in database.read(SQL, "nodes", tables={"table": part.table}):
            yield _node(row["id"], row["content"], row["metadata"], row["embedding"])


class PostgresChatStores:
    """Tables of `PostgresChatStore`, with one row for each conversation."""

    kind = "llamaindex-chat-store"
    expects = "the columns id, key and value, which is an array of json"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with its columns."""
        return [
            ForeignPart(kind=self.kind, table=table, destination="log")
            for table in database.tables
            if table.has("id", "key", "value")
            and (value := table.column("value")) is not None
            and value.type in ("_json", "_jsonb")
        ]

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the messages of the table."""
        return database.count(part.table, SQL, "count_messages")

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The messages by conversation, in their order."""
        yield from distinct_ids(
            llamaindex_message(
                message, session=row["session"], where=f"{row['session']}, message {at}"
            )
            for row in database.read(SQL, "chats", tables={"table": part.table})
            for at, message in enumerate(row["messages"] or (), 1)
        )


def _name(table: ForeignTable) -> str:
    return str(table).replace(table.name, table.name.removeprefix(PREFIX) or table.name)


def _node(id: str, text: str, metadata: object, vector: Sequence[float] | None) -> ForeignRow:
    if not isinstance(metadata, dict):
        return NotUnderstood(id, "a node without metadata")
    rest = {name: value for name, value in metadata.items() if name != _CONTENT}
    try:
        exact = json.loads(metadata[_CONTENT])
        payload = json.dumps(exact, separators=(",", ":")).encode("ascii")
    except KeyError:
        payload = None  # put into the table by other means; it has its text and its metadata
    except (TypeError, ValueError):
        return NotUnderstood(id, f"a node whose {_CONTENT} is not JSON")
    source = rest.get("ref_doc_id")
    return ForeignDocument(
        CollectionItem(
            id=id,
            content=text,
            payload=payload,
            metadata=jsonb_metadata(rest),
            reference=source if isinstance(source, str) and source not in ("", "None") else None,
            vector=vector,
        )
    )
