"""Recognise a question about what was said just before it: "and where is it?", "what did he say?", "why?". It reads English.

Such a question has nothing to search for: what it asks about is named in an earlier message. A question that names it itself, as
"can I give my mother ibuprofen for her headache?", is searched for as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..grounding.questions import only_asks

MOST_WORDS = 14  # a longer question says itself what it is about
ELLIPTIC_WORDS = 5  # of a question that begins with "and": a longer one may be whole
MOST_BEFORE = 3  # earlier messages at most, where each is such a question as well
MOST_LETTERS = 200  # of an earlier message: its end, which is nearest

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_CLITIC = re.compile(r"['\u2019](?:s|re|d|ll|ve|m)$", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSONS = _words("he him his she her hers they them their theirs himself herself themselves")
_THINGS = _words("it its they them their theirs")
_POINTERS = _words("that this those these")
# Behind a pointer that stands alone: "what would that be", "how much is this then". "This week" names a time.
_AFTER_POINTER = _words(
    """
    is isn was wasn are were be been would will could can should may might must do does did don doesn didn has had have cost costs
    mean means happen happens happened take takes work works again exactly then too for on in at by with and or go goes hold
    """
)
_BEFORE_THERE = _words("is isn are aren was wasn were weren has have had be been will would could can")
_AUXILIARIES = _words("is are was were do does did has have had can could will would should may might must")
# What is named behind one of these may be what a pronoun after it means.
_DETERMINERS = _words("the my our your a an many which all any some both every no")
# "What time is it?", "is it raining?": this means nothing that was said.
_EXPLETIVE = re.compile(
    r"\b(?:time|day|date) (?:is|was) it\b|\bhow(?:'s| is| was) it going\b|\b(?:is|was) it (?:the|a|an|my|our)\b|"
    r"\bit(?:'s)? (?:still |so |very |too )*(?:rain|snow|cold|hot|warm|sunny|windy|late|early|possible|true|necessary|normal|usual|"
    r"hard|easy|difficult|important|worth|better|okay|ok|safe|me|take|takes|took|hurt|matter|smell|stink)",
    re.IGNORECASE,
)
_ELLIPTIC = re.compile(
    r"\W*(?:(?:and|ok(?:ay)?|so|but)\W+)*"
    r"(?:(?:what|how) about\b|(?:what|who|where|how|when) else\b|why not\b|how so\b|how come\W*$|"
    r"since when\W*$|until when\W*$|which ones?\b|same for\b)",
    re.IGNORECASE,
)
_LEADS = re.compile(r"\W*(?:and|but|or)\b", re.IGNORECASE)
_BARE = _words(
    """
    and but so ok okay who whom whose when where why how what which much many long often far big old exactly precisely since until
    till from by with for to at on about time day date year month week again please then was is were did
    """
)
_INTERROGATIVES = _words("who whom whose when where why how what which")
_ME = re.compile(r"\bI\b")


def with_what_it_is_about(question: str, before: Sequence[str]) -> str:
    """A question with the earlier messages that say what it is about, in their order; alone where it says that itself.

    Args:
        question: What is asked.
        before: What the same people said before in the conversation, oldest first.
    """
    if not before or not refers_back(question):
        return question
    told: list[str] = []
    for message in reversed(before[-MOST_BEFORE:]):
        told.append(_end_of(message))
        if not refers_back(message):
            break
    return " ".join([*filter(None, reversed(told)), question.strip()])


def refers_back(question: str) -> bool:
    """Whether a question is about what was said before it, and does not say itself what."""
    written = _WORD.findall(question)
    if not 0 < len(written) <= MOST_WORDS:
        return False
    words = [_CLITIC.sub("", word).lower() for word in written]
    if all(word in _BARE for word in words):
        return not _INTERROGATIVES.isdisjoint(words) and words not in (["what"], ["who"])
    if _ELLIPTIC.match(question):
        return True
    asks = question.rstrip().endswith("?") or only_asks(question)
    if not asks:
        return False
    if _LEADS.match(question) and len(words) <= ELLIPTIC_WORDS:
        return True
    return any(_points_back(question, written, words, place) for place in range(len(words)))


def _points_back(question: str, written: Sequence[str], words: Sequence[str], place: int) -> bool:
    """Whether a word means what was named in an earlier message."""
    word = words[place]
    if word in _POINTERS:
        after = words[place + 1] if place + 1 < len(words) else None
        relative = place > 0 and words[place - 1] not in _AUXILIARIES and after is not None and _has_noun(words, place)
        return (after is None or after in _AFTER_POINTER) and not relative
    if word == "there":
        beside = {*words[max(0, place - 1) : place], *words[place + 1 : place + 2]}
        return place > 0 and beside.isdisjoint(_BEFORE_THERE) and not _has_noun(words, place)
    if word in _PERSONS and not (_has_noun(words, place) or _has_name(written, place)):
        return True
    return word in _THINGS and not _has_noun(words, place) and not _EXPLETIVE.search(question)


def _has_noun(words: Sequence[str], place: int) -> bool:
    """Whether something is named before a word: "the telescope", "my mother"."""
    return any(word in _DETERMINERS for word in words[: max(0, place - 1)])


def _has_name(written: Sequence[str], place: int) -> bool:
    """Whether a name stands before a word, be it the first word of the question."""
    return any(
        word[:1].isupper() and not _ME.match(word) and _CLITIC.sub("", word).lower() not in _BARE | _AUXILIARIES
        for word in written[:place]
    )


def _end_of(message: str) -> str:
    """The end of a message, in whole words."""
    text = " ".join(message.split())
    if len(text) <= MOST_LETTERS:
        return text
    return text[-MOST_LETTERS:].partition(" ")[2]
