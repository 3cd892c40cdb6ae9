"""Cells on a Citus cluster: schemas on nodes of their own, between which tenants move while Citus moves schemas."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from htm_core import Cells, InvalidInput, Memory, Settings
from htm_core.db.doctor import examine
from htm_core.memory.process import runtime
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, APP, HOST, Cluster
from tests.servers.verbs import every_verb
from tests.stand_ins import HashEmbedder

pytestmark = pytest.mark.skipif(
    os.environ.get("HTM_TEST_MATRIX") != "whole",
    reason="HTM_TEST_MATRIX is not whole: it takes its time on a cluster",
)
STEPS = ("began", "copied", "fenced", "verified", "kept", "switched", "told", "deleted")
FIRST_NUMBER = 1 << 20  # of the collections of the first cell beside home


class Stopped(Exception):
    """A move was killed here."""


class CelledCluster:
    """A cluster with home and the cell b, which are on different nodes."""

    def __init__(self, cluster: CitusCluster) -> None:
        self.cluster = cluster
        self.settings = Settings(cells=True, worker="off", pool_timeout=10.0)
        self.cells = Cells(url=cluster.coordinator.dsn(ADMIN), settings=self.settings)
        self.embedder = HashEmbedder(name="cells")
        self.cells.create("b", node=f"{HOST}:{cluster.elsewhere().port}")

    def memory(self, tenant: str, *, node: Cluster | None = None, **settings: object) -> Memory:
        """A memory of an application's login, by the coordinator's url or that of a node."""
        url = (node or self.cluster.coordinator).dsn(APP)
        chosen = self.settings.model_copy(update=settings)
        return Memory("atlas", url=url, tenant=tenant, embedder=self.embedder, settings=chosen)

    def rows(self, cell: str, table: str, tenant: str) -> list[str]:
        """A tenant's rows of a table in a cell, read where that lives."""
        schema = "htm" if cell == "home" else f"htm_{cell}"
        with self.cluster.home(schema).admin() as admin:
            admin.execute(f"select {schema}.enter_node()")  # type: ignore[arg-type]
            rows = admin.execute(
                f"select content from {schema}.{table} where tenant = %s", [tenant]
            )  # type: ignore[arg-type]
            return sorted(str(text) for (text,) in rows)

    def swap(self, schema: str) -> None:
        """Let Citus move a schema to the other worker."""
        self.cluster.move(schema)


@pytest.fixture(scope="module")
def celled(premises: Path, trusted: Certificate) -> Iterator[CelledCluster]:
    with CitusCluster.prepared(programs.citus(), premises, trusted) as made:
        yield CelledCluster(made)


def stopping_at(name: str) -> Callable[[str, int], None]:
    def step(reached: str, _: int) -> None:
        if reached == name:
            raise Stopped

    return step


