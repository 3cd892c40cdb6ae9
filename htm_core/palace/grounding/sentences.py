"""A sentence as the rules read it: what it speaks of, and its values by their kinds. It reads
English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...base.folding import words

MAX_SENTENCES = 8  # of each text
MAX_LENGTH = 4_000  # characters of each text
# sentences that are kept as they were read: each new saying is compared with several older ones
READ_AGAIN = 2_048
STEMS_AGAIN = 16_384  # words whose stems are kept

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
TOKEN = re.compile(r"\d[\d,]*(?:[.:/-]\d+)*(?:st|nd|rd|th)?\b|[^\W_]+(?:['\u2019.:/-][^\W_]+)*")
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
""") - words("left new work works")
_NEGATIONS = words("""not no never none nobody nothing neither nor without cannot stopped quit dislikes hates refuses false wrong
    unlike failed fails disabled dropped against""")
_CARDINALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
_ORDINALS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
    "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
    "seventeenth", "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_CARDINALS)} | {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100,
}  # fmt: skip
_RANKS = {name: number for number, name in enumerate(_ORDINALS)}
# Lengths of time, each in seconds, so that two weeks and 14 days are the same.
SPANS = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
    "year": 31_536_000,
}
_MONTHS = words(
    "january february march april may june july august september october november december"
)
_DAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday weekend"
)
_OFTEN = re.compile(
    r"\b(?:(?:every|each) (?P<each>second|minute|hour|day|night|morning|evening|week|month|quarter|year)|"
    r"(?P<ly>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually))\b",
    re.I,
)
_OFTEN_IS = {
    "night": "day",
    "nightly": "day",
    "daily": "day",
    "morning": "day",
    "evening": "day",
    "hourly": "hour",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
_YEAR, _BEFORE_A_YEAR = re.compile(r"(?:19|20)\d\d"), ("in", "since", "until", "by", "")
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9-]{2,}$")


@dataclass(slots=True)
class Said:
    """A sentence as the rules read it.

    `about` are the words of what it speaks of, in their order; `values` the values by their kind
    ("date", "time of day", "span", or a number with its noun); `denials` counts the words that
    deny; `names` are words with a capital letter inside it.
    """

    text: str
    about: list[str] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)
    denials: int = 0
    names: set[str] = field(default_factory=set)
    first: str = ""

    def value(self, kind: str, value: str) -> None:
        """Note a value of a kind."""
        self.values.setdefault(kind, set()).add(value)


def sentences(text: str) -> list[str]:
    """The first sentences of a text."""
    return [each.strip() for each in _SENTENCE.split(text[:MAX_LENGTH]) if each.strip()][
        :MAX_SENTENCES
    ]


def normalized(text: str) -> str:
    """A text in lower case, with its words alone."""
    return " ".join(re.findall(r"\w+", text.casefold()))


# -- reading a sentence ----------------------------------------------------------------------------


@lru_cache(maxsize=READ_AGAIN)
def read(text: str) -> Said:
    """Read a sentence: what it speaks of, and its values. The same sentence gives the same object,
    which nobody changes.
    """
    sentence = Said(text)
    for often in _OFTEN.finditer(text):
        named = (often["each"] or often["ly"]).lower()
        sentence.value("how often", _OFTEN_IS.get(named, named))
    rest = re.sub(
        r"\b(?:open|opened) (?:until|till)\b", "closes at", _OFTEN.sub(" ", text), flags=re.I
    )
    rest = re.sub(
        r"\b(?:no longer|any ?more)\b",
        lambda match: "not" if match[0].lower() == "no longer" else " ",
        rest,
        flags=re.I,
    )
    tokens = [match.replace("\u2019", "'") for match in TOKEN.findall(rest)]
    at = 0
    while at < len(tokens):
        at += _read_token(sentence, tokens, at)
    if tokens:
        sentence.first = stem(tokens[0].casefold())
    return sentence


def _read_token(sentence: Said, tokens: Sequence[str], at: int) -> int:
    """Read one token, or a number with its unit, or a date; returns how many tokens were read."""
    token = tokens[at]
    word = token.casefold()
    following = tokens[at + 1].casefold() if at + 1 < len(tokens) else ""
    before = tokens[at - 1].casefold() if at else ""
    number = _number(word)
    if word in _MONTHS and (token[0].isupper() or word != "may"):
        sentence.value("date", stem(word))
    elif stem(word) in _DAYS or word in _DAYS:
        sentence.value("weekday", stem(word))
    elif word in _RANKS or re.fullmatch(r"\d+(?:st|nd|rd|th)", word):
        sentence.value("date", str(_RANKS[word]) if word in _RANKS else word[:-2])
    elif number is not None:
        return _read_number(sentence, number, word, before=before, following=following)
    elif word in _NEGATIONS or word.endswith("n't"):
        sentence.denials += 1
    elif _CODE.fullmatch(word):
        sentence.value(f"code after {stem(before)}", word)
    elif word not in _STOP and word not in _LIGHT:
        sentence.about.append(stem(word))
        if token[0].isupper() and at:
            sentence.names.add(stem(word))
    elif word in ("to", "from") and following and tokens[at + 1][0].isupper():
        sentence.about.append(f"{word} {stem(following)}")
    return 1


def _read_number(sentence: Said, number: float, word: str, *, before: str, following: str) -> int:
    """Read a number by what stands around it: a time of day, a day of a month, a year, a span, or
    so many of something.
    """
    unit = stem(following)
    if ":" in word or following in ("am", "pm", "o'clock"):
        sentence.value("time of day", word if ":" in word else f"{word} {following}")
        return 1 if ":" in word else 2
    if (
        re.fullmatch(r"\d{4}-\d\d-\d\d", word)
        or following in _MONTHS
        or before in _MONTHS
        or (_YEAR.fullmatch(word) and before in _BEFORE_A_YEAR)
    ):
        sentence.value("date", word)
    elif unit in SPANS:
        sentence.value("span", f"{number * SPANS[unit]:g}")
        return 2
    else:
        plain = (
            following
            and following not in _STOP
            and following not in _LIGHT
            and _number(following) is None
        )
        sentence.value(f"number of {unit}" if plain else "number", f"{number:g}")
    return 1


def _number(word: str) -> float | None:
    if word in _NUMBERS:
        return float(_NUMBERS[word])
    digits = word.replace(",", "")
    match = re.match(r"[0-9]+(?:\.[0-9]+)?", digits)
    return float(match[0]) if match else None


@lru_cache(maxsize=STEMS_AGAIN)
def stem(word: str) -> str:
    """A word without the ending of a plural, a past or a present form: enough to know it again."""
    bare = word.removesuffix("'s").removesuffix("'")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 6), ("s", 4), ("d", 5)):
        if bare.endswith(ending) and len(bare) >= least and not bare.endswith("ss"):
            cut = bare[: -len(ending)]
            if ending == "es" and not cut.endswith(("s", "x", "z", "ch", "sh")):
                cut += "e"
            return cut + "y" if ending == "ies" else cut
    return bare


def alike(one: str, other: str) -> bool:
    """True if two stems are of one word: equal, or one begins with the other, as in "time" and
    "timeout".
    """
    if len(one) > len(other):
        one, other = other, one
    return one == other or (len(one) >= 4 and other.startswith(one))
