"""The record of what working memory recalled and evicted: at which turn, why, and until when it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import Memory, Settings
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY
from htm_core.engine import read
from htm_core.working import store
from htm_core.working.store import NotedChange
from tests.conftest import SETTINGS, Make

START = datetime(2026, 5, 3, 12, tzinfo=UTC)
ALL = (0, 10_000)


class Clock:
    """A clock that goes on by a minute each time it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_a_minute(self) -> None:
        self.now += timedelta(minutes=1)


def of(
    memory: Memory, session: str = "talk", turns: tuple[int, int] = ALL, *, first: int = 8
) -> list[NotedChange]:
    """What a memory's owner has on record of a session, after what was held is written."""
    memory.flush()
    return read.working_history(memory._engine, {session: turns}, first=first, limit=100)


def words(moved: Sequence[Any]) -> list[str | None]:
    return [each.content for each in moved]


def counted(database: Database, tenant: str) -> int:
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(
            "select count(*) as n from working_changes where tenant = this_tenant()"
        ).fetchone()
    assert row is not None
    return int(row["n"])


def test_what_a_message_evicts_is_on_record_at_its_turn_with_the_reason(make: Make) -> None:
    memory = make(session="talk", budget=20, policy="fifo", tokenizer=str.split)
    memory.remember("one two three four five six seven eight")
    memory.remember("a b c d e f g h")
    assert of(memory) == []
    memory.remember("this is what drives the first of them out")
    [change] = of(memory)
    assert (change.session, change.seq, change.holder, change.shared) == (
        "talk",
        3,
        memory.robot,
        False,
    )
    assert words(change.evicted) == ["one two three four five six seven eight"]
    assert (change.evicted[0].tokens, change.policy, change.recalled) == (8, "fifo", ())
    assert change.evicted[0].score is not None


def test_what_recall_brings_in_is_on_record_at_the_turn_before_it_although_it_is_written_later(
    make: Make,
) -> None:
    clock = Clock()
    other = make(session="before", clock=clock)
    fact = other.remember("The boat is moored in Hanko.")
    memory = make(session="talk", clock=clock)
    memory.recall("Where is the boat?", mode="text")  # before anything was said
    clock.pass_a_minute()
    memory.remember("Hello there, my friend.", role="user")
    clock.pass_a_minute()
    other.remember("The boat is painted green.")
    memory.recall("What is painted green?", mode="text")
    clock.pass_a_minute()
    memory.remember("Said at once after that, before anything was written.", role="assistant")
    first, second = of(memory)
    assert (first.seq, words(first.recalled), first.at) == (
        0,
        ["The boat is moored in Hanko."],
        START,
    )
    assert (second.seq, words(second.recalled), second.policy) == (
        1,
        ["The boat is painted green."],
        None,
    )
    assert first.recalled[0].id == fact.id


def test_messages_with_times_of_their_own_do_not_move_what_was_recalled_to_another_turn(
    make: Make,
) -> None:
    make(session="before").remember("The boat is moored in Hanko.")
    memory = make(session="talk")
    memory.remember("from an old letter", at=START - timedelta(days=900))
    memory.remember("planned for later", at=datetime.now(UTC) + timedelta(days=900))
    memory.recall("Where is the boat moored?", mode="text")
    assert [change.seq for change in of(memory)] == [1], (
        "the last message that was not later than the recall"
    )


def test_what_a_recall_drives_out_is_on_record_with_what_it_brought(make: Make) -> None:
    make(session="before").remember("boat one two three four five six")
    memory = make(session="talk", budget=10, policy="fifo", tokenizer=str.split)
    memory.remember("a b c d e f g")
    memory.recall("boat", mode="text")
    [change] = of(memory)
    assert (change.seq, words(change.recalled)) == (1, ["boat one two three four five six"])
    assert (words(change.evicted), change.policy) == (["a b c d e f g"], "fifo")


def test_what_somebody_removes_is_on_record_without_a_policy(make: Make) -> None:
    memory = make(session="talk")
    node = memory.remember("The boat is moored in Hanko.")
    memory.working.remove(node.id)
    [change] = of(memory)
    assert (words(change.evicted), change.policy, change.evicted[0].score) == (
        [node.content],
        None,
        None,
    )


def test_long_lists_are_cut_and_say_how_long_they_are(make: Make) -> None:
    memory = make(session="talk", budget=60, policy="fifo", tokenizer=str.split)
    memory.remember_many([{"content": f"number {number}"} for number in range(30)])
    memory.remember(" ".join(f"w{number}" for number in range(60)))
    [change] = of(memory, first=3)
    assert (len(change.evicted), change.evicted_count, len(change.recalled)) == (3, 30, 0)


