"""What a timeframe means, and that one that is not understood is an error, never all of time."""

from __future__ import annotations

import ast
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from htm_core import timeframes
from htm_core.base.errors import InvalidInput
from htm_core.base.types import Window
from htm_core.timeframes.calendar import Calendar
from htm_core.timeframes.parse import parse
from htm_core.timeframes.phrases import AFTER, BEFORE, PREPOSITIONS, SINCE, TO, UNTIL
from htm_core.timeframes.questions import extract
from htm_core.timeframes.sentences import (
    ANCHORS,
    CONNECTORS,
    PLACES,
    READ,
    may_open,
    openings,
    places_of_times,
    read_words,
    times_at,
)
from htm_core.timeframes.words import MONTH_NAMES, NUMBERS, PARTS, SEASONS, UNITS, WEEKDAYS, tokens

BERLIN, NEW_YORK, KOLKATA = (
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kolkata"),
)
LAST_MINUTE = datetime(2026, 11, 20, 23, 58)  # a Friday
INSTANT = timedelta(microseconds=1)
NOW = "now"
OPEN = "open"
PAGE = Path(__file__).parents[2] / "docs" / "why" / "times.md"

# What is written, when it begins, when it is over.
TABLE = [
    # days
    ("today", "2026-11-20", "2026-11-21"),
    ("yesterday", "2026-11-19", "2026-11-20"),
    ("tomorrow", "2026-11-21", "2026-11-22"),
    ("the day before yesterday", "2026-11-18", "2026-11-19"),
    ("the day after tomorrow", "2026-11-22", "2026-11-23"),
    ("2 days before yesterday", "2026-11-17", "2026-11-18"),
    ("earlier today", "2026-11-20", NOW),
    ("later today", NOW, "2026-11-21"),
    ("recently", "2026-11-17T23:58", NOW),
    ("lately", "2026-11-17T23:58", NOW),
    # parts of days
    ("this morning", "2026-11-20T05:00", "2026-11-20T12:00"),
    ("this afternoon", "2026-11-20T12:00", "2026-11-20T18:00"),
    ("this evening", "2026-11-20T18:00", "2026-11-21"),
    ("tonight", "2026-11-20T18:00", "2026-11-21T06:00"),
    ("last night", "2026-11-19T18:00", "2026-11-20T06:00"),
    ("yesterday morning", "2026-11-19T05:00", "2026-11-19T12:00"),
    ("yesterday evening", "2026-11-19T18:00", "2026-11-20"),
    ("last friday night", "2026-11-13T18:00", "2026-11-14T06:00"),
    ("the morning of 7 May 2023", "2023-05-07T05:00", "2023-05-07T12:00"),
    # so long ago
    ("5 days ago", "2026-11-15", "2026-11-16"),
    ("0 days ago", "2026-11-20", "2026-11-21"),
    ("twenty days ago", "2026-10-31", "2026-11-01"),
    ("a couple of days ago", "2026-11-18", "2026-11-19"),
    ("a few days ago", "2026-11-16", "2026-11-19"),
    ("several days ago", "2026-11-16", "2026-11-19"),
    ("2 weeks ago", "2026-11-02", "2026-11-09"),
    ("two weeks ago", "2026-11-02", "2026-11-09"),
    ("a week ago", "2026-11-09", "2026-11-16"),
    ("several weeks ago", "2026-10-19", "2026-11-09"),
    ("2 weekends ago", "2026-11-07", "2026-11-09"),
    ("3 months ago", "2026-08-01", "2026-09-01"),
    ("two quarters ago", "2026-04-01", "2026-07-01"),
    ("a year ago", "2025-01-01", "2026-01-01"),
    ("an hour ago", "2026-11-20T22:28", "2026-11-20T23:28"),
    ("3 hours ago", "2026-11-20T20:28", "2026-11-20T21:28"),
    ("few hours ago", "2026-11-20T19:58", "2026-11-20T21:58"),
    ("a few hours ago", "2026-11-20T19:58", "2026-11-20T21:58"),
    ("20 minutes ago", "2026-11-20T23:33", "2026-11-20T23:43"),
    ("half an hour ago", "2026-11-20T23:20:30", "2026-11-20T23:35:30"),
    ("a minute ago", "2026-11-20T23:56:30", "2026-11-20T23:57:30"),
    # units of the calendar
    ("this week", "2026-11-16", "2026-11-23"),
    ("this month", "2026-11-01", "2026-12-01"),
    ("this quarter", "2026-10-01", "2027-01-01"),
    ("this year", "2026-01-01", "2027-01-01"),
    ("earlier this week", "2026-11-16", NOW),
    ("earlier this month", "2026-11-01", NOW),
    ("earlier this year", "2026-01-01", NOW),
    ("last week", "2026-11-09", "2026-11-16"),
    ("last week's", "2026-11-09", "2026-11-16"),
    ("from last week", "2026-11-09", "2026-11-16"),
    ("last month", "2026-10-01", "2026-11-01"),
    ("last quarter", "2026-07-01", "2026-10-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("next week", "2026-11-23", "2026-11-30"),
    ("next month", "2026-12-01", "2027-01-01"),
    ("the week before last", "2026-11-02", "2026-11-09"),
    ("the month before last", "2026-09-01", "2026-10-01"),
    ("the week of 7 May 2023", "2023-05-01", "2023-05-08"),
    ("the week before 9 June 2023", "2023-05-29", "2023-06-05"),
    # weekdays and weekends
    ("monday", "2026-11-16", "2026-11-17"),
    ("friday", "2026-11-20", "2026-11-21"),
    ("on friday", "2026-11-20", "2026-11-21"),
    ("Sat.", "2026-11-14", "2026-11-15"),
    ("last monday", "2026-11-16", "2026-11-17"),
    ("last friday", "2026-11-13", "2026-11-14"),
    ("this friday", "2026-11-20", "2026-11-21"),
    ("this sunday", "2026-11-22", "2026-11-23"),
    ("next tuesday", "2026-11-24", "2026-11-25"),
    ("next friday", "2026-11-27", "2026-11-28"),
    ("the friday before last", "2026-11-06", "2026-11-07"),
    ("the friday before 15 July 2023", "2023-07-14", "2023-07-15"),
    ("this weekend", "2026-11-21", "2026-11-23"),
    ("last weekend", "2026-11-14", "2026-11-16"),
    ("over the weekend", "2026-11-14", "2026-11-16"),
    ("the weekend before last", "2026-11-07", "2026-11-09"),
    ("monday or tuesday", "2026-11-16", "2026-11-18"),
    # so long until now
    ("last 5 days", "2026-11-15T23:58", NOW),
    ("in the last 5 days", "2026-11-15T23:58", NOW),
    ("last 30 days", "2026-10-21T23:58", NOW),
    ("the last few days", "2026-11-17T23:58", NOW),
    ("past 2 weeks", "2026-11-06T23:58", NOW),
    ("this past week", "2026-11-13T23:58", NOW),
    ("in the last week", "2026-11-13T23:58", NOW),
    ("previous 3 months", "2026-08-20T23:58", NOW),
    ("in the last 24 hours", "2026-11-19T23:58", NOW),
    ("last 24 hours", "2026-11-19T23:58", NOW),
    ("last 24h", "2026-11-19T23:58", NOW),
    ("last two hours", "2026-11-20T21:58", NOW),
    ("the last hour", "2026-11-20T22:58", NOW),
    ("next 3 days", "2026-11-20T23:58", "2026-11-23T23:58"),
    # since, before, after, until, by
    ("since monday", "2026-11-16", NOW),
    ("since last monday", "2026-11-16", NOW),
    ("since yesterday", "2026-11-19", NOW),
    ("since last week", "2026-11-09", NOW),
    ("since January", "2026-01-01", NOW),
    ("since 2026-01-01", "2026-01-01", NOW),
    ("since 2026-01-01T10:00", "2026-01-01T10:00", NOW),
    ("since 2 hours ago", "2026-11-20T21:58", NOW),
    ("from monday on", "2026-11-16", NOW),
    ("before last week", OPEN, "2026-11-09"),
    ("before 2 hours ago", OPEN, "2026-11-20T21:58"),
    ("prior to 2023", OPEN, "2023-01-01"),
    ("after yesterday", "2026-11-20", OPEN),
    ("until wednesday", OPEN, "2026-11-19"),
    ("by wednesday", OPEN, "2026-11-19"),
    ("after monday and before friday", "2026-11-17", "2026-11-20"),
    ("since monday but before thursday", "2026-11-16", "2026-11-19"),
    # ranges
    ("between 1 and 15 January", "2026-01-01", "2026-01-16"),
    ("between Jan 1 and Jan 15", "2026-01-01", "2026-01-16"),
    ("between the 1st and the 15th of January 2025", "2025-01-01", "2025-01-16"),
    ("Jan 1-15", "2026-01-01", "2026-01-16"),
    ("Jan 1 to 15, 2025", "2025-01-01", "2025-01-16"),
    ("1-15 January 2025", "2025-01-01", "2025-01-16"),
    ("Dec 20 to Jan 5", "2025-12-20", "2026-01-06"),
    ("between monday and friday", "2026-11-16", "2026-11-21"),
    ("from monday to friday", "2026-11-16", "2026-11-21"),
    ("Monday to Friday", "2026-11-16", "2026-11-21"),
    ("Mon - Fri", "2026-11-16", "2026-11-21"),
    ("Monday – Friday", "2026-11-16", "2026-11-21"),  # noqa: RUF001  # a dash that people type
    ("between monday and yesterday", "2026-11-16", "2026-11-20"),
    ("between last week and yesterday", "2026-11-09", "2026-11-20"),
    ("from 2 weeks ago until yesterday", "2026-11-02", "2026-11-20"),
    ("2020-2022", "2020-01-01", "2023-01-01"),
    ("from January 2026 to now", "2026-01-01", NOW),
    ("Jan 2024 to March", "2024-01-01", "2024-04-01"),
    # dates
    ("January", "2026-01-01", "2026-02-01"),
    ("december", "2025-12-01", "2026-01-01"),
    ("January 2026", "2026-01-01", "2026-02-01"),
    ("Jan. 2026", "2026-01-01", "2026-02-01"),
    ("in May", "2026-05-01", "2026-06-01"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("last January", "2026-01-01", "2026-02-01"),
    ("next January", "2027-01-01", "2027-02-01"),
    ("the 7th of May 2023", "2023-05-07", "2023-05-08"),
    ("7 May 2023", "2023-05-07", "2023-05-08"),
    ("7 May, 2023", "2023-05-07", "2023-05-08"),
    ("May 7, 2023", "2023-05-07", "2023-05-08"),
    ("Sunday, May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("May 7", "2026-05-07", "2026-05-08"),
    ("first of May", "2026-05-01", "2026-05-02"),
    ("on the 7th", "2026-11-07", "2026-11-08"),
    ("the 31st", "2026-10-31", "2026-11-01"),
    ("29 February", "2024-02-29", "2024-03-01"),
    ("2023", "2023-01-01", "2024-01-01"),
    ("in the year 2023", "2023-01-01", "2024-01-01"),
    ("Q3 2025", "2025-07-01", "2025-10-01"),
    ("2025 Q3", "2025-07-01", "2025-10-01"),
    ("q3", "2026-07-01", "2026-10-01"),
    ("the third quarter of 2025", "2025-07-01", "2025-10-01"),
    ("the summer of 2022", "2022-06-01", "2022-09-01"),
    ("last summer", "2026-06-01", "2026-09-01"),
    ("last autumn", "2025-09-01", "2025-12-01"),
    ("winter 2022", "2022-12-01", "2023-03-01"),
    ("early May", "2026-05-01", "2026-05-11"),
    ("mid-May", "2026-05-11", "2026-05-22"),
    ("late May 2023", "2023-05-22", "2023-06-01"),
    ("at the beginning of 2023", "2023-01-01", "2023-05-03"),
    ("the end of last month", "2026-10-22", "2026-11-01"),
    # ISO 8601
    ("2026-01-15", "2026-01-15", "2026-01-16"),
    ("2026-01-15T10:00", "2026-01-15", "2026-01-16"),
    ("2026-01", "2026-01-01", "2026-02-01"),
    ("2025-Q3", "2025-07-01", "2025-10-01"),
    ("2026-W05", "2026-01-26", "2026-02-02"),
    ("2026-W05-3", "2026-01-28", "2026-01-29"),
    ("2026-01-01/2026-01-15", "2026-01-01", "2026-01-16"),
    ("2026-01-01..2026-01-15", "2026-01-01", "2026-01-16"),
    ("2026-01-01T10:00/2026-01-01T12:00", "2026-01-01T10:00", "2026-01-01T12:00"),
    ("2026-01/2026-03", "2026-01-01", "2026-04-01"),
    ("P7D/2026-01-15", "2026-01-09", "2026-01-16"),
    ("2026-01-01/P7D", "2026-01-01", "2026-01-08"),
    ("2026-01-31/P1M", "2026-01-31", "2026-02-28"),
    ("P7D", "2026-11-13T23:58", NOW),
    ("PT36H", "2026-11-19T11:58", NOW),
    ("2026-01-01/..", "2026-01-01", OPEN),
    ("../2026-01-01", OPEN, "2026-01-02"),
    # however it is typed
    ("  LAST   Week ", "2026-11-09", "2026-11-16"),
]

NOT_UNDERSTOOD = [
    "", "   ", "foo", "now", "auto", "hanukkah", "yesterday at 5", "01/02/2026", "1/15/26", "13/13/2026", "5", "-5 days ago",
    "last 0 days", "the seventh week of May", "the 1995s", "last week please", "\x00",
    "\uff12\uff10\uff12\uff13",
    "2026-02-30", "30 February", "Feb 29 2025", "the 32nd", "0 May", "2026-13", "2026-W60", "2026-01-15T25:00",
    "Monday 7 May 2023", "between Jan 15 and Jan 1", "between 15 and 1 January", "2026-01-15/2026-01-01", "2022-2020",
    "since 2027", "since tomorrow", "from today to last week", "P0D", "9999-12-31", "999999999 days ago",
    "last 999999999 years", "last 99999999999999999999 days", "before monday or after tuesday", "last week " * 40,
]  # fmt: skip


def at(text: str, *, now: datetime) -> datetime | None:
    """A local time of the table, in the zone of now; a window that ends now includes now."""
    if text == OPEN:
        return None
    return now if text == NOW else datetime.fromisoformat(text).replace(tzinfo=now.tzinfo)


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, KOLKATA, UTC], ids=str)
@pytest.mark.parametrize(("text", "start", "stop"), TABLE, ids=[row[0] for row in TABLE])
def test_a_phrase_means_what_a_person_means(
    text: str, start: str, stop: str, zone: ZoneInfo
) -> None:
    now = LAST_MINUTE.replace(tzinfo=zone)
    until = at(stop, now=now)
    if stop == NOW:
        until = now + INSTANT
    assert parse(text, now=now) == (Window(start=at(start, now=now), stop=until),)


def test_the_page_that_explains_timeframes_tells_the_truth() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    rows = [
        line.strip("| \n").split(" | ")
        for line in PAGE.read_text().splitlines()
        if line.startswith("| ")
    ][1:]
    assert len(rows) > 50
    for written, *_, shown in rows:
        assert parse(written, now=now) == parse(shown, now=now), written


@pytest.mark.parametrize("text", NOT_UNDERSTOOD, ids=lambda text: repr(text[:30]))
def test_what_is_not_understood_says_what_came_and_what_would_be(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(text, now=LAST_MINUTE.replace(tzinfo=BERLIN))
    assert repr(text)[:60] in str(refused.value)
    assert '"between 1 and 15 January"' in str(refused.value)


def test_what_ends_now_includes_what_was_said_at_this_very_moment() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    for text in ("last 5 days", "since monday", "earlier today", "recently", "from 2020 to now"):
        (window,) = parse(text, now=now)
        assert window.stop is not None
        assert window.stop > now


def test_weeks_begin_on_sunday_where_they_do() -> None:
    now = datetime(2026, 11, 22, 12, tzinfo=NEW_YORK)  # a Sunday

    def days(text: str) -> tuple[Window, ...]:
        return parse(text, now=now, week_start="sunday")

    assert days("this week") == parse("2026-11-22/2026-11-28", now=now)
    assert days("last week") == parse("2026-11-15/2026-11-21", now=now)
    assert days("two weeks ago") == parse("2026-11-08/2026-11-14", now=now)
    assert days("this monday") == parse("2026-11-23", now=now)
    assert parse("this week", now=now) == parse("2026-11-16/2026-11-22", now=now)
    assert parse("this monday", now=now) == parse("2026-11-16", now=now)


def test_a_weekend_is_saturday_and_sunday_whatever_weeks_begin_with() -> None:
    saturday = datetime(2026, 11, 21, 9, tzinfo=BERLIN)
    for start in ("monday", "sunday"):
        assert parse("this weekend", now=saturday, week_start=start) == parse(
            "2026-11-21/2026-11-22", now=saturday
        )
        assert parse("last weekend", now=saturday, week_start=start) == parse(
            "2026-11-14/2026-11-15", now=saturday
        )


def test_the_zone_decides_which_day_it_is() -> None:
    now = datetime(2026, 11, 20, 23, 58, tzinfo=UTC)  # already Saturday in Berlin
    assert parse("today", now=now) == (
        Window(start=datetime(2026, 11, 20, tzinfo=UTC), stop=datetime(2026, 11, 21, tzinfo=UTC)),
    )
    assert parse("today", now=now, timezone=BERLIN) == (
        Window(
            start=datetime(2026, 11, 21, tzinfo=BERLIN), stop=datetime(2026, 11, 22, tzinfo=BERLIN)
        ),
    )


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        (BERLIN, date(2026, 3, 29), 23),
        (BERLIN, date(2026, 10, 25), 25),
        (NEW_YORK, date(2026, 3, 8), 23),
        (NEW_YORK, date(2026, 11, 1), 25),
        (ZoneInfo("America/Sao_Paulo"), date(2018, 11, 4), 23),  # its midnight does not exist
        (ZoneInfo("America/Havana"), date(2026, 11, 1), 25),  # its midnight comes twice
    ],
    ids=lambda value: str(value),
)
def test_a_day_is_a_calendar_day_when_the_clocks_change(
    zone: ZoneInfo, day: date, hours: int
) -> None:
    later = datetime(day.year, day.month, day.day, 12, tzinfo=zone) + timedelta(days=1)
    (yesterday,) = parse("yesterday", now=later)
    (before,) = parse("the day before yesterday", now=later)
    (today,) = parse("today", now=later)
    assert length(yesterday) == timedelta(hours=hours)
    assert before.stop == yesterday.start
    assert yesterday.stop == today.start


