"""Making the data directory of an embedded server, and the configuration that it is started with."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ...errors import DatabaseUnavailable, InvalidInput
from ..queries import load
from .directories import Premises

SUPERUSER = "htm_root"
DATABASE = "htm"
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_ROOM_FOR_PARALLEL_BUILDS = 1 << 30
_LEAST_CACHE, _LARGEST_CACHE = 128, 1024  # megabytes; pages are taken from the system only as they fill
_MEMORY_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")

SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_preload_libraries": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "maintenance_work_mem": "512MB",  # an HNSW index that does not fit is built several times slower
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "autovacuum_naptime": "15s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "default_text_search_config": "pg_catalog.english",
    "log_min_messages": "log",  # not errors of statements: they would quote what is remembered
    "log_min_error_statement": "panic",
}
_OURS = {"listen_addresses", "unix_socket_permissions", "unix_socket_directories", "port", "hba_file", "ident_file"}


def checked(settings: Mapping[str, str] | None) -> dict[str, str]:
    """Return extra server settings as they are, or say which cannot be one."""
    for name, value in (settings or {}).items():
        if not re.fullmatch(r"[a-z_][a-z0-9_.]*", name) or name in _OURS:
            raise InvalidInput(
                f"a server setting must be one of PostgreSQL's own besides {sorted(_OURS)}, got {name!r}"
            )
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidInput(f"the value of the server setting {name!r} must be printable text, got {value!r}")
    return dict(settings or {})


def build(premises: Premises, bin_directory: Path, *, turn: int) -> None:
    """Make the data directory with the empty database in it, complete or not at all. About 0.7 s.

    Everything happens in a draft that a rename puts in place, so a kill at any moment leaves nothing that counts. The
    programs inherit `turn`, the start lock: if this process is killed, the next one waits until they have ended.
    """
    for left in premises.data.parent.glob(f"{premises.data.stem}.draft*"):
        shutil.rmtree(left, ignore_errors=True)
    # A name of its own: a program of a start that was interrupted as it began may still be writing to the last one.
    draft = premises.data.with_suffix(f".draft-{os.getpid()}-{time.time_ns()}")
    draft.mkdir(mode=0o700)
    premises.account.own(draft)
    _run(premises, _initdb(bin_directory, draft), turn=turn)
    single = [str(bin_directory / "postgres"), "--single", "-c", "exit_on_error=on", "-D", str(draft), "postgres"]
    _run(premises, single, turn=turn, text=load("embedded/initdb")["database"] + "\n")
    draft.rename(premises.data)
    _sync(premises.place)


def _initdb(bin_directory: Path, draft: Path) -> list[str]:
    """Compose the call: sorting by code point of PostgreSQL's own, so that no system upgrade breaks an index."""
    return [
        *(str(bin_directory / "initdb"), "-D", str(draft), "-U", SUPERUSER, "--no-instructions"),
        *("--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", f"--locale={_LOCALE}", "--lc-messages=C"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--text-search-config=english"),
    ]


def _run(premises: Premises, command: list[str], *, turn: int, text: str = "") -> None:
    done = premises.account.run(command, text=text, keep=(turn,))
    if done.code:
        for left in premises.data.parent.glob(f"{premises.data.stem}.draft*"):
            shutil.rmtree(left, ignore_errors=True)
        said = "\n".join(done.said.strip().splitlines()[-6:])
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL could not be set up in {premises.place}: {Path(command[0]).name} ended with "
            f"{done.code}; {advice(done.said)}. It said:\n{said}"
        )


def advice(said: str) -> str:
    """Say what to do next about an output of PostgreSQL."""
    if "No space left on device" in said:
        return "the disk is full: free 100 MB, or set HTM_HOME to a directory on another disk"
    if "ermission denied" in said or "not permitted" in said:
        return "something is not permitted there: set HTM_HOME to an ordinary directory on a local disk"
    return "mend what it names, or use a PostgreSQL of your own with url= or HTM_DATABASE_URL"


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def configure(premises: Premises, settings: Mapping[str, str]) -> list[str]:
    """Write the configuration anew and return the arguments that make a server use it.

    Logins are by `peer`: the kernel says who is calling, and the server's account and root may be every role.
    """
    directory = str(premises.socket).replace('"', '""')
    chosen = {**SETTINGS, **_cache(), **_parallel_builds(), **settings, "unix_socket_directories": f'"{directory}"'}
    who = {premises.account.name.replace('"', '""'), "root"}
    files = {
        "config_file": ("htm.conf", "".join(f"{name} = {_quoted(value)}\n" for name, value in chosen.items())),
        "hba_file": ("pg_hba.conf", "local all all peer map=htm\n"),
        "ident_file": ("pg_ident.conf", "".join(f'htm "{name}" all\n' for name in sorted(who))),
    }
    arguments = ["-D", str(premises.data)]
    for setting, (name, text) in files.items():
        _write(premises.place / name, "# written at every start\n" + text)
        arguments += ["-c", f"{setting}={premises.place / name}"]
    return arguments


def _cache() -> dict[str, str]:
    """Give shared buffers a quarter of the memory that there is: a recall whose pages are read anew takes twice as long."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    with contextlib.suppress(OSError, ValueError):
        megabytes = min(megabytes, int(_MEMORY_OF_CONTAINER.read_text()) >> 20)
    return {"shared_buffers": f"{max(_LEAST_CACHE, min(_LARGEST_CACHE, megabytes // 4))}MB"}


def _parallel_builds() -> dict[str, str]:
    """Turn parallel index builds off where shared memory is too small for them, as a container's 64 MB are."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return {}
    small = found.f_blocks * found.f_frsize < _ROOM_FOR_PARALLEL_BUILDS
    return {"max_parallel_maintenance_workers": "0"} if small else {}


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _write(path: Path, text: str) -> None:
    """Replace a file at once; the new one is never written through what a symlink points to."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o644)
        file.write(os.fsencode(text))
    draft.replace(path)
