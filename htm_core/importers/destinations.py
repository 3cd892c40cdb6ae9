"""Where the rows of another package's database go. Each destination adds what is new or changed,
and nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Protocol, TypeVar
from uuid import UUID

from ..base.errors import InvalidInput
from ..base.identity import document_id, is_anonymous, node_id
from ..base.types import CollectionHit, CollectionItem, Draft
from ..collections import store
from ..collections.collection import Collection
from ..db.owner_claims import claim_of
from ..engine.engine import Engine
from ..memory.memory import Memory
from ..palace import Palace
from ..prompt.scope import memory_for
from ..text.redaction.values import redact_draft, redact_item
from ..writing import mentions
from .parts import ForeignDocument, ForeignMemory, ForeignMessage, ForeignRow, NotUnderstood
from .transcripts.mempalace import place_of
from .vectors import SAME, VectorModel, similarity

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class BatchOutcome:
    """The outcome of a batch of rows: new, changed, known already, and left out."""

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
            engine.database,
            tenant=engine.tenant,
            name=name,
            embedder=model.embedder,
            redactor=engine.redactor,
            clock=engine.clock,
        )

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """Put those that are new, and those whose text, metadata or vector is another than the
        collection has.
        """
        documents = {_place(row.item): row for row in rows if isinstance(row, ForeignDocument)}
        hits = (
            self._collection.query(ids=list(documents), limit=None, with_vectors=True)
            if documents
            else []
        )
        known = {_place(hit.item): hit for hit in hits}
        new = [row for place, row in documents.items() if place not in known]
        changed = [
            row
            for place, row in documents.items()
            if place in known and self._differs(row, known[place])
        ]
        left_out = (
            [] if dry_run else _in_halves(self._put, [*new, *changed], name=lambda row: row.item.id)
        )
        refused = {each.where for each in left_out}
        return BatchOutcome(
            imported=sum(row.item.id not in refused for row in new),
            changed=sum(row.item.id not in refused for row in changed),
            known=len(documents) - len(new) - len(changed),
            left_out=left_out,
        )

    def _put(self, rows: Sequence[ForeignDocument]) -> None:
        self._collection.put([row.item for row in rows], model=self._model)
        times = {
            document_id(self._collection.name, *_place(row.item)): (row.created_at, row.updated_at)
            for row in rows
            if row.created_at and row.updated_at
        }
        if times:
            with self._collection._transaction() as connection:
                store.set_times(connection, times)

    def _differs(self, row: ForeignDocument, hit: CollectionHit) -> bool:
        if row.updated_at is not None and row.updated_at != hit.item.updated_at:
            return True
        item = redact_item(row.item, self._collection.redactor)
        fields = ("content", "metadata", "value", "payload", "reference")
        if any(getattr(item, name) != getattr(hit.item, name) for name in fields):
            return True
        if item.vector is None or hit.vector is None:
            return False
        return len(item.vector) != len(hit.vector) or similarity(item.vector, hit.vector) < SAME


class LogWriter:
    """Appends messages to the logs of their sessions, as the adapters keep them: of a user, or of
    the session alone.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._user = None if memory.user is None or is_anonymous(memory.user) else memory.user

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """Append those whose ids the sessions do not have."""
        outcome = BatchOutcome()
        messages = [row for row in rows if isinstance(row, ForeignMessage)]
        for session, some in groupby(messages, key=lambda row: row.session):
            try:
                self._append(session, [row.draft for row in some], outcome, dry_run=dry_run)
            except InvalidInput as error:  # a session whose name the core does not accept
                outcome.left_out.append(NotUnderstood(session, str(error)))
        return outcome

    def _append(
        self, session: str, drafts: Sequence[Draft], outcome: BatchOutcome, *, dry_run: bool
    ) -> None:
        own = memory_for(self._memory, user=self._user, session=session)
        known = _known(own, [(session, draft.id or "") for draft in drafts])
        new = [draft for draft in drafts if (session, draft.id or "") not in known]
        log = own.log()
        left_out = [] if dry_run else _in_halves(log.append, new, name=_id)
        outcome.imported += len(new) - len(left_out)
        outcome.known += len(drafts) - len(new)
        outcome.left_out += left_out


