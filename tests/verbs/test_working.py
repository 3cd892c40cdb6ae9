"""Working memory as the verbs use it: within its budget, shared by its memories, the same after a restart."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from htm_core import Event, Eviction, InvalidInput, Item, Memory, StorageError, shutdown
from htm_core.db.database import Database
from htm_core.working import store as table
from htm_core.working import working_sets
from htm_core.working.working_sets import WorkingSet
from tests.conftest import Make


def count(text: str) -> int:
    return len(text.split())


def test_what_leaves_working_memory_is_still_remembered(make: Make) -> None:
    gone: list[Eviction] = []
    with make(budget=10, tokenizer=count, on_evict=gone.append) as memory:
        for number in range(8):
            memory.remember(f"fact number {number}")
        assert memory.working.tokens <= 10
        assert [eviction.item.content for eviction in gone] == [
            f"fact number {n}" for n in range(5)
        ]
        assert memory.recall("fact number 0", mode="text")[0].content == "fact number 0"


def test_the_least_important_leaves_first(make: Make) -> None:
    with make(budget=6, tokenizer=count) as memory:
        memory.remember("keep this one", importance=9)
        memory.remember("let that go", importance=1)
        memory.remember("a new one", importance=5)
        assert [item.content for item in memory.working.items] == ["keep this one", "a new one"]


def test_more_than_the_whole_budget_is_remembered_and_not_held(make: Make) -> None:
    with make(budget=3, tokenizer=count) as memory:
        memory.remember("short")
        memory.remember("far too long to be held in mind")
        assert [item.content for item in memory.working.items] == ["short"]
        assert memory.recall("too long")[0].content == "far too long to be held in mind"


def test_memories_of_one_set_share_one_working_memory(make: Make) -> None:
    with make() as one, make() as same, make("other") as other:
        one.remember("shared")
        assert same.working is one.working
        assert len(other.working) == 0
        with pytest.raises(InvalidInput, match="128000"):
            make(budget=5)


def test_working_memory_is_loaded_from_its_table_after_a_restart(make: Make) -> None:
    with make(budget=7, tokenizer=count) as memory:
        memory.remember("one two three", importance=2)
        memory.remember("four five six")
        memory.remember("seven eight nine")
        before = memory.working.items
    del memory
    shutdown()
    with make(budget=7, tokenizer=count) as again:
        assert [item.content for item in again.working.items] == [item.content for item in before]
        again.working.clear()
    del again
    shutdown()
    with make(budget=9, tokenizer=count) as third:
        assert len(third.working) == 0


def test_opening_a_smaller_budget_evicts_for_good(make: Make) -> None:
    with make(budget=9, tokenizer=count) as memory:
        memory.remember_many([{"content": "one two three"}, {"content": "four five six"}])
    del memory
    shutdown()
    with make(budget=4, tokenizer=count) as small:
        assert [item.content for item in small.working.items] == ["four five six"]
    del small
    shutdown()
    with make(budget=100, tokenizer=count) as large:
        assert len(large.working) == 1


def test_removing_from_working_memory_forgets_nothing(memory: Memory) -> None:
    node = memory.remember("still there")
    assert memory.working.remove(node.id)
    assert len(memory.working) == 0
    assert memory.get(node.id).content == "still there"


def test_a_context_never_exceeds_its_budget_by_a_token(memory: Memory) -> None:
    memory.remember_many(
        [{"content": f"Sentence {n}, with some words in it." * (n % 4 + 1)} for n in range(40)]
    )
    for budget in (0, 1, 7, 50, 333):
        context = memory.context(budget=budget)
        assert memory._engine.tokens(context.text) == context.tokens <= budget


def test_a_context_is_balanced_unless_another_order_is_asked_for(make: Make) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    with make(clock=lambda: moment[0], tokenizer=count) as memory:
        memory.remember("old and important", importance=9)
        moment[0] += timedelta(hours=20)
        memory.remember("new and plain", importance=1)
        assert memory.context().items[0].content == "new and plain"
        assert memory.context(order="important").items[0].content == "old and important"
        assert (
            memory.context(order=lambda item, now: -item.added_at).items[0].content
            == "old and important"
        )


def test_threads_that_remember_at_once_keep_the_budget_and_lose_nothing(make: Make) -> None:
    with make(budget=50, tokenizer=count) as memory:

        def say(number: int) -> None:
            memory.remember_many(
                [
                    {"content": f"thread {number} thing {i} of many", "session": "s"}
                    for i in range(5)
                ]
            )
            memory.recall(f"thread {number}")
            assert memory.working.tokens <= 50

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(say, range(24)))
        assert memory.stats().nodes == 120
        assert [m.seq for m in memory.timeline(session="s", limit=1000)] == list(range(1, 121))


def test_threads_that_say_the_same_words_make_one_node(make: Make) -> None:
    with make() as memory:
        texts = [f"echo {n}" for n in range(10)]

        def say(number: int) -> None:
            order = texts if number % 2 else texts[::-1]
            memory.remember_many(
                [{"content": text, "tags": ["a:b"], "key": f"k{text[-1]}"} for text in order]
            )

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(say, range(12)))
        assert memory.stats().nodes == 10
        assert memory.stats().mentions == 120


def test_of_racing_revisions_one_wins_each_version(make: Make) -> None:
    from htm_core import Node

    with make() as memory:
        memory.remember("v1", key="k")
        results: list[object] = []
        barrier = threading.Barrier(6)

        def race(number: int) -> None:
            barrier.wait()
            results.append(memory.revise("k", f"by {number}", if_version=1))

        threads = [threading.Thread(target=race, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(result, Node) for result in results) == 1
        assert len(memory.history("k")) == 2


def test_events_tell_in_numbers_and_never_in_words(make: Make) -> None:
    events: list[Event] = []
    with make(budget=4, tokenizer=count, on_event=events.append) as memory:
        node = memory.remember("the secret word")
        memory.remember("another three words")
        memory.recall("secret")
        memory.forget(node.id)
        memory.restore(node.id)
    names = [event.name for event in events]
    assert {"remember", "evict", "recall", "forget", "restore"} <= set(names)
    assert "secret" not in repr(events)


def test_loggers_carry_no_content(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    import logging

    from tests.stand_ins import HashEmbedder

    dead = HashEmbedder(name="dead")
    dead.down = True
    with caplog.at_level(logging.DEBUG, "htm"), make(embedder=dead) as memory:
        memory.remember("the unspeakable word")
        memory.recall("unspeakable")
        memory.flush(timeout=1)
    assert any(record.name.startswith("htm") for record in caplog.records)
    assert "unspeakable" not in caplog.text


def test_a_new_memory_opens_no_connection_of_its_own(make: Make) -> None:
    with make() as first:
        first.remember("x")
        runtime = first._runtime
        others = [make(user=f"user-{n}") for n in range(50)]
        assert {id(other._runtime) for other in others} == {id(runtime)}


# -- several processes --------------------------------------------------------------------------------------------------


def elsewhere(memory: Memory) -> WorkingSet:
    """A memory's working set as another process has it: an instance that this process does not share."""
    mine = memory._engine.working
    return WorkingSet(
        memory._engine.database, mine.key, budget=mine.memory.budget, policy=mine.policy
    )


