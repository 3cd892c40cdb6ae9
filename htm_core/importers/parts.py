"""What importers find in another package's database, and what they make of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from ..store.foreign.database import ForeignDatabase, ForeignTable
from ..types import CollectionItem, Draft

# Where rows go: to a collection of documents, to the items of HTMStore, to the logs of sessions, or to memories.
Destination: TypeAlias = Literal["collection", "store", "log", "memories"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPart:
    """What an importer understands: one table, or one collection of those in it.

    `columns` says which column has what. `further` are columns of single keys of the metadata. `parameters` narrow the rows to this
    part, and `tables` are those that are read besides. `into` is the name of the collection that documents go to.
    """

    kind: str
    table: ForeignTable
    destination: Destination
    into: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    tables: Mapping[str, ForeignTable] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignDocument:
    """An item for a collection, and the text that its vector was made of, where that is known."""

    item: CollectionItem
    embedded: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """A message of a session's log; the draft has an id and a time."""

    session: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """Something to remember, and whose memory it is."""

    user: str | None
    draft: Draft


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A row that was left out: which one, and why."""

    where: str
    reason: str


ForeignRow: TypeAlias = ForeignDocument | ForeignMessage | ForeignMemory | NotUnderstood


class Importer(Protocol):
    """Reads the tables of one package, which are of one `kind`; `expects` says what such a table looks like."""

    kind: str
    expects: str

    def recognise(self, database: ForeignDatabase, *, named: Sequence[ForeignTable] = ()) -> list[ForeignPart]:
        """What is there of this kind. Tables in `named` are said to be of it, whatever their columns are called."""

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int:
        """How many rows `rows` gives."""

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Iterator[ForeignRow]:
        """The rows of a part, always in the same order."""
