"""Whether what was found speaks of who was asked about: an offline check that reads English.

"What does Melanie's necklace mean?" finds Caroline's necklace. The question names one person, and what fits its words best
was said of somebody else: so nothing was said about what it asks. In a conversation "I" is who speaks and "you" is who
listens, so "Caroline: What got you into running?" is about Melanie's running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..detection.words import CALENDAR, PUBLIC_NAMES
from ..text.folding import words
from .questions import FIRST, SECOND, SENTENCE

LONGEST = 8_000  # characters of a text that are compared
# Chosen on development data (docs/why/palace.md).
FEWEST = 3  # words besides the name: fewer say too little to compare
NAMED_LEAD = 2  # words by which a text must fit better that only names somebody else; where it is known who speaks, one is enough

_STOP = words("""a an the of in on at to for from with by is are was were be been do does did has have had what which who whom
    whose when where why how and or not her his their its it she he they s that this as about into after before during there any
    some would could will can might may if than then i you my your our we me us i'm i've i'll""")
# Labels before a colon that name nobody: "Note: ...", or a part in a conversation that anybody may have.
_LABELS = words("""note notes fact facts summary reminder todo warning update decision question answer example tip user assistant
    human ai bot system me you agent customer""")
_NOBODY = _STOP | _LABELS | CALENDAR
# A name in the place of a person, not "in Paris".
_ASKED = re.compile(r"(?<!\b[Ii]n )(?<!\b[Aa]t )(?<!\b[Nn]ear )\b[A-Z][\w'\u2019-]*")
_CAPITAL = re.compile(r"[A-Z][\w'\u2019-]*")
_WORD = re.compile(r"[\w'\u2019]+")
_ENDINGS = ("ing", "edly", "ed", "es", "s")
_SPEAKER = re.compile(r"(?P<name>[A-Z][\w.'\u2019-]*(?: [A-Z][\w.'\u2019-]*)?): ")
# A name that somebody is called by: "Thanks, Ann!", "Ann, you know", but not "Ann paints".
_CALLED = r"(?:^|,\s*|\b(?:hey|hi|hello|thanks|wow|oh|yeah|yes|no|congrats|sure|sorry)[, ]+){}(?=\s*(?:[,!.?]|$))"


@dataclass(frozen=True, slots=True)
class Told:
    """A text that was found, and the names beside it: of its room and drawer, of who said it."""

    text: str
    beside: str = ""


def somebody_else(question: str, told: Sequence[Told]) -> str | None:
    """Whom a question is about, when what was said of others fits it better; None when that cannot be said.

    It can only be said of a question that names one of those who are spoken of here, and no other.
    """
    told = [Told(each.text[:LONGEST], each.beside) for each in told]
    known = set[str]().union(*(_names(each.text) for each in told))
    asked = {_bare(found) for found in _ASKED.findall(question)} & known - PUBLIC_NAMES - CALENDAR
    if len(asked) != 1:
        return None
    who = asked.pop()
    wanted = _content(question) - {_stem(who)}
    if len(wanted) < FEWEST:
        return None
    speakers = {name for each in told if (name := _speaker(each.text))}
    theirs, others = 0, 0
    for each in told:
        of_them, of_others = _told_of(each, who, speakers)
        handicap = 0 if _speaker(each.text) else NAMED_LEAD - 1
        theirs, others = max(theirs, len(wanted & of_them)), max(others, len(wanted & of_others) - handicap)
    return who.capitalize() if others > theirs else None


def _told_of(each: Told, who: str, speakers: set[str]) -> tuple[set[str], set[str]]:
    """The words of a text that tell of somebody, and those that tell of others."""
    if who in _said(each.beside):
        return _content(each.text), set()
    speaker = _speaker(each.text)
    if speaker is None:
        told = _content(each.text)
        if who in _said(each.text):
            return told, set()
        return set(), told if _names(each.text) else set()
    of_them, of_others = set[str](), set[str]()
    for sentence, theirs in _sentences(each.text, who, speaker, speakers):
        (of_them if theirs else of_others).update(_content(sentence))
    return of_them, of_others


def _sentences(text: str, who: str, speaker: str, speakers: set[str]) -> Iterator[tuple[str, bool]]:
    """The sentences that somebody says, each with whether it is about `who`."""
    own = who in speaker.split()
    spoken_to = len(speakers) <= 2 or who in _said(text.split(":", 1)[1])
    for sentence in SENTENCE.split(text.split(":", 1)[1].strip()):
        listener = bool(SECOND.search(sentence)) and not FIRST.search(sentence)
        if own:
            yield sentence, not listener
        else:
            yield sentence, _names_them(sentence, who) or (listener and spoken_to)


def _names_them(sentence: str, who: str) -> bool:
    """Whether a sentence is about somebody by name, not only said to them."""
    called = re.sub(_CALLED.format(re.escape(who)), " ", sentence, flags=re.I)
    return who in _said(called)


def _speaker(text: str) -> str | None:
    """Who a text says it was said by, as in "Ann: I paint."; None when it does not say, or not whom."""
    found = _SPEAKER.match(text)
    if found is None or found["name"].lower() in _LABELS:
        return None
    return found["name"].lower()


def _said(text: str) -> set[str]:
    return {_bare(word) for word in _WORD.findall(text)}


def _names(text: str) -> set[str]:
    """The words in capitals that a sentence does not owe to its beginning, or that stand there as "Ann:" or "Ann's"."""
    found = set[str]()
    for match in _CAPITAL.finditer(text):
        name, before = _bare(match[0]), text[: match.start()].rstrip()
        first = not before or before[-1] in '.!?:\n"\u201c['
        marked = text[match.end() : match.end() + 1] == ":" or len(name) < len(match[0])
        if len(name) > 1 and not match[0].isupper() and name not in _NOBODY and (marked or not first):
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
