"""The server goes away, comes back, is full or busy: calls fail with their reason, and then work again by themselves."""

from __future__ import annotations

import os
import signal
import socket

import psycopg
import pytest

from htm_core import DatabaseUnavailable, HTMError, Memory
from tests.servers import programs
from tests.servers.cluster import APP, HOST, Cluster
from tests.servers.conftest import NewCluster, Open


@pytest.fixture(scope="module")
def frail(new_cluster: NewCluster) -> Cluster:
    """A server that these tests may stop."""
    return new_cluster(programs.modern())


def again(memory: Memory, text: str) -> None:
    """Say it, and once more if the first time met the end of an old connection."""
    try:
        memory.remember(text, id=text)
    except HTMError:
        memory.remember(text, id=text)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restarted_server_is_found_again_without_restarting_the_process(
    frail: Cluster, memory_at: Open, end: str
) -> None:
    with memory_at(frail.dsn(), pool_timeout=2.0) as memory:
        memory.remember(f"before the {end}")
        getattr(frail, end)()
        with pytest.raises(DatabaseUnavailable, match="refused"):
            memory.remember("into the void")
        frail.start()
        again(memory, f"after the {end}")
        assert {node.content for node in memory.list()} == {f"before the {end}", f"after the {end}"}


def test_the_worker_takes_up_its_work_after_a_restart(frail: Cluster, memory_at: Open) -> None:
    with memory_at(frail.dsn(), worker="thread", pool_timeout=2.0) as memory:
        memory.remember("one")
        assert memory.flush(timeout=30)
        frail.stop()
        frail.start()
        again(memory, "two")
        assert memory.flush(timeout=60)
        assert memory.stats().vectors == 2


def test_after_all_its_connections_were_ended_the_next_call_works(
    cluster: Cluster, memory_at: Open
) -> None:
    with memory_at(cluster.dsn(), pool_min=3) as memory:
        memory.remember("before")
        with cluster.admin() as admin:
            ended = admin.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s",
                [APP],
            ).fetchall()
        assert ended
        memory.remember("after")
        assert len(memory.list()) == 2


@pytest.mark.timeout(60)
def test_a_session_that_no_longer_answers_is_told_and_replaced(
    frail: Cluster, memory_at: Open
) -> None:
    """Its host hangs, or a network swallowed it: the server's own time-outs do not help then."""
    with memory_at(frail.dsn(), pool_timeout=2.0) as memory:
        memory.remember("before")
        with frail.admin() as admin:
            sessions = admin.execute(
                "select pid from pg_stat_activity where usename = %s", [APP]
            ).fetchall()
        for (pid,) in sessions:
            os.kill(int(str(pid)), signal.SIGSTOP)
        try:
            with pytest.raises(DatabaseUnavailable, match="gave no answer for 2 seconds"):
                memory.remember("into the void")
        finally:
            for (pid,) in sessions:
                os.kill(int(str(pid)), signal.SIGCONT)
        again(memory, "after")
        assert {node.content for node in memory.list()} == {"before", "after"}


@pytest.mark.timeout(60)
def test_of_several_addresses_the_one_that_answers_is_used(frail: Cluster, memory_at: Open) -> None:
    with socket.socket() as silent:
        silent.bind((HOST, 0))
        silent.listen()  # and never says a word
        two = f"@{HOST}:{silent.getsockname()[1]},{HOST}:{frail.port}/"
        with memory_at(
            frail.dsn().replace(f"@{HOST}:{frail.port}/", two), pool_timeout=8.0
        ) as memory:
            memory.remember("by the second address")
            assert len(memory.list()) == 1


def test_a_network_that_swallows_everything_ends_a_connection_within_a_minute(
    frail: Cluster, memory_at: Open
) -> None:
    """The system is asked to notice; what the url says about it counts more."""
    for url, milliseconds in ((frail.dsn(), 60_000), (frail.dsn(tcp_user_timeout=5_000), 5_000)):
        with memory_at(url)._engine.database.transaction("t") as connection:
            held = socket.socket(fileno=os.dup(connection.fileno()))
            assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == milliseconds
            assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
            held.close()


def test_a_full_server_is_named_as_the_reason(frail: Cluster, memory_at: Open) -> None:
    with frail.admin() as admin:
        admin.execute(f"alter role {APP} connection limit 0")
        try:
            with pytest.raises(DatabaseUnavailable, match="too many connections"):
                memory_at(frail.dsn(), pool_timeout=2.0).remember("no room")
        finally:
            admin.execute(f"alter role {APP} connection limit -1")


def test_a_server_that_fills_up_later_is_named_as_the_reason_too(
    frail: Cluster, memory_at: Open
) -> None:
    memory = memory_at(frail.dsn(), pool_min=0, pool_timeout=2.0)
    memory.remember("there was room")
    with frail.admin() as admin:
        admin.execute(f"alter role {APP} connection limit 0")
        try:
            admin.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s",
                [APP],
            )
            with pytest.raises(DatabaseUnavailable, match="too many connections"):
                memory.remember("no room")
        finally:
            admin.execute(f"alter role {APP} connection limit -1")
    again(memory, "room again")


def test_a_database_that_only_reads_is_not_taken_for_a_standby(
    frail: Cluster, memory_at: Open
) -> None:
    """It is said where the setting is; the connection string can ask for a server that writes."""
    with frail.admin() as admin:
        admin.execute("alter database htm set default_transaction_read_only = on")
        try:
            with pytest.raises(
                HTMError, match="The server is no standby: default_transaction_read_only = on"
            ):
                memory_at(frail.dsn()).remember("read only")
            with pytest.raises(DatabaseUnavailable, match="session is read-only"):
                memory_at(frail.dsn(target_session_attrs="read-write")).remember("read only")
        finally:
            psycopg.connect(frail.dsn("postgres", database="postgres"), autocommit=True).execute(
                "alter database htm reset default_transaction_read_only"
            )
