"""Servers for these tests: started on the loopback when first asked for, stopped at the end, skipped where not obtained."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory, Settings, shutdown
from tests.crash_safety import OFF
from tests.docs.conftest import weights_dir
from tests.servers import programs
from tests.servers.authority import Certificate, authority
from tests.servers.cluster import Cluster
from tests.servers.pooler import Pooler
from tests.servers.programs import Programs
from tests.stand_ins import HashEmbedder

__all__ = ["weights_dir"]

NewCluster = Callable[..., Cluster]
Open = Callable[..., Memory]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all of these unless they are asked for: they take minutes, and servers that have to be obtained first."""
    if not os.environ.get("HTM_TEST_SERVERS"):
        unasked = pytest.mark.skip(
            reason="HTM_TEST_SERVERS does not name the folder that .ci/servers fills"
        )
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(unasked)


@pytest.fixture(scope="session")
def premises() -> Iterator[Path]:
    """A folder that the servers' account may enter, which pytest's own do not allow."""
    path = Path(tempfile.mkdtemp(prefix="htm-servers-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def trusted(premises: Path) -> Certificate:
    """The authority that signs the servers' certificates."""
    return authority(premises)


@pytest.fixture(scope="session")
def new_cluster(premises: Path, trusted: Certificate) -> Iterator[NewCluster]:
    """Builds and starts a server of its own, with a schema and the logins unless `prepared=False`."""
    with contextlib.ExitStack() as afterwards:

        def make(
            of: Programs, *, prepared: bool = True, settings: dict[str, str] | None = None
        ) -> Cluster:
            folder = Path(tempfile.mkdtemp(dir=premises))
            cluster = Cluster(of, folder, trusted, settings or {})
            afterwards.callback(cluster.remove)
            cluster.build()
            cluster.start()
            if prepared:
                cluster.prepare()
            return cluster

        yield make


@pytest.fixture(scope="session")
def modern(new_cluster: NewCluster) -> Cluster:
    """PostgreSQL 18 over TCP; prepared."""
    return new_cluster(programs.modern(), settings=OFF)


@pytest.fixture(scope="session")
def oldest(new_cluster: NewCluster) -> Cluster:
    """PostgreSQL 15 with pgvector 0.8.0 over TCP; prepared."""
    return new_cluster(programs.oldest(), settings=OFF)


@pytest.fixture(scope="session")
def pooler(oldest: Cluster, premises: Path) -> Iterator[Pooler]:
    """PgBouncer in transaction mode with one session of the server for everybody: whatever can leak, leaks."""
    made = Pooler(programs.pgbouncer(), oldest, Path(tempfile.mkdtemp(dir=premises)))
    made.start()
    yield made
    made.stop()


@pytest.fixture(
    params=["modern", "oldest"] if os.environ.get("HTM_TEST_MATRIX") == "whole" else ["oldest"]
)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The server that can do least; the other one too where the matrix is whole, which is as new as the embedded one."""
    found: Cluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def matrix_cluster(new_cluster: NewCluster) -> Cluster:
    """PostgreSQL 15 for whole parts of the suite, which leave work behind that nobody will do."""
    return new_cluster(programs.oldest(), settings=OFF)


@pytest.fixture(scope="session")
def busy_pooler(matrix_cluster: Cluster, premises: Path) -> Iterator[Pooler]:
    """One with a few sessions of the server, for what waits in one transaction for another."""
    made = Pooler(
        programs.pgbouncer(), matrix_cluster, Path(tempfile.mkdtemp(dir=premises)), sessions=8
    )
    made.start()
    yield made
    made.stop()


@pytest.fixture
def memory_at(tenant: str) -> Iterator[Open]:
    """Makes memories by their url, of this test's tenant; whatever they opened is closed afterwards."""
    embedder = HashEmbedder()  # a tenant has one client of a name

    def memory(url: str, *, tenant: str = tenant, **settings: Any) -> Memory:
        chosen = {"worker": "off", "pool_timeout": 10.0} | settings
        return Memory(url=url, tenant=tenant, embedder=embedder, settings=Settings(**chosen))

    yield memory
    shutdown()
