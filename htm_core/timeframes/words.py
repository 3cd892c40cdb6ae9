"""The words of the time grammar, and splitting a text into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .calendar import Unit

Kind = Literal["word", "number", "ordinal", "iso", "duration", "sign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word, number or sign: `text` in lower case, `raw` as written, and its place in the whole
    text.
    """

    kind: Kind
    text: str
    raw: str
    start: int
    stop: int


WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed weds",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
MONTH_NAMES = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
# By their first month: the meteorological seasons of the northern hemisphere.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
QUARTERS = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
HALVES = {"h1": 1, "h2": 2}
# Hours of the local clock; a night ends on the next day.
PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
PARTS_IN_PLURAL = {f"{name}s": hours for name, hours in PARTS.items()}
_UNIT_NAMES: dict[Unit, str] = {
    "second": "second seconds sec secs",
    "minute": "minute minutes min mins",
    "hour": "hour hours hr hrs h",
    "day": "day days d",
    "week": "week weeks wk wks w",
    "weekend": "weekend weekends",
    "month": "month months mo",
    "quarter": "quarter quarters",
    "year": "year years yr yrs y",
    "decade": "decade decades",
}
FORTNIGHTS = ("fortnight", "fortnights")  # two weeks
UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {
    word: number for number, word in enumerate(f"{_ONES} eighteen nineteen".split(), start=1)
}
TENS = {word: 10 * number for number, word in enumerate(_TENS.split(), start=2)}
NUMBERS |= TENS
_RANKS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
ORDINALS = {word: number for number, word in enumerate(_RANKS.split(), start=1)}
MANY = {"dozen": 12, "hundred": 100}
FEW = 3
WEEKDAYS_IN_PLURAL = {
    f"{name}s": number for name, number in WEEKDAYS.items() if name.endswith("day")
}
# "the nineties", and "1990s" or "90s" in digits
DECADES = {word[:-1] + "ies": number for word, number in TENS.items()}
DECADE_IN_DIGITS = re.compile(r"(?:1[0-9]|20)?[0-9]0s")

# No repetition contains another, so matching takes linear time.
_TOKEN = re.compile(
    r"""
    (?P<iso> (?<!\w) [0-9]{4}-[0-9]{2}-[0-9]{2}
             (?: T[0-9]{2}(?!:)(?:Z|[+-][0-9]{2}:?[0-9]{2})?
               | [T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)? (?: Z | [+-][0-9]{2}(?::?[0-9]{2}){0,2} )? )? (?!\w)
           | (?<!\w) [0-9]{4}-(?: W[0-9]{2}(?:-[1-7])? | Q[1-4] | [0-9]{2} ) (?!\w) )
  | (?P<duration> (?<!\w) P(?=[0-9]|T[0-9]) (?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+W)?(?:[0-9]+D)?
                  (?: T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)? )? (?!\w) )
  | (?P<meridiem> (?<![^\W0-9_]) [ap]\.m\b\.? )
  | (?P<word> \w+ (?: ['\u2019]s\b )? )
  | (?P<sign> \.\. | \S )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ABBREVIATIONS = frozenset(
    {*MONTH_NAMES, *WEEKDAYS} - {"march", "april", "may", "june", "july", "august"}
)
_COMPACT = re.compile(r"([0-9]+)([a-z]+)")


def tokens(text: str) -> list[Token]:
    """Split a text into words, numbers, dates and signs; spaces, a possessive 's and the dot of
    "Jan." are dropped.
    """
    pieces: list[Token] = []
    for match in _TOKEN.finditer(text):
        if (
            match.group() == "."
            and pieces
            and pieces[-1].stop == match.start()
            and pieces[-1].text in _ABBREVIATIONS
        ):
            pieces[-1] = _dotted(pieces[-1])
        elif match.lastgroup == "meridiem":
            pieces.append(_made("word", f"{match.group()[0]}m", match.start(), match.end()))
        elif match.lastgroup == "word":
            pieces.extend(_words(match))
        else:
            pieces.append(_token(match, match.lastgroup))  # type: ignore[arg-type]  # the groups are named for the kinds
    return _with_thousands(text, pieces)


def _with_thousands(text: str, pieces: list[Token]) -> list[Token]:
    """Make one number of "1,000" and of "1 000" where a unit of time follows."""
    joined: list[Token] = []
    place = 0
    while place < len(pieces):
        end = _end_of_thousands(text, pieces, place)
        if end > place + 1 and end < len(pieces) and pieces[end].text in UNITS:
            digits = "".join(token.text for token in pieces[place:end] if token.kind == "number")
            start, stop = pieces[place].start, pieces[end - 1].stop
            joined.append(
                Token(kind="number", text=digits, raw=text[start:stop], start=start, stop=stop)
            )
            place = end
        else:
            joined.append(pieces[place])
            place += 1
    return joined


def _end_of_thousands(text: str, pieces: list[Token], place: int) -> int:
    """Where a number that is written in groups of three digits ends; the groups are joined by one
    sign throughout.
    """
    first = pieces[place]
    end = place + 1
    if first.kind != "number" or len(first.text) > 3 or first.text[0] == "0":
        return end
    if place and (pieces[place - 1].kind == "number" or pieces[place - 1].text in MONTH_NAMES):
        return end
    comma = end < len(pieces) and pieces[end].text == ","
    while end + comma < len(pieces):
        group = pieces[end + comma]
        between = text[pieces[end - 1].stop : group.start]
        if (
            group.kind != "number"
            or len(group.text) != 3
            or not (between == "," if comma else between.isspace())
        ):
            break
        end += 1 + comma
    return end


def _dotted(token: Token) -> Token:
    return Token(
        kind=token.kind, text=token.text, raw=token.raw, start=token.start, stop=token.stop + 1
    )


def _token(match: re.Match[str], kind: Kind) -> Token:
    return Token(
        kind=kind,
        text=match.group().lower(),
        raw=match.group(),
        start=match.start(),
        stop=match.end(),
    )


def _words(match: re.Match[str]) -> Iterator[Token]:
    raw = re.sub(r"['\u2019][sS]$", "", match.group())
    compact = _COMPACT.fullmatch(raw.lower())
    if compact is None:
        yield _made(
            "number" if raw.isascii() and raw.isdigit() else "word", raw, match.start(), match.end()
        )
    elif compact[2] in ("st", "nd", "rd", "th"):
        yield _made("ordinal", compact[1], match.start(), match.end())
    elif compact[2] in UNITS or compact[2] in ("am", "pm"):  # "24h" and "3pm" are two words
        middle = match.start() + len(compact[1])
        yield _made("number", compact[1], match.start(), middle)
        yield _made("word", compact[2], middle, match.end())
    else:
        yield _made("word", raw, match.start(), match.end())


def _made(kind: Kind, raw: str, start: int, stop: int) -> Token:
    return Token(kind=kind, text=raw.lower(), raw=raw, start=start, stop=stop)
