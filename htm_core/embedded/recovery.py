"""Leftovers of a crashed server, and how to start a new one in spite of them."""

from __future__ import annotations

import importlib
import signal
import time
from contextlib import suppress
from typing import Any

from ..base.errors import DatabaseUnavailable
from .binaries import MISSING_EXTRA
from .directories import Directories
from .watchdog import running_pid

_PATIENCE = 3.0  # seconds after each signal


def end_leftovers(directories: Directories) -> int | None:
    """End the processes of a server that no longer answers; return the pid in its pid file if
    another process has it now.

    Backends that outlive their postmaster hold its shared memory, and then a new server does not
    start. It does not start either while an unrelated process has the old pid, and that process
    must not be touched. PostgreSQL ignores one pid in that file: the one in PG_GRANDPARENT_PID (as
    Patroni does it). So the file need not be deleted.
    """
    psutil = _psutil()
    leftovers = [process for process in psutil.process_iter() if _runs_here(process, directories)]
    pid = _pid_in_file(directories)
    postmaster = [process for process in leftovers if process.pid == pid]
    leftovers = _end(postmaster, signal.SIGINT, leftovers, directories)  # a fast shutdown
    leftovers = _end(leftovers, signal.SIGTERM, leftovers, directories)
    _end(leftovers, signal.SIGKILL, leftovers, directories)
    return pid if pid is not None and psutil.pid_exists(pid) else None


def remove_unreadable_pid(directories: Directories) -> None:
    """Delete a pid file without a pid, which a full disk or a power cut leaves, and with which no
    server starts.

    Only after `end_leftovers`, and while the lock of the start is held: then no server runs here.
    """
    if _pid_in_file(directories) is None:
        (directories.data / "postmaster.pid").unlink(missing_ok=True)


def _pid_in_file(directories: Directories) -> int | None:
    try:
        return running_pid(str(directories.base))
    except (OSError, ValueError):
        return None


def _end(
    targets: list[Any], how: signal.Signals, watched: list[Any], directories: Directories
) -> list[Any]:
    """Signal some processes, and return those of `watched` that still run, after 3 s at most."""
    for process in targets:
        with suppress(_psutil().Error):
            process.send_signal(how)  # does nothing when the pid has been reused since
    deadline = time.monotonic() + _PATIENCE
    while targets and watched and time.monotonic() < deadline:
        time.sleep(0.01)
        watched = [process for process in watched if _runs_here(process, directories)]
    return watched


def _runs_here(process: Any, directories: Directories) -> bool:
    """True if a process is a PostgreSQL working in this data directory; a zombie has no directory
    any more.
    """
    try:
        return bool(process.name() == "postgres" and process.cwd() == str(directories.data))
    except (_psutil().Error, OSError):
        return False


def _psutil() -> Any:
    try:
        return importlib.import_module("psutil")
    except ImportError:
        raise DatabaseUnavailable(MISSING_EXTRA) from None
