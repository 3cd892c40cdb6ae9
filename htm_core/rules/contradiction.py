"""Whether two texts cannot both be true: rules for English that need no model.

Two sentences contradict each other when they speak of the same thing and one denies it, or gives another number, another date or
another value of the same attribute. What a sentence speaks of are its words without those of the value, without everyday words
and without the verbs that only join the two ("takes four minutes", "needs about twenty minutes"). A sentence about another
thing ("the payment provider times out") has words of its own where the first has others ("the API gateway times out").

A chat model finds more, and so does a reader: the rules know no synonyms, and nothing of the world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .text.folding import words

MIN_COMMON_WORDS = 0.6  # from this share of common words on, a denial is of the same thing
MAX_SENTENCES = 8  # of each text
MAX_LENGTH = 4_000  # characters of each text

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKEN = re.compile(r"\d[\d,]*(?:[.:/-]\d+)*(?:st|nd|rd|th)?\b|[^\W_]+(?:['\u2019.:/-][^\W_]+)*")
_STOP = words("""
    a an and are as at be been being but by for has have had he her his i in into is it its me my of on or our she so that the
    their them then they this to was we were will with you your also now really very just which who there here about some from
    after before until till since within during per than only still yet already am us do does did would should can could may
    might shall when where if because while each every both around please
""")
# Verbs and nouns that join a thing with its value and say little themselves.
_LIGHT = words("""
    take takes took taken need needs needed last lasts lasted cost costs price priced pay pays paid due want wants wanted get gets
    got run runs ran running go goes end ends ended use uses used using move moves moved make makes made hold holds set land lands
    landed ship ships shipped start starts started begin begins leave leaves left turn turns turned room space plan planned
    happen happens place takes located based keep keeps kept stored store run called named amount total currently exactly roughly
    approximately least most say says said state states equal equals listen listens new work works
