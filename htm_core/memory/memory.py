"""Memory: the public verbs. Each one calls the operation of its name."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, Unpack

from pydantic import SecretStr

from ..base import validation
from ..base.errors import InvalidInput
from ..base.option_sets import with_options
from ..base.settings import Settings
from ..base.types import (
    RECALL,
    AuditEntry,
    AuditReport,
    CollectionKind,
    Conflict,
    Context,
    Draft,
    EmbedderLike,
    Event,
    Eviction,
    GroupRole,
    Item,
    Mention,
    Merge,
    Metadata,
    Node,
    OrderName,
    PolicyName,
    Profile,
    Recall,
    RecallOptions,
    Receipt,
    Related,
    Relation,
    RelationKind,
    Robot,
    Role,
    Scope,
    Source,
    Stats,
    SummarizerLike,
    Summary,
    Tidied,
    TidyKind,
    TimeframeLike,
)
from ..change import tidy
from ..change.changes import Changes
from ..db.verbs import Handle, bounded, verbs
from ..engine import read
from ..engine.engine import Clock, utc_now
from ..engine.groups.group import Group, join_group
from ..engine.log import Log
from ..files import files
from ..files.files import File, Loaded, Progress
from ..forgetting import audit as audit_module
from ..forgetting import forget as forget_module
from ..forgetting import revise as revise_module
from ..forgetting.backup import Backup
from ..jobs.flush import flush
from ..jobs.jobs import Jobs
from ..recall import recall as recall_module
from ..tags import relations
from ..tags.tags import Tags
from ..text.redaction.redactor import Redactor
from ..working.context import assemble
from ..working.eviction_policies import Policy
from ..working.memory import WorkingMemory
from . import process
from .open import ModelOptions, Options, opened

if TYPE_CHECKING:
    from ..collections.collection import Collection
    from .aio import AsyncMemory


@verbs(besides=("of", "log", "collection"))
class Memory(Handle):
    """A robot's memory: a working memory with a token budget, in front of a permanent long-term
    memory.

        with Memory("atlas") as memory:  # a private PostgreSQL, since no url is given
            memory.remember("The user prefers dark mode.", tags=["user:preference"], importance=8)
            for hit in memory.recall("what does the user like?"):
                print(hit.score, hit.content)
            print(memory.context(budget=2_000).text)

    Making one is cheap: the memories of a process share a connection pool, an embedder and a worker
    for each url. Nothing is opened before the first verb.

    - `robot`: who remembers. All robots of a tenant share one long-term memory.
    - `url`: a PostgreSQL DSN, also as pydantic's `SecretStr`, never an empty one; None is the
      environment variable `HTM_DATABASE_URL` if that is not empty, else a private PostgreSQL under
      `HTM_HOME`.
    - `tenant`: an organisation or an installation. No tenant ever sees another's memories.
    - `user`: the user whose memories these are; None is what everyone in the tenant shares.
    - `session`: a conversation. The verbs default to this user and this session.
    - `budget`: tokens of working memory; `policy` says who leaves first when it is full:
      "importance", "lfu_lru", "lru", "fifo", or a callable (item, now) -> score, the lowest of
      which leaves first.
    - `settings`: a `Settings`: pools, time-outs, jobs, models of the whole process.
    - `on_evict`, `on_event`: called with each eviction and each event. What they raise is logged.
    - `clock`: gives the present time, with its time zone.
    - `timezone`: where the user is, such as "Asia/Tokyo": of words such as "yesterday" and "until
      Friday", and of the dates that a model is shown. None is `Settings.timezone`, else the
      machine's.

    The models and other plugs are those of `ModelOptions`: `embedder`, `embed`, `tokenizer`,
    `models`, `tagger`, `propositioner`, `reader`, `reranker`, `expander`, `redactor` and `judge`.
    Raises `InvalidInput` for options that make no sense.
    """

    @with_options(ModelOptions, embed="queue")
    def __init__(
        self,
        robot: str = "default",
        *,
        url: str | SecretStr | None = None,
        tenant: str = "default",
        user: str | None = None,
        session: str | None = None,
        budget: int = 128_000,
        policy: PolicyName | Policy = "importance",
        on_evict: Callable[[Eviction], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        timezone: str | None = None,
        **plugs: Unpack[ModelOptions],
    ) -> None:
        url = process.url_or_environment(url)  # from here on nothing shows its password
        options = Options(
            robot=robot,
            url=url,
            tenant=tenant,
            user=user,
            session=session,
            budget=budget,
            policy=policy,
            plugs=plugs,
            on_evict=on_evict,
            on_event=on_event,
            settings=settings or Settings(),
            clock=clock or utc_now,
            timezone=timezone,
        )
        self._open(options)

    def _open(self, options: Options) -> None:
        self._options = options
        self._runtime, self._engine = opened(options)

    def __repr__(self) -> str:
        options: Options | None = getattr(self, "_options", None)
        if options is None:  # it could not be made, and an error report shows it
            return "Memory()"
        return (
            f"Memory({options.robot!r}, tenant={options.tenant!r}, user={options.user!r}, "
            f"session={options.session!r})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- identity and working memory ---------------------------------------------------------------

    @property
    def robot(self) -> str:
        """The name of the robot that remembers."""
        return self._engine.robot

    @property
    def tenant(self) -> str:
        """The tenant, beyond which nothing is seen."""
        return self._engine.tenant

    @property
    def user(self) -> str | None:
        """The user whose memories these are; None is what everyone in the tenant shares."""
        return self._engine.user

    @property
    def session(self) -> str | None:
        """The conversation that the verbs default to."""
        return self._engine.session

    @property
    def redactor(self) -> Redactor | None:
        """Redactor that takes secrets out of texts before they are stored; None if nothing does."""
        return self._engine.redactor

    @property
    def working(self) -> WorkingMemory:
        """The robot's working memory in this session, brought up to date with its table.

        Removing an item from it forgets nothing: the node stays in long-term memory.
        """
        with bounded(self._engine.settings):
            return self._engine.working_memory()

    @property
    def aio(self) -> AsyncMemory:
        """The same verbs as coroutines: `await memory.aio.recall(...)`."""
        # aio is made of this class, so it cannot be imported before it
        from .aio import AsyncMemory

        return AsyncMemory(self, process.Threads(self._options.settings))

    def of(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        timezone: str | None = None,
    ) -> Memory:
        """Return the same robot's memory of another `user`, `session`, `tenant` or `timezone`; what
        is not given stays the same.

        As cheap as any memory: it shares the connections, the models and the worker. A group stays
        behind in its tenant. In another tenant the models that were given to this memory work for
        that tenant, too, and are sent its texts.
        """
        sibling = Memory.__new__(type(self))
        is_here = tenant is None or tenant == self.tenant
        here = replace(
            self._options,
            group=self._engine.group if is_here else None,
            tenant=tenant or self.tenant,
            home=self._options.home or self.tenant,
        )
        zone = timezone or self._options.timezone
        sibling._open(
            replace(here, user=user or self.user, session=session or self.session, timezone=zone)
        )
        return sibling

    def group(self, name: str, *, role: GroupRole = "active", lease: float | None = None) -> Group:
        """Join a group of robots that share one working memory.

        `role` is "active" or "passive": when no active member is left, the passive one that has
        waited longest becomes active. `lease` is how many seconds may pass before a robot that no
        longer answers counts as lost; by default the group's own, and 10 for a new group. All
        members have the same lease, budget and policy. Raises `InvalidInput`.
        """
        return join_group(
            self._engine,
            self._runtime.heartbeat,
            self._runtime.listener,
            name,
            role=role,
            lease=lease,
        )

    def robots(self) -> builtins.list[Robot]:
        """All robots of the tenant, with counts of what each has said and holds, as far as this
        owner sees it.
        """
        return read.robots(self._engine)

    # -- writing -----------------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        id: str | None = None,
        key: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] = (),
        metadata: Metadata | None = None,
        session: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        at: datetime | None = None,
        payload: bytes | None = None,
        valid: TimeframeLike = None,
        ttl: timedelta | float | None = None,
        expires_at: datetime | None = None,
        source: Source | None = None,
        trust: int | None = None,
    ) -> Node:
        """Remember a text for good, and hold it in working memory.

            node = memory.remember("Dinner is at eight.", role="user", name="Ann", importance=5,
            tags=["dinner"])

        When this returns, the text is in PostgreSQL. The same words of the same owner are one node,
        and each call is another mention of it.

        - `id`: your own id of the mention, unique in its session. With the same id again it is the
          same mention.
        - `key`: the name of a value that changes. The node becomes the key's newest version.
        - `importance`: from 0 to 10; 1 unless given. A node that is known keeps its own unless one
          is given.
        - `tags`: hierarchical labels such as "food:coffee"; `metadata`: JSON values, to filter by
          with `where=`.
        - `session`: by default the memory's own. `role`: "user", "assistant", "system" or "tool".
          `name`: who is speaking.
        - `at`: when it was said, a datetime with a time zone; by default now.
        - `payload`: bytes that are stored with the mention exactly as they are.
        - `valid`: when it holds: a `Window`, a pair of datetimes, or words such as "since May",
          meant as at `at`.
        - `ttl`: how long it is kept, from `at` on, as a timedelta or in seconds; `expires_at`:
          until when. Then it is hidden.
        - `source`: "user", "assistant", "tool", "file", "web" or "import"; by default the role's,
          and None for the program itself. `trust`: from 0 to 4; by default the source's.

        Raises `InvalidInput` and `StorageError`; nothing was written then, unless the error says
        otherwise.
        """
        draft = Draft(
            content=content,
            id=id,
            key=key,
            importance=importance,
            tags=tags,
            metadata=metadata,
            session=session,
            role=role,
            name=name,
            at=at,
            payload=payload,
            valid=valid,
            ttl=ttl,
            expires_at=expires_at,
            source=source,
            trust=trust,
        )
        [node] = self._engine.write([draft])
        assert node is not None  # only a log's wordless message has none
        return node

    def remember_many(self, drafts: Sequence[Draft | Mapping[str, Any]]) -> list[Node]:
        """Remember many texts in one transaction: all of them, or none on an error.

        `drafts` are `Draft`s or mappings of `remember`'s arguments; each may bring its `vector`. At
        most `Settings.max_drafts` at once. Much faster than one `remember` for each.
        """
        validation.check_several(drafts, what="drafts")
        listed = list(drafts)
        if len(listed) > self._engine.settings.max_drafts:
            raise InvalidInput(
                f"expected at most {self._engine.settings.max_drafts:,} drafts, got "
                f"{len(listed):,}; use batches"
            )
        nodes = self._engine.write(listed) if listed else []
        # all have one: only a log has messages without words
        return [node for node in nodes if node is not None]

    def revise(
        self,
        key: str,
        content: str,
        *,
        if_version: int | None = None,
        importance: float | None = None,
        tags: Sequence[str] = (),
        metadata: Metadata | None = None,
        session: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        at: datetime | None = None,
        valid: TimeframeLike = None,
        ttl: timedelta | float | None = None,
        expires_at: datetime | None = None,
        source: Source | None = None,
        trust: int | None = None,
        forget: bool = False,
    ) -> Node | Conflict:
        """Give a key a new value. The old value leaves recall and stays in the key's history. The
        same words that were said before, for no key, leave recall with it, and stay in the
        timeline.

            memory.revise("job", "I am a nurse.", forget=True)  # the old value was a mistake:
            nothing shows it any more

        With `if_version` the value is set only if the key is still at that version; 0 means that it
        has no value, or no longer. Otherwise the answer is a `Conflict` with the current value, and
        nothing was written. With `forget`, what this key said of its old value is forgotten in the
        same transaction: it leaves recall, the timeline and the key's history, until `restore`.
        Where the same words were said for another key, or in a chat, these mentions are not
        forgotten. The other arguments are those of `remember`.
        """
        draft = Draft(
            content=content,
            key=key,
            importance=importance,
            tags=tags,
            metadata=metadata,
            session=session,
            role=role,
            name=name,
            at=at,
            valid=valid,
            ttl=ttl,
            expires_at=expires_at,
            source=source,
            trust=trust,
        )
        return revise_module.revise(self._engine, draft, if_version=if_version, forget=forget)

    def log(self, session: str | None = None) -> Log:
        """A chat's own record: the messages of a session, exact and in order. By default the
        memory's own session.
        """
        return Log(self._engine, session or self._engine.session or "default")

    def collection(
        self,
        name: str,
        *,
        dim: int | None = None,
        embedder: EmbedderLike | None = None,
        kind: CollectionKind = "documents",
    ) -> Collection:
        """Documents of a vector store, under your own ids: never merged, and never found by
        `recall`.

        `dim` is the dimension that you expect, `embedder` another one than the memory's. A `kind`
        other than "documents" is what an adapter stores for itself, under names that no collection
        of documents can have.
        """
        from ..collections.collection import open_collection  # most memories never need it

        return open_collection(self._engine, name, dim=dim, embedder=embedder, kind=kind)

    # -- reading -----------------------------------------------------------------------------------

    @with_options(RecallOptions, **RECALL)
    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recall:
        """Find what answers a query, best first, and hold it in working memory.

            for hit in memory.recall("what does Ann drink?", limit=5, timeframe="last week",
            tags=["food"]):
                print(hit.score, hit.mention.name, hit.content)

        The options are those of `RecallOptions`. One query to the embedder and one search, both in
        milliseconds at 100,000 memories with the embedded model. When the embedder fails, the words
        are searched alone, and `.degraded` says so. It also says when hits had no vector yet; what
        this process has just remembered gets its vector at the latest now. Words that no memory has
        are searched for as they were probably meant, in a second search, and `.corrections` says
        which. With mode="text" every hit has a word of the query: a correction is said, and not
        searched for.

        Raises `InvalidInput`, `StorageError`, and `ModelError` for mode="vector" without a working
        embedder.
        """
        return recall_module.answer(
            self._engine, recall_module.prepare(self._engine, query, **options)
        )

    def context(
        self,
        *,
        order: OrderName | Callable[[Item, float], float] = "balanced",
        budget: int | None = None,
        transcript: bool = True,
    ) -> Context:
        """A text for a model's prompt, made of working memory, and never a token over the budget.

            prompt = memory.context(order="recent", budget=4_000).text

        `order` is "balanced" (importance / (1 + hours since it was added)), "balanced:access"
        (since its last access), "recent", "important", "frequent", or a callable (item, now) ->
        score, the highest first. `budget` is in tokens, by default working memory's own.

        What was said in a conversation (with a `role` or a `name`) stands as a transcript: the
        messages of a session together, in order of time, where the best of them would stand, and a
        label such as `[2026-11-20 Ann]` where day or speaker change. Labels count, and no text can
        look like one. `transcript=False` gives the bare texts in their order.

        Needs no model; one short query sees whether other processes have changed the set.
        """
        working = self._engine.working_memory()
        now = self._engine.clock().timestamp()
        room = working.budget if budget is None else budget
        return assemble(
            working.items,
            order=order,
            budget=room,
            count=self._engine.tokens,
            now=now,
            transcript=transcript,
            timezone=self._engine.timezone,
        )

    def get(self, id_or_key: str, *, as_of: datetime | None = None) -> Node:
        """The node of an id, or the newest value of a key; raises `NotFound`.

        `as_of` is for what was known then: the value that the key had. What was forgotten since
        stays so.
        """
        return read.get(self._engine, id_or_key, as_of=as_of)

    def history(self, key: str) -> list[Node]:
        """Every value that a key has had, oldest first; `Node.version` counts them from 1."""
        return read.history(self._engine, key)

    def list(
        self,
        *,
        tags: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[Node]:
        """Nodes, newest first, filtered by tags and metadata.

        For the next page pass the id of the last node as `after`; raises `NotFound` when that node
        was erased meanwhile.
        """
        return read.page(self._engine, tags=tags, where=where, limit=limit, after=after)

    def timeline(
        self,
        *,
        session: str | None = None,
        robot: str | None = None,
        timeframe: TimeframeLike = None,
        limit: int = 100,
        before: str | Mention | None = None,
        after: str | Mention | None = None,
        forgotten: bool = False,
        as_of: datetime | None = None,
    ) -> builtins.list[Mention]:
        """Return what was said, oldest first: the latest `limit` mentions, or those before or after
        a mention.

        Of all sessions, unless `session` names one. Within a session the order is that of saying,
        across sessions that of time. `before` and `after` are a mention or its id; raises
        `NotFound` when it was erased. `forgotten` also shows what was forgotten or has expired, and
        was not yet purged. `as_of` is what it showed then, but for what was forgotten since.
        """
        return read.timeline(
            self._engine,
            session=session,
            robot=robot,
            timeframe=timeframe,
            limit=limit,
            before=before,
            after=after,
            forgotten=forgotten,
            as_of=as_of,
        )

    def sessions(self) -> builtins.list[str]:
        """The sessions that have a log, sorted. Without a user also the sessions of anonymous
        users.
        """
        return read.sessions(self._engine)

    def who_said(self, text: str) -> builtins.list[Mention]:
        """Every mention of nodes that contain a text, by anyone, newest first.

        Letter case and white space do not matter. Reads every node of the owner, so its time grows
        with their number.
        """
        return read.who_said(self._engine, text)

    @property
    def tags(self) -> Tags:
        """The tags of these memories: add, remove, search, count, and show as a tree."""
        return Tags(self._engine)

    @property
    def changes(self) -> Changes:
        """Memories that newer ones replaced or contradicted: to list, to undo and to confirm."""
        return Changes(self._engine)

    def related(
        self,
        node: str | Node,
        *,
        hops: int = 2,
        kinds: Sequence[RelationKind] | None = None,
        limit: int = 20,
        min_weight: float = 0.0,
    ) -> builtins.list[Related]:
        """The memories that are related to one, strongest first: by shared tags, by facts taken
        from it, and by links.

        Each comes with its strongest path of at most `hops` edges (1 to 6), of these `kinds` or of
        all. Its weight, at least `min_weight`, is the product of the weights along the path.
        """
        return relations.related(
            self._engine, node, hops=hops, kinds=kinds, limit=limit, min_weight=min_weight
        )

    def link(
        self,
        source: str | Node,
        target: str | Node,
        *,
        kind: RelationKind = "related",
        weight: float = 1.0,
    ) -> Relation:
        """Join two memories by an edge from `source` to `target`, each an id, a key or a `Node`.

        `kind` is "related", "supports", "contradicts" or "derived". `weight` is from 0 to 1; 0
        removes the edge. Raises `InvalidInput` and `NotFound`.
        """
        return relations.link(self._engine, source, target, kind=kind, weight=weight)

    # -- files -------------------------------------------------------------------------------------

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        pattern: str = "**/*.md",
        tags: Sequence[str] = (),
        metadata: Metadata | None = None,
        force: bool = False,
        vault: bool | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> builtins.list[Loaded]:
        """Load a file, or the files of a folder that match a pattern, and keep the memories in step
        with the disk.

        Markdown is cut at its structure, and its front matter becomes tags and metadata. In a
        `vault`, as Obsidian has it, `#tags` in the text become tags too, and `[[links]]` metadata
        and edges, which `related` follows; by default a folder is one when it, or one above it, has
        a folder `.obsidian`. With `dry_run` nothing is written. A file that has not changed is
        skipped, unless `force` is given. What a changed file no longer says is forgotten, and so is
        a file that is gone. A file that fails says why in its `Loaded.error` and stays as it was;
        the others are loaded. `progress` is called after each file with its `Loaded` and the number
        of all files. Raises `NotFound` for a path that does not exist.
        """
        return files.load(
            self._engine,
            path,
            pattern=pattern,
            tags=tags,
            metadata=metadata,
            force=force,
            vault=vault,
            dry_run=dry_run,
            progress=progress,
        )

    def unload(self, path: str | os.PathLike[str]) -> int:
        """Forget a file, or every file below a folder; answers how many chunks were forgotten.
        Raises `NotFound`.
        """
        return files.unload(self._engine, path)

    def files(self, path: str | os.PathLike[str] | None = None) -> builtins.list[File]:
        """The files that are loaded, sorted by path: all, or a path and what is below it."""
        return files.listed(self._engine, path)

    # -- forgetting --------------------------------------------------------------------------------

    def forget(self, id_or_key: str, *, robot: str | None = None) -> None:
        """Hide a node from its owner, or with `robot` only that robot's mentions of it. `restore`
        undoes it.

        The files that were attached to a message leave recall with it, and come back with it.
        Raises `NotFound` when this owner has no such memory. What the whole tenant shares is
        forgotten by a memory without a user.
        """
        forget_module.forget(self._engine, id_or_key, robot=robot)

    def restore(self, id_or_key: str) -> Node:
        """Show again what was forgotten; raises `NotFound` when nothing was, or when
        it was purged.
        """
        return forget_module.restore(self._engine, id_or_key)

    def purge(self, older_than: datetime | timedelta, *, confirm: str = "") -> int:
        """Delete for good what was forgotten or has expired longer ago than this; answers how many
        nodes were deleted.

        `older_than` is a datetime with a time zone, or an age. `confirm` must be "confirmed".
        """
        return forget_module.purge(self._engine, older_than, confirm=confirm)

    def sweep(self) -> int:
        """Delete for good what expired longer ago than `Settings.expired_grace`, of the whole
        tenant; answers how many nodes went.

        The worker does this by itself, at most once a minute. What has expired is hidden at once in
        any case.
        """
        return forget_module.sweep(self._engine)

    def erase(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        key: str | None = None,
        confirm: str = "",
    ) -> Receipt:
        """Delete at once and for good everything of a user, a session or a key; answers with counts
        of what was deleted.

        Give exactly one of the three. Sessions and keys are this owner's. `confirm` must be
        "confirmed". The receipt is an entry of the audit, with no word of what was erased;
        docs/why/erasure.md says what is gone from the disk, and when.
        """
        return forget_module.erase(
            self._engine, user=user, session=session, key=key, confirm=confirm
        )

    def erase_tenant(
        self, *, confirm: str = "", progress: Callable[[int], None] | None = None
    ) -> Receipt:
        """Delete at once and for good everything that the tenant has: of all its users, and with
        its collections, jobs and tokens.

            memory.of(tenant="acme").erase_tenant(confirm="acme")

        `confirm` must be the tenant's name. `progress` is called with the number of rows that are
        deleted so far. Some thousand are deleted at a time, so it may be interrupted at any point:
        then the same call goes on. What others write meanwhile goes, too; what they write later is
        a new tenant's first memory. The audit stays, and the receipt is an entry of it. Raises
        `InvalidInput`, `NotFound` for a tenant that never had anything, and `StorageError` while it
        moves to another cell.
        """
        return forget_module.erase_tenant(self._engine, confirm=confirm, progress=progress)

    def audit(
        self,
        *,
        kind: str | None = None,
        user: str | None = None,
        session: str | None = None,
        key: str | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[AuditEntry]:
        """Return what was erased, purged or replaced: when, by which robot, and how much. Newest
        first.

            memory.audit(kind="erase", user="ann")  # the receipts about Ann

        `kind` is "erase", "purge" or another word. `user`, `session` or `key` keeps the entries
        about that one. `scope` "user", the default, are the entries of this user's memories and of
        those without a user; "tenant" are everybody's. For the next page pass the id of the last
        entry as `before`.
        """
        return audit_module.entries(
            self._engine,
            kind=kind,
            user=user,
            session=session,
            key=key,
            scope=scope,
            limit=limit,
            before=before,
        )

    def verify_audit(self, digests: Sequence[str] = ()) -> AuditReport:
        """Check every entry of the tenant's audit: none was changed, and none is missing.

        `digests` are those of receipts that were kept elsewhere: whether their entries are still
        there. Reads all entries.
        """
        return audit_module.verify(self._engine, digests)

    # -- tidying -----------------------------------------------------------------------------------

    def profile(self, user: str | None = None, *, budget: int = 300) -> Profile:
        """Return what is known of a user by their own words: name, instructions, preferences,
        people, places, work and open plans.

            print(memory.profile(budget=200).text)

        `user` is by default the memory's own; without one it is what everyone in the tenant shares.
        `text` has as many lines as fit `budget` tokens. Each line is a sentence of theirs, with the
        mentions that say it: what is forgotten is gone from it, too. Only what was said with the
        role "user", or without a role, counts. The reader chooses the sentences, in English; where
        it is not installed (`htm setup`), nothing is read, and `pending` counts the messages. No
        chat model is called.

        Reads what was said since the last time: some 0.1 s a message, and a few seconds at most;
        the rest of an import is left to the worker (`pending`).
        """
        return tidy.profile(self._engine, user=user, budget=budget)

    def tidy(
        self,
        *,
        dry_run: bool = False,
        kinds: Sequence[TidyKind] | None = None,
        summarizer: SummarizerLike | None = None,
    ) -> Tidied:
        """Tidy what this owner has: read it for the profile, merge memories that say the same, and
        summarise sessions.

            for merge in memory.tidy(dry_run=True, kinds=["merge"]).merges:
                print(merge.content, "says the same as", merge.into_content)

        `kinds` are "profile", "merge" and "summarize"; by default all. With `dry_run` nothing is
        changed, and the answer says what would be. Only what has changed since is read, so a second
        call has nothing to do. Nothing that was said is changed, and `unmerge` takes a merge back.
        The worker does the kinds that `Settings.tidy` names by itself.

        `summarizer` writes the summaries, instead of choosing messages: "ollama:MODEL", a LangChain
        chat model, an object with `summarize(messages)`, or a callable (messages) -> lines. A dry
        run asks no model. Raises `ModelError` when it fails; what was done until then stays.
        """
        return tidy.tidy(self._engine, dry_run=dry_run, kinds=kinds, summarizer=summarizer)

    def merges(self, *, limit: int = 100) -> builtins.list[Merge]:
        """The memories that are represented by another one which says the same, those that were
        merged last first.
        """
        return tidy.merges(self._engine, limit=limit)

    def unmerge(self, node_id: str) -> int:
        """Undo the merge of `node_id`, or all merges into it, for good; answers how many stand for
        themselves again.

        Everything is as it was before, since a merge changes none of what it joins. Raises
        `NotFound`.
        """
        return tidy.unmerge(self._engine, node_id)

    def summaries(self, *, session: str | None = None, limit: int = 20) -> builtins.list[Summary]:
        """Return summaries of sessions, the latest first: all that were summarised, or one. Recall
        never finds a summary.
        """
        return tidy.summaries(self._engine, session=session, limit=limit)

    # -- maintenance -------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Counts of what this owner sees, of working memory and of pending jobs."""
        return read.stats(self._engine, breakers=self._runtime.worker.breakers(self.tenant))

    @property
    def jobs(self) -> Jobs:
        """The pending jobs, and those that were given up, with their errors."""
        return Jobs(self._engine)

    @property
    def backup(self) -> Backup:
        """Everything that the tenant remembers, written as JSON lines and read back."""
        return Backup(self._engine)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all pending jobs are done; False when `timeout` seconds have passed, or when
        the jobs left keep failing.

        Writes what recall has held and counted first. The worker does the jobs; with `worker="off"`
        this call does them, and a batch that is at work when the time is over is finished after its
        return. Without a `timeout` it waits as long as there is work. Raises `DeadlineExceeded`
        when the server gives no answer within `Settings.verb_timeout`.
        """
        return flush(self._engine, self._runtime.worker, timeout=timeout)

    def close(self) -> None:
        """Write what recall has held and counted, and release this handle. What memories share
        stays open for the others.
        """
        self._runtime.worker.clients.release(self._engine)
        if self._engine.database.opened:
            self._runtime.write_behind.write()
