"""Memories come and go: with their last handle, over a shutdown, and into a forked child."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from htm_core import Memory, Settings, shutdown
from htm_core.db import database as databases
from htm_core.embedded import server
from htm_core.memory import process
from htm_core.working import working_sets
from tests.conftest import SETTINGS, Make

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})


def in_child(check: Callable[[], bool]) -> int:
    """The exit status of a check in a forked child, which is ended if it hangs."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_working_memory_goes_with_its_last_memory_and_not_with_the_garbage(make: Make) -> None:
    gc.disable()
    try:
        memory = make(budget=10)
        memory.remember("held")
        memory.aio  # noqa: B018 - the twin must not keep the memory
        del memory
        assert make(budget=20).working.budget == 20
    finally:
        gc.enable()


def test_a_memory_is_used_on_after_a_shutdown(make: Make) -> None:
    memory = make()
    memory.remember("before")
    memory.recall("before", mode="text")
    shutdown()
    memory.remember("after")
    assert {h.content for h in memory.recall("before after", mode="text")} == {"before", "after"}
    assert memory.flush(timeout=60)
    shutdown()
    assert not memory._engine.database.opened
    assert len(memory.timeline()) == 2


def test_a_shutdown_and_other_settings_leave_one_working_memory(make: Make) -> None:
    old = make(budget=20, tokenizer=lambda text: len(text.split()))
    secret = old.remember("the secret")
    shutdown()
    new = make(budget=20, tokenizer=lambda text: len(text.split()), settings=IDLE)
    assert new.working is old.working
    assert [item.content for item in new.working.items] == ["the secret"]
    new.forget(secret.id)
    assert len(old.working) == 0


def test_flush_ends_after_a_shutdown_without_a_worker(make: Make) -> None:
    memory = make(settings=IDLE)
    memory.remember("before")
    shutdown()
    memory.remember("after")
    assert memory.flush(timeout=60)
    assert memory.stats().vectors == 2


def test_the_awaited_verbs_work_in_a_forked_child(make: Make) -> None:
    memory = make()
    asyncio.run(memory.aio.remember("in the parent"))
    assert in_child(lambda: bool(asyncio.run(memory.aio.recall("parent", mode="text")))) == 0


def test_a_fork_counts_no_access_twice(make: Make) -> None:
    memory = make(settings=IDLE)
    node = memory.remember("counted")
    memory.recall("counted", mode="text")
    assert in_child(lambda: memory.flush(timeout=60)) == 0
    memory.flush(timeout=60)
    assert memory.get(node.id).access_count == 1


def test_erasing_a_session_empties_its_working_memory(make: Make) -> None:
    one, two = make(session="one"), make(session="two")
    one.remember("both")
    two.remember("both")
    two.erase(session="one", confirm="confirmed")
    assert len(one.working) == 0
    assert len(two.working) == 1


LOCKS: dict[str, Callable[[Memory], Any]] = {
    "the database's": lambda memory: memory._engine.database._lock,
    "the address's": lambda memory: memory._engine.database.address._lock,
    "the pools'": lambda memory: memory._engine.database.pools._lock,
    "the registry of databases": lambda memory: databases._registry,
    "the growth of tenants": lambda memory: memory._engine.database.growth._lock,
    "the reading of a working set": lambda memory: memory._engine.working._reading,
    "the writing of a working set": lambda memory: memory._engine.working._writing,
    "what is written behind": lambda memory: memory._runtime.write_behind._lock,
    "the order of a working set": lambda memory: memory._engine.working._order,
    "working memory's": lambda memory: memory._engine.working.memory._lock,
    "the worker's": lambda memory: memory._runtime.worker._lock,
    "the access counts'": lambda memory: memory._runtime.write_behind.accesses._lock,
    "the writing of access counts": lambda memory: memory._runtime.write_behind.accesses._writing,
    "the heart's": lambda memory: memory._runtime.heartbeat._lock,
    "the listener's": lambda memory: memory._runtime.listener._lock,
    "the registry of working sets": lambda memory: working_sets._lock,
    "the registry of runtimes": lambda memory: process._lock,
    "the embedded server's": lambda memory: server._holds_lock,
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_fork_while_another_thread_holds_a_lock_leaves_the_child_free(
    make: Make, name: str
) -> None:
    memory = make(budget=100)
    memory.remember("words of the parent")
    memory.recall("parent", mode="text")
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with LOCKS[name](memory):
            taken.set()
            done.wait(60)

    def use() -> bool:
        memory.remember("words of the child")
        found = {hit.content for hit in memory.recall("words", mode="text")}
        working_memory = {item.content for item in memory.context().items}
        memory.working.clear()
        shutdown()
        return (
            found == working_memory == {"words of the parent", "words of the child"}
            and make("other").remember("x").is_new
        )

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    try:
        assert in_child(use) == 0
    finally:
        done.set()
        thread.join()
    assert len(memory.working) == 0
    assert memory.flush(timeout=60)


def test_no_transaction_compiles_its_statements(memory: Memory) -> None:
    with memory._engine.transaction() as connection:
        row = connection.execute("show jit").fetchone()
    assert row == {"jit": "off"}
