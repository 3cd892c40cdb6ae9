"""The palace: identity, rooms and drawers, a session's notes, artifacts and procedures. All of them
are memories with a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from ..base.errors import InvalidInput
from ..base.folding import normal_form
from ..base.places import HOUR, Placed, Room, note_lifetime
from ..base.types import Draft, Source
from ..base.validation import check_id, check_limit, check_several
from ..db.verbs import Handle, names_in, verbs
from ..memory.aio import _Twin, awaited
from ..memory.memory import Memory
from ..writing import places
from .audit import Consultation, Decision, consultation_of, decision_of
from .context import PalaceContext, newest_procedures
from .contradiction import Judge
from .folder import Exported, Imported, export, load
from .layout import Layout
from .promote import Duplicate, Promoted, PromotionConflict, promote, submit, undo
from .reader import Reader, resolve_reader
from .register import Registered, register
from .sources import Fetch, Fetcher
from .wake import WakeUp, wake_up


@verbs(
    "htm.palace",
    besides=("of", "checked_room", "scratchpad"),
    telemetry_of=attrgetter("context.engine.telemetry"),
    settings_of=attrgetter("context.engine.settings"),
    store_of=attrgetter("context.engine.tenant", "context.engine.owner"),
    names_of=lambda self: names_in(self.context.engine),
)
class Palace(Handle):
    """A memory's palace: the same memories, with a place for what must be known for sure.

        palace = Palace(memory)
        palace.file("The API listens on port 8080.", room="projects", drawer="api")
        note = palace.note("The deploy of Tuesday needed a restart.")
        palace.promote(note, room="projects", drawer="api", reason="Needed by on-call.", summary="A
        deploy needs a restart.")

    A palace is as cheap to make as its memory, and it has the same tenant, user and session.

    - `layout`: the rooms in which things may be filed. Without one, any room may be made.
    - `judge`: decides whether two texts contradict each other, as
      `judge(new, old) -> reason or None`. Default: `by_rules`, which needs no model.
    - `reader`: reads evidence and says whether it answers a question; every `Enforcer` of this
      palace asks it, also those of the adapters. A chat model of LangChain, an LLM of LlamaIndex,
      or a callable `(question, texts) -> bool | reason | None`.

    Every verb may raise `StorageError`. Verbs that look something up raise `NotFound`, and wrong
    arguments raise `InvalidInput`. `palace.aio` has the same verbs, awaitable.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        layout: Layout | None = None,
        judge: Judge | None = None,
        reader: Reader | Any | None = None,
    ) -> None:
        if not isinstance(memory, Memory):
            raise InvalidInput(
                f"expected a Memory, got {type(memory).__name__}; use Palace(Memory('robot'))"
            )
        # For the parts of this package, not for users.
        self.context = PalaceContext(
            memory, layout=layout, judge=judge, reader=resolve_reader(reader)
        )

    def __repr__(self) -> str:
        return f"Palace({self.memory!r})"

    @property
    def memory(self) -> Memory:
        """The memory that the palace belongs to."""
        return self.context.memory

    @property
    def layout(self) -> Layout | None:
        """The rooms in which things may be filed; None when any room may be made."""
        return self.context.layout

    @property
    def judge(self) -> Judge | None:
        """Decides whether two texts contradict each other; None when this is done by rules."""
        return self.context.judge

    @property
    def reader(self) -> Reader | None:
        """Reads evidence and says whether it answers; None when nobody does."""
        return self.context.reader

    @property
    def aio(self) -> AsyncPalace:
        """The same verbs, awaitable."""
        return AsyncPalace(self, self.context.threads)

    def of(self, *, user: str | None = None, session: str | None = None) -> Palace:
        """The same palace for another user or session, with the same layout, judge and reader. It
        opens nothing.

        The artifacts that everyone in the tenant shares have their fetchers here too; those of
        another user have none.
        """
        sibling = Palace(
            self.memory.of(user=user, session=session),
            layout=self.layout,
            judge=self.judge,
            reader=self.reader,
        )
        sibling.context.sources = self.context.sources
        return sibling

    # -- identity ----------------------------------------------------------------------------------

    def identify(self, text: str) -> Placed:
        """Set who the robot is and what its mandates are (layer L0). Earlier texts stay in its
        history.
        """
        return self.context.identify(text)

    def identity(self) -> str | None:
        """Who the robot is, in its own words; None when it was never set."""
        return self.context.identity()

    # -- putting in --------------------------------------------------------------------------------

    def file(
        self,
        content: str,
        *,
        room: str,
        drawer: str,
        tags: Sequence[str] = (),
        importance: float | None = None,
        at: datetime | None = None,
    ) -> Placed:
        """Keep a text in a drawer of a room (layer L1), for good.

        `tags`, `importance` and `at` are as in `Memory.remember`. Raises `InvalidInput` for a room
        or a drawer that the layout does not have.
        """
        draft = Draft(content=content, tags=tags, importance=importance, at=at)
        return self.context.place([draft], kind="filed", where=self.checked_room(room, drawer))[0]

    def file_many(self, contents: Sequence[str | Draft], *, room: str, drawer: str) -> list[Placed]:
        """Keep many texts in one drawer, in one transaction: all of them, or on any error none.

        A `Draft` may bring tags, an importance, metadata and a time of its own.
        """
        check_several(contents, what="texts")
        drafts = [each if isinstance(each, Draft) else Draft(content=each) for each in contents]
        return self.context.place(drafts, kind="filed", where=self.checked_room(room, drawer))

    def note(
        self, content: str, *, ttl: timedelta | float = HOUR, source: Source | None = None
    ) -> Placed:
        """Write a note for this session (layer L2). Only this session sees it, and it is hidden
        after `ttl` seconds.

        `ttl` may also be a timedelta; at most 366 days. A note is never promoted by itself. A filed
        text that says the same is not changed by the note. `source` says who wrote it: "assistant"
        for a model, None for the program itself.
        """
        expires = self.context.now() + note_lifetime(ttl)
        return self.context.place(
            [Draft(content=content, source=source)], kind="note", expires=expires
        )[0]

    def artifact(
        self, uri: str, *, fetch: Fetch, about: str = "", timeout: float = 5.0, cache: float = 300.0
    ) -> Placed:
        """Register a source of the actual thing (layer L3), such as a file, a ticket or a web page.

        - `fetch(uri)` returns the text, or None when there is no such thing: a function, or a
          fetcher such as `GiteaFetcher`. It is called when a question is about the artifact. It may
          take `timeout` seconds, and its answer is used again for `cache` seconds.
        - `about` says what the artifact is, for questions that do not contain the uri.

        The artifact and its fetcher are the palace's user's, and nobody else's question calls it.
        Of a palace without a user they are for everyone in the tenant, and so is a cached answer.
        The register is stored; `fetch` itself lives in this process only, so register it again in
        another process.
        """
        context, about = self.context, about.strip()
        owner = context.engine.owner
        context.sources.add(
            uri, fetch, owner=(self.memory.tenant, owner), timeout=timeout, cache=cache
        )
        known = [
            each for each in context.look("artifact", uri=uri, limit=None) if each.owner == owner
        ]
        text = f"{about}\n{uri}" if about else uri
        if known and known[0].content == text:
            return known[0]
        return context.place(
            [Draft(content=text)], kind="artifact", uris=[uri], facts=[{"about": about}]
        )[0]

    def register(
        self,
        fetcher: Fetcher,
        *,
        listing: bool = True,
        limit: int = 1_000,
        timeout: float = 5.0,
        cache: float = 300.0,
        listing_timeout: float = 60.0,
    ) -> Registered:
        """Register all that a fetcher lists as artifacts: the issues and wiki pages of a
        repository, the files of a folder.

        Each is found by what the fetcher says it is about, such as an issue's title, and fetched
        when a question is about it. Call it again for what is new: what is registered already
        stays, or gets its new title, and nothing is taken out.

        - `listing`: False lists nothing, and only gives this process the fetcher for what was
          registered before. Do so in each process that consults the palace.
        - `limit`: the most that are listed, from 1 to 100,000; `Registered.complete` says whether
          that was all.
        - `timeout` and `cache` are as in `artifact`; `listing_timeout` is seconds for reading the
          whole list.

        What a list says was written by somebody else: it is kept with the source "web", or "file"
        for files, and in sessions of its own, "artifacts:NAME". Raises `FetchFailed` when the list
        cannot be read; nothing was written then.
        """
        return register(
            self.context,
            fetcher,
            listing=listing,
            limit=limit,
            timeout=timeout,
            cache=cache,
            listing_timeout=listing_timeout,
        )

    def procedure(self, name: str, steps: Sequence[str], *, triggers: Sequence[str] = ()) -> Placed:
        """Write down how something is done (layer L4). A procedure of the same name is replaced.

        It is found by its name, by its steps, or by a prompt that contains one of the `triggers`.
        """
        if isinstance(steps, str) or isinstance(triggers, str):
            raise InvalidInput(
                "expected steps and triggers to be lists of texts, got a string; write ['…']"
            )
        if not steps or not all(
            isinstance(each, str) and each.strip() for each in [name, *steps, *triggers]
        ):
            raise InvalidInput(
                "expected a name and at least one step, none of them empty; triggers likewise"
            )
        lines = [name, *(f"{number}. {step}" for number, step in enumerate(steps, 1))]
        facts = {"name": name, "steps": list(steps), "triggers": list(triggers)}
        draft = Draft(content="\n".join(lines), key=f"procedure:{name}", importance=8)
        return self.context.place([draft], kind="procedure", facts=[facts])[0]

    # -- looking -----------------------------------------------------------------------------------

    def look(
        self, *, room: str | None = None, drawer: str | None = None, limit: int = 100
    ) -> list[Placed]:
        """List what is filed, newest first: everywhere, in one room, or in one drawer."""
        room, drawer = (None if each is None else normal_form(each) for each in (room, drawer))
        return self.context.look("filed", room=room, drawer=drawer, limit=check_limit(limit))

    def rooms(self) -> list[Room]:
        """The rooms that hold something, each with its drawers and how many things they hold."""
        engine = self.context.engine
        with engine.transaction() as connection:
            return places.rooms(connection.fetch, owners=engine.owners)

    def notes(self, *, limit: int = 100) -> list[Placed]:
        """This session's notes that have not expired, newest first."""
        return self.context.notes(limit=check_limit(limit))

    def artifacts(self) -> list[Placed]:
        """The registered sources, newest first."""
        return self.context.look("artifact", limit=None)

    def procedures(self) -> list[Placed]:
        """The newest version of each procedure, newest first."""
        return newest_procedures(self.context.look("procedure", limit=None))

    # -- changing ----------------------------------------------------------------------------------

    def move(self, placed: Placed | str, *, room: str, drawer: str) -> Placed:
        """Put something that is filed into another drawer; the memory stays the same.

        `placed` is what `look` returned, or its id. Raises `NotFound` when this owner has filed no
        such thing.
        """
        mention = _id_of(placed)
        to_room, to_drawer = self.checked_room(room, drawer)
        return self.context.move(mention, room=to_room, drawer=to_drawer)

    def forget(self, placed: Placed | str) -> None:
        """Take one thing out of the palace. Its memory is hidden too when nothing else mentions it.

        Raises `NotFound` when it is not in this palace.
        """
        self.context.forget(_id_of(placed))

    def sweep(self) -> None:
        """Hide the expired notes of the whole tenant. Other verbs do this as they go."""
        self.context.sweep()

    def promote(
        self,
        note: Placed | str,
        *,
        room: str,
        drawer: str,
        reason: str,
        summary: str,
        source: Source | None = None,
    ) -> Promoted | Duplicate | PromotionConflict:
        """File what a note has taught, as a sentence of your own. It is the only way from a session
        into the palace.

        The `summary` is what is filed; raw tool output is refused. The answer is one of:

        - `Promoted`: the summary was filed.
        - `Duplicate`: the drawer says this already, and nothing was filed.
        - `PromotionConflict`: the summary was filed, and it contradicts something in the drawer or
          near it in another one. Both are kept, joined by a "contradicts" relation.

        Every outcome is a row of the audit; see `decisions`. The summary and up to 64 texts of the
        drawer are embedded, and the judge is asked about each of the newest 2,000 texts of the
        drawer and about the 20 nearest in others. Raises `InvalidInput`, `NotFound` for a note that
        is not of this session or has expired, and `ModelError` when a judge with a model fails.
        `source` says who wrote the summary, as in `note`; how far it is trusted follows from that.
        """
        return promote(
            self.context,
            _id_of(note),
            room=room,
            drawer=drawer,
            reason=reason,
            summary=summary,
            source=source,
        )

    def submit(
        self, fact: str, *, room: str, drawer: str, reason: str, source: Source | None = None
    ) -> Promoted | Duplicate | PromotionConflict:
        """File a fact that somebody else brings, such as an agent: with a reason, and by the same
        checks as `promote`.

        `file` keeps whatever it is given; this refuses raw tool output, files nothing that the
        drawer says already, and says what the fact contradicts. Answers and errors are those of
        `promote`, without a note. `source` says whose words these are: "assistant" for a model's,
        None for the program's own, which are trusted like the user's.
        """
        return submit(self.context, fact, room=room, drawer=drawer, reason=reason, source=source)

    def undo(self, outcome: Promoted | PromotionConflict | str) -> Decision:
        """Take a promotion back: what it filed is hidden, its relations are dropped, and the audit
        says so.

        `outcome` is what `promote` returned, or the id of a decision. Raises `NotFound` for an
        unknown decision, and `InvalidInput` for one that filed nothing or was undone before.
        """
        return undo(self.context, outcome if isinstance(outcome, str) else outcome.decision_id)

    # -- waking up and the audit -------------------------------------------------------------------

    def wake_up(self, *, budget: int = 900, topic: str | None = None) -> WakeUp:
        """Return what a session should know: identity, the active rooms, facts that matter now,
        what is new, this session's notes.

        Facts matter that have to do with the `topic`, by default the session's last messages and
        its notes, or that lie in a drawer that it names, and then those with an importance above
        the default. It is never the whole palace, and never more than `budget` tokens. Where there
        is a topic this costs one `Memory.recall`.
        """
        return wake_up(self.context, budget=budget, topic=topic)

    def decisions(self, *, limit: int = 100) -> list[Decision]:
        """The decisions about promotions, newest first."""
        engine = self.context.engine
        with engine.transaction() as connection:
            rows = places.decisions(connection, owner=engine.owner, limit=check_limit(limit))
        return [decision_of(row) for row in rows]

    def consultations(self, *, limit: int = 100) -> list[Consultation]:
        """List what enforcers were asked, and what they found, newest first."""
        engine = self.context.engine
        with engine.transaction() as connection:
            rows = places.consultations(connection, owner=engine.owner, limit=check_limit(limit))
        return [consultation_of(row) for row in rows]

    # -- on disk -----------------------------------------------------------------------------------

    def export(self, folder: str) -> Exported:
        """Write the palace to a folder of plain files that a person can read, edit and keep in git.

        Nothing outside of the folder is touched, whatever links are in it, and no file that an
        earlier export did not write.
        Raises `InvalidInput` when a file would be replaced that has a text which is not in the
        palace: load it first.
        """
        return export(self.context, folder)

    def load(self, folder: str) -> Imported:
        """Read back what was edited in an exported folder.

        What was changed both in the folder and in the palace is reported as a conflict and not
        overwritten. Nothing is forgotten because it is missing in the folder. Raises `NotFound`
        when the folder is missing, and `InvalidInput` when its files cannot be read.
        """
        return load(self.context, folder)

    # -- for the parts of this package -------------------------------------------------------------

    def checked_room(self, room: str, drawer: str) -> tuple[str, str]:
        """A room and a drawer with valid names. Raises `InvalidInput`, also when the layout does
        not have them.
        """
        return self.context.checked_room(room, drawer)

    def scratchpad(self) -> Memory:
        """The memory that holds this session's notes."""
        return self.context.note_memory()


