"""An embedded server of a test's own, and the bytes of all its files."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from htm_core import Settings
from htm_core.db.database import Database
from htm_core.memory.process import runtime
from tests.store.embedded_homes import temporary_home

SETTINGS = Settings(worker="off", verb_timeout=120, statement_timeout=100)


@dataclass(frozen=True)
class RawServer:
    """A server whose files nobody else writes."""

    home: Path
    database: Database

    def execute(self, *statements: LiteralString) -> None:
        """Run statements as the superuser, each in a transaction of its own."""
        with psycopg.connect(
            self.database.dsn("htm_root").get_secret_value(), autocommit=True
        ) as connection:
            for each in statements:
                connection.execute(each)

    def files_with(self, *needles: bytes) -> dict[str, list[str]]:
        """For each of these bytes the files that have them, whatever they are: tables, indexes, logs, WAL."""
        folders = {
            self.home,
            self.home.parent,
            *(Path(p.read_text().strip()) for p in self.home.glob("*.elsewhere")),
        }
        paths = sorted({path for folder in folders for path in folder.rglob("*") if path.is_file()})
        found: dict[str, list[str]] = {repr(each): [] for each in needles}
        for path in paths:
            for each in needles:
                if _has(path, each):
                    found[repr(each)].append(
                        str(path.relative_to(self.home.parent))
                        if path.is_relative_to(self.home.parent)
                        else str(path)
                    )
        return found

    def write_all(self) -> None:
        """Do what docs/why/erasure.md says: make every table and the planner's statistics anew, and write all of it."""
        self.execute(
            "vacuum full",
            "delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'htm'::regnamespace)",
            "analyze",
            "vacuum full pg_statistic",
            "checkpoint",
        )

    def drop_old_wal(self) -> None:
        """Begin a new segment, and delete those before it instead of keeping them for later use."""
        self.execute(
            "alter system set wal_recycle = off",
            "alter system set min_wal_size = '32MB'",
            "select pg_reload_conf()",
            "select pg_switch_wal()",
            "checkpoint",
            "select pg_switch_wal()",
            "checkpoint",
        )


def _has(path: Path, needle: bytes) -> bool:
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as bytes_of:
                return bytes_of.find(needle) >= 0
    except FileNotFoundError:  # the server has just deleted it
        return False


@contextmanager
def raw_server() -> Iterator[RawServer]:
    """A private server in a home of its own, gone afterwards."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_HOME", str(home))
        patch.delenv("HTM_DATABASE_URL", raising=False)
        found = runtime(None, SETTINGS)
        found.database.open()
        try:
            yield RawServer(home, found.database)
        finally:
            # The worker last: whatever is written until then wakes it.
            for part in (found.heartbeat, found.listener, found.write_behind, found.worker):
                part.stop()
            found.database.close()
