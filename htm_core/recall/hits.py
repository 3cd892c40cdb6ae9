"""Stages of a recall: what happens to hits after a search, one step after another, each under the
name that `explain` gives.

`searches.py` puts the stages after each search in order, `recall.py` those of what all searches
found together. A hit that a stage puts in another place gets the score of that place, so that
scores still descend.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from ..base.errors import ModelError
from ..base.settings import Settings
from ..base.types import Hit, Mention, Recall, SaidWhen
from ..base.types.memories import times_said
from ..change import store
from ..engine.engine import Engine
from ..reading import relevance
from ..reading.readers import embedded_reader
from ..text.memory_replies import is_memory_reply
from ..text.questions import asks_the_present, only_asks
from ..text.speakers import own_name
from ..timeframes import day_in_words, holds_in_words, latest_span, length_for, share_left
from ..writing import nodes
from .complete_query import speaking_of_another_day
from .near_duplicates import copies
from .search import RecallQuery

if TYPE_CHECKING:
    from ..models.rerankers import CheckedReranker

_log = logging.getLogger("htm.recall")

KEPT = 0.3  # of the score of a hit that only asks
# What has ended keeps so much of its score where something else has not ended. docs/why/times.md
# says why.
ENDED_SHARE = 0.9
# What is infinitely old keeps so much of its score where it decays.
DECAYED_SHARE = 0.7

Stage: TypeAlias = Callable[[Engine, RecallQuery, Recall], Recall]


def on_hits(change: Callable[[Engine, RecallQuery, Sequence[Hit]], Sequence[Hit]]) -> Stage:
    """A stage that changes nothing but the hits."""

    def stage(engine: Engine, query: RecallQuery, recall: Recall) -> Recall:
        """The recall with the changed hits."""
        hits = change(engine, query, recall.hits)
        return recall if hits is recall.hits else replace(recall, hits=tuple(hits))

    return stage


def in_stages(
    engine: Engine, query: RecallQuery, recall: Recall, stages: Mapping[str, Stage]
) -> Recall:
    """A recall after these stages. Where the query asks for an explanation, `steps` names those
    that changed a hit or its place.
    """
    for name, stage in stages.items():
        before, recall = recall.hits, stage(engine, query, recall)
        if query.explain and recall.hits != before:
            recall = replace(recall, steps=(*recall.steps, name))
    return recall


def moved(hit: Hit, *, score: float, relevance: float, by: str) -> Hit:
    """A hit with the score of its new place. `by` is the part of the score that says so, where the
    hit has parts at all.
    """
    signals = {**hit.signals, by: score - hit.score} if hit.signals else hit.signals
    return replace(hit, score=score, relevance=relevance, signals=signals)


def _lowered(hit: Hit, loss: float, signal: str) -> Hit:
    """A hit whose score has lost so much, for this reason."""
    return replace(hit, score=hit.score - loss, signals={**hit.signals, signal: -loss})


# -- merged memories -------------------------------------------------------------------------------


def as_one(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Hits in which nothing stands twice that was merged: the best of what says the same keeps its
    place and its score.

    It is shown with the node that stands for all of it, as far as the filters let that be seen, and
    with the mentions of all that were found; each mention keeps its own words. It is one short
    query more.
    """
    if not hits:
        return []
    owners = query.filters.owners
    read = partial(engine.read, everybody=query.of_everybody)
    stands_for = store.merged_among(read, [UUID(hit.node.id) for hit in hits])
    if not stands_for:
        return list(hits)
    groups: dict[UUID, list[Hit]] = {}
    for hit in hits:
        node = UUID(hit.node.id)
        groups.setdefault(stands_for.get(node, node), []).append(hit)
    missing = [
        node for node, group in groups.items() if all(UUID(hit.node.id) != node for hit in group)
    ]
    # Tags, metadata and words are a node's own: what stands for a hit may not have them.
    asked = query.filters
    is_open = not (asked.tags or asked.equal or asked.metadata or query.mode == "text")
    known = nodes.read(read, missing, owners=owners) if missing and owners and is_open else {}
    made = []
    for node, group in groups.items():
        best = group[0]
        standing = next(
            (hit.node for hit in group if UUID(hit.node.id) == node), known.get(node, best.node)
        )
        if len(group) > 1 or standing is not best.node:
            best = _as_one(group, replace(best, node=standing))
        made.append(best)
    return made


