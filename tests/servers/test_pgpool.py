"""Through pgpool: what it can serve works, and what it cannot is said with what to do. Skipped where pgpool is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from htm_core import Memory, StorageError
from htm_core.db.doctor import examine
from tests.servers import programs
from tests.servers.cluster import HOST, Cluster
from tests.servers.conftest import NewCluster, Open
from tests.servers.pgpool import Pgpool
from tests.servers.replica import replica_of


@pytest.fixture(scope="module")
def servers(new_cluster: NewCluster, premises: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """A primary and its replica, which trust this machine where TLS is not used."""
    primary = new_cluster(programs.modern())
    with (primary.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"hostnossl all all {HOST}/32 trust\n")
    with primary.admin("postgres") as admin:
        admin.execute("select pg_reload_conf()")
    replica = replica_of(primary, premises)
    yield primary, replica
    replica.remove()


def use(memory: Memory) -> None:
    """Write and read: pgpool has the replica answer what follows the settings of a transaction, and only reads."""
    memory.remember("The heron nests by the river.", key="heron")
    memory.get("heron")
    memory.list()
    memory.jobs.list()


def test_a_proxy_that_spreads_the_statements_of_a_transaction_is_named(
    servers: tuple[Cluster, Cluster], premises: Path, memory_at: Open
) -> None:
    """Before, the error said that a table was missing, and to run `htm migrate`."""
    pgpool = Pgpool(*servers, premises, balances=True)
    pgpool.start()
    try:
        with (
            memory_at(pgpool.dsn) as memory,
            pytest.raises(StorageError, match="load_balance_mode = off"),
        ):
            use(memory)
    finally:
        pgpool.stop()


def test_pgpool_that_does_not_balance_serves_the_url_and_is_no_replica(
    servers: tuple[Cluster, Cluster], premises: Path, memory_at: Open
) -> None:
    """As `read_url` it says that it is the primary: then the primary answers, and `htm doctor` says why."""
    primary, replica = servers
    pgpool = Pgpool(primary, replica, premises, balances=False)
    pgpool.start()
    try:
        with memory_at(pgpool.dsn, read_url=SecretStr(replica.dsn())) as memory:
            memory.remember("The heron nests by the river.", key="heron")
            assert memory.get("heron").content == "The heron nests by the river."
            assert [hit.content for hit in memory.recall("heron", hold=False)] == [
                "The heron nests by the river."
            ]
        with memory_at(primary.dsn(), read_url=SecretStr(pgpool.dsn)) as memory:
            memory.remember("The heron fishes at dawn.", key="fishing")
            assert memory.get("fishing").content == "The heron fishes at dawn."
            read_url = SecretStr(pgpool.dsn)
            findings = examine(
                primary.dsn(),
                worker=primary.dsn(),
                schema="htm",
                tenant=memory.tenant,
                model="",
                read_url=read_url,
            )
        (found,) = (finding for finding in findings if finding.about == "replica")
        assert found.state == "wrong"
        assert "no standby" in found.says or "standby mode" in found.says
    finally:
        pgpool.stop()