class MemoryWriter:
    """Remembers memories for their users; vectors are kept where the memory's own
    model made them.
    """

    def __init__(self, memory: Memory, model: VectorModel) -> None:
        self._memory = memory
        self._keeps = model.embedder is not None and model.name == memory._engine.embedder.name

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """Remember those with new ids, and those with another text."""
        outcome = BatchOutcome()
        memories = [row for row in rows if isinstance(row, ForeignMemory)]
        for (user, robot), some in groupby(memories, key=lambda row: (row.user, row.robot)):
            own = self._memory_of(robot)
            own = own if user is None else own.of(user=user)
            drafts = [row.draft if self._keeps else replace(row.draft, vector=None) for row in some]
            self._remember(own, drafts, outcome, dry_run=dry_run)
        return outcome

    def _memory_of(self, robot: str | None) -> Memory:
        """The memory of another robot, with the same options."""
        if robot is None or robot == self._memory.robot:
            return self._memory
        options = self._memory._options
        return Memory(
            robot,
            url=options.url,
            tenant=options.tenant,
            user=options.user,
            session=options.session,
            budget=options.budget,
            policy=options.policy,
            settings=options.settings,
            clock=options.clock,
            **options.plugs,
        )

    def _remember(
        self, own: Memory, drafts: Sequence[Draft], outcome: BatchOutcome, *, dry_run: bool
    ) -> None:
        engine = own._engine
        drafts = [replace(draft, session=draft.session or own.session) for draft in drafts]
        known = _known(own, [_said(draft) for draft in drafts])
        new = [draft for draft in drafts if _said(draft) not in known]
        changed = [draft for draft in drafts if _differs(draft, known.get(_said(draft)), engine)]
        left_out = [] if dry_run else _in_halves(own.remember_many, [*new, *changed], name=_id)
        refused = {each.where for each in left_out}
        outcome.imported += sum(draft.id not in refused for draft in new)
        outcome.changed += sum(draft.id not in refused for draft in changed)
        outcome.known += len(drafts) - len(new) - len(changed)
        outcome.left_out += left_out


class PalaceWriter:
    """Files texts in the rooms and drawers of a palace; one that is filed already keeps its place
    when its text changes.
    """

    def __init__(self, memory: Memory, model: VectorModel) -> None:
        self._memory, self._palace = memory, Palace(memory)
        self._keeps = model.embedder is not None and model.name == memory._engine.embedder.name

    def write(self, rows: Sequence[ForeignRow], *, dry_run: bool) -> BatchOutcome:
        """File those with new ids, and remember those with another text."""
        engine = self._memory._engine
        drafts = [
            row.draft if self._keeps else replace(row.draft, vector=None)
            for row in rows
            if isinstance(row, ForeignMemory)
        ]
        known = _known(self._memory, [_said(draft) for draft in drafts])
        new = [draft for draft in drafts if _said(draft) not in known]
        changed = [draft for draft in drafts if _differs(draft, known.get(_said(draft)), engine)]
        left_out = (
            []
            if dry_run
            else [*self._file(new), *_in_halves(self._memory.remember_many, changed, name=_id)]
        )
        refused = {each.where for each in left_out}
        return BatchOutcome(
            imported=sum(draft.id not in refused for draft in new),
            changed=sum(draft.id not in refused for draft in changed),
            known=len(drafts) - len(new) - len(changed),
            left_out=left_out,
        )

    def _file(self, drafts: Sequence[Draft]) -> list[NotUnderstood]:
        left_out = []
        for (room, drawer), some in groupby(sorted(drafts, key=place_of), key=place_of):

            def file(texts: Sequence[Draft], room: str = room, drawer: str = drawer) -> object:
                """File texts in this drawer."""
                return self._palace.file_many(texts, room=room, drawer=drawer)

            left_out += _in_halves(file, list(some), name=_id)
        return left_out


def _differs(draft: Draft, node: UUID | None, engine: Engine) -> bool:
    """True if a text that is known, by its node, is another one now."""
    return (
        node is not None
        and node_id(engine.owner, redact_draft(draft, engine.redactor).content) != node
    )


def _id(draft: Draft) -> str | None:
    return draft.id


def _known(memory: Memory, ids: Sequence[tuple[str, str]]) -> dict[tuple[str, str], UUID | None]:
    """Return the (session, id) that a memory has already, each with its node."""
    engine = memory._engine
    # Not a transaction of the engine, which would make the tenant's rows, also for a dry run.
    with engine.database.transaction(engine.tenant, claim=claim_of(engine.owner)) as connection:
        return mentions.nodes_of_ids(connection, ids, owner=engine.owner)


def _said(draft: Draft) -> tuple[str, str]:
    return draft.session or "", draft.id or ""


def _in_halves(
    write: Callable[[Sequence[T]], object], rows: Sequence[T], *, name: Callable[[T], str | None]
) -> list[NotUnderstood]:
    """Write rows at once; where one of them is refused, write all others. Answers with those that
    were refused.
    """
    if not rows:
        return []
    try:
        write(rows)
    except InvalidInput as error:
        if len(rows) == 1:
            return [NotUnderstood(name(rows[0]) or "", str(error))]
        half = len(rows) // 2
        return _in_halves(write, rows[:half], name=name) + _in_halves(write, rows[half:], name=name)
    return []


def _place(item: CollectionItem) -> tuple[tuple[str, ...], str]:
    return tuple(item.namespace), item.id or ""