def held(working: WorkingSet) -> list[str]:
    """What a process has in mind, once it has looked."""
    working.catch_up(now=time.time())
    return [item.content for item in working.memory.items]


def at_now(memory: Memory, *contents: str) -> list[Item]:
    now = datetime.now(UTC).timestamp()  # to the microsecond, as the table has it
    nodes = {node.content: node for node in memory.list(limit=1_000)}
    return [
        Item(
            id=nodes[text].id,
            content=text,
            tokens=nodes[text].tokens,
            added_at=now,
            accessed_at=now,
        )
        for text in contents
    ]


def test_what_another_process_adds_is_in_mind_at_the_next_look(make: Make) -> None:
    with make(tokenizer=count) as memory:
        memory.remember("said here")
        far = elsewhere(memory)
        assert held(far) == ["said here"]
        memory.remember("said here later")
        assert held(far) == ["said here", "said here later"]
        far.memory.clear()
        assert memory.context().text == ""
        far.hold(at_now(memory, "said here later"), now=time.time())
        assert [item.content for item in memory.working.items] == ["said here later"]


def test_forgetting_purging_and_erasing_reach_every_process(make: Make) -> None:
    with make(tokenizer=count, session="s", user="ann") as memory:
        for end in ("forget", "purge", "erase a key", "erase a session", "erase a user"):
            node = memory.remember(f"to {end}", key="k", session="s")
            kept = memory.remember("kept in another", session="t")
            far = elsewhere(memory)
            assert f"to {end}" in held(far)
            if end in ("forget", "purge"):
                memory.forget(node.id)
            if end == "purge":
                memory.purge(timedelta(0), confirm="confirmed")
            elif end == "erase a key":
                memory.erase(key="k", confirm="confirmed")
            elif end == "erase a session":
                memory.erase(session="s", confirm="confirmed")
            elif end == "erase a user":
                memory.erase(user="ann", confirm="confirmed")
            assert f"to {end}" not in held(far), end
            assert f"to {end}" not in [item.content for item in memory.working.items]
            assert (kept.content in held(far)) == (end in ("forget", "purge", "erase a key"))


