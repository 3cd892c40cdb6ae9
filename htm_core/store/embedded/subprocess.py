"""Starting programs in a process whose other threads may fork at any moment."""

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

CLEAN: Final[Mapping[str, str]] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

_moment = threading.Lock()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep other threads from forking for a moment, so that no child inherits what is open only meanwhile."""
    with _moment:
        yield


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended, and all that it said."""

    code: int
    said: str


def run(
    command: Sequence[str],
    *,
    text: str = "",
    output: IO[bytes] | None = None,
    environment: Mapping[str, str] = CLEAN,
    become: tuple[int, int] | None = None,
    keep: Sequence[int] = (),
    timeout: float | None = None,
) -> Done:
    """Run a program that gets nothing of this process but what is named here, and wait for its end.

    `become` is a uid and gid, for root; `keep` are file descriptors that it inherits, so that a lock of the caller's
    lasts as long as the program does; `output` takes what it says instead of the answer. No pipes: a child that another
    thread forks would keep their other ends open, and one of the two would wait for ever.
    """
    uid, gid = become or (None, None)
    with _scratch() as told, nullcontext(output) if output else _scratch() as heard:
        told.write(text.encode())
        told.seek(0)
        with no_fork():
            process = subprocess.Popen(
                command,
                stdin=told,
                stdout=heard,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=environment,
                start_new_session=True,
                pass_fds=keep,
                user=uid,
                group=gid,
                extra_groups=None if become is None else [],
            )
        code = _wait(process, timeout)
        return Done(code, "" if output else _read(heard))


def _wait(process: subprocess.Popen[bytes], timeout: float | None) -> int:
    try:
        return process.wait(timeout)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _scratch() -> IO[bytes]:
    """Open a nameless file, in memory where the system can: a full disk then has room to say that it is full."""
    if sys.platform == "linux":
        return open(os.memfd_create("htm"), "w+b")
    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


if sys.platform != "win32":
    os.register_at_fork(before=_moment.acquire, after_in_parent=_moment.release, after_in_child=_moment.release)
