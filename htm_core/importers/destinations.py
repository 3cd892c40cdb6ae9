"""Where the rows of another package's database go. Each destination adds what is new or changed, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..collections.collection import Collection
from ..errors import InvalidInput
from ..memory import Memory
from ..rules.redaction.values import redact_item
from ..types import CollectionHit, CollectionItem
from .parts import ForeignDocument, ForeignRow, NotUnderstood
from .vectors import SAME, VectorModel, similarity


@dataclass(slots=True, kw_only=True)
class BatchOutcome:
    """What became of rows: new, changed, known already, and left out."""

    imported: int = 0
    changed: int = 0
    known: int = 0
    left_out: list[NotUnderstood] = field(default_factory=list)


class RowWriter(Protocol):
    """Writes rows, one batch after the other."""

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """Write a batch; with `dry_run` only see what would become of it."""


class DocumentWriter:
    """Puts documents into a collection under their own ids, with the vectors that they have."""

    def __init__(self, memory: Memory, name: str, model: VectorModel) -> None:
        engine = memory._engine
        self._model = model.name
        # Without the model of the vectors, a text that has none is found by its words.
        self._collection = Collection(
            engine.database, tenant=engine.tenant, name=name, embedder=model.embedder,
            redactor=engine.redactor, clock=engine.clock,
        )  # fmt: skip

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """Put those that are new, and those whose text, metadata or vector is another than the collection has."""
        items = {_place(row.item): row.item for row in rows if isinstance(row, ForeignDocument)}
        hits = self._collection.query(ids=list(items), limit=None, with_vectors=True) if items else []
        known = {_place(hit.item): hit for hit in hits}
        new = [item for place, item in items.items() if place not in known]
        changed = [item for place, item in items.items() if place in known and self._differs(item, known[place])]
        left_out = [] if dry_run else self._put([*new, *changed])
        ids = {each.where for each in left_out}
        return BatchOutcome(
            imported=sum(item.id not in ids for item in new),
            changed=sum(item.id not in ids for item in changed),
            known=len(items) - len(new) - len(changed),
            left_out=left_out,
        )

    def _put(self, items: Sequence[CollectionItem]) -> list[NotUnderstood]:
        """Put items; where one of them is refused, put the others."""
        if not items:
            return []
        try:
            self._collection.put(items, model=self._model)
        except InvalidInput as error:
            if len(items) == 1:
                return [NotUnderstood(items[0].id or "", str(error))]
            half = len(items) // 2
            return self._put(items[:half]) + self._put(items[half:])
        return []

    def _differs(self, item: CollectionItem, hit: CollectionHit) -> bool:
        item = redact_item(item, self._collection.redactor)
        fields = ("content", "metadata", "value", "payload", "reference")
        if any(getattr(item, name) != getattr(hit.item, name) for name in fields):
            return True
        if item.vector is None or hit.vector is None:
            return False
        return len(item.vector) != len(hit.vector) or similarity(item.vector, hit.vector) < SAME


def _place(item: CollectionItem) -> tuple[tuple[str, ...], str]:
    return tuple(item.namespace), item.id or ""
