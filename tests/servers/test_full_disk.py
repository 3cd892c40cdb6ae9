"""A full disk: writes are refused with the reason, acknowledged memories stay, and free space helps."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from htm_core import DatabaseUnavailable, Memory, StorageError
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.cluster import Cluster, own
from tests.servers.conftest import Open

SMALL = {
    "min_wal_size": "2MB",
    "max_wal_size": "4MB",
    "shared_buffers": "16MB",
    "autovacuum": "off",
}
HOARDING = {
    "wal_keep_size": "1GB"
}  # keeps its log for standbys, as a forgotten replication slot would
# A checkpoint writes a small file beside the data, and PostgreSQL ends itself where even that finds no room. On a busy machine one
# fell into the moment of the full disk now and then.
WITHOUT_CHECKPOINTS = {"max_wal_size": "1GB", "checkpoint_timeout": "1h"}
TINY_LOG = "--wal-segsize=1"

Disk = Callable[[str], Path]


@pytest.fixture
def disk(premises: Path) -> Iterator[Disk]:
    """Mounts small file systems in memory, which only root can; they are gone afterwards."""
    with contextlib.ExitStack() as afterwards:

        def mount(size: str) -> Path:
            folder = Path(tempfile.mkdtemp(dir=premises))
            command = [
                "mount",
                "-t",
                "tmpfs",
                "-o",
                f"size={size},mode=755",
                "htm-tests",
                str(folder),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
            afterwards.callback(subprocess.run, ["umount", "-l", str(folder)], check=False)
            own(folder)
            return folder

        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        yield mount


@pytest.fixture
def built(trusted: Certificate, premises: Path) -> Iterator[Callable[..., Cluster]]:
    """Builds and prepares servers on given disks."""
    with contextlib.ExitStack() as afterwards:

        def build(folder: Path, *options: str, **settings: str) -> Cluster:
            cluster = Cluster(programs.modern(), folder, trusted, SMALL | settings)
            afterwards.callback(cluster.stop)
            cluster.build(TINY_LOG, *options)
            cluster.start()
            cluster.prepare()
            return cluster

        yield build


def fill(disk: Path, *, leave: int) -> Path:
    """Take the disk's room up with one file, but for so many bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_frsize - leave))
    return filler


def say_until_refused(memory: Memory) -> tuple[list[str], StorageError]:
    """Remember one text after another; what was acknowledged, and the error that ended it."""
    acknowledged: list[str] = []
    for n in range(3_000):
        text = f"memory {n} " + " ".join(f"word{(n * 37 + k) % 9973}" for k in range(200))
        try:
            memory.remember(text)
        except StorageError as error:
            return acknowledged, error
        acknowledged.append(text)
    pytest.fail("the disk was never full")


def known(memory: Memory) -> set[str]:
    """Every text that is there."""
    found, after = [], None
    while page := memory.list(limit=1_000, after=after):
        found, after = [*found, *page], page[-1].id
    return {node.content for node in found}


def test_full_data_are_named_as_the_reason_and_room_mends_it(
    disk: Disk, built: Callable[..., Cluster], premises: Path, memory_at: Open
) -> None:
    small, log = disk("160M"), Path(tempfile.mkdtemp(dir=premises))
    own(log)
    cluster = built(small, f"--waldir={log / 'wal'}", **WITHOUT_CHECKPOINTS)
    with memory_at(cluster.dsn()) as memory:
        memory.remember("before the flood")
        filler = fill(small, leave=1 << 20)
        acknowledged, error = say_until_refused(memory)
        assert "the server is out of space" in str(error)
        assert "nothing was written" in str(error)
        assert known(memory) == {"before the flood", *acknowledged}
        filler.unlink()
        memory.remember("after the flood")
        assert known(memory) == {"before the flood", "after the flood", *acknowledged}


def test_a_full_log_stops_the_server_and_loses_nothing_that_was_acknowledged(
    disk: Disk, built: Callable[..., Cluster], premises: Path, memory_at: Open
) -> None:
    """PostgreSQL ends itself when it cannot write its log; with room, an administrator starts it again."""
    small, folder = disk("64M"), Path(tempfile.mkdtemp(dir=premises))
    cluster = built(folder, f"--waldir={small / 'wal'}", **HOARDING)
    with memory_at(cluster.dsn(), pool_timeout=2.0) as memory:
        memory.remember("before the flood")
        filler = fill(small, leave=1 << 20)
        acknowledged, error = say_until_refused(memory)
        assert isinstance(error, DatabaseUnavailable) or "out of space" in str(error)
        filler.unlink()
        cluster.stop()
        cluster.start()
        with contextlib.suppress(StorageError):
            memory.remember("after the flood")
        memory.remember("after the flood")
        # What was under way when the server ended may be there; what was acknowledged must be.
        assert known(memory) >= {"before the flood", "after the flood", *acknowledged}
