"""The values that cross the public surface: frozen, slotted, and typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias, overload

# The words that options take. `typing.get_args` lists them, for checks at run time.
Mode = Literal["hybrid", "vector", "text"]
Scope = Literal["user", "session", "tenant"]
Role = Literal["user", "assistant", "system", "tool"]
Embed = Literal["queue", "now"]
PolicyName = Literal["importance", "lfu_lru", "lru", "fifo"]
OrderName = Literal["balanced", "balanced:access", "recent", "important", "frequent"]
GroupRole = Literal["active", "passive"]
RelationKind = Literal["related", "supports", "contradicts", "derived"]
RelationOrigin = Literal["tags", "proposition", "link"]
JobKind = Literal["embed", "tag", "propose", "relate", "count"]
JobState = Literal["waiting", "claimed", "parked"]
CollectionKind = Literal["documents", "langgraph"]
FilterTarget = Literal["metadata", "value"]

Metadata = Mapping[str, Any]

DEFAULT_IMPORTANCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to remember, before it is one.

    The fields are `Memory.remember`'s arguments; `vector` is the content's embedding by the memory's own embedder, for
    those who have it already.
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
    vector: Sequence[float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What is remembered: one text of one owner, however often it was said."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Who said it, when and where: one saying of a node, or a message with nothing to search in it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A node that answers a query, and why.

    `score` is in [0, 1] and compares between queries. Ranks count from 1; None means that arm did not find it.
    `signals`, when they were asked for, are what each signal added to the score. `before`, when a budget was given and
    has room for it, is the message right before `mention` in its session.
    """

    node: Node
    score: float
    vector_rank: int | None
    text_rank: int | None
    passage: str
    mentions: tuple[Mention, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    before: Mention | None = None

    @property
    def content(self) -> str:
        """The node's exact text."""
        return self.node.content

    @property
    def mention(self) -> Mention | None:
        """The newest of the mentions that satisfy the filters."""
        return self.mentions[0] if self.mentions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where a recall's time went, in milliseconds."""

    embedding: float = 0.0
    sql: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits of one query, best first; `degraded` says in a sentence which arm was missing, and why."""

    query: str
    hits: tuple[Hit, ...] = ()
    degraded: str | None = None
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
    """One node as working memory holds it; times are UTC epoch seconds, so that a policy is plain arithmetic."""

    id: str
    content: str
    tokens: int
    importance: float = DEFAULT_IMPORTANCE
    access_count: int = 0
    added_at: float
    accessed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """The receipt of one item that left working memory; the node stays in long-term memory."""

    item: Item
    policy: str
    score: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model is given: `text` of exactly `tokens` tokens, made of `items` in the order in which they stand."""

    text: str
    items: tuple[Item, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of time, `start` inclusive and `stop` exclusive; None is open. Both are aware datetimes."""

    start: datetime | None
    stop: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A revision that lost the race: the key had moved on.

    `current` is what it holds now; None when it holds nothing, because there is none or its value was forgotten.
    """

    key: str
    expected: int
    current: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an erasure removed, by table word: nodes, mentions, passages, vectors, keys, jobs."""

    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many rows went."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that is owed: its `kind` ("embed", "tag", "propose", "relate" or "count"), for which node, by which model.

    `state` is "waiting", "claimed" (a worker is at it) or "parked" (given up after `attempts` tries); `error` says what went
    wrong last.
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
    """Something observable that happened: `name` such as "remember" or "evict", numbers only, never content."""

    name: str
    at: datetime
    data: Mapping[str, float | int | str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """A robot of the tenant, and what it has said and holds as far as the asking owner sees it.

    `active_at` is exact to about a minute. What a group holds counts for no robot alone.
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
class Member:
    """A robot in a group; `live` while its heartbeat is not late."""

    robot: str
    role: GroupRole
    live: bool
    joined_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """How a group stands: who is in it, in the order of joining, and what it holds in mind.

    `term` is one more after each change of who is active. `listening` says whether this process is told of changes at
    once, or else looks for them with each heartbeat.
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
        """The robots that are active."""
        return tuple(member.robot for member in self.members if member.role == "active")

    @property
    def passive(self) -> tuple[str, ...]:
        """The robots that stand by."""
        return tuple(member.robot for member in self.members if member.role == "passive")

    @property
    def utilization(self) -> float:
        """The share of the budget that is held, from 0 to 1."""
        return self.working_tokens / self.budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts for this memory's owner and scope, its working memory, and the work that is still owed."""

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
    """A tag, and how many nodes have it or one below it."""

    tag: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFound:
    """A tag that was looked for; `score` in [0, 1] is how much it is what was meant."""

    tag: str
    nodes: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRelated:
    """A tag that stands on the same nodes as another: on `shared` of them; `weight` is shared / (nodes with either)."""

    tag: str
    shared: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge between two nodes, by their ids.

    `kind` is "related", "supports", "contradicts" or "derived" (`source` from `target`); `origin` says where it comes from:
    "tags" that both have, a "proposition" that a model took from its target, or an explicit "link". `weight` is above 0 and
    at most 1.
    """

    source: str
    target: str
    kind: RelationKind
    origin: RelationOrigin
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A node that hangs together with another: by which edges, and how closely.

    `weight` is the product of the edges' weights along `path`, the strongest there is within the hops; `hops` is its length.
    """

    node: Node
    weight: float
    path: tuple[Relation, ...]

    @property
    def hops(self) -> int:
        """How many edges away it is."""
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


class Tagger(Protocol):
    """Anything that gives a text its tags."""

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """The tags of one text, such as `["user:preference"]`. `known` are the tags already in use, most used first."""


class Propositioner(Protocol):
    """Anything that splits a text into facts."""

    def propose(self, text: str) -> Sequence[str]:
        """The facts of one text, each a sentence that stands by itself; an empty list when it states none."""


class TokenCounter(Protocol):
    """Counts the tokens of a text as a model would."""

    def __call__(self, text: str) -> int: ...


# What the options of `Memory` take. `htm_core.models` turns each into an object with a name and checked answers.
EmbedderLike: TypeAlias = str | Embedder | TextEmbedding | NamedEmbedder
TaggerLike: TypeAlias = str | Tagger | ChatModel | Callable[[str, Sequence[str]], Sequence[str]]
PropositionerLike: TypeAlias = str | Propositioner | ChatModel | Callable[[str], Sequence[str]]
Tokenizer: TypeAlias = Callable[[str], int | Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionItem:
    """A document of a vector store, or an item of a key-value store.

    `content` is embedded and found by its words, in passages of a few hundred tokens each; `texts`, when given, are
    instead of it, each by itself. `vector` of the content, or `vectors` of the texts, are embeddings that are there
    already, one for each. With `index=False` it is found by neither meaning nor words. `reference` is the source
    document that it is a part of. It expires at `expires_at`, or when `ttl` is over; a refreshing read grants the `ttl`
    anew. The times of creation and update are the collection's: what an item brings of them is not looked at. What is
    read back has no texts and vectors of its own.
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
    """A document that answers a query, and why; `score` is None where nothing was asked but filters.

    `score` is in [0, 1] and compares between queries. Ranks count from 1; None means that arm did not find it. `cosine`
    is that of its best vector, None without one; `words` in [0, 1] is how much of the question its words are. `vector`,
    when it was asked for, is that best one.
    """

    item: CollectionItem
    score: float | None
    vector_rank: int | None
    text_rank: int | None
    cosine: float | None
    words: float | None
    vector: tuple[float, ...] | None = None
