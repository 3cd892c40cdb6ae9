"""Calls that cannot be interrupted are done in threads that are kept for the next ones, and given up when they are late."""

from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import threading
import time
from collections.abc import Iterator

import pytest

from htm_core import shutdown
from htm_core.base import time_limit
from htm_core.base.time_limit import OutOfTime, within


@pytest.fixture(autouse=True)
def threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has its own threads that wait: a worker of an earlier test in this process would borrow those of all."""
    monkeypatch.setattr(time_limit, "_threads", time_limit._Threads())
    yield
    time_limit.end_idle_threads()


def test_calls_one_after_the_other_are_done_by_one_thread() -> None:
    idents = {within(5, threading.get_ident) for _ in range(50)}
    assert len(idents) == 1
    assert idents != {threading.get_ident()}


def test_a_call_within_a_call_never_waits_for_a_thread() -> None:
    def nested(depth: int) -> int:
        return depth if depth == 0 else 1 + within(5, lambda: nested(depth - 1))

    assert within(5, lambda: nested(40)) == 40


def test_a_call_runs_in_the_context_of_whoever_waits() -> None:
    said = contextvars.ContextVar("said", default="nothing")
    for word in ("one", "two"):
        said.set(word)
        assert within(5, said.get) == word
    assert contextvars.copy_context().run(within, 5, said.get) == "two"


def test_an_error_is_that_of_the_call_also_when_it_is_a_time_out() -> None:
    def fail(error: BaseException) -> None:
        raise error

    for error in (ValueError("no"), TimeoutError("its own"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught:
            within(5, lambda error=error: fail(error))  # type: ignore[misc]
        assert caught.value is error
    assert within(5, lambda: "still there") == "still there"


def test_a_late_call_is_given_up_and_the_next_one_has_a_thread_of_its_own() -> None:
    release, threads, discarded = threading.Event(), [], []

    def hang() -> str:
        threads.append(threading.current_thread())
        release.wait(10)
        return "late"

    with pytest.raises(OutOfTime, match="expected memory to answer within"):
        within(0.02, hang, discard=discarded.append)
    assert within(5, threading.current_thread) is not threads[0]
    release.set()
    threads[0].join(5)
    assert not threads[0].is_alive()
    assert discarded == ["late"]


def test_when_many_calls_are_late_the_next_one_fails_at_once_until_they_have_ended() -> None:
    release = threading.Event()
    for _ in range(time_limit.MAX_LATE):
        with pytest.raises(OutOfTime):
            within(0.001, lambda: release.wait(10))
    with pytest.raises(OutOfTime, match="32 steps are past their time still"):
        within(5, lambda: None)
    release.set()
    for _ in range(500):
        try:
            assert within(5, lambda: "again") == "again"
            return
        except OutOfTime:
            time.sleep(0.01)
    pytest.fail("the late calls have ended, and none is begun still")


def test_calls_that_hang_are_counted_for_each_client_and_a_client_without_any_never_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_limit, "MAX_LATE", 3)
    monkeypatch.setattr(time_limit, "MAX_LATE_OF_ALL", 5)
    release = threading.Event()

    def hang(client: str) -> None:
        with pytest.raises(OutOfTime, match="expected memory to answer within"):
            within(0.01, lambda: release.wait(10), client=client)

    try:
        for _ in range(3):
            hang("ann's model")
        with pytest.raises(OutOfTime, match="3 steps are past their time still, of 3 in all"):
            within(5, lambda: None, client="ann's model")
        for _ in range(2):
            hang("bob's model")
        with pytest.raises(OutOfTime, match="2 steps are past their time still, of 5 in all"):
            within(5, lambda: None, client="bob's model")
        assert within(5, lambda: "well", client="eve's model") == "well"
        assert within(5, lambda: "well") == "well"
        assert asyncio.run(time_limit.awithin(5, lambda: "well", client="eve's model")) == "well"
    finally:
        release.set()


def test_an_awaited_call_that_is_cancelled_leaves_its_thread_to_the_next() -> None:
    begun, release = threading.Event(), threading.Event()

    def hang() -> int:
        begun.set()
        release.wait(10)
        return threading.get_ident()

    async def cancelled() -> None:
        task = asyncio.create_task(time_limit.awithin(5, hang))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()

    asyncio.run(cancelled())
    assert within(5, lambda: "done") == "done"


def test_calls_of_many_threads_at_once_each_get_their_own_answer() -> None:
    wrong: list[int] = []

    def ask(number: int) -> None:
        for turn in range(200):
            if within(5, lambda: (number, turn)) != (number, turn):  # noqa: B023 - it is called before the next turn
                wrong.append(number)

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for each in asking:
        each.start()
    for each in asking:
        each.join(30)
    assert not wrong
    assert not any(each.is_alive() for each in asking)


def test_a_forked_child_has_threads_of_its_own() -> None:
    within(5, lambda: None)  # the parent has one that waits
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(within(5, lambda: "from the child")))
    child.start()
    child.join(10)
    assert child.exitcode == 0
    assert answers.get() == "from the child"


def test_shutdown_ends_the_threads_that_wait() -> None:
    waiting = within(5, threading.current_thread)
    shutdown()
    waiting.join(5)
    assert not waiting.is_alive()
    assert within(5, lambda: "again") == "again"


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "IDLE", 0.02)
    waiting = within(5, threading.current_thread)
    waiting.join(5)
    assert not waiting.is_alive()
    assert within(5, lambda: "again") == "again"
