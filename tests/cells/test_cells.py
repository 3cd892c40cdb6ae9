"""Which cell a tenant is in, who asks for it, and what works across cells."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable

import psycopg
import pytest

from htm_core import Cells, DatabaseUnavailable, InvalidInput, NotFound, SchemaOutdated, Settings
from htm_core.db.cluster.splitting import plan_split
from htm_core.db.database import Database
from htm_core.engine import read
from htm_core.jobs.attempts import Attempts
from htm_core.jobs.claims import Batch
from htm_core.jobs.worker import Worker
from htm_core.memory.process import runtime
from tests.cells.conftest import Installation
from tests.conftest import SETTINGS


def only(installation: Installation, tenant: str) -> str:
    """The one cell that has rows of a tenant."""
    [found] = [name for name in ("home", "b") if installation.rows(name, tenant).get("nodes")]
    return found


def test_without_cells_nobody_asks_the_directory(
    url: str | None, database: Database, tenant: str
) -> None:
    with database.transaction(tenant) as connection:
        assert connection.execute("select name from cells").fetchall() == [{"name": "home"}]
    assert database.cells() == [database]
    assert database.of(tenant) is database
    with psycopg.connect(database.dsn("htm_root").get_secret_value()) as connection:
        asked = connection.execute(
            "select count(*) from htm.tenant_cells where tenant = %s", [tenant]
        ).fetchone()
    assert asked == (0,)


def test_a_tenant_is_placed_in_a_cell_before_its_first_memory(two: Installation) -> None:
    assert two.cells.place("placed", "b").target == "b"
    with two.memory("placed") as memory:
        memory.remember("The harbour is closed.")
        assert memory.flush(timeout=30)
        assert [hit.content for hit in memory.recall("is the harbour open?")] == [
            "The harbour is closed."
        ]
        assert memory.stats().vectors == 1
    assert only(two, "placed") == "b"
    assert [each.tenant for each in two.cells.tenants("b") if each.tenant == "placed"] == ["placed"]


def test_new_tenants_begin_in_the_cells_that_take_them_and_others_stay(two: Installation) -> None:
    with two.memory("old") as memory:
        memory.remember("one")
    two.cells.open_for_new("b")
    try:
        with two.memory("new") as memory:
            memory.remember("one")
        assert (only(two, "old"), only(two, "new")) == ("home", "b")
        with two.memory("old", settings=two.another_process()) as memory:
            assert len(memory.list()) == 1
    finally:
        two.cells.open_for_new("b", takes_new=False)
    with two.memory("newer") as memory:
        memory.remember("one")
    assert only(two, "newer") == "home"


def test_a_process_that_asks_nobody_is_refused_once_there_are_cells(two: Installation) -> None:
    unaware = two.settings.model_copy(update={"cells": False})
    with (
        two.memory("acme", settings=unaware) as memory,
        pytest.raises(InvalidInput, match="HTM_CELLS=1"),
    ):
        memory.remember("into the wrong cell")


def test_the_first_cell_waits_for_processes_that_would_ask_nobody(
    url: str | None, database_url: str
) -> None:
    """One that had no connection open meanwhile is refused at its next one."""
    settings = SETTINGS.model_copy(
        update={
            "schema_": "cells_unaware",
            "roles": "htm",
            "worker": "off",
            "pool_min": 0,
            "pool_timeout": 1.0,
        }
    )
    unaware = runtime(url, settings).database
    cells = Cells(url=url, settings=settings)
    try:
        with unaware.transaction("acme") as connection:
            connection.execute("select 1")
        with pytest.raises(SchemaOutdated, match=r"pid \d+ of .*Restart"):
            cells.create("b")
        unaware.pools.close()
        cells.create("b")
        with pytest.raises(InvalidInput, match="HTM_CELLS"), unaware.transaction("acme"):
            raise AssertionError("it was let in")
    finally:
        unaware.close()
        cells._home.close()
        with psycopg.connect(database_url, autocommit=True) as connection:
            for name in ("cells_unaware", "cells_unaware_b"):
                connection.execute(f"drop schema if exists {name} cascade")


def test_workers_do_the_jobs_of_all_cells_in_turns_or_of_some(
    two: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = two.another_process().model_copy(update={"worker_batch": 4})
    two.cells.place("far", "b")
    with two.memory("near") as near, two.memory("far") as far:
        worker = runtime(two.url, settings).worker
        worker.add_embedder(near._engine.embedder)
        worker.drain()
        near.remember_many([{"content": f"Near message {number}."} for number in range(12)])
        far.remember_many([{"content": f"Far message {number}."} for number in range(12)])
        served: list[str] = []
        do = worker._attempts.do

        def noted(batch: Batch, until: Callable[[], bool]) -> int:
            served.extend(
                {job.tenant for _, claimed in batch for job in claimed if job.kind == "embed"}
            )
            return do(batch, until)

        monkeypatch.setattr(worker._attempts, "do", noted)
        worker.serve_cells(["b"])
        worker.drain()
        assert set(served) == {"far"}
        assert (near.stats().vectors, far.stats().vectors) == (0, 12)
        served.clear()
        far.remember_many([{"content": f"Farther message {number}."} for number in range(8)])
        worker.serve_cells(None)
        worker.drain()
        assert served[:4] in (["far", "near"] * 2, ["near", "far"] * 2), "cells take turns"
        assert (near.stats().vectors, far.stats().vectors) == (12, 20)
        assert {each.kind for each in worker.backlog()} <= {"count", "relate", "supersede", "tidy"}


def test_several_workers_share_the_jobs_of_all_cells_fairly_and_do_none_twice(
    two: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three workers that begin together: while all tenants have jobs, each gets as many as the others, but for a batch."""
    count, batch = 24, 4
    tenants = {"here1": "home", "here2": "home", "there1": "b", "there2": "b"}
    served: list[tuple[str, str]] = []
    noting, together = threading.Lock(), threading.Barrier(3)
    workers = [
        runtime(two.url, two.another_process().model_copy(update={"worker_batch": batch})).worker
        for _ in range(3)
    ]
    do = Attempts.do

    def noted(self: Attempts, batch: Batch, until: Callable[[], bool]) -> int:
        if any(
            self is worker._attempts for worker in workers
        ):  # other tests' workers may be at work in this process
            with noting:
                served.extend(
                    (job.tenant, str(job.id))
                    for _, given in batch
                    for job in given
                    if job.kind == "embed"
                )
        return do(self, batch, until)

    def work(worker: Worker) -> None:
        together.wait(30)
        worker.drain()

    with contextlib.ExitStack() as held:
        memories = {}
        for tenant, cell in tenants.items():
            if cell != "home":
                two.cells.place(tenant, cell)
            memories[tenant] = held.enter_context(two.memory(tenant))
        for worker in workers:
            worker.add_embedder(memories["here1"]._engine.embedder)
        workers[0].drain()
        for tenant, memory in memories.items():
            memory.remember_many(
                [{"content": f"{tenant} said number {number}."} for number in range(count)]
            )
        monkeypatch.setattr(Attempts, "do", noted)
        threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert all(memory.stats().vectors == count for memory in memories.values())
    assert Counter(tenant for tenant, _ in served) == dict.fromkeys(tenants, count)
    assert len(set(served)) == len(served), "none is done twice"
    half = Counter(tenant for tenant, _ in served[: len(served) // 2])
    assert max(half.values()) - min(half[tenant] for tenant in tenants) <= batch * len(workers)


def test_a_cell_that_does_not_answer_keeps_no_other_waiting(
    two: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = runtime(two.url, two.another_process()).worker
    [far] = [cell for cell in worker._database.cells() if cell.cell == "b"]

    def away(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("its server is down")

    with two.memory("here") as memory:
        memory.remember("The bridge is open.")
        worker.add_embedder(memory._engine.embedder)
        monkeypatch.setattr(far, "transaction", away)
        worker.drain()
        assert memory.stats().vectors == 1
        assert "b" not in {cell.cell for cell in worker._cells.reachable()}


def test_a_job_that_was_claimed_before_a_move_is_done_after_it(two: Installation) -> None:
    with two.memory("claimed") as memory:
        memory.remember("The lighthouse is white.")
        worker = memory._runtime.worker
        [batch] = [
            worker._claims.claim_in(cell, pace)
            for cell in two.database.cells()[:1]
            for pace in list(worker._wanted)[1:2]
        ]
        assert any(job.tenant == "claimed" for _, claimed in batch for job in claimed)
        two.cells.move("claimed", "b")
        worker._attempts.do(batch, lambda: False)
        assert memory.stats().vectors == 1
        assert memory.flush(timeout=30)
        assert memory.stats().pending_jobs == 0


def test_members_of_a_group_share_its_memory_across_a_move(two: Installation) -> None:
    there = two.another_process()
    with two.memory("team") as first, two.memory("team", robot="boris", settings=there) as second:
        one, other = first.group("support"), second.group("support")
        first.remember("before the move")
        two.cells.move("team", "b")
        first.remember("after the move")
        assert len(first.working.items) == 2
        assert {item.id for item in first.working.items} == {
            item.id for item in second.working.items
        }
        assert one.role == other.role == "active"
        one.leave()
        other.leave()


def test_tokens_stay_at_home_and_open_the_tenant_wherever_it_is(two: Installation) -> None:
    from datetime import UTC, datetime
    from uuid import uuid4

    from htm_core.db import tokens

    made = tokens.ApiToken(
        id=str(uuid4()), tenant="guarded", name="laptop", user=None, robot=None, scopes=("read",), created_at=datetime.now(UTC)
    )  # fmt: skip
    with two.memory("guarded") as memory:
        memory.remember("one")
    assert tokens.create(two.database, made, secret="htm_x")
    two.cells.move("guarded", "b")
    assert [each.name for each in tokens.listed(two.database, "guarded")] == ["laptop"]
    found = tokens.find(two.database, "htm_x")
    assert found is not None
    assert found.tenant == "guarded"
    assert tokens.revoke(two.database, "guarded", "laptop", at=datetime.now(UTC))


def test_a_hot_cell_is_split_by_moving_its_largest_tenants(
    new_installation: Callable[..., Installation],
) -> None:
    hot = new_installation()
    for number, count in enumerate((6, 3, 2, 1)):
        with hot.memory(f"t{number}") as memory:
            memory.remember_many(
                [{"content": f"Message {each} of {number}."} for each in range(count)]
            )
    planned = hot.cells.split("home", "b", dry_run=True)
    assert [(each.tenant, each.rows) for each in planned] == [("t0", 6)]
    assert hot.cells.tenants("b") == []
    assert hot.cells.split("home", "b") == planned
    assert {each.name: each.tenants for each in hot.cells.list()} == {"home": 3, "b": 1}
    with pytest.raises(InvalidInput, match="move them first"):
        hot.cells.drop("b")
    hot.cells.move("t0", "home")
    hot.cells.drop("b")
    assert [each.name for each in hot.cells.list()] == ["home"]


def test_cells_behind_the_wall_between_users_have_homes_key(
    new_installation: Callable[..., Installation],
) -> None:
    walled = new_installation(user_walls=True)
    with walled.memory("acme", user="ann") as ann, walled.memory("acme", user="bob") as bob:
        ann.remember("Ann's passport is blue.")
        walled.cells.move("acme", "b")
        ann.remember("Ann lives in Bergen.")
        assert len(ann.list()) == 2
        assert bob.list() == []
        cell = walled.database.of("acme")
        assert cell.cell == "b"
        assert cell.user_walls_key() == walled.database.user_walls_key() is not None


def test_the_tenants_of_all_cells_are_shown_page_by_page_in_one_order(
    new_installation: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch
) -> None:
    several = new_installation()
    several.cells.place("bergen", "b")
    for name in ("arendal", "bergen", "Ålesund", "voss"):
        with several.memory(name) as memory:
            memory.remember_many([{"content": f"{number} ships in {name}."} for number in range(2)])

    def half_done(name: str, _: int) -> None:
        """A copy is in the other cell, and the tenant is where it was."""
        if name == "copied":
            raise RuntimeError

    with pytest.raises(RuntimeError):
        several.cells.move("arendal", "b", progress=half_done)
    engine = several.memory("arendal")._engine
    pages: list[tuple[str, str | None, int]] = []
    after = None
    while page := read.tenant_sizes(engine, after=after, limit=2).shown:
        pages += [(each.tenant, each.cell, each.nodes) for each in page]
        after = page[-1].tenant
    assert {(tenant, nodes) for tenant, _, nodes in pages} == {
        (each, 2) for each in ("arendal", "bergen", "Ålesund", "voss")
    }
    assert len(pages) == 4
    assert {tenant: cell for tenant, cell, _ in pages}["bergen"] == "b"
    assert read.tenant_sizes(engine).tenants == 4
    [far] = [cell for cell in several.database.cells() if cell.cell == "b"]

    def away(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("its server is down")

    monkeypatch.setattr(far, "transaction", away)
    assert read.tenant_sizes(engine).unasked == ("b",)


@pytest.mark.parametrize("name", ["home", "B", "9", "a b", "x" * 40, ""])
def test_names_that_no_cell_may_have_are_refused(two: Installation, name: str) -> None:
    with pytest.raises(InvalidInput, match="name of a cell"):
        two.cells.create(name)


def test_cells_are_not_made_twice_nor_with_secrets_nor_over_memories(two: Installation) -> None:
    with pytest.raises(InvalidInput, match="no cell has"):
        two.cells.create("b")
    with pytest.raises(InvalidInput):
        two.cells.create("d", url="postgresql://me:secret@db.example/x")
    with pytest.raises(InvalidInput, match="no cell has"):
        two.cells.create("d", schema=two.settings.schema_)
    with pytest.raises(NotFound, match="there are home, b"):
        two.cells.tenants("d")
    with pytest.raises(InvalidInput, match="besides home"):
        two.cells.drop("home")


def test_a_split_moves_few_large_tenants_and_makes_both_more_even() -> None:
    assert plan_split({"a": 50, "b": 30, "c": 20}, target_rows=0) == ["a"]
    assert plan_split({"a": 90, "b": 5, "c": 5}, target_rows=0) == ["b", "c"]
    assert plan_split({"a": 10}, target_rows=0) == []
    assert plan_split({"a": 10, "b": 0}, target_rows=50) == []


def test_the_setting_is_off_by_default() -> None:
    assert Settings().cells is False