def test_24_hours_elapse_but_a_day_is_the_same_time_on_the_wall() -> None:
    now = datetime(2026, 10, 25, 20, tzinfo=BERLIN)  # the clocks went back this morning
    (hours,) = parse("last 24 hours", now=now)
    (days,) = parse("last 1 day", now=now)
    assert hours.start == datetime(2026, 10, 24, 21, tzinfo=BERLIN)
    assert days.start == datetime(2026, 10, 24, 20, tzinfo=BERLIN)
    assert length(hours) == timedelta(hours=24) + INSTANT
    assert length(days) == timedelta(hours=25) + INSTANT


def test_the_hour_that_comes_twice_is_told_apart() -> None:
    now = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)
    (window,) = parse("since 2026-10-25T02:15+02:00", now=now)
    assert window.start == datetime(2026, 10, 25, 0, 15, tzinfo=UTC)
    assert length(window) == timedelta(minutes=75) + INSTANT


@pytest.mark.parametrize(
    ("now", "text", "same"),
    [
        (datetime(2026, 1, 31), "last month", "2025-12"),
        (datetime(2026, 1, 1), "yesterday", "2025-12-31"),
        (datetime(2026, 1, 15), "last quarter", "2025-Q4"),
        (datetime(2026, 1, 15), "last year", "2025"),
        (datetime(2026, 1, 15), "January", "2026-01"),
        (datetime(2026, 1, 15), "last January", "2025-01"),
        (datetime(2026, 1, 15), "this winter", "winter 2025"),
        (datetime(2026, 1, 2), "last week", "2025-12-22/2025-12-28"),
        (datetime(2024, 3, 1), "yesterday", "2024-02-29"),
        (datetime(2024, 3, 15), "last month", "2024-02-01/2024-02-29"),
        (datetime(2025, 3, 15), "last month", "2025-02-01/2025-02-28"),
        (datetime(2024, 2, 29), "a year ago", "2023"),
        (datetime(1904, 1, 1), "29 February", "1896-02-29"),  # 1900 had none
        (datetime(2026, 11, 18), "monday to friday", "2026-11-16/2026-11-20"),
        (datetime(2026, 11, 20), "november to january", "2026-11-01/2027-01-31"),
    ],
)
def test_it_holds_at_the_edges_of_years_and_of_february(
    now: datetime, text: str, same: str
) -> None:
    now = now.replace(tzinfo=BERLIN)
    assert parse(text, now=now) == parse(same, now=now)


