"""What recall holds is in working memory at once and in its table a moment later, and a crash loses nothing else."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from htm_core import Eviction, Item, Memory, Settings, StorageError, shutdown
from htm_core.base.errors import DatabaseUnavailable
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY
from htm_core.engine import write_behind
from htm_core.working import store as table
from htm_core.working import unwritten, working_sets
from htm_core.working.memory import WorkingMemory
from htm_core.working.unwritten import Unwritten
from htm_core.working.working_sets import WorkingSet
from tests.conftest import SETTINGS, Make
from tests.proxy import Proxy
from tests.verbs.test_lifetime import in_child
from tests.verbs.test_working import at_now, count, elsewhere, held, rows


@pytest.fixture
def nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is written behind until somebody says so. Threads of earlier tests are ended."""
    shutdown()
    monkeypatch.setattr(write_behind, "INTERVAL", 3_600.0)
    yield
    monkeypatch.undo()
    shutdown()


def mind(memory: Memory) -> list[str]:
    return [item.content for item in memory.working.items]


def test_recall_does_not_wait_for_whoever_holds_the_rows_of_its_working_memory(
    make: Make, database: Database
) -> None:
    with make(budget=8, tokenizer=count) as memory:
        memory.remember("one two three")
        memory.working.clear()
        with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
            connection.execute("select 1 from working_sets where tenant = this_tenant() for update")
            began = time.monotonic()
            memory.recall("one two", mode="text")
            assert mind(memory) == ["one two three"]
            assert [item.content for item in memory.context().items] == ["one two three"]
            assert rows(memory) == []
            assert time.monotonic() - began < SETTINGS.verb_timeout / 2
        memory.flush()
        assert rows(memory) == ["one two three"]


def test_another_process_sees_what_is_held_within_the_interval_and_nobody_has_to_ask_for_it(
    make: Make,
) -> None:
    with make(
        tokenizer=count, settings=Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
    ) as memory:
        memory.remember("one two three")
        memory.working.clear()
        memory.recall("one two", mode="text")
        far, end = elsewhere(memory), time.monotonic() + 20
        while held(far) != ["one two three"]:
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.mark.parametrize("by", ["flush", "close", "shutdown", "backup"])
def test_what_is_held_is_written_by(
    make: Make, nothing_by_itself: None, by: str, tmp_path: Any
) -> None:
    memory = make(tokenizer=count)
    memory.remember("one two three")
    memory.working.clear()
    memory.recall("one two", mode="text")
    assert rows(memory) == []
    if by == "flush":
        memory.flush()
    elif by == "close":
        memory.close()
    elif by == "shutdown":
        shutdown()
    else:
        with (tmp_path / "backup").open("w") as target:
            memory.backup.write(target)
    assert rows(memory) == ["one two three"]
    item = memory.working.get(memory.list(limit=1)[0].id)
    assert item is not None
    assert item.access_count == 1  # counted in the row that was written before it


def test_a_group_and_a_process_that_stops_after_its_reply_write_at_once(
    make: Make, nothing_by_itself: None
) -> None:
    with (
        make("alone", embed="now", tokenizer=count) as memory,
        make("member", tokenizer=count) as member,
    ):
        memory.remember("one two three")
        memory.working.clear()
        memory.recall("one two", mode="text")
        assert rows(memory) == ["one two three"]
        with member.group("team"):
            member.recall("one two", mode="text")
            assert rows(member) == ["one two three"]


def test_an_eviction_by_recall_is_told_at_once_and_its_receipt_is_written_later(
    make: Make, nothing_by_itself: None
) -> None:
    gone: list[Eviction] = []
    with make(budget=5, tokenizer=count, policy="fifo", on_evict=gone.append) as memory:
        memory.remember("one two three")
        memory.remember("four five six")
        gone.clear()
        memory.recall("one two", mode="text")
        assert [each.item.content for each in gone] == ["four five six"]
        assert mind(memory) == ["one two three"]
        memory.flush()
        assert rows(memory) == ["one two three"]
        with memory._engine.transaction() as connection:
            receipt = connection.execute(
                "select policy, score from working_items where node_id = %s and evicted_at is not null",
                [gone[0].item.id],
            ).fetchone()
        assert receipt == {"policy": "fifo", "score": gone[0].score}