def _as_one(hits: Sequence[Hit], best: Hit) -> Hit:
    by_id: dict[str, Mention] = {mention.id: mention for hit in hits for mention in hit.mentions}
    mentions = sorted(by_id.values(), key=lambda mention: (mention.at, mention.seq), reverse=True)
    node = best.node
    if mentions:
        node = replace(node, times_said=times_said(mentions), last_said=mentions[0].at)
    keyed = [hit.node for hit in hits if hit.node.keys]
    if keyed and not node.keys:  # a key was given to what had been merged before
        keys = dict.fromkeys(key for each in keyed for key in each.keys)
        node = replace(
            node, keys=tuple(sorted(keys)), version=max(each.version or 0 for each in keyed)
        )
    best = replace(best, node=node, mentions=tuple(mentions))
    return best if best.passage in node.content else replace(best, passage=node.content)


# -- copies, and what nobody asked for -------------------------------------------------------------


def copies_last(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with those that repeat a better one further down, by the weight of diversity."""
    copy_of, weight = copies_among(query, hits), query.signal_weights.diversity
    if all(original is None for original in copy_of):
        return hits
    lowered = [
        hit if original is None else _lowered(hit, weight * hit.score, "diversity")
        for hit, original in zip(hits, copy_of, strict=True)
    ]
    return sorted(lowered, key=lambda hit: -hit.score)  # hits of equal score stay in their order


def copies_among(query: RecallQuery, hits: Sequence[Hit]) -> Sequence[int | None]:
    """For each hit the place of the better one that it repeats: the same words of two people are
    two memories.
    """
    if not query.signal_weights.diversity:
        return ()
    voices = [hit.mentions[0].name if hit.mentions else None for hit in hits]
    return copies([hit.passage for hit in hits], voices=voices)


def without_what_nobody_asked_for(
    engine: Engine, query: RecallQuery, hits: Sequence[Hit]
) -> Sequence[Hit]:
    """The hits without replies of memory's own tools, and without what speaks of another day than
    the question.
    """
    ids = left_out(engine, query, hits)
    return [hit for hit in hits if hit.node.id not in ids] if ids else hits


def left_out(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> frozenset[str]:
    """The ids of hits that nobody asked for."""
    replies = frozenset(
        hit.node.id
        for hit in hits
        if hit.mention and is_memory_reply(hit.content, hit.mention.role)
    )
    return (
        replies | speaking_of_another_day(engine, query, hits)
        if query.asks_a_time_alone
        else replies
    )


def answers_first(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those that only ask further down, by the weight of `echo`: they fit a question
    best, and say nothing.
    """
    weight = query.signal_weights.echo
    lowered = [
        _lowered(hit, loss, "echo")
        if (loss := weight * (1 - KEPT) * hit.score if only_asks(hit.content) else 0.0)
        else hit
        for hit in hits
    ]
    return sorted(lowered, key=lambda hit: -hit.score)  # hits of equal score stay in their order


# -- when a hit holds ------------------------------------------------------------------------------


def in_time(engine: Engine, hits: Sequence[Hit], *, at: datetime) -> Sequence[Hit]:
    """The hits with what is to be said of when they hold; what has ended loses a tenth of its
    score, what decays up to three.

    What has ended loses nothing where all have. Of equal scores what still holds comes first. Hits
    that lose nothing stay in their order.
    """
    settings, zone = engine.settings, engine.timezone
    if not (
        settings.decay
        or settings.stale_after
        or any(each.valid is not None for hit in hits for each in hit.mentions)
    ):
        return hits
    marked = [_marked(hit, at=at, zone=zone, settings=settings) for hit in hits]
    if settings.decay:
        marked = [_decayed(hit, at=at, settings=settings) for hit in marked]
    ended = sum(hit.ended for hit in marked)
    if 0 < ended < len(marked):
        marked = [
            _lowered(hit, hit.score * (1 - ENDED_SHARE), "ended") if hit.ended else hit
            for hit in marked
        ]
    elif not settings.decay:
        return marked
    return sorted(marked, key=lambda hit: (-hit.score, hit.ended))


def _marked(hit: Hit, *, at: datetime, zone: tzinfo, settings: Settings) -> Hit:
    span = latest_span([mention.valid for mention in hit.mentions])
    words = [holds_in_words(span, at=at, zone=zone)]
    stale = False
    if settings.stale_after and hit.mention is not None:
        after = length_for(settings.stale_after, tags=hit.node.tags, role=hit.mention.role)
        stale = after is not None and at - hit.mention.at >= after
        words.append(f"not confirmed since {day_in_words(hit.mention.at, zone)}" if stale else None)
    holds = ", ".join(filter(None, words))
    if not holds:
        return hit
    ended = span is not None and span.stop is not None and span.stop <= at
    return replace(hit, holds=holds, ended=ended, stale=stale)


def _decayed(hit: Hit, *, at: datetime, settings: Settings) -> Hit:
    if hit.mention is None:
        return hit
    half_life = length_for(settings.decay, tags=hit.node.tags, role=hit.mention.role)
    if half_life is None:
        return hit
    left = share_left(at - hit.mention.at, half_life)
    return _lowered(hit, hit.score * (1 - (DECAYED_SHARE + (1 - DECAYED_SHARE) * left)), "decay")


# -- the reranker and the reader -------------------------------------------------------------------


def ordered_by_a_model(engine: Engine, query: RecallQuery, recall: Recall) -> Recall:
    """A recall whose hits are in the order of the reranker, or else of the reader; as it was, with
    the reason, where that fails.

    Either decides who stands where, and the search what a place is worth: the numbers of models
    differ in scale, and what counts by score elsewhere (`min_score`, what a prompt shows whole)
    goes on to mean the same.
    """
    reranker = engine.reranker if query.with_plugs else None
    if not recall.hits or (reranker is None and not query.reader):
        return recall
    began = time.perf_counter()
    hits, fallback, seconds = recall.hits, recall.fallback, engine.settings.reranker_timeout
    try:
        if reranker is None:
            hits = _read(query, hits, seconds=seconds)
        else:
            hits = _reranked(reranker, query.question, hits, seconds=seconds)
    except ModelError as error:
        _log.warning(
            "recall without the %s: %s", "reranker" if reranker else "reader", type(error).__name__
        )
        why = f"Hits are in the order of the search: {error}"
        fallback = f"{fallback} {why}" if fallback else why
    timings = replace(recall.timings, reranker=(time.perf_counter() - began) * 1e3)
    return replace(recall, hits=hits, fallback=fallback, timings=timings)


def _reranked(
    reranker: CheckedReranker, question: str, hits: Sequence[Hit], *, seconds: float
) -> tuple[Hit, ...]:
    """The hits as the reranker puts them, each with score and relevance of its place; what it
    leaves out stands last.
    """
    scores = [hit.score for hit in hits]
    relevances = sorted((hit.relevance for hit in hits), reverse=True)
    order = reranker.order(question, [_shown(hit) for hit in hits], scores, seconds=seconds)
    return tuple(
        replace(
            hits[old],
            score=scores[place],
            relevance=relevances[place],
            signals={**hits[old].signals, "reranker": scores[place] - hits[old].score},
        )
        for place, old in enumerate(order)
    )


def _shown(hit: Hit) -> str:
    """Return the text that the reranker reads: who said it, where that is known, and the passage
    that fits best.
    """
    name = own_name(hit.mention.name) if hit.mention else None
    return f"{name}: {hit.passage}" if name else hit.passage


def _read(query: RecallQuery, hits: tuple[Hit, ...], *, seconds: float) -> tuple[Hit, ...]:
    """The hits with the first of them as the reader puts them; as they were where it cannot read
    the question.

    A hit gets the score of the place to which it moves, and the relevance that the reader gives it.
    Where a question asks for what holds now, the newest of the messages that state it comes first,
    and the others say that they were said earlier.
    """
    first, rest = hits[: relevance.READ], hits[relevance.READ :]
    passages = [
        (mention.name or mention.role or "", mention.at, hit.passage)
        if (mention := hit.mention)
        else ("", None, hit.passage)
        for hit in first
    ]
    states = embedded_reader().states(query.question, passages, seconds=seconds)
    if states is None:
        return hits
    logits = [
        relevance.STATES_NOTHING if relevance.only_repeats(query.question, hit.passage) else logit
        for hit, logit in zip(first, states, strict=True)
    ]
    scores = [hit.score for hit in first]
    order = relevance.order(logits, scores)
    standing = relevance.standing(query.text, first, logits) if _asks_now(query) else None
    said_when: dict[int, SaidWhen] = {}
    if standing is not None:
        order = [standing.newest, *(place for place in order if place != standing.newest)]
        if standing.earlier:
            said_when = {**dict.fromkeys(standing.earlier, "earlier"), standing.newest: "last"}
    relevances = [
        relevance.relevance_as_read(logit, hit.match.cosine)
        for hit, logit in zip(first, logits, strict=True)
    ]
    placed = (
        replace(
            moved(first[old], score=score, relevance=relevances[old], by="reader"),
            said_when=said_when.get(old),
        )
        for old, score in zip(order, scores, strict=True)
    )
    return (*placed, *rest)


def _asks_now(query: RecallQuery) -> bool:
    """True if a query asks for what holds now, and nothing in its options says that another time is
    meant.
    """
    f = query.filters
    return (
        not (query.of_everybody or f.windows or query.moments or query.timeframe)
        and f.as_of is None
        and f.valid_at is None
        and asks_the_present(query.text)
    )
