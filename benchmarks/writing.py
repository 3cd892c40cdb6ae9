"""Compare what it costs to write memories with the least work that the database can do for them.

    python -m benchmarks.writing --nodes 20000

A private server is filled with so many texts with vectors, and the index of vectors is built. Then blocks of calls take turns:
single rows inserted into a table with a primary key, each with its commit, beside `remember` (the embedding is queued); and a
plain INSERT of 1,000 rows into the tables and indexes that a memory fills, beside `remember_many` of 1,000 texts with ready
vectors. The columns are milliseconds a row: the time that passed (the median of the blocks), and the CPU time of this process and
of the server, which other work on the machine changes less. `benchmarks.latency` has the other verbs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.ingestion import Spent
from benchmarks.latency import BATCH, Latency
from htm_core import Memory, shutdown

BARE, REMEMBER = "a bare insert, committed", "remember, embedding queued"
PLAIN, MANY = "a plain INSERT of 1,000", "remember_many of 1,000, vectors given"


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=6, help="of each way")
    parser.add_argument("--calls", type=int, default=100, help="single rows of a block")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)  # so that the data are in it, where this is root
        os.environ["HTM_HOME"] = home
        filled = Latency(args.nodes, args.calls)
        with filled.memory() as memory:
            filled.fill(memory)
            filled.index(memory)
            spent = measured(filled, memory, blocks=args.blocks, calls=args.calls)
        shutdown()
    Console(width=120).print(table(spent, nodes=args.nodes, calls=args.calls))


def measured(filled: Latency, memory: Memory, *, blocks: int, calls: int) -> dict[str, list[Spent]]:
    """Return the times of each block of each way; the ways take turns."""
    lock = next(Path(os.environ["HTM_HOME"]).rglob("postmaster.pid"))
    server = psutil.Process(int(lock.read_text().split()[0]))
    with filled.database.owner() as connection:
        connection.execute("create table bare (id bigserial primary key, content text)")

        def insert() -> None:
            for _ in range(calls):
                connection.execute(
                    "insert into bare (content) values (%s)", [filled.corpus.sentence()]
                )

        def remember() -> None:
            for _ in range(calls):
                memory.remember(filled.corpus.sentence(), role="user")

        def remember_many() -> None:
            memory.remember_many(
                filled.drafts(list(itertools.islice(filled.corpus.documents(), BATCH)))
            )

        ways: dict[str, Callable[[], object]] = {
            BARE: insert, REMEMBER: remember, PLAIN: filled.plain_insert, MANY: remember_many,
        }  # fmt: skip
        for call in ways.values():
            call()
        spent: dict[str, list[Spent]] = {name: [] for name in ways}
        for _ in range(blocks):
            for name, way in ways.items():
                began = Spent.now(server)
                way()
                spent[name].append(Spent.now(server).since(began))
    return spent


def table(spent: dict[str, list[Spent]], *, nodes: int, calls: int) -> Table:
    """Milliseconds a row of each way, and how many times those of the plain way they are."""
    drawn = Table(
        title=f"writing at {nodes:,} nodes of 384 dimensions, ms a row, {os.cpu_count()} cores"
    )
    for column in ("way", "time", "to plain", "CPU, here", "CPU, server", "CPU to plain"):
        drawn.add_column(column, justify="left" if column == "way" else "right")
    for plain, own, rows in ((BARE, REMEMBER, calls), (PLAIN, MANY, BATCH)):
        floor = _a_row(spent[plain], rows)
        for name in (plain, own):
            took = _a_row(spent[name], rows)
            cpu, least = took.own + took.server, floor.own + floor.server
            drawn.add_row(
                name, f"{took.seconds:.2f}", f"{took.seconds / floor.seconds:.1f}", f"{took.own:.2f}",
                f"{took.server:.2f}", f"{cpu / least:.1f}",
            )  # fmt: skip
    return drawn


def _a_row(blocks: list[Spent], rows: int) -> Spent:
    """Milliseconds a row: the median of the time that passed, and the mean of the CPU time, whose clock is coarse."""
    return Spent(
        1e3 * statistics.median(block.seconds for block in blocks) / rows,
        1e3 * statistics.mean(block.own for block in blocks) / rows,
        1e3 * statistics.mean(block.server for block in blocks) / rows,
    )


if __name__ == "__main__":
    main()
