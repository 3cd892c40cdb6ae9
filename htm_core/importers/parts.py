"""The parts that importers find in another package's database, and what they make of their rows."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from ..base.types import CollectionItem, Draft
from .foreign.database import ForeignDatabase, ForeignTable

# Where rows go: to a collection of documents, to the items of HTMStore, to the logs of sessions, to
# memories, or into a palace.
Destination: TypeAlias = Literal["collection", "store", "log", "memories", "palace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPart:
    """A part that an importer understands: one table, or one collection of those in it.

    `columns` says which column has what. `further` are columns of single keys of the metadata.
    `parameters` narrow the rows to this part, and `tables` are those that are read besides. `into`
    is the name of the collection that documents go to. `named` says whether its vectors are stored
    under the name of their model.
    """

    kind: str
    table: ForeignTable
    destination: Destination
    into: str = ""
    named: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    tables: Mapping[str, ForeignTable] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignDocument:
    """An item for a collection, the text that its first vector was made of, where that is known,
    and the item's times.
    """

    item: CollectionItem
    embedded: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def vector(self) -> Sequence[float] | None:
        """Its first vector, or None."""
        return self.item.vectors[0] if self.item.vectors else self.item.vector


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """A message of a session's log; the draft has an id and a time."""

    session: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """Something to remember, whose memory it is, and who remembers it; None is the importing
    memory's own user or robot.
    """

    user: str | None
    draft: Draft
    robot: str | None = None

    @property
    def embedded(self) -> str:
        """The text that its vector was made of."""
        return self.draft.content

    @property
    def vector(self) -> Sequence[float] | None:
        """Its vector, or None."""
        return self.draft.vector


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A row that was left out: which one, and why."""

    where: str
    reason: str


ForeignRow: TypeAlias = ForeignDocument | ForeignMessage | ForeignMemory | NotUnderstood


class Importer(Protocol):
    """Reads the tables of one package, which are of one `kind`; `expects` says what such a table
    looks like.
    """

    kind: str
    expects: str

    def recognise(self, database: ForeignDatabase) -> list[ForeignPart]:
        """Return what is there of this kind."""

    def count(self, database: ForeignDatabase, part: ForeignPart) -> int | None:
        """Count the rows that `rows` gives; None when that is only known at the end."""

    def rows(self, database: ForeignDatabase, part: ForeignPart) -> Generator[ForeignRow]:
        """The rows of a part, always in the same order."""
