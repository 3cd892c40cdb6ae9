"""HTM, the Ruby gem: what each of its robots remembers."""

from __future__ import annotations

from collections.abc import Generator

from ..integration.documents import jsonb_metadata
from ..integration.messages import storable_name
from ..store.foreign.database import ForeignDatabase
from ..types import Draft
from .parts import ForeignMemory, ForeignPart, ForeignRow

SQL = "foreign/ruby_htm"
# The tables beside `nodes` that are read, and those that hold nothing to import, with columns to know them by.
_READ = {
    "robots": ("id", "name"),
    "robot_nodes": ("robot_id", "node_id", "last_remembered_at", "deleted_at"),
    "tags": ("id", "name", "deleted_at"),
    "node_tags": ("node_id", "tag_id", "deleted_at"),
}
_OTHERS = ("file_sources", "node_relationships", "schema_migrations")
_NODE = ("id", "content", "content_hash", "metadata", "source_id", "deleted_at")


class RubyHTM:
    """The database of the Ruby gem `htm`. A memory of two robots is a mention of each."""

    kind = "ruby-htm"
    expects = "the table nodes of the gem htm, beside robots, robot_nodes, tags and node_tags"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The table `nodes` of each schema that has the gem's other tables, as its last migration leaves them."""
        found = []
        for table in database.tables:
            if table.name != "nodes" or not table.has(*_NODE):
                continue
            beside = {name: database.find(table.schema, name) for name in (*_READ, *_OTHERS)}
            tables = {name: other for name, other in beside.items() if other is not None}
            if all(name in tables and tables[name].has(*columns) for name, columns in _READ.items()):
                found.append(ForeignPart(kind=self.kind, table=table, destination="memories", tables=tables))
        return found

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """How many memories the robots have, one for each robot that remembers it."""
        tables = {"robot_nodes": part.tables["robot_nodes"]}
        [row] = database.read(SQL, "count_memories", tables={"table": part.table} | tables)
        return int(row["count"])

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The memories by robot, in the order in which they were remembered last.

        Their vectors are left behind: the gem fills them up with zeros, and does not write down which model made them.
        """
        tables = {"table": part.table} | {name: part.tables[name] for name in _READ}
        for row in database.read(SQL, "memories", tables=tables):
            yield ForeignMemory(
                None,
                Draft(
                    content=row["content"],
                    id=f"htm:{row['id']}",
                    at=row["at"],
                    tags=tuple(row["tags"]),
                    metadata=jsonb_metadata(row["metadata"] or {}),
                    source="file" if row["from_file"] else "import",
                ),
                robot=storable_name(row["robot"]),
            )
