"""Measure how the verbs grow from ten thousand nodes to a million, in three shapes of an installation.

    python -m benchmarks.sizes --nodes 10000 100000 1000000 --shape one
    python -m benchmarks.sizes --nodes 1000000 --shape zipf --partitions 16

`one` is one owner with all nodes, `small` are tenants of a hundred nodes each, `zipf` a thousand tenants whose sizes follow Zipf's
law. Questions are asked in the largest tenant, in one of middle size, and in a small one. For each the table has p50 and p95 in
milliseconds of hybrid recall, of the nearest vectors, of recall with a tag, of `remember`, and of `context`; below them are how
long it took to fill and to index, how many bytes a node has, on disk and in its part of the HNSW index, and how many pages of
8 KB a recall in the largest tenant reads, each of which is in memory or has to come from the disk.

The embedder is a stand-in that gives random vectors at once, and its time is subtracted. `--home` keeps the filled server, and goes
on where filling was interrupted. A server that has just started reads its pages from the system, and answers several times slower
until it has them: `--warm` asks so many questions first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.corpus import Corpus, RandomEmbedder
from htm_core import Draft, Memory, Mode, Settings, shutdown
from htm_core.db import indexes
from htm_core.db.owner_claims import EVERYBODY
from htm_core.db.partitions import partition
from htm_core.memory.process import runtime
from htm_core.recall import search

SHAPES = ("one", "small", "zipf")
SMALL = 100  # nodes of a small tenant
TENANTS = 1_000  # with sizes by Zipf's law
BATCH = 1_000
COUNTED = 200  # calls whose pages are counted
WARM_UP = 10  # calls of each kind that are not timed
SETTINGS = Settings(worker="off", max_drafts=1_000_000)


def main() -> None:
    """Measure each size, and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--shape", choices=SHAPES, default="one")
    parser.add_argument(
        "--partitions", type=int, default=1, help="of the table of vectors, each with its own index"
    )
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument(
        "--warm",
        type=int,
        default=WARM_UP,
        help="questions that are asked first, in each tenant, not timed",
    )
    parser.add_argument(
        "--home", type=Path, help="keep the filled server here, and use it again if it is there"
    )
    args = parser.parse_args()
    for nodes in args.nodes:
        with tempfile.TemporaryDirectory(
            prefix="htm-bench-", ignore_cleanup_errors=True
        ) as temporary:
            os.environ["HTM_HOME"] = str(args.home or temporary)
            Console(width=110).print(
                Size(nodes, args.shape, args.partitions).table(args.calls, warm=args.warm)
            )
            shutdown()


