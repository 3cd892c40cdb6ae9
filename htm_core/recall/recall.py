"""Recall, from top to bottom: a query is checked, searched for, and what was found goes through one
stage after another.

`searches.py` has the searches, `hits.py` the stages; `STAGES` below are those of what all searches
found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, get_args
from uuid import UUID

from pydantic import ValidationError

from ..base import validation
from ..base.errors import InvalidInput
from ..base.filters.filters import compile_where
from ..base.settings import Signals
from ..base.trust import check_sources, check_trust
from ..base.types import Hit, Mention, Mode, Recall, Scope, Source, TimeframeLike
from ..engine.engine import Engine
from ..engine.local_times import local_hits, local_mentions
from ..reading.relevance import READ
from ..text.tags import normalize_all
from ..writing import nodes
from .asked import LONG, asked_in, ends_of
from .complete_query import moments, times_of
from .hits import Stage, in_stages, on_hits, ordered_by_a_model
from .search import Filters, RecallQuery, preceding
from .searches import SMALLEST_POOL, search
from .supersession import present_values_first

# candidates of mode="vector", where they are the answer; several may be passages of one node
SMALLEST_VECTOR_POOL = 20
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
    reader: bool | None = None,
) -> RecallQuery:
    """Check what `Memory.recall` was given; raises `InvalidInput`, and nothing is searched or
    embedded then.
    """
    text = validation.check_query(query)
    validation.check_choice(mode, get_args(Mode), what="mode")
    asked = None
    if len(query) >= LONG:
        query = ends_of(query)
        # words alone are searched for as they are given
        if mode != "text" and (asked := asked_in(query)):
            text = validation.check_query(asked.parts[0])
    if scope is not None:
        validation.check_choice(scope, get_args(Scope), what="scope")
    if budget is not None and (
        isinstance(budget, bool) or not isinstance(budget, int) or budget < 0
    ):
        raise InvalidInput(
            f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}"
        )
    weights = engine.settings.signals
    if signals or mode == "vector":
        weights = _signal_weights(weights, signals, mode)
    named = times_of(engine, text, timeframe, mode=mode)
    session, owners = _searched(engine, scope=scope, session=session)
    conditions = None if where is None else compile_where(where)
    filters = Filters(
        owners=owners,
        robots=None if robot is None else validation.check_robots(robot),
        session=session,
        windows=named.applied.windows if named.applied is not None else (),
        tags=None if tags is None else normalize_all(tags) or None,
        equal=None if conditions is None else conditions.equalities,
        metadata=None if conditions is None else conditions.beyond_equalities,
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
        signal_weights=weights,
        moments=moments(engine, named.text if timeframe == "auto" else text, weights),
        then=named.then,
        asks_a_time_alone=named.alone,
        timeframe=named.applied,
        model=engine.embedder.name,
        asked=asked,
        # Not for the nearest neighbours or the words alone.
        reader=mode == "hybrid" and bool(engine.reader if reader is None else reader),
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


def _signal_weights(signals: Signals, weights: Mapping[str, float] | None, mode: Mode) -> Signals:
    """The weights of what counts beside the vector and the words, with those of one recall; raises
    `InvalidInput`.

    mode="vector" gives the nearest neighbours, in the order of their nearness: there, only signals
    count whose weights were given.
    """
    if weights:
        if not isinstance(weights, Mapping):
            raise InvalidInput(
                f"expected signals to be weights by name, such as {{'context': "
                f"0}}, got {weights!r:.80}"
            )
        try:
            signals = Signals(**{**signals.model_dump(exclude_unset=True), **weights})
        except (ValidationError, TypeError) as error:
            names = ", ".join(Signals.model_fields)
            raise InvalidInput(
                "expected signals to be weights by name, numbers from 0 to 1 (session, speaker, "
                "time, prior: to 10) for "
                f"{names}, got {dict(weights)!r:.120}"
            ) from error
    if mode != "vector":
        return signals
    return NO_SIGNALS.model_copy(
        update={name: getattr(signals, name) for name in signals.model_fields_set}
    )


def answer(engine: Engine, query: RecallQuery) -> Recall:
    """Search for a query, take what it finds through the stages, and hold the hits in working
    memory where it says so.

    When the embedder fails, or is of another model than the tenant's vectors by now, the words are
    searched alone, and `degraded` says so. When the times that the query names hold no answer, all
    times are searched, and `timeframe` says so. An expander or a reranker that fails is left out,
    and `fallback` says so.
    """
    read = READ if query.reader else 0  # a model puts more hits in order than are asked for
    if engine.reranker is not None and query.with_plugs:
        read = engine.settings.reranker_candidates
    query, recall = search(engine, query, at_least=read)
    recall = in_stages(engine, query, recall, STAGES)
    if query.hold and recall.hits:
        engine.hold(recall.hits)
        engine.start_worker()
    engine.emit(
        "recall",
        hits=len(recall.hits),
        degraded=int(recall.degraded is not None),
        fallback=int(recall.fallback is not None),
        sql_ms=recall.timings.sql,
    )
    return replace(recall, hits=tuple(local_hits(recall.hits, engine.timezone)))


def _within_limit(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that were asked for, with the parts of their scores where these were, too."""
    first = hits[: query.limit]
    return (
        first
        if query.explain
        else [replace(hit, signals={}) if hit.signals else hit for hit in first]
    )


def _with_users(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Hits of everybody's memories, each with whose it is: one more small query."""
    if not (query.of_everybody and hits):
        return hits
    owners = engine.reading(
        lambda connection: nodes.owners(connection, [UUID(hit.node.id) for hit in hits]),
        everybody=True,
    )
    return [replace(hit, user=owners.get(UUID(hit.node.id)) or None) for hit in hits]


def _searched(
    engine: Engine, *, scope: Scope | None, session: str | None
) -> tuple[str | None, list[str] | None]:
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


def messages_before(
    engine: Engine, mentions: Sequence[str], *, everybody: bool
) -> dict[str, Mention]:
    """The message right before each of these mentions in its session, by the mention's id; none
    where nothing was said before.

    `everybody` says that they may be of any owner of the tenant.
    """
    ids = [UUID(each) for each in mentions]
    before = preceding(partial(engine.read, everybody=everybody), ids)
    return dict(zip(before, local_mentions(list(before.values()), engine.timezone), strict=True))


def _within_budget(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The best whole hits that fit a token budget; what is left of it goes to the message before
    each, best hit first.

    An answer is seldom readable without its question. A message that is a hit itself, or stands
    before two hits, is counted once.
    """
    if query.budget is None:
        return hits
    kept, budget = list[Hit](), query.budget
    for hit in hits:
        if hit.node.tokens <= budget:
            kept.append(hit)
            budget -= hit.node.tokens
    ids = [hit.mentions[0].id for hit in kept if hit.mentions]
    if not budget or not ids:
        return kept
    before = messages_before(engine, ids, everybody=query.of_everybody)
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


# What happens to what the searches have found together, in order.
STAGES: Mapping[str, Stage] = {
    "reader": ordered_by_a_model,
    "present values first": present_values_first,
    "limit": on_hits(_within_limit),
    "users": on_hits(_with_users),
    "budget": on_hits(_within_budget),
}
