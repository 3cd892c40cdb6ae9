"""The time that memory has in a turn, and the breaker that leaves it out after a failure."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from htm_core import DatabaseUnavailable, Memory, ModelError, Settings
from htm_core.base import time_limit
from htm_core.base.time_limit import awithin, within
from htm_core.prompt import deadline
from htm_core.prompt.deadline import PAUSE, Breaker, Deadline, MemorySkipped
from tests.stand_ins import HashEmbedder


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def away() -> Memory:
    """A memory by url; nothing connects to it here."""
    return Memory(
        "atlas",
        url="postgresql://127.0.0.1:1/deadline",
        embedder=HashEmbedder(),
        settings=Settings(worker="off"),
    )


@pytest.fixture
def slow() -> Iterator[Callable[[], str]]:
    """Work that ends when the test does."""
    ended = threading.Event()

    def work() -> str:
        ended.wait(30)
        return "late"

    yield work
    ended.set()


def refused() -> None:
    raise DatabaseUnavailable("connection refused")


def test_a_breaker_lets_nobody_through_in_its_pause_and_then_one_who_finds_out(
    clock: Clock,
) -> None:
    breaker = Breaker("the database", clock=clock)
    breaker.check()
    breaker.failed(TimeoutError("no answer"))
    with pytest.raises(MemorySkipped, match=r"no answer.*left out for 30 s more"):
        breaker.check()
    clock.now += PAUSE
    breaker.check()
    with pytest.raises(MemorySkipped):
        breaker.check()
    breaker.worked()
    breaker.check()


def test_a_breaker_says_once_that_it_opened_and_once_that_it_closed(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = Breaker("the database", clock=clock)
    with caplog.at_level(logging.WARNING, "htm"):
        for _ in range(3):
            breaker.check()
            breaker.failed(TimeoutError("no answer"))
            clock.now += PAUSE
        breaker.worked()
        breaker.worked()
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        "the database does not answer",
        "the database answers again",
    ]


def test_keeping_costs_a_turn_nothing_while_the_database_answers(
    away: Memory, clock: Clock
) -> None:
    turn = Deadline(away, timeout=10.0, clock=clock)

    def take(seconds: float) -> None:
        clock.now += seconds

    for _ in range(100):
        turn.run(lambda: take(9.0))
    assert turn.left == 10.0


def test_all_recalls_of_a_turn_have_one_time_together_and_take_none_from_keeping(
    away: Memory, clock: Clock
) -> None:
    turn = Deadline(away, timeout=10.0, clock=clock)

    def take(seconds: float) -> None:
        clock.now += seconds

    turn.run(lambda: take(4.0), step="recall")
    assert turn.left == 6.0
    turn.run(lambda: take(0.2), step="recall")
    assert turn.left == 6.0, "quick steps are free"
    turn.run(lambda: take(7.0), step="recall")
    assert turn.left == 0.0
    with pytest.raises(MemorySkipped, match="10 s in a turn"):
        turn.run(lambda: take(0.0), step="recall")
    turn.run(lambda: take(9.0))


def test_steps_without_an_answer_share_the_time_of_a_turn(away: Memory, clock: Clock) -> None:
    turn = Deadline(away, timeout=10.0, clock=clock)

    def unanswered() -> None:
        clock.now += 6.0
        raise TimeoutError

    for _ in range(2):
        with pytest.raises(TimeoutError):
            turn.run(unanswered)
        deadline.forget_failures()
    with pytest.raises(MemorySkipped, match="10 s in a turn"):
        turn.run(lambda: None)
    turn.renew()
    assert turn.run(lambda: "kept") == "kept"


def test_a_step_that_had_less_than_its_fair_time_opens_no_breaker(
    away: Memory, slow: Callable[[], str]
) -> None:
    with pytest.raises(TimeoutError):
        Deadline(away, timeout=10.0).run(slow, at_most=0.3)
    assert Deadline(away).run(lambda: "kept") == "kept"


def test_recall_leaves_a_share_of_the_time_to_the_log(
    away: Memory, slow: Callable[[], str]
) -> None:
    turn = Deadline(away, timeout=0.5)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"within 0\.4 s"):
        turn.run(slow, step="recall")
    assert turn.left is not None
    assert 0 < turn.left <= 0.1
    with pytest.raises(MemorySkipped):
        turn.run(slow, step="recall")
    assert turn.run(lambda: "kept") == "kept"
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("colour", ["run", "arun"])
def test_after_a_failure_by_time_the_next_turns_wait_for_nothing(
    away: Memory, slow: Callable[[], str], colour: str
) -> None:
    def step(turn: Deadline, work: Any) -> Any:
        return turn.run(work) if colour == "run" else asyncio.run(turn.arun(work))

    with pytest.raises(TimeoutError, match=r"within 0\.3 s"):
        step(Deadline(away, timeout=0.3), slow)
    began = time.monotonic()
    for _ in range(100 if colour == "run" else 10):
        with pytest.raises(MemorySkipped):
            step(Deadline(away, timeout=0.3), slow)
    assert time.monotonic() - began < 0.3


def test_a_step_that_is_late_while_others_have_their_answers_opens_no_breaker(
    away: Memory, slow: Callable[[], str]
) -> None:
    """Many at once make memory slow: nobody is left without it for that."""
    answers = threading.Timer(0.1, lambda: Deadline(away).run(lambda: "found", step="recall"))
    answers.start()
    with pytest.raises(TimeoutError):
        Deadline(away, timeout=0.5).run(slow, step="recall")
    answers.join()
    assert Deadline(away).run(lambda: "found", step="recall") == "found"
    with pytest.raises(TimeoutError):
        Deadline(away, timeout=0.3).run(slow, step="recall")
    with pytest.raises(MemorySkipped):
        Deadline(away).run(lambda: "found", step="recall")


def test_a_refused_connection_opens_the_breaker_for_both_kinds_of_steps(away: Memory) -> None:
    turn = Deadline(away)
    with pytest.raises(DatabaseUnavailable):
        turn.run(refused, step="recall")
    for step in ("log", "recall"):
        with pytest.raises(MemorySkipped, match="refused"):
            turn.run(lambda: None, step=step)  # type: ignore[arg-type]  # one of the two


def test_a_recall_that_is_late_costs_no_message(away: Memory, slow: Callable[[], str]) -> None:
    with pytest.raises(TimeoutError):
        Deadline(away, timeout=0.3).run(slow, step="recall")
    with pytest.raises(MemorySkipped):
        Deadline(away).run(lambda: None, step="recall")
    assert Deadline(away).run(lambda: "kept") == "kept"


def test_a_recall_that_was_given_very_little_time_opens_no_breaker(
    away: Memory, slow: Callable[[], str]
) -> None:
    with pytest.raises(TimeoutError):
        Deadline(away).run(slow, step="recall", at_most=0.05)
    assert Deadline(away).run(lambda: "found", step="recall") == "found"


def test_any_other_failure_is_an_answer_and_closes_it(away: Memory) -> None:
    def fails() -> None:
        raise ModelError("no such model")

    turn = Deadline(away)
    for _ in range(3):
        with pytest.raises(ModelError):
            turn.run(fails, step="recall")


def test_memories_of_one_database_share_a_breaker_and_those_of_another_do_not(away: Memory) -> None:
    other = Memory(
        "atlas",
        url="postgresql://127.0.0.1:1/other",
        embedder=HashEmbedder(),
        settings=Settings(worker="off"),
    )
    with pytest.raises(DatabaseUnavailable):
        Deadline(away).run(refused)
    with pytest.raises(MemorySkipped):
        Deadline(away.of(user="ann")).run(lambda: None)
    assert Deadline(other).run(lambda: "well") == "well"
    deadline.forget_failures()
    assert Deadline(away).run(lambda: "well") == "well"


def test_without_a_time_it_waits_as_long_as_it_takes(away: Memory) -> None:
    turn = Deadline(away, timeout=None)
    assert turn.left is None
    assert turn.run(lambda: time.sleep(0.3) or "done") == "done"  # type: ignore[func-returns-value]
    assert asyncio.run(turn.arun(lambda: time.sleep(0.3) or "done")) == "done"  # type: ignore[func-returns-value]


def test_work_that_raises_a_time_out_of_its_own_is_told_from_work_past_its_time() -> None:
    def fails() -> None:
        raise TimeoutError("the model's own")

    with pytest.raises(TimeoutError, match="the model's own"):
        within(5, fails)
    with pytest.raises(TimeoutError, match="the model's own"):
        asyncio.run(awithin(5, fails))


def test_a_cancellation_that_comes_as_the_work_ends_reaches_the_caller() -> None:
    """Of a step that has ended nothing is lost, and who cancels is not made to wait for the rest of the turn."""
    may_end, ended = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait(10)
        ended.set()

    async def cancelled() -> None:
        task = asyncio.create_task(awithin(10, work))
        while not any(thread.name == "htm-turn" for thread in threading.enumerate()):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        may_end.set()
        ended.wait(10)
        time.sleep(0.1)  # the loop sees that the work ended and the cancellation in one step
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended.is_set()


def test_an_event_loop_ends_without_waiting_for_late_work(slow: Callable[[], str]) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(awithin(0.1, slow))
    assert time.monotonic() - began < 2


def test_too_much_late_work_makes_the_next_fail_at_once(
    slow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limit, "MAX_LATE", 2)
    monkeypatch.setattr(time_limit._threads, "_late", set())
    for _ in range(2):
        with pytest.raises(TimeoutError, match="within"):
            within(0.01, slow)
    with pytest.raises(TimeoutError, match="2 steps are past their time"):
        within(5, slow)
