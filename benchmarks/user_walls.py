"""Measure what the wall between users costs: the same verbs on one database with the wall down and up, in turns.

    python -m benchmarks.user_walls --nodes 10000 --users 20

Each round takes the wall down or puts it up, and times every verb; the table has p50 in milliseconds of all rounds, and the ratio.
The embedder is a stand-in that gives random vectors at once, and its time is subtracted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.corpus import Corpus, RandomEmbedder
from htm_core import Draft, Memory, Settings, shutdown
from htm_core.memory.process import runtime

SETTINGS = Settings(worker="off")
BATCH = 500


def main() -> None:
    """Fill a server, measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument(
        "--rounds", type=int, default=6, help="with the wall down, and as many with it up"
    )
    parser.add_argument("--calls", type=int, default=40, help="of each verb in a round")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        os.environ["HTM_HOME"] = home
        Console(width=100).print(measured(args))
        shutdown()


def measured(args: argparse.Namespace) -> Table:
    """The table of all verbs."""
    corpus = Corpus(args.nodes)
    embedder = RandomEmbedder(corpus)
    database = runtime(None, SETTINGS).database

    def memory(user: int) -> Memory:
        options: dict[str, Any] = {
            "tenant": "bench",
            "embedder": embedder,
            "settings": SETTINGS,
            "budget": 8_000,
        }
        return Memory("bench", user=f"user-{user}", **options)

    for user in range(args.users):
        with memory(user) as mine:
            count = args.nodes // args.users
            drafts = [
                Draft(content=one.content, vector=one.vector, at=one.at, tags=[one.tag])
                for one, _ in zip(corpus.documents(), range(count), strict=False)
            ]
            for start in range(0, count, BATCH):
                mine.remember_many(drafts[start : start + BATCH])
            mine.flush()
    taken: dict[tuple[str, bool], list[float]] = defaultdict(list)
    with memory(0) as mine:
        verbs = _verbs(mine, corpus)
        for number in range(2 * args.rounds):
            up = bool(number % 2)
            database.set_user_walls(up=up)
            for name, call in verbs.items():
                for _ in range(5):
                    call()
                taken[name, up] += [_timed(call) for _ in range(args.calls)]
    table = Table(title=f"{args.nodes:,} nodes of {args.users} users, p50 ms")
    for column in ("verb", "wall down", "wall up", "ratio"):
        table.add_column(column, justify="left" if column == "verb" else "right")
    for name in verbs:
        down, up = (statistics.median(taken[name, state]) for state in (False, True))
        table.add_row(name, f"{down:.2f}", f"{up:.2f}", f"{up / down:.2f}")
    return table


def _verbs(memory: Memory, corpus: Corpus) -> dict[str, Callable[[], object]]:
    def recall(**options: Any) -> float:
        return memory.recall(corpus.sentence(6), hold=False, **options).timings.embedding

    newest = memory.list(limit=1)[0].id
    return {
        "recall, hybrid": recall,
        "recall, hybrid, whole tenant": lambda: recall(scope="tenant"),
        "recall, vector": lambda: recall(mode="vector"),
        "recall, a tag": lambda: recall(tags=["topic:0"]),
        "remember": lambda: memory.remember(corpus.sentence(), role="user"),
        "context": lambda: memory.context(),
        "get": lambda: memory.get(newest),
        "timeline, 100 mentions": lambda: memory.timeline(),
    }


def _timed(call: Callable[[], object]) -> float:
    """Milliseconds; what a call answers with, if it is a number, is time that does not count."""
    began = time.perf_counter()
    besides = call()
    return (time.perf_counter() - began) * 1e3 - (besides if isinstance(besides, float) else 0.0)


if __name__ == "__main__":
    main()
