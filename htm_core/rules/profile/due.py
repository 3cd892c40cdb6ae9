"""The day by which something is to be done, by the words of a plan and the day on which it was said.

The grammar of timeframes reads times that lie behind: "Friday" is the last one. A plan lies ahead, so the same words are read
again from later days, until they name one that is not over yet.
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo

from ...errors import InvalidInput
from ..timeframes.parse import parse

# A time at the end of a plan, or in it.
_TIME = re.compile(
    r"(?:,\s*+|(?<!\s)\s++)?+\b(?P<how>by|before|until|till|on|at|no later than)?\s*+(?P<time>(?:the )?(?:end of (?:the|this) (?:week|month|year)|today|tonight|tomorrow(?: morning| afternoon| evening)?"
    r"|(?:this |next )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend)|(?:this|next) (?:week|month|year)"
    r"|\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d{4})?"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december) \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th)))\b",
    re.IGNORECASE,
)
_IN = re.compile(
    r"(?:,\s*+|(?<!\s)\s++)?+\b(?:in|within) (?P<count>a|an|one|two|three|four|five|six|\d{1,2}) (?P<unit>day|week|month)s?\b(?: from now| time)?",
    re.IGNORECASE,
)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LENGTHS = {"day": 1, "week": 7, "month": 30}
# How much later the words are read again: within a week, a month, a year.
_LATER = (0, 7, 31, 366)


def due_day(plan: str, *, at: datetime, timezone: tzinfo | None = None) -> tuple[date | None, str]:
    """The day by which a plan is due, None where it names none, and the plan without the time."""
    if found := _IN.search(plan):
        count = _COUNTS.get(found["count"].lower()) or int(found["count"])
        return _day(at, timezone) + timedelta(days=count * _LENGTHS[found["unit"].lower()]), _without(plan, found)
    for found in _TIME.finditer(plan):
        if not found["how"] and re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", found["time"], re.IGNORECASE):
            continue
        day = _ahead(found["time"], at=at, timezone=timezone)
        if day is not None:
            before = (found["how"] or "").lower() == "before"
            return day - timedelta(days=1) if before else day, _without(plan, found)
    return None, plan


def _ahead(words: str, *, at: datetime, timezone: tzinfo | None) -> date | None:
    today = _day(at, timezone)
    text = re.sub(r"^the (?=\d|end)", "", words.lower())
    phrase = f"the {text}" if re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", text) else text
    for days in _LATER:
        try:
            windows = parse(phrase, now=at + timedelta(days=days), timezone=timezone or at.tzinfo)
        except (InvalidInput, OverflowError):
            return None
        stop = windows[-1].stop if windows else None
        if stop is None:
            return None
        last = (stop - timedelta(microseconds=1)).astimezone(timezone or at.tzinfo).date()
        if last >= today:
            return last
    return None


def _day(at: datetime, timezone: tzinfo | None) -> date:
    return at.astimezone(timezone or at.tzinfo).date()


def _without(plan: str, found: re.Match[str]) -> str:
    left = " ".join((plan[: found.start()] + plan[found.end() :]).split()).strip(" ,")
    return re.sub(r" (?:for|on|by|at)$", "", left)
