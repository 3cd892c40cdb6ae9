"""The embedded PostgreSQL of a home: started by the first process, shared by all, stopped after the
last one.

`docs/why/store.md` says why it is done this way.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import DatabaseUnavailable, InvalidInput
from . import watchdog
from .account import ALTERNATIVE
from .binaries import binaries
from .directories import Directories, is_still_home, prepare
from .initdb import DATABASE, advice, checked_settings, configure, create_data_directory
from .locks import acquire_shared, locked, open_own
from .recovery import end_leftovers, remove_unreadable_pid
from .subprocess import CLEAN_ENVIRONMENT, no_fork, run
from .watchdog import ABSENT, BUSY, PORT, READY, probe, try_lock

START_SECONDS = 120.0  # after a crash the server replays its log first
_LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running embedded server, held by this process."""

    home: Path
    socket: Path
    data: Path
    log: Path

    def dsn(self, role: str, *, database: str = DATABASE) -> str:
        """The libpq connection string of a role. It contains no secret: the kernel identifies the
        caller.
        """
        parts = {"host": str(self.socket), "port": str(PORT), "user": role, "dbname": database}
        return " ".join(f"{name}={_quote(value)}" for name, value in parts.items())


@dataclass(frozen=True, slots=True)
class _Hold:
    """This process's hold on a server: a descriptor whose lock lasts as long as any copy of it is
    open.
    """

    directories: Directories
    fd: int


_holds_lock = threading.Lock()
_holds: dict[Path, _Hold] = {}


def start(home: Path, *, linger: float = 2.0, settings: Mapping[str, str] | None = None) -> Cluster:
    """Find or start the server of this home, and hold it until `release` or the end of this
    process.

    Call it as often as you like, from any thread, and again after a failed connection: a dead
    server is started again. After a fork both parent and child hold it. `linger` is for how many
    seconds the server outlives its last holder; `settings` are settings of PostgreSQL. Both count
    only when this call starts the server. Takes about 3 ms when the server runs, 0.1 s when it does
    not, 1 s the first time. Raises `DatabaseUnavailable` with the reason.
    """
    if not (math.isfinite(linger) and linger >= 0):
        raise InvalidInput(f"expected linger in seconds, 0 or more, got {linger!r}")
    chosen = checked_settings(settings)
    _refuse_windows()
    key = Path(os.path.realpath(home))
    with _holds_lock, _translated_errors(key):
        hold = _held(key)
        if hold is None or probe(str(hold.directories.socket)) is not READY:
            hold = _holds[key] = _acquire(key, hold, linger, chosen)
        return Cluster(
            hold.directories.home,
            hold.directories.socket,
            hold.directories.data,
            hold.directories.log,
        )


def release(home: Path) -> None:
    """Give up this process's hold, if there is one; the server stops `linger` seconds after the
    last hold.
    """
    with _holds_lock:
        _close_hold(Path(os.path.realpath(home)))


def _held(home: Path) -> _Hold | None:
    hold = _holds.get(home)
    if hold is not None and not (os.fstat(hold.fd).st_nlink and is_still_home(hold.directories)):
        _close_hold(home)  # the home was removed, and the server's files with it
        return None
    return hold


def _close_hold(home: Path) -> None:
    if hold := _holds.pop(home, None):
        os.close(hold.fd)  # not unlocked: a forked child may hold the same lock


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise DatabaseUnavailable(
            "the embedded PostgreSQL runs on Linux and macOS, and this is Windows; run inside "
            "WSL, " + ALTERNATIVE
        )


@contextmanager
def _translated_errors(home: Path) -> Iterator[None]:
    """Turn errors of the system into `DatabaseUnavailable` with the home's path."""
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL of {home} has been starting for {START_SECONDS:.0f} s; try "
            "again later"
        ) from error
    except TimeoutError as error:
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL of {home} does not answer ({error}); try again"
        ) from error
    except OSError as error:
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL of {home} could not be started: {error}; {advice(str(error))}"
        ) from error


