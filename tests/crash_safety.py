"""What the servers of the tests spare: being safe when the machine itself ends, which no test brings about.

With `fsync` each commit waits for the disk, and all of them queue for the one that there is. Without it a commit waits for the
system alone, which outlives every process that a test kills: `synchronous_commit` stays on, so what was acknowledged is there after
`kill -9` of clients and of the server. Only servers of the tests' own are set so, by their data directories; the product's settings
stay what they are. Tests that kill a server, or ask whether one is set well, have one with the product's settings: a home of their
own (`tests/store/test_embedded.py`), a cluster of their own (`tests/servers/test_faults.py`), or `crash_safe_server`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

SPARED = ("fsync", "full_page_writes")
OFF = dict.fromkeys(SPARED, "off")


def set_crash_safety(dsn: str, *, on: bool) -> None:
    """Set it for a server, for good, and return when it counts; `dsn` is a superuser's."""
    value = "on" if on else "off"
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name in SPARED:
            connection.execute(f"alter system set {name} = {value}")
        connection.execute("select pg_reload_conf()")
    deadline = time.monotonic() + 30
    while _settings(dsn) != {value}:
        assert time.monotonic() < deadline, (
            f"expected {SPARED} to be {value} after a reload, got {_settings(dsn)}"
        )
        time.sleep(0.01)


@contextmanager
def crash_safe(dsn: str) -> Iterator[None]:
    """A server as users have it, while this lasts."""
    set_crash_safety(dsn, on=True)
    try:
        yield
    finally:
        set_crash_safety(dsn, on=False)


def _settings(dsn: str) -> set[str]:
    """What a new session finds."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return {connection.execute(f"show {name}").fetchone()[0] for name in SPARED}  # type: ignore[index]
