"""Promotion into the palace: what may be promoted, what a text repeats, and what it contradicts. The rules read English.

Two texts contradict each other when they speak of the same thing and one denies it, or gives another number, another date or
another value of the same attribute. Other contradictions are not found by these rules; a chat model finds more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import InvalidInput
from .text.folding import words
from .validation import check_characters

MAX_SUMMARY_LENGTH = 1_200  # characters: a longer text is not a summary
MAX_REASON_LENGTH = 1_000
# Two texts that do not contradict each other say the same from this cosine on, or from this share of common words on.
MIN_COSINE_OF_DUPLICATES = 0.95
MIN_COMMON_WORDS_OF_DUPLICATES = 0.9
MIN_COMMON_WORDS_OF_ONE_SUBJECT = 0.6  # from this share of common words on, two texts speak of the same thing

_WORD = re.compile(r"[^\W_]+(?:['\u2019.:/-][^\W_]+)*")
_STOP_WORDS = words("""
    a an and are as at be been being but by for from had has have he her his i in into is it its me my of on or our she
    so that the their them then they this to was we were will with you your also now really very just which who
""")
_NEGATIONS = words("""not no never none nobody nothing neither nor without cannot stopped quit dislikes hates refuses false wrong
    unlike failed fails disabled off""")
_OPPOSITES = (
    ("enabled", "disabled"), ("on", "off"), ("open", "closed"), ("likes", "dislikes"), ("loves", "hates"), ("true", "false"),
    ("accepted", "rejected"), ("approved", "rejected"), ("passed", "failed"), ("always", "never"), ("alive", "dead"),
    ("started", "stopped"), ("healthy", "unhealthy"), ("safe", "unsafe"), ("up", "down"), ("allowed", "forbidden"),
    ("success", "failure"), ("succeeded", "failed"), ("before", "after"), ("increased", "decreased"),
)  # fmt: skip
_COUNTING = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {name: str(value) for value, name in enumerate(_COUNTING)}
_MONTHS = words("january february march april may june july august september october november december")
_DAYS = words("monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday")
_ATTRIBUTE = re.compile(
    r"^(?P<subject>.{2,80}?)\s+(?P<verb>is called|is named|is located in|is based in|is written in|is owned by|is run by|"
    r"runs on|runs in|lives in|works at|works for|works in|moved to|belongs to|reports to|depends on|points to|listens on|"
    r"is|are|uses|prefers|costs|equals|was born in|will be|became|chose|drinks|drives|owns)\s+(?P<value>.{1,200}?)[.!]?$",
    re.I,
)
_RAW_OUTPUT = (
    (re.compile(r"^\s*[\[{].*[\]}]\s*$", re.S), "JSON"),
    (re.compile(r"^\s*<(?:\?xml|!doctype|html|[a-z]+[ >])", re.I), "markup"),
    (
        re.compile(r"^Traceback \(most recent call last\)|^\s+File \".+\", line \d+|^\s+at [\w.$]+\(", re.M),
        "a stack trace",
    ),
    (re.compile(r"^```", re.M), "a block of code"),
    (re.compile(r"^HTTP/\d(?:\.\d)? \d{3}|^(?:content-type|date|server):\s", re.I | re.M), "a raw reply of a server"),
    (re.compile(r"^(?:\$|>>>|#) \S", re.M), "a terminal's transcript"),
    (re.compile(r"^(?:diff --git|@@ -\d+)", re.M), "a diff"),
    (re.compile(r"[A-Za-z0-9+/=_-]{200,}"), "encoded data"),
)
_LOG_LINE = re.compile(
    r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d|\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b[:\]| ]", re.M
)


@dataclass(frozen=True, slots=True)
class Compared:
    """How one text relates to another, and why."""

    relation: Literal["same", "contradicts", "other"]
    why: str = ""


def check_summary(summary: object) -> str:
    """The summary, stripped. Raises `InvalidInput` when it is empty or too long, or looks like raw tool output."""
    text = _some_text(summary, what="summary", longest=MAX_SUMMARY_LENGTH)
    if raw := raw_output(text):
        raise InvalidInput(
            f"expected a summary in words, got what looks like {raw}; say in a sentence what was learned"
        )
    return text


def check_reason(reason: object) -> str:
    """The reason, stripped. Raises `InvalidInput` when it is empty or too long."""
    return _some_text(reason, what="reason", longest=MAX_REASON_LENGTH)


def _some_text(text: object, *, what: str, longest: int) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"expected a {what}, got {text!r:.80}; every promotion needs a reason and a summary")
    if len(text) > longest:
        raise InvalidInput(f"expected a {what} of at most {longest:,} characters, got {len(text):,}; shorten it")
    return check_characters(text.strip(), what=what)


def raw_output(text: str) -> str | None:
    """The kind of raw tool output that a text looks like; None when it looks like words."""
    for pattern, kind in _RAW_OUTPUT:
        if pattern.search(text):
            return kind
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) >= 3 and sum(bool(_LOG_LINE.search(line)) for line in lines) * 2 > len(lines):
        return "a log"
    if len(lines) >= 4 and sum(line.count("|") >= 2 or line.count("\t") >= 2 for line in lines) * 2 > len(lines):
        return "a table of a tool"
    return None


def compare(new: str, old: str, *, cosine: float | None, contradiction: str | None) -> Compared:
    """How a new text relates to an old one.

    `cosine` is None when the texts were not embedded; `contradiction` is why the judge thinks that they contradict each other.
    """
    if _normalized(new) == _normalized(old):
        return Compared("same", "the same words")
    if contradiction:
        return Compared("contradicts", contradiction)
    shared = _overlap(_content(new), _content(old))
    if shared >= MIN_COMMON_WORDS_OF_DUPLICATES and _numbers(new) == _numbers(old):
        return Compared("same", f"{shared:.0%} of the words are common")
    if cosine is not None and cosine >= MIN_COSINE_OF_DUPLICATES:
        return Compared("same", f"a cosine of {cosine:.2f}")
    return Compared("other")


def find_contradiction(new: str, old: str) -> str | None:
    """Why two texts cannot both be true; None when the rules see no contradiction."""
    if _normalized(new) == _normalized(old):
        return None
    return _other_value(new, old) or _negated(new, old) or _other_date(new, old) or _other_number(new, old)


def nearest(text: str, others: Sequence[str], *, limit: int) -> list[int]:
    """The indexes of the texts that share most words with a text, at most `limit`, best first."""
    mine = _content(text)
    ranked = sorted(range(len(others)), key=lambda at: -_overlap(mine, _content(others[at])))
    return ranked[:limit]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 when one of them is all zeros."""
    lengths = math.sqrt(math.fsum(x * x for x in one)) * math.sqrt(math.fsum(x * x for x in other))
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _negated(new: str, old: str) -> str | None:
    one, other = _words(new), _words(old)
    for yes, no in _OPPOSITES:
        if ({yes} & one and {no} & other) or ({no} & one and {yes} & other):
            pair = {yes, no, _stem(yes), _stem(no)}
            if _overlap(_content(new) - pair, _content(old) - pair) >= MIN_COMMON_WORDS_OF_ONE_SUBJECT:
                return f"one says {yes}, the other {no}"
    if (
        _count_negations(new) % 2 != _count_negations(old) % 2
        and _overlap(_content(new), _content(old)) >= MIN_COMMON_WORDS_OF_ONE_SUBJECT
    ):
        return "one denies what the other says"
    return None


