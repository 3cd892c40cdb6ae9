"""Moves of a whole cell between the nodes of a Citus cluster under writers and readers, with kills at random points: what is lost.

    HTM_TEST_SERVERS=FOLDER python -m benchmarks.cell_moves --moves 20 --writers 3

The folder is the one that `.ci/servers` fills. A coordinator and two workers are started, and removed again. Two moves of three are
disturbed: the backend that runs `citus_schema_move` is ended, or the node that the cell leaves or goes to is killed (SIGKILL) and
started again. Each move is asked for until it is done. One tenant has something of every kind, and nobody uses it: after each move
all of its tables are compared by count and digest.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.moving_writers import MovingWriters
from htm_core import Cells, Memory, Settings, shutdown
from tests.servers import programs
from tests.servers.authority import authority
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, APP, HOST, Cluster
from tests.servers.verbs import every_verb
from tests.stand_ins import HashEmbedder

STILL = "still"  # a tenant that nobody uses
CELL = "htm_b"
# The views of a cell that have rows of tenants.
TABLES = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant'
where c.relnamespace = %s::regnamespace and c.relkind = 'v' order by 1
"""
DIGEST = (
    "select count(*), md5(string_agg(t::text, e'\\n' order by t::text)) from {} t where tenant = %s"
)
KINDS = ("nothing", "the backend", "the node that it leaves", "the node that it goes to")
TRIES = 20


def main() -> None:
    """Run the moves and print what became of the memories."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--tenants", type=int, default=4)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument(
        "--memories", type=int, default=200, help="memories that each tenant has at the beginning"
    )
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    premises = Path(tempfile.mkdtemp(prefix="htm-cells-"))
    premises.chmod(0o755)
    try:
        with CitusCluster.prepared(programs.citus(), premises, authority(premises)) as cluster:
            _Run(cluster, chosen).run()
            shutdown()
    finally:
        shutil.rmtree(premises, ignore_errors=True)


class _Run:
    def __init__(self, cluster: CitusCluster, chosen: argparse.Namespace) -> None:
        self.cluster, self.chosen = cluster, chosen
        self.settings = Settings(cells=True, worker="off", supersession=None, pool_timeout=10.0)
        self.tenants = [f"tenant{number}" for number in range(chosen.tenants)]
        self.embedder = HashEmbedder(name="bench")
        self.chance = random.Random(18)
        self.writers = MovingWriters(self.memory, self.tenants)
        self.differing: list[str] = []

    def memory(self, tenant: str) -> Memory:
        return Memory(
            "atlas",
            url=self.cluster.coordinator.dsn(APP),
            tenant=tenant,
            embedder=self.embedder,
            settings=self.settings,
        )

    def run(self) -> None:
        cells = Cells(url=self.cluster.coordinator.dsn(ADMIN), settings=self.settings)
        cells.create("b", node=f"{HOST}:{self.cluster.elsewhere().port}")
        for tenant in self.tenants:
            cells.place(tenant, "b")
            self.writers.fill(tenant, self.chosen.memories)
        cells.place(STILL, "b")
        with self.memory(STILL) as memory:
            every_verb(memory)
            memory.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        before = self._digests()
        kinds: Counter[str] = Counter()
        attempts = 0
        times: list[float] = []
        with self.writers.running(self.chosen.writers):
            for number in range(self.chosen.moves):
                kind = KINDS[0] if number % 3 == 0 else self.chance.choice(KINDS[1:])
                kinds[kind] += 1
                began = time.monotonic()
                attempts += self._move(kind, usual=statistics.median(times) if times else 5.0)
                if kind == KINDS[0]:
                    times.append(time.monotonic() - began)
                now = self._digests()
                self.differing += [name for name in before if now[name] != before[name]]
                took = time.monotonic() - began
                print(
                    f"{number + 1}: {kind}, {took:.1f} s, {self.writers.said:,} memories",
                    flush=True,
                )
        self._report(cells, kinds, attempts, times)
        rows = sum(count for count, _ in before.values())
        there = sum(count > 0 for count, _ in before.values())
        print(
            f"tables of a tenant that nobody used: {there} with {rows} rows; differing after a move: {self.differing}"
        )

    def _digests(self) -> dict[str, tuple[Any, ...]]:
        """Return the number of rows of the unused tenant in each table, and a digest of them, on the node where the cell is."""
        with self.cluster.home(CELL).admin() as admin, admin.transaction():
            admin.execute(f"select {CELL}.enter_node()")
            names = [str(name) for (name,) in admin.execute(TABLES, [CELL]).fetchall()]
            digests: dict[str, tuple[Any, ...]] = {}
            for name in names:
                row = admin.execute(
                    sql.SQL(DIGEST).format(sql.Identifier(CELL, name)), [STILL]
                ).fetchone()
                assert row is not None  # an aggregate has one row
                digests[name] = row
        return digests

    def _move(self, kind: str, *, usual: float) -> int:
        """Move the cell to the other worker, disturbed once; give how often it was asked for."""
        source, target = self.cluster.home("htm_b"), self.cluster.elsewhere("htm_b")
        for attempt in range(1, TRIES + 1):
            self._clean()
            ended = threading.Event()
            asked = threading.Thread(target=self._ask, args=(target, ended))
            asked.start()
            if (
                kind != KINDS[0]
                and attempt == 1
                and not ended.wait(self.chance.uniform(0.0, 1.1 * usual))
            ):
                self._disturb(kind, source, target)
            asked.join()
            if self.cluster.home("htm_b") is target:
                self.writers.disturbed.clear()
                return attempt
            time.sleep(1.0)
        raise SystemExit(f"the cell was not moved in {TRIES} attempts")

    def _ask(self, target: Cluster, ended: threading.Event) -> None:
        try:
            with self.cluster.coordinator.admin() as admin:
                admin.execute("set application_name = 'mover'")
                admin.execute(
                    "select citus_schema_move('htm_b_tables', %s, %s)", [HOST, target.port]
                )
        except psycopg.Error as error:
            print(f"   {str(error).splitlines()[0][:150]}", flush=True)
        finally:
            ended.set()

    def _disturb(self, kind: str, source: Cluster, target: Cluster) -> None:
        if kind == KINDS[1]:
            self.cluster.ask(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mover'"
            )
            return
        node = source if kind == KINDS[2] else target
        self.writers.disturbed.set()
        node.kill()
        node.start()
        time.sleep(2.0)  # pools notice, and writers go on

    def _clean(self) -> None:
        """Drop what an earlier move has left, as Citus does by itself after a while."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with self.cluster.coordinator.admin() as admin:
                    admin.execute("call citus_cleanup_orphaned_resources()")
                if self.cluster.ask("select count(*) from pg_dist_cleanup") == [(0,)]:
                    return
            except psycopg.Error as error:
                print(f"   cleaning: {str(error).splitlines()[0][:150]}", flush=True)
            time.sleep(0.5)

    def _report(self, cells: Cells, kinds: Counter[str], attempts: int, times: list[float]) -> None:
        print(f"moves {sum(kinds.values())}, asked for {attempts} times; disturbed: {dict(kinds)}")
        print(*self.writers.report(), sep="\n")
        print(f"an undisturbed move: p50 {statistics.median(times):.1f} s, most {max(times):.1f} s")
        print({each.name: (each.node, each.tenants, each.error) for each in cells.list()})


if __name__ == "__main__":
    main()
