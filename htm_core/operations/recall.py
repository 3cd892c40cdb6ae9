"""Recall: the query checked and embedded, one search, near-duplicates ranked lower, and the hits fitted to a budget.

An expander may add searches, and a reranker may change the order of what they find.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

from pydantic import ValidationError

from ..engine.engine import Engine
from ..errors import DimensionMismatch, InvalidInput, ModelError
from ..rules import validation
from ..rules.filters.filters import compile_where
from ..rules.fusion import reciprocal_rank
from ..rules.limits import RESULTS
from ..rules.ranking import Weights, weights_for
from ..rules.relevance import CERTAIN
from ..rules.text import query_signals, spelling
from ..rules.text.asked import asked_in, ends_of
from ..rules.text.near_duplicates import copies
from ..rules.text.passages import lexical_query
from ..rules.text.phrases import quoted_phrases
from ..rules.text.tags import normalize_all
from ..rules.trust import check_sources, check_trust
from ..settings import Signals
from ..store import nodes
from ..store.connection import Reader
from ..store.search import Filters, RecallQuery, preceding
from ..types import Hit, Mention, Mode, Recall, Scope, Source, TimeframeLike, Timings
from .current import in_time
from .echoes import answers_first, facts_before_neighbours, repeated_questions
from .expansion import best_of, expand, total
from .fresh_vectors import make_fresh_vectors
from .local_times import local_hits, local_mentions
from .merged import as_one
from .named_times import ANSWERS, moments, speaking_of_another_day, times_of
from .present import CONSIDERED, may_put_present_first, present_answer_first
from .reranking import reranked
from .small_talk import small_talk
from .supersession import edges_around, present_first

if TYPE_CHECKING:
    from ..rules.word_vectors import QuestionWords
    from .ranked_search import SearchResult

_log = logging.getLogger("htm.recall")

# How much the vector's score counts beside the words'; measured in docs/why/signals.md.
VECTOR_SHARE = 0.4
SMALLEST_POOL = 30  # candidates of each arm
SMALLEST_VECTOR_POOL = 20  # and of mode="vector", where they are the answer; several may be passages of one node
PASTED_SHARE = 4  # one of so many hits, at most, is about what is pasted beside a question
MORE = 4  # times as many hits are searched for when copies fill up a limit
# Where the times that a query names hold no answer, hits from others are preferred if the best is so many times as relevant.
MUCH_MORE_RELEVANT = 3
NO_SIGNALS = Signals(**dict.fromkeys(Signals.model_fields, 0.0))


def prepare(
    engine: Engine,
    query: str,
    *,
    limit: int,
    budget: int | None,
    mode: Mode,
    scope: Scope | None,
    timeframe: TimeframeLike,
    tags: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    robot: str | Sequence[str] | None,
    session: str | None,
    min_score: float,
    hold: bool,
    explain: bool,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
    sources: Sequence[Source | None] | None = None,
    min_trust: int | None = None,
    signals: Mapping[str, float] | None = None,
) -> RecallQuery:
    """Check what `Memory.recall` was given; raises `InvalidInput`, and nothing is searched or embedded then."""
    text = validation.check_query(query)
    query = ends_of(query)
    validation.check_choice(mode, get_args(Mode), what="mode")
    # Words alone are searched for as they are given.
    asked = None if mode == "text" else asked_in(query)
    text = text if asked is None else validation.check_query(asked.parts[0])
    if scope is not None:
        validation.check_choice(scope, get_args(Scope), what="scope")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 0):
        raise InvalidInput(f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}")
    weights = _signal_weights(_with_weights(engine.settings.signals, signals), mode)
    named = times_of(engine, text, timeframe, mode=mode)
    session, owners = _searched(engine, scope=scope, session=session)
    conditions = compile_where(where)
    filters = Filters(
        owners=owners,
        robots=validation.check_robots(robot),
        session=session,
        windows=named.applied.windows if named.applied is not None else (),
        tags=None if tags is None else normalize_all(tags) or None,
        equal=conditions.equalities,
        metadata=conditions.beyond_equalities,
        as_of=None if as_of is None else validation.check_time(as_of, what="as_of"),
        valid_at=None if valid_at is None else validation.check_time(valid_at, what="valid_at"),
        sources=None if sources is None else check_sources(sources),
        min_trust=None if min_trust is None else check_trust(min_trust),
    )
    limit = validation.check_limit(limit)
    prepared = RecallQuery(
        query=query,
        text=named.text,
        filters=filters,
        mode=mode,
        limit=limit,
        budget=budget,
        min_score=validation.check_fraction(min_score, what="min_score"),
        hold=hold,
        explain=explain,
        pool=max(SMALLEST_VECTOR_POOL if mode == "vector" else SMALLEST_POOL, 2 * limit),
        vector_share=VECTOR_SHARE,
        signal_weights=weights,
        moments=moments(engine, named.text if timeframe == "auto" else text, weights),
        then=named.then,
        asks_a_time_alone=named.alone,
        timeframe=named.applied,
        model=engine.embedder.name,
        asked=asked,
    )
    if named.applied is None or timeframe != "auto":
        return prepared
    at_any_time = replace(
        prepared,
        text=named.elsewhere,
        filters=replace(filters, windows=()),
        moments=moments(engine, text, weights),
        timeframe=replace(named.applied, outside=True),
    )
    return replace(prepared, at_any_time=at_any_time)


def _with_weights(signals: Signals, given: Mapping[str, float] | None) -> Signals:
    """The weights of a process with those of one recall; raises `InvalidInput`."""
    if not given:
        return signals
    if not isinstance(given, Mapping):
        raise InvalidInput(f"expected signals to be weights by name, such as {{'context': 0}}, got {given!r:.80}")
    try:
        return Signals(**{**signals.model_dump(exclude_unset=True), **given})
    except (ValidationError, TypeError) as error:
        names = ", ".join(Signals.model_fields)
        raise InvalidInput(
            f"expected signals to be weights by name, numbers from 0 to 1 (session, speaker, time, prior: to 10) for "
            f"{names}, got {dict(given)!r:.120}"
        ) from error


def _signal_weights(signals: Signals, mode: Mode) -> Signals:
    """What counts beside the vector and the words.

    mode="vector" gives the nearest neighbours, in the order of their nearness: there, only signals count whose weights were given.
    """
    if mode != "vector":
        return signals
    if not signals.model_fields_set:
        return NO_SIGNALS
    return NO_SIGNALS.model_copy(update={name: getattr(signals, name) for name in signals.model_fields_set})


def answer(engine: Engine, query: RecallQuery, *, alone: bool = False) -> Recall:
    """Search for a query, and hold the hits in working memory where it says so.

    When the embedder fails, or is of another model than the tenant's vectors by now, the words are searched alone, and
    `degraded` says so. When the times that the query names hold no answer, all times are searched, and `timeframe` says so. An
    expander or a reranker that fails is left out, and `fallback` says so.
    """
    expander, reranker = (None, None) if alone else (engine.expander, engine.reranker)
    expander = None if query.mode == "text" else expander  # other questions have other words
    question = query.query if query.asked is None else query.asked.words
    expansion = expand(expander, question, seconds=engine.settings.expander_timeout)
    candidates = 0 if reranker is None else engine.settings.reranker_candidates
    asks_now = reranker is None and may_put_present_first(engine, query)
    candidates = max(candidates, CONSIDERED if asks_now else 0)
    found = _find_all(engine, query, expansion.questions, at_least=candidates)
    if query.at_any_time is not None and _best_relevance(found.hits) < ANSWERS:
        outside = _find_all(engine, query.at_any_time, expansion.questions, at_least=candidates)
        timings = total([found.timings, outside.timings])
        better = _best_relevance(outside.hits) > MUCH_MORE_RELEVANT * _best_relevance(found.hits)
        found = replace(outside if better else found, timings=timings)
        query = query.at_any_time if better else query
    if expander is not None:
        timings = replace(found.timings, expander=expansion.milliseconds)
        found = replace(found, fallback=expansion.fallback, timings=timings)
    found = reranked(reranker, found, question=question, seconds=engine.settings.reranker_timeout)
    edges = edges_around(engine, query, found, doubtful=asks_now)
    if asks_now:
        found = present_answer_first(engine, query, found, suspected=edges.suspected())
    found = present_first(query, found, edges)
    hits = list(found.hits[: query.limit])
    if not query.explain:
        hits = [replace(hit, signals={}) if hit.signals else hit for hit in hits]
    if query.of_everybody and hits:
        hits = _with_users(engine, hits)
    if query.budget is not None:
        hits = _fit_budget(engine, hits, query.budget, everybody=query.of_everybody)
    if query.hold and hits:
        engine.hold(hits)
        engine.start_worker()
    engine.emit(
        "recall",
        hits=len(hits),
        degraded=int(found.degraded is not None),
        fallback=int(found.fallback is not None),
        sql_ms=found.timings.sql,
    )
    return replace(found, hits=tuple(local_hits(hits, engine.timezone)))


def _with_users(engine: Engine, hits: Sequence[Hit]) -> list[Hit]:
    """Hits of everybody's memories, each with whose it is: one more small query."""
    owners = engine.reading(
        lambda connection: nodes.owners(connection, [UUID(hit.node.id) for hit in hits]), everybody=True
    )
    return [replace(hit, user=owners.get(UUID(hit.node.id)) or None) for hit in hits]