def test_months_back_from_a_long_month_stop_at_the_end_of_a_short_one() -> None:
    (window,) = parse("last 1 month", now=datetime(2026, 3, 31, 9, tzinfo=BERLIN))
    assert window.start == datetime(2026, 2, 28, 9, tzinfo=BERLIN)


def test_none_filters_nothing() -> None:
    assert parse(None, now=LAST_MINUTE.replace(tzinfo=BERLIN)) == ()


def test_dates_and_datetimes_alone_are_their_whole_day() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    day = parse("2026-01-15", now=now)
    assert parse(date(2026, 1, 15), now=now) == day
    assert parse(datetime(2026, 1, 15, 10, tzinfo=BERLIN), now=now) == day
    assert parse(datetime(2026, 1, 14, 23, 30, tzinfo=UTC), now=now) == day


def test_a_pair_is_exact_but_includes_the_day_it_stops_with() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    start, stop = (
        datetime(2026, 1, 1, 10, tzinfo=NEW_YORK),
        datetime(2026, 1, 1, 12, tzinfo=NEW_YORK),
    )
    assert parse((start, stop), now=now) == (Window(start=start, stop=stop),)
    assert parse(Window(start=start, stop=stop), now=now) == (Window(start=start, stop=stop),)
    assert parse((start, None), now=now) == (Window(start=start, stop=None),)
    assert parse((date(2026, 1, 1), date(2026, 1, 15)), now=now) == parse(
        "2026-01-01/2026-01-15", now=now
    )
    assert parse((None, date(2026, 1, 15)), now=now) == parse("until 2026-01-15", now=now)


