"""What a crashed server leaves behind, and how to start in spite of it."""

from __future__ import annotations

import importlib
import signal
import time
from contextlib import suppress
from typing import Any

from ...errors import DatabaseUnavailable
from .binaries import MISSING_EXTRA
from .directories import Premises
from .watchdog import running_pid

_PATIENCE = 3.0  # seconds after each signal


def clear(premises: Premises) -> int | None:
    """End what is left of a server that no longer answers, and return the live stranger that its pid file names.

    Backends that outlived their postmaster hold its shared memory, and a new one would not start. Neither would it
    beside a stranger who was given the old pid, who must not be harmed: PostgreSQL disregards exactly one pid in that
    file, the one in PG_GRANDPARENT_PID (Patroni's way), and nothing needs to be deleted.
    """
    psutil = _psutil()
    left = [process for process in psutil.process_iter() if _runs_here(process, premises)]
    pid = _written(premises)
    postmaster = [process for process in left if process.pid == pid]
    left = _end(postmaster, signal.SIGINT, left, premises)  # for a postmaster: shut down fast
    left = _end(left, signal.SIGTERM, left, premises)
    _end(left, signal.SIGKILL, left, premises)
    return pid if pid is not None and psutil.pid_exists(pid) else None


def _written(premises: Premises) -> int | None:
    try:
        return running_pid(str(premises.place))
    except (OSError, ValueError):
        return None


def _end(targets: list[Any], how: signal.Signals, watched: list[Any], premises: Premises) -> list[Any]:
    """Signal some processes and return which of the watched still run, at the latest 3 s later."""
    for process in targets:
        with suppress(_psutil().Error):
            process.send_signal(how)  # refuses when the pid was reused since we looked
    deadline = time.monotonic() + _PATIENCE
    while targets and watched and time.monotonic() < deadline:
        time.sleep(0.01)
        watched = [process for process in watched if _runs_here(process, premises)]
    return watched


def _runs_here(process: Any, premises: Premises) -> bool:
    """Say whether a process is a PostgreSQL whose directory is this data directory; a zombie has none any more."""
    try:
        return bool(process.name() == "postgres" and process.cwd() == str(premises.data))
    except (_psutil().Error, OSError):
        return False


def _psutil() -> Any:
    try:
        return importlib.import_module("psutil")
    except ImportError:
        raise DatabaseUnavailable(MISSING_EXTRA) from None
