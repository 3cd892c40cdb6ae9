"""The breaker stops calls to a model that is away and tries it again one probe at a time; the rate limits its calls.

All workers of a database share both: here several workers of one process, and real processes.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import Memory, Settings
from htm_core.db.database import Database
from htm_core.jobs import model_status, rate_limits
from htm_core.jobs.rate_limits import FAILURES, RateLimit, RateLimits
from tests.conftest import SETTINGS, Make
from tests.jobs import prober
from tests.stand_ins import HashEmbedder

ROOT = Path(__file__).parents[2]
PAUSE = 100.0  # seconds: long enough that no test is too slow to see it


class Model:
    """A model that no other test has, as one or several workers see it; `passes` moves its clock."""

    def __init__(
        self, database: Database, *, rates: list[tuple[str, float]] | None = None, workers: int = 1
    ) -> None:
        self.name = f"model-{uuid.uuid4().hex[:8]}"
        self.workers = [RateLimits(rates=rates or [], jitter=lambda: 0.5) for _ in range(workers)]
        self.database = database

    def admit(
        self, wanted: int = 64, *, by: int = 0, each: bool = True, found: int | None = None
    ) -> int:
        with self.database.transaction("", role="htm_worker") as connection:
            room = self.workers[by].admit(connection, self.name, wanted, per_job=each, lease=PAUSE)
            if room:
                self.workers[by].record_claims(
                    connection, self.name, room if found is None else found, per_job=each
                )
            return room

    def fails(self, *, by: int = 0, lasted: float = 0.0) -> float:
        with self.database.transaction("", role="htm_worker") as connection:
            return self.workers[by].record_failure(connection, self.name, lasted=lasted)

    def answers(self, *, by: int = 0) -> bool:
        with self.database.transaction("", role="htm_worker") as connection:
            return self.workers[by].record_success(connection, self.name)

    def withdraws(self, *, by: int = 0) -> None:
        with self.database.transaction("", role="htm_worker") as connection:
            self.workers[by].cancel_probe(connection, self.name)

    def is_wanted(self) -> None:
        with self.database.transaction("", role="htm_worker") as connection:
            model_status.make_due(connection, [self.name])

    def passes(self, seconds: float) -> None:
        with self.database.transaction("", role="htm_worker") as connection:
            connection.execute(
                "update model_status set failed_at = failed_at - d, open_until = open_until - d, probe_until = probe_until - d, "
                "spent_until = spent_until - d from make_interval(secs => %s) d where model = %s",
                [seconds, self.name],
            )

    def breaks(self) -> None:
        for _ in range(FAILURES):
            self.fails()

    @property
    def state(self) -> str:
        with self.database.transaction("", role="htm_worker") as connection:
            return self.workers[-1].breaker_states(connection, [self.name])[self.name]

    @property
    def wait(self) -> float:
        with self.database.transaction("", role="htm_worker") as connection:
            return self.workers[-1].waits(connection, [self.name])[self.name]


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of minutes."""
    monkeypatch.setattr(rate_limits, "FIRST_PAUSE", PAUSE)
    monkeypatch.setattr(rate_limits, "LONGEST_PAUSE", 300 * PAUSE)


pytestmark = pytest.mark.usefixtures("slowly")


def test_it_lets_everything_through_until_three_failures_in_a_row(database: Database) -> None:
    model = Model(database)
    for _ in range(5):
        model.fails()
        model.fails()
        assert (model.state, model.admit(), model.wait) == ("closed", 64, 0.0)
        assert model.answers()
    assert not model.answers(), "it had not failed"
    model.breaks()
    assert model.state == "open"


def test_open_it_lets_nothing_through_until_the_pause_is_over_and_then_one_probe_at_a_time(
    database: Database,
) -> None:
    model = Model(database, workers=3)
    model.breaks()
    assert [model.admit(by=each) for each in range(3)] == [0, 0, 0]
    assert 3 * PAUSE < model.wait <= 4 * PAUSE
    model.passes(4 * PAUSE)
    assert model.state == "half-open"
    assert [model.admit(by=each) for each in (1, 0, 1, 2)] == [1, 0, 0, 0]
    assert 0 < model.wait <= rate_limits.PROBE_WAIT, "the others look again soon"
    model.answers(by=1)
    assert [(model.state, model.admit(by=each)) for each in range(3)] == [("closed", 64)] * 3


def test_a_probe_that_fails_opens_it_for_twice_as_long(database: Database) -> None:
    model = Model(database, workers=2)
    model.breaks()
    pauses = []
    for turn in range(12):
        model.passes(300 * PAUSE)
        assert model.admit(by=turn % 2) == 1
        pauses.append(model.fails(by=turn % 2))
        assert (model.state, model.admit(by=turn % 2)) == ("open", 0)
    assert pauses[:3] == [8 * PAUSE, 16 * PAUSE, 32 * PAUSE]
    assert max(pauses) == 300 * PAUSE


