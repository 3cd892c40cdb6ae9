"""The present answer first: where a question asks for what holds now, the hit that says so stands above what held before.

A step of recall after its search, which needs nothing more from the database. docs/why/supersession.md has its measurement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ..engine.engine import Engine
from ..rules.grounding.questions import only_asks
from ..rules.present.questions import asks_the_present
from ..store.search import RecallQuery
from ..types import Hit, Recall
from .moved_hits import moved

CONSIDERED = 20  # the first hits of a search, of which one may become the first

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def may_put_present_first(engine: Engine, query: RecallQuery) -> bool:
    """Whether a query asks for what holds now, and nothing in its options says that another time or order is meant."""
    f = query.filters
    return (
        query.signal_weights.present > 0
        and query.mode == "hybrid"
        and engine.settings.fusion != "ranks"
        and not (f.windows or query.moments or query.timeframe)
        and f.as_of is None
        and f.valid_at is None
        and asks_the_present(query.text)
    )


def present_answer_first(query: RecallQuery, found: Recall) -> Recall:
    """A recall whose first hit is what a small model takes for the present answer, where it is sure enough.

    It was learned from conversations of a user with an assistant. Where no user says anything, or where the question names who
    speaks, it has nothing to say. The hit that becomes the first gets the score of the first, and no less relevance; those that it
    passes get the scores of the places to which they move. What has ended is never moved, nor what is trusted less than the first:
    no page and no assistant comes before what a user said.
    """
    hits = found.hits[:CONSIDERED]
    if len(hits) < 2 or not is_about_a_user(query.text, hits):
        return found
    from ..rules.present.model import present_answer  # brings numpy, which nobody needs who never recalls

    place = present_answer(query.text, hits, share=query.signal_weights.present)
    if place == 0 or not _may_come_first(hits[place], hits[0]):
        return found
    return replace(found, hits=tuple(moved_to_first(found.hits, place)))


def is_about_a_user(question: str, hits: Sequence[Hit]) -> bool:
    """Whether hits are from a user's conversations, were compared by meaning, and the question names none of their speakers."""
    said = [hit.mention for hit in hits if hit.mention]
    names = {word for each in said if each.name for word in each.name.lower().split()[:1]}
    return (
        any(each.role == "user" for each in said)
        and any(hit.match.cosine is not None for hit in hits)
        and names.isdisjoint(_WORD.findall(question.lower()))
    )


def _may_come_first(hit: Hit, first: Hit) -> bool:
    """Whether a hit may come before the first one, however sure the trees are; they know only talk of a user with an assistant."""
    said = first.mention is not None and first.mention.role in ("user", "assistant")
    return said and not hit.ended and _trust(hit) >= _trust(first) and not _is_said_again(first, since=hit)


def _is_said_again(first: Hit, *, since: Hit) -> bool:
    """Whether a user said the words of the first hit again after the other one: then they hold again."""
    again = len(first.mentions) > 1 and first.mentions[0].role == "user" and not only_asks(first.content)
    return again and since.mention is not None and first.mentions[0].at > since.mention.at


def _trust(hit: Hit) -> int:
    return hit.mention.trust if hit.mention else 0


def moved_to_first(hits: Sequence[Hit], place: int) -> list[Hit]:
    """Hits with that of one place before all others."""
    chosen = hits[place]
    relevance = max(hits[0].relevance, chosen.relevance)
    first = moved(chosen, score=hits[0].score, relevance=relevance, by="present")
    lower = [
        moved(hit, score=below.score, relevance=hit.relevance, by="present")
        for hit, below in pairwise(hits[: place + 1])
    ]
    return [first, *lower, *hits[place + 1 :]]
