"""Sessions that end in the middle of a verb: it is done once, or its error says what became of it, and the next call works."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from htm_core import DatabaseUnavailable, Memory
from tests.servers.cluster import APP, Cluster
from tests.servers.conftest import Open

WAITING = "select pid from pg_stat_activity where usename = %s and wait_event_type = 'Lock'"
ENDING = """
create or replace function public.end_at_commit() returns trigger language plpgsql security definer
as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
create constraint trigger end_at_commit after insert on htm.mentions deferrable initially deferred
for each row when (new.tenant = 'TENANT') execute function public.end_at_commit()
"""


@contextlib.contextmanager
def locked(cluster: Cluster, table: str) -> Iterator[None]:
    """Keep everybody else from a table."""
    with cluster.admin() as admin, admin.transaction():
        admin.execute(f"lock table htm.{table} in access exclusive mode")
        yield


def end_waiting(cluster: Cluster) -> None:
    """End the application's session that waits for a lock, as soon as there is one."""
    with cluster.admin() as admin:
        for _ in range(3_000):
            if waiting := admin.execute(WAITING, [APP]).fetchall():
                for (pid,) in waiting:
                    admin.execute("select pg_terminate_backend(%s, 5000)", [pid])
                return
            time.sleep(0.01)
    pytest.fail("nobody waited for the lock")


def contents(memory: Memory) -> list[str | None]:
    return [mention.content for mention in memory.timeline(session="s", limit=1_000)]


def test_what_was_being_remembered_when_its_session_ended_is_remembered_once(
    cluster: Cluster, memory_at: Open
) -> None:
    with memory_at(cluster.dsn()) as memory, ThreadPoolExecutor(1) as pool:
        memory.remember("before", session="s")
        with locked(cluster, "sessions"):
            said = pool.submit(memory.remember, "meanwhile", session="s")
            end_waiting(cluster)
        said.result(60)
        assert contents(memory) == ["before", "meanwhile"]


def test_a_question_whose_session_ended_says_so_and_is_answered_when_asked_again(
    cluster: Cluster, memory_at: Open
) -> None:
    with memory_at(cluster.dsn()) as memory, ThreadPoolExecutor(1) as pool:
        memory.remember("the ferry leaves at nine")
        with locked(cluster, "nodes"):
            asked = pool.submit(memory.recall, "ferry", mode="text")
            end_waiting(cluster)
        with contextlib.suppress(DatabaseUnavailable):
            asked.result(60)
        if error := asked.exception():
            assert "ended during a transaction" in str(error)
            assert "terminating connection" in str(error)
        assert [hit.content for hit in memory.recall("ferry", mode="text")] == [
            "the ferry leaves at nine"
        ]


def test_a_session_that_ends_while_it_commits_leaves_the_outcome_to_the_same_id(
    cluster: Cluster, memory_at: Open, tenant: str
) -> None:
    """Nobody can know whether such a transaction is done; said again with its id it is there once, either way."""
    with memory_at(cluster.dsn()) as memory, cluster.admin() as admin:
        admin.execute(ENDING.replace("TENANT", tenant))
        try:
            with pytest.raises(DatabaseUnavailable, match="unknown: repeat it with the same id"):
                memory.remember("perhaps", session="s", id="one")
        finally:
            admin.execute("drop function public.end_at_commit() cascade")
        memory.remember("perhaps", session="s", id="one")
        assert contents(memory) == ["perhaps"]


def test_while_sessions_are_ended_at_random_every_memory_is_there_once(
    oldest: Cluster, memory_at: Open
) -> None:
    dice, over = random.Random(7), threading.Event()

    def end_some() -> None:
        with oldest.admin() as admin:
            while not over.wait(0.05):
                for (pid,) in admin.execute(
                    "select pid from pg_stat_activity where usename = %s", [APP]
                ).fetchall():
                    if dice.random() < 0.3:
                        admin.execute("select pg_terminate_backend(%s)", [pid])

    def say(memory: Memory, robot: int) -> None:
        for n in range(20):
            for attempt in range(20):
                try:
                    memory.remember(f"robot {robot} says {n}", session="s", id=f"{robot}-{n}")
                    break
                except DatabaseUnavailable:
                    time.sleep(0.02 * attempt)
            else:
                pytest.fail("twenty connections ended one after another")

    with memory_at(oldest.dsn()) as memory, ThreadPoolExecutor(5) as pool:
        storm = pool.submit(end_some)
        try:
            for talk in [pool.submit(say, memory, robot) for robot in range(4)]:
                talk.result(120)
        finally:
            over.set()
        storm.result(10)
        said = contents(memory)
        assert len(said) == 80
        assert set(said) == {f"robot {robot} says {n}" for robot in range(4) for n in range(20)}
