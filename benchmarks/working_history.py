"""Compare what verbs cost with and without the record of what working memory recalled and evicted.

    python -m benchmarks.working_history --nodes 20000

Two memories of one private server take turns, block by block, one with `Settings(working_history=…)` of 30 days and one with 0.
Both have a full working memory, so that whatever comes drives something out: the dearest case. Printed are CPU milliseconds a
call, of this process and the server together: the mean of the blocks, and how much more a recorded block takes than its pair.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil

from benchmarks.corpus import Corpus, RandomEmbedder
from benchmarks.ingestion import Spent
from htm_core import Draft, Memory, Settings, shutdown

DAYS = {"recorded": timedelta(days=30), "not recorded": timedelta(0)}
BATCH = 1_000


def main() -> None:
    """Measure, and print a line for each verb."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=40, help="of each way")
    parser.add_argument("--calls", type=int, default=50, help="single calls of a block")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        corpus = Corpus(args.nodes)
        memories = {name: opened(corpus, name, days) for name, days in DAYS.items()}
        for memory in memories.values():
            fill(memory, corpus, args.nodes // 2)
        lock = next(Path(home).rglob("postmaster.pid"))
        server = psutil.Process(int(lock.read_text().split()[0]))
        for name, calls, verb in verbs(corpus, args.calls):
            print(line(name, compared(memories, verb, calls, server, args.blocks)), flush=True)
        shutdown()


def opened(corpus: Corpus, name: str, days: timedelta) -> Memory:
    """A memory with a small budget, in a tenant of its own."""
    settings = Settings(worker="off", max_drafts=1_000_000, working_history=days)
    return Memory(
        "bench",
        tenant=name,
        embedder=RandomEmbedder(corpus),
        settings=settings,
        budget=20_000,
        session="talk",
    )


def fill(memory: Memory, corpus: Corpus, nodes: int) -> None:
    """Remember texts with their vectors."""
    for drafts in batches(corpus, nodes):
        memory.remember_many(drafts)


def batches(corpus: Corpus, nodes: int) -> list[list[Draft]]:
    """Texts with vectors, a thousand at once."""
    documents = list(itertools.islice(corpus.documents(), nodes))
    drafts = [
        Draft(content=each.content, vector=each.vector, at=each.at, role="user")
        for each in documents
    ]
    return [drafts[start : start + BATCH] for start in range(0, len(drafts), BATCH)]


Verb = Callable[[Memory], None]


def verbs(corpus: Corpus, calls: int) -> list[tuple[str, int, Verb]]:
    """Each verb with its calls in a block."""

    def remember(memory: Memory) -> None:
        for _ in range(calls):
            memory.remember(corpus.sentence(), role="user")

    def remember_many(memory: Memory) -> None:
        memory.remember_many([Draft(content=corpus.sentence(), role="user") for _ in range(BATCH)])

    def recall(memory: Memory) -> None:
        for _ in range(calls):
            memory.recall(corpus.sentence(), mode="text", hold=True)
        memory.flush(timeout=0)

    return [
        ("remember", calls, remember),
        ("remember_many of 1,000", 1, remember_many),
        ("recall with hold", calls, recall),
    ]


def compared(
    memories: dict[str, Memory], verb: Verb, calls: int, server: psutil.Process, blocks: int
) -> dict[str, list[float]]:
    """CPU milliseconds a call of each block of each way; which way begins changes from block to block."""
    spent: dict[str, list[float]] = {name: [] for name in memories}
    for memory in memories.values():
        verb(memory)
    for number in range(blocks):
        for name in sorted(memories, reverse=number % 2 == 1):
            began = Spent.now(server)
            verb(memories[name])
            taken = Spent.now(server).since(began)
            spent[name].append(1_000 * (taken.own + taken.server) / calls)
    return spent


def line(verb: str, spent: dict[str, list[float]]) -> str:
    """Both means, and the median of what one block of a pair took more than the other, in per cent."""
    pairs = zip(spent["recorded"], spent["not recorded"], strict=True)
    more = statistics.quantiles([100 * (one / other - 1) for one, other in pairs], n=4)
    middle = {name: statistics.fmean(each) for name, each in spent.items()}
    in_all = 100 * (middle["recorded"] / middle["not recorded"] - 1)
    return (
        f"{verb:24} {middle['recorded']:8.3f} ms recorded, {middle['not recorded']:8.3f} ms not: "
        f"{in_all:+.1f} %, of pairs {more[1]:+.1f} % (the middle half: {more[0]:+.1f} to {more[2]:+.1f} %)"
    )


if __name__ == "__main__":
    main()
