"""What a user's own text says of them, for a profile: precise rather than complete, and in English.

Each rule reads one clause from its beginning, in the first person or as "the user". A question, a supposition, a quotation and
somebody else's word give nothing. docs/why/profile.md has what they find and what they miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from .fact import ANY, SECTIONS, Fact, slug
from .instructions import instructions, is_task
from .plans import plans
from .pronouns import explained
from .reversals import taken_back
from .sentences import TellingSentence, sentences
from .statements import people, statements

__all__ = ["ANY", "SECTIONS", "VERSION", "Fact", "facts_of", "slug"]

VERSION = 3  # one more when the rules find other facts: texts are then read again
MOST = 12  # facts of one text
LONGEST = 160  # characters of a line


def facts_of(text: str, *, at: datetime, timezone: tzinfo | None = None) -> list[Fact]:
    """The facts that a text states about who says it at a time, each once, at most twelve; what it takes back comes first."""
    said = list(sentences(text))
    tasks = [is_task(each.text) for each in said]
    found: dict[tuple[str, str, bool], Fact] = {}
    for place, sentence in enumerate(said):
        beside_task = any(tasks[:place] + tasks[place + 1 :])
        for fact in _facts(sentence, beside_task=beside_task, at=at, timezone=timezone):
            if len(fact.line) <= LONGEST and fact.value:
                found[fact.section, fact.slot, fact.retracts] = fact
    return _consistent(list(found.values()))[:MOST]


def _consistent(found: list[Fact]) -> list[Fact]:
    """What is taken back first; without what the same text states anew, and without people of whom it says that they are gone."""
    stated = {(fact.section, fact.slot) for fact in found if not fact.retracts}
    gone = {fact.value for fact in found if fact.retracts and fact.section == "people"} - {ANY}
    back = [fact for fact in found if fact.retracts and (fact.section, fact.slot) not in stated]
    return back + [fact for fact in found if not fact.retracts and (fact.section != "people" or fact.value not in gone)]


def _facts(sentence: TellingSentence, *, beside_task: bool, at: datetime, timezone: tzinfo | None) -> Iterator[Fact]:
    yield from instructions(sentence, beside_task=beside_task)
    yield from taken_back(sentence)
    if not sentence.unsure:
        yield from people(sentence)
    if sentence.asks or sentence.unsure:
        return
    for place, clause in enumerate(sentence.clauses):
        for fact in statements(clause):
            if explained(fact.line) is not None:
                yield fact
        yield from plans(clause, earlier=sentence.clauses[:place], at=at, timezone=timezone)
