"""Results of recall: hits, best first, and why each was found; effects of newer sayings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, overload

from .memories import Mention, Node, times_said
from .options import SaidWhen, SupersessionRelation, SupersessionState, Window
from .quick import quickly_made


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """Effect of a newer saying on an older one: it "supersedes" it, or it "contradicts" it and
    nothing says which holds.

    `newer` and `older` are the latest mentions of both. `confidence` is from 0 to 1, `reason` says
    why in words, and `judge` who said so: "reader" or the name of a model. It holds from
    `holds_from` on, when the newer one was said. `state` is "standing", "confirmed", or "undone";
    what is undone has no effect and is not made again. Of what is forgotten there is none.
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
    """A row of the audit of a supersession: it was "made", "confirmed" or "undone", `by` whom, why
    and when.
    """

    action: Literal["made", "confirmed", "undone"]
    by: str
    reason: str
    at: datetime


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Match of a query with the best passage of a hit, before anything around the hit counts.

    `cosine` is the similarity of their vectors; None where the passage has no vector yet, or no
    vector was searched for. `word_coverage`, from 0 to 1, is the share of the query's word weights
    that the passage has. `matched_words` of the `query_words` occur. `passage_length` is in words.
    """

    cosine: float | None = None
    word_coverage: float = 0.0
    matched_words: int = 0
    query_words: int = 0
    passage_length: int = 0


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A node that answers a query, and why.

    `score` ranks: it is from 0 to 1, and what was said around a hit counts. `relevance`, from 0 to
    1, is the estimated probability that the hit answers the query, from `match` alone: it does not
    depend on other hits or sessions. Ranks count from 1; None means that this arm did not find the
    node. `passage` is the part of the content that matched best. `mentions` are those that satisfy
    the filters, newest first. `signals`, with `explain`, is what each signal added to the score.
    `before`, with a `budget` that has room for it, is the message right before `mention` in its
    session. `ended` says that none of these mentions holds any more (`Mention.valid`), `holds` what
    a model should know of that, such as "until 12 May 2026". `stale` says that it was not said
    again for longer than `Settings.stale_after` allows. `formerly` is what it superseded, the
    latest first, and `superseded_by` what superseded it: then it stands below that one.
    `said_when`, where the reader was asked for what holds now, is "last" (the newest of several
    messages that state it) or "earlier" (another of them). `user`, with `scope="tenant"`, is whose
    memory it is; None where it is shared by all, and in any other scope.
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
    user: str | None = None

    @property
    def id(self) -> str:
        """The node's id, as `forget`, `restore` and `related` take it."""
        return self.node.id

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
        """Number of times it was said: of its `mentions`, of which copies of one
        message are one.
        """
        return times_said(self.mentions)

    @property
    def last_said(self) -> datetime | None:
        """When it was said last; None without a mention."""
        return self.mentions[0].at if self.mentions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Durations of the parts of a recall, in milliseconds; the expander and the reranker where
    there is one.
    """

    embedding: float = 0.0
    sql: float = 0.0
    expander: float = 0.0
    reranker: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedTimeframe:
    """The times to which a recall was limited.

    `windows` ascend and do not overlap. `words` are those that they were read from, as written: a
    part of the query under timeframe="auto", else the timeframe itself; None if it was no text.
    `outside`, only under "auto", says that nothing that was said in these times, or is known to
    have held in them, answers the query, so that the hits are from all times.
    """

    windows: tuple[Window, ...]
    words: str | None = None
    outside: bool = False

    @property
    def note(self) -> str | None:
        """A sentence that says that the hits are from other times than the query names; None if
        they are not.
        """
        if not self.outside:
            return None
        return (
            f"Nothing from \u201c{self.words}\u201d answers this; these memories are from all "
            "times."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits of one query, best first.

    `degraded` says in a sentence which arm was missing, and why, or how many hits had no vector
    yet; else it is None. `fallback` says in a sentence why the reranker or the expander was left
    out; None where nothing was. `timeframe` says which times were searched; None if all of them
    were. `corrections` has the words of the query that no memory has, each with what was searched
    for instead or as well; with mode="text" they are said alone, and only the words that were given
    are searched for. `searched` has the parts of a long query that ask, where these were searched
    for and the rest beside them; else it is empty. `steps`, with explain=True, has the names of the
    steps after the search that changed a hit or its place, in their order.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    degraded: str | None = None
    fallback: str | None = None
    timeframe: AppliedTimeframe | None = None
    timings: Timings = field(default_factory=Timings)
    corrections: Mapping[str, str] = field(default_factory=dict)
    searched: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def searched_note(self) -> str | None:
        """Parts of a long query that were searched for, in a sentence; None where it
        was all of it.
        """
        return (
            f"Searched for: {' / '.join(' '.join(part.split()) for part in self.searched)}"
            if self.searched
            else None
        )

    @property
    def corrections_note(self) -> str | None:
        """The corrections in a sentence; None where there are none."""
        if not self.corrections:
            return None
        return "Spelt otherwise in memory: " + ", ".join(
            f"{typed} → {meant}" for typed, meant in self.corrections.items()
        )

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
