"""Memory: the verbs."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from .engine.engine import Clock, utc_now
from .errors import InvalidInput
from .fork import Handle
from .groups.group import Group, join_group
from .handles.jobs import Jobs
from .handles.log import Log
from .handles.tags import Tags
from .jobs.flush import flush
from .operations import files, read, relations
from .operations import forget as forget_module
from .operations import recall as recall_module
from .operations import revise as revise_module
from .operations.backup import Backup
from .operations.files import File, Loaded, Progress
from .rules.timeframes.parse import TimeframeLike
from .rules.working_memory.context import assemble
from .rules.working_memory.memory import WorkingMemory
from .rules.working_memory.policies import Policy
from .runtime import process
from .runtime.open import Options, opened
from .settings import Settings
from .types import (
    CollectionKind,
    Conflict,
    Context,
    Draft,
    Embed,
    EmbedderLike,
    Event,
    Eviction,
    GroupRole,
    Item,
    Mention,
    Metadata,
    Mode,
    Node,
    OrderName,
    PolicyName,
    PropositionerLike,
    Recall,
    Receipt,
    Related,
    Relation,
    RelationKind,
    Robot,
    Role,
    Scope,
    Stats,
    TaggerLike,
    Tokenizer,
)

if TYPE_CHECKING:
    from .aio import AsyncMemory
    from .collections.collection import Collection


class Memory(Handle):
    """A robot's memory: what it holds in mind, within a budget of tokens, before what it never forgets.

    Making one is cheap: memories of one process share a connection pool, an embedder and a worker for each url. Nothing
    is opened before the first verb. `url` is a PostgreSQL DSN, else the environment variable `HTM_DATABASE_URL`, else a
    private PostgreSQL under `HTM_HOME`. `tenant` is the wall; `user` says whose memories these are (None: what everyone
    in the tenant shares), `session` which conversation; the verbs default to these. Raises `InvalidInput` for options
    that cannot be meant.
    """

    def __init__(
        self, robot: str = "default", *, url: str | None = None, tenant: str = "default", user: str | None = None,
        session: str | None = None, budget: int = 128_000, policy: PolicyName | Policy = "importance",
        embedder: EmbedderLike | None = None, embed: Embed = "queue", tokenizer: Tokenizer | None = None,
        tagger: TaggerLike | None = None, propositioner: PropositionerLike | None = None,
        on_evict: Callable[[Eviction], None] | None = None, on_event: Callable[[Event], None] | None = None,
        settings: Settings | None = None, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        options = Options(
            robot=robot, url=process.url_or_environment(url), tenant=tenant, user=user, session=session, budget=budget,
            policy=policy, embedder=embedder, embed=embed, tokenizer=tokenizer, tagger=tagger,
            propositioner=propositioner, on_evict=on_evict, on_event=on_event, settings=settings or Settings(),
            clock=clock or utc_now,
        )  # fmt: skip
        self._open(options)

    def _open(self, options: Options) -> None:
        self._options = options
        self._runtime, self._engine = opened(options)

    def __repr__(self) -> str:
        engine = self._engine
        return f"Memory({engine.robot!r}, tenant={engine.tenant!r}, user={engine.user!r}, session={engine.session!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- whose, and what it holds -------------------------------------------------------------------------------------

    @property
    def robot(self) -> str:
        """Who remembers."""
        return self._engine.robot

    @property
    def tenant(self) -> str:
        """Behind which wall."""
        return self._engine.tenant

    @property
    def user(self) -> str | None:
        """Whose memories these are; None is what everyone in the tenant shares."""
        return self._engine.user

    @property
    def session(self) -> str | None:
        """The conversation that the verbs default to."""
        return self._engine.session

    @property
    def working(self) -> WorkingMemory:
        """What the robot holds in mind in this session; removing from it forgets nothing."""
        return self._engine.working_memory()

    @property
    def aio(self) -> AsyncMemory:
        """The same verbs, awaitable."""
        from .aio import AsyncMemory  # aio is made of this class, so it cannot be imported before it

        settings = self._options.settings
        return AsyncMemory(self, lambda: process.threads(settings))

    def of(self, *, user: str | None = None, session: str | None = None) -> Memory:
        """The same robot's memory of another user or conversation; what is not named stays as it is here.

        As cheap as any memory: it shares the connections, the embedder and the worker.
        """
        sibling = Memory.__new__(type(self))
        here = replace(self._options, group=self._engine.group)
        sibling._open(replace(here, user=user or self.user, session=session or self.session))
        return sibling

    def group(self, name: str, *, role: GroupRole = "active", lease: float | None = None) -> Group:
        """Hold one working memory together with other robots; an "active" one that is lost has a "passive" successor.

        Within `lease` seconds: the group's own, or 10, unless given. All members have the same, and budget and policy.
        """
        return join_group(self._engine, self._runtime.heartbeat, self._runtime.listener, name, role=role, lease=lease)

    def robots(self) -> builtins.list[Robot]:
        """Every robot of the tenant, with counts of what it has said and holds as far as this owner sees it."""
        return read.robots(self._engine)

    # -- saying -------------------------------------------------------------------------------------------------------

    def remember(
        self, content: str, *, id: str | None = None, key: str | None = None, importance: float | None = None,
        tags: Sequence[str] = (), metadata: Metadata | None = None, session: str | None = None, role: Role | None = None,
        name: str | None = None, at: datetime | None = None, payload: bytes | None = None,
    ) -> Node:  # fmt: skip
        """Remember a text for good, and hold it in working memory.

        Once this returns, the text is in PostgreSQL. The same words are the same node with another mention. `id` is the
        caller's id of the mention: said again in its session it is the same mention. `key` names a value that changes:
        the node becomes the key's newest version. `importance` is from 0 to 10. `at` must know its time zone. Raises
        `InvalidInput`, in which case nothing was written, and `StorageError`.
        """
        draft = Draft(
            content=content, id=id, key=key, importance=importance, tags=tags, metadata=metadata, session=session, role=role,
            name=name, at=at, payload=payload,
        )  # fmt: skip
        return self.remember_many([draft])[0]

    def remember_many(self, drafts: Sequence[Draft | Mapping[str, Any]]) -> list[Node]:
        """Remember many texts in one transaction: all of them, or on any error none.

        Each is a `Draft` or a mapping of `remember`'s arguments, and may bring its `vector`.
        """
        listed = list(drafts)
        if len(listed) > self._engine.settings.max_drafts:
            raise InvalidInput(
                f"expected at most {self._engine.settings.max_drafts:,} drafts, got {len(listed):,}; use batches"
            )
        return [_spoken(node) for node in self._engine.write(listed)] if listed else []

    def revise(
        self, key: str, content: str, *, if_version: int | None = None, importance: float | None = None,
        tags: Sequence[str] = (), metadata: Metadata | None = None, session: str | None = None, role: Role | None = None,
        name: str | None = None, at: datetime | None = None,
    ) -> Node | Conflict:  # fmt: skip
        """Give a key a new value; the old one leaves recall and stays in its history.

        With `if_version` the value is set only if the key is still at that version (0: holds nothing, not yet or not any
        more); otherwise the answer is a `Conflict` with what it holds now, and nothing was written.
        """
        draft = Draft(
            content=content, key=key, importance=importance, tags=tags, metadata=metadata, session=session, role=role,
            name=name, at=at,
        )  # fmt: skip
        return revise_module.revise(self._engine, draft, if_version=if_version)

    def log(self, session: str | None = None) -> Log:
        """A chat's own record: the messages of a session, exact and in order."""
        return Log(self._engine, session or self._engine.session or "default")

    def collection(
        self, name: str, *, dim: int | None = None, embedder: EmbedderLike | None = None, kind: CollectionKind = "documents",
    ) -> Collection:  # fmt: skip
        """Documents of a vector store: ids of your own, never merged, out of `recall`'s sight.

        A `kind` other than "documents" is what an adapter keeps for itself, under names that no documents have.
        """
        from .collections.collection import opened as collected  # an edge of its own, which most memories never open

        return collected(self._engine, name, dim=dim, embedder=embedder, kind=kind)

    # -- asking -------------------------------------------------------------------------------------------------------

    def recall(
        self, query: str, *, limit: int = 10, budget: int | None = None, mode: Mode = "hybrid", scope: Scope | None = None,
        timeframe: TimeframeLike = None, tags: Sequence[str] | None = None, where: Mapping[str, Any] | None = None,
        robot: str | Sequence[str] | None = None, session: str | None = None, min_score: float = 0.0, hold: bool = True,
        explain: bool = False,
    ) -> Recall:  # fmt: skip
        """Find what answers a question, best first, and hold it in working memory.

        `mode` is "hybrid" (meaning and words), "vector" or "text". `scope` is "user" (one's own and what the tenant
        shares), "session" or "tenant" (everybody's). `timeframe` is anything that `rules.timeframe` understands, such as
        "last week", or "auto" to take the time out of the question. `robot`, `session`, `timeframe` and `where` must hold
        for one and the same mention; `tags` hold with everything below them, all of them. `budget` keeps the best whole
        hits that so many tokens hold, with what was said right before them. `explain` says what each signal added to a
        hit's score. When the embedder is down words answer alone, and `.degraded` says so. Raises `InvalidInput`,
        `StorageError`, and `ModelError` for mode="vector" without an embedder.
        """
        prepared = recall_module.prepare(
            self._engine, query, limit=limit, budget=budget, mode=mode, scope=scope, timeframe=timeframe, tags=tags,
            where=where, robot=robot, session=session, min_score=min_score, hold=hold, explain=explain,
        )  # fmt: skip
        return recall_module.answer(self._engine, prepared)

    def context(
        self, *, order: OrderName | Callable[[Item, float], float] = "balanced", budget: int | None = None
    ) -> Context:
        """What a model is given of working memory, never a token over the budget.

        `order` is "balanced" (importance / (1 + hours since it came)), "balanced:access", "recent", "important",
        "frequent" or a callable (item, now) -> score. The budget defaults to working memory's own.
        """
        working = self._engine.working_memory()
        now = self._engine.clock().timestamp()
        room = working.budget if budget is None else budget
        return assemble(working.items, order=order, budget=room, count=self._engine.tokens, now=now)

    def get(self, id_or_key: str) -> Node:
        """The node of an id or the newest value of a key; raises `NotFound`."""
        return read.get(self._engine, id_or_key)

    def history(self, key: str) -> list[Node]:
        """Every value that a key has had, oldest first; `version` says which each was."""
        return read.history(self._engine, key)

    def list(
        self, *, tags: Sequence[str] | None = None, where: Mapping[str, Any] | None = None, limit: int = 100,
        after: str | None = None,
    ) -> list[Node]:  # fmt: skip
        """Nodes, newest first: `after` is the id of the page before's last one, `NotFound` if that was erased since."""
        return read.page(self._engine, tags=tags, where=where, limit=limit, after=after)

    def timeline(
        self, *, session: str | None = None, robot: str | None = None, timeframe: TimeframeLike = None,
        limit: int = 100, before: str | Mention | None = None, after: str | Mention | None = None,
        forgotten: bool = False,
    ) -> builtins.list[Mention]:  # fmt: skip
        """What was said, ascending: the latest `limit` mentions, or those before or after a mention.

        Within a session the order is that of saying; across sessions it is by time. `forgotten` shows what was forgotten
        and not yet purged as well; an erased `before` or `after` is `NotFound`.
        """
        return read.timeline(
            self._engine, session=session, robot=robot, timeframe=timeframe, limit=limit, before=before, after=after,
            forgotten=forgotten,
        )  # fmt: skip

    def sessions(self) -> builtins.list[str]:
        """The conversations that have a log, sorted; without a user also those in which nobody is known."""
        return read.sessions(self._engine)

    def who_said(self, text: str) -> builtins.list[Mention]:
        """Every mention of nodes that contain a text, whoever said it, newest first.

        Letter case and white space do not matter. Looks at every node of the owner, so it takes longer the more there are.
        """
        return read.who_said(self._engine, text)

    @property
    def tags(self) -> Tags:
        """The tags of one's memories: given and taken, looked for, counted and drawn."""
        return Tags(self._engine)

    def related(
        self, node: str | Node, *, hops: int = 2, kinds: Sequence[RelationKind] | None = None, limit: int = 20,
        min_weight: float = 0.0,
    ) -> builtins.list[Related]:  # fmt: skip
        """The memories that hang together with one, strongest first: by shared tags, facts taken from it, and links.

        Each comes with its strongest path of at most `hops` edges, of these `kinds` or of all.
        """
        return relations.related(self._engine, node, hops=hops, kinds=kinds, limit=limit, min_weight=min_weight)

    def link(
        self, source: str | Node, target: str | Node, *, kind: RelationKind = "related", weight: float = 1.0
    ) -> Relation:
        """Join two memories: "related", "supports", "contradicts" or "derived"; with a weight of 0 no longer."""
        return relations.link(self._engine, source, target, kind=kind, weight=weight)

    # -- files --------------------------------------------------------------------------------------------------------

    def load(
        self, path: str | os.PathLike[str], *, pattern: str = "**/*.md", tags: Sequence[str] = (),
        metadata: Metadata | None = None, force: bool = False, progress: Progress | None = None,
    ) -> builtins.list[Loaded]:  # fmt: skip
        """Load a file, or those of a folder that a pattern names, as memories in step with what is on disk.

        Markdown is cut where its structure ends, and its front matter becomes tags and metadata. A file that is as it was
        is skipped unless it is forced; what a changed file no longer says is forgotten, and so is a file that is gone. A
        file that fails says why and stays as it was; the others are loaded. `progress` is called after each, with their
        number. Raises `NotFound` for a path that is not there.
        """
        return files.load(
            self._engine, path, pattern=pattern, tags=tags, metadata=metadata, force=force, progress=progress
        )

    def unload(self, path: str | os.PathLike[str]) -> int:
        """Forget what a file, or every file below a folder, said, and say how many chunks went; raises `NotFound`."""
        return files.unload(self._engine, path)

    def files(self, path: str | os.PathLike[str] | None = None) -> builtins.list[File]:
        """The files that were loaded, by name: all, or those of a path and below it."""
        return files.listed(self._engine, path)

    # -- forgetting ---------------------------------------------------------------------------------------------------

    def forget(self, id_or_key: str, *, robot: str | None = None) -> None:
        """Hide a node for its owner, or withdraw one robot's mentions of it; `restore` brings it back.

        Raises `NotFound` when this owner has no such memory: what the tenant shares is forgotten by a memory without a
        user.
        """
        forget_module.forget(self._engine, id_or_key, robot=robot)

    def restore(self, id_or_key: str) -> Node:
        """Bring back what was forgotten; raises `NotFound` when nothing was."""
        return forget_module.restore(self._engine, id_or_key)

    def purge(self, older_than: datetime | timedelta, *, confirm: str = "") -> int:
        """Erase for good what was forgotten longer ago than this, and say how many nodes went.

        `older_than` is an aware moment or an age. `confirm` must be "confirmed".
        """
        return forget_module.purge(self._engine, older_than, confirm=confirm)

    def erase(
        self, *, user: str | None = None, session: str | None = None, key: str | None = None, confirm: str = ""
    ) -> Receipt:
        """Erase at once and for good everything of a user, a session or a key, with a count of what went.

        Exactly one of the three is named; sessions and keys are this owner's. `confirm` must be "confirmed".
        """
        return forget_module.erase(self._engine, user=user, session=session, key=key, confirm=confirm)

    # -- looking after it ---------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Counts of what this owner sees, of working memory, and of the work that is owed."""
        return read.stats(self._engine, breakers=self._runtime.worker.breakers())

    @property
    def jobs(self) -> Jobs:
        """The work that is owed, and what was given up, with its error."""
        return Jobs(self._engine)

    @property
    def backup(self) -> Backup:
        """Everything that the tenant remembers, written as JSON lines and read back."""
        return Backup(self._engine)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that is owed is done; False when time is up, or when all that is left keeps failing.

        Access counts are written, and the tenant's jobs done by the worker (by this thread with `worker="off"`).
        """
        return flush(self._engine, self._runtime.worker, timeout=timeout)

    def close(self) -> None:
        """Release this handle and write down pending access counts; what memories share stays open for the others."""
        if self._engine.database.opened:
            self._runtime.access_counts.write()


def _spoken(node: Node | None) -> Node:
    assert node is not None  # only a log's wordless message has no node
    return node
