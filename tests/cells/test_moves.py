"""A tenant moves into another cell while it reads and writes: nothing of it is lost, left behind or seen by others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from htm_core import Cells, InvalidInput, NotFound, StorageError, TenantMove
from htm_core.db.cluster import tenant_moves
from htm_core.db.cluster.tenant_copy import moved_tables
from tests.attacks.test_user_walls import TENANT, fill
from tests.cells.conftest import Installation

# What has a column for tenants and does not move, and why.
STAYS = {
    "tenant_cells": "the directory itself",
    "tenant_moves": "what the directory says of moves",
    "departed_tenants": "where tenants went that left this cell",
    "tokens": "looked up at home before it is known whose they are",
    "locks": "always empty",
}
STEPS = ("began", "copied", "fenced", "verified", "kept", "switched", "told", "deleted")


class Stopped(Exception):
    """A move was killed here."""


def killed_at(name: str) -> Callable[[str, int], None]:
    def step(reached: str, _: int) -> None:
        if reached == name:
            raise Stopped

    return step


def contents(installation: Installation, tenant: str) -> list[str]:
    with installation.memory(tenant) as memory:
        return sorted(node.content for node in memory.list(limit=1000))


def test_every_table_with_rows_of_tenants_moves_or_is_named_with_a_reason(
    two: Installation,
) -> None:
    with two.database.owner() as connection:
        moved = {table.name for table in moved_tables(connection)}
        rows = connection.execute(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant' "
            "where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
    assert moved | set(STAYS) == {row["relname"] for row in rows}
    assert moved.isdisjoint(STAYS)


@pytest.mark.usefixtures("real_embedder")  # the reader that finds a change needs its files
def test_everything_of_a_tenant_moves_exactly_and_nothing_is_left_behind(
    two: Installation, tmp_path: Path
) -> None:
    with (
        two.memory("neighbour") as other,
        two.memory(TENANT, user="ann") as memory,
        two.memory(TENANT) as everybody,
    ):
        other.remember("The neighbour's secret.")
        fill(memory, tmp_path)
        everybody.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        everybody.group("support")
        memory.flush()
        neighbours, before = two.rows("home", "neighbour"), two.rows("home", TENANT)
        done = two.cells.move(TENANT, "b")
        after = two.rows("b", TENANT)
        kept = {"tokens": before.pop("tokens")}
        assert set(after) == set(before)
        assert {name: rows for name, rows in after.items() if rows != before[name]} == {}
        assert two.rows("home", TENANT) == kept
        assert done.rows == {name: len(rows) for name, rows in before.items()}
        assert two.rows("home", "neighbour") == neighbours
        assert two.rows("b", "neighbour") == {}
        assert memory.verify_audit().ok
        assert memory.recall("when does the ferry leave", mode="text")
        assert [hit.item.id for hit in everybody.collection("pages").query("harbours")] == ["one"]
        assert not [
            hit for hit in everybody.recall("secret", mode="text") if "neighbour" in hit.content
        ]


def test_writers_and_readers_notice_nothing_of_moves(two: Installation) -> None:
    acknowledged: list[str] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def work(number: int) -> None:
        settings = two.settings if number % 2 else two.another_process()
        try:
            with two.memory("busy", settings=settings) as memory:
                count = 0
                while not over.is_set():
                    text = f"Message w{number}n{count} of a writer."  # no two are of the same words
                    memory.remember(text)
                    acknowledged.append(text)
                    count += 1
                    found = memory.recall(text, mode="text", limit=1, hold=False)
                    assert [hit.content for hit in found] == [text], (
                        "what was just written is found"
                    )
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for cell in ("b", "home", "b"):
        two.cells.move("busy", cell)
    over.set()
    for writer in writers:
        writer.join(60)
    assert failed == []
    assert contents(two, "busy") == sorted(acknowledged)
    assert len(acknowledged) > 3


@pytest.mark.parametrize("name", STEPS)
def test_a_move_that_was_interrupted_loses_nothing_and_goes_on(
    two: Installation, name: str
) -> None:
    """Until the switch the tenant works where it was, after it in the target; the same command ends the move."""
    tenant = f"killed-{name}"
    with two.memory(tenant) as memory:
        memory.remember("said before", key="state")
        gone = memory.remember("said and erased later", key="gone")
        with pytest.raises(Stopped):
            two.cells.move(tenant, "b", progress=killed_at(name))
        memory.revise("state", "said between")
        memory.erase(key="gone", confirm="confirmed")
        assert [each.tenant for each in two.cells.pending_moves()] == [tenant]
        switched = STEPS.index(name) >= STEPS.index("switched")
        assert ("nodes" in two.rows("b", tenant)) or not switched
        two.cells.move(tenant, "b")
        memory.remember("said after")
        assert [node.content for node in memory.history("state")] == ["said before", "said between"]
        assert contents(two, tenant) == ["said after", "said between"] or contents(two, tenant) == [
            "said after",
            "said before",
            "said between",
        ]
        with pytest.raises(NotFound):
            memory.get(gone.id)
    assert two.rows("home", tenant) == {}
    assert two.cells.pending_moves() == []
    assert two.cells.where(tenant) == "b"


def test_a_split_that_was_interrupted_goes_on_with_the_tenant_that_was_under_way(
    two: Installation,
) -> None:
    """Whatever the sizes are by then: the copy of that tenant is in the other cell already."""
    two.cells.create("hot")
    for number, count in enumerate((30, 20, 10, 5)):
        two.cells.place(f"large{number}", "hot")
        with two.memory(f"large{number}") as memory:
            memory.remember_many(
                [{"content": f"Said as number {turn} by {number}."} for turn in range(count)]
            )
    two.cells.create("cool")
    [first, *_] = two.cells.split("hot", "cool", dry_run=True)
    with pytest.raises(Stopped):
        two.cells.split("hot", "cool", progress=killed_at("kept"))
    with two.memory("large3") as memory:  # now another one is the largest
        memory.remember_many([{"content": f"Said later as number {turn}."} for turn in range(60)])
    moved = [each.tenant for each in two.cells.split("hot", "cool")]
    assert moved[0] == first.tenant
    assert two.cells.pending_moves() == []
    there = {each.tenant: each.rows for cell in ("hot", "cool") for each in two.cells.tenants(cell)}
    assert there == {"large0": 30, "large1": 20, "large2": 10, "large3": 65}
    sizes = [sum(each.rows for each in two.cells.tenants(cell)) for cell in ("hot", "cool")]
    assert max(sizes) < 100


def test_a_move_elsewhere_gives_up_the_copy_of_one_that_was_interrupted(two: Installation) -> None:
    two.cells.create("c")
    with two.memory("elsewhere") as memory:
        memory.remember("one")
        with pytest.raises(Stopped):
            two.cells.move("elsewhere", "b", progress=killed_at("kept"))
        two.cells.move("elsewhere", "c")
        assert two.rows("b", "elsewhere") == {}
        with pytest.raises(Stopped):
            two.cells.move("elsewhere", "home", progress=killed_at("switched"))
        with pytest.raises(StorageError, match="move elsewhere home"):
            two.cells.move("elsewhere", "b")
        two.cells.move("elsewhere", "home")
        two.cells.drop("c")
        assert contents(two, "elsewhere") == ["one"]


def test_a_copy_that_differs_is_made_anew_and_never_switched_to(
    two: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two.memory("differs") as memory:
        memory.remember("one")

        def spoiled(name: str, _: int) -> None:
            if name == "copied":
                with psycopg.connect(two.dsn, autocommit=True) as connection:
                    connection.execute(
                        f"update \"{two.schema_of('b')}\".nodes set content = 'spoiled' where tenant = 'differs'"
                    )

        assert two.cells.move("differs", "b", progress=spoiled).rows["nodes"] == 1
        assert [node.content for node in memory.list()] == ["one"]
        monkeypatch.setattr(tenant_moves, "_compared", lambda _: (["nodes"], {}))
        with pytest.raises(StorageError, match="differs in nodes; nothing was switched"):
            two.cells.move("differs", "home")
        memory.remember("two")
        monkeypatch.undo()
        two.cells.move("differs", "home")
        assert contents(two, "differs") == ["one", "two"]


def test_another_process_finds_the_tenant_right_after_a_move_and_never_in_the_old_cell(
    two: Installation,
) -> None:
    with (
        two.memory("known") as memory,
        two.memory("known", settings=two.another_process()) as elsewhere,
    ):
        memory.remember("before")
        assert len(elsewhere.list()) == 1
        two.cells.move("known", "b")
        assert elsewhere.remember("after")
        two.cells.move("known", "home")  # and back, past what it learned
        assert elsewhere.recall("after", mode="text")
        assert {node.content for node in memory.list()} == {"before", "after"}
        assert "nodes" not in two.rows("b", "known")


def test_a_transaction_that_holds_the_fence_open_delays_the_switch_and_loses_nothing(
    two: Installation,
) -> None:
    moved: list[TenantMove] = []
    with two.memory("slow") as memory:
        memory.remember("one")
        thread = threading.Thread(target=lambda: moved.append(two.cells.move("slow", "b")))
        with memory._engine.transaction() as connection:
            thread.start()
            time.sleep(0.4)
            assert moved == []
            connection.execute("update robots set active_at = '2001-01-01Z'")
        thread.join(60)
    assert "2001-01-01" in two.rows("b", "slow")["robots"][0]
    assert moved[0].target == "b"


def test_two_moves_at_once_are_refused(two: Installation) -> None:
    with two.memory("first") as memory:
        memory.remember("one")

    def second(name: str, _: int) -> None:
        if name == "began":
            with pytest.raises(StorageError, match="no other move to be running"):
                Cells(url=two.url, settings=two.another_process()).move("other", "b")

    two.cells.move("first", "b", progress=second)


def test_where_a_tenant_cannot_go_it_stays(two: Installation) -> None:
    with two.memory("stays") as memory:
        memory.remember("one")
    with pytest.raises(NotFound, match="there are home, b"):
        two.cells.move("stays", "nowhere")
    with pytest.raises(InvalidInput, match="where it is already"):
        two.cells.move("stays", "home")
    with pytest.raises(InvalidInput, match="without memories"):
        two.cells.place("stays", "b")
