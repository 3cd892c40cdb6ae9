"""The breaker lets a model that is away alone, and tries it again one probe at a time; the rate keeps to its calls."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import Memory, Settings
from htm_core.hive import breaker as module
from htm_core.hive.breaker import FAILURES, LONGEST_PAUSE, Breaker, Rate
from htm_core.hive.pacing import Pacing
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder


class Clock:
    """A clock that goes when it is told."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


def broken(clock: Clock, *, dice: float = 0.5) -> Breaker:
    breaker = Breaker(now=clock, dice=lambda: dice)
    for _ in range(FAILURES):
        breaker.failed()
    return breaker


def test_it_lets_everything_through_until_three_failures_in_a_row(clock: Clock) -> None:
    breaker = Breaker(now=clock, dice=lambda: 0.5)
    for _ in range(5):
        breaker.failed()
        breaker.failed()
        assert (breaker.state, breaker.admit(64), breaker.wait) == ("closed", 64, 0.0)
        assert breaker.succeeded()
    assert not breaker.succeeded(), "it had not failed"
    assert broken(clock).state == "open"


def test_open_it_lets_nothing_through_until_the_pause_is_over_and_then_one_probe_at_a_time(clock: Clock) -> None:
    breaker = broken(clock)
    assert (breaker.admit(64), breaker.wait) == (0, 4.0)
    clock.at += 3.9
    assert breaker.admit(64) == 0
    clock.at += 0.2
    assert breaker.state == "half-open"
    assert [breaker.admit(64) for _ in range(3)] == [1, 0, 0]
    breaker.succeeded()
    assert (breaker.state, breaker.admit(64)) == ("closed", 64)


def test_a_probe_that_fails_opens_it_for_twice_as_long(clock: Clock) -> None:
    breaker = broken(clock)
    waits = [breaker.wait]
    for _ in range(12):
        clock.at += breaker.wait
        assert breaker.admit(1) == 1
        breaker.failed()
        assert breaker.state == "open"
        waits.append(breaker.wait)
    assert waits[:3] == [4.0, 8.0, 16.0]
    assert max(waits) == LONGEST_PAUSE


def test_a_probe_that_came_to_nothing_leaves_room_for_another(clock: Clock) -> None:
    breaker = broken(clock)
    breaker.hurry()
    assert (breaker.admit(64), breaker.admit(64)) == (1, 0)
    breaker.withdraw()
    assert breaker.admit(64) == 1


@given(st.lists(st.sampled_from(["ok", "fail", "ask", "wait", "hurry", "withdraw"]), max_size=60), st.floats(0, 1))
def test_at_most_one_probe_is_ever_out_and_a_success_always_closes(steps: list[str], dice: float) -> None:
    clock = Clock()
    breaker = Breaker(now=clock, dice=lambda: dice)
    out = 0
    for step in steps:
        if step == "ask":
            state, admitted = breaker.state, breaker.admit(8)
            assert admitted == {"closed": 8, "open": 0}.get(state, admitted)
            out += admitted if state == "half-open" else 0
            assert out <= 1
        elif step == "ok":
            breaker.succeeded()
            assert breaker.state == "closed"
            out = 0
        elif step == "fail":
            assert 0.5 * module.FIRST_PAUSE <= breaker.failed() <= 1.5 * LONGEST_PAUSE
            out = 0
        elif step == "withdraw":
            breaker.withdraw()
            out = 0
        elif step == "hurry":
            breaker.hurry()
            assert breaker.state != "open"
        else:
            clock.at += 1.0


@given(st.floats(1, 600), st.lists(st.floats(0, 20), min_size=1, max_size=50))
def test_no_minute_has_more_calls_than_the_rate(per_minute: float, gaps: list[float]) -> None:
    clock = Clock()
    rate = Rate(per_minute, now=clock)
    calls: list[float] = []
    for gap in gaps:
        clock.at += gap
        for _ in range(rate.room):
            rate.take(1)
            calls.append(clock.at)
        assert rate.room == 0
        assert rate.wait > 0
    burst = max(1.0, per_minute / 60)
    for start in calls:
        within = sum(start <= call < start + 60 for call in calls)
        assert within <= per_minute + burst + 1e-6