def _id_of(placed: Placed | str) -> UUID:
    return check_id(placed.id if isinstance(placed, Placed) else placed, what="a place")


class AsyncPalace(_Twin[Palace]):
    """`Palace`, awaited."""

    identify = awaited(Palace.identify)
    identity = awaited(Palace.identity)
    file = awaited(Palace.file)
    file_many = awaited(Palace.file_many)
    note = awaited(Palace.note)
    artifact = awaited(Palace.artifact)
    register = awaited(Palace.register)
    procedure = awaited(Palace.procedure)
    look = awaited(Palace.look)
    rooms = awaited(Palace.rooms)
    notes = awaited(Palace.notes)
    artifacts = awaited(Palace.artifacts)
    procedures = awaited(Palace.procedures)
    move = awaited(Palace.move)
    forget = awaited(Palace.forget)
    sweep = awaited(Palace.sweep)
    promote = awaited(Palace.promote)
    submit = awaited(Palace.submit)
    undo = awaited(Palace.undo)
    wake_up = awaited(Palace.wake_up)
    decisions = awaited(Palace.decisions)
    consultations = awaited(Palace.consultations)
    export = awaited(Palace.export)
    load = awaited(Palace.load)

    def of(self, *, user: str | None = None, session: str | None = None) -> AsyncPalace:
        """The same palace for another user or session. It opens nothing, so it is not awaited."""
        return AsyncPalace(self._of.of(user=user, session=session), self._threads)

    def checked_room(self, room: str, drawer: str) -> tuple[str, str]:
        """A room and a drawer with valid names. It asks nobody, so it is not awaited."""
        return self._of.checked_room(room, drawer)

    def scratchpad(self) -> Memory:
        """The memory that holds this session's notes. Nothing is opened, so it is not awaited."""
        return self._of.scratchpad()
