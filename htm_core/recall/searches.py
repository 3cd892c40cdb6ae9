"""Every search of one recall, and the one place that decides about a further one.

A recall searches for its text, for the other parts of a long query and for what an expander asks beside it, in the times that it
names or, where these hold no answer, in all. For each text the database is searched once, and again for the reasons in `AGAIN`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ..base import validation
from ..base.errors import DimensionMismatch
from ..base.limits import RESULTS
from ..base.types import Hit, Recall, Timings
from ..engine.engine import Engine
from ..reading.relevance import CERTAIN
from ..text.memory_replies import is_memory_reply
from . import query_signals, spelling
from .complete_query import complete, name_forms, without_embedding
from .current import in_time
from .echoes import answers_first
from .expansion import best_of, expand, total
from .merged import as_one
from .named_times import ANSWERS, moments, speaking_of_another_day
from .near_duplicates import copies
from .search import RecallQuery
from .stages import Stage, in_stages, on_hits

if TYPE_CHECKING:
    from .ranked_search import SearchResult

_log = logging.getLogger("htm.recall")

SMALLEST_POOL = 30  # candidates of each arm
PASTED_SHARE = 4  # one of so many hits, at most, is about what is pasted beside a question
MORE = 4  # times as many hits are searched for when copies fill up a limit
# Where the times that a query names hold no answer, hits from others are preferred if the best is so many times as relevant.
MUCH_MORE_RELEVANT = 3


# -- in which times ----------------------------------------------------------------------------------------------------


def search(engine: Engine, query: RecallQuery, *, at_least: int) -> tuple[RecallQuery, Recall]:
    """Return a query with its recall, of at least so many hits where there are as many.

    It is the one for all times where those that the query names hold no answer; `timeframe` says so then.
    """
    expander = (
        engine.expander if query.with_plugs and query.mode != "text" else None
    )  # other questions have other words
    expansion = expand(expander, query.question, seconds=engine.settings.expander_timeout)
    recall = _search_for_all(engine, query, expansion.questions, at_least=at_least)
    if query.at_any_time is not None and _best_relevance(recall) < ANSWERS:
        outside = _search_for_all(engine, query.at_any_time, expansion.questions, at_least=at_least)
        timings = total([recall.timings, outside.timings])
        if _best_relevance(outside) > MUCH_MORE_RELEVANT * _best_relevance(recall):
            query, recall = query.at_any_time, outside
        recall = replace(recall, timings=timings)
    timings = replace(recall.timings, expander=expansion.milliseconds)
    return query, replace(recall, fallback=expansion.fallback, timings=timings)


def _best_relevance(hits: Sequence[Hit]) -> float:
    return max((hit.relevance for hit in hits), default=0.0)


# -- for which texts ---------------------------------------------------------------------------------------------------


def _search_for_all(engine: Engine, query: RecallQuery, questions: Sequence[str], *, at_least: int) -> Recall:
    """Search for a query and more questions under the same conditions, as one recall of `at_least` so many hits.

    A memory that no question finds among its first may still be the best for all of them: each is asked for all its candidates.
    """
    shown, limit = query.limit, max(query.limit, at_least, SMALLEST_POOL if questions else 0)
    if (limit, at_least) != (query.limit, 0):
        query = replace(query, limit=limit, pool=max(query.pool, at_least))

    def find(text: str) -> Recall:
        """Search for one more question."""
        more = replace(query, query=text, text=text, moments=moments(engine, text, query.signal_weights))
        return _search_for_one(engine, more)

    asked = query.asked
    parts = [] if asked is None else [find(validation.check_query(part)) for part in asked.parts[1:]]
    if asked is not None and not asked.surely:
        parts.append(find(validation.check_query(asked.beside)))
    recall = best_of([_search_for_one(engine, query), *parts], [find(text) for text in questions], limit=limit)
    if asked is None:
        return recall
    recall = replace(recall, searched=asked.parts)
    return _with_gist(recall, find(validation.check_query(asked.beside)), shown=shown) if asked.surely else recall


def _with_gist(recall: Recall, gist: Recall, *, shown: int) -> Recall:
    """Return the hits of a message's questions, with the certain ones of its rest in the last quarter of the `shown` places.

    The hits of the rest get no more than the score of the place where they stand.
    """
    known = {hit.node.id for hit in recall}
    sure = [hit for hit in gist if hit.relevance >= CERTAIN and hit.node.id not in known][: shown // PASTED_SHARE]
    at = min(len(recall), shown - len(sure))
    lowest = recall[at - 1].score if at else 1.0
    added = [_scored(hit, min(hit.score, lowest)) for hit in sure]
    hits = (*recall.hits[:at], *added, *recall.hits[at:])
    return replace(recall, hits=hits, timings=total([recall.timings, gist.timings]))


def _scored(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, signals={**hit.signals, "pasted": score - hit.score})


# -- once more ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Searched:
    """One search of the database: by which query, how many hits were `wanted`, and what was found.

    `hits` are those of `result` within the query's limit, with what was merged as one. Where the embedding was of another model
    than the tenant's vectors, nothing was found, and `mismatch` says so.
    """

    query: RecallQuery
    wanted: int
    result: SearchResult | None = None
    hits: Sequence[Hit] = ()
    mismatch: DimensionMismatch | None = None


def _search_for_one(engine: Engine, query: RecallQuery) -> Recall:
    """Search once, again as long as there is a reason, and pass the recall through the stages."""
    began = time.perf_counter()
    if engine.settings.spelling and query.mode != "vector":
        query = replace(query, doubtful=spelling.doubtful(query.text, language=_language(engine)))
    wanted, spent, asked = query.limit, list[Timings](), complete(engine, query)
    while True:
        completed = time.perf_counter()
        searched = _search(engine, asked, wanted=wanted)
        ended = time.perf_counter()
        spent.append(Timings(embedding=(completed - began) * 1e3, sql=(ended - completed) * 1e3))
        again = next(filter(None, (reason(engine, searched) for reason in AGAIN)), None)
        if again is None:
            break
        began, asked = ended, again
    corrections = asked.corrections
    if asked.mode == "text" and (meant := _meant(engine, searched)):  # finds the words that were given, and says others
        corrections = meant.corrections
    recall = Recall(
        query=query.query, hits=tuple(searched.hits), timeframe=query.timeframe, timings=total(spent),
        corrections=corrections,
    )  # fmt: skip
    recall = in_stages(engine, replace(asked, limit=wanted), recall, STAGES)
    return replace(recall, degraded=asked.degraded or _found_by_words_alone(asked, recall.hits, searched))


def _search(engine: Engine, query: RecallQuery, *, wanted: int) -> _Searched:
    """One search of the database by a complete query. Raises `DimensionMismatch` where words alone would find nothing, either."""
    from .ranked_search import ranked_search  # brings numpy, which nobody needs who never recalls

    read = partial(engine.read, everybody=query.of_everybody)
    try:
        result = ranked_search(read, query)
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
    """No memory has a word of the query, and it is known how it was probably meant. mode="text" only says it."""
    query, meant = searched.query, None if searched.query.mode == "text" else _meant(engine, searched)
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
    similar = searched.result.similar_words if searched.result else {}
    if not similar:
        return None
    return spelling.mended(searched.query.text, similar, asked=searched.query.doubtful, language=_language(engine))


def _language(engine: Engine) -> str:
    """The language of memories without the schema of its configuration."""
    return engine.settings.language.rpartition(".")[2]


def _with_its_speakers(engine: Engine, searched: _Searched) -> RecallQuery | None:
    """Other words of the query are names of speakers than was guessed, such as when a name is heard for the first time."""
    query, known = searched.query, searched.result.known_speakers if searched.result else None
    if known is None:
        return None
    forms = name_forms(query)
    named = query_signals.named(forms, known)
    if set(named) == set(query.speakers):
        return None
    engine.database.known_speakers.learn(engine.tenant, query.filters.owners, forms, known)
    return complete(engine, replace(query, limit=searched.wanted), speakers=named)


def _for_more_hits(engine: Engine, searched: _Searched) -> RecallQuery | None:
    """Hits that yield their place, such as copies, fill up the limit, and there are more."""
    query, hits = searched.query, searched.hits
    if searched.result is None or len(searched.result.hits) < query.limit or query.limit >= RESULTS:
        return None
    yielding = sum(original is not None for original in _copy_of(query, hits)) + len(_left_out(engine, query, hits))
    if len(hits) - yielding >= searched.wanted:
        return None
    return replace(query, limit=min(RESULTS, MORE * query.limit))


# The reasons to search again, in their order, each with the query for it, which does not give the same reason once more.
AGAIN: Sequence[Callable[[Engine, _Searched], RecallQuery | None]] = (
    _by_words_alone,
    _as_meant,
    _with_its_speakers,
    _for_more_hits,
)


# -- after a search ----------------------------------------------------------------------------------------------------


def _copies_last(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with those that repeat a better one further down, by the weight of diversity."""
    copy_of, lowered, weight = _copy_of(query, hits), list(hits), query.signal_weights.diversity
    if all(original is None for original in copy_of):
        return hits
    for place, original in enumerate(copy_of):
        if original is not None:
            hit, loss = hits[place], weight * hits[place].score
            lowered[place] = replace(hit, score=hit.score - loss, signals={**hit.signals, "diversity": -loss})
    return sorted(lowered, key=lambda hit: -hit.score)  # hits of equal score stay in their order


