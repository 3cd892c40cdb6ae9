"""The tests of the store and of the verbs, run once more on the oldest server, through a pooler and straight; and all suites on Citus.

What a pooler passes on reaches the server in the same words, from the same login. So the run behind it shows what the server
does and what the pooler does, and straight go only the parts that a pooler refuses. `HTM_TEST_MATRIX=whole` runs all of
them straight as well, what no server changes too, and every suite on a Citus cluster of three nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import APP, ROOT, Cluster
from tests.servers.pooler import Pooler
from tests.servers.suite import LONGEST, LONGEST_WHOLE, run_suite

PARTS = ("store", "verbs")
WHOLE = os.environ.get("HTM_TEST_MATRIX") == "whole"
STRAIGHT = PARTS if WHOLE else ("store/test_migrations.py",)
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
OUT_BEHIND_A_POOLER = [
    *OUT,
    "--ignore=tests/store/test_migrations.py",  # goes to the server itself, as in the run without a pooler
]
# What a server or a connection that others share can change, and not what becomes of rows after they were read.
BEHIND_A_POOLER = PARTS if WHOLE else (
    "store/test_audit.py", "store/test_bad_connections.py", "store/test_batches.py", "store/test_quantization.py",
    "store/test_walls.py", "verbs/test_as_of.py", "verbs/test_audit.py", "verbs/test_backup.py", "verbs/test_collection.py",
    "verbs/test_erase_tenant.py", "verbs/test_files.py", "verbs/test_forgetting.py", "verbs/test_lifetime.py", "verbs/test_log.py",
    "verbs/test_quotes.py", "verbs/test_recall.py", "verbs/test_remember.py", "verbs/test_tidying.py", "verbs/test_working.py",
    "verbs/test_working_history.py",
)  # fmt: skip
# Each file or folder is a test of its own, so that several processes share them. What cannot pass there is marked `not_on_citus`.
CITUS_PARTS = ("store", "verbs", "groups", "jobs", "palace", "langchain", "llamaindex")


def test_what_is_left_out_is_there() -> None:
    for option in OUT_BEHIND_A_POOLER:
        path, _, name = option.partition("=")[2].partition("::")
        assert f"def {name}" in (ROOT / path).read_text("utf-8"), option


@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize("part", STRAIGHT)
def test_a_part_passes_on_the_oldest_server_with_a_login_that_may_define_nothing(
    part: str, matrix_cluster: Cluster
) -> None:
    run_suite([part], matrix_cluster.dsn(APP), matrix_cluster, out=OUT)


@pytest.mark.timeout(LONGEST + 60)
def test_the_store_and_the_verbs_pass_behind_a_transaction_pooler(busy_pooler: Pooler) -> None:
    run_suite(BEHIND_A_POOLER, busy_pooler.dsn(APP), busy_pooler.cluster, out=OUT_BEHIND_A_POOLER)


@pytest.fixture(scope="session")
def citus(premises: Path, trusted: Certificate) -> Iterator[CitusCluster]:
    """A cluster for whole parts of the suite."""
    with CitusCluster.prepared(programs.citus(), premises, trusted) as made:
        yield made


@pytest.mark.skipif(not WHOLE, reason="HTM_TEST_MATRIX is not whole: it takes half an hour")
@pytest.mark.timeout(LONGEST_WHOLE + 60)
@pytest.mark.parametrize("part", CITUS_PARTS)
def test_a_part_passes_on_a_citus_cluster(part: str, citus: CitusCluster) -> None:
    citus.run_suite([part], longest=LONGEST_WHOLE)