def test_the_longest_beginning_of_a_models_name_says_its_rate(clock: Clock) -> None:
    pacing = Pacing(rates=[("", 6_000.0), ("ollama:", 60.0), ("ollama:big", 6.0)], now=clock, dice=lambda: 0.5)
    for model, room in (("keywords", 64), ("ollama:small", 1), ("ollama:big-one", 1), ("", 64)):
        assert pacing.admit(model, 64, each=True) == room
        pacing.taken(model, room, each=True)
    assert [round(pacing.wait(model), 3) for model in ("ollama:small", "ollama:big-one", "")] == [1.0, 10.0, 0.0]
    assert pacing.admit("ollama:small", 64, each=True) == 0
    clock.at += 1.0
    assert pacing.admit("ollama:small", 64, each=False) == 64, "a batch is one call"


# -- in a worker ----------------------------------------------------------------------------------------------------


def until(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return False


def only(memory: Memory) -> str:
    """The state of the breaker of this memory's embedder."""
    return memory.stats().breakers[memory._mind.embedder.name]


def test_an_embedder_that_fails_and_recovers_needs_nobody_to_do_anything(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by words at once, by meaning afterwards; the breaker's states can be seen on the way."""
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr("htm_core.hive.worker.IDLE_SECONDS", 0.2)
    embedder = HashEmbedder(name=f"outage-{uuid.uuid4().hex[:8]}")
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker_batch": 4})
    with make(embedder=embedder, settings=settings) as memory:
        embedder.down = True
        memory.remember_many([{"content": f"penguin number {n}"} for n in range(20)])
        assert len(memory.recall("penguin", limit=20)) == 20
        assert memory.recall("penguin").degraded
        assert until(lambda: only(memory) == "open")
        asked = embedder.calls
        assert memory.stats().parked_jobs == 0
        embedder.down = False
        assert until(lambda: memory.stats().pending_jobs == 0)
        assert memory.stats().vectors == 20
        assert only(memory) == "closed"
        assert memory.recall("penguin number 7", mode="vector")[0].content == "penguin number 7"
        assert embedder.calls > asked


def test_flush_tries_a_model_that_was_away_at_once_and_ends_while_it_is_away(make: Make) -> None:
    embedder = HashEmbedder(name=f"outage-{uuid.uuid4().hex[:8]}")
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "worker_batch": 2})
    with make(embedder=embedder, settings=settings) as memory:
        embedder.down = True
        memory.remember_many([{"content": f"text {n}"} for n in range(12)])
        assert not memory.flush(timeout=60)
        assert only(memory) == "open"
        calls = embedder.calls
        assert memory._household.worker.drain() == 0, "an open breaker lets nothing through"
        assert not memory.flush(timeout=60)
        assert embedder.calls == calls + 2, "one probe, and the question whether it is the model"
        embedder.down = False
        assert memory.flush(timeout=60)
        assert (only(memory), memory.stats().vectors) == ("closed", 12)


def test_a_rate_is_kept_to(make: Make) -> None:
    asked: list[str] = []

    def tagger(text: str, known: object) -> list[str]:
        asked.append(text)
        return ["text"]

    tagger.__qualname__ = f"rated-{uuid.uuid4().hex[:8]}"
    options = {"worker": "off", "model_rates": ((tagger.__qualname__, 60.0),)}
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | options)
    with make(embedder=HashEmbedder(name="rated"), settings=settings, tagger=tagger) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(5)])
        memory._household.worker.drain()
        assert len(asked) == 1
        assert until(lambda: bool(memory._household.worker.drain()))
        assert 2 <= len(asked) <= 4
