"""Clients and servers that are killed, and connections that are cut, many times: nothing that was acknowledged is lost.

All of them take half an hour on two cores: HTM_DURABILITY=1 python -m pytest -n 0 --log-cli-level=info tests/attacks/test_durability.py
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from htm_core import HTMError, Memory, Mention, Settings, shutdown
from tests.conftest import Make
from tests.proxy import Proxy
from tests.stand_ins import HashEmbedder
from tests.store.test_survival import _all, child, killed_after

_log = logging.getLogger("tests.durability")
FULL = bool(os.environ.get("HTM_DURABILITY"))
CLIENT_KILLS, SERVER_KILLS, CUTS = (200, 50, 200) if FULL else (2, 2, 10)
SECONDS = 10.0  # Settings.verb_timeout here
GRACE = 1.0


@pytest.mark.timeout(300 + 30 * CLIENT_KILLS)
def test_killed_clients_lose_nothing_that_was_acknowledged(
    url: str | None, make: Make, tenant: str
) -> None:
    dice = random.Random(7)
    acknowledged = {
        f"turn{turn}": killed_after(child(url, tenant, f"turn{turn}"), dice.random())
        for turn in range(CLIENT_KILLS)
    }
    with make(embedder=HashEmbedder(name=tenant)) as memory:
        there = [mention.content for mention in _all(memory)]
    assert len(there) == len(set(there))
    wanted = {
        f"{name} {n} {i}"
        for name, numbers in acknowledged.items()
        for n in numbers
        for i in range(7)
    }
    assert not wanted - set(there)
    _log.info("%d clients killed, %d memories acknowledged, 0 lost", CLIENT_KILLS, len(wanted))


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of a private server that a test may kill."""
    home = Path(tempfile.mkdtemp(prefix="htm-killed-"))
    home.chmod(0o755)
    monkeypatch.setenv("HTM_HOME", str(home))
    monkeypatch.delenv("HTM_DATABASE_URL", raising=False)
    shutdown()
    yield home
    shutdown()
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.timeout(300 + 30 * SERVER_KILLS)
def test_killed_servers_lose_nothing_that_was_acknowledged_and_keep_no_verb(private: Path) -> None:
    dice, acknowledged, late = random.Random(8), list[str](), list[float]()
    is_over = threading.Event()
    memory = Memory(
        "atlas", embedder=HashEmbedder(), settings=Settings(worker="off", verb_timeout=SECONDS)
    )
    memory.remember("the server has started")

    def write() -> None:
        number = 0
        while not is_over.is_set():
            number, began = number + 1, time.monotonic()
            with suppress(HTMError):
                memory.remember(f"said {number}")
                acknowledged.append(f"said {number}")
            if time.monotonic() - began > SECONDS + GRACE:
                late.append(time.monotonic() - began)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(SERVER_KILLS):
            before = len(acknowledged)
            end = time.monotonic() + 60
            while len(acknowledged) < before + 3 and time.monotonic() < end:
                time.sleep(0.01)
            assert len(acknowledged) > before, "the server did not come back"
            time.sleep(dice.random() / 2)
            for file in private.rglob("postmaster.pid"):
                psutil.Process(int(file.read_text().split()[0])).kill()
    finally:
        is_over.set()
        writer.join()
    there = {mention.content for mention in _all_of(memory)}
    assert not set(acknowledged) - there
    assert not late
    _log.info(
        "%d servers killed, %d memories acknowledged, 0 lost", SERVER_KILLS, len(acknowledged)
    )


def _all_of(memory: Memory) -> list[Mention]:
    """Everything, once the server is well again."""
    for _ in range(40):
        with suppress(HTMError):
            found = memory.timeline(limit=1_000)
            while more := memory.timeline(limit=1_000, before=found[0]):
                found = more + found
            return list(found)
        time.sleep(0.5)
    raise AssertionError("the server did not come back")


@pytest.mark.timeout(300 + 5 * CUTS)
def test_connections_that_are_cut_lose_nothing_and_write_nothing_twice(
    url: str | None, database_url: str, tenant: str
) -> None:
    dice, acknowledged = random.Random(9), list[str]()
    with Memory(
        "atlas", url=url, tenant=tenant, embedder=HashEmbedder(), settings=Settings(worker="off")
    ) as direct:
        direct.stats()  # starts the private server, in case an earlier test has left it
    with Proxy(database_url) as proxy:
        settings = Settings(worker="off", auto_migrate=False, verb_timeout=SECONDS)
        memory = Memory(
            "atlas", url=proxy.dsn, tenant=tenant, embedder=HashEmbedder(), settings=settings
        )
        memory.remember("before")
        for number in range(CUTS):
            proxy.cut_after(dice.choice([b"begin ", b"COMMIT", b"set_config"]))
            began = time.monotonic()
            with suppress(HTMError):
                memory.remember(f"said {number}", id=f"id {number}")
                acknowledged.append(f"said {number}")
            assert time.monotonic() - began < SECONDS + GRACE
            assert not proxy._cuts, "the connection was cut"
        proxy.cut_after()
        there = [mention.content for mention in memory.timeline(limit=1_000)]
        memory._engine.database.close()
    assert len(there) == len(set(there))
    assert not set(acknowledged) - set(there)
    _log.info("%d connections cut, %d memories acknowledged, 0 lost", CUTS, len(acknowledged))