def test_remembering_evicts_what_was_only_just_recalled_as_if_it_were_written(
    make: Make, nothing_by_itself: None
) -> None:
    gone: list[Eviction] = []
    with make(budget=6, tokenizer=count, on_evict=gone.append) as memory:
        memory.remember("one two three", importance=1)
        memory.working.clear()
        memory.remember("four five six", importance=5)
        memory.recall("one two", mode="text")
        memory.remember("seven eight nine", importance=5)
        assert [each.item.content for each in gone] == ["one two three"]
        assert sorted(mind(memory)) == sorted(rows(memory)) == ["four five six", "seven eight nine"]
        memory.flush()
        assert sorted(held(elsewhere(memory))) == ["four five six", "seven eight nine"]


def test_what_recall_evicted_and_is_said_again_is_held_by_both(
    make: Make, nothing_by_itself: None
) -> None:
    with make(budget=5, tokenizer=count, policy="fifo") as memory:
        memory.remember("one two three")
        memory.remember("four five six")
        memory.recall("one two", mode="text")
        memory.remember("four five six")
        assert mind(memory) == ["four five six"]
        memory.flush()
        assert rows(memory) == ["four five six"]
        far = elsewhere(memory)
        assert held(far) == ["four five six"]
        mine, theirs = memory.working.items[0], far.memory.items[0]
        assert mine.added_at == pytest.approx(theirs.added_at, abs=1e-5)


@pytest.mark.parametrize("end", ["forget", "erase the key", "erase the user"])
def test_what_is_forgotten_elsewhere_before_its_hold_is_written_leaves_at_the_next_look(
    make: Make, end: str
) -> None:
    with make(tokenizer=count, user="ann") as memory:
        node = memory.remember("to be forgotten", key="k")
        items = at_now(memory, "to be forgotten")
        memory.working.clear()
        far = elsewhere(memory)  # not reached by what this process forgets
        far.hold_unwritten(items, now=time.time(), report=lambda gone: None)
        assert held(far) == ["to be forgotten"]
        if end == "forget":
            memory.forget(node.id)
        elif end == "erase the key":
            memory.erase(key="k", confirm="confirmed")
        else:
            memory.erase(user="ann", confirm="confirmed")
        assert held(far) == []
        far.write_unwritten(now=time.time())
        assert far.is_written
        assert rows(memory) == held(far) == []
        with memory._engine.transaction() as connection:
            sets = connection.execute(
                "select owner from working_sets where owner = 'ann' and tenant = this_tenant()"
            )
            assert bool(sets.fetchall()) == (end != "erase the user")


def test_what_is_forgotten_here_or_purged_is_not_written_and_does_not_come_back(
    make: Make, nothing_by_itself: None
) -> None:
    with make(tokenizer=count) as memory:
        node = memory.remember("to be forgotten")
        memory.working.clear()
        memory.recall("forgotten", mode="text")
        memory.forget(node.id)
        assert mind(memory) == []
        memory.purge(timedelta(0), confirm="confirmed")
        memory.flush()
        assert mind(memory) == rows(memory) == []


def test_what_was_forgotten_while_its_hold_was_on_the_way_is_refused(
    make: Make, nothing_by_itself: None
) -> None:
    with make(tokenizer=count) as memory:
        memory.remember("to be forgotten")
        items = at_now(memory, "to be forgotten")
        memory.working.clear()
        far = elsewhere(memory)
        far.hold_unwritten(items, now=time.time(), report=lambda gone: None)
        memory.forget(items[0].id)
        far.write_unwritten(now=time.time())  # it has not looked since
        assert len(far.memory) == 0
        assert far.is_written


