"""Items that do not live for ever, and the sweeping of what has expired."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp

from htm_core import InvalidInput
from htm_langchain import AsyncHTMStore, HTMStore
from htm_langchain.store.sweeper import Sweeper
from tests.conftest import Make

NS = ("notes",)


class Clock:
    """A clock that is moved by minutes, and by a microsecond each time it is looked at."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def pass_(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_(make: Make, clock: Clock) -> Callable[..., HTMStore]:
    def store(ttl: Any = None, kind: type[HTMStore] = HTMStore) -> HTMStore:
        return kind(memory=make(clock=clock), ttl=ttl, index=False)

    return store


def until(holds: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_item_is_gone_after_its_minutes(open_: Callable[..., HTMStore], clock: Clock) -> None:
    store = open_()
    store.put(NS, "short", {"a": 1}, ttl=10)
    store.put(NS, "half", {"a": 1}, ttl=0.5)
    store.put(NS, "ever", {"a": 1})
    clock.pass_(0.6)
    assert store.get(NS, "half") is None
    assert {item.key for item in store.search(NS, refresh_ttl=False)} == {"short", "ever"}
    clock.pass_(10)
    assert store.get(NS, "short") is None
    assert [item.key for item in store.search(NS, filter={"a": 1})] == ["ever"]
    store.delete(NS, "ever")
    assert store.list_namespaces() == []
    assert store.sweep_ttl() == 2
    assert store.sweep_ttl() == 0


def test_reading_an_item_grants_its_minutes_anew_unless_told_not_to(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_()
    for key in ("got", "searched", "peeked", "unread"):
        store.put(NS, key, {"by": key}, ttl=10)
    clock.pass_(6)
    store.get(NS, "got")
    store.search(NS, filter={"by": "searched"})
    store.get(NS, "peeked", refresh_ttl=False)
    store.search(NS, filter={"by": "unread"}, refresh_ttl=False)
    clock.pass_(6)
    assert {item.key for item in store.search(NS)} == {"got", "searched"}


def test_only_the_page_that_was_read_is_refreshed(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_()
    for n in range(4):
        store.put(NS, str(n), {}, ttl=10)
    clock.pass_(6)
    [read] = store.search(NS, limit=1, offset=2)
    clock.pass_(6)
    assert [item.key for item in store.search(NS)] == [read.key]


def test_the_reads_of_one_batch_refresh_each_as_it_says(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_()
    store.batch([PutOp(NS, key, {}, ttl=10) for key in ("a", "b")])
    clock.pass_(6)
    store.batch(
        [
            GetOp(NS, "a", refresh_ttl=False),
            GetOp(NS, "b", refresh_ttl=True),
            SearchOp(NS, refresh_ttl=False),
        ]
    )
    clock.pass_(6)
    assert [item.key for item in store.search(NS)] == ["b"]


def test_the_configuration_is_what_puts_and_reads_default_to(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_(ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(NS, "default", {})
    store.put(NS, "own", {}, ttl=30)
    store.put(NS, "ever", {}, ttl=None)
    clock.pass_(6)
    assert len(store.search(NS)) == 3
    assert store.get(NS, "own", refresh_ttl=True) is not None
    clock.pass_(6)
    assert {item.key for item in store.search(NS)} == {"own", "ever"}
    clock.pass_(23)
    assert {item.key for item in store.search(NS)} == {"own", "ever"}
    clock.pass_(2)
    assert [item.key for item in store.search(NS)] == ["ever"]


def test_a_put_sets_the_time_to_live_anew_and_one_without_ends_it(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_()
    store.put(NS, "a", {"n": 1}, ttl=10)
    store.put(NS, "b", {"n": 1}, ttl=10)
    clock.pass_(6)
    store.put(NS, "a", {"n": 2}, ttl=10)
    store.put(NS, "b", {"n": 2})
    clock.pass_(6)
    assert {item.key for item in store.search(NS, refresh_ttl=False)} == {"a", "b"}
    clock.pass_(100)
    assert [item.key for item in store.search(NS)] == ["b"]


def test_an_expired_item_that_is_put_again_is_a_new_one(
    open_: Callable[..., HTMStore], clock: Clock
) -> None:
    store = open_()
    store.put(NS, "a", {"n": 1}, ttl=10)
    store.put(NS, "b", {"n": 1}, ttl=50)
    clock.pass_(20)
    store.put(NS, "a", {"n": 2})
    store.put(NS, "b", {"n": 2})
    new, old = store.get(NS, "a"), store.get(NS, "b")
    assert new is not None
    assert old is not None
    assert new.created_at == new.updated_at
    assert old.updated_at - old.created_at > timedelta(minutes=19)


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), 1e300, True, "10"])
def test_a_time_to_live_that_cannot_be_meant_is_refused(
    open_: Callable[..., HTMStore], ttl: Any
) -> None:
    with pytest.raises(InvalidInput, match="ttl"):
        open_().put(NS, "a", {}, ttl=ttl)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"default": 5}, "expected ttl to be a mapping of refresh_on_read.* got default"),
        ({"default_ttl": 0}, "expected default_ttl to be minutes above zero"),
        (
            {"sweep_interval_minutes": -1},
            "expected sweep_interval_minutes to be minutes above zero",
        ),
        (5, "expected ttl to be a mapping"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused(
    open_: Callable[..., HTMStore], config: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_(ttl=config)


# -- sweeping ---------------------------------------------------------------------------------------------------------


def test_the_sweeper_sweeps_until_it_is_stopped(
    open_: Callable[..., HTMStore], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_(ttl={"sweep_interval_minutes": 0.001})
    store.put(NS, "a", {}, ttl=10)
    clock.pass_(11)
    caplog.set_level(logging.INFO, "htm.langchain")
    future = store.start_ttl_sweeper()
    assert store.start_ttl_sweeper() is future
    until(lambda: "swept 1 expired items" in caplog.text)
    assert store.stop_ttl_sweeper(timeout=60)
    assert future.done()
    assert store.stop_ttl_sweeper()
    assert store.sweep_ttl() == 0
    again = store.start_ttl_sweeper(60)
    assert again is not future
    store.close()
    assert again.done()


def test_without_a_configuration_there_is_nothing_to_sweep(open_: Callable[..., HTMStore]) -> None:
    assert open_().start_ttl_sweeper().done()
    assert open_().stop_ttl_sweeper()


def test_a_cancelled_future_ends_the_sweeping() -> None:
    swept = threading.Event()
    sweeper = Sweeper(lambda: swept.set() or 0)
    future = sweeper.start(0.0005)
    assert swept.wait(60)
    assert future.cancel()
    assert sweeper.stop(timeout=60)


def test_a_failing_sweep_is_said_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    def sweep() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError("no server")
        return 0

    sweeper = Sweeper(sweep)
    sweeper.start(0.0005)
    until(lambda: len(calls) > 2)
    assert sweeper.stop(timeout=60)
    assert "a sweep of expired items failed" in caplog.text
    assert "no server" in caplog.text


def test_a_store_that_nobody_holds_sweeps_no_more(open_: Callable[..., HTMStore]) -> None:
    store = open_(ttl={"default_ttl": 5})
    future = store.start_ttl_sweeper(60)
    del store
    gc.collect()
    until(future.done)


def test_the_awaited_store_sweeps_as_well(open_: Callable[..., HTMStore], clock: Clock) -> None:
    async def run() -> None:
        store = open_(ttl={"sweep_interval_minutes": 60}, kind=AsyncHTMStore)
        assert isinstance(store, AsyncHTMStore)
        await store.setup()
        await store.aput(NS, "a", {}, ttl=10)
        task = await store.start_ttl_sweeper()
        clock.pass_(11)
        assert await store.sweep_ttl() == 1
        assert await store.stop_ttl_sweeper(60)
        await task
        task = await store.start_ttl_sweeper()
        task.cancel()
        assert await store.stop_ttl_sweeper(60)

    asyncio.run(run())
