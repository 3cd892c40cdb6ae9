"""When a replica may answer and when it is left, told by a clock and a primary that these tests move on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from pydantic import SecretStr

from htm_core import Settings
from htm_core.db.cluster import replicas
from htm_core.db.cluster.replicas import NoReplica, Replicas, ReplicaState, Written
from htm_core.db.connection import BEGIN


class Standby:
    """A connection to a replica, and the pool that lends it."""

    replayed, closed, is_direct = 0, False, True

    def getconn(self, timeout: float) -> Standby:
        return self

    def putconn(self, connection: Standby) -> None: ...

    def check(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None:
        self.closed = True


class World:
    """The time, how far the primary and the replica are, and the replicas as a process reads from them."""

    def __init__(self) -> None:
        self.now, self.primary, self.replica = 1000.0, 0, 0
        self.standby = Standby()
        self.asked: Callable[[], int] = lambda: self.primary
        self.replicas = self.made()

    def made(self) -> Replicas:
        make: Any = lambda dsn: self.standby  # noqa: E731
        return Replicas(
            SecretStr("host=replica"),
            settings=Settings(read_max_lag=10.0, read_wait=0.0),
            written=Written(),
            make_pool=make,
            ask_primary=lambda: self.asked(),
        )

    def answers(self) -> bool:
        """Whether the replica may answer now."""
        try:
            self.replicas.run(lambda connection: None)
        except NoReplica:
            return False
        return True


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A primary and a replica at position 100."""
    made = World()
    made.primary = made.replica = 100
    monkeypatch.setattr(
        replicas, "replica_state", lambda connection: ReplicaState(True, made.replica)
    )
    monkeypatch.setattr(f"{replicas.__name__}.time.monotonic", lambda: made.now)
    return made


def test_the_bound_is_kept_however_seldom_is_read(world: World) -> None:
    """A position that was asked for at 0 s is too old at 14 s, also when the next one was asked for at 9.9 s."""
    assert world.answers()
    world.primary = 200
    world.now += 9.9
    assert world.answers()
    world.now += 4.5
    assert not world.answers()


def test_the_bound_is_kept_though_the_primary_was_once_too_busy_to_say(world: World) -> None:
    def busy() -> int:
        """No connection in time."""
        raise psycopg.OperationalError("busy")

    assert world.answers()
    world.primary = 200
    world.now += 5.1
    well, world.asked = world.asked, busy
    assert world.answers()
    world.asked = well
    world.now += 5.1
    assert not world.answers()


def test_a_primary_that_is_down_is_asked_seldom_and_the_replica_answers(world: World) -> None:
    asked = []

    def down() -> int:
        """Note the question."""
        asked.append(world.now)
        raise psycopg.OperationalError("down")

    world.asked = down
    for _ in range(100):
        assert world.answers()
        world.now += 0.2
    assert len(asked) == 4


def test_while_one_thread_asks_the_primary_for_the_first_time_no_other_reads_without_a_bound(
    world: World,
) -> None:
    """A replica that is far behind answers neither of two threads that begin at once."""
    world.primary = 200
    both = Barrier(2, timeout=10)

    def slow() -> int:
        """Answer when both ask."""
        both.wait()
        return world.primary

    world.asked = slow
    with ThreadPoolExecutor(2) as threads:
        assert [each.result() for each in [threads.submit(world.answers) for _ in range(2)]] == [
            False,
            False,
        ]


def test_one_event_that_many_threads_meet_is_one_pause_and_one_warning(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    together = Barrier(8, timeout=10)

    def lost(connection: object) -> None:
        """Fail when all are at work."""
        together.wait()
        raise psycopg.OperationalError("the session ended")

    def one(_: int) -> None:
        with pytest.raises(NoReplica):
            world.replicas.run(lost)

    with ThreadPoolExecutor(8) as threads, caplog.at_level(logging.WARNING, "htm.replicas"):
        list(threads.map(one, range(8)))
    assert len(caplog.records) == 1
    assert not world.answers()
    world.now += replicas.FIRST_PAUSE
    assert world.answers()


@pytest.mark.parametrize(
    "error",
    [
        psycopg.InterfaceError,
        pg.IdleInTransactionSessionTimeout,
        pg.InternalError_,
        pg.DataCorrupted,
        pg.InvalidParameterValue,
    ],
)
def test_what_says_nothing_against_the_question_is_asked_of_the_primary(
    world: World, error: type[psycopg.Error]
) -> None:
    def work(connection: object) -> None:
        raise error("not here")

    with pytest.raises(NoReplica):
        world.replicas.run(work)


@pytest.mark.parametrize(
    "error", [pg.NumericValueOutOfRange, pg.InvalidRegularExpression, KeyError]
)
def test_what_says_something_against_the_question_is_raised_and_asked_once(
    world: World, error: type[Exception]
) -> None:
    def work(connection: object) -> None:
        raise error("impossible")

    with pytest.raises(error):
        world.replicas.run(work)
    assert world.answers()


@pytest.mark.parametrize(
    "error", [pg.InvalidSqlStatementName, pg.FeatureNotSupported, pg.DuplicatePreparedStatement]
)
def test_a_connection_whose_prepared_statements_are_gone_is_replaced_and_the_replica_kept(
    world: World, error: type[psycopg.Error], caplog: pytest.LogCaptureFixture
) -> None:
    """It would fail each time for as long as it lives."""

    def work(connection: object) -> None:
        raise error("prepared statement")

    with pytest.raises(NoReplica):
        world.replicas.run(work)
    assert world.standby.closed
    assert world.answers()
    assert "left the replica" not in caplog.text


def test_behind_a_pooler_each_read_looks_at_the_very_server_that_answers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another replica had, a moment ago on the same connection, says nothing of this one."""
    sent = []
    monkeypatch.setattr(
        replicas, "check", lambda connection, *, patience, opening: sent.append(opening)
    )
    world.standby.is_direct = False
    assert world.answers()
    world.replica = 50
    assert not world.answers()
    assert sent == [BEGIN.encode()] * 2