def test_several_windows_are_united() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    assert parse(["yesterday", "last week"], now=now) == (
        *parse("last week", now=now),
        *parse("yesterday", now=now),
    )
    assert parse(["yesterday", date(2026, 11, 18), "since monday"], now=now) == parse(
        "since monday", now=now
    )
    assert parse(["before 2020", "after 2022"], now=now) == (
        *parse("before 2020", now=now),
        *parse("after 2022", now=now),
    )
    assert parse(["until 2020", "after 2020"], now=now) == ()


NAIVE = datetime(2026, 1, 1)
AWARE = NAIVE.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "timeframe",
    [
        NAIVE, (NAIVE, AWARE), (AWARE, NAIVE), [NAIVE], (AWARE, AWARE), (AWARE, AWARE - INSTANT), (AWARE, "today"),
        Window(start=NAIVE, stop=None), Window(start=AWARE, stop=AWARE), (date(2026, 1, 2), date(2026, 1, 1)),
        [], (), [None], ["last week", None], [["last week"]], ("2026-01-01", "2026-01-15"), ["x" * 10_000],
        5, True, 3.5, b"today", {"today"}, {"start": AWARE}, timedelta(days=1),
        date.max, datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(timeframe: object) -> None:
    with pytest.raises(InvalidInput, match=r"Write for example|Pass None"):
        parse(timeframe, now=LAST_MINUTE.replace(tzinfo=BERLIN))  # type: ignore[arg-type]


def test_a_moment_without_a_zone_is_refused_as_now() -> None:
    with pytest.raises(InvalidInput, match="aware"):
        parse("today", now=NAIVE)
    with pytest.raises(InvalidInput, match="aware"):
        extract("what did I do today?", now=NAIVE)


def test_a_week_begins_on_monday_or_sunday_only() -> None:
    with pytest.raises(InvalidInput, match="tuesday"):
        parse("today", now=AWARE, week_start="tuesday")  # type: ignore[arg-type]


QUESTIONS = [
    (
        "what did we decide last week about the database?",
        "last week",
        "what did we decide about the database?",
    ),
    ("What did Caroline do in May 2023?", "in May 2023", "What did Caroline do?"),
    ("Where were we in may?", "in may", "Where were we?"),
    ("what happened in 2023?", "in 2023", "what happened?"),
    ("Yesterday, what did we do?", "Yesterday", "what did we do?"),
    ("what did we do, yesterday?", "yesterday", "what did we do?"),
    ("since monday, what changed?", "since monday", "what changed?"),
    ("what did we discuss 5 days ago about X", "5 days ago", "what did we discuss about X"),
    ("what happened between 1 and 15 January?", "between 1 and 15 January", "what happened?"),
    ("show notes from Jan 1 to Jan 15", "from Jan 1 to Jan 15", "show notes"),
    ("What happened on 7 May 2023 in Rome?", "on 7 May 2023", "What happened in Rome?"),
    ("meeting notes 2026-01-15", "2026-01-15", "meeting notes"),
    ("results of Q3 2025", "of Q3 2025", "results"),
    ("the summer of 2022 was fun", "the summer of 2022", "was fun"),
    ("What did April do in the last few days?", "in the last few days", "What did April do?"),
    ("Who said it on monday or tuesday?", "on monday or tuesday", "Who said it?"),
    ("What did I do two weekends ago?", "two weekends ago", "What did I do?"),
    ("in the last hour, what changed", "in the last hour", "what changed"),
    ("what have I said recently?", "recently", "what have I said?"),
    ("What did Bob say yesterday at 5pm?", "yesterday", "What did Bob say at 5pm?"),
    ("What happened the week before 9 June 2023?", "the week before 9 June 2023", "What happened?"),
    ("did we meet on the 7th?", "on the 7th", "did we meet?"),
    ("what was said before Friday?", "before Friday", "what was said?"),
    ("last week?", "last week", "last week?"),
    ("yesterday", "yesterday", "yesterday"),
]


@pytest.mark.parametrize(
    ("question", "expression", "rest"), QUESTIONS, ids=[row[0] for row in QUESTIONS]
)
def test_a_time_is_taken_out_of_a_question(question: str, expression: str, rest: str) -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    assert extract(question, now=now) == (rest, parse(expression, now=now), expression)


@pytest.mark.parametrize(
    "question",
    [
        "when did I last see Bob?", "what may I eat?", "is this monday or tuesday?", "What did May say?",
        "Do you know what this may mean?", "how many in 1500 words?", "music of the 1990s", "the last day of school",
        "last minute changes", "march 3 miles", "most recent changes", "what did I say about 12 things", "2 years old",
        "did I fall in the fall?", "Sun is shining", "open Monday to Friday", "bring 20 apples", "before the meeting",
        "P2P networks", "Q3 results", "a second opinion", "the first week of school", "in the morning I eat",
        "what is in the past", "what did he do the next day", "written by May", "end of the day", "now what?",
        "what can I do on 30 February?", "", "?", "Who is Friday in Robinson Crusoe?",
    ],
)  # fmt: skip
def test_a_verb_or_a_name_is_not_taken_for_a_time(question: str) -> None:
    assert extract(question, now=LAST_MINUTE.replace(tzinfo=BERLIN)) == (question, (), None)


def test_a_document_is_not_searched_for_a_time_to_its_end() -> None:
    now = LAST_MINUTE.replace(tzinfo=BERLIN)
    assert extract("word " * 2_000 + "last week", now=now)[2] is None
    assert extract("last week " + "word " * 2_000, now=now)[2] == "last week"


def test_a_question_without_a_word_of_time_is_not_parsed() -> None:
    for question in (
        "What did Ann say about the office in Rome?",
        "the end of the road",
        "a few of the 12 in the past",
    ):
        assert openings(tokens(question)) == []
    words = tokens("What did the team say in the office in the last week?")
    assert [words[place].text for place in openings(words)] == ["in", "the", "last", "week"]


def test_the_words_of_the_guard_are_those_of_the_grammar() -> None:
    """Those of `validity.py` are about how long something holds: no question is filtered by them."""
    taken: set[str] = set()
    paths = Path(next(iter(timeframes.__path__))).glob("*.py")
    for path in (each for each in paths if each.name != "validity.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "take"
            ):
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                taken |= {word for text in texts for word in text.split()}
    assert len(taken) > 40
    assert taken <= ANCHORS | CONNECTORS


def length(window: Window) -> timedelta:
    assert window.start is not None
    assert window.stop is not None
    return window.stop.astimezone(UTC) - window.start.astimezone(UTC)


LEXICON = sorted(
    {
        *MONTH_NAMES, *NUMBERS, *PARTS, *SEASONS, *UNITS, *WEEKDAYS, *PREPOSITIONS, *SINCE, *AFTER, *UNTIL, *BEFORE,
        *TO,
        "the", "a", "few", "last", "past", "this", "next", "ago", "between", "and", "or", "early", "mid", "late", "end",
        "today", "yesterday", "tonight", "now", "recently", "q3", "5", "31st", "2026", "2026-01-15", "2026-02-30",
        "2026-01-15T10:00Z", "P7D", ",", ".", "'", "christmas", "new year's eve", "the 1990s", "nineties", "3pm", "9:30", "am", "p.m.",
        "noon", "25/10/2026", "03/04/2026", "10/25", "3.11.2026", "week 45", "H1", "half", "a half", "hundred", "dozen", "more than",
        "at least", "less than", "older than", "sometime", "all", "so far", "other", "just now", "'26", "quarter past", "fortnight",
        "about", "around", "leading up to", "mondays", "weekdays", "same", "this time", "not long", "some time", "to date", "first",
        "second half of", "o'clock", "starting", "as of", "prior to", "old", "back", "twenty", "recent",
    }
)  # fmt: skip
PHRASES = st.one_of(
    st.lists(st.sampled_from(LEXICON), max_size=9).map(" ".join),
    st.text(max_size=250),
    st.from_regex(r"[0-9TZPW:./+-]{1,20}"),
)
MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 1),
    max_value=datetime(2100, 1, 1),
    timezones=st.sampled_from([BERLIN, NEW_YORK, KOLKATA, UTC]),
)


