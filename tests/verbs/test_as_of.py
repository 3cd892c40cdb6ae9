"""What was known at a time, what holds at a time, and what has ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, NotFound, Settings, Window
from htm_core.base.trust import SOURCES
from htm_core.base.types.memories import source_of, trust_of
from htm_core.db.database import Database
from tests.conftest import SETTINGS

# What expires here is long gone by the server's time, at which a worker that an earlier test has left awake would erase it.
pytestmark = pytest.mark.usefixtures("alone")

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)


class Clock:
    """A clock that tells what it was set to."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open(make: Callable[..., Memory], clock: Clock) -> Callable[..., Memory]:
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "timezone": "UTC"})

    def opened(**options: Any) -> Memory:
        return make(**{"clock": clock, "settings": settings, "embed": "now"} | options)

    return opened


MODES = ("hybrid", "vector", "text")


def found(memory: Memory, query: str, **options: Any) -> list[set[str]]:
    """What is found in each mode."""
    return [
        {hit.content for hit in memory.recall(query, mode=mode, hold=False, **options)}
        for mode in MODES
    ]  # type: ignore[arg-type]


# -- as of a time ---------------------------------------------------------------------------------------------------------------


def test_every_value_that_a_key_had_is_reached_by_the_time_at_which_it_had_it(
    open: Callable[..., Memory], clock: Clock
) -> None:
    values = [f"My favourite drink is number {number}." for number in range(12)]
    with open() as memory:
        for value in values:
            memory.remember(value, key="drink")
            clock.time += DAY
        for number, value in enumerate(values):
            for moment in (START + number * DAY, START + (number + 1) * DAY - INSTANT):
                node = memory.get("drink", as_of=moment)
                assert (node.content, node.version, node.keys) == (value, number + 1, ("drink",))
                for seen in found(memory, "favourite drink number", as_of=moment, limit=20):
                    assert seen == {value}
        assert found(memory, "favourite drink number", limit=20) == [{values[-1]}] * 3
        with pytest.raises(NotFound):
            memory.get("drink", as_of=START - INSTANT)
        assert found(memory, "favourite drink number", as_of=START - INSTANT) == [set()] * 3


def test_the_timeline_as_of_a_time_is_what_it_showed_then(
    open: Callable[..., Memory], clock: Clock
) -> None:
    shown = {}
    with open(session="talk") as memory:
        memory.remember("One.", role="user", ttl=3 * DAY)
        for text in ("Two.", "Three.", "Four.", "Five."):
            clock.time += DAY
            memory.remember(text, role="user", ttl=2 * DAY if text == "Three." else None)
            shown[clock.time] = [each.content for each in memory.timeline()]
        clock.time += 100 * DAY
        for _ in ("before a sweep", "after it"):
            for moment, texts in shown.items():
                assert [each.content for each in memory.timeline(as_of=moment)] == texts
                assert [
                    each.content for each in memory.timeline(as_of=moment, session="talk")
                ] == texts
                after = memory.timeline(
                    as_of=moment, limit=1, after=memory.timeline(as_of=moment)[0]
                )
                assert [each.content for each in after] == texts[1:2]
            with_grace = memory.sweep()
            assert with_grace == 2 or with_grace == 0
            if with_grace:
                break  # erased after the grace: nothing of it is left to show