def test_processes_that_together_exceed_the_budget_keep_the_best_and_write_down_who_left(
    make: Make,
) -> None:
    gone: list[Eviction] = []
    with make(budget=6, tokenizer=count, policy="fifo", on_evict=gone.append) as memory:
        memory.remember("one two three")
        memory.working.clear()
        far = elsewhere(memory)
        far.load(now=time.time())
        memory.remember("seven eight nine")
        memory.remember("ten eleven twelve")
        far.hold(
            at_now(memory, "one two three"), now=time.time()
        )  # its plan knew nothing of the two
        assert held(far) == ["ten eleven twelve", "one two three"]
        assert [item.content for item in memory.working.items] == held(far)
        assert rows(memory) == held(far)


def rows(memory: Memory) -> list[str]:
    """What the table says is held."""
    with memory._engine.transaction() as connection:
        changes = table.read_changes(connection, memory._engine.working.key, since=None, known=())
    assert changes is not None
    return [
        item.content
        for item in sorted(changes.held.values(), key=lambda item: (item.added_at, item.id))
    ]


def test_an_eviction_elsewhere_is_no_eviction_here(make: Make) -> None:
    gone: list[Eviction] = []
    with make(budget=6, tokenizer=count, policy="fifo", on_evict=gone.append) as memory:
        for text in ("one two three", "four five six", "seven eight nine"):
            memory.remember(text)
        assert len(gone) == 1
        far = elsewhere(memory)
        far.load(now=time.time())
        assert [
            e.item.content for e in far.hold(at_now(memory, "one two three"), now=time.time())
        ] == ["four five six"]
        assert [item.content for item in memory.working.items] == [
            "seven eight nine",
            "one two three",
        ]
        assert len(gone) == 1


def test_accesses_survive_a_restart_and_add_up_between_processes(make: Make) -> None:
    with make(tokenizer=count, policy="lfu_lru") as memory:
        often, seldom = memory.remember("often asked for"), memory.remember("seldom looked at")
        for _ in range(3):
            memory.recall("often", mode="text")
        memory.recall("seldom", mode="text")
        memory.flush()
        before = {item.id: (item.access_count, item.accessed_at) for item in memory.working.items}
        assert {id: times for id, (times, _) in before.items()} == {often.id: 3, seldom.id: 1}
        key = memory._engine.working.key
    del memory
    shutdown()
    with make(tokenizer=count, policy="lfu_lru") as again:
        assert {
            item.id: (item.access_count, item.accessed_at) for item in again.working.items
        } == before
        far = elsewhere(again)
        far.load(now=time.time())
        again.recall("often", mode="text")
        with again._engine.transaction() as connection:  # another process's batch
            from uuid import UUID

            table.add_accesses(connection, key, {UUID(often.id): (2, datetime.now(UTC))})
        again.flush()
        far.catch_up(now=time.time())
        known = again.working.get(often.id), far.memory.get(often.id)
        assert [item.access_count for item in known if item] == [6, 6]


