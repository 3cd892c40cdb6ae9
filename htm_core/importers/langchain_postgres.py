"""langchain-postgres: the tables of `PGVectorStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InvalidInput
from ..integration.documents import item_of
from ..store.foreign.database import ForeignDatabase, ForeignTable
from ..types import CollectionItem
from .parts import ForeignDocument, ForeignPart, ForeignRow, NotUnderstood

SQL = "foreign/langchain_postgres"
# The names that PGEngine.init_vectorstore_table gives to the columns.
ID, CONTENT, EMBEDDING, METADATA = "langchain_id", "content", "embedding", "langchain_metadata"


class PGVectorStoreTables:
    """Tables of `PGVectorStore`, one for each store, with one row for each document."""

    kind = "langchain-pgvectorstore"
    expects = (
        "a primary key of one column, a text column that is not null, one vector column, and a json column for metadata"
    )

    def recognise(self, database: ForeignDatabase, *, named: Sequence[ForeignTable] = ()) -> list[ForeignPart]:
        """The tables with langchain-postgres' own column names, and those named that have columns of such types."""
        found = []
        for table in database.tables:
            if table.has(ID, EMBEDDING) or table.has(METADATA, EMBEDDING) or table in named:
                part = self._part(table)
                if part is not None:
                    found.append(part)
        return found

    def _part(self, table: ForeignTable) -> ForeignPart | None:
        keys = [each.name for each in table.columns if each.key]
        vectors = [each.name for each in table.columns if each.is_vector]
        texts = [
            each.name for each in table.columns if each.type in ("text", "varchar") and each.required and not each.key
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
            each.name for each in table.columns if each.name not in columns.values() and each.type != "tsvector"
        )
        return ForeignPart(
            kind=self.kind, table=table, destination="collection", into=str(table), columns=columns, further=further
        )

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """How many documents the table has."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Iterator[ForeignRow]:
        """The documents in the order of their ids; single columns of metadata are put back into it, as the store does."""
        statement = "documents" if "metadata" in part.columns else "documents_without_metadata"
        found = database.read(SQL, statement, tables={"table": part.table}, columns=part.columns, further=part.further)
        for row in found:
            metadata = row["metadata"] or {}
            if isinstance(metadata, dict):
                metadata = metadata | {name: row[f"further_{at}"] for at, name in enumerate(part.further)}
            yield document_row(row["id"], row["content"], metadata, row["embedding"])


def document_row(id: str, content: str, metadata: Any, vector: Sequence[float] | None) -> ForeignRow:
    """A document as HTMVectorStore keeps it, with the vector that it has."""
    try:
        item = item_of(content, metadata, id=id)
    except InvalidInput as error:
        return NotUnderstood(id, str(error))
    return ForeignDocument(_with_vector(item, vector), embedded=content)


def _with_vector(item: CollectionItem, vector: Sequence[float] | None) -> CollectionItem:
    return CollectionItem(id=item.id, content=item.content, metadata=item.metadata, payload=item.payload, vector=vector)
