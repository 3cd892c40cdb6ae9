"""The values, option types and protocols of the public surface. Values are frozen and slotted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias, overload

# The words that options take. `typing.get_args` lists them, for checks at run time.
Mode = Literal["hybrid", "vector", "text"]
Scope = Literal["user", "session", "tenant"]
Role = Literal["user", "assistant", "system", "tool"]
Source = Literal["user", "assistant", "tool", "file", "web", "import"]
Embed = Literal["queue", "now"]
PolicyName = Literal["importance", "lfu_lru", "lru", "fifo"]
OrderName = Literal["balanced", "balanced:access", "recent", "important", "frequent"]
GroupRole = Literal["active", "passive"]
RelationKind = Literal["related", "supports", "contradicts", "derived"]
RelationOrigin = Literal["tags", "proposition", "link"]
JobKind = Literal["embed", "tag", "propose", "relate", "supersede", "judge", "count", "profile", "merge", "summarize"]
SupersessionRelation = Literal["supersedes", "contradicts"]
SaidWhen = Literal["last", "later", "earlier"]
SupersessionState = Literal["standing", "confirmed", "undone"]
TidyKind = Literal["profile", "merge", "summarize"]
ProfileSection = Literal["about", "instructions", "preferences", "people", "places", "work", "plans"]
JobState = Literal["waiting", "claimed", "parked"]
CollectionKind = Literal["documents", "langgraph", "langchain", "llamaindex"]
FilterTarget = Literal["metadata", "value"]

Metadata = Mapping[str, Any]

DEFAULT_IMPORTANCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of time from `start`, inclusive, to `stop`, exclusive; None is open. Both have a time zone."""

    start: datetime | None
    stop: datetime | None

    def __contains__(self, at: datetime) -> bool:
        """Whether a moment is in it."""
        return (self.start is None or at >= self.start) and (self.stop is None or at < self.stop)


