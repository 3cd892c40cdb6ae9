"""The present answer first: where a question asks for what holds now, the hit that says so stands above what held before.

A step of recall after its search, which needs nothing more from the database. docs/why/supersession.md has its measurement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

from ..engine.engine import Engine
from ..rules.grounding.questions import only_asks
from ..rules.present.questions import asks_the_present
from ..rules.raw_output import raw_output
from ..rules.relevance import CERTAIN
from ..rules.text.excerpts import shared_words
from ..rules.trust import MOST_TRUSTED, is_trusted_speaker
from ..store import nodes
from ..store.search import RecallQuery
from ..types import Hit, Recall, SaidWhen
from .moved_hits import moved

CONSIDERED = 20  # the first hits of a search, of which one may become the first
BESIDE_AN_EDGE = 0.0  # how much likelier what may have superseded the first hit has to be: docs/why/supersession.md
LATER = 2  # hits at most that say that they were said later than the first
# The likeliest newer statement says so from here on: docs/why/supersession.md.
MAY_HAVE_CHANGED = -0.25
MUCH_LESS_RELEVANT = 0.01  # of the first: so little is about something else, unless it has a word of it
SURE = 0.2  # how much less likely all others are than a first hit that says that it was said last

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


def present_answer_first(
    engine: Engine, query: RecallQuery, found: Recall, *, suspected: Collection[tuple[str, str]] = ()
) -> Recall:
    """A recall whose first hit is what a small model takes for the present answer, where it is sure enough.

    It was learned from conversations of a user with an assistant. Where no user says anything, or where the question names who
    speaks, it has nothing to say. The hit that becomes the first gets the score of the first, and no less relevance; those that it
    passes get the scores of the places to which they move. What has ended is never moved, nor what is trusted less than the first:
    no page and no assistant comes before what a user said. Where everybody's memories are searched, those of one user are compared:
    of the one whose hit is the first. `suspected` are the ids of older and newer nodes of which the newer may have superseded the
    older: there the model need be less sure (`BESIDE_AN_EDGE`).
    """
    places = [at for at, hit in enumerate(found.hits[:CONSIDERED]) if not _says_the_same(hit.content, query.query)]
    if query.of_everybody and len(places) > 1:
        places = _of_one_user(engine, found, places)
    hits = [found.hits[at] for at in places]
    if len(hits) < 2 or not is_about_a_user(query.text, hits):
        return found
    from ..rules.present import model  # brings numpy, which nobody needs who never recalls

    likelier = model.likelier(query.text, hits)
    chosen = model.present_answer(likelier, share=query.signal_weights.present)
    if not _may_come_first(hits[chosen], hits[0]):
        chosen = 0
    chosen = _what_replaces(chosen, hits, likelier, suspected, share=query.signal_weights.present)
    said = {places[at]: said for at, said in said_when(query.text, hits, likelier, chosen).items()}
    marked = [replace(hit, said_when=said[at]) if at in said else hit for at, hit in enumerate(found.hits)]
    return replace(found, hits=tuple(moved_to_first(marked, places[chosen]) if chosen else marked))


def _of_one_user(engine: Engine, found: Recall, places: Sequence[int]) -> list[int]:
    """The places of those hits that are the first one's owner's."""
    ids = {at: UUID(found.hits[at].node.id) for at in places}
    owners = engine.reading(lambda connection: nodes.owners(connection, list(ids.values())), everybody=True)
    return [at for at in places if owners.get(ids[at]) == owners.get(ids[places[0]])]


def _what_replaces(
    chosen: int, hits: Sequence[Hit], likelier: Sequence[float], suspected: Collection[tuple[str, str]], *, share: float
) -> int:
    """The place of what may have superseded the chosen hit and is no less likely; else that of the chosen one."""
    older = hits[chosen]
    newer = [
        at
        for at, hit in enumerate(hits)
        if (older.node.id, hit.node.id) in suspected
        and share * (likelier[at] - likelier[chosen]) >= BESIDE_AN_EDGE
        and _may_come_first(hit, older)
        and _may_come_first(hit, hits[0])
    ]
    return max(newer, key=lambda at: likelier[at], default=chosen)


def _says_the_same(text: str, question: str) -> bool:
    """Whether a text is the question itself, as where an agent has logged it before it recalls."""
    return _WORD.findall(text.lower()) == _WORD.findall(question.lower())


def said_when(question: str, hits: Sequence[Hit], likelier: Sequence[float], first: int) -> dict[int, SaidWhen]:
    """When some hits were said beside the others, by their places; `first` is that of the one that comes first.

    What was said later than the first may have changed it: the likeliest of that which is about the matter says so, and another
    one that is likelier than the first. Where there is none, and the first one is sure, it was said last, if a user has said
    something older that probably answers; what it has taken the place of was said earlier.
    """
    stated = {
        place: hit.mention.at
        for place, hit in enumerate(hits)
        if hit.mention is not None
        and hit.mention.role == "user"
        and is_trusted_speaker(hit.mention.source, hit.mention.role)
        and hit.mention.trust == MOST_TRUSTED
        and not hit.ended
        and not only_asks(hit.content)
        and raw_output(hit.passage) is None  # code and traces that a user pastes state nothing of what holds now
    }
    if first not in stated:
        return {}
    speaker = _speaker(hits[first])  # in a group, what one says does not change what another has said
    stated = {place: at for place, at in stated.items() if _speaker(hits[place]) == speaker}
    beside = [each - likelier[first] for each in likelier]
    newer = [at for at in stated if stated[at] > stated[first] and _is_about_the_same(question, hits[at], hits[first])]
    newer.sort(key=lambda at: -beside[at])
    later = [at for rank, at in enumerate(newer[:LATER]) if beside[at] >= (MAY_HAVE_CHANGED if rank == 0 else 0)]
    if later:
        return dict.fromkeys(later, "later")
    older = [at for at in stated if stated[at].date() < stated[first].date()]
    passed: dict[int, SaidWhen] = {0: "earlier"} if first and 0 in older else {}
    rivals = [likelier[at] for at in range(len(hits)) if at != first]
    sure = bool(first) or max(rivals) <= -SURE
    if sure and (passed or any(hits[at].relevance >= CERTAIN for at in older)):
        return {first: "last", **passed}
    return {}


def _is_about_the_same(question: str, hit: Hit, first: Hit) -> bool:
    """Whether a hit has a word of the question or of the first hit, or is not much less relevant than that one."""
    shares = shared_words(hit.content, f"{question} {first.content}") > 0
    return shares or hit.relevance >= MUCH_LESS_RELEVANT * first.relevance


def _speaker(hit: Hit) -> str:
    return (hit.mention.name or "").strip().casefold() if hit.mention else ""


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
    again = first.times_said > 1 and first.mentions[0].role == "user" and not only_asks(first.content)
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
