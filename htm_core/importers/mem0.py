"""mem0: the tables of its pgvector store, one for each collection, with one row for each memory."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..base.types import Draft
from ..prompt.documents import jsonb_metadata
from ..prompt.messages import storable_name
from .foreign.database import ForeignDatabase
from .parts import ForeignMemory, ForeignPart, ForeignRow, NotUnderstood

SQL = "importers/foreign/mem0"
# What mem0 itself writes into a payload, and what has a place of its own here.
_OWN = frozenset(
    {
        "data",
        "hash",
        "text_lemmatized",
        "user_id",
        "run_id",
        "actor_id",
        "role",
        "created_at",
        "updated_at",
    }
)
_ROLES = ("user", "assistant", "system", "tool")


class Mem0Collections:
    """Tables of mem0's pgvector store."""

    kind = "mem0"
    expects = "the columns id, vector and payload (jsonb), and no other"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with exactly its columns; its table of entities, which are no memories,
        belongs to the one of the memories.
        """
        tables = [
            table
            for table in database.tables
            if [each.name for each in table.columns] == ["id", "vector", "payload"]
            and table.columns[1].is_vector
            and table.columns[2].type == "jsonb"
        ]
        parts = []
        for table in tables:
            entities = database.find(table.schema, f"{table.name}_entities")
            if table.name.removesuffix("_entities") not in [
                each.name for each in tables if each != table
            ]:
                more = {"entities": entities} if entities in tables and entities else {}
                parts.append(
                    ForeignPart(kind=self.kind, table=table, destination="memories", tables=more)
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the memories of the table."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The memories by user, in the order in which they were made."""
        for row in database.read(SQL, "memories", tables={"table": part.table}):
            yield _memory(row["id"], row["payload"], row["embedding"])


def _memory(
    id: str, payload: Mapping[str, Any] | None, vector: Sequence[float] | None
) -> ForeignRow:
    payload = payload or {}
    text = payload.get("data")
    if not isinstance(text, str) or not text.strip():
        return NotUnderstood(id, "a row without the text of a memory (data)")
    created, updated = _time(payload.get("created_at")), _time(payload.get("updated_at"))
    metadata = {name: value for name, value in payload.items() if name not in _OWN}
    if created is not None and updated is not None and updated != created:
        metadata["created_at"] = created.isoformat()
    role = payload.get("role")
    user, run = payload.get("user_id"), payload.get("run_id")
    return ForeignMemory(
        user if isinstance(user, str) and user else None,
        Draft(
            content=text,
            id=id,
            session=run if isinstance(run, str) and run else None,
            role=role if role in _ROLES else None,
            name=storable_name(payload.get("actor_id")),
            metadata=jsonb_metadata(metadata),
            at=updated or created,
            source=None if role in _ROLES else "import",
            vector=vector,
        ),
    )


def _time(text: object) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
