"""A question about a time that is over: what held then comes first, and what speaks of another day is not offered for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from htm_core import Memory, Settings
from htm_core.models.minilm.model import MiniLM
from tests.conftest import SETTINGS, Make

pytestmark = pytest.mark.usefixtures("real_embedder")  # the reader needs its files

NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)  # a Sunday
IDLE = Settings(
    **SETTINGS.model_dump(by_alias=True) | {"worker": "off", "supersession": 0.5, "timezone": "UTC"}
)
HONDA, TESLA, VOLVO = (
    "I drive a Honda Civic.",
    "I sold the Honda Civic, I drive a Tesla now.",
    "I sold the Tesla, I drive a Volvo now.",
)


def told(memory: Memory, *said: tuple[str, int]) -> None:
    """Say texts, each on the fifth of a month of this year, and let the jobs be done."""
    for text, month in said:
        memory.remember(text, role="user", at=datetime(2026, month, 5, tzinfo=UTC))
        assert memory.flush(timeout=60)


@pytest.mark.parametrize("timeframe", [None, "auto"])
@pytest.mark.parametrize(
    ("month", "first"), [("April", HONDA), ("June", HONDA), ("August", TESLA), ("October", TESLA)]
)
def test_what_held_at_the_asked_time_stands_before_what_came_later(
    make: Make, timeframe: str | None, month: str, first: str
) -> None:
    with make(settings=IDLE, clock=lambda: NOW) as memory:
        told(memory, (HONDA, 3), (TESLA, 7), (VOLVO, 11))
        found = memory.recall(f"Which car did I drive in {month}?", timeframe=timeframe, hold=False)
        contents = [hit.content for hit in found]
        assert contents[0] == first
        assert set(contents) == {HONDA, TESLA, VOLVO}
        assert found.timeframe is None or found.timeframe.note is None, "what held then is shown"
        by = found[0].superseded_by
        assert by is not None
        assert by.newer.content == (TESLA if first == HONDA else VOLVO)
        assert by.holds_from.month == (7 if first == HONDA else 11), (
            "it held until the first that came after it"
        )
        shown_beside = {each.older.content for hit in found for each in hit.formerly}
        assert first not in shown_beside, "it stands by itself"
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "question", ["Which car do I drive?", "Which car did I drive in November?"]
)
def test_what_holds_now_stands_first_where_no_earlier_time_is_asked_about(
    make: Make, question: str
) -> None:
    with make(settings=IDLE, clock=lambda: NOW) as memory:
        told(memory, (HONDA, 3), (TESLA, 7), (VOLVO, 11))
        found = memory.recall(question, hold=False)
        assert found[0].content == VOLVO


def test_a_time_before_all_that_is_known_is_said_to_have_no_answer(make: Make) -> None:
    with make(settings=IDLE, clock=lambda: NOW) as memory:
        told(memory, (HONDA, 6), (TESLA, 11))
        found = memory.recall("Which car did I drive in February?", timeframe="auto", hold=False)
        assert found[0].content == TESLA
        assert found.timeframe is not None
        assert found.timeframe.note is not None
        assert "in February" in found.timeframe.note


def test_what_says_itself_that_it_holds_then_is_no_answer_from_another_time(make: Make) -> None:
    with make(settings=IDLE, clock=lambda: NOW) as memory:
        memory.remember(
            "The workshop in Lisbon runs from 3 July 2026 to 20 July 2026.",
            at=datetime(2026, 5, 2, tzinfo=UTC),
        )
        memory.remember(
            "The gate in Lisbon was painted green.", at=datetime(2026, 5, 2, tzinfo=UTC)
        )
        found = memory.recall(
            "What was the workshop in Lisbon in July?", timeframe="auto", mode="text", hold=False
        )
        assert found.timeframe is not None
        assert (found[0].content.startswith("The workshop"), found.timeframe.note) == (True, None)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    "question", ["what did i say yesterday?", "What did I tell you yesterday?"]
)
def test_yesterday_of_another_day_is_not_offered_for_yesterday(
    make: Make, real_embedder: MiniLM, real: bool, question: str
) -> None:
    embedder = {"embedder": real_embedder, "embed": "now"} if real else {}
    with make(clock=lambda: NOW, settings=IDLE, **embedder) as memory:
        for text, days in (
            ("I bought a new mast for the boat yesterday.", 5),
            ("Yesterday the plumber came.", 30),
            ("The boat lies in berth 22.", 9),
            ("Jana called about the fence.", 1),
            ("Yesterday I talked to Jana.", 0),
        ):
            memory.remember(text, role="user", at=NOW - timedelta(days=days))
        found = [hit.content for hit in memory.recall(question, hold=False)]
        assert "I bought a new mast for the boat yesterday." not in found
        assert "Yesterday the plumber came." not in found
        if not real:
            return
        assert {"Jana called about the fence.", "Yesterday I talked to Jana."} <= set(found)


def test_what_answers_without_the_day_is_offered_with_its_own_day(
    make: Make, real_embedder: MiniLM
) -> None:
    with make(clock=lambda: NOW, settings=IDLE, embedder=real_embedder, embed="now") as memory:
        memory.remember(
            "I bought a new mast for the boat yesterday.", role="user", at=NOW - timedelta(days=5)
        )
        memory.remember("Jana called about the fence.", role="user", at=NOW - timedelta(days=1))
        found = memory.recall("Did I buy a new mast for the boat yesterday?", hold=False)
        assert found[0].content == "I bought a new mast for the boat yesterday."


def test_a_day_that_is_asked_for_in_words_alone_is_a_word(make: Make) -> None:
    with make(clock=lambda: NOW, settings=IDLE) as memory:
        memory.remember(
            "I bought a new mast for the boat yesterday.", role="user", at=NOW - timedelta(days=5)
        )
        found = memory.recall("yesterday", mode="text", hold=False)
        assert [hit.content for hit in found] == ["I bought a new mast for the boat yesterday."]
