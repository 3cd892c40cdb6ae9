"""MemPalace: the drawers of its pgvector backend, one table for each palace; the closets beside
them are an index of these.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import InvalidInput
from .foreign.database import ForeignDatabase, ForeignTable
from .parts import ForeignMemory, ForeignPart, ForeignRow, NotUnderstood
from .transcripts.mempalace import FORMAT, drawer_turn
from .transcripts.turns import Skip, drafts

SQL = "importers/foreign/mempalace"
COLUMNS = ["id", "document", "metadata", "embedding", "updated_at"]


class MemPalaceDrawers:
    """Tables of MemPalace's pgvector backend."""

    kind = "mempalace"
    expects = f"the columns {', '.join(COLUMNS)}, and no other"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The tables with exactly its columns, each with its closets."""
        tables = [table for table in database.tables if _is_collection(table)]
        closets = {str(table): table for table in tables if table.name.endswith("closets")}
        parts = []
        for table in tables:
            if str(table) not in closets:
                beside = closets.get(str(table).removesuffix("drawers") + "closets")
                more = {"closets": beside} if beside else {}
                parts.append(
                    ForeignPart(kind=self.kind, table=table, destination="palace", tables=more)
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the drawers of the table."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The drawers by their ids."""
        for row in database.read(SQL, "drawers", tables={"table": part.table}):
            yield _drawer(row)


def _is_collection(table: ForeignTable) -> bool:
    return (
        [each.name for each in table.columns] == COLUMNS
        and table.columns[2].type == "jsonb"
        and table.columns[3].is_vector
        and table.name.startswith("mempalace")
    )


def _drawer(row: Mapping[str, Any]) -> ForeignRow:
    fields = row["metadata"] if isinstance(row["metadata"], dict) else {}
    if not fields.get("wing"):
        return NotUnderstood(row["id"], "a row without a wing, which is no drawer")
    left_out: list[Skip] = []
    try:
        turn = drawer_turn(row["id"], row["document"], fields, None, where=row["id"])
        made = list(drafts([turn], format=FORMAT, skip=left_out.append))
    except InvalidInput as error:
        return NotUnderstood(row["id"], str(error))
    if not made:
        return NotUnderstood(row["id"], left_out[0].reason if left_out else "no text in it")
    return ForeignMemory(None, replace(made[0], vector=row["embedding"]))
