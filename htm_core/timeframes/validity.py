"""When a statement holds, by its own words: "since May", "until Friday", "from 2021 to 2023".

Precision comes first. What is not surely a span of validity is left alone: "since" that gives a
reason, weekdays that come every week, hours, deadlines, questions, texts of many sentences.
docs/why/times.md has the rules and what they were tried on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..base.types import Window
from .calendar import (
    CLOCK,
    ONE_DAY,
    Calendar,
    Cycle,
    Duration,
    Feast,
    Weekly,
    Yearly,
    earliest_from,
    latest_begun,
)
from .cursor import Cursor, ParsedTime, first_day, first_fitting, whole_days
from .lengths import length
from .relative import now, relative
from .sentences import ANY_DIGIT, LONGEST, may_name_a_time
from .words import NUMBERS, UNITS, Token, tokens

MOST_SENTENCES = 3  # of a text that has one validity
MOST_LETTERS = 500

_SINCE = ("ever since", "since")
_FROM = (
    "starting from", "starting on", "starting in", "starting", "beginning on", "beginning in",
    "beginning", "as from", "as of", "effective from", "effective as of", "effective",
)  # fmt: skip
_UNTIL = ("up until", "until", "till", "through")
_TO = ("to", "until", "till", "through", "\u2013", "-")
_OPENERS = frozenset(words.split()[0] for words in (*_SINCE, *_FROM, *_UNTIL, "from", "for"))
_OPENING = re.compile(r"\b(?:" + "|".join(sorted(_OPENERS)) + r")\b", re.IGNORECASE)
_ENDS = ("the end of", "end of", "the close of")
_BEGINNINGS = ("the beginning of", "the start of", "beginning of", "start of")

# What may follow a span inside a sentence, beside a sign and a name: the clause that it belongs to.
# Whatever else follows ("since Monday is", "since 2000 people", "since June left") makes something
# else of it.
_FOLLOWED_BY = frozenset(
    {
        "i", "you", "he", "she", "it", "we", "they", "my", "your", "his", "her", "its", "our",
        "their", "the", "a", "an", "this", "these", "there", "here", "and", "but", "or", "so",
        "because", "when", "while", "as", "at", "in", "on", "with", "for", "after", "before",
        "only", "please", "due", "inclusive", "included", "nobody", "everybody", "everyone", "all",
        "no", "to", "by", "then", "though", "where", "who", "which", "unless", "if", "i'm", "we're",
        "ill", "too", "already", "instead",
    }
)  # fmt: skip
# Before "until" and "through": what waits for a time, counts to it or moves through it says nothing
# of how long something holds.
_NOT_BEFORE_UNTIL = frozenset(
    {
        "not", "n't", "long", "down", "counting", "sleeps", "halfway", "half", "midway", "partway",
        "part", "way", "right", "go", "goes", "going", "went", "get", "got", "getting", "look",
        "looked", "read", "mid", "left", "you", "goodbye", "bye", "back",
    }
)  # fmt: skip
# Anywhere before "until": what is put off happens then.
_PUT_OFF = frozenset(
    {
        "postponed", "postpone", "postponing", "delayed", "delay", "deferred", "defer", "pushed",
        "push", "rescheduled", "reschedule", "adjourned", "moved", "move", "wait", "waits",
        "waited", "waiting", "countdown", "remind", "snooze", "save", "saved",
    }
)  # fmt: skip
_NOT_BEFORE_STARTING = frozenset(
    {
        "am",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "m",
        "re",
        "s",
        "i",
        "we",
        "he",
        "she",
        "they",
        "not",
        "start",
        "new",
    }
)
_NOT_BEFORE_FROM = frozenset(
    {
        "grew", "grow", "grows", "rose", "rise", "rises", "increased", "increase", "fell",
        "dropped", "went", "go", "goes", "ranges", "ranging", "range", "changed", "moved",
        "improved", "jumped", "email", "letter", "photo", "photos", "data", "report", "news",
        "back", "mail", "message", "different", "far", "away", "quote", "song", "version",
    }
)  # fmt: skip
_PAST = frozenset(
    {
        "was", "were", "wasn", "weren", "had", "hadn", "did", "didn", "used", "went", "held", "ran",
        "kept", "taught", "spent", "slept", "led", "grew", "drove", "wrote", "sang", "knew",
        "thought", "felt", "paid", "sat", "stood", "sold", "built",
    }
)  # fmt: skip
_PRESENT = frozenset(
    {
        "am", "is", "are", "isn", "aren", "m", "re", "ll", "ve", "will", "won", "shall", "have",
        "has", "haven", "hasn", "can", "does", "doesn", "do", "don", "must", "should", "keep",
        "stay", "live", "work", "lives", "works", "stays",
    }
)  # fmt: skip
_NO_PAST = frozenset(
    {
        "need",
        "feed",
        "speed",
        "bed",
        "red",
        "indeed",
        "breed",
        "seed",
        "shed",
        "wed",
        "hundred",
        "agreed",
        "ted",
    }
)
# What was done before a time that it sets: "we booked a flat from 25 July to 8 August" tells of a
# July to come.
_SETS_A_TIME = frozenset(
    {
        "booked", "reserved", "planned", "scheduled", "arranged", "decided", "invited", "promised",
        "offered", "granted", "approved", "confirmed", "registered", "enrolled", "extended",
        "prolonged", "renewed", "announced", "expected", "requested",
    }
)  # fmt: skip
_ASKING = frozenset(
    {
        "who", "what", "when", "where", "why", "how", "which", "whose", "is", "are", "was", "were",
        "do", "does", "did", "can", "could", "will", "would", "should", "has", "have", "had", "if",
        "suppose", "imagine", "am",
    }
)  # fmt: skip
_YEAR = re.compile(r"\b\d{4}\b")
_NAMES = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"(?<![.!?])[.!?]++(?=\s|$)|\n+")


@dataclass(frozen=True, slots=True)
class Validity:
    """When a statement holds, and the words that say so."""

    window: Window
    words: str


def find_validity(text: str, calendar: Callable[[], Calendar]) -> Validity | None:
    """When a text holds that was said at the calendar's now; None unless it says so once, and
    clearly.

    The calendar is only asked for where the text may name a time.
    """
    if (
        len(text) > MOST_LETTERS
        or not _OPENING.search(text)
        or not may_name_a_time(text, digits=ANY_DIGIT)
    ):
        return None
    sentences = _sentences(text)
    if not sentences or len(sentences) > MOST_SENTENCES or sentences[-1].rstrip().endswith("?"):
        return None
    at = calendar()
    spans = [each for sentence in sentences for each in _spans(sentence, at)]
    return spans[0] if len(spans) == 1 else None


def read_validity(text: str, calendar: Calendar) -> Window | None:
    """A text that is a span of validity and nothing else, such as "until Friday"; None where it is
    something else.
    """
    words = tokens(text.strip().rstrip("."))
    if not words:
        return None
    try:
        cursor = Cursor(words, calendar=calendar, in_sentence=True)
        window = _span(cursor, past=False)
    except (ValueError, OverflowError):
        return None
    return window if cursor.at_end else None


def _sentences(text: str) -> list[str]:
    """The sentences of a text, each with the sign that ends it."""
    sentences, start = [], 0
    for end in _SENTENCE.finditer(text):
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [each for each in sentences if _NAMES.search(each)]


def _spans(sentence: str, calendar: Calendar) -> Iterator[Validity]:
    """The spans of validity of one sentence."""
    words = tokens(sentence)
    if not words or sentence.endswith("?") or words[0].text in _ASKING:
        return
    past, end = _is_past(words), 0
    for place, word in enumerate(words):
        if place < end or word.text not in _OPENERS or not _may_open(words, place):
            continue
        reach = words[place : place + LONGEST]
        cursor = Cursor(reach, calendar=calendar, in_sentence=True)
        try:
            window = _span(cursor, past=past)
        except (ValueError, OverflowError):
            continue
        if window is None and word.text == "from":
            # of "from October until March" no part is a span
            end = place + _length_of_both_ends(reach, calendar)
        if (
            window is None
            or not _may_follow(words, place + cursor.place)
            or "\u2019" in _last(sentence, cursor)
        ):
            continue  # "since Friday's meeting"
        if not past and window.start is None and cursor.last().text == "now":
            continue  # "we have earned 450 until now" counts, and ends nothing
        end = place + cursor.place
        written = sentence[word.start : cursor.last().stop].rstrip(".")
        if not _lacks_a_year(cursor, written):
            yield Validity(window, written)


def _lacks_a_year(cursor: Cursor, written: str) -> bool:
    """True if a span that was read has a date that comes every year, and no year: "open until 31
    March" may be of each.
    """
    read = [time for time, end in cursor.times.values() if time is not None and end <= cursor.place]
    return any(isinstance(time.cycle, Yearly | Feast) for time in read) and not _YEAR.search(
        written
    )


def _length_of_both_ends(words: Sequence[Token], calendar: Calendar) -> int:
    """The number of words of "from", a time, "until" and a time; 0 where they are
    something else.
    """
    cursor = Cursor(words, calendar=calendar, in_sentence=True)
    try:
        both = (
            cursor.take("from")
            and _endpoint(cursor, "from")
            and cursor.take(*_TO)
            and _endpoint(cursor, "until")
        )
    except (ValueError, OverflowError):
        return 0
    return cursor.place if both else 0


def _is_past(words: Sequence[Token]) -> bool:
    """True if a sentence tells of the past: "I lived there until May" is over, "I live there until
    May" is not.

    Nor is what only sets a time: "we booked it until May".
    """
    texts = {word.text for word in words}
    if texts & _PRESENT or any(
        word.raw.lower().endswith(("'ll", "'ve", "'m", "'re")) for word in words
    ):
        return False
    ended = (
        {text for text in texts if len(text) > 3 and text.endswith("ed")} - _NO_PAST - _SETS_A_TIME
    )
    return bool(ended or texts & _PAST)


def _may_open(words: Sequence[Token], place: int) -> bool:
    """True if a span may begin at a word, after the word before it."""
    before = words[place - 1] if place else None
    if before is None or before.kind == "sign":
        return before is None or before.text not in ("'", "\u2019", "$", "-")
    text, opener = before.text, words[place].text
    if opener in ("until", "till", "through", "up"):
        if not _PUT_OFF.isdisjoint(word.text for word in words[:place]):
            return False
        return not (text in _NOT_BEFORE_UNTIL or text in UNITS or text in NUMBERS)
    if opener == "from":
        return text not in _NOT_BEFORE_FROM
    if opener in ("starting", "beginning", "effective"):
        return text not in _NOT_BEFORE_STARTING
    return not (opener == "since" and text in ("long", "not"))


def _last(sentence: str, cursor: Cursor) -> str:
    """The last word of a span as it is written, with typographic apostrophes."""
    last = cursor.last()
    return sentence[last.start : last.stop].replace("'", "\u2019")


def _may_follow(words: Sequence[Token], end: int) -> bool:
    """True if a span may be followed by what stands after it."""
    if end >= len(words):
        return True
    after = words[end]
    if after.kind != "word":
        return after.text in (",", ".", "!", ";", ":", ")", "\u2014", "\u2013")
    return after.text in _FOLLOWED_BY or (after.raw[:1].isupper() and not after.raw.isupper())


def _span(cursor: Cursor, *, past: bool) -> Window | None:
    return first_fitting(
        cursor,
        lambda cursor: _for_the_next(cursor, past=past),
        lambda cursor: _from_to(cursor, past=past),
        lambda cursor: _from_on(cursor, past=past),
        lambda cursor: _since(cursor, past=past),
        lambda cursor: _until(cursor, past=past),
    )


def _window(start: datetime | None, stop: datetime | None) -> Window | None:
    if (start is None and stop is None) or (
        start is not None and stop is not None and start >= stop
    ):
        return None
    return Window(start=start, stop=stop)


def _for_the_next(cursor: Cursor, *, past: bool) -> Window | None:
    """Read "for the next two weeks", "for the rest of the month"."""
    calendar = cursor.calendar
    if past or not cursor.take("for the"):
        return None
    if cursor.take("rest of the", "rest of this", "remainder of the"):
        unit = cursor.unit()
        if unit is None or unit in CLOCK:
            return None
        return _window(calendar.now, calendar.at(calendar.unit(unit, calendar.today).stop))
    if not cursor.take("next", "coming", "following"):
        return None
    span = length(cursor)
    if span is not None:
        return _window(calendar.now, calendar.shift(calendar.now, span.duration))
    unit = cursor.unit()
    return (
        None
        if unit is None
        else _window(calendar.now, calendar.shift(calendar.now, Duration.of(1, unit)))
    )


def _from_to(cursor: Cursor, *, past: bool) -> Window | None:
    """Read "from 2021 to 2023", "from 3 May until 10 June". What comes every week or every year is
    no span.
    """
    if not cursor.take("from", *_FROM):
        return None
    left = _endpoint(cursor, "from")
    if left is None or not cursor.take(*_TO):
        return None
    right = _endpoint(cursor, "until")
    if (
        right is None
        or isinstance(left.cycle, Weekly)
        or (_is_month(left.cycle) and _is_month(right.cycle))
    ):
        return None
    calendar = cursor.calendar
    if left.cycle is not None and right.cycle is not None:
        first = latest_begun(left.cycle, calendar.today)
        last = None if first is None else earliest_from(right.cycle, first.first)
        if not past and last is not None and last.stop <= calendar.today and first is not None:
            first = earliest_from(left.cycle, first.stop)
            last = None if first is None else earliest_from(right.cycle, first.first)
        if first is None or last is None:
            return None
        return _window(calendar.at(first.first), calendar.at(last.stop))
    if left.cycle is not None:
        days = latest_begun(left.cycle, first_day(cursor, right))
        left = left if days is None else whole_days(cursor, days)
    elif right.cycle is not None:
        days = earliest_from(right.cycle, first_day(cursor, left))
        right = right if days is None else whole_days(cursor, days)
    return _window(left.start, right.stop)


def _from_on(cursor: Cursor, *, past: bool) -> Window | None:
    """Read "as of June", "starting next week", "from Monday on", perhaps with an end."""
    opener = cursor.take(*_FROM, "from")
    # "as of June the price was ..." measures once
    if not opener or (past and opener.startswith("as")):
        return None
    time = _endpoint(cursor, opener)
    if time is None or (opener == "from" and not cursor.take("onwards", "onward", "forward", "on")):
        return None
    start = _resolved(cursor, time, past=past)
    return (
        None
        if start is None or start.start is None
        else _window(start.start, _ceiling(cursor, past=past))
    )


def _since(cursor: Cursor, *, past: bool) -> Window | None:
    time = _endpoint(cursor, "since") if cursor.take(*_SINCE) else None
    if time is None or time.start is None or time.start > cursor.calendar.now:
        return None
    return _window(time.start, _ceiling(cursor, past=past))


def _until(cursor: Cursor, *, past: bool) -> Window | None:
    opener, place = cursor.take(*_UNTIL), cursor.place
    if not opener or (past and opener == "through"):  # "we drove through March"
        return None
    time = _endpoint(cursor, "until")
    resolved = None if time is None else _resolved(cursor, time, past=past)
    if resolved is None or resolved.stop is None:
        return None
    if (
        time is not None
        and isinstance(time.cycle, Weekly)
        and resolved.stop == _tomorrow(cursor.calendar)
    ):
        return None  # "until Friday", said on a Friday: in some hours, or in a week
    if not past and resolved.stop <= cursor.calendar.now and not cursor.has_digits(place):
        return None  # the past one of a time that repeats, such as "mid January"
    return _window(None, _without_days_after(cursor.calendar, time, resolved.stop))


def _without_days_after(calendar: Calendar, time: ParsedTime | None, stop: datetime) -> datetime:
    """The end of a time as of a feast that has days after the one with its name: of Christmas the
    end of the 25th.
    """
    if time is None or not isinstance(time.cycle, Feast) or not time.cycle.after:
        return stop
    return calendar.at(calendar.day(stop) - time.cycle.after * ONE_DAY)


def _tomorrow(calendar: Calendar) -> datetime:
    return calendar.at(calendar.unit("day", calendar.today).stop)


def _ceiling(cursor: Cursor, *, past: bool) -> datetime | None:
    """The end after a beginning: "since May until Friday"."""
    place = cursor.place
    cursor.take("and")
    time = _endpoint(cursor, "until") if cursor.take("until", "till", "through") else None
    resolved = None if time is None else _resolved(cursor, time, past=past)
    if resolved is None:
        cursor.place = place
        return None
    return (
        None if resolved.stop is None else _without_days_after(cursor.calendar, time, resolved.stop)
    )


def _endpoint(cursor: Cursor, word: str) -> ParsedTime | None:
    """One end of a span, which must clearly be a time after its word."""
    if cursor.take(*_ENDS):
        return first_fitting(cursor, _the_unit, relative)
    if cursor.take(*_BEGINNINGS):
        return first_fitting(cursor, _the_unit, relative)
    time = first_fitting(cursor, now, relative)
    usual = {"since": ("since",), "until": ("until", "since", "by")}.get(
        word, ("from", "since", "in", "on")
    )
    return (
        time if time is not None and (time.after is None or any(map(time.plain, usual))) else None
    )


def _the_unit(cursor: Cursor) -> ParsedTime | None:
    """Read "the month" in "the end of the month"."""
    unit = cursor.unit() if cursor.take("the", "this") else None
    if unit is None or unit in CLOCK:
        return None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today))


def _resolved(cursor: Cursor, time: ParsedTime, *, past: bool) -> ParsedTime | None:
    """The repetition that is meant of a time that repeats: the one that is not over yet, or of the
    past the latest.
    """
    if time.cycle is None or past:
        return time
    today = cursor.calendar.today
    days = next((days for days in time.cycle.around(today) if days.stop > today), None)
    return None if days is None else whole_days(cursor, days)


def _is_month(cycle: Cycle | None) -> bool:
    return not (cycle is None or (isinstance(cycle, Yearly) and cycle.day is not None))
