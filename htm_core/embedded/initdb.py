"""The data directory of an embedded server, and the configuration that it is started with."""

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

from ..base.errors import DatabaseUnavailable, InvalidInput
from .directories import Directories

SUPERUSER = "htm_root"
DATABASE = "htm"
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_MIN_SHARED_MEMORY = 1 << 30
# megabytes; the system gives the pages only when they are used
_MIN_CACHE, _USUAL_CACHE = 128, 1024
# megabytes at most for building an index: 2.3 KB a vector of 384 dimensions
_MIN_BUILD, _MAX_BUILD = 512, 8192
_MEMORY_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")

SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_preload_libraries": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum_work_mem": "512MB",
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
    "log_min_messages": "log",  # no errors of statements: they would quote memories
    "log_min_error_statement": "panic",
}
_RESERVED = {
    "listen_addresses",
    "unix_socket_permissions",
    "unix_socket_directories",
    "port",
    "hba_file",
    "ident_file",
}


def checked_settings(settings: Mapping[str, str] | None) -> dict[str, str]:
    """Return extra server settings unchanged; raises `InvalidInput` for one that is not allowed."""
    for name, value in (settings or {}).items():
        if not re.fullmatch(r"[a-z_][a-z0-9_.]*", name) or name in _RESERVED:
            raise InvalidInput(
                f"a server setting must be one of PostgreSQL's own besides {sorted(_RESERVED)}, "
                f"got {name!r}"
            )
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidInput(
                f"the value of the server setting {name!r} must be printable text, got {value!r}"
            )
    return dict(settings or {})


def create_data_directory(
    directories: Directories, bin_directory: Path, *, start_lock: int
) -> None:
    """Make the data directory with an empty database, completely or not at all. Takes about 0.7 s.

    Everything happens in a draft directory that is renamed at the end, so a process killed before
    leaves nothing that counts. The programs inherit `start_lock`: if this process is killed, the
    next one waits until they have ended.
    """
    for leftovers in directories.data.parent.glob(f"{directories.data.stem}.draft*"):
        shutil.rmtree(leftovers, ignore_errors=True)
    # A new name each time: a program of an interrupted start may still be writing to the last
    # draft.
    draft = directories.data.with_suffix(f".draft-{os.getpid()}-{time.time_ns()}")
    draft.mkdir(mode=0o700)
    directories.account.give_to_account(draft)
    _run(directories, _initdb(bin_directory, draft), start_lock=start_lock)
    single = [
        str(bin_directory / "postgres"),
        "--single",
        "-c",
        "exit_on_error=on",
        "-D",
        str(draft),
        "postgres",
    ]
    _run(directories, single, start_lock=start_lock, text=f"create database {DATABASE}\n")
    draft.rename(directories.data)
    _sync(directories.base)


def _initdb(bin_directory: Path, draft: Path) -> list[str]:
    """The call of initdb. PostgreSQL's own sorting by code point is used, so that no system upgrade
    breaks an index.
    """
    return [
        *(str(bin_directory / "initdb"), "-D", str(draft), "-U", SUPERUSER, "--no-instructions"),
        *(
            "--auth-local=peer",
            "--auth-host=reject",
            "--encoding=UTF8",
            f"--locale={_LOCALE}",
            "--lc-messages=C",
        ),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--text-search-config=english"),
    ]


def _run(directories: Directories, command: list[str], *, start_lock: int, text: str = "") -> None:
    result = directories.account.run(command, text=text, inherited=(start_lock,))
    if result.code:
        for leftovers in directories.data.parent.glob(f"{directories.data.stem}.draft*"):
            shutil.rmtree(leftovers, ignore_errors=True)
        output = "\n".join(result.output.strip().splitlines()[-6:])
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL could not be set up in {directories.base}: "
            f"{Path(command[0]).name} ended with "
            f"{result.code}; {advice(result.output)}. Its output was:\n{output}"
        )


def advice(output: str) -> str:
    """Return advice on an error message of PostgreSQL or of the system."""
    if "No space left on device" in output:
        return "the disk is full: free 100 MB, or set HTM_HOME to a directory on another disk"
    if "ermission denied" in output or "not permitted" in output:
        return (
            "something is not permitted there: set HTM_HOME to an ordinary directory on a "
            "local disk"
        )
    return (
        "fix what the message names, or use a PostgreSQL of your own with url= or HTM_DATABASE_URL"
    )


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def configure(directories: Directories, settings: Mapping[str, str]) -> list[str]:
    """Write the configuration files and return the arguments that make a server use them.

    Logins are by `peer`: the kernel names the calling account, and the server's account and root
    may log in as any role.
    """
    directory = str(directories.socket).replace('"', '""')
    chosen = {
        **SETTINGS,
        **_memory_settings(directories.data),
        **_parallel_settings(),
        **settings,
        "unix_socket_directories": f'"{directory}"',
    }
    logins = {directories.account.name.replace('"', '""'), "root"}
    files = {
        "config_file": (
            "htm.conf",
            "".join(f"{name} = {_quote(value)}\n" for name, value in chosen.items()),
        ),
        "hba_file": ("pg_hba.conf", "local all all peer map=htm\n"),
        "ident_file": ("pg_ident.conf", "".join(f'htm "{name}" all\n' for name in sorted(logins))),
    }
    arguments = ["-D", str(directories.data)]
    for setting, (name, text) in files.items():
        _write(directories.base / name, "# written at every start\n" + text)
        arguments += ["-c", f"{setting}={directories.base / name}"]
    return arguments


def _memory_settings(data: Path) -> dict[str, str]:
    """Shared buffers get a quarter of the memory: a recall that must read its pages again takes
    twice as long.

    A database of more than a gigabyte gets as much as it has: PostgreSQL looks through all buffers
    whenever a table is dropped. The build of an index may have an eighth: an HNSW index that does
    not fit is built several times slower.
    """
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    with contextlib.suppress(OSError, ValueError):
        megabytes = min(megabytes, int(_MEMORY_OF_CONTAINER.read_text()) >> 20)
    return {
        "shared_buffers": f"{max(_MIN_CACHE, min(max(_USUAL_CACHE, _megabytes_in(data / 'base')), megabytes // 4))}MB",
        "maintenance_work_mem": f"{max(_MIN_BUILD, min(_MAX_BUILD, megabytes // 8))}MB",
    }


def _megabytes_in(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) >> 20


def _parallel_settings() -> dict[str, str]:
    """No parallel index builds where shared memory is too small for them, such as the 64 MB of a
    container.
    """
    try:
        filesystem = os.statvfs("/dev/shm")
    except OSError:
        return {}
    small = filesystem.f_blocks * filesystem.f_frsize < _MIN_SHARED_MEMORY
    return {"max_parallel_maintenance_workers": "0"} if small else {}


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, and never write through a symlink."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o644)
        file.write(os.fsencode(text))
    draft.replace(path)