# Ways to say when: words such as "last week", a day, a moment, a window, or the two ends of one.
Moment: TypeAlias = date | datetime | None
OneTimeframe: TypeAlias = str | date | datetime | Window | tuple[Moment, Moment]
TimeframeLike: TypeAlias = OneTimeframe | Sequence[OneTimeframe] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to remember.

    The fields are the arguments of `Memory.remember`. `vector` is the content's embedding by the memory's own embedder, if
    you have it already. `attached` are files that came with it, as with a message in a log: recall finds what they
    say, cut as `Memory.load` cuts a file, and the log does not show it.
    """

    content: str
    id: str | None = None
    key: str | None = None
    importance: float | None = None
    tags: Sequence[str] = ()
    metadata: Metadata | None = None
    session: str | None = None
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    payload: bytes | None = None
    valid: TimeframeLike = None
    ttl: timedelta | float | None = None
    expires_at: datetime | None = None
    source: Source | None = None
    trust: int | None = None
    vector: Sequence[float] | None = None
    attached: Sequence[Attachment] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The text of a file that came with a message. `media_type` tells Markdown where `name` does not, and of a PDF `pages` is where
    each page begins, in characters.
    """

    text: str
    name: str | None = None
    media_type: str | None = None
    pages: tuple[int, ...] = ()
    source: Source = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One text of one owner, however often it was said.

    `created_at`, `accessed_at` and `access_count` are of the node; who said it, when and where are its mentions. `version` is
    that of its key, if it has one. `is_new` is true only in what `remember` answers, when the text was not known before. From
    `expires_at` on it is hidden: that is when the last of its mentions expires, None where one of them never does. `times_said`
    counts its mentions and those of what was merged into it, `last_said` is the time of the latest; of a hit's node, those that
    satisfy the filters, at most the newest twenty.
    """

    id: str
    content: str
    keys: tuple[str, ...] = ()
    version: int | None = None
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    tokens: int = 0
    created_at: datetime
    accessed_at: datetime
    access_count: int = 0
    is_new: bool = False
    expires_at: datetime | None = None
    times_said: int = 1
    last_said: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One saying of a node: who said it, when, and in which session. A message with nothing to search in it has no node.

    `seq` counts the messages of a session from 1, without gaps. `payload` is the exact bytes that were given. `source` says
    where it came from: "user", "assistant", "tool", "file", "web", "import", or None for the program itself. `trust` is from 0 (a
    page of the web) to 4 (the user, or the program itself). `valid` is when it holds, None where nothing was said about that,
    and `valid_words` the words that said so. From `expires_at` on it is hidden.
    """

    id: str
    node_id: str | None
    robot: str
    session: str | None
    role: str | None
    name: str | None
    seq: int
    at: datetime
    content: str
    metadata: Metadata = field(default_factory=dict)
    payload: bytes | None = None
    source: Source | None = None
    trust: int = 4
    valid: Window | None = None
    valid_words: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a query and the best passage of a hit have in common, before anything around the hit counts.

    `cosine` is the similarity of their vectors; None where the passage has no vector yet, or no vector was searched for.
    `word_coverage`, from 0 to 1, is the share of the query's word weights that the passage has. `matched_words` of the
    `query_words` occur. `passage_length` is in words. `word_nearness` is how near the words of the passage come to those of the
    query, each in its context, above what is usual for any two texts; None where words were not compared.
    """

    cosine: float | None = None
    word_coverage: float = 0.0
    matched_words: int = 0
    query_words: int = 0
    passage_length: int = 0
    word_nearness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """What a newer saying does to an older one: it "supersedes" it, or it "contradicts" it and nothing says which holds.

    `newer` and `older` are the latest mentions of both. `confidence` is from 0 to 1, `reason` says why in words, and `judge` who
    said so: "rules" or the name of a model. It holds from `holds_from` on, when the newer one was said. `state` is "standing",
    "confirmed", or "undone"; what is undone has no effect and is not made again. Of what is forgotten there is none.
    """

    id: str
    relation: SupersessionRelation
    newer: Mention
    older: Mention
    confidence: float
    reason: str
    judge: str
    state: SupersessionState
    holds_from: datetime
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersessionChange:
    """A row of the audit of a supersession: it was "made", "confirmed" or "undone", `by` whom, why and when."""

    action: Literal["made", "confirmed", "undone"]
    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A node that answers a query, and why.

    `score` ranks: it is from 0 to 1, and what was said around a hit counts. `relevance`, from 0 to 1, is the estimated
    probability that the hit answers the query, from `match` alone: it does not depend on other hits or sessions. Ranks count
    from 1; None means that this arm did not find the node. `passage` is the part of the content that matched best.
    `mentions` are those that satisfy the filters, newest first. `signals`, with `explain`, is what each signal added to the
    score. `before`, with a `budget` that has room for it, is the message right before `mention` in its session. `ended` says that
    none of these mentions holds any more (`Mention.valid`), `holds` what a model should know of that, such as "until 12 May 2026".
    `stale` says that it was not said again for longer than `Settings.stale_after` allows.
    `formerly` is what it superseded, the latest first, and `superseded_by` what superseded it: then it stands below that one.
    `said_when`, of hits for a question about what holds now, is "last" (it says what holds now, and something older was said),
    "earlier" (that is what was said before), or "later" (than the first hit, which it may have changed).
    """

    node: Node
    score: float
    relevance: float = 0.0
    vector_rank: int | None
    text_rank: int | None
    passage: str
    match: Match = field(default_factory=Match)
    mentions: tuple[Mention, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    before: Mention | None = None
    ended: bool = False
    holds: str | None = None
    formerly: tuple[Supersession, ...] = ()
    superseded_by: Supersession | None = None
    stale: bool = False
    said_when: SaidWhen | None = None

    @property
    def content(self) -> str:
        """The node's exact text."""
        return self.node.content

    @property
    def mention(self) -> Mention | None:
        """The newest of the mentions that satisfy the filters."""
        return self.mentions[0] if self.mentions else None

    @property
    def times_said(self) -> int:
        """How often it was said: the number of `mentions`."""
        return len(self.mentions)

    @property
    def last_said(self) -> datetime | None:
        """When it was said last; None without a mention."""
        return self.mentions[0].at if self.mentions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long the parts of a recall took, in milliseconds; the expander and the reranker where there is one."""

    embedding: float = 0.0
    sql: float = 0.0
    expander: float = 0.0
    reranker: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedTimeframe:
    """The times to which a recall was limited.

    `windows` ascend and do not overlap. `words` are those that they were read from, as written: a part of the query under
    timeframe="auto", else the timeframe itself; None if it was no text. `outside`, only under "auto", says that nothing from
    these times answers the query, so that the hits are from all times.
    """

    windows: tuple[Window, ...]
    words: str | None = None
    outside: bool = False

    @property
    def note(self) -> str | None:
        """A sentence that says that the hits are from other times than the query names; None if they are not."""
        if not self.outside:
            return None
        return f"Nothing from \u201c{self.words}\u201d answers this; these memories are from all times."


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits of one query, best first.

    `degraded` says in a sentence which arm was missing, and why, or how many hits had no vector yet; else it is None.
    `fallback` says in a sentence why the reranker or the expander was left out; None where nothing was.
    `timeframe` says which times were searched; None if all of them were.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    degraded: str | None = None
    fallback: str | None = None
    timeframe: AppliedTimeframe | None = None
    timings: Timings = field(default_factory=Timings)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A node as working memory holds it. Times are UTC epoch seconds, so that a policy can calculate with them.

    `name`, `role`, `session`, `said_at`, `seq` and `source` are those of its latest mention: who said it, where, when, its place
    among what was said then, and where it came from. They, `tags` and `keys` are as they were when the item was read or written.
    From `expires_at` on it is no longer held.
    """

    id: str
    content: str
    tokens: int
    importance: float = DEFAULT_IMPORTANCE
    access_count: int = 0
    added_at: float
    accessed_at: float
    name: str | None = None
    role: str | None = None
    session: str | None = None
    said_at: float | None = None
    seq: int = field(default=0, compare=False)
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    expires_at: float | None = field(default=None, compare=False)
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """The receipt of an item that left working memory. Its node stays in long-term memory."""

    item: Item
    policy: str
    score: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A text for a model's prompt, of exactly `tokens` tokens, made of `items` in their order in the text."""

    text: str
    items: tuple[Item, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The answer of `revise` when the key has another version than expected; nothing was written.

    `current` is the key's present value; None when it has none, or when its value was forgotten.
    """

    key: str
    expected: int
    current: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSource:
    """Where a line of a profile is from: the mention that says it, and its node."""

    mention_id: str
    node_id: str
    session: str | None
    at: datetime
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLine:
    """One line of a profile, such as "Lives in Bergen".

    `key` is "profile:SECTION:SLOT". `sources` are the mentions that say it, newest first: what is forgotten is none. `former` are
    the values that the key had before, newest first. `due` is the day by which a plan is to be done.
    """

    key: str
    section: str
    text: str
    value: str
    sources: tuple[ProfileSource, ...]
    due: date | None = None
    former: tuple[ProfileLine, ...] = ()

    @property
    def said_at(self) -> datetime:
        """When it was said last."""
        return self.sources[0].at

    @property
    def times_said(self) -> int:
        """How often it was said."""
        return len(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is known of a user by their own words.

    `lines` are all of them, by section; `text` has as many as fit the budget, in `tokens` tokens. `pending` is how many messages
    were not read yet: the worker reads them, and so does the next call.
    """

    user: str | None
    lines: tuple[ProfileLine, ...] = ()
    text: str = ""
    tokens: int = 0
    pending: int = 0

    @property
    def sections(self) -> Mapping[str, tuple[ProfileLine, ...]]:
        """The lines by the names of their sections; no section is empty."""
        names = dict.fromkeys(line.section for line in self.lines)
        return {name: tuple(line for line in self.lines if line.section == name) for name in names}

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two memories that say the same: `node_id` is represented by `into_id` in recall, until it is undone."""

    node_id: str
    into_id: str
    content: str
    into_content: str
    robot: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a session was about. `lines` are its most telling messages, or what a chat model wrote of it (`model` is its name).

    `sources` are the ids of the mentions that it was made of; `messages` is how many there were. It is no memory: recall does not
    find it, and it goes when a message of its session is forgotten.
    """

    session: str | None
    lines: tuple[str, ...]
    sources: tuple[str, ...]
    messages: int
    first_at: datetime
    last_at: datetime
    made_at: datetime
    model: str = ""

    @property
    def text(self) -> str:
        """The lines, one below the other."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """What a tidying did, or with `dry_run` would do.

    `merges` are memories that say the same as another, `lines` the profile's lines with what was found, `summaries` those of the
    sessions that had none. `read` is how many messages were read for the profile.
    """

    dry_run: bool
    merges: tuple[Merge, ...] = ()
    lines: tuple[ProfileLine, ...] = ()
    summaries: tuple[Summary, ...] = ()
    read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """How many rows an erasure deleted, by kind: nodes, mentions, passages, vectors, keys, jobs.

    `id` is that of its entry in the audit. `digest`, 64 hexadecimal digits, stands for that entry and for all before it: keep it
    elsewhere, and `Memory.verify_audit` can say later whether the entry is still there as it was written. `at` is when.
    """

    counts: Mapping[str, int]
    id: str = ""
    digest: str = ""
    at: datetime | None = None

    @property
    def total(self) -> int:
        """How many rows were deleted in all."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Something that was done and has to be provable: `kind` is "erase", "purge" or another word.

    It holds no text of any memory, and no name of a user, session or key: `user` (whose memory did it; None without one) and
    `about` (what it concerned, such as {"session": …}) are digests by a key of the tenant; `Memory.audit(user=…)` finds by names.
    `facts` are numbers, times and ids; of an erasure its `counts`. `body` is the entry as it was hashed, and `digest` the SHA-256
    of the digest before it, a line feed and `body`.
    """

    id: str
    kind: str
    at: datetime
    robot: str
    user: str | None
    about: Mapping[str, str]
    facts: Mapping[str, Any]
    digest: str
    body: str

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows an erasure deleted, by kind; empty for anything else."""
        return dict(self.facts.get("counts") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Whether the audit of a tenant is as it was written. `problems` are sentences; there is none where all is well."""

    entries: int
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was changed, and nothing is missing."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A pending job, the node it is for, and the model that does it.

    `kind` is "embed", "tag", "propose", "relate", "supersede" (compare with what was said before), "judge" or "count". `state` is
    "waiting", "claimed" (a worker is doing it) or "parked" (given up after `attempts` tries). `error` is the last error.
    """

    id: str
    kind: JobKind
    model: str
    node_id: str | None
    state: JobState
    attempts: int
    run_at: datetime
    created_at: datetime
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened: `name` such as "remember" or "evict"; `data` holds numbers, never content."""

    name: str
    at: datetime
    data: Mapping[str, float | int | str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """A robot of the tenant, with counts of what it has said and holds, as far as this owner sees it.

    `active_at` is exact to about a minute. What a group holds is not counted for a single robot.
    """

    name: str
    created_at: datetime
    active_at: datetime
    mentions: int = 0
    nodes: int = 0
    sessions: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    working_items: int = 0
    working_tokens: int = 0
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSize:
    """What one user of a tenant has; `user` is None for what everyone shares.

    `nodes` and `mentions` are counted without what was forgotten, `bytes` are those of the stored rows without their indexes.
    """

    user: str | None
    nodes: int
    mentions: int
    sessions: int
    tokens: int
    pending_jobs: int
    bytes: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class UserSizes:
    """Some users of a tenant, those with the most messages first, and how much all have together."""

    shown: list[UserSize]
    users: int
    nodes: int
    mentions: int
    pending_jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSize:
    """What one tenant has. `bytes` are its share of the tables and their indexes by its rows; `pending` and `parked` are jobs.

    With `estimated` there is more than is counted exactly: then nodes and mentions are about what PostgreSQL's statistics say, and
    users and jobs at least so many. `cell` is where it is; None where there is one cell only.
    """

    tenant: str
    users: int
    nodes: int
    mentions: int
    pending: int
    parked: int
    bytes: int
    estimated: bool
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class TenantSizes:
    """Some tenants in the order of their names, and how many there are; `unasked` are cells that did not answer."""

    shown: list[TenantSize]
    tenants: int
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanCounts:
    """What was said in the span of time that `begins` then, and how many new memories that made."""

    begins: datetime
    mentions: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A robot in a group; `live` until its heartbeat is late."""

    robot: str
    role: GroupRole
    live: bool
    joined_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """The state of a group: its members in the order of joining, and what its working memory holds.

    `term` grows by one with each change of who is active. `listening` says whether this process is notified of changes at
    once; otherwise it looks for them with each heartbeat.
    """

    name: str
    lease: float
    term: int
    members: tuple[Member, ...]
    working_items: int
    working_tokens: int
    budget: int
    listening: bool

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the active members."""
        return tuple(member.robot for member in self.members if member.role == "active")

    @property
    def passive(self) -> tuple[str, ...]:
        """The names of the passive members."""
        return tuple(member.robot for member in self.members if member.role == "passive")

    @property
    def utilization(self) -> float:
        """How much of the budget is used, from 0 to 1."""
        return self.working_tokens / self.budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts for this memory's owner, its working memory, and the jobs that are pending or parked."""

    robot: str
    tenant: str
    user: str | None
    nodes: int
    mentions: int
    sessions: int
    robots: int
    tags: int
    forgotten: int
    passages: int
    vectors: int
    pending_jobs: int
    parked_jobs: int
    oldest_job_seconds: float | None
    working_items: int
    working_tokens: int
    budget: int
    oldest: datetime | None
    newest: datetime | None
    embedder: str | None
    server: str
    breakers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag, and how many nodes have it or a tag below it."""

    tag: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFound:
    """A tag that a search found; `score`, from 0 to 1, says how similar it is to the query."""

    tag: str
    nodes: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRelated:
    """A tag that occurs together with another, on `shared` nodes; `weight` is shared / (nodes with either)."""

    tag: str
    shared: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge between two nodes, by their ids.

    `kind` is "related", "supports", "contradicts" or "derived" (`source` from `target`). `origin` is "tags" that both have, a
    "proposition" that a model took from its target, or an explicit "link". `weight` is above 0 and at most 1.
    """

    source: str
    target: str
    kind: RelationKind
    origin: RelationOrigin
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A node that is related to another, and how closely.

    `path` holds the edges of the strongest path within the hops; `weight` is the product of their weights.
    """

    node: Node
    weight: float
    path: tuple[Relation, ...]

    @property
    def hops(self) -> int:
        """The number of edges of the path."""
        return len(self.path)


class Embedder(Protocol):
    """Anything that turns texts into vectors; LangChain's `Embeddings` already does.

    All vectors have the same number of dimensions, and are comparable by their cosine.
    """

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def embed_query(self, text: str, /) -> list[float]:
        """The vector of one query."""


class TextEmbedding(Protocol):
    """What is used of LlamaIndex's `BaseEmbedding`."""

    def get_text_embedding_batch(self, texts: list[str], /) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def get_query_embedding(self, query: str, /) -> list[float]:
        """The vector of one query."""


class NamedEmbedder(Protocol):
    """An embedder that a memory already uses, as `Collection.embedder` has it: with a name, and with checked answers."""

    @property
    def name(self) -> str:
        """The name that its vectors are stored under."""

    @property
    def dimension(self) -> int:
        """How many numbers each vector has. Calls the model where that is not known yet."""

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def query(self, text: str) -> list[float]:
        """The vector of one query."""


class ChatModel(Protocol):
    """What is used of LangChain's `BaseChatModel`."""

    def with_structured_output(self, schema: Any, /) -> Any:
        """The same model with answers that follow a schema."""


class StructuredModel(Protocol):
    """What is used of a chat model of LlamaIndex."""

    def as_structured_llm(self, output_cls: Any, /) -> Any:
        """The same model with answers that follow a schema."""


class Tagger(Protocol):
    """Anything that gives a text its tags."""

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """The tags of one text, such as `["user:preference"]`. `known` are the tags already in use, most used first."""


class Propositioner(Protocol):
    """Anything that splits a text into facts.

    If `propose` also takes `speaker` and `at`, it is told who said the text (a name or a role, or None) and when (a datetime with
    a time zone): "I moved to Oslo yesterday" says little without.
    """

    def propose(self, text: str) -> Sequence[str]:
        """The facts of one text, each a sentence that stands by itself; an empty list when it states none."""


class Reranker(Protocol):
    """Anything that compares a question with texts, one by one, and so knows better than a search which of them answer it."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One number for each text, in the same order: the higher, the better it answers the query."""


class DocumentCompressor(Protocol):
    """What is used of LangChain's `BaseDocumentCompressor`."""

    def compress_documents(self, documents: Sequence[Any], query: str, /) -> Sequence[Any]:
        """The documents that answer the query, best first."""


class NodePostprocessor(Protocol):
    """What is used of LlamaIndex's `BaseNodePostprocessor`."""

    def postprocess_nodes(self, nodes: list[Any], /, *, query_str: str | None = None) -> Sequence[Any]:
        """The nodes that answer the query, best first."""


class PairScorer(Protocol):
    """What is used of a `CrossEncoder` of sentence-transformers."""

    def predict(self, pairs: list[tuple[str, str]], /) -> Any:
        """One number for each pair of a query and a text: the higher, the better the text answers it."""


class Expander(Protocol):
    """Anything that asks a question in other words, or takes it apart."""

    def expand(self, question: str) -> Sequence[str]:
        """More questions to search for; an empty list when the question itself is enough."""


class Summarizer(Protocol):
    """Anything that says in a few lines what a conversation was about."""

    def summarize(self, messages: Sequence[str]) -> Sequence[str]:
        """The lines of a summary. Each message begins with the day and with who said it."""


class TokenCounter(Protocol):
    """Counts the tokens of a text as a model would."""

    def __call__(self, text: str) -> int: ...


# What the options of `Memory` take. `htm_core.models` turns each into an object with a name and checked answers.
EmbedderLike: TypeAlias = str | Embedder | TextEmbedding | NamedEmbedder
TaggerLike: TypeAlias = str | Tagger | ChatModel | Callable[[str, Sequence[str]], Sequence[str]]
PropositionerLike: TypeAlias = str | Propositioner | ChatModel | Callable[[str], Sequence[str]]
RerankerLike: TypeAlias = (
    str | Reranker | DocumentCompressor | NodePostprocessor | PairScorer | ChatModel
    | Callable[[str, Sequence[str]], Sequence[float]]
)  # fmt: skip
JudgeLike: TypeAlias = str | ChatModel | StructuredModel | Callable[[str, str], str]
ExpanderLike: TypeAlias = str | Expander | ChatModel | Callable[[str], Sequence[str]]
SummarizerLike: TypeAlias = str | Summarizer | ChatModel | Callable[[Sequence[str]], Sequence[str]]
Tokenizer: TypeAlias = Callable[[str], int | Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionItem:
    """A document of a vector store, or an item of a key-value store.

    `content` is embedded and indexed in passages of a few hundred tokens each; `texts`, when given, replace it, each
    by itself. `vector` (of the content) or `vectors` (one for each text) are embeddings that you have already. With
    `index=False` an item is found neither by meaning nor by words. `reference` is the id of the source document that it is
    a part of. An item expires at `expires_at`, or when `ttl` is over; a read with `refresh` starts the `ttl` again. The
    collection sets `created_at` and `updated_at`; values given for them are ignored. What is read back has no texts and
    vectors.
    """

    id: str | None = None
    content: str = ""
    value: Metadata = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)
    namespace: Sequence[str] = ()
    payload: bytes | None = None
    reference: str | None = None
    vector: Sequence[float] | None = None
    texts: Sequence[str] | None = None
    vectors: Sequence[Sequence[float]] | None = None
    index: bool = True
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionHit:
    """A document that answers a query, and why; `score` is None when there were only filters.

    `score` is from 0 to 1 and compares between queries. Ranks count from 1; None means that this arm did not find it.
    `cosine` is the similarity of its best vector, None without one. `words`, from 0 to 1, is how much of the query its words
    cover. `vector`, with `with_vectors`, is that best vector.
    """

    item: CollectionItem
    score: float | None
    vector_rank: int | None
    text_rank: int | None
    cosine: float | None
    words: float | None
    vector: tuple[float, ...] | None = None
