"""Times as people write them: "last week", "since March", "between 1 and 15 January"."""

from .calendar import Calendar, WeekStart
from .parse import parse
from .questions import extract, extract_filter, times_in
from .times import (
    day_in_words,
    expiry_of,
    holds_in_words,
    latest_span,
    length_for,
    one_span,
    share_left,
    short_day,
)
from .validity import find_validity, read_validity

__all__ = [
    "Calendar",
    "WeekStart",
    "day_in_words",
    "expiry_of",
    "extract",
    "extract_filter",
    "find_validity",
    "holds_in_words",
    "latest_span",
    "length_for",
    "one_span",
    "parse",
    "read_validity",
    "share_left",
    "short_day",
    "times_in",
]
