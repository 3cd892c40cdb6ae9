"""Contradictions between two texts, by what their sentences say: denials, numbers, dates, changed
values of one subject.

Two sentences contradict each other when they speak of the same thing and one denies it, or gives
another number, another date or another value of the same attribute. What a sentence speaks of are
its words without those of the value, without everyday words and without the verbs that only join
the two ("takes four minutes", "needs about twenty minutes"). A sentence about another thing ("the
payment provider times out") has words of its own where the first has others ("the API gateway times
out").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from .sentences import READ_AGAIN, SPANS, TOKEN, Said, alike, normalized, read, sentences, stem

MIN_COMMON_WORDS = 0.6  # from this share of common words on, a denial is of the same thing

_OPPOSITES = (
    ("enabled", "disabled"), ("open", "closed"), ("likes", "dislikes"), ("loves", "hates"),
    ("true", "false"), ("accepted", "rejected"), ("approved", "rejected"), ("passed", "failed"),
    ("always", "never"), ("alive", "dead"), ("started", "stopped"), ("healthy", "unhealthy"),
    ("safe", "unsafe"), ("up", "down"), ("allowed", "forbidden"), ("success", "failure"),
    ("succeeded", "failed"), ("increased", "decreased"), ("left", "right"), ("online", "offline"),
    ("left-handed", "right-handed"), ("home", "office"), ("public", "private"),
    ("required", "optional"), ("hot", "cold"), ("married", "single"), ("full", "empty"),
    ("any", "only"), ("all", "only"), ("everyone", "only"), ("everybody", "only"),
)  # fmt: skip
_SWITCHED_ON = re.compile(
    r"\b(?:is|are|was|were|stays?|turned|switched) on(?=\s*(?:[.,;!]|$|in\b|for\b|by\b))", re.I
)
_SWITCHED_OFF = re.compile(r"\b(?:is|are|was|were|stays?|turned|switched) off\b", re.I)
REPEATED = re.compile(r"\b(?:again|too|as well|another|in addition|besides)\b", re.I)
_PAST = re.compile(r"\b(?:went|flew|came|visited|met|bought|saw)\b", re.I)
_ATTRIBUTE = re.compile(
    r"^(?P<subject>.{2,80}?)\s++(?P<verb>is called|is named|is located in|is based in|is written in|is owned by|is run by|"
    r"runs on|runs in|lives in|works at|works for|works in|moved to|belongs to|reports to|depends on|points to|listens on|"
    r"is|are|uses|prefers|costs|equals|was born in|will be|became|chose|drinks|drives|owns)\s+(?P<value>.{1,200}?)[.!]?$",
    re.I,
)
_KIND_OF, _DONE = re.compile(r"^an? ", re.I), re.compile(r"(?:ed|ing)\b")
# Two verbs of one of these say the same of a subject, so that another name after them is another
# value.
_SAME_SAID = (
    re.compile(r"\b(?:lives?|resides?|is based|(?:has |have )?moved) (?:in|to)\b", re.I),
    re.compile(r"\b(?:works?|is employed) (?:at|for|by)\b|\b(?:has |have )?joined\b", re.I),
    re.compile(
        r"\b(?:uses?|using|runs? on|is written in|written in|(?:was|were|is|are|has been) (?:moved|migrated) to|(?:is|are) "
        r"(?:kept|stored|hosted) (?:in|on|at)|chose)\b",
        re.I,
    ),
    re.compile(r"\b(?:is|are|was|were) \w+(?:ed|en|un) by\b", re.I),
    re.compile(
        r"\b(?:sleeps?|stands?|hangs?|lies?|stays?|is kept|are kept) (?:in|on|at|under|behind)\b",
        re.I,
    ),
)


def find_contradiction(new: str, old: str) -> str | None:
    """Why two texts cannot both be true; None when the rules see no contradiction. The order of the
    two does not matter.
    """
    mine, theirs = sentences(new), sentences(old)
    common = {normalized(each) for each in mine} & {normalized(each) for each in theirs}
    ours = [read(each) for each in mine if normalized(each) not in common]
    others = [read(each) for each in theirs if normalized(each) not in common]
    pairs = ((one, other) for one in ours for other in others)
    return next((why for one, other in pairs if (why := why_incompatible(one, other))), None)


def why_incompatible(one: Said, other: Said) -> str | None:
    """Why two sentences cannot both be true; None when the rules see no contradiction."""
    return next((why for rule in _RULES if (why := rule(one, other))), None)


# -- comparing two ---------------------------------------------------------------------------------


def _own(one: Said, other: Said, *, without: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """The words of a sentence that the other does not have."""
    return [
        word
        for word in one.about
        if word not in without and not any(alike(word, each) for each in other.about)
    ]


def _common(one: Said, other: Said, *, without: set[str] = frozenset()) -> float:  # type: ignore[assignment]
    """The share of words that are common."""
    only_one, only_other = (
        len(set(_own(one, other, without=without))),
        len(set(_own(other, one, without=without))),
    )
    both = len({word for word in one.about if word not in without}) - only_one
    whole = both + only_one + only_other
    return both / whole if whole else 0.0


def _same_subject(one: Said, other: Said) -> bool:
    """True if two sentences speak of one thing: one may say more of it, but not each something of
    its own.
    """
    mine, theirs = _own(one, other), _own(other, one)
    if (
        not one.about
        or not other.about
        or (mine and theirs)
        or len(mine) == len(one.about)
        or len(theirs) == len(other.about)
    ):
        return False
    more = mine or theirs
    return (
        len(more) <= 2
        and len(more) <= len((one if theirs else other).about)
        and not any(
            re.search(rf"\b{re.escape(word)}ed\b", (one if mine else other).text, re.I)
            for word in more
        )
    )


def _other_value_of_a_kind(one: Said, other: Said) -> str | None:
    """Another number, date, time of day, span or frequency of one thing. Where several kinds differ
    it is another case of it.
    """
    if (
        one.denials % 2 != other.denials % 2
        or REPEATED.search(one.text)
        or REPEATED.search(other.text)
    ):
        return None
    if not _same_subject(one, other):
        return None
    kinds = [
        kind
        for kind in one.values.keys() & other.values.keys()
        if one.values[kind] - other.values[kind] and other.values[kind] - one.values[kind]
    ]
    if not kinds or (len(kinds) > 1 and set(kinds) - {"date", "weekday", "time of day"}):
        return None
    if any(
        len(one.values[kind] - other.values[kind]) > 1
        or len(other.values[kind] - one.values[kind]) > 1
        for kind in kinds
        if kind != "date"
    ):
        return None
    if kinds == ["date"] and (_PAST.search(one.text) or _PAST.search(other.text)):
        return None
    mine = ", ".join(sorted(value for kind in kinds for value in _shown(one, kind)))
    theirs = ", ".join(sorted(value for kind in kinds for value in _shown(other, kind)))
    return f"one says {mine}, the other {theirs}"


def _shown(sentence: Said, kind: str) -> Iterator[str]:
    """The values of a kind in words; a span in the unit in which it was said."""
    for value in sentence.values[kind]:
        seconds = float(value) if kind == "span" else 0.0
        units = [
            name for name, length in reversed(SPANS.items()) if seconds and seconds % length == 0
        ]
        unit = next(
            (name for name in units if name in sentence.text.lower()), next(iter(units), "")
        )
        count = seconds / SPANS[unit] if unit else 0.0
        yield f"{count:g} {unit}{'s' * (count != 1)}" if unit else value


def _denied(one: Said, other: Said) -> str | None:
    """One denies what the other says, or says its opposite."""
    if {word for word in _own(one, other) if word in one.names} and {
        word for word in _own(other, one) if word in other.names
    }:
        return None
    if one.first != other.first and _is_name(one) and _is_name(other):
        return None
    mine, theirs = _plain(one.text), _plain(other.text)
    for yes, no in _OPPOSITES:
        apart = (yes in mine and no in theirs and no not in mine and yes not in theirs) or (
            no in mine and yes in theirs and yes not in mine and no not in theirs
        )
        needed = MIN_COMMON_WORDS if no != "only" else 0.5
        if apart and _common(one, other, without={yes, no, stem(yes), stem(no)}) >= needed:
            return f"one says {yes}, the other {no}"
    on = bool(_SWITCHED_ON.search(one.text)), bool(_SWITCHED_ON.search(other.text))
    off = bool(_SWITCHED_OFF.search(one.text)), bool(_SWITCHED_OFF.search(other.text))
    if ((on[0] and off[1]) or (off[0] and on[1])) and _common(one, other) >= MIN_COMMON_WORDS:
        return "one says on, the other off"
    if one.denials % 2 != other.denials % 2 and _common(one, other) >= MIN_COMMON_WORDS:
        return "one denies what the other says"
    return None


def _is_name(sentence: Said) -> bool:
    """True if a sentence begins with what may be a name: a capital letter and no everyday word."""
    opening = TOKEN.search(sentence.text)
    return bool(opening) and opening[0][0].isupper() and sentence.first in sentence.about[:1]  # type: ignore[index]


@lru_cache(maxsize=READ_AGAIN)
def _plain(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in TOKEN.findall(text))


def _other_attribute(one: Said, other: Said) -> str | None:
    """Another value of the same attribute of one subject, as in "the database is X" and "the
    database is Y".
    """
    mine, theirs = _ATTRIBUTE.match(one.text), _ATTRIBUTE.match(other.text)
    if (
        not mine
        or not theirs
        or mine["verb"].lower() != theirs["verb"].lower()
        or one.denials
        or other.denials
    ):
        return None
    if REPEATED.search(one.text) or REPEATED.search(other.text):
        return None
    subjects = read(mine["subject"]), read(theirs["subject"])
    if (
        not subjects[0].about
        or set(subjects[0].about) != set(subjects[1].about)
        or subjects[0].values != subjects[1].values
    ):
        return None
    values = read(mine["value"]), read(theirs["value"])
    own = set(_own(values[0], values[1])), set(_own(values[1], values[0]))
    if not own[0] or not own[1] or len(own[0]) > 2 or len(own[1]) > 2:
        return None  # one says the same with more detail, or both say something of their own
    if (len(own[0]) == 2 or len(own[1]) == 2) and len(set(values[0].about) - own[0]) > 0:
        # another value of something else: "dark mode in the editor", "light mode on the phone"
        return None
    several = any(
        _KIND_OF.match(each["value"]) or _DONE.search(each["value"]) for each in (mine, theirs)
    )
    if several and mine["verb"].lower() in ("is", "are", "became"):
        return None  # one may be several things: "a photographer" and "a vegetarian"
    return (
        f"{mine['subject'].strip()} {mine['verb'].lower()}: one says {mine['value']}, the "
        f"other {theirs['value']}"
    )


def _other_name(one: Said, other: Said) -> str | None:
    """Another name, or another place, after verbs that say the same of one subject."""
    if one.denials or other.denials or REPEATED.search(one.text) or REPEATED.search(other.text):
        return None
    verbs = next(
        (
            pattern
            for pattern in _SAME_SAID
            if pattern.search(one.text) and pattern.search(other.text)
        ),
        None,
    )
    if verbs is None:
        return None
    mine, theirs = set(_own(one, other)), set(_own(other, one))
    if len(mine) != 1 or len(theirs) != 1 or len(mine) == len(set(one.about)):
        return None
    name, other_name = mine.pop(), theirs.pop()
    places = verbs is _SAME_SAID[-1] and one.first == other.first and name != one.first
    if not places and not (
        name in one.names
        and other_name in other.names
        and name != one.first
        and other_name != other.first
    ):
        return None
    return f"one says {name}, the other {other_name}"


_RULES: tuple[Callable[[Said, Said], str | None], ...] = (
    _other_attribute,
    _other_value_of_a_kind,
    _other_name,
    _denied,
)
