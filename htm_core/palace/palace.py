"""The palace: identity, rooms and drawers, a session's notes, artifacts and procedures, all of them memories with a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..errors import InvalidInput, NotFound
from ..memory import Memory
from ..operations.recall import checked_id, checked_limit
from ..rules.places import HOUR, Placed, Room, check_part, lifetime, note_owner
from ..runtime import process
from ..store import places
from ..store.database import Connection
from ..store.records import WrittenEntry
from ..types import Draft
from .audit import Consultation, Decision, consultation_of, decision_of
from .contradiction import Judge
from .folder import Exported, Imported, export, load
from .layout import Layout
from .promote import Conflict, Duplicate, Promoted, promote, undo
from .sources import Fetch, Sources
from .wake import WakeUp, wake_up

if TYPE_CHECKING:
    from .aio import AsyncPalace

KINDS = ("identity", "filed", "note", "artifact", "procedure")


class Palace(process.Handle):
    """A memory's palace: the same memories, with a place for what is to be known for sure.

    As cheap to make as the memory that it belongs to, and bound by the same walls: its tenant, its user, its session.
    `layout` names the rooms that things may be filed in; without one any room may be made. `judge` is who tells whether
    two texts contradict each other: an offline rule unless given.
    """

    def __init__(self, memory: Memory, *, layout: Layout | None = None, judge: Judge | None = None) -> None:
        if not isinstance(memory, Memory):
            raise InvalidInput(f"expected a Memory, got {type(memory).__name__}; use Palace(Memory('robot'))")
        self.memory = memory
        self.layout = layout
        self.judge = judge
        self._sources = Sources()
        self._notes: Memory | None = None

    def __repr__(self) -> str:
        return f"Palace({self.memory!r})"

    @property
    def aio(self) -> AsyncPalace:
        """The same verbs, awaitable."""
        from .aio import AsyncPalace  # made of this class, so it cannot be imported before it

        settings = self.memory._options.settings
        return AsyncPalace(self, lambda: process.threads(settings))

    def of(self, *, user: str | None = None, session: str | None = None) -> Palace:
        """The same palace for another user or conversation, with the same sources, layout and judge."""
        sibling = Palace(self.memory.of(user=user, session=session), layout=self.layout, judge=self.judge)
        sibling._sources = self._sources
        return sibling

    # -- who I am -----------------------------------------------------------------------------------------------------

    def identify(self, text: str) -> Placed:
        """Say who the robot is and what its mandates are (L0); what it said before stays in its history."""
        return self._place(Draft(content=text, key=self._identity_key(), importance=10), kind="identity")

    def identity(self) -> str | None:
        """Who the robot is, in its own words; None when it was never said."""
        try:
            return self.memory.get(self._identity_key()).content
        except NotFound:
            return None

    # -- putting in ---------------------------------------------------------------------------------------------------

    def file(
        self, content: str, *, room: str, drawer: str, tags: Sequence[str] = (), importance: float | None = None,
        at: datetime | None = None,
    ) -> Placed:  # fmt: skip
        """Keep a text in a drawer of a room (L1), for good. Raises `InvalidInput` for a room that the layout has not."""
        draft = Draft(content=content, tags=tags, importance=importance, at=at)
        return self._place(draft, kind="filed", where=self.checked_room(room, drawer))

    def file_many(self, contents: Sequence[str | Draft], *, room: str, drawer: str) -> list[Placed]:
        """Keep many texts in a drawer, in one transaction; a `Draft` brings what else there is to say."""
        drafts = [each if isinstance(each, Draft) else Draft(content=each) for each in contents]
        return self._place_all(drafts, kind="filed", where=self.checked_room(room, drawer))

    def note(self, content: str, *, ttl: timedelta | float = HOUR) -> Placed:
        """Write a note for this session (L2): only added to, seen by this session alone, gone after `ttl` seconds.

        A note is never promoted by itself. What is filed already is not touched by a note that says the same.
        """
        expires = self._now() + lifetime(ttl)
        return self._place(Draft(content=content), kind="note", expires=expires)

    def artifact(
        self, uri: str, *, fetch: Fetch, about: str = "", timeout: float = 5.0, cache: float = 300.0
    ) -> Placed:
        """Register a source of the actual thing (L3): `fetch(uri)` answers its text, or None when it is not there.

        `about` says what it is, for questions that do not name the uri. `fetch` gets `timeout` seconds, and what it
        answered is kept for `cache` seconds. The register is a memory; the fetcher lives in this process.
        """
        self._sources.add(uri, fetch, timeout=timeout, cache=cache)
        known = self._look(kinds=("artifact",), uri=uri, limit=1)
        text = f"{about.strip()}\n{uri}" if about.strip() else uri
        if known and known[0].content == text:
            return known[0]
        return self._place(Draft(content=text), kind="artifact", uri=uri, facts={"about": about.strip()})

    def procedure(self, name: str, steps: Sequence[str], *, triggers: Sequence[str] = ()) -> Placed:
        """Write down how something is done (L4): found by its name, its steps, or a trigger that a prompt contains."""
        if isinstance(steps, str) or isinstance(triggers, str):
            raise InvalidInput("expected steps and triggers to be lists of texts, got a string; write ['…']")
        if not steps or not all(isinstance(each, str) and each.strip() for each in [name, *steps, *triggers]):
            raise InvalidInput("expected a name and at least one step, none of them empty; triggers likewise")
        lines = [name, *(f"{at}. {step}" for at, step in enumerate(steps, 1))]
        facts = {"name": name, "steps": list(steps), "triggers": list(triggers)}
        draft = Draft(content="\n".join(lines), key=f"procedure:{name}", importance=8)
        return self._place(draft, kind="procedure", facts=facts)

    # -- looking ------------------------------------------------------------------------------------------------------

    def look(self, *, room: str | None = None, drawer: str | None = None, limit: int = 100) -> list[Placed]:
        """What is filed, newest first: everywhere, in a room, or in a drawer."""
        return self._look(kinds=("filed",), room=room, drawer=drawer, limit=checked_limit(limit))

    def rooms(self) -> list[Room]:
        """The rooms that hold something, with their drawers and how much lies in each."""
        with self.memory._engine.transaction() as connection:
            return places.rooms(connection, owners=self.memory._engine.owners)

    def notes(self, *, limit: int = 100) -> list[Placed]:
        """This session's notes that have not expired, newest first."""
        self.sweep()
        return self._look(kinds=("note",), limit=checked_limit(limit))

    def artifacts(self) -> list[Placed]:
        """The registered sources, newest first."""
        return self._look(kinds=("artifact",), limit=None)

    def procedures(self) -> list[Placed]:
        """The procedures as they are now, newest first."""
        seen: dict[str, Placed] = {}
        for each in self._look(kinds=("procedure",), limit=None):
            seen.setdefault(each.facts["name"], each)
        return list(seen.values())

    # -- changing -----------------------------------------------------------------------------------------------------

    def move(self, placed: Placed | str, *, room: str, drawer: str) -> Placed:
        """Put what is filed into another drawer; the memory is the same."""
        mention, engine = self._id(placed), self.memory._engine
        to_room, to_drawer = self.checked_room(room, drawer)
        with engine.transaction() as connection:
            moved = places.move(connection, mention, owner=engine.owner, room=to_room, drawer=to_drawer)
            found = places.by_mention(connection, mention, owners=[engine.owner], now=self._now())
        if not moved or found is None:
            raise NotFound(f"expected something filed by this owner, got {placed!r:.120}; see Palace.look()")
        return found

    def forget(self, placed: Placed | str) -> None:
        """Take one thing out of the palace; its memory is hidden when nothing else mentions it. Raises `NotFound`."""
        mention = self._id(placed)
        engine = self.memory._engine
        with engine.transaction() as connection:
            hidden, gone = 0, set[UUID]()
            for owner in (engine.owner, self._note_owner()):
                count, dead = places.hide(connection, [mention], owner=owner, by=engine.robot, at=self._now())
                hidden, gone = hidden + count, gone | dead
        if not hidden:
            raise NotFound(
                f"expected something in this palace, got {placed!r:.120}; see Palace.look() and Palace.notes()"
            )
        self._drop(gone)

    def sweep(self) -> None:
        """Hide the notes of the whole tenant whose time is up; other verbs do so as they go."""
        with self.memory._engine.transaction() as connection:
            gone = places.sweep(connection, now=self._now(), by=self.memory.robot)
        self._drop(gone)

    def promote(
        self, note: Placed | str, *, room: str, drawer: str, reason: str, summary: str
    ) -> Promoted | Duplicate | Conflict:
        """File what a note has taught, in a sentence of one's own: the only way from a session into the palace.

        The summary is what is filed; raw tool output is refused. What the drawer says already is a `Duplicate`, and
        nothing is written; what contradicts it is filed too, as a `Conflict`, joined to the other side by an edge. Each
        decision is a row of the audit. Raises `InvalidInput`, and `NotFound` for a note that has expired.
        """
        return promote(self, self._id(note), room=room, drawer=drawer, reason=reason, summary=summary)

    def undo(self, outcome: Promoted | Conflict | str) -> Decision:
        """Take a promotion back: what it filed is hidden, its edges are dropped, and the audit says so."""
        return undo(self, outcome)

    # -- waking and proving -------------------------------------------------------------------------------------------

    def wake_up(self, *, budget: int = 900) -> WakeUp:
        """What a new session is to know: identity, the active rooms, what is new since last time, surviving notes.

        Never the whole palace, and never a token over the budget.
        """
        return wake_up(self, budget=budget)

    def decisions(self, *, limit: int = 100) -> list[Decision]:
        """What was decided about promotions, newest first."""
        engine = self.memory._engine
        with engine.transaction() as connection:
            rows = places.decisions(connection, owner=engine.owner, limit=checked_limit(limit))
        return [decision_of(row) for row in rows]

    def consultations(self, *, limit: int = 100) -> list[Consultation]:
        """What an enforcer has consulted, newest first."""
        engine = self.memory._engine
        with engine.transaction() as connection:
            rows = places.consultations(connection, owner=engine.owner, limit=checked_limit(limit))
        return [consultation_of(row) for row in rows]

    # -- on disk ------------------------------------------------------------------------------------------------------

    def export(self, folder: str) -> Exported:
        """Write the palace to a folder of plain files that a person can read, edit and keep in git."""
        return export(self, folder)

    def load(self, folder: str) -> Imported:
        """Take in what was edited in a folder, as new mentions; what changed on both sides is shown, not overwritten."""
        return load(self, folder)

    # -- for the parts of this package --------------------------------------------------------------------------------

    def checked_room(self, room: str, drawer: str) -> tuple[str, str]:
        """A room and a drawer as they may be called, and as far as the layout has them."""
        names = check_part(room, what="room"), check_part(drawer, what="drawer")
        if self.layout is not None:
            self.layout.check(*names)
        return names

    def scratchpad(self) -> Memory:
        """The memory of this session's notes."""
        if self._notes is None:
            self._notes = Memory.__new__(Memory)
            self._notes._open(replace(self.memory._options, user=self._note_owner(), notes=True))
        return self._notes

    def _note_owner(self) -> str:
        return note_owner(self.memory.user or "", self.memory.session or "")

    def _identity_key(self) -> str:
        return f"identity:{self.memory.robot}"

    def _now(self) -> datetime:
        return self.memory._engine.clock()

    def _id(self, placed: Placed | str) -> UUID:
        return checked_id(placed.id if isinstance(placed, Placed) else placed, what="a place")

    def _drop(self, gone: set[UUID]) -> None:
        if gone:
            self.memory._engine.drop(sorted(gone))

    def _look(self, *, kinds: Sequence[str], limit: int | None, **where: Any) -> list[Placed]:
        engine = self.memory._engine
        owners = [self._note_owner()] if kinds == ("note",) else engine.owners
        with engine.transaction() as connection:
            return places.look(connection, owners=owners, kinds=kinds, now=self._now(), limit=limit, **where)

    def _place(self, draft: Draft, *, kind: str, where: tuple[str, str] = ("", ""), **facts: Any) -> Placed:
        return self._place_all([draft], kind=kind, where=where, **facts)[0]

    def _place_all(self, said: Sequence[Draft], *, kind: str, where: tuple[str, str], **facts: Any) -> list[Placed]:
        """Remember drafts and give each its place, in one transaction."""
        if not said:
            return []
        engine = (self.scratchpad() if kind == "note" else self.memory)._engine
        marked = [replace(draft, metadata={**(draft.metadata or {}), "palace": kind}) for draft in said]
        now, found = self._now(), list[Placed]()

        def put(connection: Connection, written: list[WrittenEntry]) -> None:
            ids = [each.mention for each in written]
            places.put(connection, ids, owner=engine.owner, kind=kind, at=now, where=[where] * len(ids), **facts)
            kept = (places.by_mention(connection, id, owners=[engine.owner], now=now) for id in ids)
            found[:] = [each for each in kept if each is not None]

        engine.say(marked, after=put, hold=kind not in ("note", "artifact"))
        engine.emit("place", count=len(found))
        return found
