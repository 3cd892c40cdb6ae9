"""A query as the database takes it: the times and the speakers that it names, its words, its
embedding, and what they weigh by.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from ..base import time_limit
from ..base.errors import HTMError, ModelError
from ..base.folding import lexical_query, storable
from ..base.identity import node_id
from ..base.settings import Signals
from ..base.types import AppliedTimeframe, Hit, Mode, TimeframeLike, Window
from ..db import jobs
from ..db.connection import Connection
from ..db.errors import retry_transaction
from ..engine.engine import Engine
from ..text.questions import in_first_person, name_forms, named, quoted_phrases
from ..timeframes import extract_filter, times_in
from ..writing import nodes
from .search import RecallQuery
from .topicless import names_only_a_time

_log = logging.getLogger("htm.recall")

# The times that a query names hold an answer if a hit from them has at least this relevance.
ANSWERS = 0.1
# In another month and on another weekday: "yesterday" is another day then, "in May" is not.
ANOTHER_TIME = timedelta(days=40)
# How much the vector's score counts beside the words'; measured in docs/why/reader.md.
VECTOR_SHARE = 0.4
# And of that, for a question that the embedder cannot read, to order what no word finds.
LEAST_READABLE = 0.1
# the newest whose vectors a recall looks after; what is more has jobs, and is found by its words
# until then
NODES = 8
PASSAGES = 8
LONGEST_WAIT = 2.0  # seconds for what another thread makes; after that its words have to do


# -- the times that it names -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedTimes:
    """The text of a query to search for, and the times to search in.

    `text` is searched for in the times of `applied`, in all where that is None; `elsewhere` in all
    times where they hold no answer. `then` are the times that the query asks about, where they are
    over; `alone` says that it names nothing else, and they count from now.
    """

    text: str
    elsewhere: str
    applied: AppliedTimeframe | None = None
    then: tuple[Window, ...] = ()
    alone: bool = False


def times_of(engine: Engine, text: str, timeframe: TimeframeLike, *, mode: Mode) -> NamedTimes:
    """The times of a query. "auto" takes out of the text a time that says when, and limits to it.

    A time that counts from now, such as "yesterday", is another day in a memory that says so. So it
    is no word to search for where "auto" searches all times, nor in a query that names nothing
    else.
    """
    auto = timeframe == "auto"
    chosen = () if auto or timeframe is None else engine.time_windows(timeframe)
    applied = (
        AppliedTimeframe(windows=chosen, words=timeframe if isinstance(timeframe, str) else None)
        if chosen
        else None
    )
    if not (auto or mode == "hybrid"):
        return NamedTimes(text, text, applied)
    now, settings = engine.clock(), engine.settings
    rest, windows, words = extract_filter(
        text, now=now, week_start=settings.week_start, timezone=engine.timezone
    )
    if not windows:
        return NamedTimes(text, text, applied)
    then = windows if all(each.stop is not None and each.stop <= now for each in windows) else ()
    from_now = _counts_from_now(engine, text, windows)
    alone = from_now and bool(then) and names_only_a_time(engine, text)
    if auto:
        limited = AppliedTimeframe(windows=windows, words=words)
        return NamedTimes(rest, rest if from_now else text, limited, then, alone)
    return NamedTimes(rest if alone and applied is None else text, text, applied, then, alone)


def moments(engine: Engine, text: str, signals: Signals) -> tuple[Window, ...]:
    """The times that a text names, where they count."""
    if not signals.time:
        return ()
    return times_in(
        text, now=engine.clock(), week_start=engine.settings.week_start, timezone=engine.timezone
    )


def speaking_of_another_day(
    engine: Engine, query: RecallQuery, hits: Sequence[Hit]
) -> frozenset[str]:
    """The ids of hits that speak of another day than the one about which alone a question asks: of
    "yesterday", long ago.
    """
    named_in = partial(times_in, week_start=engine.settings.week_start, timezone=engine.timezone)
    return frozenset(
        hit.node.id
        for hit in hits
        if hit.mention is not None
        and not any(_has(each, hit.mention.at) for each in query.then)
        and (times := named_in(hit.passage, now=hit.mention.at))
        and not any(_overlap(one, other) for one in times for other in query.then)
    )


def held_during(windows: Sequence[Window], start: datetime, stop: datetime | None) -> bool:
    """True if what held between two moments, the second None for still, held at any of
    these times.
    """
    return any(_overlap(each, Window(start=start, stop=stop)) for each in windows)


def _counts_from_now(engine: Engine, text: str, windows: Sequence[Window]) -> bool:
    """True if the time in a text depends on the day, as that of "yesterday" does: in a memory it is
    another. May is a name.
    """
    earlier = engine.clock() - ANOTHER_TIME
    _, others, _ = extract_filter(
        text, now=earlier, week_start=engine.settings.week_start, timezone=engine.timezone
    )
    return [_in_its_year(each) for each in others] != [_in_its_year(each) for each in windows]


def _in_its_year(window: Window) -> str:
    return f"{window.start:%m-%d}" if window.start else ""


def _has(window: Window, moment: datetime) -> bool:
    return (window.start is None or window.start <= moment) and (
        window.stop is None or moment < window.stop
    )


def _overlap(one: Window, other: Window) -> bool:
    return (one.stop is None or other.start is None or other.start < one.stop) and (
        other.stop is None or one.start is None or one.start < other.stop
    )


# -- its words, speakers and embedding -------------------------------------------------------------


def complete(
    engine: Engine, query: RecallQuery, *, speakers: Mapping[str, str] | None = None
) -> RecallQuery:
    """A query with all that its text says. When the embedder fails it has no embedding, and
    `degraded` says why.

    `speakers` are those of its names that speak, as they are written; None where that is to be
    guessed from what earlier recalls have seen. They decide what is embedded, and the search itself
    tells them. What this process has just written gets its vector now. Raises `ModelError` for
    mode="vector" without an embedding.
    """
    forms = name_forms(query.text) if query.signal_weights.speaker else {}
    if speakers is None:
        known = engine.database.known_speakers.guess(engine.tenant, query.filters.owners, forms)
        speakers = named(forms, known) if known else {}
    query = replace(
        query,
        forms=forms,
        speakers=tuple(speakers),
        words=None
        if query.mode == "vector"
        else lexical_query(" ".join((query.text, *query.added))),
        phrases=quoted_phrases(query.text),
    )
    embedding, degraded = _embed(engine, query, written=tuple(speakers.values()))
    if embedding is not None:
        make_fresh_vectors(engine, query)
    if query.mode == "vector" and embedding is None:
        raise ModelError(
            f"expected a vector for mode='vector', but {degraded}; use "
            "mode='hybrid', or fix the embedder"
        )
    return replace(
        query,
        embedding=embedding,
        degraded=degraded,
        vector_share=VECTOR_SHARE * max(LEAST_READABLE, engine.embedder.readable(query.text)),
        # It has learned nothing else than to compare meaning and words, and the sum of their parts.
        ranker=0.0 if embedding is None or query.words is None else query.signal_weights.ranker,
    )


def without_embedding(query: RecallQuery, why: str) -> RecallQuery:
    """The query for a search by words alone."""
    return replace(query, embedding=None, ranker=0.0, degraded=_words_alone(why))


def _words_alone(why: str) -> str:
    return f"Only words were searched: {why}"


def _embed(
    engine: Engine, query: RecallQuery, *, written: Sequence[str]
) -> tuple[Sequence[float] | None, str | None]:
    """The query's embedding, or None and why there is none; the mode "text" needs none."""
    if query.mode == "text":
        return None, None
    text = in_first_person(query.text, written, language=engine.settings.language)
    try:
        embedding = engine.embedder.query(text)
        if query.mode != "vector" and not any(embedding):
            return None, _words_alone(
                f"the embedder {query.model} answered the question with zeros"
            )
        return embedding, None
    except ModelError as error:
        _log.warning("recall by words alone: %s", type(error).__name__)
        return None, f"Only words were searched, since the embedder {query.model} failed: {error}"


