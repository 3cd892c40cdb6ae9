"""Which kind of answer a question wants, and whether a text can be one. It reads English."""

from __future__ import annotations

import re
from functools import lru_cache

_CAPITALISED = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'\u2019-]+")
_NOT_NAMES = frozenset(("i'm", "i've", "i'll", "i'd"))

_ASKS_TIME = re.compile(
    r"\b(?:when|what time|what day|which day|what date|how long|how old|what year|date|birthday|bday)\b", re.I
)
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|often|big|far|tall)|number|port|price|cost|code|budget)\b", re.I
)
_ASKS_PLACE = re.compile(r"\bwhere\b", re.I)
_HAS_TIME = re.compile(
    r"\d|\b(?:jan(?:uary)?|feb(?:ruary)?|march|april|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tue|wed|thu|fri|sat|today|tomorrow|yesterday|tonight|"
    r"mornings?|afternoons?|evenings?|noon|weeks?|weekends?|months?|years?|spring|summer|autumn|winter|o'clock|half past|"
    r"birthday|ago|since|until)\b",
    re.I,
)
_HAS_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|twice|once|double)\b",
    re.I,
)
_HAS_PLACE = re.compile(r"\b(?:in|at|on|near|to|from|behind|under|next to)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|me|mine|we|us|our)\b", re.I)


# A question is compared with each of its hits, and looked at once.
_once = lru_cache(maxsize=64)


@_once
def names_in(text: str) -> frozenset[str]:
    """The capitalised words of a text, in lower case, without those that begin a sentence."""
    words = {word.lower().removesuffix("'s").removesuffix("\u2019s") for word in _CAPITALISED.findall(text)}
    return frozenset(words - _NOT_NAMES)


def in_first_person(text: str) -> bool:
    """Whether a text speaks of "I", "my" or "our"."""
    return _FIRST_PERSON.search(text) is not None


asks_in_first_person = _once(in_first_person)


@_once
def asks_a_time(question: str) -> bool:
    """Whether a question asks when, or how long."""
    return _ASKS_TIME.search(question) is not None


def names_a_time(text: str) -> bool:
    """Whether a text names a time; any number may be one."""
    return _HAS_TIME.search(text) is not None


@_once
def asks_a_number(question: str) -> bool:
    """Whether a question asks how many or how much."""
    return _ASKS_NUMBER.search(question) is not None


def names_a_number(text: str) -> bool:
    """Whether a text has a number, as digits or in words."""
    return _HAS_NUMBER.search(text) is not None


@_once
def asks_a_place(question: str) -> bool:
    """Whether a question asks where."""
    return _ASKS_PLACE.search(question) is not None


def lacks_a_time(question: str, text: str) -> bool:
    """Whether a question asks when, and a text names no time."""
    return asks_a_time(question) and not names_a_time(text)


def lacks_a_number(question: str, text: str) -> bool:
    """Whether a question asks how many or how much, and a text has no number."""
    return asks_a_number(question) and not names_a_number(text)


def lacks_a_place(question: str, text: str) -> bool:
    """Whether a question asks where, and a text has no word that leads to a place."""
    return asks_a_place(question) and _HAS_PLACE.search(text) is None
