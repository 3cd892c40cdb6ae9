"""Start programs safely while other threads of this process may fork."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import IO, Final

CLEAN_ENVIRONMENT: Final[Mapping[str, str]] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

_fork_lock = threading.Lock()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep other threads from forking inside this block, so that no child inherits file descriptors
    that are open only there.
    """
    with _fork_lock:
        yield


@dataclass(frozen=True, slots=True)
class Result:
    """The exit code of a program, and its output."""

    code: int
    output: str


def run(
    command: Sequence[str],
    *,
    text: str = "",
    output: IO[bytes] | None = None,
    environment: Mapping[str, str] = CLEAN_ENVIRONMENT,
    run_as: tuple[int, int] | None = None,
    inherited: Sequence[int] = (),
    timeout: float | None = None,
) -> Result:
    """Run a program and wait for its end. It inherits nothing from this process but what is named
    here.

    `run_as` is a uid and gid, for root. `inherited` are file descriptors that the program gets: a
    lock on one of them lasts as long as the program. `output` is a file for its output, which is
    then not part of the result. No pipes are
    used: a child that another thread forks would keep their other ends open, and one side would
        wait for ever.
    """
    uid, gid = run_as or (None, None)
    with _scratch() as stdin, nullcontext(output) if output else _scratch() as stdout:
        stdin.write(text.encode())
        stdin.seek(0)
        with no_fork():
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=environment,
                start_new_session=True,
                pass_fds=inherited,
                user=uid,
                group=gid,
                extra_groups=None if run_as is None else [],
            )
        code = _wait(process, timeout)
        return Result(code, "" if output else _read(stdout))


def _wait(process: subprocess.Popen[bytes], timeout: float | None) -> int:
    try:
        return process.wait(timeout)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _scratch() -> IO[bytes]:
    """Open a temporary file, in memory where possible: then a program can report a full disk even
    on a full disk.
    """
    if sys.platform == "linux":
        return open(os.memfd_create("htm"), "w+b")
    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


if sys.platform != "win32":
    os.register_at_fork(
        before=_fork_lock.acquire,
        after_in_parent=_fork_lock.release,
        after_in_child=_fork_lock.release,
    )