def _copy_of(query: RecallQuery, hits: Sequence[Hit]) -> Sequence[int | None]:
    """For each hit the place of the better one that it repeats: the same words of two people are two memories."""
    if not query.signal_weights.diversity:
        return ()
    voices = [hit.mentions[0].name if hit.mentions else None for hit in hits]
    return copies([hit.passage for hit in hits], voices=voices)


def _without_what_nobody_asked_for(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits without replies of memory's own tools, and without what speaks of another day than the question."""
    left_out = _left_out(engine, query, hits)
    return [hit for hit in hits if hit.node.id not in left_out] if left_out else hits


def _left_out(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> frozenset[str]:
    replies = frozenset(hit.node.id for hit in hits if hit.mention and is_memory_reply(hit.content, hit.mention.role))
    return replies | speaking_of_another_day(engine, query, hits)


def _what_holds_first(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    at = query.filters.valid_at or query.filters.as_of or engine.clock()
    return in_time(hits, at=at, zone=engine.timezone, settings=engine.settings)


def _within_limit(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    return [hit for hit in hits[: query.limit] if hit.score >= query.min_score]


# What happens to the hits of one search, in order.
STAGES: Mapping[str, Stage] = {
    "copies last": on_hits(_copies_last),
    "replies of memory and other days out": on_hits(_without_what_nobody_asked_for),
    "answers before questions": on_hits(answers_first),
    "what has ended or is old lower": on_hits(_what_holds_first),
    "limit of the search": on_hits(_within_limit),
}


def _found_by_words_alone(query: RecallQuery, hits: Sequence[Hit], searched: _Searched) -> str | None:
    """Say how many hits could not be compared by meaning, in a sentence; None when all could.

    The query itself, which was perhaps just said, needs no vector to be found.
    """
    if query.embedding is None or searched.result is None:
        return None
    without_direction: Collection[str] = searched.result.without_direction
    alone = [hit for hit in hits if hit.match.cosine is None and hit.vector_rank is None and hit.content != query.query]
    zeros = sum(hit.node.id in without_direction for hit in alone)
    sentences = (
        _by_their_words(len(alone) - zeros, "its vector is not made yet", "their vectors are not made yet"),
        _by_their_words(zeros, "the embedder answered it with zeros", "the embedder answered them with zeros"),
    )
    return " ".join(filter(None, sentences)) or None


def _by_their_words(count: int, why: str, why_all: str) -> str | None:
    if not count:
        return None
    if count == 1:
        return f"1 memory was found by its words alone: {why}"
    return f"{count} memories were found by their words alone: {why_all}"