def test_a_probe_that_came_to_nothing_leaves_room_for_another(database: Database) -> None:
    model = Model(database, workers=2)
    model.breaks()
    model.is_wanted()
    assert (model.admit(), model.admit(by=1)) == (1, 0)
    model.withdraws(by=1)
    assert model.admit(by=1) == 0, "it was another's"
    model.withdraws()
    assert model.admit(by=1, found=0) == 1
    assert model.admit() == 1, "there was no work for it"


def test_a_prober_that_is_not_heard_of_again_is_taken_for_dead(database: Database) -> None:
    model = Model(database, workers=2)
    model.breaks()
    model.is_wanted()
    assert (model.admit(), model.admit(by=1)) == (1, 0)
    model.passes(PAUSE)
    assert (model.admit(by=1), model.admit()) == (1, 0)
    model.withdraws()
    assert model.admit() == 0, "a prober that was replaced does not end the probe of the next one"
    model.answers(by=1)
    assert model.state == "closed"


def test_calls_that_fail_together_are_one_failure(database: Database) -> None:
    """However many workers there are, an outage of a moment is not one of minutes."""
    model = Model(database, workers=8)
    assert {model.fails(by=each, lasted=60.0) for each in range(8)} == {PAUSE}
    assert model.state == "closed"
    model.passes(60.0)
    assert {model.fails(by=each, lasted=30.0) for each in range(8)} == {2 * PAUSE}


def test_a_worker_whose_transaction_is_rolled_back_has_not_probed_or_called(
    database: Database,
) -> None:
    model = Model(database, rates=[("model-", 1.0)])
    model.breaks()
    model.is_wanted()
    with (
        contextlib.suppress(ZeroDivisionError),
        database.transaction("", role="htm_worker") as connection,
    ):
        assert model.workers[0].admit(connection, model.name, 64, per_job=True, lease=PAUSE) == 1
        model.workers[0].record_claims(connection, model.name, 1, per_job=True)
        1 / 0  # noqa: B018  # whatever ends it before its commit
    assert model.admit() == 1


def test_of_workers_that_ask_at_once_one_probes(database: Database) -> None:
    model = Model(database, workers=6)
    model.breaks()
    for _ in range(5):
        model.is_wanted()
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(lambda each: model.admit(by=each), range(6))) == 1
        model.fails(lasted=0.0)


def test_workers_that_ask_at_once_keep_to_one_rate(database: Database) -> None:
    model = Model(database, rates=[("model-", 600.0)], workers=6)  # ten at once, ten a second
    with ThreadPoolExecutor(6) as pool:
        begun = time.monotonic()
        admitted = sum(pool.map(lambda each: model.admit(4, by=each), range(6)))
        took = time.monotonic() - begun
    assert 10 <= admitted <= 10 + 10 * took


@pytest.mark.parametrize("seed", range(5))
def test_at_most_one_probe_is_ever_out_and_a_success_always_closes(
    database: Database, seed: int
) -> None:
    rng, model = random.Random(seed), Model(database, workers=3)
    out: set[int] = set()
    for _ in range(60):
        who = rng.randrange(3)
        step = rng.choice(["ask", "ask", "answers", "fails", "fails", "hurry", "withdraws"])
        if step == "ask":
            state, admitted = model.state, model.admit(8, by=who)
            assert admitted == {"closed": 8, "open": 0, "half-open": int(not out)}[state]
            out |= {who} if state == "half-open" and admitted else set()
        elif step == "answers":
            model.answers(by=who)
            assert model.state == "closed"
            out = set()
        elif step == "fails":
            assert 0.5 * PAUSE <= model.fails(by=who) <= 1.5 * 300 * PAUSE
            out = set()
        elif step == "withdraws":
            model.withdraws(by=who)
            out -= {who}
        else:
            model.is_wanted()
            assert model.state != "open"


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_pause_is_never_longer_than_the_longest(failures: int, jitter: float) -> None:
    assert (
        0.5 * rate_limits.FIRST_PAUSE
        <= rate_limits.pause_after(failures, jitter)
        <= 1.5 * rate_limits.LONGEST_PAUSE
    )


@given(st.floats(1, 600), st.lists(st.floats(0, 20), min_size=1, max_size=50))
def test_no_minute_has_more_calls_than_the_rate(per_minute: float, gaps: list[float]) -> None:
    limit, now, spent_until = RateLimit(per_minute), 1_000.0, 0.0
    calls: list[float] = []
    for gap in gaps:
        now += gap
        while limit.room(spent_until - now):
            spent_until = now + limit.after(spent_until - now, 1)
            calls.append(now)
        assert limit.wait(spent_until - now) > 0
    burst = max(1.0, per_minute / 60)
    for start in calls:
        within = sum(start <= call < start + 60 for call in calls)
        assert within <= per_minute + burst + 1e-6


