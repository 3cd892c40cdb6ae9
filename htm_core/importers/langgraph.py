"""LangGraph: the items of `PostgresStore`, and the messages of the threads of `PostgresSaver`."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from ..base.folding import storable
from ..base.types import CollectionItem
from .checkpoints import KeptAsDeltas, listed_messages, messages_of, value_of
from .deltas import DeltaMessages
from .foreign.database import ForeignDatabase, ForeignTable
from .messages import langchain_message
from .parts import ForeignDocument, ForeignMessage, ForeignPart, ForeignRow, NotUnderstood

SQL = "importers/foreign/langgraph"
# Where HTMStore keeps its items.
ITEMS = "langgraph:store"
_TOKEN = re.compile(r"\[[^\]]{0,1000}\]|\{[^}]{0,1000}\}|[^.\[\]{}]+")
_NUMBERED = re.compile(r"(.+)\.(\d+)")


class PostgresStores:
    """The items of `PostgresStore`, with the vectors of their fields."""

    kind = "langgraph-store"
    expects = "the columns prefix, key, value, created_at and updated_at"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The table `store` of each schema, with its table of vectors."""
        parts = []
        for table in database.tables:
            if table.name == "store" and table.has(
                "prefix", "key", "value", "created_at", "updated_at"
            ):
                vectors = database.find(table.schema, "store_vectors")
                tables = {"vectors": vectors} if vectors and vectors.readable else {}
                tables |= _others(database, table, "store_migrations", "vector_migrations")
                parts.append(
                    ForeignPart(
                        kind=self.kind, table=table, destination="store", into=ITEMS, tables=tables
                    )
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """Count the items of the store."""
        return database.count(part.table)

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The items by namespace and key; what has expired is left out."""
        statement = "items_with_vectors" if "vectors" in part.tables else "items"
        for row in database.read(SQL, statement, tables={"table": part.table, **part.tables}):
            yield _item(row)


class PostgresSavers:
    """The messages of the threads of `PostgresSaver`, as the latest checkpoint of each has them."""

    kind = "langgraph-checkpoints"
    expects = "the tables checkpoints and checkpoint_blobs"

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """The table `checkpoints` of each schema, with its table of values."""
        parts = []
        for table in database.tables:
            blobs = database.find(table.schema, "checkpoint_blobs")
            if (
                table.name == "checkpoints"
                and table.has("thread_id", "checkpoint_ns", "checkpoint")
                and blobs
            ):
                tables = {"blobs": blobs} | _others(
                    database, table, "checkpoint_writes", "checkpoint_migrations"
                )
                parts.append(
                    ForeignPart(kind=self.kind, table=table, destination="log", tables=tables)
                )
        return parts

    def count(self, database: ForeignDatabase, part: ForeignPart) -> None:
        """Return None: the number of messages is known at the end."""

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The messages by thread, in their order, each with the time of the first checkpoint that
        has it.
        """
        versions = database.read(
            SQL, "messages", tables={"table": part.table, "blobs": part.tables["blobs"]}
        )
        for session, some in groupby(versions, key=lambda row: str(row["session"])):
            thread = _Thread(session)
            for row in some:
                thread.read(row["type"], row["blob"], at=row["at"])
            if thread.keeps_deltas and _can_replay(part):
                yield from _replayed(database, part, session)
            else:
                yield from thread.rows()


def _can_replay(part: ForeignPart) -> bool:
    """True if what was written to the channels is there, with its order."""
    writes = part.tables.get("checkpoint_writes")
    return (
        writes is not None
        and writes.readable
        and writes.has("channel", "type", "blob", "task_path", "task_id", "idx")
    )


def _replayed(database: ForeignDatabase, part: ForeignPart, session: str) -> Iterator[ForeignRow]:
    """The messages of a thread that keeps deltas, put together from the first checkpoint to the
    latest one.
    """
    tables = {
        "table": part.table,
        "blobs": part.tables["blobs"],
        "writes": part.tables["checkpoint_writes"],
    }
    messages = DeltaMessages()
    try:
        for row in database.read(SQL, "deltas", tables=tables, session=session):
            if row["is_write"]:
                messages.write(value_of(row["type"], row["blob"]))
            else:
                stored = (
                    None
                    if row["type"] is None
                    else listed_messages(value_of(row["type"], row["blob"]))
                )
                messages.reach(row["at"], stored)
    except ValueError as error:
        yield NotUnderstood(session, str(error))
        return
    for place, (dumped, at) in enumerate(messages.messages()):
        yield langchain_message(dumped, session=session, id=f"{session}:{place}", at=at)


def _others(database: ForeignDatabase, table: ForeignTable, *names: str) -> dict[str, ForeignTable]:
    """LangGraph's other tables beside one, which hold nothing to import."""
    others = {name: database.find(table.schema, name) for name in names}
    return {name: other for name, other in others.items() if other is not None}


class _Thread:
    """The messages of a thread, version by version."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.keeps_deltas = False
        self._first: dict[str, datetime] = {}
        self._latest: list[ForeignRow] = []

    def read(self, type: str | None, blob: bytes | None, *, at: datetime) -> None:
        """The next version of the messages."""
        try:
            messages = messages_of(type, blob)
        except ValueError as error:
            self.keeps_deltas = isinstance(error, KeptAsDeltas)
            self._latest = [NotUnderstood(self.session, str(error))]
            return
        self.keeps_deltas, self._latest = False, []
        for place, dumped in enumerate(messages):
            row = langchain_message(
                dumped, session=self.session, id=f"{self.session}:{place}", at=None
            )
            if isinstance(row, ForeignMessage):
                self._first.setdefault(row.draft.id or "", at)
            self._latest.append(row)

    def rows(self) -> Iterator[ForeignRow]:
        """The messages of the latest version, with their times."""
        for row in self._latest:
            if isinstance(row, ForeignMessage):
                yield ForeignMessage(
                    row.session, replace(row.draft, at=self._first[row.draft.id or ""])
                )
            else:
                yield row


def _item(row: Any) -> ForeignRow:
    namespace, value = tuple(row["prefix"].split(".")), row["value"]
    if not isinstance(value, dict):
        return NotUnderstood(f"{row['prefix']}/{row['key']}", "a value that is not a JSON object")
    minutes = row["ttl_minutes"]
    texts, vectors = _texts(value, row["vectors"] or ())
    return ForeignDocument(
        CollectionItem(
            id=row["key"],
            namespace=namespace,
            value=value,
            texts=texts,
            vectors=vectors or None,
            index=bool(texts),
            ttl=timedelta(minutes=minutes) if minutes else None,
            expires_at=row["expires_at"],
        ),
        embedded=texts[0] if texts else None,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _texts(
    value: dict[str, Any], vectors: Sequence[dict[str, Any]]
) -> tuple[list[str], list[list[float]]]:
    """The texts that the vectors of an item were made of, and the vectors."""
    texts = [storable(_text_of(value, each["field"])) for each in vectors]
    return texts, [each["vector"] for each in vectors]


def _text_of(value: dict[str, Any], field: str) -> str:
    """The text at a field, as LangGraph names it: the path, and where it leads to several texts,
    the number of one.
    """
    texts, numbered = text_at(value, field), _NUMBERED.fullmatch(field)
    if not texts and numbered:
        texts = text_at(value, numbered[1])[int(numbered[2]) :]
    return texts[0] if texts else json.dumps(value, sort_keys=True, ensure_ascii=False)


def text_at(value: Any, path: str) -> list[str]:
    """The texts at a path of LangGraph's: "$", "text", "author.name", "chapters[*].title",
    "{title,text}".
    """
    if path == "$":
        return [json.dumps(value, sort_keys=True, ensure_ascii=False)]
    values = [value]
    for token in _TOKEN.findall(path):
        values = [part for each in values for part in _step(each, token)]
    return [
        each
        if isinstance(each, str)
        else json.dumps(each, sort_keys=True, ensure_ascii=False)
        if isinstance(each, list | dict)
        else str(each)
        for each in values
        if each is not None
    ]


def _step(value: Any, token: str) -> list[Any]:
    if token.startswith("{"):
        return [text for name in token[1:-1].split(",") for text in text_at(value, name.strip())]
    if token.startswith("[") and isinstance(value, list):
        index = token[1:-1]
        if index == "*":
            return value
        return value[int(index) :][:1] if re.fullmatch(r"\d+", index) else []
    if token == "*":
        return (
            list(value.values())
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else []
        )
    return [value[token]] if isinstance(value, dict) and token in value else []
