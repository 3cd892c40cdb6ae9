"""A database made ready by an administrator, and one that many processes find empty at once."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from tests.servers.cluster import ADMIN, APP, ROOT, Cluster, htm
from tests.servers.conftest import Open
from tests.servers.verbs import every_verb

FIRST_USE = """
import sys
from htm_core import Memory, Settings
from tests.stand_ins import HashEmbedder
with Memory(url=sys.argv[1], tenant="all", embedder=HashEmbedder(), settings=Settings(worker="off")) as memory:
    memory.remember(f"process {sys.argv[2]}", session="s")
"""


@contextlib.contextmanager
def emptied(cluster: Cluster) -> Iterator[str]:
    """A new database with nothing in it, which is gone afterwards: the doctor of another would find that its roles reach it."""
    name = f"empty_{uuid.uuid4().hex[:8]}"
    cluster.create(name)
    try:
        yield name
    finally:
        cluster.drop(name)


@pytest.fixture
def empty(cluster: Cluster) -> Iterator[str]:
    """An empty database of one test's."""
    with emptied(cluster) as name:
        yield name


def test_what_htm_migrate_sql_prints_makes_a_database_that_serves_a_restricted_login(
    cluster: Cluster, empty: str, memory_at: Open
) -> None:
    printed = htm("migrate", "--sql", "--roles", "htm", url="")
    admin = cluster.dsn(ADMIN, database=empty)
    said = cluster.programs.run(
        "psql", admin, "-X", "-q", "-v", "ON_ERROR_STOP=1", text=printed.stdout
    )
    assert "ERROR" not in said
    with memory_at(cluster.dsn(APP, database=empty), auto_migrate=False) as memory:
        every_verb(memory)


def test_five_processes_may_be_the_first_to_use_a_database(
    oldest: Cluster, memory_at: Open
) -> None:
    with emptied(oldest) as name:
        url = oldest.dsn(ADMIN, database=name)
        started = [
            subprocess.Popen(
                [sys.executable, "-c", FIRST_USE, url, str(n)], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
                stderr=subprocess.PIPE, text=True,
            )
            for n in range(5)
        ]  # fmt: skip
        said = [process.communicate(timeout=120)[1] for process in started]
        assert [process.returncode for process in started] == [0] * 5, said
        mentions = memory_at(url, tenant="all").timeline(session="s")
        assert {mention.content for mention in mentions} == {f"process {n}" for n in range(5)}
        assert [mention.seq for mention in mentions] == list(range(1, 6))
