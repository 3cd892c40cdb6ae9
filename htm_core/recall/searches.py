"""Every search of one recall, and the one place that decides about a further one.

A recall searches for its text, for the other parts of a long query and for what an expander asks
beside it, in the times that it names or, where these hold no answer, in all. For each text the
database is searched once, and again for the reasons in `AGAIN`. A memory that several of these find
stands where it is worth most.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from ..base import validation
from ..base.errors import DimensionMismatch, ModelError
from ..base.limits import RESULTS
from ..base.types import Hit, Match, Recall, Timings
from ..db.connection import Reader
from ..engine.engine import Engine
from ..reading.relevance import CERTAIN, relevance
from ..text.questions import named
from . import search as statements
from . import spelling
from .complete_query import ANSWERS, complete, moments, without_embedding
from .hits import (
    Stage,
    answers_first,
    as_one,
    copies_among,
    copies_last,
    in_stages,
    in_time,
    left_out,
    on_hits,
    without_what_nobody_asked_for,
)
from .search import HitFields, RecallQuery, SeenBeside

if TYPE_CHECKING:
    from ..models.expanders import CheckedExpander
    from .scoring import Candidates

_log = logging.getLogger("htm.recall")

SMALLEST_POOL = 30  # candidates of each arm
PASTED_SHARE = 4  # one of so many hits, at most, is about what is pasted beside a question
MORE = 4  # times as many hits are searched for when copies fill up a limit
# Where the times that a query names hold no answer, hits from others are preferred if the best is
# so many times as relevant.
MUCH_MORE_RELEVANT = 3
# What a hit of another question is worth beside one of the question itself.
OTHERS_SHARE = 0.8
# The parts that a score can have. Diversity and echo come after the search.
NO_PARTS = dict.fromkeys((
    "vector", "words", "context", "session", "speaker", "time", "prior", "ranker", "diversity",
    "echo",
), 0.0)  # fmt: skip


# -- in which times --------------------------------------------------------------------------------


def search(engine: Engine, query: RecallQuery, *, at_least: int) -> tuple[RecallQuery, Recall]:
    """Return a query with its recall, of at least so many hits where there are as many.

    It is the one for all times where those that the query names hold no answer; `timeframe` says so
    then.
    """
    more = Expansion()
    # other questions have other words
    if engine.expander is not None and query.with_plugs and query.mode != "text":
        more = expand(engine.expander, query.question, seconds=engine.settings.expander_timeout)
    recall = _search_for_all(engine, query, more.questions, at_least=at_least)
    if query.at_any_time is not None and _best_relevance(recall) < ANSWERS:
        outside = _search_for_all(engine, query.at_any_time, more.questions, at_least=at_least)
        timings = total([recall.timings, outside.timings])
        if _best_relevance(outside) > MUCH_MORE_RELEVANT * _best_relevance(recall):
            query, recall = query.at_any_time, outside
        recall = replace(recall, timings=timings)
    timings = replace(recall.timings, expander=more.milliseconds)
    return query, replace(recall, fallback=more.fallback, timings=timings)


def _best_relevance(hits: Sequence[Hit]) -> float:
    return max((hit.relevance for hit in hits), default=0.0)


# -- for which texts -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expansion:
    """Further questions to search for, how many milliseconds they took, and why the expander was
    left out, if it was.
    """

    questions: Sequence[str] = ()
    milliseconds: float = 0.0
    fallback: str | None = None


def expand(expander: CheckedExpander, question: str, *, seconds: float) -> Expansion:
    """Ask an expander; without its answer the question is searched for as it is."""
    began = time.perf_counter()
    questions: Sequence[str] = ()
    fallback = None
    try:
        questions = expander.questions(question, seconds=seconds)
    except ModelError as error:
        _log.warning("recall without the expander: %s", type(error).__name__)
        fallback = f"Only the question itself was searched for: {error}"
    return Expansion(questions, (time.perf_counter() - began) * 1e3, fallback)


def _search_for_all(
    engine: Engine, query: RecallQuery, questions: Sequence[str], *, at_least: int
) -> Recall:
    """Search for a query and more questions under the same conditions, as one recall of `at_least`
    so many hits.

    A memory that no question finds among its first may still be the best for all of them: each is
    asked for all its candidates.
    """
    shown, limit = query.limit, max(query.limit, at_least, SMALLEST_POOL if questions else 0)
    if (limit, at_least) != (query.limit, 0):
        query = replace(query, limit=limit, pool=max(query.pool, at_least))

    def find(text: str) -> Recall:
        """Search for one more question."""
        more = replace(
            query, query=text, text=text, moments=moments(engine, text, query.signal_weights)
        )
        return _search_for_one(engine, more)

    asked = query.asked
    parts = (
        [] if asked is None else [find(validation.check_query(part)) for part in asked.parts[1:]]
    )
    if asked is not None and not asked.surely:
        parts.append(find(validation.check_query(asked.beside)))
    recall = _search_for_one(engine, query)
    if parts or questions:
        recall = best_of([recall, *parts], [find(text) for text in questions], limit=limit)
    if asked is None:
        return recall
    recall = replace(recall, searched=asked.parts)
    return (
        _with_gist(recall, find(validation.check_query(asked.beside)), shown=shown)
        if asked.surely
        else recall
    )


def best_of(recalls: Sequence[Recall], others: Sequence[Recall], *, limit: int) -> Recall:
    """Merge the recalls of several searches into one: each memory once, from the search in which it
    is worth most.

    `recalls` are of the question itself, or of its parts, of which the first one's recall is kept
    in everything else; `others` are of other questions for it. Worth is relevance, which compares
    between questions, and score together; what another question found counts a little less, since
    it may be beside the point. A hit gets the score of its place, as if one search had found them
    all. Measured in docs/why/questions.md.
    """
    everything = [*recalls, *others]
    best: dict[str, tuple[float, Hit]] = {}
    for number, recall in enumerate(everything):
        share = 1.0 if number < len(recalls) else OTHERS_SHARE
        for hit in recall:
            worth = share * (hit.relevance + hit.score)
            if hit.node.id not in best or worth > best[hit.node.id][0]:
                best[hit.node.id] = worth, hit
    hits = [hit for _, hit in sorted(best.values(), key=lambda pair: -pair[0])][:limit]
    scores = sorted((hit.score for hit in hits), reverse=True)
    placed = tuple(
        replace(hit, score=score, signals={**hit.signals, "expander": score - hit.score})
        for hit, score in zip(hits, scores, strict=True)
    )
    degraded = next((recall.degraded for recall in everything if recall.degraded), None)
    return replace(
        recalls[0],
        hits=placed,
        degraded=degraded,
        timings=total([recall.timings for recall in everything]),
    )


def _with_gist(recall: Recall, gist: Recall, *, shown: int) -> Recall:
    """Return the hits of a message's questions, with the certain ones of its rest in the last
    quarter of the `shown` places.

    The hits of the rest get no more than the score of the place where they stand.
    """
    known = {hit.node.id for hit in recall}
    sure = [hit for hit in gist if hit.relevance >= CERTAIN and hit.node.id not in known][
        : shown // PASTED_SHARE
    ]
    at = min(len(recall), shown - len(sure))
    lowest = recall[at - 1].score if at else 1.0
    added = [_scored(hit, min(hit.score, lowest)) for hit in sure]
    hits = (*recall.hits[:at], *added, *recall.hits[at:])
    return replace(recall, hits=hits, timings=total([recall.timings, gist.timings]))


def _scored(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, signals={**hit.signals, "pasted": score - hit.score})


def total(timings: Sequence[Timings]) -> Timings:
    """The sum of times."""
    return Timings(
        embedding=sum(each.embedding for each in timings),
        sql=sum(each.sql for each in timings),
        expander=sum(each.expander for each in timings),
        reranker=sum(each.reranker for each in timings),
    )


# -- once more -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, and which of the query's forms are names of speakers; None where it has
    none.

    `similar_words` has the query's doubtful words that no memory has, each with what memories have
    instead and how often.
    """

    hits: list[Hit]
    known_speakers: Sequence[str] | None
    similar_words: Mapping[str, spelling.Similar] = field(default_factory=dict)
    candidates: Candidates | None = None
    beside: SeenBeside | None = None


