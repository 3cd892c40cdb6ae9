"""A user's time zone: the days that they mean, and the dates that they and their model are shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from htm_core import InvalidInput, Memory, Settings
from tests.conftest import SETTINGS, Make

TOKYO, HONOLULU = ZoneInfo("Asia/Tokyo"), ZoneInfo("Pacific/Honolulu")
# In Tokyo it is half past seven in the morning of Thursday, in UTC still Wednesday evening.
NOW = datetime(2026, 11, 18, 22, 30, tzinfo=UTC)
IN_UTC = Settings(**SETTINGS.model_dump(by_alias=True) | {"timezone": "UTC"})


@pytest.fixture
def anywhere(make: Make) -> Memory:
    """A memory of a process whose zone is UTC, at NOW."""
    return make(user="mika", session="s", clock=lambda: NOW, settings=IN_UTC)


def test_days_are_those_of_the_place_where_the_user_is(anywhere: Memory) -> None:
    there = anywhere.of(timezone="Asia/Tokyo")
    there.remember("The boiler was repaired.", at=datetime(2026, 11, 19, 7, 0, tzinfo=TOKYO))
    there.remember("The gate was painted.", at=datetime(2026, 11, 18, 23, 50, tzinfo=TOKYO))
    there.flush()
    assert [hit.content for hit in there.recall("what was done", timeframe="yesterday")] == [
        "The gate was painted."
    ]
    assert [hit.content for hit in there.recall("what was done", timeframe="today")] == [
        "The boiler was repaired."
    ]
    assert [mention.content for mention in there.timeline(timeframe="today")] == [
        "The boiler was repaired."
    ]
    assert len(anywhere.recall("what was done", timeframe="today")) == 2, (
        "both are of Wednesday in UTC"
    )


def test_recall_and_the_timeline_show_the_moment_as_the_clock_there_does(anywhere: Memory) -> None:
    anywhere.remember("The ferry leaves at nine.", at=NOW)
    there = anywhere.of(timezone="Asia/Tokyo")
    for mention in (there.recall("ferry", mode="text")[0].mention, there.timeline()[-1]):
        assert mention is not None
        assert (mention.at, mention.at.isoformat()) == (NOW, "2026-11-19T07:30:00+09:00")
    shown = anywhere.recall("ferry", mode="text")[0].mention
    assert shown is not None
    assert shown.at.isoformat() == "2026-11-18T22:30:00+00:00"


@pytest.mark.usefixtures("real_embedder")
def test_what_was_replaced_ended_on_the_day_that_it_was_there(anywhere: Memory) -> None:
    there = anywhere.of(timezone="Asia/Tokyo")
    there.remember("I drive a Honda Civic.", role="user", at=NOW - timedelta(days=9))
    there.remember("I sold the Honda Civic, I drive a Tesla now.", role="user", at=NOW)
    there.flush()
    formerly = [change for hit in there.recall("What do I drive now?") for change in hit.formerly]
    assert [change.holds_from.isoformat() for change in formerly] == ["2026-11-19T07:30:00+09:00"]


def test_until_friday_ends_with_the_friday_of_the_user(anywhere: Memory) -> None:
    for zone in (TOKYO, HONOLULU):
        memory = anywhere.of(user=zone.key.lower(), timezone=zone.key)
        memory.remember("The lift is out of order.", valid="until Friday")
        valid = memory.timeline()[-1].valid
        assert valid is not None
        assert valid.stop is not None
        assert valid.stop.astimezone(zone) == datetime(2026, 11, 21, tzinfo=zone)


def test_a_sibling_keeps_the_zone_and_another_one_has_its_own(anywhere: Memory) -> None:
    mika = anywhere.of(timezone="Asia/Tokyo")
    assert [
        memory._engine.timezone
        for memory in (mika, mika.of(session="t"), mika.of(timezone="Pacific/Honolulu"))
    ] == [
        TOKYO,
        TOKYO,
        HONOLULU,
    ]
    assert mika._runtime is anywhere._runtime, "zones share connections and workers"


@pytest.mark.parametrize("zone", ["Tokio", "", "../etc/passwd", "UTC+9\x00"])
def test_a_zone_that_is_none_is_refused_with_an_example(make: Make, zone: str) -> None:
    with pytest.raises(
        InvalidInput, match="expected timezone to be an IANA zone such as 'Europe/Oslo'"
    ):
        make(timezone=zone)


def test_a_memory_before_and_after_summer_time_begins_has_the_offset_of_its_day(
    anywhere: Memory,
) -> None:
    there = anywhere.of(timezone="Europe/Lisbon")
    night = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
    for number, at in enumerate([night, night + timedelta(days=1)]):
        there.remember(f"Ship {number} came in.", at=at)
    assert [f"{mention.at:%d %H:%M}" for mention in there.timeline()] == ["28 23:30", "30 00:30"]