def _find_all(engine: Engine, query: RecallQuery, questions: Sequence[str], *, at_least: int) -> Recall:
    """What a query finds, and what more questions find under the same conditions, as one recall of `at_least` so many hits.

    A memory that no question finds among its first may still be the best for all of them: each is asked for all its candidates.
    """
    shown, limit = query.limit, max(query.limit, at_least, SMALLEST_POOL if questions else 0)
    if (limit, at_least) != (query.limit, 0):
        query = replace(query, limit=limit, pool=max(query.pool, at_least))

    def find(text: str) -> Recall:
        """What one more question finds."""
        return _find(engine, replace(query, query=text, text=text, moments=moments(engine, text, query.signal_weights)))

    asked = query.asked
    parts = [] if asked is None else [find(validation.check_query(part)) for part in asked.parts[1:]]
    if asked is not None and not asked.surely:
        parts.append(find(validation.check_query(asked.beside)))
    found = best_of([_find(engine, query), *parts], [find(text) for text in questions], limit=limit)
    if asked is None:
        return found
    found = replace(found, searched=asked.parts)
    return _with_gist(found, find(validation.check_query(asked.beside)), shown=shown) if asked.surely else found


def _with_gist(found: Recall, gist: Recall, *, shown: int) -> Recall:
    """What the parts of a message find that ask, with what is surely known of the rest in the last quarter of the `shown` places.

    The hits of the rest get no more than the score of the place where they stand.
    """
    known = {hit.node.id for hit in found}
    sure = [hit for hit in gist if hit.relevance >= CERTAIN and hit.node.id not in known][: shown // PASTED_SHARE]
    at = min(len(found), shown - len(sure))
    lowest = found[at - 1].score if at else 1.0
    added = [_scored(hit, min(hit.score, lowest)) for hit in sure]
    hits = (*found.hits[:at], *added, *found.hits[at:])
    return replace(found, hits=hits, timings=total([found.timings, gist.timings]))


def _scored(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, signals={**hit.signals, "pasted": score - hit.score})


def _find(engine: Engine, query: RecallQuery) -> Recall:
    """Everything that a search finds, before it is cut to a budget.

    Words that no memory has are searched for once more as they were probably meant, where that is known; mode="text" only says it.
    """
    language = engine.settings.language.rpartition(".")[2]
    if engine.settings.spelling and query.mode != "vector":
        query = replace(query, doubtful=spelling.doubtful(query.text, language=language))
    found, similar = _find_as_typed(engine, query)
    meant = spelling.mended(query.text, similar, asked=query.doubtful, language=language) if similar else None
    if meant is None:
        return found
    if query.mode == "text":  # finds the words that were given: others are said, and not searched for
        return replace(found, corrections=meant.corrections)
    asked = replace(
        query,
        text=meant.text,
        added=meant.added,
        doubtful=spelling.RIGHT,
        moments=query.moments or moments(engine, meant.text, query.signal_weights),
    )
    again, _ = _find_as_typed(engine, asked)
    return replace(again, corrections=meant.corrections, timings=total([found.timings, again.timings]))


def _find_as_typed(engine: Engine, query: RecallQuery) -> tuple[Recall, Mapping[str, spelling.Similar]]:
    """What a search finds, and what memories have for words that they do not have.

    Which of the query's words are names of speakers decides what is embedded, so it is guessed from what earlier recalls have
    seen. The search itself says it; where the guess was wrong, such as when a name is heard for the first time, it is repeated.
    """
    forms = query_signals.name_forms(query.text) if query.signal_weights.speaker else {}
    query = replace(
        query,
        forms=tuple(forms),
        words=None if query.mode == "vector" else lexical_query(" ".join((query.text, *query.added))),
        phrases=quoted_phrases(query.text),
    )
    seen, owners = engine.database.known_speakers, query.filters.owners
    speakers = query_signals.named(forms, seen.guess(engine.tenant, owners, forms))
    found, told = _find_with(engine, query, speakers)
    known = told.known_speakers
    named = speakers if known is None else query_signals.named(forms, known)
    if known is not None and named != speakers:
        seen.learn(engine.tenant, owners, forms, known)
        again, _ = _find_with(engine, replace(query, doubtful=spelling.RIGHT), named)
        found = replace(again, timings=total([found.timings, again.timings]))
    return found, told.similar_words


def _find_with(engine: Engine, query: RecallQuery, speakers: Mapping[str, str]) -> tuple[Recall, SearchResult]:
    """One search by a query that names these speakers, and what it says of the query's words."""
    started = time.perf_counter()
    embedding, words, degraded = _embed(engine, query, written=tuple(speakers.values()))
    if embedding is not None:
        make_fresh_vectors(engine, query)
    embedded = time.perf_counter()
    if query.mode == "vector" and embedding is None:
        raise ModelError(f"expected a vector for mode='vector', but {degraded}; use mode='hybrid', or fix the embedder")
    asked = replace(
        query,
        speakers=tuple(speakers),
        embedding=embedding,
        question_words=words,
        # A vector says as much as the model knows of the question's words.
        vector_share=query.vector_share * (1.0 if words is None else words.known),
        ranking=_ranking(engine, query, embedding),
        ranking_with_words=None if words is None else _ranking(engine, query, embedding, words=True),
    )
    try:
        hits, told = _search(engine, asked)
        degraded = degraded or (
            None if embedding is None else _by_words_alone(hits, query.query, told.without_direction)
        )
    except DimensionMismatch as error:
        if query.words is None or embedding is None or not engine.model_changed():
            raise
        _log.warning("recall by words alone: the tenant has another model by now")
        degraded = f"Only words were searched: {error}"
        hits, told = _search(
            engine, replace(asked, embedding=None, question_words=None, ranking=None, ranking_with_words=None)
        )
    timings = Timings(embedding=(embedded - started) * 1e3, sql=(time.perf_counter() - embedded) * 1e3)
    recall = Recall(query=query.query, hits=tuple(hits), degraded=degraded, timeframe=query.timeframe, timings=timings)
    return recall, told


def _ranking(
    engine: Engine, query: RecallQuery, embedding: Sequence[float] | None, *, words: bool = False
) -> Weights | None:
    """What the ranker weighs by; None where it has learned nothing: it compares meaning and words, and the sum of their parts."""
    if embedding is None or query.words is None or engine.settings.fusion == "ranks":
        return None
    share = query.signal_weights.ranker
    return weights_for(query.text, share=share, words=words) if share else None


def _by_words_alone(hits: Sequence[Hit], query: str, without_direction: Collection[str]) -> str | None:
    """How many hits could not be compared by meaning, in a sentence; None when all could.

    The query itself, which was perhaps just said, needs no vector to be found.
    """
    alone = [hit for hit in hits if hit.match.cosine is None and hit.vector_rank is None and hit.content != query]
    zeros = sum(hit.node.id in without_direction for hit in alone)
    return (
        " ".join(
            filter(
                None,
                [
                    _found_by_words(len(alone) - zeros, "its vector is not made yet", "their vectors are not made yet"),
                    _found_by_words(
                        zeros, "the embedder answered it with zeros", "the embedder answered them with zeros"
                    ),
                ],
            )
        )
        or None
    )


def _found_by_words(count: int, why: str, why_all: str) -> str | None:
    if not count:
        return None
    if count == 1:
        return f"1 memory was found by its words alone: {why}"
    return f"{count} memories were found by their words alone: {why_all}"


def _best_relevance(hits: Sequence[Hit]) -> float:
    return max((hit.relevance for hit in hits), default=0.0)


def _searched(engine: Engine, *, scope: Scope | None, session: str | None) -> tuple[str | None, list[str] | None]:
    """The one session that is searched, and the owners; None where it is any of them."""
    if session is not None:
        session = validation.normal_name(session, what="session")
    elif scope == "session":
        session = engine.session
        if not session:
            raise InvalidInput("expected a session for scope='session'", advice="session")
    if scope == "tenant":
        return session, None
    if session is None:
        return None, engine.owners
    return session, list(dict.fromkeys([*engine.owners, *engine.owners_of(session)]))


def _embed(
    engine: Engine, query: RecallQuery, *, written: Sequence[str]
) -> tuple[Sequence[float] | None, QuestionWords | None, str | None]:
    """The query's embedding and the vectors of its words, or None and why there is none; the mode "text" needs none."""
    if query.mode == "text":
        return None, None, None
    text = query_signals.in_first_person(query.text, written, language=engine.settings.language)
    try:
        if _compares_words(engine, query):
            embedding, words = engine.embedder.query_with_words(text)
        else:
            embedding, words = engine.embedder.query(text), None
        if query.mode != "vector" and not any(embedding):
            return None, None, f"Only words were searched: the embedder {query.model} answered the question with zeros"
        return embedding, words, None
    except ModelError as error:
        _log.warning("recall by words alone: %s", type(error).__name__)
        return None, None, f"Only words were searched, since the embedder {query.model} failed: {error}"


def _compares_words(engine: Engine, query: RecallQuery) -> bool:
    """Whether the vectors of words count: where scores do, and where the nearest neighbours alone are not what is asked for."""
    return (
        engine.settings.word_vectors
        and query.signal_weights.interaction > 0
        and query.words is not None
        and engine.settings.fusion == "scores"
    )


def _search(engine: Engine, query: RecallQuery) -> tuple[list[Hit], SearchResult]:
    """The best hits, and all that the search has found; a hit that repeats a better one, or only asks, is scored lower.

    Where such hits fill up the limit, more hits are searched for; otherwise one search is all.
    """
    weight, limit = query.signal_weights.diversity, query.limit
    ranked = engine.settings.fusion == "ranks"
    read = partial(engine.read, everybody=query.of_everybody)
    while True:
        asked = query if limit == query.limit else replace(query, limit=limit)
        found = _fuse_ranks(read, query) if ranked else _ranked_search(read, asked)
        hits = as_one(engine, query, found.hits[:limit]) if found.beside and found.beside.merged else found.hits[:limit]
        copy_of = copies([hit.passage for hit in hits], voices=[_speaker(hit) for hit in hits]) if weight else []
        left_out = frozenset[str]() if engine.settings.recall_small_talk else small_talk(query, hits)
        left_out |= speaking_of_another_day(engine, query, hits)
        yielding = sum(original is not None for original in copy_of) + repeated_questions(query, hits) + len(left_out)
        if len(hits) - yielding >= query.limit or len(found.hits) < limit or limit >= RESULTS:
            break
        limit = min(RESULTS, MORE * limit)
    if found.beside is not None:
        engine.database.superseding.learn(engine.tenant, there=found.beside.superseding)
    hits = [hit for hit in _copies_last(hits, copy_of, weight=weight) if hit.node.id not in left_out]
    hits = answers_first(engine, query, hits)
    if query.signal_weights.echo:
        hits = facts_before_neighbours(hits)
    hits = in_time(hits, at=_present(engine, query), zone=engine.timezone, settings=engine.settings)
    return [hit for hit in hits[: query.limit] if hit.score >= query.min_score], found


def _present(engine: Engine, query: RecallQuery) -> datetime:
    """The time by which a recall sees what has ended."""
    return query.filters.valid_at or query.filters.as_of or engine.clock()


def _copies_last(hits: list[Hit], copy_of: Sequence[int | None], *, weight: float) -> list[Hit]:
    """The hits with those that repeat a better one further down, by the weight of diversity."""
    if any(original is not None for original in copy_of):
        for place, original in enumerate(copy_of):
            if original is not None:
                hit, loss = hits[place], weight * hits[place].score
                hits[place] = replace(hit, score=hit.score - loss, signals={**hit.signals, "diversity": -loss})
        hits.sort(key=lambda hit: -hit.score)  # hits of equal score stay in their order
    return hits


def _ranked_search(read: Reader, query: RecallQuery) -> SearchResult:
    from .ranked_search import ranked_search  # brings numpy, which nobody needs who never recalls

    return ranked_search(read, query)


def _fuse_ranks(read: Reader, query: RecallQuery) -> SearchResult:
    """The candidates of both arms by reciprocal rank: only their places count, not what they scored."""
    found = _ranked_search(read, replace(query, limit=2 * query.pool, min_score=0.0, signal_weights=NO_SIGNALS))
    arms = (query.words is not None) + (query.embedding is not None)
    fused: list[Hit] = []
    for hit in found.hits:
        parts = {
            "vector": reciprocal_rank([hit.vector_rank]) / arms,
            "words": reciprocal_rank([hit.text_rank]) / arms,
        }
        fused.append(replace(hit, score=sum(parts.values()), signals={**dict.fromkeys(hit.signals, 0.0), **parts}))
    hits = sorted((hit for hit in fused if hit.score > 0), key=lambda hit: (-hit.score, hit.node.id))
    return replace(found, hits=hits)


def _speaker(hit: Hit) -> str | None:
    """Who said it last, where that is known: the same words of two people are two memories."""
    return hit.mentions[0].name if hit.mentions else None


def messages_before(engine: Engine, mentions: Sequence[str], *, everybody: bool) -> dict[str, Mention]:
    """The message right before each of these mentions in its session, by the mention's id; none where nothing was said before.

    `everybody` says that they may be of any owner of the tenant.
    """
    ids = [UUID(each) for each in mentions]
    before = preceding(partial(engine.read, everybody=everybody), ids)
    return dict(zip(before, local_mentions(list(before.values()), engine.timezone), strict=True))


def _fit_budget(engine: Engine, hits: Sequence[Hit], budget: int, *, everybody: bool) -> list[Hit]:
    """The best whole hits that fit a token budget; what is left of it goes to the message before each, best hit first.

    An answer is seldom readable without its question. A message that is a hit itself, or stands before two hits, is
    counted once.
    """
    kept: list[Hit] = []
    for hit in hits:
        if hit.node.tokens <= budget:
            kept.append(hit)
            budget -= hit.node.tokens
    said = [hit.mentions[0].id for hit in kept if hit.mentions]
    if not budget or not said:
        return kept
    before = messages_before(engine, said, everybody=everybody)
    shown = {hit.node.id for hit in kept}
    for place, hit in enumerate(kept):
        message = before.get(hit.mentions[0].id) if hit.mentions else None
        if message is None or message.node_id in shown:
            continue
        cost = engine.tokens(message.content)
        if cost <= budget:
            budget -= cost
            shown.add(str(message.node_id))
            kept[place] = replace(hit, before=message)
    return kept
