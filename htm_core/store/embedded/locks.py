"""Locks between processes: the kernel's own flocks, which end with their holder however it ends."""

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

# Locks held for a moment, which a process forked at that moment must not keep open for all of its life.
_passing: set[int] = set()


def open_own(path: Path, *, owner: int, access: int = os.O_RDWR) -> int:
    """Open a file beside the server's data, made when it is missing and never through a symlink.

    `owner` is the uid that root gives it to: what root makes in somebody's home must not lock them out.
    """
    fd = os.open(path, access | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0:
        os.fchown(fd, owner, -1)
    return fd


def share(fd: int) -> None:
    """Take the shared lock; it lasts until the last copy of this descriptor, in whatever process, is closed."""
    fcntl.flock(fd, fcntl.LOCK_SH)


@contextmanager
def locked(path: Path, *, owner: int, patience: float = 120.0) -> Iterator[int]:
    """Hold the exclusive lock for a while and give its descriptor; TimeoutError after `patience` seconds.

    A process started meanwhile can be given the descriptor, and then the lock outlives a killed holder until it ends.
    """
    fd = open_own(path, owner=owner)
    _passing.add(fd)
    try:
        _wait(fd, time.monotonic() + patience, path)
        yield fd
    finally:
        _passing.discard(fd)
        fcntl.flock(fd, fcntl.LOCK_UN)  # not only closed: a copy may live on in a forked child
        os.close(fd)


def _wait(fd: int, deadline: float, path: Path) -> None:
    while not try_lock(fd):
        if time.monotonic() > deadline:
            raise TimeoutError(f"another process has held {path} for too long")
        time.sleep(0.01)


def _close_passing() -> None:
    for fd in _passing:
        os.close(fd)
    _passing.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_passing)
