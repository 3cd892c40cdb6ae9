"""kill -9, at any moment: the database opens, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from htm_core import Memory, Mention, Settings
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

pytestmark = pytest.mark.usefixtures("crash_safe_server")

ROOT = Path(__file__).parents[2]
CHILD = """
import sys
from htm_core import Memory, Settings
from tests.stand_ins import HashEmbedder
memory = Memory("child", url=sys.argv[1] or None, tenant=sys.argv[2], embedder=HashEmbedder(name=sys.argv[2]), settings=Settings(worker=sys.argv[4], worker_lease=3))
n = 0
print("ready", flush=True)
while True:
    batch = [{"content": f"{sys.argv[3]} {n} {i}", "session": "s"} for i in range(7)]
    memory.remember_many(batch)
    print(n, flush=True)   # acknowledged
    n += 1
"""


def child(url: str | None, tenant: str, name: str, worker: str = "off") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url or "", tenant, name, worker],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def killed_after(process: subprocess.Popen[str], seconds: float) -> list[int]:
    """What the child acknowledged before it was killed."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    first = int(process.stdout.readline())  # however long the first took on this machine
    time.sleep(seconds)
    process.kill()
    return [first] + [int(line) for line in process.stdout.read().split()]


@pytest.mark.parametrize("worker", ["off", "thread"])
def test_batches_are_whole_and_acknowledged_ones_are_there(
    url: str | None, make: Make, tenant: str, worker: str
) -> None:
    dice = random.Random(worker)
    acknowledged: dict[str, list[int]] = {}
    for turn in range(4):
        name = f"turn{turn}"
        acknowledged[name] = killed_after(child(url, tenant, name, worker), 0.1 + dice.random() / 3)
    # A model of its own: another test's model of the same name that is down would hold these jobs back.
    with make(embedder=HashEmbedder(name=tenant)) as memory:
        said: dict[tuple[str, int], int] = {}
        for mention in _all(memory):
            name, batch, _ = mention.content.split()
            said[name, int(batch)] = said.get((name, int(batch)), 0) + 1
        for name, batches in acknowledged.items():
            assert all(said.get((name, batch)) == 7 for batch in batches)
        assert set(said.values()) == {7}, "a batch is there as a whole or not at all"
        assert [m.seq for m in _all(memory)] == list(range(1, len(_all(memory)) + 1))
        assert memory.flush(timeout=60), "the work of killed workers is taken up"
        assert memory.stats().vectors == memory.stats().passages


def _all(memory: Memory) -> list[Mention]:
    found = memory.timeline(session="s", limit=1_000)
    while found and (more := memory.timeline(session="s", limit=1_000, before=found[0])):
        found = more + found
    return found


MIGRATE = """
import sys
from htm_core.db.migrate import migrate
print("go", flush=True)
migrate(sys.argv[1], schema=sys.argv[2], roles="htm")
"""


@pytest.mark.not_on_citus(
    "makes an installation of its own as the owner, which needs an administrator there"
)
def test_a_migration_that_is_killed_is_done_by_the_next_one(database_url: str) -> None:
    import psycopg

    from htm_core.db.migrate import migrate
    from htm_core.db.schema_files import migrations

    schema = f"htm_killed_{os.getpid()}"
    dice = random.Random(3)
    try:
        for _ in range(6):
            process = subprocess.Popen(
                [sys.executable, "-c", MIGRATE, database_url, schema],
                stdout=subprocess.PIPE, text=True, cwd=ROOT,
            )  # fmt: skip
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.random() * 0.15)
            process.kill()
            process.wait()
        migrate(database_url, schema=schema, roles="htm")
        with psycopg.connect(database_url) as connection:
            row = connection.execute(f"select count(*) from {schema}.migrations").fetchone()
            assert row == (len(migrations()),)
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f"drop schema if exists {schema} cascade")


def test_the_embedded_server_comes_back_after_its_own_death(
    make: Make, url: str | None, home: Path
) -> None:
    if url is not None:
        pytest.skip("the server under test is not the embedded one")
    with make() as memory:
        memory.remember("before the crash")
        pid = int(next(home.rglob("postmaster.pid")).read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        for _ in range(40):
            try:
                assert (
                    memory.recall("crash", mode="text", hold=False)[0].content == "before the crash"
                )
                break
            except Exception:
                time.sleep(0.25)
        else:
            pytest.fail("the server did not come back")
        memory.remember("after the crash")
        assert {h.content for h in memory.recall("crash", mode="text")} == {
            "before the crash",
            "after the crash",
        }


def test_a_forked_child_has_connections_of_its_own(make: Make) -> None:
    with make() as memory:
        memory.remember("from the parent")
        pid = os.fork()
        if pid == 0:
            try:
                memory.remember("from the child")
                os._exit(0 if memory.recall("parent", mode="text") else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert {h.content for h in memory.recall("from the", mode="vector")} <= {
            "from the parent",
            "from the child",
        }
        assert len(memory.timeline()) == 2


def test_what_is_gathered_is_written_at_exit(make: Make, url: str | None, tenant: str) -> None:
    code = (
        "import sys; from htm_core import Memory, Settings; from tests.stand_ins import HashEmbedder\n"
        "m = Memory('x', url=sys.argv[1] or None, tenant=sys.argv[2], embedder=HashEmbedder(), settings=Settings(worker='off'))\n"
        "m.remember('counted at exit'); m.recall('counted', mode='text')"
    )
    subprocess.run(
        [sys.executable, "-c", code, url or "", tenant], check=True, cwd=ROOT, timeout=60
    )
    with make("y") as memory:
        assert memory.list()[0].access_count == 1


def test_settings_that_ask_for_no_worker_start_none(make: Make) -> None:
    import threading

    before = {thread.name for thread in threading.enumerate() if thread.name == "htm-worker"}
    with make(
        settings=Settings(worker="off", pool_max=3), embedder=HashEmbedder(name="none")
    ) as memory:
        memory.remember("x")
        after = {thread.name for thread in threading.enumerate() if thread.name == "htm-worker"}
        assert after == before
        assert memory.stats().pending_jobs == 1
        assert memory.flush()
        assert memory.stats().vectors == 1
