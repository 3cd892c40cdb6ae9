"""The private PostgreSQL of a home: found or started, shared by any number of processes, gone after the last one.

`docs/why/embedded-postgres.md` tells why it is done this way.
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

from ...errors import DatabaseUnavailable, InvalidInput
from . import watchdog
from .account import ANOTHER_WAY
from .binaries import binaries
from .directories import Premises, is_still_home, settle
from .initdb import DATABASE, advice, build, checked, configure
from .locks import locked, open_own, share
from .recovery import clear
from .subprocess import CLEAN, no_fork, run
from .watchdog import ABSENT, BUSY, PORT, READY, probe, try_lock

START_SECONDS = 120.0  # a server that recovers from a crash replays its log first
_LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running embedded server, held by this process."""

    home: Path
    socket: Path
    data: Path
    log: Path

    def dsn(self, role: str, *, database: str = DATABASE) -> str:
        """Compose the libpq connection string of a role; it holds no secret, the kernel vouches for the caller."""
        parts = {"host": str(self.socket), "port": str(PORT), "user": role, "dbname": database}
        return " ".join(f"{name}={_quoted(value)}" for name, value in parts.items())


@dataclass(frozen=True, slots=True)
class _Hold:
    """This process's share in a server: a descriptor whose lock the kernel keeps for as long as any copy is open."""

    premises: Premises
    fd: int


_turn = threading.Lock()
_holds: dict[Path, _Hold] = {}


def start(home: Path, *, linger: float = 2.0, settings: Mapping[str, str] | None = None) -> Cluster:
    """Find the server of this home or start it, and hold it until `release` or the end of this process.

    Call it as often as you like, from any thread, and again when a connection failed: a server that died is started
    anew. After a fork parent and child both hold it. `linger` is the seconds that it outlives its last holder and
    `settings` are PostgreSQL's own; both count when this call is the one that starts it. About 3 ms when it runs, 0.1 s
    when it does not, 1 s the first time. DatabaseUnavailable says what stands in the way.
    """
    if not (math.isfinite(linger) and linger >= 0):
        raise InvalidInput(f"linger must be seconds, 0 or more, got {linger!r}")
    chosen = checked(settings)
    _refuse_windows()
    key = Path(os.path.realpath(home))
    with _turn, _plainly(key):
        hold = _held(key)
        if hold is None or probe(str(hold.premises.socket)) is not READY:
            hold = _holds[key] = _enter(key, hold, linger, chosen)
        return Cluster(hold.premises.home, hold.premises.socket, hold.premises.data, hold.premises.log)


def release(home: Path) -> None:
    """Give up this process's hold; the server stops `linger` seconds after the last one. Nothing if there is none."""
    with _turn:
        _let_go(Path(os.path.realpath(home)))


def _held(home: Path) -> _Hold | None:
    hold = _holds.get(home)
    if hold is not None and not (os.fstat(hold.fd).st_nlink and is_still_home(hold.premises)):
        _let_go(home)  # the home was removed, and with it what was held
        return None
    return hold


def _let_go(home: Path) -> None:
    if hold := _holds.pop(home, None):
        os.close(hold.fd)  # not unlocked: a forked child may hold the same lock


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise DatabaseUnavailable(
            "the embedded PostgreSQL runs on Linux and macOS, and this is Windows; run inside WSL, " + ANOTHER_WAY
        )


@contextmanager
def _plainly(home: Path) -> Iterator[None]:
    """Say what the system refused in terms of the home."""
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL of {home} has been starting for {START_SECONDS:.0f} s; try again later"
        ) from error
    except TimeoutError as error:
        raise DatabaseUnavailable(f"the embedded PostgreSQL of {home} does not answer ({error}); try again") from error
    except OSError as error:
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL of {home} could not be started: {error}; {advice(str(error))}"
        ) from error


def _enter(home: Path, hold: _Hold | None, linger: float, settings: Mapping[str, str]) -> _Hold:
    """Take a hold and see to it that a server runs and a watchdog stands by, one process at a time."""
    premises = settle(home)
    owner = premises.home.stat().st_uid
    with locked(premises.place / "start.lock", owner=owner, patience=START_SECONDS) as turn:
        fd = hold.fd if hold else open_own(premises.place / "clients.lock", owner=owner)
        try:
            share(fd)
            _see_to_server(premises, turn, linger, settings)
        except BaseException:
            if hold is None:
                os.close(fd)
            raise
    return _Hold(premises, fd)


def _see_to_server(premises: Premises, turn: int, linger: float, settings: Mapping[str, str]) -> None:
    with no_fork():
        watch = open_own(premises.place / "watch.lock", owner=premises.home.stat().st_uid)
        unwatched = try_lock(watch)
        os.close(watch)
    if _settled(premises) is ABSENT:
        _launch(premises, turn, linger, settings)
    elif unwatched:
        _stand_by(premises, turn, linger, [], {})


def _settled(premises: Premises) -> str:
    """Wait while the server starts, recovers or shuts down, and say whether it is ready or absent."""
    deadline = time.monotonic() + START_SECONDS
    while (state := probe(str(premises.socket))) is BUSY:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it has been starting or stopping for {START_SECONDS:.0f} s; see {premises.log}")
        time.sleep(0.02)
    return state


def _launch(premises: Premises, turn: int, linger: float, settings: Mapping[str, str]) -> None:
    found = binaries(premises.account)
    stranger = None
    if not premises.data.exists():
        build(premises, found, turn=turn)
    elif (premises.data / "postmaster.pid").exists():
        stranger = clear(premises)
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (premises.socket / name).unlink(missing_ok=True)
    _rotate(premises.log)
    command = [str(found / "postgres"), *configure(premises, settings)]
    _stand_by(premises, turn, linger, command, {} if stranger is None else {"PG_GRANDPARENT_PID": str(stranger)})


def _stand_by(premises: Premises, turn: int, linger: float, command: list[str], environment: Mapping[str, str]) -> None:
    """Start a watchdog, with the server when a command is given, and wait until it is ready or has failed.

    It keeps nothing of this process's: not its terminal, pipes, directory or environment.
    """
    who = premises.account
    arguments = [premises.place, premises.socket, linger, who.uid, who.gid, turn, *command]
    loader = {name: value for name, value in os.environ.items() if name.endswith("LD_LIBRARY_PATH")}
    log_fd = open_own(premises.log, owner=premises.home.stat().st_uid, access=os.O_WRONLY | os.O_APPEND)
    with open(log_fd, "ab") as log:
        before = log.tell()
        done = run(
            [_python(), "-I", "-S", "-B", watchdog.__file__, *map(str, arguments)],
            output=log,
            environment={**CLEAN, **loader, **environment},
            keep=(turn,),
            timeout=START_SECONDS,
        )
    if done.code:
        said = _tail(premises.log, before)
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL did not start; {advice(said)}. {premises.log} says:\n{said}"
        )


def _python() -> str:
    """Find an interpreter for the watchdog; inside uWSGI or a frozen program `sys.executable` is not one."""
    candidates = [Path(sys.executable or "/-"), Path(sys.prefix) / "bin" / "python3", Path("/usr/bin/python3")]
    for path in candidates:
        if path.name.startswith("python") and os.access(path, os.X_OK):
            return str(path)
    raise DatabaseUnavailable(f"no Python to run the watchdog with among {[str(p) for p in candidates]}; {ANOTHER_WAY}")


def _rotate(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def _tail(log: Path, start: int, *, lines: int = 20) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _after_fork() -> None:
    global _turn
    _turn = threading.Lock()  # another thread of the parent may have held it


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
