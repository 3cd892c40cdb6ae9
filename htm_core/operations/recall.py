"""Recall: the query checked and embedded, one search, near-duplicates ranked lower, and the hits fitted to a budget."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args
from uuid import UUID

from ..engine.engine import Engine
from ..errors import DimensionMismatch, InvalidInput, ModelError
from ..rules import validation
from ..rules.filters.filters import compile_where
from ..rules.fusion import reciprocal_rank
from ..rules.text import query_signals
from ..rules.text.near_duplicates import copies
from ..rules.text.passages import lexical_query
from ..rules.text.tags import normalize_all
from ..rules.timeframes.parse import TimeframeLike, extract
from ..settings import Signals
from ..store import search
from ..store.database import Connection
from ..store.search import Filters, RecallQuery
from ..types import Hit, Mode, Recall, Scope, Timings, Window

_log = logging.getLogger("htm.recall")

# How much the vector's score counts beside the words'; measured in docs/why/signals.md.
VECTOR_SHARE = 0.4
SMALLEST_POOL = 30  # candidates of each arm
MORE = 4  # times as many hits are searched for when copies fill up a limit
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
) -> RecallQuery:
    """Check what `Memory.recall` was given; raises `InvalidInput`, and nothing is searched or embedded then."""
    text = validation.check_query(query)
    validation.check_choice(mode, get_args(Mode), what="mode")
    if scope is not None:
        validation.check_choice(scope, get_args(Scope), what="scope")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 0):
        raise InvalidInput(f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}")
    text, windows = _time_filter(engine, text, timeframe)
    filters = _filters(engine, scope=scope, windows=windows, tags=tags, where=where, robot=robot, session=session)
    limit, weights = validation.check_limit(limit), engine.settings.signals
    now, zone = engine.clock(), engine.timezone
    return RecallQuery(
        query=query,
        text=text,
        filters=filters,
        mode=mode,
        limit=limit,
        budget=budget,
        min_score=validation.check_fraction(min_score, what="min_score"),
        hold=hold,
        explain=explain,
        pool=max(SMALLEST_POOL, 2 * limit),
        vector_share=VECTOR_SHARE,
        signal_weights=weights,
        moments=query_signals.times_in(text, now=now, week_start=engine.settings.week_start, timezone=zone)
        if weights.time
        else (),
        model=engine.embedder.name,
    )


def answer(engine: Engine, query: RecallQuery) -> Recall:
    """Search for a query, and hold the hits in working memory where it says so.

    When the embedder fails, or is of another model than the tenant's vectors by now, the words are searched alone, and
    `degraded` says so.
    """
    started = time.perf_counter()
    speakers = _speakers(engine, query)
    speakers_found = time.perf_counter()
    query = replace(
        query, speakers=tuple(speakers), words=None if query.mode == "vector" else lexical_query(query.text)
    )
    embedding, degraded = _embed(engine, query, written=tuple(speakers.values()))
    embedded = time.perf_counter()
    if query.mode == "vector" and embedding is None:
        raise ModelError(f"expected a vector for mode='vector', but {degraded}; use mode='hybrid', or fix the embedder")
    try:
        hits = _search(engine, replace(query, embedding=embedding))
    except DimensionMismatch as error:
        if query.words is None or embedding is None or not engine.model_changed():
            raise
        _log.warning("recall by words alone: the tenant has another model by now")
        degraded = f"Only words were searched: {error}"
        hits = _search(engine, query)
    found = time.perf_counter()
    if not query.explain:
        hits = [replace(hit, signals={}) for hit in hits]
    if query.budget is not None:
        hits = _fit_budget(engine, hits, query.budget)
    if query.hold and hits:
        engine.hold([hit.node for hit in hits])
        engine.wake()
    timings = Timings(
        embedding=(embedded - speakers_found) * 1e3, sql=(found - embedded + speakers_found - started) * 1e3
    )
    engine.emit("recall", hits=len(hits), degraded=int(degraded is not None), sql_ms=timings.sql)
    return Recall(query=query.query, hits=tuple(hits), degraded=degraded, timings=timings)


def _time_filter(engine: Engine, text: str, timeframe: TimeframeLike) -> tuple[str, tuple[Window, ...]]:
    """The text to search for and the windows to filter by; "auto" takes the first time out of the text."""
    if timeframe != "auto":
        return text, engine.time_windows(timeframe)
    rest, windows, _ = extract(
        text, now=engine.clock(), week_start=engine.settings.week_start, timezone=engine.timezone
    )
    return rest, windows


def _filters(
    engine: Engine,
    *,
    scope: Scope | None,
    windows: Sequence[Window],
    tags: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    robot: str | Sequence[str] | None,
    session: str | None,
) -> Filters:
    if session is not None:
        validation.check_name(session, what="session")
    elif scope == "session":
        session = engine.session
        if not session:
            raise InvalidInput("expected a session for scope='session': pass session= here or to Memory(...)")
    owners: list[str] | None = engine.owners
    if scope == "tenant":
        owners = None
    elif session is not None:
        owners = list(dict.fromkeys([*engine.owners, *engine.owners_of(session)]))
    robots = [robot] if isinstance(robot, str) else robot
    conditions = compile_where(where)
    return Filters(
        owners=owners,
        robots=None if robots is None else [validation.check_name(name, what="robot") for name in robots],
        session=session,
        windows=windows,
        tags=None if tags is None else normalize_all(tags) or None,
        equal=conditions.equalities,
        metadata=conditions.json or None,
    )


def _speakers(engine: Engine, query: RecallQuery) -> dict[str, str]:
    """The speakers that a query names, each with the name as the query writes it."""
    forms = query_signals.name_forms(query.text) if query.signal_weights.speaker else {}
    if not forms:
        return {}
    with engine.transaction() as connection:
        known = search.speakers(connection, list(forms), filters=query.filters)
    return query_signals.named(forms, known)


def _embed(engine: Engine, query: RecallQuery, *, written: Sequence[str]) -> tuple[Sequence[float] | None, str | None]:
    """The query's embedding, or None and why there is none; the mode "text" needs none."""
    if query.mode == "text":
        return None, None
    text = query_signals.in_first_person(query.text, written, language=engine.settings.language)
    try:
        return engine.embedder.query(text), None
    except ModelError as error:
        _log.warning("recall by words alone: %s", type(error).__name__)
        return None, f"Only words were searched, since the embedder {query.model} failed: {error}"


