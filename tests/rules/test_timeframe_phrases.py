"""A list of timeframes as people write them, each with its window on one day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Window
from htm_core.timeframes.parse import parse

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday
LIST = Path(__file__).parents[1] / "fixtures" / "timeframes.tsv"
ROWS = [
    line.split("\t") for line in LIST.read_text().splitlines() if line and not line.startswith("#")
]


def end(text: str, *, included: bool) -> datetime | None:
    """An end of a window as the list writes it."""
    if text == "open":
        return None
    if text == "now":
        return NOW + timedelta(microseconds=included)
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_list_is_long() -> None:
    assert len(ROWS) >= 200
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("phrase", "start", "stop"), ROWS, ids=[row[0] for row in ROWS])
def test_a_phrase_means_its_window(phrase: str, start: str, stop: str) -> None:
    assert parse(phrase, now=NOW) == (
        Window(start=end(start, included=False), stop=end(stop, included=True)),
    )


def test_a_date_that_can_be_read_in_two_ways_is_refused_with_both() -> None:
    with pytest.raises(
        InvalidInput,
        match="can be read as 3 April 2026 or 4 March 2026: write 2026-04-03 or 2026-03-04",
    ):
        parse("03/04/2026", now=NOW)
    with pytest.raises(InvalidInput, match="no year of four digits"):
        parse("25/10/26", now=NOW)
    with pytest.raises(InvalidInput, match="no day 31 of month 2"):
        parse("31.02.2026", now=NOW)


@pytest.mark.parametrize(
    "text", ["yesterday at 5", "at 9", "between 2 and 4", "since 3", "at 25:00", "9:75 yesterday"]
)
def test_an_hour_that_may_be_in_the_morning_or_the_evening_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse(text, now=NOW)