""") - words("left new work works")  # fmt: skip
_NEGATIONS = words("""not no never none nobody nothing neither nor without cannot stopped quit dislikes hates refuses false wrong
    unlike failed fails disabled dropped against""")
_OPPOSITES = (
    ("enabled", "disabled"), ("open", "closed"), ("likes", "dislikes"), ("loves", "hates"), ("true", "false"),
    ("accepted", "rejected"), ("approved", "rejected"), ("passed", "failed"), ("always", "never"), ("alive", "dead"),
    ("started", "stopped"), ("healthy", "unhealthy"), ("safe", "unsafe"), ("up", "down"), ("allowed", "forbidden"),
    ("success", "failure"), ("succeeded", "failed"), ("increased", "decreased"), ("left", "right"), ("online", "offline"),
    ("left-handed", "right-handed"), ("home", "office"), ("public", "private"), ("required", "optional"), ("hot", "cold"),
    ("married", "single"), ("full", "empty"), ("any", "only"), ("all", "only"), ("everyone", "only"), ("everybody", "only"),
)  # fmt: skip
_SWITCHED_ON = re.compile(r"\b(?:is|are|was|were|stays?|turned|switched) on(?=\s*(?:[.,;!]|$|in\b|for\b|by\b))", re.I)
_SWITCHED_OFF = re.compile(r"\b(?:is|are|was|were|stays?|turned|switched) off\b", re.I)
_REPEATED = re.compile(r"\b(?:again|too|as well|another|in addition|besides)\b", re.I)
_CARDINALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_ORDINALS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_CARDINALS)} | {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
}  # fmt: skip
_RANKS = {name: number for number, name in enumerate(_ORDINALS)}
# Lengths of time, each in seconds, so that two weeks and 14 days are the same.
_SPANS = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
    "year": 31_536_000,
}
_MONTHS = words("january february march april may june july august september october november december")
_DAYS = words("monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday weekend")
_OFTEN = re.compile(
    r"\b(?:(?:every|each) (?P<each>second|minute|hour|day|night|morning|evening|week|month|quarter|year)|"
    r"(?P<ly>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually))\b",
    re.I,
)
_OFTEN_IS = {"night": "day", "nightly": "day", "daily": "day", "morning": "day", "evening": "day", "hourly": "hour",
             "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year", "annually": "year"}  # fmt: skip
_YEAR, _BEFORE_A_YEAR = re.compile(r"(?:19|20)\d\d"), ("in", "since", "until", "by", "")
_PAST = re.compile(r"\b(?:went|flew|came|visited|met|bought|saw)\b", re.I)
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9-]{2,}$")
_ATTRIBUTE = re.compile(
    r"^(?P<subject>.{2,80}?)\s+(?P<verb>is called|is named|is located in|is based in|is written in|is owned by|is run by|"
    r"runs on|runs in|lives in|works at|works for|works in|moved to|belongs to|reports to|depends on|points to|listens on|"
    r"is|are|uses|prefers|costs|equals|was born in|will be|became|chose|drinks|drives|owns)\s+(?P<value>.{1,200}?)[.!]?$",
    re.I,
)
_KIND_OF, _DONE = re.compile(r"^an? ", re.I), re.compile(r"(?:ed|ing)\b")
# Two verbs of one of these say the same of a subject, so that another name after them is another value.
_SAME_SAID = (
    re.compile(r"\b(?:lives?|resides?|is based|(?:has |have )?moved) (?:in|to)\b", re.I),
    re.compile(r"\b(?:works?|is employed) (?:at|for|by)\b|\b(?:has |have )?joined\b", re.I),
    re.compile(
        r"\b(?:uses?|using|runs? on|is written in|written in|(?:was|were|is|are|has been) (?:moved|migrated) to|(?:is|are) "
        r"(?:kept|stored|hosted) (?:in|on|at)|chose)\b",
        re.I,
    ),
    re.compile(r"\b(?:is|are|was|were) \w+(?:ed|en|un) by\b", re.I),
    re.compile(r"\b(?:sleeps?|stands?|hangs?|lies?|stays?|is kept|are kept) (?:in|on|at|under|behind)\b", re.I),
)


@dataclass(slots=True)
class _Said:
    """A sentence as the rules read it.

    `about` are the words of what it speaks of, in their order; `values` the values by their kind ("date", "time of day", "span",
    or a number with its noun); `denials` counts the words that deny; `names` are words with a capital letter inside it.
    """

    text: str
    about: list[str] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)
    denials: int = 0
    names: set[str] = field(default_factory=set)
    first: str = ""

    def value(self, kind: str, value: str) -> None:
        self.values.setdefault(kind, set()).add(value)


def find_contradiction(new: str, old: str) -> str | None:
    """Why two texts cannot both be true; None when the rules see no contradiction. The order of the two does not matter."""
    mine, theirs = _sentences(new), _sentences(old)
    common = {_normalized(each) for each in mine} & {_normalized(each) for each in theirs}
    ours = [_read(each) for each in mine if _normalized(each) not in common]
    others = [_read(each) for each in theirs if _normalized(each) not in common]
    pairs = ((one, other) for one in ours for other in others)
    return next((why for one, other in pairs for rule in _RULES if (why := rule(one, other))), None)


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.split(text[:MAX_LENGTH]) if each.strip()][:MAX_SENTENCES]


def _normalized(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


# -- reading a sentence -----------------------------------------------------------------------------------------------


def _read(text: str) -> _Said:
    said = _Said(text)
    for often in _OFTEN.finditer(text):
        named = (often["each"] or often["ly"]).lower()
        said.value("how often", _OFTEN_IS.get(named, named))
    rest = re.sub(r"\b(?:open|opened) (?:until|till)\b", "closes at", _OFTEN.sub(" ", text), flags=re.I)
    rest = re.sub(
        r"\b(?:no longer|any ?more)\b",
        lambda found: "not" if found[0].lower() == "no longer" else " ",
        rest,
        flags=re.I,
    )
    tokens = [(match[0].replace("\u2019", "'"), match.start()) for match in _TOKEN.finditer(rest)]
    at = 0
    while at < len(tokens):
        at += _read_token(said, [token for token, _ in tokens], at)
    if tokens:
        said.first = _stem(tokens[0][0].casefold())
    return said


def _read_token(said: _Said, tokens: Sequence[str], at: int) -> int:
    """Read one token, or a number with its unit, or a date; returns how many tokens were read."""
    token = tokens[at]
    word = token.casefold()
    following = tokens[at + 1].casefold() if at + 1 < len(tokens) else ""
    before = tokens[at - 1].casefold() if at else ""
    number = _number(word)
    if word in _MONTHS and (token[0].isupper() or word != "may"):
        said.value("date", _stem(word))
    elif _stem(word) in _DAYS or word in _DAYS:
        said.value("weekday", _stem(word))
    elif word in _RANKS or re.fullmatch(r"\d+(?:st|nd|rd|th)", word):
        said.value("date", str(_RANKS[word]) if word in _RANKS else word[:-2])
    elif number is not None:
        return _read_number(said, number, word, before=before, following=following)
    elif word in _NEGATIONS or word.endswith("n't"):
        said.denials += 1
    elif _CODE.fullmatch(word):
        said.value(f"code after {_stem(before)}", word)
    elif word not in _STOP and word not in _LIGHT:
        stem = _stem(word)
        said.about.append(stem)
        if token[0].isupper() and at:
            said.names.add(stem)
    elif word in ("to", "from") and following and tokens[at + 1][0].isupper():
        said.about.append(f"{word} {_stem(following)}")
    return 1


def _read_number(said: _Said, number: float, word: str, *, before: str, following: str) -> int:
    """Read a number by what stands around it: a time of day, a day of a month, a year, a span, or so many of something."""
    unit = _stem(following)
    if ":" in word or following in ("am", "pm", "o'clock"):
        said.value("time of day", word if ":" in word else f"{word} {following}")
        return 1 if ":" in word else 2
    if (
        re.fullmatch(r"\d{4}-\d\d-\d\d", word)
        or following in _MONTHS
        or before in _MONTHS
        or (_YEAR.fullmatch(word) and before in _BEFORE_A_YEAR)
    ):
        said.value("date", word)
    elif unit in _SPANS:
        said.value("span", f"{number * _SPANS[unit]:g}")
        return 2
    else:
        plain = following and following not in _STOP and following not in _LIGHT and _number(following) is None
        said.value(f"number of {unit}" if plain else "number", f"{number:g}")
    return 1


def _number(word: str) -> float | None:
    if word in _NUMBERS:
        return float(_NUMBERS[word])
    digits = word.replace(",", "")
    found = re.match(r"[0-9]+(?:\.[0-9]+)?", digits)
    return float(found[0]) if found else None


def _stem(word: str) -> str:
    """A word without the ending of a plural, a past or a present form: enough to know it again."""
    bare = word.removesuffix("'s").removesuffix("'")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 6), ("s", 4), ("d", 5)):
        if bare.endswith(ending) and len(bare) >= least and not bare.endswith("ss"):
            cut = bare[: -len(ending)]
            if ending == "es" and not cut.endswith(("s", "x", "z", "ch", "sh")):
                cut += "e"
            return cut + "y" if ending == "ies" else cut
    return bare


# -- comparing two ----------------------------------------------------------------------------------------------------


def _alike(one: str, other: str) -> bool:
    """Whether two stems are of one word: equal, or one begins with the other, as in "time" and "timeout"."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 4 and long.startswith(short))


