"""langchain-postgres: `PGVectorStore`, its forerunner `PGVector`, and
`PostgresChatMessageHistory`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..base.errors import InvalidInput
from ..base.types import CollectionItem
from ..prompt.documents import item_of
from .foreign.database import ForeignDatabase, ForeignTable
from .messages import distinct_ids, langchain_message
from .parts import ForeignDocument, ForeignPart, ForeignRow, NotUnderstood

SQL = "importers/foreign/langchain_postgres"
# The names that PGEngine.init_vectorstore_table gives to the columns.
ID, CONTENT, EMBEDDING, METADATA = "langchain_id", "content", "embedding", "langchain_metadata"


class PGVectorStoreTables:
    """Tables of `PGVectorStore`, one for each store, with one row for each document."""

    kind = "langchain-pgvectorstore"
    expects = (
        "a primary key of one column, a text column that is not null, one vector column, and a "
        "json column for metadata"
    )

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with langchain-postgres' own column names."""
        tables = [
            each
            for each in database.tables
            if each.has(ID, EMBEDDING) or each.has(METADATA, EMBEDDING)
        ]
        return [part for table in tables if (part := self.part_of(table)) is not None]

    def part_of(self, table: ForeignTable) -> ForeignPart | None:
        """The part of a table that is said to be of this kind, whatever its columns are called;
        None if their types are others.
        """
        keys = [each.name for each in table.columns if each.key]
        vectors = [each.name for each in table.columns if each.is_vector]
        texts = [
            each.name
            for each in table.columns
            if each.type in ("text", "varchar") and each.required and not each.key
        ]
        jsons = [each.name for each in table.columns if each.type in ("json", "jsonb")]
        content = CONTENT if CONTENT in texts else texts[0] if len(texts) == 1 else None
        metadata = METADATA if METADATA in jsons else jsons[0] if len(jsons) == 1 else None
        if len(keys) != 1 or len(vectors) != 1 or content is None:
            return None
        columns = {"id": keys[0], "content": content, "embedding": vectors[0]}
        if metadata is not None:
            columns["metadata"] = metadata
        further = tuple(
            each.name
            for each in table.columns
            if each.name not in columns.values() and each.type != "tsvector"
        )
        return ForeignPart(
            kind=self.kind,
            table=table,
            destination="collection",
            into=str(table),
            columns=columns,
            further=further,
        )

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the documents of the table."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The documents in the order of their ids; single columns of metadata are put back into it,
        as the store does.
        """
        statement = "documents" if "metadata" in part.columns else "documents_without_metadata"
        rows = database.read(
            SQL, statement, tables={"table": part.table}, columns=part.columns, further=part.further
        )
        for row in rows:
            metadata = row["metadata"] or {}
            if isinstance(metadata, dict):
                metadata = metadata | {
                    name: row[f"further_{at}"] for at, name in enumerate(part.further)
                }
            yield document_row(row["id"], row["content"], metadata, row["embedding"])


class PGVectorCollections:
    """The collections of `PGVector`, which are all in two tables."""

    kind = "langchain-pgvector"
    expects = (
        "langchain_pg_embedding with collection_id, embedding, document and cmetadata, beside "
        "langchain_pg_collection"
    )

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """One part for each collection."""
        parts = []
        for table in database.tables:
            collections = database.find(table.schema, "langchain_pg_collection")
            keys = [name for name in ("id", "custom_id", "uuid") if table.has(name)]
            is_one = table.name == "langchain_pg_embedding" and table.has(
                "collection_id", "embedding", "document", "cmetadata"
            )
            if (
                is_one
                and collections is not None
                and keys
                and collections.readable
                and table.readable
            ):
                parts += [
                    ForeignPart(
                        kind=self.kind,
                        table=table,
                        destination="collection",
                        into=row["name"],
                        columns={"id": keys[0]},
                        tables={"collections": collections},
                        parameters={"collection": row["uuid"]},
                    )
                    for row in database.read(
                        SQL, "collections", tables={"collections": collections}
                    )
                ]
            elif is_one and collections is not None and keys:
                hidden = collections if table.readable else table
                parts.append(
                    ForeignPart(
                        kind=self.kind, table=hidden, destination="collection", into=str(table)
                    )
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the documents of the collection."""
        return database.count(part.table, SQL, "count_embeddings", **part.parameters)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The documents in the order of their ids."""
        tables = {"table": part.table}
        for row in database.read(
            SQL, "embeddings", tables=tables, columns=part.columns, **part.parameters
        ):
            if row["id"] is None or row["content"] is None:
                yield NotUnderstood(str(row["id"]), "a document without an id or without a text")
            else:
                yield document_row(
                    row["id"], row["content"], row["metadata"] or {}, row["embedding"]
                )


class ChatMessageHistories:
    """Tables of `PostgresChatMessageHistory`, and of its forerunner in langchain-community, which
    has no times.
    """

    kind = "langchain-chat-history"
    expects = "the columns id, session_id and message (json), and created_at"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with its columns."""
        return [
            ForeignPart(kind=self.kind, table=table, destination="log")
            for table in database.tables
            if table.has("id", "session_id", "message")
            and len(table.columns) <= 4
            and (message := table.column("message")) is not None
            and message.type in ("json", "jsonb")
        ]

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the messages of the table."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The messages by session, in the order in which they were added."""
        statement = "messages" if part.table.has("created_at") else "messages_without_time"
        yield from distinct_ids(
            langchain_message(
                row["message"], session=row["session"], id=f"{part.table}:{row['id']}", at=row["at"]
            )
            for row in database.read(SQL, statement, tables={"table": part.table})
        )


def document_row(
    id: str, content: str, metadata: Any, vector: Sequence[float] | None
) -> ForeignRow:
    """A document as HTMVectorStore keeps it, with the vector that it has."""
    try:
        item = item_of(content, metadata, id=id)
    except InvalidInput as error:
        return NotUnderstood(id, str(error))
    return ForeignDocument(_with_vector(item, vector), embedded=content)


def _with_vector(item: CollectionItem, vector: Sequence[float] | None) -> CollectionItem:
    return CollectionItem(
        id=item.id,
        content=item.content,
        metadata=item.metadata,
        payload=item.payload,
        vector=vector,
    )