def test_what_has_expired_since_was_known_then_until_it_is_erased(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        node = memory.remember("The password is kingfisher.", ttl=DAY)
        clock.time = START + 2 * DAY
        for _ in ("hidden", "swept"):
            assert memory.get(node.id, as_of=START + DAY - INSTANT).id == node.id
            assert (
                found(memory, "password kingfisher", as_of=START + DAY - INSTANT)
                == [{node.content}] * 3
            )
            assert found(memory, "password kingfisher", as_of=START + DAY) == [set()] * 3
            memory.sweep()
        clock.time = START + 40 * DAY
        assert memory.sweep() == 1
        assert found(memory, "password kingfisher", as_of=START) == [set()] * 3


def test_what_was_forgotten_since_stays_hidden_whatever_the_time(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        node = memory.remember("I like kingfishers.")
        memory.remember("I am a nurse.", key="job")
        clock.time += DAY
        memory.forget(node.id)
        memory.revise("job", "I am a pilot.", forget=True)
        assert found(memory, "kingfishers nurse", as_of=START) == [set()] * 3
        assert memory.timeline(as_of=START) == []
        for name in (node.id, "job"):
            with pytest.raises(NotFound):
                memory.get(name, as_of=START)
        assert len(memory.timeline(as_of=START, forgotten=True)) == 2


def test_what_was_said_later_is_not_known_and_does_not_help_what_was(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(session="talk") as memory:
        memory.remember("The kingfisher nests by the river.", role="user")
        clock.time += DAY
        memory.remember("The kingfisher has left the river.", role="user")
        assert (
            found(memory, "kingfisher river", as_of=START)
            == [{"The kingfisher nests by the river."}] * 3
        )


def test_other_users_stay_behind_their_wall_as_of_any_time(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(user="ann") as ann, open(user="tom") as tom:
        ann.remember("The code is kingfisher.", key="code")
        clock.time += DAY
        ann.remember("The code is swordfish.", key="code")
        assert found(tom, "the code", as_of=START) == [set()] * 3
        with pytest.raises(NotFound):
            tom.get("code", as_of=START)
        assert found(ann, "the code", as_of=START) == [{"The code is kingfisher."}] * 3


# -- valid at a time ----------------------------------------------------------------------------------------------------------


def test_what_holds_at_a_time_and_what_says_nothing_of_it_is_found(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        memory.remember("I lived in Rome from 2019 to 2021.")
        memory.remember("I have lived in Graz since 2022.")
        memory.remember("I like to have lived somewhere.")
        always = {"I like to have lived somewhere."}
        expected = {
            2018: always,
            2020: always | {"I lived in Rome from 2019 to 2021."},
            2024: always | {"I have lived in Graz since 2022."},
        }
        for year, texts in expected.items():
            moment = datetime(year, 6, 1, tzinfo=UTC)
            assert found(memory, "where have I lived", valid_at=moment) == [texts] * 3
        assert len(memory.recall("where have I lived", hold=False)) == 3


def test_what_has_ended_says_so_and_comes_after_what_holds_and_answers_as_well(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        memory.remember("The office code is 1111 now.", valid=Window(start=None, stop=START))
        memory.remember("The office code is 2222 now.", valid=Window(start=START, stop=None))
        hits = memory.recall("What is the office code now?", hold=False, explain=True)
        assert [(hit.content, hit.ended) for hit in hits] == [
            ("The office code is 2222 now.", False), ("The office code is 1111 now.", True),
        ]  # fmt: skip
        assert hits[1].signals["ended"] < 0
        assert sum(hits[1].signals.values()) == pytest.approx(hits[1].score)
        before = memory.recall("What is the office code now?", hold=False, valid_at=START - DAY)
        assert [(hit.content, hit.ended) for hit in before] == [
            ("The office code is 1111 now.", False)
        ]


def test_what_ended_is_not_marked_while_somebody_said_that_it_holds(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        memory.remember("The shop is closed.", valid=Window(start=None, stop=START))
        assert memory.recall("shop closed", hold=False)[0].ended
        memory.remember("The shop is closed.", valid=Window(start=None, stop=START + DAY))
        assert not memory.recall("shop closed", hold=False)[0].ended
        clock.time = START + DAY
        assert memory.recall("shop closed", hold=False)[0].ended


# -- sources and trust ----------------------------------------------------------------------------------------------------------


def test_recall_is_narrowed_to_sources_and_to_trust(open: Callable[..., Memory]) -> None:
    with open() as memory:
        for source in (*SOURCES, None):
            memory.remember(f"The kingfisher is blue, says {source}.", source=source)
        memory.remember("The kingfisher is blue, says a tool.", role="tool")
        all_of_them = found(memory, "kingfisher blue")[2]
        assert len(all_of_them) == 8
        for source in (*SOURCES, None):
            texts = {f"The kingfisher is blue, says {source}."}
            texts |= {"The kingfisher is blue, says a tool."} if source == "tool" else set()
            assert found(memory, "kingfisher blue", sources=[source]) == [texts] * 3
        trusted = {"The kingfisher is blue, says user.", "The kingfisher is blue, says None."}
        assert found(memory, "kingfisher blue", min_trust=4) == [trusted] * 3
        assert (
            found(memory, "kingfisher blue", min_trust=4, sources=["user", "web"])
            == [{"The kingfisher is blue, says user."}] * 3
        )
        assert found(memory, "kingfisher blue", min_trust=0) == [all_of_them] * 3


def test_the_database_derives_source_and_trust_as_the_rules_do(database: Database) -> None:
    cases = [
        (trust, source, role)
        for trust in (None, 0, 3)
        for source in (None, *SOURCES)
        for role in (None, "user", "assistant", "system", "tool")
    ]
    with database.owner() as connection:
        for trust, source, role in cases:
            row = connection.execute(
                "select source_of(%s, %s) as source, trust_of(%s::smallint, %s, %s) as trust",
                [source, role, trust, source, role],
            ).fetchone()
            assert row is not None
            expected = source_of(source, role)
            assert (row["source"], row["trust"]) == (expected or "", trust_of(trust, expected))


@pytest.mark.parametrize(
    "given",
    [
        {"as_of": datetime(2026, 1, 1)},
        {"as_of": "2026-01-01"},
        {"valid_at": datetime(2026, 1, 1)},
        {"sources": "user"},
        {"sources": ["rumour"]},
        {"min_trust": 7},
        {"min_trust": True},
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    open: Callable[..., Memory], given: dict[str, Any]
) -> None:
    with open() as memory:
        with pytest.raises(InvalidInput):
            memory.recall("x", **given)
        if "as_of" in given:
            with pytest.raises(InvalidInput):
                memory.get("x", **given)
            with pytest.raises(InvalidInput):
                memory.timeline(**given)


# -- decay and stale marks --------------------------------------------------------------------------------------------------------


def test_what_was_not_confirmed_for_long_says_so_where_its_kind_changes_often(
    make: Callable[..., Memory], clock: Clock
) -> None:
    own = Settings(
        **SETTINGS.model_dump(by_alias=True)
        | {
            "worker": "off",
            "timezone": "UTC",
            "stale_after": {"address": 30 * DAY, "user": 300 * DAY},
        }
    )
    with make(clock=clock, settings=own, embed="now") as memory:
        memory.remember("My address is Hill Road 4.", role="user", tags=["address:home"])
        memory.remember("My name is Ann.", role="user")
        clock.time += 30 * DAY - INSTANT
        assert not any(hit.stale for hit in memory.recall("my address and name", hold=False))
        clock.time += INSTANT
        marks = {
            hit.content: (hit.stale, hit.holds)
            for hit in memory.recall("my address and name", hold=False)
        }
        assert marks == {
            "My address is Hill Road 4.": (True, "not confirmed since 2 March 2026"),
            "My name is Ann.": (False, None),
        }
        memory.remember("My address is Hill Road 4.", role="user", tags=["address:home"])
        assert not any(hit.stale for hit in memory.recall("my address and name", hold=False))


def test_decay_puts_what_was_said_lately_first_and_is_off_by_default(
    make: Callable[..., Memory], clock: Clock
) -> None:
    def scores(**options: Any) -> dict[str, float]:
        own = Settings(
            **SETTINGS.model_dump(by_alias=True) | {"worker": "off", "timezone": "UTC"} | options
        )
        with make(clock=clock, settings=own, embed="now") as memory:
            hits = memory.recall("What is my lucky number?", hold=False, explain=True)
            for hit in hits:
                assert sum(hit.signals.values()) == pytest.approx(hit.score)
            return {hit.content[-3:]: hit.score for hit in hits}

    with make(clock=clock, embed="now") as memory:
        memory.remember("My lucky number is 44.", tags=["luck"])
        clock.time += 60 * DAY
        memory.remember("My lucky number is 77.", tags=["luck"])
        memory.remember("My number is not lucky.")
    without, with_decay = scores(), scores(decay={"luck": 30 * DAY})
    assert without["44."] == pytest.approx(without["77."], rel=0.05)
    assert with_decay["44."] == pytest.approx(without["44."] * (0.7 + 0.3 / 4))
    assert with_decay["77."] == pytest.approx(without["77."])
    assert with_decay["ky."] == pytest.approx(without["ky."])
    assert list(with_decay).index("77.") < list(with_decay).index("44.")
