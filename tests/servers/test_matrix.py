"""The tests of the store and of the verbs, run once more on the oldest server, through a pooler and straight.

What a pooler passes on reaches the server in the same words, from the same login. So the run behind it shows what the server
does and what the pooler does, and straight go only the parts that a pooler refuses. `HTM_TEST_MATRIX=whole` runs all of
them straight as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, APP, MIGRATOR, ROOT, Cluster
from tests.servers.pooler import Pooler

LONGEST = 840  # seconds, on a machine that is busy with other things
PARTS = ("store", "verbs")
STRAIGHT = PARTS if os.environ.get("HTM_TEST_MATRIX") == "whole" else ("store/test_migrations.py",)
OUT = [
    "--ignore=tests/store/test_embedded.py",  # about the other server
    "--ignore=tests/store/test_embedded_faults.py",
    "--ignore=tests/verbs/test_contention.py",  # minutes of work, which no server changes
    # The locks are those of this process. Other tests of the same file fork beside connections over TLS.
    "--deselect=tests/verbs/test_lifetime.py::test_a_fork_while_another_thread_holds_a_lock_leaves_the_child_free",
    "--ignore=tests/verbs/test_aio.py",  # the same verbs from event loops
    "--ignore=tests/store/test_rows_read.py",  # makes a schema, and roles of its own
    "--ignore=tests/store/test_stale_statistics.py",  # so does this
    "--ignore=tests/store/test_partitions.py",  # changes the table of vectors as the owner, in a schema of its own
]
CITUS_PARTS = ("store", "verbs", "groups", "palace", "langchain", "llamaindex")
OUT_BEHIND_A_POOLER = [
    *OUT,
    "--ignore=tests/store/test_migrations.py",  # goes to the server itself, as in the run without a pooler
]


# What looks into the catalogue by the names of tables, or makes a schema of its own where a login may not.
OUT_ON_CITUS = [
    *OUT_BEHIND_A_POOLER,
    "--ignore=tests/store/test_batches.py",  # counts messages; entering the node is one of them
    "--ignore=tests/store/test_collections.py",
    "--ignore=tests/store/test_filter_function.py",
    "--ignore=tests/store/test_quantization.py",
    "--ignore=tests/store/test_sizing.py",
    "--ignore=tests/store/test_survival.py",
    "--ignore=tests/store/test_walls.py",  # tests/servers/test_citus.py looks at the walls of shards
    "--ignore=tests/verbs/test_backup_kept.py",
    "--deselect=tests/groups/test_groups.py::test_a_listener_that_was_cut_off_hears_what_it_missed",  # Citus has another pg_terminate_backend
]


def suite(part: str, url: str, cluster: Cluster, out: list[str], *, owner: str | None = None) -> None:
    """Run a part of the suite with a login that has no rights to define anything; its failures are this one's."""
    environment = {
        "HTM_TEST_URL": url,
        "HTM_TEST_ADMIN_URL": cluster.dsn(ADMIN),
        "HTM_TEST_OWNER_URL": owner or cluster.dsn(MIGRATOR),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", f"tests/{part}", *out],
        cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=LONGEST, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:]
    assert " passed" in done.stdout or "[100%]" in done.stdout


@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize("part", STRAIGHT)
def test_a_part_passes_on_the_oldest_server_with_a_login_that_may_define_nothing(
    part: str, matrix_cluster: Cluster
) -> None:
    suite(part, matrix_cluster.dsn(APP), matrix_cluster, OUT)


@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_passes_behind_a_transaction_pooler(part: str, busy_pooler: Pooler) -> None:
    suite(part, busy_pooler.dsn(APP), busy_pooler.cluster, OUT_BEHIND_A_POOLER)


@pytest.fixture(scope="session")
def citus(premises: Path, trusted: Certificate) -> Iterator[CitusCluster]:
    """A cluster for whole parts of the suite."""
    with CitusCluster.prepared(programs.citus(), premises, trusted) as made:
        yield made


@pytest.mark.skipif(
    os.environ.get("HTM_TEST_MATRIX") != "whole", reason="HTM_TEST_MATRIX is not whole: it takes half an hour"
)
@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize("part", CITUS_PARTS)
def test_a_part_passes_on_a_citus_cluster(part: str, citus: CitusCluster) -> None:
    coordinator = citus.coordinator
    suite(part, coordinator.dsn(APP), citus.home(), OUT_ON_CITUS, owner=coordinator.dsn(MIGRATOR))