def test_the_longest_beginning_of_a_models_name_says_its_rate(database: Database) -> None:
    name = f"model-{uuid.uuid4().hex[:8]}"
    limits = RateLimits(
        rates=[("", 6_000.0), (name, 0.06), (f"{name}:big", 0.006)], jitter=lambda: 0.5
    )
    with database.transaction("", role="htm_worker") as connection:
        for model, room in (
            (f"other-{name}", 64),
            (f"{name}:small", 1),
            (f"{name}:big-one", 1),
            ("", 64),
        ):
            assert limits.admit(connection, model, 64, per_job=True, lease=PAUSE) == room
            limits.record_claims(connection, model, room, per_job=True)
        waits = limits.waits(connection, [f"{name}:small", f"{name}:big-one"])
        assert 900 < waits[f"{name}:small"] <= 1_000
        assert 9_900 < waits[f"{name}:big-one"] <= 10_000
        assert limits.admit(connection, f"{name}:small", 64, per_job=True, lease=PAUSE) == 0
        assert limits.admit(connection, f"{name}:batches", 64, per_job=False, lease=PAUSE) == 64, (
            "a batch is one call"
        )


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
    return memory.stats().breakers[memory._engine.embedder.name]


def test_an_embedder_that_fails_and_recovers_needs_nobody_to_do_anything(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by words at once, by meaning afterwards; the breaker's states can be seen on the way."""
    monkeypatch.setattr(rate_limits, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr("htm_core.jobs.claims.IDLE_SECONDS", 0.2)
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
        memory._runtime.worker.drain()  # also what other tests have left
        assert embedder.calls == calls, "an open breaker lets nothing through"
        assert not memory.flush(timeout=60)
        assert embedder.calls == calls + 2, "one probe, and the question whether it is the model"
        embedder.down = False
        assert memory.flush(timeout=60)
        assert (only(memory), memory.stats().vectors) == ("closed", 12)


class Filing:
    """A tagger that counts its calls."""

    def __init__(self) -> None:
        self.model = f"filing-{uuid.uuid4().hex[:8]}"
        self.asked = 0

    def tag(self, text: str, known: object) -> list[str]:
        self.asked += 1
        return ["text"]


def test_a_rate_is_kept_to_by_all_workers_together(make: Make, url: str | None) -> None:
    tagger, embedder = Filing(), HashEmbedder(name=f"rated-{uuid.uuid4().hex[:8]}")
    options = {"worker": "off", "model_rates": ((f"Filing:{tagger.model}", 60.0),)}
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | options)
    elsewhere = Settings(**settings.model_dump(by_alias=True) | {"aio_threads": 3})
    with (
        make(embedder=embedder, settings=settings, tagger=tagger) as memory,
        make(embedder=embedder, settings=elsewhere, tagger=tagger) as other,
    ):
        workers = [memory._runtime.worker, other._runtime.worker]
        assert workers[0] is not workers[1]
        memory.remember_many([{"content": f"text {n}"} for n in range(30)])
        begun = time.monotonic()
        assert until(lambda: sum(worker.drain() for worker in workers) >= 0 and tagger.asked >= 3)
        assert tagger.asked <= 1 + (time.monotonic() - begun)


def test_what_one_worker_learned_of_a_model_all_know(make: Make) -> None:
    embedder = HashEmbedder(name=f"outage-{uuid.uuid4().hex[:8]}")
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "worker_batch": 2})
    elsewhere = Settings(**settings.model_dump(by_alias=True) | {"aio_threads": 3})
    with (
        make(embedder=embedder, settings=settings) as memory,
        make(embedder=embedder, settings=elsewhere) as other,
    ):
        embedder.down = True
        memory.remember_many([{"content": f"text {n}"} for n in range(12)])
        memory._runtime.worker.drain()
        calls = embedder.calls
        assert (only(other), other._runtime.worker.drain()) == ("open", 0)
        assert embedder.calls == calls
        embedder.down = False
        assert other.flush(timeout=60)
        assert (only(memory), memory.stats().vectors) == ("closed", 12)


# -- in several processes ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def another(
    url: str | None, tenant: str, embedder: HashEmbedder, way: str
) -> Iterator[subprocess.Popen[str]]:
    """A process that asks this model."""
    home = os.environ["HTM_HOME"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.prober", url or "", tenant, embedder.model, way],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), "HTM_HOME": home},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_breaker_that_one_process_opened_is_open_in_another_and_a_dead_prober_holds_nobody_up(
    url: str | None, make: Make
) -> None:
    embedder = HashEmbedder(name=f"outage-{uuid.uuid4().hex[:8]}")
    options = {"worker": "off", "worker_batch": 1, "worker_lease": prober.LEASE}
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | options)
    with make(embedder=embedder, settings=settings) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(6)])
        with another(url, memory.tenant, embedder, "down") as process:
            assert process.stdout is not None
            assert process.stdout.readline().split("=")[-1] == "open\n"
        assert only(memory) == "open"
        assert (memory._runtime.worker.drain(), embedder.calls) == (0, 0)
        with another(url, memory.tenant, embedder, "silent") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "asked\n"
        assert only(memory) == "half-open"
        assert memory.flush(timeout=60), "tried when the claim of the dead is over"
        assert (only(memory), memory.stats().vectors) == ("closed", 6)
