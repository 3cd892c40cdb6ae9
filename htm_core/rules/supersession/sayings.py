"""A whole saying as it is compared with its candidates: what it is about, and what its words announce. It reads English."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .changes import BEGINS, CLAUSE, ENDS, REPLACES, owners
from .matters import MATTERS
from .read_sentences import sentences_of
from .sentences import READ_AGAIN
from .vocabulary import EMPTY, GONE, PLANNED, RELATIVES, STORY, THEIRS, WISHED

MIN_STEM = 4  # characters from which on one word may be the beginning of another, as in "time" and "timeout"
_WORD = re.compile(r"[^\W_]+(?:['\u2019.:-][^\W_]+)*")
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|we'll|us|our|ours)\b", re.I)
_KNOWN = re.compile(r"\b(?:the|my|our|that|this|his|her|their)\s+(?:\w+\s+){0,2}?([^\W\d_][\w'-]*)", re.I)
_SLOT = re.compile(
    r"\b(at|in|on|with|to|for|by|from|under|called|named|is|are|was|use|uses|using|drive|drives|play|plays|take|takes|eat|eats|"
    r"drink|drinks|go|goes|costs?|pay|pays|weigh|weighs)\s+(?:the\s+|a\s+|an\s+|my\s+|our\s+)?[^\W_][\w'-]{2,}",
    re.I,
)
# A thing that is one of several by its number, at the beginning: "Ticket 88 is fixed", "the bed 12 fell". Not "my rent costs 850".
_NUMBERED = re.compile(
    r"^\W*(?:(?:the|our|my|this|that)\s+)?(?:[^\W\d_]+\s+){0,2}?([^\W\d_]{3,})\s+(?:no\.?\s*|number\s+|#)?(\d{1,7})\b"
    r"(?=\s*:|\s+(?:is|was|are|were|has|had|will|can|and|fell|went|came|got|[a-z]+(?:ed|es|s))\b)",
    re.I,
)
_NO_THING = re.compile(
    r"(?:costs?|pays?|paid|weighs?|weighed|needs?|takes?|took|lasts?|has|have|had|was|were|are|about|until|from|only|now)",
    re.I,
)
_DAYS = ("weekday", "date")  # another day of the week may be another date
_ONLY_ASKED = frozenset(["person", "when", "count", "name", "seat"])  # matters of a question's form alone


@dataclass(frozen=True, slots=True)
class WholeSaying:
    """A saying as one, and not sentence by sentence."""

    topic: frozenset[str]  # stems of what it is about
    beginnings: frozenset[str]  # of those stems, and the stems themselves
    changed: frozenset[str]  # stems in the clauses that announce a change
    known: frozenset[str]  # stems after "the" or "my": what both who talk know of
    slots: frozenset[str]  # words that a value follows: "at", "with", "called"
    matters: frozenset[str]  # what it tells of, by the lists of `present.matters`
    owners: frozenset[str]  # of "Bea's landlord"
    relatives: frozenset[str]
    values: frozenset[tuple[str, str]]  # kinds and values: days, times, numbers
    names: frozenset[str]
    numbered: tuple[str, str] | None  # a thing and its number that a sentence begins with: ("ticket", "88")
    ends: bool
    begins: bool
    replaces: bool
    gone: bool
    asks: bool
    supposes: bool
    plans: bool
    wishes: bool  # it states nothing that is not only wished or imagined
    adds: bool
    past: bool
    story: bool
    passing: bool
    keeps: bool
    theirs: bool
    first: bool

    def has(self, word: str) -> bool:
        """Whether it has a stem, or one that is the beginning of it or begins with it."""
        if word in self.topic or (len(word) >= MIN_STEM and word in self.beginnings):
            return True
        return any(word[:length] in self.topic for length in range(MIN_STEM, len(word)))

    def is_of_another_number(self, other: WholeSaying) -> bool:
        """Whether both begin with a thing of one name, and of two numbers: "Ticket 88", "Ticket 91"."""
        return (
            self.numbered is not None
            and other.numbered is not None
            and self.numbered[0] == other.numbered[0]
            and self.numbered[1] != other.numbered[1]
        )

    def shared_with(self, other: WholeSaying) -> frozenset[str]:
        """Its stems that another saying has, too."""
        return frozenset(word for word in self.topic if other.has(word))


@lru_cache(maxsize=READ_AGAIN)
def whole(text: str, *, speaker: str) -> WholeSaying:
    """Read a saying as one; of long ones the first eight sentences count."""
    sentences = sentences_of(text, speaker=speaker)
    stated = [each for each in sentences if not each.asks] or list(sentences)
    read = " ".join(each.text for each in sentences)
    topic = frozenset(word for each in sentences for word in each.topic | each.names | each.places if word not in EMPTY)
    lowered = frozenset(word.lower() for word in _WORD.findall(read))
    return WholeSaying(
        topic=topic,
        beginnings=frozenset(word[:length] for word in topic for length in range(MIN_STEM, len(word) + 1)) | topic,
        changed=_stems_in(topic, " ".join(clause for clause in CLAUSE.split(read) if _announces(clause))),
        known=_stems_in(topic, " ".join(_KNOWN.findall(read))),
        slots=frozenset(found.lower() for found in _SLOT.findall(read)),
        matters=frozenset(
            name
            for name, each in MATTERS.items()
            if name not in _ONLY_ASKED
            and (each.asked.search(read) or len(lowered & each.near) + len(lowered & (each.values - each.near)) >= 2)
        ),
        owners=owners(read),
        relatives=frozenset(each.lower() for each in RELATIVES.findall(read)),
        values=frozenset((_kind(kind), value) for each in sentences for kind, value in each.values),
        names=frozenset(word for each in sentences for word in each.names | each.places),
        numbered=next(filter(None, (_numbered(each.text) for each in sentences)), None),
        ends=ENDS.search(read) is not None,
        begins=BEGINS.search(read) is not None,
        replaces=REPLACES.search(read) is not None,
        gone=GONE.search(read) is not None,
        asks=all(each.asks for each in sentences),
        supposes=any(each.supposes for each in stated),
        plans=PLANNED.search(read) is not None,
        wishes=bool(stated) and all(WISHED.search(each.text) for each in stated),
        adds=any(each.adds for each in stated),
        past=any(each.past for each in stated),
        story=STORY.search(read) is not None,
        passing=any(each.passing for each in stated),
        keeps=any(each.keeps for each in stated),
        theirs=THEIRS.search(read) is not None,
        first=_FIRST.search(read) is not None,
    )


def _numbered(sentence: str) -> tuple[str, str] | None:
    """The thing that a sentence begins with, and its number, where it has one."""
    found = _NUMBERED.match(sentence)
    return (found[1].lower(), found[2]) if found and not _NO_THING.fullmatch(found[1]) else None


def _announces(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in (GONE, REPLACES, BEGINS))


def _stems_in(topic: frozenset[str], text: str) -> frozenset[str]:
    """The stems of a topic that words of a text begin with."""
    there = {word.lower() for word in _WORD.findall(text)}
    return frozenset(stem for stem in topic if any(word.startswith(stem) for word in there))


def _kind(kind: str) -> str:
    plain = kind.split()[0]
    return "day" if plain in _DAYS else plain