@dataclass(frozen=True, slots=True)
class _Searched:
    """One search of the database: by which query, how many hits were `wanted`, and what was found.

    `hits` are those of `result` within the query's limit, with what was merged as one. Where the
    embedding was of another model than the tenant's vectors, nothing was found, and `mismatch` says
    so.
    """

    query: RecallQuery
    wanted: int
    result: SearchResult = field(default_factory=lambda: SearchResult([], None))
    hits: Sequence[Hit] = ()
    mismatch: DimensionMismatch | None = None


def _search_for_one(engine: Engine, query: RecallQuery) -> Recall:
    """Search once, again as long as there is a reason, and pass the recall through the stages."""
    began = time.perf_counter()
    if engine.settings.spelling and query.mode != "vector":
        # without the schema of its configuration
        language = engine.settings.language.rpartition(".")[2]
        query = replace(query, doubtful=spelling.doubtful(query.text, language=language))
    wanted, asked, embedding, sql = query.limit, complete(engine, query), 0.0, 0.0
    while True:
        completed = time.perf_counter()
        searched = _search(engine, asked, wanted=wanted)
        ended = time.perf_counter()
        embedding, sql = embedding + (completed - began) * 1e3, sql + (ended - completed) * 1e3
        again = next(filter(None, (reason(engine, searched) for reason in AGAIN)), None)
        if again is None:
            break
        began, asked = ended, again
    corrections = asked.corrections
    # finds the words that were given, and says others
    if asked.mode == "text" and (meant := _meant(engine, searched)):
        corrections = meant.corrections
    recall = Recall(
        query=query.query,
        hits=tuple(searched.hits),
        timeframe=query.timeframe,
        timings=Timings(embedding=embedding, sql=sql),
        corrections=corrections,
    )
    recall = in_stages(engine, replace(asked, limit=wanted), recall, STAGES)
    return replace(
        recall,
        degraded=asked.degraded or _found_by_words_alone(asked, recall.hits, searched.result),
    )