def _other_number(new: str, old: str) -> str | None:
    one, other = _numbers(new), _numbers(old)
    if one - other and other - one and _about_one_thing(_content(new), _content(old)):
        return f"one says {', '.join(sorted(one - other))}, the other {', '.join(sorted(other - one))}"
    return None


def _other_date(new: str, old: str) -> str | None:
    one, other = _dates(new), _dates(old)
    if one - other and other - one and _about_one_thing(_content(new) - one, _content(old) - other):
        return f"one says {' '.join(sorted(one - other))}, the other {' '.join(sorted(other - one))}"
    return None


def _other_value(new: str, old: str) -> str | None:
    """Another value of the same attribute of one subject, as in "the database is X" and "the database is Y"."""
    one, other = _ATTRIBUTE.match(new.strip()), _ATTRIBUTE.match(old.strip())
    if not one or not other or one["verb"].lower() != other["verb"].lower():
        return None
    if _count_negations(new) or _count_negations(old):
        return None
    subjects = _content(one["subject"]), _content(other["subject"])
    values = _content(one["value"]) | _numbers(one["value"]), _content(other["value"]) | _numbers(other["value"])
    if not subjects[0] or subjects[0] != subjects[1] or not all(values):
        return None
    if values[0] <= values[1] or values[1] <= values[0]:
        return None  # one says the same with more detail
    return f"{one['subject'].strip()} {one['verb'].lower()}: one says {one['value']}, the other {other['value']}"


def _normalized(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _words(text: str) -> set[str]:
    return {word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)}


def _content(text: str) -> set[str]:
    """The words that say what a text is about: no stop words, numbers or negations, and plurals without their s."""
    found = {
        _stem(word)
        for word in _words(text)
        if word not in _STOP_WORDS and word not in _NEGATIONS and not word.endswith("n't")
    }
    return {word for word in found if word and not word[0].isdigit() and word not in _NUMBER_WORDS}


def _stem(word: str) -> str:
    bare = word.removesuffix("'s")
    return bare[:-1] if len(bare) > 3 and bare.endswith("s") and not bare.endswith("ss") else bare


def _count_negations(text: str) -> int:
    in_order = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    return sum(word in _NEGATIONS or word.endswith("n't") for word in in_order)


def _numbers(text: str) -> set[str]:
    found = {number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d,]*(?:[.:]\d+)*", text)}
    return found | {_NUMBER_WORDS[word] for word in _words(text) if word in _NUMBER_WORDS}


def _dates(text: str) -> set[str]:
    return {word for word in _words(text) if word in _MONTHS or word in _DAYS}


def _about_one_thing(one: set[str], other: set[str]) -> bool:
    """Whether two texts, apart from their values, are about one thing. One may say more, but not each something of its own."""
    return _overlap(one, other) >= MIN_COMMON_WORDS_OF_ONE_SUBJECT and not (one - other and other - one)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