@given(text=PHRASES, now=MOMENTS, start=st.sampled_from(["monday", "sunday"]))
@example(text="mid " * 50, now=AWARE, start="monday")
@example(text="day before " * 18, now=AWARE, start="monday")
@settings(max_examples=100, deadline=None)
def test_any_text_is_windows_that_begin_before_they_end_or_is_refused(
    text: str, now: datetime, start: str
) -> None:
    try:
        windows = parse(text, now=now, week_start=start)  # type: ignore[arg-type]
    except InvalidInput:
        return
    assert windows
    for window in windows:
        assert window.start is None or window.start.utcoffset() == timedelta(0)
        assert window.start is None or window.stop is None or window.start < window.stop
    for before, after in pairwise(windows):
        assert before.stop is not None
        assert after.start is not None
        assert before.stop < after.start


@given(
    question=st.one_of(PHRASES, PHRASES.map(lambda text: f"what did we do {text} with Bob?")),
    now=MOMENTS,
)
@settings(max_examples=100, deadline=None)
def test_a_question_comes_apart_into_its_own_words(question: str, now: datetime) -> None:
    rest, windows, expression = extract(question, now=now)
    if expression is None:
        assert (rest, windows) == (question, ())
        return
    assert expression in question
    assert windows
    assert rest == question or question_words(question) == question_words(rest, expression)


