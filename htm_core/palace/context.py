"""State shared by the parts of one palace: its memory, its session's notes, its layout, its judge
and its sources.

This is the only file of the package that uses what is inside a `Memory`. The verbs of `Palace`, its
folder, its promotions and its wake-up read and change places through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString, TypeVar
from uuid import UUID

from ..base.errors import NotFound
from ..base.places import Placed, PlaceKind, check_place_name, note_owner
from ..base.types import Draft, Hit
from ..db.connection import Queued
from ..db.database import Connection, Row
from ..db.errors import attempts
from ..db.records import WrittenEntry
from ..engine.engine import Engine
from ..memory import process
from ..memory.memory import Memory
from ..reading import readers
from ..reading.relevance import relevance_as_read
from ..recall import recall
from ..text.fence import new_token
from ..text.redaction.values import Counted, refuse_secret
from ..writing import forgetting, places
from .contradiction import Judge
from .layout import Layout
from .reader import Reader
from .sources import Sources

T = TypeVar("T")

MAX_NAMED = 3  # drawers whose newest texts are read because a prompt names them

# Signals of recall that come from around a text, or from its history: a palace goes by the text
# itself.
AROUND = ("session", "context", "speaker", "prior", "echo", "ranker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The contents of a palace: (room, drawer) of all drawers, the procedures, the artifacts, and
    whether there are notes.
    """

    names: tuple[tuple[str, str], ...] = ()
    procedures: tuple[Placed, ...] = ()
    artifacts: tuple[Placed, ...] = ()
    notes: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there is nothing at all to ask."""
        return not (self.names or self.procedures or self.artifacts or self.notes)


def newest_procedures(written: Sequence[Placed]) -> list[Placed]:
    """The newest version of each procedure, of versions that are given newest first."""
    newest: dict[str, Placed] = {}
    for version in written:
        newest.setdefault(version.facts["name"], version)
    return list(newest.values())


class PalaceContext:
    """The shared parts of one palace, and the few things that all of its verbs do with places."""

    def __init__(
        self,
        memory: Memory,
        *,
        layout: Layout | None = None,
        judge: Judge | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.memory = memory
        self.layout = layout
        self.judge = judge  # None: by rules
        self.reader = reader  # None: nobody reads the evidence
        self.sources = Sources()
        # One for all wake-ups of a session, so that they begin alike and a provider's prompt cache
        # keeps the beginning.
        self.wake_token = new_token()
        self._note_memory: Memory | None = None

    @property
    def engine(self) -> Engine:
        """The engine of the palace's memory: its owner, its clock, its models, its transactions."""
        return self.memory._engine

    @property
    def note_owner(self) -> str:
        """The owner of this session's notes. No other memories belong to it."""
        return note_owner(self.memory.user or "", self.memory.session or "")

    def note_memory(self) -> Memory:
        """The memory that holds this session's notes. It is made once, and making it
        opens nothing.
        """
        if self._note_memory is None:
            made = Memory.__new__(Memory)
            made._open(replace(self.memory._options, user=self.note_owner, notes=True))
            self._note_memory = made
        return self._note_memory

    def _read(self, statement: LiteralString, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a statement that only reads, and with which nothing else must go."""
        return self.engine.read(statement, parameters, primary=True)

    def now(self) -> datetime:
        """The present moment by the memory's clock."""
        return self.engine.clock()

    @property
    def threads(self) -> process.Threads:
        """The threads on which awaited verbs run."""
        return process.Threads(self.engine.settings)

    def checked_room(self, room: str, drawer: str) -> tuple[str, str]:
        """A room and a drawer with valid names. Raises `InvalidInput`, also when the layout does
        not have them.
        """
        names = check_place_name(room, what="room"), check_place_name(drawer, what="drawer")
        if self.layout is not None:
            self.layout.check(*names)
        return names

    # -- identity ----------------------------------------------------------------------------------

    def identity(self) -> str | None:
        """Who the robot says it is; None when it was never set."""
        try:
            return self.memory.get(f"identity:{self.memory.robot}").content
        except NotFound:
            return None

    def placed_identity(self) -> Placed | None:
        """The same with its place; None when it was set otherwise than by `identify`, or never."""
        try:
            node = self.memory.get(f"identity:{self.memory.robot}")
        except NotFound:
            return None
        return self.by_nodes([UUID(node.id)], kind="identity").get(node.id)

    def identify(self, text: str, *, file: str | None = None) -> Placed:
        """Set who the robot is; earlier texts stay in the history of its key. `file` is the one
        that it was read from.
        """
        draft = Draft(content=text, key=f"identity:{self.memory.robot}", importance=10)
        return self.place(
            [draft], kind="identity", facts=None if file is None else [{"file": file}]
        )[0]

    # -- searching ---------------------------------------------------------------------------------

    def survey(self, *, limit: int) -> Survey:
        """Return what there is to ask: the names of rooms and drawers, procedures, artifacts, and
        whether this session has notes.

        One transaction. Expired notes of the tenant are hidden when there are any.
        """
        engine = self.engine
        surveyed = engine.in_one_message(
            lambda connection: places.queue_survey(
                connection,
                note_owner=self.note_owner,
                owners=engine.owners,
                kinds=("artifact", "procedure"),
                now=self.now(),
                limit=limit,
            )
        )()
        if surveyed.expired:
            self.sweep()
        kept = surveyed.kept
        procedures = newest_procedures([each for each in kept if each.kind == "procedure"])
        return Survey(
            names=tuple(surveyed.names),
            procedures=tuple(procedures),
            artifacts=tuple(each for each in kept if each.kind == "artifact"),
            notes=surveyed.notes,
        )

    def recall(
        self, text: str, *, kind: PlaceKind, limit: int
    ) -> tuple[list[tuple[Placed, Hit]], str | None]:
        """Recall one kind of place: the hits, the most relevant first, and why they are not
        complete, if they are not.

        Only a text itself counts, never what stands around it: what is filed in one session or in
        twenty is found alike. Verdicts go by relevance as it is estimated, so that no reranker
        moves it; what is evidence is read with its place, by `read`.
        """
        engine = (self.note_memory() if kind == "note" else self.memory)._engine
        query = recall.prepare(
            engine,
            text,
            limit=limit,
            budget=None,
            mode="hybrid",
            scope=None,
            timeframe=None,
            tags=None,
            where={"palace": kind},
            robot=None,
            session=None,
            min_score=0.0,
            hold=False,
            explain=False,
            reader=False,
        )
        alone = query.signal_weights.model_copy(update=dict.fromkeys(AROUND, 0.0))
        result = recall.answer(engine, replace(query, signal_weights=alone, with_plugs=False))
        if not result.hits:
            return [], result.degraded
        known = self.by_nodes([UUID(hit.node.id) for hit in result], kind=kind)
        placed = [(known[hit.node.id], hit) for hit in result if hit.node.id in known]
        return sorted(
            placed, key=lambda pair: (-pair[1].relevance, -pair[1].score)
        ), result.degraded

    def read(self, question: str, texts: Sequence[tuple[Placed, float | None]]) -> dict[str, float]:
        """Return the relevance of texts by the embedded reader, by their ids; none without it.

        Each text has its cosine. There is none where the reader is not here, or cannot read the
        question.

        The reader sees a text with the names of its room and drawer, and its day. Raises
        `ModelError` when it fails.
        """
        if not texts or self.engine.reader is False or not readers.is_here():
            return {}
        passages = [(f"{each.room}/{each.drawer}", each.at, each.content) for each, _ in texts]
        logits = readers.embedded_reader().states(
            question, passages, seconds=self.engine.settings.reranker_timeout
        )
        if logits is None:
            return {}
        return {
            each.id: relevance_as_read(logit, cosine)
            for logit, (each, cosine) in zip(logits, texts, strict=True)
        }

    def contradictions(self, nodes: Sequence[UUID]) -> dict[str, list[Placed]]:
        """Return what is filed and known to contradict each of these nodes, by the node's id."""
        return places.contradicted(self._read, nodes, owners=self.engine.owners, now=self.now())

    # -- places ------------------------------------------------------------------------------------

    def look(
        self,
        kind: PlaceKind,
        *,
        limit: int | None,
        room: str | None = None,
        drawer: str | None = None,
        uri: str | None = None,
    ) -> list[Placed]:
        """List one kind of thing in the palace, newest first. Notes are this session's; the rest is
        the owner's and the shared.
        """
        owners = [self.note_owner] if kind == "note" else self.engine.owners
        return places.list_places(
            self._read,
            owners=owners,
            kinds=(kind,),
            now=self.now(),
            limit=limit,
            room=room,
            drawer=drawer,
            uri=uri,
        )

    def newest_in(self, drawers: Sequence[tuple[str, str]], *, limit: int = 10) -> list[Placed]:
        """The newest texts of the first few of these drawers, each a (room, drawer), at most
        `limit` of each.
        """
        return [
            each
            for room, drawer in drawers[:MAX_NAMED]
            for each in self.look("filed", room=room, drawer=drawer, limit=limit)
        ]

    def notes(self, *, limit: int) -> list[Placed]:
        """This session's notes that have not expired, newest first."""
        self.sweep()
        return self.look("note", limit=limit)

    def find(self, mention: UUID) -> Placed | None:
        """Return what this owner keeps under an id; None when there is nothing, or nothing any
        more.
        """
        with self.engine.transaction() as connection:
            return places.by_mention(
                connection, mention, owners=[self.engine.owner], now=self.now()
            )

    def by_nodes(self, nodes: Sequence[UUID], *, kind: PlaceKind) -> dict[str, Placed]:
        """The newest place of one kind that each of these nodes has, by the node's id; nodes
        without one are left out.
        """
        owners = [self.note_owner] if kind == "note" else self.engine.owners
        return places.by_nodes(self._read, nodes, owners=owners, kinds=[kind], now=self.now())

    def place(
        self,
        drafts: Sequence[Draft],
        *,
        kind: PlaceKind,
        where: tuple[str, str] = ("", ""),
        expires: datetime | None = None,
        uris: Sequence[str] | None = None,
        facts: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[Placed]:
        """Remember texts and give each its place, in one transaction; `uris` and `facts` have one
        for each text.
        """
        if not drafts:
            return []
        engine = (self.note_memory() if kind == "note" else self.memory)._engine
        self.check_redacted(*where, *(uris or ()))
        facts = self.redacted(facts)
        marked = [
            replace(draft, metadata={**(draft.metadata or {}), "palace": kind}) for draft in drafts
        ]
        now, placed = self.now(), list[Placed]()
        if expires is not None:  # what has only moments to live is given back all the same
            now = min(now, expires - timedelta(microseconds=1))

        def put(connection: Connection, written: list[WrittenEntry]) -> None:
            ids = [each.mention for each in written]
            places.insert(
                connection,
                ids,
                owner=engine.owner,
                kind=kind,
                at=now,
                where=[where] * len(ids),
                expires=expires,
                uris=uris,
                facts=facts,
            )
            entries = (
                places.by_mention(connection, id, owners=[engine.owner], now=now) for id in ids
            )
            placed[:] = [each for each in entries if each is not None]

        engine.write(marked, after=put, hold=kind not in ("note", "artifact"))
        engine.emit("place", count=len(placed))
        return placed

    def redacted(self, value: T) -> T:
        """A value as it may be stored beside a memory, without what the memory's redactor takes
        out.
        """
        redactor = self.engine.redactor
        return value if redactor is None else Counted(redactor).value(value)

    def check_redacted(self, *names: str | None) -> None:
        """Refuse names of places, and addresses, with something in them that would be redacted."""
        for name in names:
            refuse_secret(self.engine.redactor, name, what="room, drawer or address")

    def move(self, mention: UUID, *, room: str, drawer: str) -> Placed:
        """Put something that is filed into another drawer. Raises `NotFound` when this owner has
        filed no such thing.
        """
        engine = self.engine
        self.check_redacted(room, drawer)
        for attempt in attempts():
            with attempt, engine.transaction() as connection:
                moved = places.move(
                    connection, mention, owner=engine.owner, room=room, drawer=drawer
                )
                placed = places.by_mention(
                    connection, mention, owners=[engine.owner], now=self.now()
                )
        if not moved or placed is None:
            raise NotFound(
                f"expected the id of something filed by this owner, got {mention}", advice="filed"
            )
        return placed

    def forget(self, mention: UUID) -> None:
        """Hide one thing, and its memory when nothing else mentions it. Raises `NotFound` when it
        is not in this palace.
        """
        for attempt in attempts():
            with attempt, self.engine.transaction() as connection:
                hidden, forgotten = 0, set[UUID]()
                for owner in (self.engine.owner, self.note_owner):
                    count, gone = forgetting.hide_mentions(
                        connection, [mention], owner=owner, by=self.engine.robot, at=self.now()
                    )
                    hidden, forgotten = hidden + count, forgotten | set(gone)
        if not hidden:
            raise NotFound(
                f"expected the id of something in this palace, got {mention}",
                advice="filed or noted",
            )
        self.drop(forgotten)

    def sweep(self) -> None:
        """Hide the expired notes of the whole tenant."""
        by, now, swept = self.memory.robot, self.now(), list[Queued]()

        def hide(connection: Connection) -> None:
            """Hide their mentions with the beginning of the transaction."""
            swept.append(places.queue_sweep(connection, now=now, by=by))

        for attempt in attempts():
            with attempt, self.engine.transaction(everybody=True, first=hide) as connection:
                forgotten = places.finish_sweep(connection, swept[-1])
        self.drop(forgotten)

    def drop(self, nodes: set[UUID]) -> None:
        """Take nodes that were forgotten out of every working memory of this process."""
        if nodes:
            self.engine.drop(sorted(nodes))