def tenants(nodes: int, shape: str) -> Iterator[tuple[str, int]]:
    """The tenants of a shape and how many nodes each has, the largest first."""
    if shape == "one":
        yield "tenant-0", nodes
    elif shape == "small":
        for number in range(max(1, nodes // SMALL)):
            yield f"tenant-{number}", SMALL
    else:
        weights = 1 / np.arange(1, TENANTS + 1)
        for number, share in enumerate(weights / weights.sum()):
            yield f"tenant-{number}", max(1, round(share * nodes))


class Size:
    """The measurement of one number of nodes in one shape."""

    def __init__(self, nodes: int, shape: str, partitions: int) -> None:
        self._nodes, self._shape, self._partitions = nodes, shape, partitions
        self._tenants = list(tenants(nodes, shape))
        self._corpus = Corpus(nodes)
        self._embedder = RandomEmbedder(self._corpus)
        self._database = runtime(None, SETTINGS).database
        self._notes: list[tuple[str, str]] = []

    def table(self, calls: int, *, warm: int) -> Table:
        """Fill what is not filled, ask `warm` questions, measure, and give the table."""
        self._database.open()
        if self._partitions > 1:
            partition(self._database, self._partitions)
        self._fill()
        self._index()
        table = Table(
            title=(
                f"{self._nodes:,} nodes, shape {self._shape}, {self._partitions} partitions, "
                f"{calls} calls each after {warm} questions"
            )
        )
        table.add_column("what")
        places = sorted({0, len(self._tenants) // 20, len(self._tenants) - 1})
        for place in places:
            table.add_column(f"{self._tenants[place][1]:,} nodes\np50 / p95", justify="right")
        columns = [self._measured(self._tenants[place][0], calls, warm=warm) for place in places]
        for name in columns[0]:
            table.add_row(
                name, *(f"{column[name][0]:.2f} / {column[name][1]:.2f}" for column in columns)
            )
        table.add_section()
        for name, value in [*self._notes, *self._bytes(), *self._pages()]:
            table.add_row(name, value)
        return table

    def _memory(self, tenant: str) -> Memory:
        return Memory(
            "bench", tenant=tenant, embedder=self._embedder, settings=SETTINGS, budget=20_000
        )

    def _fill(self) -> None:
        documents, began, written = self._corpus.documents(), time.perf_counter(), 0
        for tenant, count in track(self._tenants, description="fill", console=Console(stderr=True)):
            with self._memory(tenant) as memory:
                known = memory.stats().nodes
                for start in range(0, count, BATCH):
                    size = min(BATCH, count - start)
                    drafts = [
                        Draft(
                            content=each.content,
                            vector=each.vector,
                            at=each.at,
                            tags=[each.tag],
                            role="user",
                        )
                        for each, _ in zip(documents, range(size), strict=False)
                    ]
                    if start + size > known:
                        memory.remember_many(drafts)
                        written += size
        if written == sum(
            count for _, count in self._tenants
        ):  # not when it went on from where it was interrupted
            self._notes.append(
                (
                    "filled by remember_many",
                    f"{written / (time.perf_counter() - began):,.0f} rows/s",
                )
            )

    def _index(self) -> None:
        began = time.perf_counter()
        for tenant in {self._tenants[0][0], self._tenants[-1][0]}:
            with self._database.transaction(tenant, claim=EVERYBODY) as connection:
                search.count_words(connection)
        counted = time.perf_counter()
        built = indexes.build_due(self._database)
        self._notes.append(
            (f"HNSW built ({len(built)} indexes)", f"{time.perf_counter() - counted:,.0f} s")
        )
        with self._database.owner() as connection:
            connection.execute("vacuum analyze")
        self._notes.append(
            ("words counted, indexed, vacuumed", f"{time.perf_counter() - began:,.0f} s")
        )

    def _measured(self, tenant: str, calls: int, *, warm: int) -> dict[str, tuple[float, float]]:
        with self._memory(tenant) as memory:

            def recall(**options: Any) -> float:
                return memory.recall(
                    self._corpus.sentence(6), hold=False, **options
                ).timings.embedding

            for _ in range(warm):
                recall()
            return {
                "hybrid": _timed(recall, calls),
                "vector": _timed(lambda: recall(mode="vector"), calls),
                "hybrid, a tag of 40 %": _timed(lambda: recall(tags=["topic:0"]), calls),
                "vector, a tag of 1 %": _timed(
                    lambda: recall(mode="vector", tags=["topic:9"]), calls
                ),
                "remember": _timed(
                    lambda: memory.remember(self._corpus.sentence(), role="user"), calls
                ),
                "context, 20,000 tokens": _timed(lambda: memory.context(), calls),
            }

    def _bytes(self) -> Iterator[tuple[str, str]]:
        with self._database.owner() as connection:
            row = connection.execute(BYTES).fetchone()
            assert row is not None
        yield "bytes a node, on disk", f"{row['disk'] / self._nodes:,.0f}"
        yield "of these, the HNSW index", f"{row['hnsw'] / self._nodes:,.0f}"

    def _pages(self) -> Iterator[tuple[str, str]]:
        modes: tuple[Mode, ...] = ("hybrid", "vector")
        with self._memory(self._tenants[0][0]) as memory:
            for mode in modes:

                def recall(mode: Mode = mode) -> object:
                    return memory.recall(self._corpus.sentence(6), mode=mode, hold=False)

                began = self._pages_read(recall)
                for _ in range(COUNTED):
                    recall()
                read = self._pages_read(recall) - began
                yield (
                    f"pages that a recall reads, {mode}",
                    f"{read / (COUNTED + 2 * SETTINGS.pool_max):,.0f}",
                )

    def _pages_read(self, recall: Callable[[], object]) -> int:
        """Count the pages that all have read until now. A session says so with its next statement, but only once a second."""
        for pause in (1.2, 0):
            time.sleep(pause)
            for _ in range(SETTINGS.pool_max):
                recall()
        with self._database.owner() as connection:
            row = connection.execute(PAGES).fetchone()
        assert row is not None
        return int(row["pages"])


def _timed(call: Callable[[], object], calls: int) -> tuple[float, float]:
    """p50 and p95 in milliseconds; what a call answers with, if it is a number, is time that does not count."""
    taken = []
    for number in range(WARM_UP + calls):
        began = time.perf_counter()
        besides = call()
        if number >= WARM_UP:
            taken.append(
                (time.perf_counter() - began) * 1e3
                - (besides if isinstance(besides, float) else 0.0)
            )
    return statistics.median(taken), sorted(taken)[int(0.95 * len(taken))]


PAGES = (
    "select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()"
)
BYTES = """
select sum(pg_table_size(c.oid)) filter (where c.relkind = 'r')
       + sum(pg_relation_size(c.oid)) filter (where c.relkind = 'i') as disk,
       coalesce(sum(pg_relation_size(c.oid)) filter (where c.relkind = 'i' and c.relname like '%hnsw%'), 0) as hnsw
from pg_class c where c.relnamespace in ('htm'::regnamespace, to_regnamespace('htm_tables'))  -- the shards of a cluster's node
"""


if __name__ == "__main__":
    main()