class Writers:
    """Threads that write and read one tenant until they are told to stop, and note what was acknowledged."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.said: list[str] = []
        self.failed: list[BaseException] = []
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(memory, number))
            for number, memory in enumerate(memories)
        ]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def await_more(self, count: int = 3) -> None:
        """Until so many more were acknowledged."""
        wanted, deadline = len(self.said) + count, time.monotonic() + 30
        while len(self.said) < wanted and time.monotonic() < deadline and not self.failed:
            time.sleep(0.02)

    def _work(self, memory: Memory, number: int) -> None:
        try:
            count = 0
            while not self._over.is_set():
                text = f"Message w{number}n{count} of {memory.tenant}."
                memory.remember(text)
                self.said.append(text)
                count += 1
                found = memory.recall(text, mode="text", limit=1, hold=False)
                assert [hit.content for hit in found] == [text], "what was just written is found"
        except BaseException as error:
            self.failed.append(error)


def test_a_tenant_works_in_a_cell_on_another_node_and_moves_home_with_all_it_has(
    celled: CelledCluster,
) -> None:
    listed = {each.name: each for each in celled.cells.list()}
    nodes = {name: each.node for name, each in listed.items()}
    assert nodes["b"] == f"{HOST}:{celled.cluster.home('htm_b').port}"
    assert nodes["b"] != nodes["home"]
    assert not any(each.error for each in listed.values())
    celled.cells.place("far", "b")
    with celled.memory("far") as memory:
        worker = runtime(celled.cluster.coordinator.dsn(APP), celled.settings).worker
        every_verb(memory)
        memory.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        worker.drain()
        ids = [
            row["id"]
            for row in memory._engine.database.read("far", "select id from collections", {})
        ]
        assert all(FIRST_NUMBER <= each < 2 * FIRST_NUMBER for each in ids)
        said = celled.rows("b", "nodes", "far")
        assert said
        assert celled.cells.move("far", "home").rows["nodes"] == len(said)
        assert (celled.rows("home", "nodes", "far"), celled.rows("b", "nodes", "far")) == (said, [])
        assert [hit.item.id for hit in memory.collection("pages").query("harbours")] == ["one"]
        assert memory.verify_audit().ok


def test_a_writer_notices_nothing_of_moves_between_nodes_that_are_killed_and_go_on(
    celled: CelledCluster,
) -> None:
    with (
        celled.memory("busy") as one,
        celled.memory("busy", node=celled.cluster.nodes[2], pool_max=7) as two,
        celled.memory("other") as other,
        Writers([one, two]) as writers,
    ):
        other.remember("The neighbour's secret.")
        for turn, name in enumerate(STEPS):
            writers.await_more()
            cell = ("b", "home")[turn % 2]
            with pytest.raises(Stopped):
                celled.cells.move("busy", cell, progress=stopping_at(name))
            writers.await_more()
            if name == "deleted":
                assert celled.cells.pending_moves()
            celled.cells.move("busy", cell)
            assert celled.cells.where("busy") == cell
    assert writers.failed == []
    assert len(writers.said) > 20
    assert celled.rows("home", "nodes", "busy") == sorted(writers.said)
    assert celled.rows("b", "nodes", "busy") == []
    assert celled.rows("home", "nodes", "other") == ["The neighbour's secret."]


@pytest.mark.parametrize("schema", ["htm_b", "htm"])
def test_a_move_of_a_tenant_goes_on_where_citus_has_moved_its_cell_meanwhile(
    celled: CelledCluster, schema: str
) -> None:
    """Whatever a pass has seen on one node counts for nothing on the other, and the directory may move, too."""
    tenant = f"carried-{schema}"
    celled.cells.place(tenant, "b")
    moved: list[str] = []

    def step(name: str, _: int) -> None:
        if name == "copied" and not moved:
            moved.append(name)
            celled.swap(schema)

    with celled.memory(tenant) as memory, Writers([memory]) as writers:
        writers.await_more()
        celled.cells.move(tenant, "home", progress=step)
        writers.await_more()
    assert moved
    assert writers.failed == []
    assert celled.rows("home", "nodes", tenant) == sorted(writers.said)
    assert celled.rows("b", "nodes", tenant) == []


def test_collections_go_on_with_the_numbers_of_their_cell_when_citus_moves_it(
    celled: CelledCluster,
) -> None:
    celled.cells.place("numbered", "b")
    with celled.memory("numbered") as memory:
        memory.collection("before").put([{"id": "one", "content": "A page about gulls."}])
        celled.swap("htm_b")
        memory.collection("after").put([{"id": "one", "content": "A page about terns."}])
        rows = memory._engine.database.read(
            "numbered", "select id from collections order by id", {}
        )
        assert len({row["id"] for row in rows}) == 2
        assert all(FIRST_NUMBER <= row["id"] < 2 * FIRST_NUMBER for row in rows)


def test_a_whole_tenant_is_erased_on_its_node_while_others_write(celled: CelledCluster) -> None:
    celled.cells.place("leaving", "b")
    celled.cells.place("staying", "b")
    with celled.memory(
        "leaving"
    ) as leaving:  # before others write: it makes the vectors of all tenants
        every_verb(leaving)
        leaving.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
    with (
        celled.memory("leaving") as leaving,
        celled.memory("staying") as staying,
        Writers([staying]) as writers,
    ):
        writers.await_more()
        receipt = leaving.erase_tenant(confirm="leaving")
        writers.await_more()
        assert receipt.counts["nodes"] > 0
        assert [
            celled.rows("b", table, "leaving") for table in ("nodes", "mentions", "documents")
        ] == [[], [], []]
        assert leaving.verify_audit([receipt.digest]).ok
        leaving.remember("A new beginning.")
        assert celled.rows("b", "nodes", "leaving") == ["A new beginning."]
    assert writers.failed == []
    assert celled.rows("b", "nodes", "staying") == sorted(writers.said)


def test_a_cell_without_tenants_is_dropped_on_all_nodes(celled: CelledCluster) -> None:
    celled.cells.create("short")
    celled.cells.place("brief", "short")
    with celled.memory("brief") as memory:
        memory.remember("one")
        with pytest.raises(InvalidInput, match="move them first"):
            celled.cells.drop("short")
        celled.cells.move("brief", "home")
        celled.cells.drop("short")
        assert [node.content for node in memory.list()] == ["one"]
    for node in celled.cluster.nodes:
        with node.admin() as admin:
            left = admin.execute(
                "select nspname from pg_namespace where nspname ~ '^htm_short'"
            ).fetchall()
        assert left == []


def test_the_doctor_finds_each_cell_well_on_its_node(celled: CelledCluster) -> None:
    url = celled.cluster.coordinator.dsn(ADMIN)
    for schema in ("htm", "htm_b"):
        found = examine(url, worker=url, schema=schema, tenant="nobody yet", model="none")
        said = {(each.about, each.state): each.says for each in found}
        assert f":{celled.cluster.home(schema).port}" in said["placement", "well"]
        assert said["walls", "well"].endswith("each behind row-level security and a policy")
        # Of a superuser's login, and of how the tests' servers are set.
        assert {each.about for each in found if each.state == "wrong"} <= {
            "login",
            "durability",
            "reach",
        }


def test_a_node_that_is_not_there_gets_no_cell(celled: CelledCluster) -> None:
    with pytest.raises(InvalidInput, match=f"there are {HOST}:"):
        celled.cells.create("lost", node="nowhere:5432")
    assert "lost" not in {each.name for each in celled.cells.list()}
