"""Whether what was found speaks of who was asked about: an offline check that reads English.

"What does Melanie's necklace mean?" finds Caroline's necklace. The question names one person, and what fits its words best
names somebody else: so nothing was said about what it asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .detection_words import CALENDAR, PUBLIC_NAMES
from .folding import words

# By so much of the question's words what names somebody else must fit better; chosen on development data (docs/why/palace.md).
LEAD = 0.2
FEWEST = 4  # words besides the name: fewer say too little to compare

_STOP = words("""a an the of in on at to for from with by is are was were be been do does did has have had what which who whom
    whose when where why how and or not her his their its it she he they s that this as about into after before during there any
    some would could will can might may if than then i you my your our we me us i'm i've i'll""")
# A name in the place of a person, not "in Paris".
_ASKED = re.compile(r"(?<!\b[Ii]n )(?<!\b[Aa]t )(?<!\b[Nn]ear )\b[A-Z][\w'\u2019-]*")
_CAPITAL = re.compile(r"[A-Z][\w'\u2019-]*")
_WORD = re.compile(r"[\w'\u2019]+")
_ENDINGS = ("ing", "edly", "ed", "es", "s")


@dataclass(frozen=True, slots=True)
class Told:
    """A text that was found, and the names beside it: of its room and drawer, of who said it."""

    text: str
    beside: str = ""


def somebody_else(question: str, told: Sequence[Told]) -> str | None:
    """Whom a question is about, when only what names somebody else fits it; None when that cannot be said.

    It can only be said of a question that names one of those who are spoken of here, and no other.
    """
    known = set[str]().union(*(_names(each.text) for each in told))
    asked = {_bare(found) for found in _ASKED.findall(question)} & known - PUBLIC_NAMES - CALENDAR
    if len(asked) != 1:
        return None
    who = asked.pop()
    wanted = _content(question) - {_stem(who)}
    if len(wanted) < FEWEST:
        return None
    theirs = others = 0.0
    for each in told:
        share = len(wanted & _content(each.text)) / len(wanted)
        if who in {_bare(word) for word in _WORD.findall(f"{each.text} {each.beside}")}:
            theirs = max(theirs, share)
        elif _names(each.text):
            others = max(others, share)
    return who.capitalize() if others - theirs >= LEAD else None


def _names(text: str) -> set[str]:
    """The words in capitals that a sentence does not owe to its beginning, or that stand there as "Ann:" or "Ann's"."""
    found = set[str]()
    for match in _CAPITAL.finditer(text):
        name, before = _bare(match[0]), text[: match.start()].rstrip()
        first = not before or before[-1] in '.!?:\n"\u201c['
        marked = text[match.end() : match.end() + 1] == ":" or len(name) < len(match[0])
        if len(name) > 1 and not match[0].isupper() and name not in _STOP and (marked or not first):
            found.add(name)
    return found


def _content(text: str) -> set[str]:
    return {_stem(word) for word in map(_bare, _WORD.findall(text)) if word not in _STOP}


def _bare(word: str) -> str:
    return re.sub(r"['\u2019]s?$", "", word).lower()


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
