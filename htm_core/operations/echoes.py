"""Facts before echoes: what only asks, or only stands beside a fact, yields its place to what answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from ..engine.engine import Engine
from ..rules.grounding.questions import about_questions, knows_nothing, only_asks, says_unknown
from ..rules.relevance import relevance
from ..rules.text.small_talk import is_small_talk
from ..store import nodes, search
from ..store.search import RecallQuery
from ..types import Hit, Mention

# What is left of the score of a text that only asks: where it asks the same, and where it asks something else. The second keeps
# questions that are needed to read what was answered; measured in docs/why/recall.md.
SAME_QUESTION, OTHER_QUESTION = 0.3, 0.8
BELOW = 0.99  # times the score of what says something, at most
# From this cosine, or this share of the query's words, on it asks the same.
SAME_COSINE, SAME_WORDS = 0.5, 0.6
# A message of less than this relevance says nothing itself. It stays below the most relevant one up to two messages away, if that
# is so many times as relevant.
EMPTY, TIMES, NEAR = 0.01, 30, 2


def repeated_questions(query: RecallQuery, hits: Sequence[Hit]) -> int:
    """How many hits only ask what the query asks."""
    if not query.signal_weights.echo or about_questions(query.text):
        return 0
    return sum(_asks_the_same(hit) and only_asks(hit.content) for hit in hits)


def answers_first(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those that only ask, or by which an assistant only says that it does not know, further down.

    Answers that the questions got take their place. What only asks the same, and who did not know, stay below the most relevant hit
    that says something.

    A query that is about questions, such as "What did I ask about the visa?", is left alone. One more small search is made
    only when the same question was asked before.
    """
    weight = query.signal_weights.echo
    if not weight or about_questions(query.text):
        return list(hits)
    asking = [hit for hit in hits if only_asks(hit.content)]
    unknowing = [hit for hit in hits if hit.mention and hit.mention.role == "assistant" and knows_nothing(hit.content)]
    if not asking and not unknowing:
        return list(hits)
    same = [hit for hit in asking if _asks_the_same(hit)]
    silent = {hit.node.id for hit in (*same, *unknowing)}
    best = {hit.node.id: hit for hit in hits}
    for hit, answer in _answers(engine, query, same):
        known = best.get(answer.node.id)
        if known is None or known.score < hit.score:
            gain = hit.score - (0.0 if known is None else known.score)
            found = known or answer
            best[answer.node.id] = replace(found, score=hit.score, signals={**found.signals, "echo": gain})
    for hit in {hit.node.id: hit for hit in (*asking, *unknowing)}.values():
        kept = SAME_QUESTION if hit.node.id in silent else OTHER_QUESTION
        loss = weight * (1 - kept) * hit.score
        hit = best[hit.node.id]
        best[hit.node.id] = replace(hit, score=hit.score - loss, signals={**hit.signals, "echo": -loss})
    telling = [hit for hit in best.values() if not _answers_nothing(hit.content) and hit.relevance >= EMPTY]
    if silent and telling:
        highest = BELOW * max(telling, key=lambda hit: hit.relevance).score
        for id in silent:
            hit, loss = best[id], best[id].score - highest
            if loss > 0:
                echo = hit.signals.get("echo", 0.0) - loss
                best[id] = replace(hit, score=highest, signals={**hit.signals, "echo": echo})
    return sorted(best.values(), key=lambda hit: -hit.score)  # hits of equal score stay in their order


def facts_before_neighbours(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those that say nothing, such as "Noted.", below the fact beside which they were said.

    A message is found by what was said around it, too. That must not lift it above what has the words itself. Other hits of equal
    score, such as those that have all of it, stay in their order.
    """
    scores = {hit.node.id: hit.score for hit in hits}
    below = set[str]()
    for hit in hits:
        brought = hit.signals.get("echo", 0.0) > 0
        if hit.relevance < EMPTY and hit.mention is not None and not brought:
            beside = [
                other
                for other in hits
                if other.relevance > TIMES * hit.relevance
                and _are_near(hit.mention, other.mention)
                and not only_asks(other.content)
            ]
            if beside:
                fact = max(beside, key=lambda other: other.relevance)
                if hit.score >= fact.score:
                    scores[hit.node.id] = fact.score
                    below.add(hit.node.id)
    lowered = [
        hit
        if scores[hit.node.id] == hit.score
        else replace(
            hit,
            score=scores[hit.node.id],
            signals={**hit.signals, "echo": hit.signals.get("echo", 0.0) + scores[hit.node.id] - hit.score},
        )
        for hit in hits
    ]
    return sorted(lowered, key=lambda hit: (-hit.score, hit.node.id in below))


def _are_near(one: Mention, other: Mention | None) -> bool:
    return (
        other is not None
        and one.session is not None
        and one.session == other.session
        and abs(one.seq - other.seq) <= NEAR
    )


def _answers_nothing(reply: str) -> bool:
    """Whether a reply is no answer to any question: it asks, only acknowledges, or says that nothing is known."""
    return only_asks(reply) or says_unknown(reply) or is_small_talk(reply)


def _asks_the_same(hit: Hit) -> bool:
    match = hit.match
    if match.cosine is not None:
        return match.cosine >= SAME_COSINE
    return match.matched_words >= SAME_WORDS * max(1, match.query_words)


def _answers(engine: Engine, query: RecallQuery, asking: Sequence[Hit]) -> list[tuple[Hit, Hit]]:
    """Each question that was answered, with the answer as a hit. Filters on a mention are not checked, so there must be none."""
    filters = query.filters
    alone = query.mode == "text"  # an answer may have none of the words
    filtered = (
        alone or filters.windows or filters.tags or filters.equal or filters.metadata or filters.robots is not None
    )
    said = {hit.mentions[0].id: hit for hit in asking if hit.mentions}
    if filtered or not said:
        return []

    read = partial(engine.read, everybody=query.of_everybody)
    rows = search.following(read, [UUID(id) for id in said], query=query)
    rows = [row for row in rows if not _answers_nothing(row.mention.content)]
    spoken = [UUID(row.mention.node_id) for row in rows if row.mention.node_id]
    known = nodes.read(read, spoken, owners=sorted({row.owner for row in rows})) if spoken else {}
    found = []
    for row in rows:
        node = known.get(UUID(row.mention.node_id)) if row.mention.node_id else None
        if node is not None:
            hit, passage = said[row.question], row.passage or node.content
            answer = Hit(
                node=node,
                score=hit.score,
                relevance=relevance(query.text, row.match, passage, speakers=query.speakers),
                vector_rank=None,
                text_rank=None,
                passage=passage,
                match=row.match,
                mentions=(row.mention,),
                signals=dict.fromkeys(hit.signals, 0.0),
            )
            found.append((hit, answer))
    return found