def _search(engine: Engine, query: RecallQuery, *, wanted: int) -> _Searched:
    """One search of the database by a complete query. Raises `DimensionMismatch` where words alone
    would find nothing, either.
    """
    try:
        result = ranked_search(partial(engine.read, everybody=query.of_everybody), query)
    except DimensionMismatch as error:
        if query.words is None or query.embedding is None or not engine.model_changed():
            raise
        return _Searched(query, wanted, mismatch=error)
    hits: Sequence[Hit] = result.hits[: query.limit]
    if result.beside is not None:
        engine.database.superseding.learn(engine.tenant, there=result.beside.superseding)
        hits = as_one(engine, query, hits) if result.beside.merged else hits
    return _Searched(query, wanted, result, hits)


def _by_words_alone(_: Engine, searched: _Searched) -> RecallQuery | None:
    """The tenant has another model by now."""
    if searched.mismatch is None:
        return None
    _log.warning("recall by words alone: the tenant has another model by now")
    return without_embedding(searched.query, str(searched.mismatch))


def _as_meant(engine: Engine, searched: _Searched) -> RecallQuery | None:
    """No memory has a word of the query, and it is known how it was probably meant. mode="text"
    only says it.
    """
    query = searched.query
    if query.mode == "text" or not searched.result.similar_words:
        return None
    meant = _meant(engine, searched)
    if meant is None:
        return None
    asked = replace(
        query,
        text=meant.text,
        added=meant.added,
        doubtful=spelling.RIGHT,
        corrections=meant.corrections,
        moments=query.moments or moments(engine, meant.text, query.signal_weights),
        limit=searched.wanted,
    )
    return complete(engine, asked)


def _meant(engine: Engine, searched: _Searched) -> spelling.Mended | None:
    query, similar = searched.query, searched.result.similar_words
    language = engine.settings.language.rpartition(".")[2]
    return (
        spelling.mended(query.text, similar, asked=query.doubtful, language=language)
        if similar
        else None
    )


def _with_its_speakers(engine: Engine, searched: _Searched) -> RecallQuery | None:
    """Other words of the query are names of speakers than was guessed, such as when a name is heard
    for the first time.
    """
    query, known = searched.query, searched.result.known_speakers
    if known is None:
        return None
    speakers = named(query.forms, known)
    if set(speakers) == set(query.speakers):
        return None
    engine.database.known_speakers.learn(engine.tenant, query.filters.owners, query.forms, known)
    return complete(engine, replace(query, limit=searched.wanted), speakers=speakers)


def _for_more_hits(engine: Engine, searched: _Searched) -> RecallQuery | None:
    """Hits that yield their place, such as copies, fill up the limit, and there are more."""
    query, hits = searched.query, searched.hits
    if len(searched.result.hits) < query.limit or query.limit >= RESULTS:
        return None
    yielding = sum(original is not None for original in copies_among(query, hits)) + len(
        left_out(engine, query, hits)
    )
    if len(hits) - yielding >= searched.wanted:
        return None
    return replace(query, limit=min(RESULTS, MORE * query.limit))


# The reasons to search again, in their order, each with the query for it, which does not give the
# same reason once more.
AGAIN: Sequence[Callable[[Engine, _Searched], RecallQuery | None]] = (
    _by_words_alone,
    _as_meant,
    _with_its_speakers,
    _for_more_hits,
)


# -- one search ------------------------------------------------------------------------------------


