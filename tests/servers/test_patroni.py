"""Under Patroni, etcd and HAProxy: the primary's machine dies, a replica takes over by itself, and nothing that was acknowledged is lost.

It needs the packages `patroni`, `etcd-server` and `haproxy` of the system, and is skipped where they are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from htm_core.db.cluster import replicas
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.conftest import Open
from tests.servers.failover import write_under_fire
from tests.servers.patroni import HAPROXY, PATRONI, PatroniCluster, programs_are_there
from tests.servers.replica import await_replay

OF_THE_TESTS = (
    "- auth-host",
    "- no-sync",
    "unix_socket_directories",
    "shared_buffers",
    "random_page_cost",
)


@pytest.fixture(scope="module")
def cluster(premises: Path, trusted: Certificate) -> Iterator[PatroniCluster]:
    """Three servers, of which one is the primary. That it is dead is noticed after six seconds at most."""
    programs_are_there()
    made = PatroniCluster(programs.oldest(), premises, trusted, ttl=6)
    try:
        made.start()
        yield made
    finally:
        made.remove()


def test_several_replicas_behind_haproxy_answer_what_only_reads(
    cluster: PatroniCluster, memory_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection of HAProxy stays with one replica, so nothing is different from naming the replicas."""
    answered = []
    run = replicas.Replicas.run
    monkeypatch.setattr(
        replicas.Replicas,
        "run",
        lambda self, work: answered.append(run(self, work)) or answered[-1],
    )
    with memory_at(
        cluster.proxy_dsn, read_url=SecretStr(cluster.replicas_dsn), read_wait=5.0
    ) as memory:
        memory.remember("The heron nests by the river.", key="heron")
        assert memory.get("heron").content == "The heron nests by the river."
        for node in cluster.nodes:
            if node is not cluster.primary:
                await_replay(cluster.primary.cluster, node.cluster)
        assert [node.content for node in memory.list()] == ["The heron nests by the river."]
    assert len(answered) >= 2


def test_nothing_acknowledged_is_lost_or_doubled_when_patroni_lets_a_replica_take_over(
    cluster: PatroniCluster,
) -> None:
    """With synchronous replication and through HAProxy, while four threads write, two workers embed and two robots are a group."""
    result = write_under_fire(cluster, cluster.proxy_dsn, kills=1, writers=4, pause=0.1)
    assert result.acknowledged > 20
    assert result.lost == []
    assert result.doubled == []
    assert result.vectors_missing == 0
    assert result.group_goes_on


def test_the_docs_have_the_configurations_that_are_tested() -> None:
    """But for addresses, passwords, times and what is said of this machine."""
    documented = (Path(__file__).parents[2] / "docs/production.md").read_text("utf-8")
    said = {line.split("#")[0].strip() for line in documented.splitlines()}
    for configuration in (PATRONI, HAPROXY.split("maxconn 500", 1)[1]):
        lines = [
            line.strip() for line in configuration.splitlines() if line.strip() and "{" not in line
        ]
        assert [
            line for line in lines if line not in said and line.split(":")[0] not in OF_THE_TESTS
        ] == []
