"""A fact of a profile, and the pieces that the patterns of all its rules are made of."""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from ..text.folding import fold

SECTIONS = ("about", "instructions", "preferences", "people", "places", "work", "plans")
LONGEST_CLAUSE = 400  # characters: no line is that long
ANY = "*"  # as the value or the slot of a retraction: whatever is there

I = r"(?:i|the user)"  # noqa: E741 - the word itself
AM = r"(?:i'm|i am|the user is)"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
# A name: capitalised words, with particles between them.
NAME = rf"(?-i:{_CAPITAL}[\w'.&-]*(?:[ ](?:(?:of|de|la|van|von|der|den|the|al|bin|del|di|da|and(?=[ ]{_CAPITAL}[\w'-]*$))[ ])?{_CAPITAL}[\w'.&-]*){{0,4}})"
PERSON = rf"(?-i:(?:Dr\.?[ ]|Prof\.?[ ])?{_CAPITAL}[\w'-]+(?:[ ]{_CAPITAL}[\w'-]+)?)"
ENDS = r"(?=$|[,.;()]| (?:and|but|now|by|since|for|with|where|which|who|originally|these|nowadays|at the moment|anymore|any more|as|right|currently|because|too|here|until|again|from|in|near)\b)"
ADVERBS = r"(?:(?:really|also|just|absolutely|still|now|finally|officially|happily|basically|fully|completely|recently|currently|do|actually|quite|simply|usually|generally|always|only|much|especially|truly) )*"
DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_SEASONS = r"(?:spring|summer|autumn|fall|winter|christmas|easter|new year)"
# When something happened, at the end of a clause.
WHEN = (
    rf"(?:today|yesterday|tonight|recently|lately|finally|already|at last|just now|now|this (?:morning|afternoon|evening|week|month|year|{_SEASONS}|{DAYS})"
    rf"|last (?:night|week|weekend|month|year|{_SEASONS}|{_MONTHS}|{DAYS})|on {DAYS}|over the weekend|back in {_MONTHS}"
    rf"|(?:early |late )?(?:in|since|as of|around|from) (?:early |late |mid-?)?(?:the (?:{_SEASONS}|end)|{_MONTHS}(?: (?:19|20)\d\d)?|{_SEASONS}|last \w+|(?:19|20)\d\d|today|yesterday|{DAYS})"
    r"|(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of|some|many) (?:day|week|month|year|hour)s? (?:ago|back))"
)
# That it is so from then on.
STILL = r"(?:any ?more|any longer|after all|these days|nowadays|at the moment|right now|for good|by the way|thank god|thank goodness|either|at all|again|anyway|so you know|forever|for ever|completely|altogether|for years|in years)"
TAILS = re.compile(rf"(?:,? (?:{WHEN}|{STILL})){{1,9}}$", re.IGNORECASE)
# The end of a clause that says when something happened, and nothing else.
HAPPENED = rf"(?=(?:,? (?:{WHEN}|{STILL}|early|suddenly|unexpectedly|peacefully|sadly|in (?:his|her|their|its) sleep|at home|in hospital|at the vet's|(?:at the age of|aged|at) \d+))*(?:$|[,.;!]| (?:and|but|because|so|after|before|when|since|of (?:cancer|old age|a stroke)|from (?:cancer|a stroke))\b))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of a text. The newest of a slot holds; `retracts` ends what the slot, or what is called `value`, held before.

    `line` is how a profile says it; a retraction that has one is a line where it ends nothing: "don't use emojis". `due` is the day
    by which something is to be done. `words` tell one plan, or one instruction, from another.
    """

    section: str
    slot: str
    value: str
    line: str
    retracts: bool = False
    due: date | None = None
    words: tuple[str, ...] = ()


def fact(section: str, slot: str, value: str, line: str, *, retracts: bool = False) -> Fact:
    """A fact with its value without punctuation around it."""
    return Fact(section=section, slot=slot, value=value if value == ANY else clean(value), line=line, retracts=retracts)


def slug(text: str) -> str:
    """A text as a part of a key: its words in one spelling, joined by hyphens."""
    return "-".join(re.findall(r"[^\W_]+", fold(text)))[:60]


class AtStart:
    """A pattern that a clause must begin with, in capitals or not; compiled when a clause is first compared with it.

    There are so many of these that compiling them took a fifth of the time in which the package is imported.
    """

    __slots__ = ("_compiled", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._compiled: re.Pattern[str] | None = None

    def match(self, clause: str) -> re.Match[str] | None:
        """What of a clause the pattern is, from its beginning on; None when the clause begins otherwise, or is too long for a line."""
        if len(clause) > LONGEST_CLAUSE:
            return None
        if self._compiled is None:
            self._compiled = re.compile(self._pattern, re.IGNORECASE)
        return self._compiled.match(clause)


def at_start(pattern: str) -> AtStart:
    """A pattern that a clause must begin with, in capitals or not."""
    return AtStart(pattern)


def clean(text: str) -> str:
    """A text without the punctuation around it, and without a possessive ending."""
    return text.strip(" ,.;:!?'\"").removesuffix("'s").strip()


def bare_of_time(text: str) -> str:
    """A clause without what it says at its end of when, and that it is so from now on."""
    return text if len(text) > LONGEST_CLAUSE else TAILS.sub("", text).strip(" ,")