def question_words(*parts: str) -> list[str]:
    """The letters and digits of some texts, sorted: spaces and commas do not change them."""
    return sorted(
        letter for part in parts for letter in part if not letter.isspace() and letter not in ",;:"
    )


FILLERS = st.lists(
    st.sampled_from(
        [
            "what",
            "Bob",
            "is",
            "12",
            "the",
            "of",
            "may",
            "2",
            "9",
            ".",
            "week",
            "second",
            "h",
            "in",
            "end",
            "before",
        ]
    ),
    max_size=6,
).map(" ".join)


@given(
    parts=st.lists(
        st.one_of(PHRASES, st.sampled_from([text for text, *_ in TABLE]), FILLERS), max_size=4
    ),
    now=MOMENTS,
)
@example(parts=["until now"], now=AWARE)
@example(parts=["from this moment on"], now=AWARE)
@example(parts=["what can I do on 30 February or today"], now=AWARE)
@settings(max_examples=100, deadline=None)
def test_the_guard_before_the_grammar_changes_no_answer(parts: list[str], now: datetime) -> None:
    question = " ".join(parts)[:READ]
    calendar = Calendar(now=now.astimezone(UTC), zone=BERLIN)
    words = tokens(question)
    everywhere = [place for place in range(len(words)) if may_open(words, place)]
    unguarded = times_at(question, words, everywhere, calendar)
    words, places = places_of_times(question)
    assert next(times_at(question, words, places, calendar), None) == next(unguarded, None)


