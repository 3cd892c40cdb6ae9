"""HTM, the Ruby gem: what each of its robots remembers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Any

from ..base.errors import InvalidInput
from ..base.types import Draft
from ..prompt.documents import jsonb_metadata
from ..prompt.messages import storable_name
from ..text.tags import normalize
from .foreign.database import ForeignDatabase
from .parts import ForeignMemory, ForeignPart, ForeignRow, NotUnderstood

SQL = "importers/foreign/ruby_htm"
# The tables beside `nodes` that are read, and those that hold nothing to import, with columns to
# know them by.
_READ = {
    "robots": ("id", "name"),
    "robot_nodes": (
        "id",
        "robot_id",
        "node_id",
        "last_remembered_at",
        "remember_count",
        "created_at",
        "deleted_at",
    ),
    "tags": ("id", "name", "deleted_at"),
    "node_tags": ("node_id", "tag_id", "deleted_at"),
}
_OTHERS = ("file_sources", "node_relationships", "schema_migrations")
_NODE = (
    "id",
    "content",
    "content_hash",
    "created_at",
    "embedding",
    "metadata",
    "source_id",
    "deleted_at",
)
# Where a memory's tags are in its metadata, as far as they cannot be tags here.
OTHER_TAGS = "other_tags"


class RubyHTM:
    """The database of the Ruby gem `htm`. A memory of two robots is a mention of each."""

    kind = "ruby-htm"
    expects = "the table nodes of the gem htm, beside robots, robot_nodes, tags and node_tags"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The table `nodes` of each schema that has the gem's other tables, as its last migration
        leaves them.
        """
        parts = []
        for table in database.tables:
            if table.name != "nodes" or not table.has(*_NODE):
                continue
            beside = {name: database.find(table.schema, name) for name in (*_READ, *_OTHERS)}
            tables = {name: other for name, other in beside.items() if other is not None}
            if all(
                name in tables and tables[name].has(*columns) for name, columns in _READ.items()
            ):
                parts.append(
                    ForeignPart(kind=self.kind, table=table, destination="memories", tables=tables)
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the memories of the robots, one for each robot that remembers it."""
        tables = {"robot_nodes": part.tables["robot_nodes"]}
        [row] = database.read(SQL, "count_memories", tables={"table": part.table} | tables)
        return int(row["count"])

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The memories by robot, in the order in which they were remembered last, with their
        vectors as the model made them.
        """
        tables = {"table": part.table} | {name: part.tables[name] for name in _READ}
        [first] = database.read(SQL, "dimension", tables={"table": part.table})
        for row in database.read(SQL, "memories", tables=tables, dimension=first["dimension"] or 0):
            id = f"htm:{row['id']}"
            try:
                at = _aware(row["at"])
            except (OverflowError, ValueError, OSError):
                yield NotUnderstood(id, f"a time that is none on this machine: {row['at']}")
                continue
            tags, others = _sorted_out(row["tags"])
            yield ForeignMemory(
                None,
                Draft(
                    content=row["content"],
                    id=id,
                    at=at,
                    tags=tags,
                    metadata=jsonb_metadata(
                        ({OTHER_TAGS: others} if others else {}) | (row["metadata"] or {})
                    ),
                    source="file" if row["from_file"] else "import",
                    vector=row["embedding"] or None,
                ),
                robot=storable_name(row["robot"]),
            )


def _aware(at: datetime | None) -> datetime | None:
    """A time with its offset. The gem's own tables have none since it uses Sequel: it writes the
    time of its machine.
    """
    return at if at is None or at.utcoffset() is not None else at.astimezone()


def _sorted_out(tags: Sequence[Any]) -> tuple[tuple[str, ...], list[str]]:
    """The tags that can be tags here, and the others: those of more than eight levels, or of
    hyphens alone.
    """
    kept, others = [], []
    for tag in tags:
        try:
            normalize(tag)
        except InvalidInput:
            others.append(tag)
        else:
            kept.append(tag)
    return tuple(kept), others