def _own(one: _Said, other: _Said, *, without: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """The words of a sentence that the other does not have."""
    return [word for word in one.about if word not in without and not any(_alike(word, each) for each in other.about)]


def _common(one: _Said, other: _Said, *, without: set[str] = frozenset()) -> float:  # type: ignore[assignment]
    """The share of words that are common."""
    only_one, only_other = len(set(_own(one, other, without=without))), len(set(_own(other, one, without=without)))
    both = len({word for word in one.about if word not in without}) - only_one
    whole = both + only_one + only_other
    return both / whole if whole else 0.0


def _same_subject(one: _Said, other: _Said) -> bool:
    """Whether two sentences speak of one thing: one may say more of it, but not each something of its own."""
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
    return len(more) <= 2 and len(more) <= len((one if theirs else other).about) and not any(
        re.search(rf"\b{re.escape(word)}ed\b", (one if mine else other).text, re.I) for word in more
    )  # fmt: skip


def _other_value_of_a_kind(one: _Said, other: _Said) -> str | None:
    """Another number, date, time of day, span or frequency of one thing. Where several kinds differ it is another case of it."""
    if one.denials % 2 != other.denials % 2 or _REPEATED.search(one.text) or _REPEATED.search(other.text):
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
    if any(len(one.values[kind] - other.values[kind]) > 1 or len(other.values[kind] - one.values[kind]) > 1
           for kind in kinds if kind != "date"):  # fmt: skip
        return None
    if kinds == ["date"] and (_PAST.search(one.text) or _PAST.search(other.text)):
        return None
    mine = ", ".join(sorted(value for kind in kinds for value in _shown(one, kind)))
    theirs = ", ".join(sorted(value for kind in kinds for value in _shown(other, kind)))
    return f"one says {mine}, the other {theirs}"


def _shown(said: _Said, kind: str) -> Iterator[str]:
    for value in said.values[kind]:
        seconds = float(value) if kind == "span" else 0.0
        unit = next((name for name, length in reversed(_SPANS.items()) if seconds and seconds % length == 0), "")
        yield f"{seconds / _SPANS[unit]:g} {unit}s" if unit else value


def _denied(one: _Said, other: _Said) -> str | None:
    """One denies what the other says, or says its opposite."""
    if {word for word in _own(one, other) if word in one.names} and {
        word for word in _own(other, one) if word in other.names
    }:
        return None
    if one.first != other.first and _is_name(one) and _is_name(other):
        return None
    mine, theirs = _plain(one.text), _plain(other.text)
    for yes, no in _OPPOSITES:
        pair = {yes, no, _stem(yes), _stem(no)}
        apart = (yes in mine and no in theirs and no not in mine and yes not in theirs) or (
            no in mine and yes in theirs and yes not in mine and no not in theirs
        )
        needed = MIN_COMMON_WORDS if no != "only" else 0.5
        if apart and _common(one, other, without=pair) >= needed:
            return f"one says {yes}, the other {no}"
    on = bool(_SWITCHED_ON.search(one.text)), bool(_SWITCHED_ON.search(other.text))
    off = bool(_SWITCHED_OFF.search(one.text)), bool(_SWITCHED_OFF.search(other.text))
    if ((on[0] and off[1]) or (off[0] and on[1])) and _common(one, other) >= MIN_COMMON_WORDS:
        return "one says on, the other off"
    if one.denials % 2 != other.denials % 2 and _common(one, other) >= MIN_COMMON_WORDS:
        return "one denies what the other says"
    return None


def _is_name(said: _Said) -> bool:
    """Whether a sentence begins with what may be a name: a capital letter and no everyday word."""
    opening = _TOKEN.search(said.text)
    return bool(opening) and opening[0][0].isupper() and said.first in said.about[:1]  # type: ignore[index]


def _plain(text: str) -> set[str]:
    return {match[0].casefold() for match in _TOKEN.finditer(text)}


def _other_attribute(one: _Said, other: _Said) -> str | None:
    """Another value of the same attribute of one subject, as in "the database is X" and "the database is Y"."""
    mine, theirs = _ATTRIBUTE.match(one.text), _ATTRIBUTE.match(other.text)
    if not mine or not theirs or mine["verb"].lower() != theirs["verb"].lower() or one.denials or other.denials:
        return None
    if _REPEATED.search(one.text) or _REPEATED.search(other.text):
        return None
    subjects = _read(mine["subject"]), _read(theirs["subject"])
    if (
        not subjects[0].about
        or set(subjects[0].about) != set(subjects[1].about)
        or subjects[0].values != subjects[1].values
    ):
        return None
    values = _read(mine["value"]), _read(theirs["value"])
    own = set(_own(values[0], values[1])), set(_own(values[1], values[0]))
    if not own[0] or not own[1] or len(own[0]) > 2 or len(own[1]) > 2:
        return None  # one says the same with more detail, or both say something of their own
    if (len(own[0]) == 2 or len(own[1]) == 2) and len(set(values[0].about) - own[0]) > 0:
        return None  # another value of something else: "dark mode in the editor", "light mode on the phone"
    several = any(_KIND_OF.match(each["value"]) or _DONE.search(each["value"]) for each in (mine, theirs))
    if several and mine["verb"].lower() in ("is", "are", "became"):
        return None  # one may be several things: "a photographer" and "a vegetarian"
    return f"{mine['subject'].strip()} {mine['verb'].lower()}: one says {mine['value']}, the other {theirs['value']}"


def _other_name(one: _Said, other: _Said) -> str | None:
    """Another name, or another place, after verbs that say the same of one subject."""
    if one.denials or other.denials or _REPEATED.search(one.text) or _REPEATED.search(other.text):
        return None
    said = next((pattern for pattern in _SAME_SAID if pattern.search(one.text) and pattern.search(other.text)), None)
    if said is None:
        return None
    mine, theirs = set(_own(one, other)), set(_own(other, one))
    if len(mine) != 1 or len(theirs) != 1 or len(mine) == len(set(one.about)):
        return None
    name, other_name = mine.pop(), theirs.pop()
    places = said is _SAME_SAID[-1] and one.first == other.first and name != one.first
    if not places and not (
        name in one.names and other_name in other.names and name != one.first and other_name != other.first
    ):
        return None
    return f"one says {name}, the other {other_name}"


_RULES: tuple[Callable[[_Said, _Said], str | None], ...] = (
    _other_attribute,
    _other_value_of_a_kind,
    _other_name,
    _denied,
)