@given(count=st.integers(1, 400), unit=st.sampled_from(["hour", "day", "week"]), now=MOMENTS)
@settings(max_examples=100, deadline=None)
def test_the_last_so_many_are_exactly_that_long_where_clocks_do_not_change(
    count: int, unit: str, now: datetime
) -> None:
    (window,) = parse(f"last {count} {unit}s", now=now, timezone=UTC)
    assert length(window) == timedelta(**{f"{unit}s": count}) + INSTANT
    assert window.stop == now.astimezone(UTC) + INSTANT


@given(
    count=st.integers(0, 500),
    unit=st.sampled_from(["second", "minute", "hour", "day", "week", "month", "year"]),
    now=MOMENTS,
)
@settings(max_examples=100, deadline=None)
def test_so_long_ago_includes_the_moment_that_long_ago(
    count: int, unit: str, now: datetime
) -> None:
    (window,) = parse(f"{count} {unit}s ago", now=now)
    (rolled,) = (
        parse(f"last {count} {unit}s", now=now) if count else (Window(start=now, stop=None),)
    )
    assert window.start is not None
    assert window.stop is not None
    assert rolled.start is not None
    assert window.start <= rolled.start < window.stop


@given(first=MOMENTS, second=MOMENTS, now=MOMENTS)
@settings(max_examples=100, deadline=None)
def test_iso_texts_mean_what_their_values_mean(
    first: datetime, second: datetime, now: datetime
) -> None:
    start, stop = sorted((first, second), key=lambda moment: moment.astimezone(UTC))
    assert parse(start.isoformat(), now=now) == parse(start, now=now)
    assert parse(start.date().isoformat(), now=now) == parse(start.date(), now=now)
    if start.astimezone(UTC) < stop.astimezone(UTC):
        assert parse(f"{start.isoformat()}/{stop.isoformat()}", now=now) == parse(
            (start, stop), now=now
        )


@pytest.mark.parametrize("repeated", ["1st ", "Monday ", "may ", "12: ", "second week "])
def test_a_time_is_looked_for_at_few_places_however_many_a_question_has(repeated: str) -> None:
    """The grammar takes milliseconds at each."""
    words = read_words(repeated * 4_000)
    places = openings(words)
    assert len(places) == PLACES
    assert places == openings(words[: places[-1] + 20])[:PLACES], "the first ones"