def test_what_cannot_be_written_is_kept_and_written_when_it_can(
    make: Make, nothing_by_itself: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(tokenizer=count) as memory:
        memory.remember("one two three")
        memory.working.clear()
        memory.recall("one two", mode="text")

        def away(*_: Any, **__: Any) -> None:
            raise DatabaseUnavailable("expected a server, got none")

        with monkeypatch.context() as patch:
            patch.setattr(table, "change", away)
            with pytest.raises(DatabaseUnavailable):
                memory.flush()
            assert mind(memory) == ["one two three"]
            assert rows(memory) == []
        memory.flush()
        assert rows(memory) == ["one two three"]


def test_the_thread_tries_again_by_itself_after_an_error(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutdown()
    monkeypatch.setattr(write_behind, "INTERVAL", 0.02)
    failures: list[str] = []
    change = table.change

    def failing(*args: Any, **options: Any) -> Any:
        if len(failures) < 3 and options.get("admitted"):
            failures.append("")
            raise StorageError("the server is out of room")
        return change(*args, **options)

    with make(tokenizer=count) as memory:
        memory.remember("one two three")
        memory.working.clear()
        monkeypatch.setattr(table, "change", failing)
        memory.recall("one two", mode="text")
        end = time.monotonic() + 30
        while rows(memory) != ["one two three"]:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert len(failures) == 3


def test_a_shutdown_while_nothing_can_be_written_does_not_end_writing_for_good(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutdown()
    monkeypatch.setattr(write_behind, "INTERVAL", 0.02)
    with make(tokenizer=count) as memory:
        memory.remember("one two three")
        memory.working.clear()
        begun, goes_on = threading.Event(), threading.Event()

        def failing(*_: Any, **__: Any) -> Any:
            begun.set()
            assert goes_on.wait(30)
            raise StorageError("the server is out of room")

        with monkeypatch.context() as patch:
            patch.setattr(table, "change", failing)
            memory.recall("one two", mode="text")
            assert begun.wait(30)
            behind = memory._runtime.write_behind
            stopping = threading.Thread(target=behind.stop)
            stopping.start()
            while behind._thread is not None:
                time.sleep(0.01)
            goes_on.set()
            stopping.join(30)
        memory.recall("one two", mode="text")
        end = time.monotonic() + 30
        while rows(memory) != ["one two three"]:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_one_working_memory_that_cannot_be_written_keeps_no_other_from_it(
    make: Make, nothing_by_itself: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make("first", tokenizer=count), make("second", tokenizer=count)
    first.remember("one two three")
    first.working.clear()
    for memory in (first, second):
        memory.recall("one two", mode="text")
    change = table.change

    def failing(connection: Any, key: Any, **options: Any) -> Any:
        if key.holder == "first":
            raise StorageError("of this one only")
        return change(connection, key, **options)

    with monkeypatch.context() as patch:
        patch.setattr(table, "change", failing)
        with pytest.raises(StorageError, match="of this one only"):
            first.flush()
    assert (rows(first), rows(second)) == ([], ["one two three"])
    second.flush()
    assert rows(first) == ["one two three"]


@pytest.mark.skipif(
    SETTINGS.user_walls, reason="the login of the proxy's url does not know the key"
)
def test_a_connection_that_is_lost_while_it_is_written_changes_nothing(
    make: Make, database: Database, nothing_by_itself: None
) -> None:
    database.open()
    with Proxy(database.dsn("htm_app").get_secret_value()) as proxy:
        with make(tokenizer=count, url=proxy.dsn) as memory:
            memory.remember("one two three")
            memory.working.clear()
            memory.recall("one two", mode="text")
            proxy.cut_after(b"change_working_set", b"commit")  # it is written, and nobody is told
            memory.flush()
            assert mind(memory) == rows(memory) == ["one two three"]
            item = memory.working.items[0]
            assert item.access_count == 1
        shutdown()


def test_a_killed_process_has_lost_what_it_held_last_and_nothing_else(
    make: Make, nothing_by_itself: None
) -> None:
    memory = make(tokenizer=count)
    memory.remember("said before")
    memory.working.clear()

    def die() -> bool:
        memory.recall("said before", mode="text")
        memory.remember("said by the one that died")
        assert len(mind(memory)) == 2
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    assert in_child(die) == -signal.SIGKILL
    assert mind(memory) == ["said by the one that died"]
    found = memory.recall("said", mode="text", hold=False)
    assert {hit.content for hit in found} == {"said before", "said by the one that died"}


def test_a_forked_child_leaves_to_its_parent_what_the_parent_held(
    make: Make, nothing_by_itself: None
) -> None:
    memory = make(tokenizer=count)
    memory.remember("one two three")
    memory.working.clear()
    memory.recall("one two", mode="text")

    def look() -> bool:
        empty = mind(memory) == []
        memory.flush()
        shutdown()
        return empty

    assert in_child(look) == 0
    assert rows(memory) == []
    memory.flush()
    assert mind(memory) == rows(memory) == ["one two three"]


def test_a_working_memory_whose_last_memory_is_gone_is_written_and_may_have_another_budget(
    make: Make, nothing_by_itself: None
) -> None:
    with make("other", tokenizer=count) as other:
        other.remember("one two three")
        memory = make(tokenizer=count, budget=10)
        memory.recall("one two", mode="text")
        gc.disable()
        try:
            del memory
            with make(tokenizer=count, budget=20) as again:
                assert mind(again) == ["one two three"]
        finally:
            gc.enable()


def test_removing_what_is_not_written_yet_keeps_it_away(
    make: Make, nothing_by_itself: None
) -> None:
    with make(tokenizer=count) as memory:
        memory.remember_many([{"content": "one two three"}, {"content": "one two four"}])
        memory.working.clear()
        memory.recall("one two", mode="text")
        assert memory.working.remove(at_now(memory, "one two three")[0].id)
        memory.flush()
        assert mind(memory) == rows(memory) == ["one two four"]


def test_a_change_that_undoes_what_is_being_written_is_written_after_it(
    make: Make, nothing_by_itself: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(budget=6, tokenizer=count) as memory:
        memory.remember("one two three", importance=1)
        memory.working.clear()
        memory.remember("four five six", importance=5)
        memory.recall("one two", mode="text")
        real, begun, goes_on = working_sets.retry_transaction, threading.Event(), threading.Event()

        def slow(write: Callable[[], Any], **options: Any) -> Any:
            monkeypatch.setattr(working_sets, "retry_transaction", real)
            begun.set()
            assert goes_on.wait(30)
            return real(write, **options)

        monkeypatch.setattr(working_sets, "retry_transaction", slow)
        flushing = threading.Thread(target=memory.flush)
        flushing.start()
        assert begun.wait(30)
        remembering = threading.Thread(
            target=lambda: memory.remember("seven eight nine", importance=5)
        )
        remembering.start()
        remembering.join(0.3)
        assert remembering.is_alive()  # it evicts what is just being written
        goes_on.set()
        for thread in (flushing, remembering):
            thread.join(30)
        assert sorted(mind(memory)) == sorted(rows(memory)) == ["four five six", "seven eight nine"]
        assert sorted(held(elsewhere(memory))) == ["four five six", "seven eight nine"]


def test_receipts_that_cannot_be_written_are_bounded_and_what_is_held_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unwritten, "MOST_RECEIPTS", 5)
    memory, pending = WorkingMemory(budget=3, policy="fifo"), Unwritten()
    for number in range(30):
        plan = memory.plan(
            [Item(id=str(number), content="x", tokens=1, added_at=number, accessed_at=number)],
            now=number,
        )
        memory.apply(plan, now=number)
        pending.add(plan)
    assert [id for id, move in pending.waiting.items() if move.admitted] == ["27", "28", "29"]
    assert [id for id, move in pending.waiting.items() if not move.admitted] == [
        "22",
        "23",
        "24",
        "25",
        "26",
    ]


def test_working_sets_are_in_step_after_a_race_of_recall_and_remember(
    make: Make, tenant: str
) -> None:
    with make(budget=12, tokenizer=count, policy="lru") as memory:
        memory.remember_many([{"content": " ".join([f"n{n}"] * (1 + n % 6))} for n in range(12)])
        raised: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(12):
                    which = f"n{(number * 5 + turn * 7) % 12}"
                    if turn % 3:
                        memory.recall(which, mode="text")
                    else:
                        memory.remember(f"{which} again {number} {turn % 2}")
                    if turn == 5:
                        memory.flush()
                    assert memory.working.tokens <= 12
            except BaseException as error:
                raised.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert raised == []
        memory.flush()
        working: WorkingSet = memory._engine.working
        assert working.is_written
        assert held(elsewhere(memory)) == mind(memory) == rows(memory)
        assert working.memory.reserved == 0