def test_a_recall_and_each_saying_again_count_as_one_use_each(make: Make) -> None:
    with make(tokenizer=count) as memory:
        node = memory.remember("said again")
        memory.recall("said again", mode="text")
        memory.remember("said again")
        memory.flush()
        memory.remember("said again")
    del memory
    shutdown()
    with make(tokenizer=count) as again:
        item = again.working.get(node.id)
        assert item is not None
        assert item.access_count == 3


def test_what_was_forgotten_before_it_could_be_held_is_not_held(make: Make) -> None:
    with make(tokenizer=count) as memory:
        node = memory.remember("soon forgotten")
        items = at_now(memory, "soon forgotten")
        memory.forget(node.id)
        memory._engine.working.hold(items, now=time.time())
        assert len(memory._engine.working.memory) == 0


def test_a_commit_that_fails_changes_neither_place(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(budget=6, tokenizer=count, policy="fifo") as memory:
        memory.remember_many([{"content": "one two three"}, {"content": "four five six"}])

        def full(*_: Any, **__: Any) -> None:
            raise StorageError("the server is out of room")

        with monkeypatch.context() as patch:
            patch.setattr(table, "change", full)
            with pytest.raises(StorageError):
                memory.remember("seven eight nine")
        assert (
            [item.content for item in memory.working.items]
            == rows(memory)
            == ["one two three", "four five six"]
        )
        assert memory._engine.working.memory.reserved == 0


def test_a_policy_that_reads_the_memory_which_asks_it_does_not_stop_it(make: Make) -> None:
    asked: list[int] = []

    def policy(item: Item, now: float) -> float:
        asked.append(len(memory.working))
        return item.added_at

    with make(budget=6, tokenizer=count, policy=policy) as memory:
        for text in ("one two three", "four five six", "seven eight nine"):
            memory.remember(text)
        assert asked
        assert [item.content for item in memory.working.items] == [
            "four five six",
            "seven eight nine",
        ]


Step = tuple[int, str, int]
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["hold", "recall", "recall", "write", "remove", "clear", "look", "forget", "say"]), st.integers(0, 11)),
    min_size=1, max_size=25,
)  # fmt: skip
POLICIES = ("importance", "lfu_lru", "lru", "fifo")


@pytest.fixture
def library(make: Make) -> Callable[[str], tuple[Memory, list[Item]]]:
    """A memory with twelve nodes of one to six tokens, and nothing in mind."""

    def of(tenant: str, policy: str = "fifo") -> tuple[Memory, list[Item]]:
        memory = make(tenant=tenant, tokenizer=count, budget=12, policy=policy)
        texts = [" ".join([f"n{n}"] * (1 + n % 6)) for n in range(12)]
        memory.remember_many(
            [{"content": text, "importance": n % 5} for n, text in enumerate(texts)]
        )
        items = at_now(memory, *texts)
        memory.working.clear()
        return memory, items

    return of