# -- vectors of what was just written --------------------------------------------------------------


def make_fresh_vectors(engine: Engine, query: RecallQuery) -> None:
    """Make the vectors that are still missing of the newest memories of this process, where they
    are few.

    Where this process has nothing pending that the query may see, this is one look into memory.
    Else it is one call of the embedder, a read and a transaction. What another thread is at work on
    is waited for: many recalls at once would all embed the same texts. The query's own text is left
    out: a question that was just said is no answer to itself. What fails here is left to the
        worker.
    """
    model, owners = engine.embedder.name, query.filters.owners
    fresh = engine.fresh_nodes.visible(engine.tenant, owners, model=model, limit=NODES + 1)
    if not fresh:
        return
    asked = storable(query.query)  # as an adapter has stored it
    ids = [node.id for node in fresh if node.id != node_id(node.owner, asked)][:NODES]
    if not ids:
        return
    ends = time.monotonic() + time_limit.for_model(LONGEST_WAIT)
    others = _make_unclaimed(engine, ids, everybody=query.of_everybody)
    if others and engine.fresh_nodes.wait(
        engine.tenant, others, seconds=max(0.0, ends - time.monotonic())
    ):
        # nearly always they have theirs by now
        _make_unclaimed(engine, others, everybody=query.of_everybody)


def _make_unclaimed(engine: Engine, ids: list[UUID], *, everybody: bool) -> list[UUID]:
    """Make the vectors of those nodes that nobody is at work on, and give the others."""
    mine = engine.fresh_nodes.claim(engine.tenant, ids)
    if mine:
        try:
            engine.fresh_nodes.done(engine.tenant, _make_vectors(engine, mine, everybody=everybody))
        except ModelError:
            # a text that the model cannot take would fail each recall
            engine.fresh_nodes.done(engine.tenant, mine)
        except HTMError as error:
            _log.warning("the vectors of new memories are left to the worker: %s", error)
        finally:
            engine.fresh_nodes.let_go((engine.tenant, id) for id in mine)
    return [id for id in ids if id not in mine]


def _make_vectors(engine: Engine, ids: list[UUID], *, everybody: bool) -> set[UUID]:
    """Make up to `PASSAGES` vectors of these nodes, and give the nodes that have all of theirs."""
    model = engine.embedder.name
    read = partial(engine.read, everybody=everybody, primary=True)
    missing = jobs.missing_texts(read, ids, model=model, limit=PASSAGES)
    if not missing:
        return set(ids)
    ids = [text.id for text in missing]
    vectors = dict(
        zip(ids, engine.embedder.documents([text.body for text in missing]), strict=True)
    )
    made = {text.node_id for text in missing} - jobs.nodes_left(missing, vectors)
    retry_transaction(lambda: _store(engine, vectors, sorted(made), everybody=everybody))
    return made


def _store(
    engine: Engine,
    vectors: Mapping[UUID, Sequence[float]],
    complete: Sequence[UUID],
    *,
    everybody: bool,
) -> None:
    model = engine.embedder.name

    def store(connection: Connection) -> None:
        """Have it all stored with the beginning of the transaction."""
        nodes.insert_vectors(connection, vectors, model=model)
        jobs.finish_embedding(connection, complete, model=model)
        if engine.settings.supersession is not None:
            jobs.enqueue_supersede(connection, complete)

    with engine.transaction(everybody=everybody, first=store, alone=True):
        pass
