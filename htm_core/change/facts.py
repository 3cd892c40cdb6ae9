"""The sentences of a user that a profile keeps: by what the reader says of them.
docs/why/profile.md has the measurements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..base.folding import fold
from ..base.types import ProfileSource

SECTIONS = ("about", "instructions", "preferences", "people", "places", "work", "plans")
VERSION = 5  # one more when other sentences are kept: texts are then read again
LONGEST = 160  # characters of a sentence
LONGEST_TEXT = 4_000  # characters of a text: what is longer was pasted rather than said
MOST = 20  # sentences of one text
# The kind of the reader by which a sentence is in a section.
KINDS: Mapping[str, str] = {
    "about": "about",
    "instructs": "instructions",
    "prefers": "preferences",
    "people": "people",
    "places": "places",
    "work": "work",
    "plans": "plans",
}
# how likely a sentence must be of a kind: a name that is missed costs more than a line too many
LIKELY = 0.4
# how likely a newer sentence must replace an earlier one of its section: it is compared with
# several
REPLACED = 0.8
COMPARED = 10  # of these the newest
_SENTENCE = re.compile(r"(?<=[!?\u2026])\s+|(?<=[^.\s]{3}\.)\s+|\n+")  # "Dr. Kim" is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence of a user in a section; one that `retracts` ends the slot, and `value` is the slot
    that replaces it.
    """

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
    candidates = (
        [" ".join(each.split()) for each in _SENTENCE.split(text)]
        if len(text) <= LONGEST_TEXT
        else []
    )
    return [each for each in candidates if slug(each) and len(each) <= LONGEST][:MOST]


def section_of(kinds: Mapping[str, float]) -> str | None:
    """The section of a sentence, by its likeliest kind; None where it is none that a
    profile keeps.
    """
    kind = max(KINDS, key=lambda kind: kinds[kind])
    return KINDS[kind] if kinds[kind] > LIKELY else None
