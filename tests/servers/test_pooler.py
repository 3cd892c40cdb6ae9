"""Behind PgBouncer in transaction mode, with one session of the server for all clients: nothing leaks, nothing breaks."""

from __future__ import annotations

import contextlib
import logging
import random
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from htm_core import DatabaseUnavailable, StorageError, shutdown
from htm_core.db import indexes
from htm_core.db.migrate import migrate
from tests.langchain.test_distant import STEPS, in_steps
from tests.langchain.test_middleware import config, said
from tests.proxy import Proxy
from tests.servers import programs
from tests.servers.cluster import ADMIN, MIGRATOR, Cluster
from tests.servers.conftest import NewCluster, Open
from tests.servers.pooler import Pooler
from tests.servers.verbs import every_verb

LEFT = """
select current_user = session_user as own_role, current_setting('search_path') as path,
       coalesce(current_setting('htm.tenant', true), '') as tenant, current_setting('statement_timeout') as timeout,
       (select count(*) from pg_prepared_statements) as prepared,
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks
"""


def left_behind(pooler: Pooler) -> dict[str, Any]:
    """What the next client of the server's session finds in it."""
    with psycopg.connect(pooler.dsn(), autocommit=True, prepare_threshold=None) as connection:
        row = connection.execute(LEFT).fetchone()
    assert row is not None
    return dict(
        zip(("own_role", "path", "tenant", "timeout", "prepared", "locks"), row, strict=True)
    )


CLEAN = {
    "own_role": True,
    "path": '"$user", public',
    "tenant": "",
    "timeout": "0",
    "prepared": 0,
    "locks": 0,
}


def test_every_verb_is_served_and_nothing_is_left_in_the_session(
    pooler: Pooler, memory_at: Open
) -> None:
    with memory_at(pooler.dsn()) as memory:
        every_verb(memory)
        assert left_behind(pooler) == CLEAN


def test_with_a_worker_of_its_own_too(pooler: Pooler, memory_at: Open) -> None:
    with memory_at(pooler.dsn(), worker="thread") as memory:
        for n in range(20):
            memory.remember(f"thought {n}")
        assert memory.flush(timeout=30)
        assert memory.stats().vectors == 20
    assert left_behind(pooler) == CLEAN


def test_tenants_who_share_the_session_never_see_each_other(
    pooler: Pooler, memory_at: Open
) -> None:
    """Threads of several tenants at once, each asking for everything it may see."""
    tenants = [f"tenant-{uuid.uuid4().hex[:8]}" for _ in range(4)]

    def campaign(number: int) -> set[str]:
        dice, tenant = random.Random(number), tenants[number % len(tenants)]
        memory = memory_at(pooler.dsn(), tenant=tenant)
        seen: set[str] = set()
        for step in range(12):
            memory.remember(f"{tenant} says {number} {step}")
            found = dice.choice(
                [
                    memory.list,
                    memory.timeline,
                    lambda m=memory: m.recall("says", mode="text", limit=50),
                ]
            )()
            seen |= {each.content.split()[0] for each in found}
        return seen

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(campaign, range(8)))
    assert seen == [{tenants[number % len(tenants)]} for number in range(8)]
    assert left_behind(pooler) == CLEAN


def test_a_transaction_without_a_tenant_does_not_inherit_the_last_ones(
    pooler: Pooler, memory_at: Open
) -> None:
    memory = memory_at(pooler.dsn())
    memory.remember("mine")
    with psycopg.connect(pooler.dsn(), prepare_threshold=None) as other:
        other.execute("set local role htm_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no tenant"):
            other.execute("select * from htm.nodes")


def test_a_statement_is_asked_over_and_over_without_being_prepared(
    pooler: Pooler, memory_at: Open
) -> None:
    """From its fifth use the driver would prepare it, and the next client would meet a statement of that name."""
    for _ in range(3):
        memory = memory_at(pooler.dsn(), pool_min=0)
        for _ in range(8):
            assert memory.recall("anything", mode="text", hold=False) is not None
        memory._engine.database.close()
    assert left_behind(pooler) == CLEAN


@pytest.mark.timeout(120)
def test_a_server_that_is_away_behind_it_is_told_within_the_patience_of_the_settings(
    new_cluster: NewCluster, premises: Path, memory_at: Open
) -> None:
    """The pooler accepts logins all the same, and keeps what they ask waiting: for two minutes, unless it is set to less."""
    server = new_cluster(programs.oldest())
    between = Pooler(programs.pgbouncer(), server, Path(tempfile.mkdtemp(dir=premises)))
    between.start()
    try:
        known = memory_at(between.dsn(), pool_timeout=2.0)
        known.remember("before")
        server.stop()
        for memory in (known, memory_at(between.dsn(), tenant="another", pool_timeout=2.1)):
            for _ in range(2):
                with pytest.raises(
                    DatabaseUnavailable, match=r"no answer for 2|server login has been failing"
                ):
                    memory.remember("into the void")
        server.start()
        for _ in range(100):
            with contextlib.suppress(DatabaseUnavailable):
                known.remember("after", id="after")
                break
        assert [node.content for node in known.list()] == ["after", "before"]
    finally:
        between.stop()


def test_migrations_run_through_it(pooler: Pooler, oldest: Cluster) -> None:
    for schema in ("pooled_a", "pooled_b"):
        with oldest.admin() as admin:
            admin.execute(f"drop schema if exists {schema} cascade")
        assert len(migrate(pooler.dsn(ADMIN), schema=schema).migrations) > 5
        assert not migrate(pooler.dsn(ADMIN), schema=schema)
    assert left_behind(pooler) == CLEAN


def test_work_that_needs_a_session_of_its_own_is_refused_and_names_the_setting(
    pooler: Pooler, memory_at: Open
) -> None:
    database = memory_at(pooler.dsn(ADMIN))._engine.database
    with pytest.raises(StorageError, match="migrate_url"), database.owner():
        pass
    assert indexes.build_due(database) == []
    assert left_behind(pooler) == CLEAN


def test_with_a_direct_owner_indexes_are_built_behind_it(
    pooler: Pooler, oldest: Cluster, memory_at: Open
) -> None:
    memory = memory_at(pooler.dsn(), migrate_url=oldest.dsn(MIGRATOR))
    for n in range(60):
        memory.remember(f"note {n} on subject {n % 7}")
    assert memory.flush(timeout=30)
    assert indexes.build_due(memory._engine.database, threshold=50)
    assert memory.recall("subject 3", mode="vector")
    assert left_behind(pooler) == CLEAN


@pytest.mark.timeout(300)
@pytest.mark.parametrize("delay", [0.03, 0.1])
def test_a_long_run_of_an_agent_is_stored_whole_where_the_pooler_is_far_away(
    pooler: Pooler, memory_at: Open, delay: float, caplog: pytest.LogCaptureFixture
) -> None:
    with Proxy(pooler.dsn(), delay=delay) as network, caplog.at_level(logging.WARNING, "htm"):
        memory = memory_at(network.dsn)
        agent = in_steps(memory, saver=True, timeout=10.0)
        agent.invoke(said("Go on."), {"recursion_limit": 200, **config()})
        kept = memory.of(user="ann").timeline(session="t1", limit=1_000)
        assert len(kept) == 2 * STEPS + 2
        shutdown()
    assert left_behind(pooler) == CLEAN
    assert not [
        each
        for each in caplog.records
        if "could not be kept" in each.message or "without it" in each.message
    ]