def _acquire(home: Path, hold: _Hold | None, linger: float, settings: Mapping[str, str]) -> _Hold:
    """Take a hold and make sure that server and watchdog run; one process at a time."""
    directories = prepare(home)
    owner = directories.home.stat().st_uid
    with locked(directories.base / "start.lock", owner=owner, patience=START_SECONDS) as start_lock:
        fd = hold.fd if hold else open_own(directories.base / "clients.lock", owner=owner)
        try:
            acquire_shared(fd)
            _ensure_server(directories, start_lock, linger, settings)
        except BaseException:
            if hold is None:
                os.close(fd)
            raise
    return _Hold(directories, fd)


def _ensure_server(
    directories: Directories, start_lock: int, linger: float, settings: Mapping[str, str]
) -> None:
    with no_fork():
        watch = open_own(directories.base / "watch.lock", owner=directories.home.stat().st_uid)
        unwatched = try_lock(watch)
        os.close(watch)
    if _wait_until_settled(directories) is ABSENT:
        _launch(directories, start_lock, linger, settings)
    elif unwatched:
        _start_watchdog(directories, start_lock, linger, [], {})


def _wait_until_settled(directories: Directories) -> str:
    """Wait while the server starts, recovers or shuts down, and return whether it is ready or
    absent.
    """
    deadline = time.monotonic() + START_SECONDS
    while (state := probe(str(directories.socket))) is BUSY:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"it has been starting or stopping for {START_SECONDS:.0f} s; see {directories.log}"
            )
        time.sleep(0.02)
    return state


def _launch(
    directories: Directories, start_lock: int, linger: float, settings: Mapping[str, str]
) -> None:
    bin_directory = binaries(directories.account)
    other_pid = None
    if not directories.data.exists():
        create_data_directory(directories, bin_directory, start_lock=start_lock)
    elif (directories.data / "postmaster.pid").exists():
        other_pid = end_leftovers(directories)
        remove_unreadable_pid(directories)
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (directories.socket / name).unlink(missing_ok=True)
    _rotate(directories.log)
    command = [str(bin_directory / "postgres"), *configure(directories, settings)]
    _start_watchdog(
        directories,
        start_lock,
        linger,
        command,
        {} if other_pid is None else {"PG_GRANDPARENT_PID": str(other_pid)},
    )


def _start_watchdog(
    directories: Directories,
    start_lock: int,
    linger: float,
    command: list[str],
    environment: Mapping[str, str],
) -> None:
    """Start a watchdog, which starts the server if a command is given, and wait until it is ready
    or has failed.

    The watchdog inherits nothing from this process: no terminal, pipes, directory or environment.
    """
    account = directories.account
    arguments = [
        directories.base,
        directories.socket,
        linger,
        account.uid,
        account.gid,
        start_lock,
        *command,
    ]
    loader = {name: value for name, value in os.environ.items() if name.endswith("LD_LIBRARY_PATH")}
    log_fd = open_own(
        directories.log, owner=directories.home.stat().st_uid, access=os.O_WRONLY | os.O_APPEND
    )
    with open(log_fd, "ab") as log:
        before = log.tell()
        result = run(
            [_python(), "-I", "-S", "-B", watchdog.__file__, *map(str, arguments)],
            output=log,
            environment={**CLEAN_ENVIRONMENT, **loader, **environment},
            inherited=(start_lock,),
            timeout=START_SECONDS,
        )
    if result.code:
        output = _tail(directories.log, before)
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL did not start; {advice(output)}. {directories.log} "
            f"says:\n{output}"
        )


def _python() -> str:
    """A Python interpreter for the watchdog; inside uWSGI or a frozen program `sys.executable` is
    not one.
    """
    candidates = [
        Path(sys.executable or "/-"),
        Path(sys.prefix) / "bin" / "python3",
        Path("/usr/bin/python3"),
    ]
    for path in candidates:
        if path.name.startswith("python") and os.access(path, os.X_OK):
            return str(path)
    raise DatabaseUnavailable(
        f"no Python to run the watchdog with among {[str(p) for p in candidates]}; {ALTERNATIVE}"
    )


def _rotate(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def _tail(log: Path, start: int, *, lines: int = 20) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _after_fork() -> None:
    global _holds_lock
    _holds_lock = threading.Lock()  # another thread of the parent may have held it


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