def _search(engine: Engine, query: RecallQuery) -> list[Hit]:
    """The best hits, with a hit that repeats a better one scored lower, by the weight of diversity.

    Where copies fill up the limit, more hits are searched for; otherwise one search is all.
    """
    weight, limit = query.signal_weights.diversity, query.limit
    ranked = engine.settings.fusion == "ranks"
    with engine.telemetry.span("htm.recall", mode=query.mode), engine.transaction() as connection:
        while True:
            hits = (
                _fuse_ranks(connection, query)[:limit]
                if ranked
                else search.recall(connection, replace(query, limit=limit))
            )
            copy_of = copies([hit.passage for hit in hits], voices=[_speaker(hit) for hit in hits]) if weight else []
            copied = sum(original is not None for original in copy_of)
            if len(hits) - copied >= query.limit or len(hits) < limit or limit >= validation.LARGEST_LIMIT:
                break
            limit = min(validation.LARGEST_LIMIT, MORE * limit)
    if copied:
        for place, original in enumerate(copy_of):
            if original is not None:
                hit, loss = hits[place], weight * hits[place].score
                hits[place] = replace(hit, score=hit.score - loss, signals={**hit.signals, "diversity": -loss})
        hits.sort(key=lambda hit: -hit.score)  # hits of equal score stay in their order
    return [hit for hit in hits if hit.score >= query.min_score][: query.limit]


def _fuse_ranks(connection: Connection, query: RecallQuery) -> list[Hit]:
    """The candidates of both arms by reciprocal rank: only their places count, not what they scored."""
    candidates = search.recall(
        connection, replace(query, limit=2 * query.pool, min_score=0.0, signal_weights=NO_SIGNALS)
    )
    arms = (query.words is not None) + (query.embedding is not None)
    fused = []
    for hit in candidates:
        parts = {
            "vector": reciprocal_rank([hit.vector_rank]) / arms,
            "words": reciprocal_rank([hit.text_rank]) / arms,
        }
        fused.append(replace(hit, score=sum(parts.values()), signals={**dict.fromkeys(hit.signals, 0.0), **parts}))
    return sorted((hit for hit in fused if hit.score > 0), key=lambda hit: (-hit.score, hit.node.id))


def _speaker(hit: Hit) -> str | None:
    """Who said it last, where that is known: the same words of two people are two memories."""
    return hit.mentions[0].name if hit.mentions else None


def _fit_budget(engine: Engine, hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The best whole hits that fit a token budget; what is left of it goes to the message before each, best hit first.

    An answer is seldom readable without its question. A message that is a hit itself, or stands before two hits, is
    counted once.
    """
    kept: list[Hit] = []
    for hit in hits:
        if hit.node.tokens <= budget:
            kept.append(hit)
            budget -= hit.node.tokens
    said = [UUID(hit.mentions[0].id) for hit in kept if hit.mentions]
    if not budget or not said:
        return kept
    with engine.transaction() as connection:
        before = search.preceding(connection, said)
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
