"""The sentences of a user that a profile keeps: by what the reader says of them. docs/why/profile.md has the measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...types import ProfileSource
from ..reading import STATES_AT_ALL
from ..text.folding import fold

SECTIONS = ("about", "instructions", "preferences", "people", "places", "work", "plans")
VERSION = 4  # one more when other sentences are kept: texts are then read again
LONGEST = 160  # characters of a sentence
LONGEST_TEXT = 4_000  # characters of a text: what is longer was pasted rather than said
MOST = 20  # sentences of one text
# A sentence belongs to the section whose questions it states best, if it states them at all.
QUESTIONS: Mapping[str, Sequence[str]] = {
    "about": ("What is my name?", "How old am I?", "What am I allergic to?"),
    "people": ("Who is in my family?", "Who are my friends, pets and colleagues?"),
    "places": ("Where do I live?", "Where am I from?"),
    "work": ("What is my job?", "Where do I work?"),
}
REPLACED = 0.8  # how likely a newer sentence must replace an earlier one of its section: it is compared with several
COMPARED = 10  # of these the newest
_SAYS_NOTHING = ("asks", "acknowledges", "requests", "unknown", "raw")
_SENTENCE = re.compile(r"(?<=[!?\u2026])\s+|(?<=[^.\s]{3}\.)\s+|\n+")  # "Dr. Kim" is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence of a user in a section; one that `retracts` ends the slot, and `value` is the slot that replaces it."""

    section: str
    slot: str
    value: str
    line: str
    retracts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A fact with what was said: by which mention, and when."""

    fact: Fact
    source: ProfileSource


def key_of(fact: Fact) -> str:
    """The key of a fact's slot: `profile:SECTION:SLOT`."""
    return f"profile:{fact.section}:{fact.slot}"


def slug(text: str) -> str:
    """A text as a part of a key: its words in one spelling, joined by hyphens."""
    return "-".join(re.findall(r"[^\W_]+", fold(text)))


def sentences(text: str) -> list[str]:
    """The first sentences of a text that are short enough for a line."""
    found = [" ".join(each.split()) for each in _SENTENCE.split(text)] if len(text) <= LONGEST_TEXT else []
    return [each for each in found if slug(each) and len(each) <= LONGEST][:MOST]


def says_nothing(kinds: Mapping[str, float]) -> bool:
    """True if a text asks, acknowledges, or is otherwise none in which its author speaks of themselves."""
    return any(kinds[kind] > 0.5 for kind in _SAYS_NOTHING)


def section_by_kind(kinds: Mapping[str, float]) -> str | None:
    """The section of what instructs, plans or prefers; None where the questions decide."""
    if kinds["instructs"] > 0.5:
        return "instructions"
    if kinds["of_another"] > 0.5:
        return None
    if kinds["plans"] > 0.5:
        return "plans"
    return "preferences" if kinds["prefers"] > 0.5 >= kinds["ended"] else None


def section_by_questions(logits: Mapping[str, float]) -> str | None:
    """The section whose questions a sentence states best; None where it states none."""
    best = max(logits, key=lambda section: logits[section])
    return best if logits[best] >= STATES_AT_ALL else None
