"""Homes of embedded servers for the tests, and the processes that use them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from htm_core.embedded import server
from htm_core.embedded.watchdog import ABSENT, probe, running_pid

REPOSITORY = Path(__file__).resolve().parents[2]
LINGER = 0.1
ROOMY = Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > 1 << 30
SCRATCH = (
    "/dev/shm" if ROOMY else "/tmp"
)  # clusters come and go by the dozen here: memory spares the disk
ROOT = os.geteuid() == 0
SERVER_UID = pwd.getpwnam("nobody").pw_uid if ROOT else os.geteuid()

HOLD = """
import sys
from pathlib import Path
from htm_core.embedded import start
cluster = start(Path(sys.argv[1]), linger=float(sys.argv[2]))
print(cluster.dsn("htm_root"), flush=True)
"""
WAIT = HOLD + "sys.stdin.read()\n"


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home that the server's account can reach, as root too; the server in it is gone afterwards, and the home."""
    parent = Path(tempfile.mkdtemp(prefix="htm-test-", dir=SCRATCH))
    parent.chmod(0o755)
    home = parent / "home"
    try:
        yield home
    finally:
        server.release(home)
        remove(parent, home)


def place_of(home: Path) -> Path:
    pointer = home / "postgresql.elsewhere"
    return Path(pointer.read_text().strip()) if pointer.exists() else home / "postgresql"


def socket_of(home: Path) -> str:
    return str(place_of(home) / "run")


def processes(home: Path) -> list[psutil.Process]:
    """Every process that has this home on its command line: clients, initdb, watchdog, postmaster; and the backends."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and (
                any(str(home) in word for word in process.cmdline())
                or process.cwd().startswith(str(home))
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def named(process: psutil.Process) -> str | None:
    """The name of a process, None when it has just ended."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return None


def command_of(process: psutil.Process) -> list[str]:
    """The words of a process's command line, none when it has just ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def end_all(home: Path) -> None:
    """Kill -9 everything of this home, and wait until nothing of it runs; zombies no longer do."""
    while left := processes(home):
        for process in left:
            try:
                process.kill()
            except psutil.Error:
                continue
        time.sleep(0.01)


def remove(parent: Path, home: Path, *, attempts: int = 20) -> None:
    """Remove the folder of a home. A pool that is still open may have the server of the home start again meanwhile: it ends again."""
    for attempt in range(attempts):
        end_all(home)
        try:
            shutil.rmtree(parent)
            return
        except OSError:
            if attempt == attempts - 1:
                raise
            time.sleep(0.1)


def eventually(condition: Callable[[], Any], *, seconds: float = 30.0) -> None:
    """Wait for something that must become true; the limit only ends a test that has failed."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.01)


def gone(home: Path) -> bool:
    return probe(socket_of(home)) is ABSENT


def postmaster(home: Path) -> psutil.Process:
    return psutil.Process(running_pid(str(place_of(home))))


def watchdog_of(home: Path) -> psutil.Process:
    return next(
        p for p in processes(home) if any(word.endswith("watchdog.py") for word in command_of(p))
    )


def ask(dsn: str, question: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(question.encode())
        return cursor.fetchone()[0] if cursor.description else None


def environment() -> dict[str, str]:
    """This process's environment, with the package as it is in this checkout."""
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def client(
    home: Path, *, script: str = WAIT, linger: float = LINGER, **how: Any
) -> subprocess.Popen[str]:
    """Another process of this account that uses the home."""
    return subprocess.Popen(
        [sys.executable, "-c", script, str(home), str(linger)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        **how,
    )


def ordinary(script: str, *arguments: str, uid: int) -> subprocess.CompletedProcess[str]:
    """Run Python as another account; skips where this machine has no interpreter that it can run."""
    if not ROOT:
        pytest.skip("only root can become another account")
    clean = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{REPOSITORY}:{sysconfig.get_path('platlib')}"}
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-B", "-c"]
        how: dict[str, Any] = {
            "user": uid, "group": uid, "extra_groups": [], "cwd": "/", "env": clean, "text": True,
            "capture_output": True,
        }  # fmt: skip
        try:
            if not subprocess.run(
                [*command, "import htm_core.embedded.server, psutil, psycopg"], **how
            ).returncode:
                return subprocess.run([*command, script, *arguments], **how)
        except PermissionError:
            continue
    pytest.skip("no Python here that an ordinary account can run with these packages")