def test_only_the_asked_turns_of_the_owners_own_sets_are_read(make: Make) -> None:
    for user in ("ann", "bob"):
        memory = make(user=user, session="talk", budget=5, policy="fifo", tokenizer=str.split)
        for number in range(4):
            memory.remember(f"{user} says five words {number}")
    assert [
        change.seq
        for change in of(
            make(user="ann", session="talk", budget=5, policy="fifo", tokenizer=str.split)
        )
    ] == [2, 3, 4]
    seen = of(make(user="bob", session="other"), turns=(3, 3))
    assert [words(change.evicted) for change in seen] == [["bob says five words 1"]]
    assert of(make(user="bob", session="other"), "other") == []


def test_a_forgotten_memory_is_not_shown_until_it_is_restored(make: Make) -> None:
    memory = make(session="talk", budget=5, policy="fifo", tokenizer=str.split)
    node = memory.remember("one two three four five")
    memory.remember("six seven eight nine ten")
    memory.forget(node.id)
    assert words(of(memory)[0].evicted) == [None]
    memory.restore(node.id)
    assert words(of(memory)[0].evicted) == [node.content]


def test_what_is_erased_or_purged_leaves_the_record_and_the_others_keep_their_scores(
    make: Make, database: Database, tenant: str
) -> None:
    memory = make(session="talk", budget=6, policy="fifo", tokenizer=str.split)
    nodes = [memory.remember(f"number {number}", key=f"k{number}") for number in range(3)]
    memory.remember("one two three four five six")
    [before] = of(memory)
    memory.erase(key="k1", confirm="confirmed")
    [after] = of(memory)
    assert [each.id for each in after.evicted] == [nodes[0].id, nodes[2].id]
    assert [each.score for each in after.evicted] == [
        before.evicted[0].score,
        before.evicted[2].score,
    ]
    for node in (nodes[0], nodes[2]):
        memory.forget(node.id)
    memory.purge(datetime.now(UTC) + timedelta(days=1), confirm="confirmed")
    assert counted(database, tenant) == 0, "a record that names nothing any more goes"


@pytest.mark.parametrize("whose", ["session", "user"])
def test_the_record_goes_with_its_session_and_with_its_user(
    make: Make, database: Database, tenant: str, whose: str
) -> None:
    memory = make(user="ann", session="talk", budget=5, policy="fifo", tokenizer=str.split)
    for number in range(3):
        memory.remember(f"these are five words {number}")
    assert counted(database, tenant) == 2
    memory.erase(**{whose: "talk" if whose == "session" else "ann"}, confirm="confirmed")  # type: ignore[arg-type]
    assert counted(database, tenant) == 0


def test_a_sweep_deletes_what_is_older_than_the_setting_and_a_set_keeps_its_last_ten_thousand(
    make: Make, database: Database, tenant: str
) -> None:
    now = datetime.now(UTC)
    kept = Settings(**SETTINGS.model_dump(by_alias=True) | {"working_history": timedelta(days=2)})
    memory = make(session="talk", budget=5, policy="fifo", tokenizer=str.split, settings=kept)
    for number in range(4):
        memory.remember(f"these are five words {number}")
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        connection.execute(
            "update working_changes set at = %s where seq = 2", [now - timedelta(days=3)]
        )
        connection.execute("update working_sets set version = 10002 where version > 2")
    memory.sweep()
    assert [change.seq for change in of(memory)] == [3, 4]
    again = make(session="talk", budget=5, policy="fifo", tokenizer=str.split, settings=kept)
    again.remember("and these are the last")
    assert [change.seq for change in of(again)] == [4, 5], "version 3 is 10,000 before 10,003"


def test_the_worker_deletes_old_records_of_all_tenants_and_nobody_else_may(
    make: Make, database: Database, tenant: str
) -> None:
    memory = make(session="talk", budget=5, policy="fifo", tokenizer=str.split)
    for number in range(3):
        memory.remember(f"these are five words {number}")
    long_ago = datetime.now(UTC) - timedelta(days=4_000)
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        connection.execute("update working_changes set at = %s where seq = 2", [long_ago])
        assert store.drop_all_history(connection, before=long_ago + timedelta(days=1)) == 0
    with database.transaction("", role="htm_worker") as connection:
        assert store.drop_all_history(connection, before=long_ago + timedelta(days=1)) >= 1
    assert [change.seq for change in of(memory)] == [3]


def test_nothing_is_recorded_where_the_setting_is_zero(
    make: Make, database: Database, tenant: str
) -> None:
    off = Settings(**SETTINGS.model_dump(by_alias=True) | {"working_history": timedelta(0)})
    memory = make(session="talk", budget=5, policy="fifo", tokenizer=str.split, settings=off)
    for number in range(3):
        memory.remember(f"these are five words {number}")
    memory.working.clear()
    assert counted(database, tenant) == 0
