"""Locks between processes: flocks of the kernel, which end with their holder in any case."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .watchdog import try_lock

if sys.platform != "win32":
    import fcntl

# Locks held for a short time. A process forked meanwhile closes them, or it would hold them for its
# whole life.
_short_locks: set[int] = set()


def open_own(path: Path, *, owner: int, access: int = os.O_RDWR) -> int:
    """Open a lock or log file, create it if it is missing, and never follow a symlink.

    `owner` is the uid that gets the file when root makes it, so that the home's owner is not locked
    out.
    """
    fd = os.open(path, access | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0:
        os.fchown(fd, owner, -1)
    return fd


def acquire_shared(fd: int) -> None:
    """Take the shared lock. It lasts until the last copy of this descriptor is closed, in any
    process.
    """
    fcntl.flock(fd, fcntl.LOCK_SH)


@contextmanager
def locked(path: Path, *, owner: int, patience: float = 120.0) -> Iterator[int]:
    """Hold the exclusive lock inside this block; raises `TimeoutError` after `patience` seconds.

    The value is the descriptor. A program that inherits it keeps the lock until it ends, even if
    this process is killed.
    """
    fd = open_own(path, owner=owner)
    _short_locks.add(fd)
    try:
        _wait(fd, time.monotonic() + patience, path)
        yield fd
    finally:
        _short_locks.discard(fd)
        fcntl.flock(fd, fcntl.LOCK_UN)  # not only closed: a copy may live on in a forked child
        os.close(fd)


def _wait(fd: int, deadline: float, path: Path) -> None:
    while not try_lock(fd):
        if time.monotonic() > deadline:
            raise TimeoutError(f"another process has held the lock {path} for too long")
        time.sleep(0.01)


def _close_short_locks() -> None:
    for fd in _short_locks:
        os.close(fd)
    _short_locks.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_short_locks)