@example(
    steps=[(0, "recall", 0), (0, "recall", 1), (1, "hold", 1), (0, "hold", 0)],
    policy="importance",
    seed=0,
)
@given(steps=STEPS, policy=st.sampled_from(POLICIES), seed=st.integers(0, 10**9))
@examples(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_three_processes_agree_with_the_table_whatever_each_does_and_whoever_looks_last(
    library: Callable[[str, str], tuple[Memory, list[Item]]],
    steps: list[Step],
    policy: str,
    seed: int,
) -> None:
    memory, items = library(f"three-{seed}-{time.time_ns()}", policy)
    three = [memory._engine.working, elsewhere(memory), elsewhere(memory)]
    for who, action, which in steps:
        one, item = three[who], items[which]
        if action == "hold":
            one.hold([item], now=time.time())
        elif action == "recall":
            one.hold_unwritten(
                [replace(item, added_at=time.time())], now=time.time(), report=lambda gone: None
            )
        elif action == "write":
            one.write_unwritten(now=time.time())
        elif action == "remove":
            one.memory.remove(item.id)
        elif action == "clear":
            one.memory.clear()
        elif action == "look":
            one.catch_up(now=time.time())
        elif action == "say":
            memory.remember(item.content)
        elif item.id in {node.id for node in memory.list(limit=100)}:
            memory.forget(item.id)
        assert all(each.memory.tokens + each.memory.reserved <= 12 for each in three)
    for each in three:
        each.write_unwritten(now=time.time())
    agreed = [held(each) for each in three]
    assert agreed[0] == agreed[1] == agreed[2] == rows(memory)
    assert sum(map(count, agreed[0])) <= 12
    assert not any(each.behind for each in three)


def test_threads_of_two_processes_agree_with_the_table_at_rest(
    library: Callable[[str], tuple[Memory, list[Item]]], tenant: str
) -> None:
    memory, items = library(tenant)
    two = [memory._engine.working, elsewhere(memory)]
    raised: list[BaseException] = []

    def work(number: int) -> None:
        dice, one = random.Random(number), two[number % 2]
        try:
            for _ in range(25):
                if dice.random() < 0.4:
                    one.hold([dice.choice(items)], now=time.time())
                elif dice.random() < 0.5:
                    one.hold_unwritten(
                        [dice.choice(items)], now=time.time(), report=lambda gone: None
                    )
                elif dice.random() < 0.4:
                    one.write_unwritten(now=time.time())
                else:
                    one.memory.remove(dice.choice(items).id)
                assert one.memory.tokens <= 12
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == []
    for one in two:
        one.write_unwritten(now=time.time())
        assert one.is_written
    assert held(two[0]) == held(two[1]) == rows(memory)
    assert two[0].memory.reserved == two[1].memory.reserved == 0


def test_what_comes_back_while_it_is_let_go_stays(
    library: Callable[[str], tuple[Memory, list[Item]]],
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory, items = library(tenant)
    one = memory._engine.working
    one.hold(items[:2], now=time.time())
    real = working_sets.retry_transaction

    def say_again() -> None:
        """Write it and hold it, as `remember` does."""
        plan = one.load(now=time.time()).plan(items[:1], now=time.time())
        one.await_writing(plan)
        with memory._engine.transaction() as connection:
            change = one.write(connection, plan)
        one.apply(plan, change(), now=time.time())

    def meanwhile(write: Callable[[], Any]) -> Any:
        """Let another thread say it again, once its removal is committed and before it is carried out."""
        monkeypatch.setattr(working_sets, "retry_transaction", real)
        written = real(write)
        thread = threading.Thread(target=say_again)
        thread.start()
        thread.join()
        return written

    monkeypatch.setattr(working_sets, "retry_transaction", meanwhile)
    assert one.memory.remove(items[0].id)
    assert held(one) == rows(memory)
    assert len(one.memory) == 2


def test_what_another_process_let_go_before_it_was_carried_out_here_goes(
    library: Callable[[str], tuple[Memory, list[Item]]], tenant: str
) -> None:
    memory, items = library(tenant)
    one, far = memory._engine.working, elsewhere(memory)
    one.hold(items[:1], now=time.time())
    plan = one.load(now=time.time()).plan(items[1:2], now=time.time())
    with memory._engine.transaction() as connection:
        change = one.write(connection, plan)
    far.catch_up(now=time.time())
    assert far.memory.remove(items[1].id)
    one.catch_up(now=time.time())
    one.apply(plan, change(), now=time.time())
    assert held(one) == held(far) == rows(memory) == [items[0].content]


@pytest.mark.parametrize("held_before", [True, False])
def test_what_is_removed_between_its_plan_and_its_commit_is_what_the_table_says(
    library: Callable[[str], tuple[Memory, list[Item]]], tenant: str, held_before: bool
) -> None:
    memory, items = library(tenant)
    one = memory._engine.working
    one.hold(items[: 1 + held_before], now=time.time())
    plan = one.load(now=time.time()).plan(items[1:2], now=time.time())
    assert one.memory.remove(items[1].id) == held_before
    with memory._engine.transaction() as connection:
        change = one.write(connection, plan)
    one.apply(plan, change(), now=time.time())
    assert held(one) == rows(memory)


def test_looking_when_nothing_is_new_reads_one_row(
    make: Make, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(tokenizer=count) as memory:
        memory.remember("here")
        memory.context()
        read: list[str] = []
        real = table.load("working/store")

        class Told:
            def __getitem__(self, name: str) -> str:
                read.append(name)
                return real[name]

        monkeypatch.setattr(table, "load", lambda subject: Told())
        memory.context()
        assert read == ["version"]