def ranked_search(read: Reader, query: RecallQuery) -> SearchResult:
    """The best nodes for a query, best first, with what each signal added to their scores.

    Nearest neighbours alone take one message to the server, anything else two. Raises
    `DimensionMismatch` when the embedding is of another model than the tenant's vectors.
    """
    # These bring numpy, which nobody needs who never recalls.
    from .candidates import find
    from .scoring import ScoringQuery, best_candidates

    if query.asks_for_neighbours_alone:
        return _neighbours(read, query)
    result = find(read, query)
    asked = ScoringQuery(
        by_meaning=query.embedding is not None,
        by_words=query.words is not None,
        signals=query.signal_weights,
        speaker=query.speakers[0] if len(query.speakers) == 1 else None,
        moments=query.moments,
        ranker=query.ranker,
        min_score=query.min_score,
        words_alone=query.mode == "text",
    )
    nodes = result.candidates
    scored = best_candidates(nodes, asked, limit=query.limit)
    fields = statements.hit_fields(
        read,
        query,
        [nodes.nodes[each.place] for each in scored],
        [nodes.passages[each.place] for each in scored],
    )
    hits = []
    for row in fields:
        score = scored[row.place]
        ranks = nodes.vector_ranks[score.place], nodes.text_ranks[score.place]
        cosine = float(nodes.cosines[score.place])
        match = Match(
            cosine=None if math.isnan(cosine) else cosine,
            word_coverage=max(0.0, float(nodes.text_scores[score.place])),
            matched_words=score.matched,
            query_words=nodes.query_words,
            passage_length=row.passage_length,
        )
        vector_rank, text_rank = (None if math.isnan(rank) else int(rank) for rank in ranks)
        hits.append(
            _hit(
                query,
                row,
                score.score,
                score.parts,
                match,
                vector_rank=vector_rank,
                text_rank=text_rank,
            )
        )
    return SearchResult(hits, result.known_speakers, result.similar_words, nodes, result.beside)


def _neighbours(read: Reader, query: RecallQuery) -> SearchResult:
    """Nearest neighbours, which score by their nearness alone."""
    from .scoring import nearness

    hits = []
    neighbours, beside = statements.nearest(read, query)
    for neighbour in neighbours:
        score = nearness(neighbour.cosine)
        match = Match(cosine=neighbour.cosine, passage_length=neighbour.fields.passage_length)
        hits.append(
            _hit(
                query, neighbour.fields, score, {"vector": score}, match, vector_rank=neighbour.rank
            )
        )
    return SearchResult(hits, None, beside=beside)


def _hit(
    query: RecallQuery,
    fields: HitFields,
    score: float,
    parts: Mapping[str, float],
    match: Match,
    *,
    vector_rank: int | None,
    text_rank: int | None = None,
) -> Hit:
    return Hit(
        node=fields.node,
        score=score,
        relevance=relevance(match),
        vector_rank=vector_rank,
        text_rank=text_rank,
        passage=fields.passage,
        match=match,
        mentions=fields.mentions,
        signals={**NO_PARTS, **parts} if query.explain else {},
    )


# -- after a search --------------------------------------------------------------------------------


def _within_limit(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    return [hit for hit in hits[: query.limit] if hit.score >= query.min_score]


# What happens to the hits of one search, in order.
STAGES: Mapping[str, Stage] = {
    "copies last": on_hits(copies_last),
    "replies of memory and other days out": on_hits(without_what_nobody_asked_for),
    "answers before questions": on_hits(answers_first),
    "what has ended or is old lower": on_hits(
        lambda engine, query, hits: in_time(
            engine, hits, at=query.filters.valid_at or query.filters.as_of or engine.clock()
        )
    ),
    "limit of the search": on_hits(_within_limit),
}


def _found_by_words_alone(
    query: RecallQuery, hits: Sequence[Hit], result: SearchResult
) -> str | None:
    """Say how many hits could not be compared by meaning, in a sentence; None when all could.

    The query itself, which was perhaps just said, needs no vector to be found.
    """
    if query.embedding is None:
        return None
    alone = [
        hit
        for hit in hits
        if hit.match.cosine is None and hit.vector_rank is None and hit.content != query.query
    ]
    if not alone:
        return None
    without_direction = result.candidates.without_direction() if result.candidates else frozenset()
    zeros = sum(hit.node.id in without_direction for hit in alone)
    counted = (
        (len(alone) - zeros, "its vector is not made yet", "their vectors are not made yet"),
        (zeros, "the embedder answered it with zeros", "the embedder answered them with zeros"),
    )
    return (
        " ".join(_by_their_words(count, one, several) for count, one, several in counted if count)
        or None
    )


def _by_their_words(count: int, why: str, why_all: str) -> str:
    if count == 1:
        return f"1 memory was found by its words alone: {why}"
    return f"{count} memories were found by their words alone: {why_all}"
