"""What a distributed schema costs: verbs on a Citus cluster beside a plain PostgreSQL of the same version, in turns.

    python -m benchmarks.citus PLAIN_URL CLUSTER_URL [THROUGH_URL] --memories 5000 --turns 300

The urls are of logins that may serve verbs; `htm migrate` has run. THROUGH_URL is the cluster through something that stands
between, such as a PgBouncer beside another node, with HTM_NODE_ADDRESSES for it. Turns alternate, so that what else the machine
does falls on all.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable
from uuid import uuid4

from htm_core import Memory, Settings
from tests.stand_ins import HashEmbedder

WORDS = (
    "harbour", "lighthouse", "ferry", "gull", "rope", "anchor", "tide", "storm", "captain", "letter", "garden", "bridge",
)  # fmt: skip


def sentence(chance: random.Random) -> str:
    """Something to remember."""
    return " ".join(chance.choice(WORDS) for _ in range(12)) + f" {chance.randrange(10_000)}."


def filled(url: str, memories: int, addresses: str) -> Memory:
    """A memory of a tenant of its own with so many memories, and their vectors."""
    settings = Settings(worker="thread", node_addresses=addresses or ())  # type: ignore[arg-type]  # pydantic makes pairs of it
    memory = Memory("atlas", url=url, tenant=f"bench-{uuid4().hex[:8]}", embedder=HashEmbedder(), settings=settings)
    chance = random.Random(1)
    for start in range(0, memories, 500):
        memory.remember_many([{"content": sentence(chance)} for _ in range(min(500, memories - start))])
    assert memory.flush(timeout=600)
    return memory


def verbs(memory: Memory, number: int) -> dict[str, Callable[[], object]]:
    """What is measured."""
    chance = random.Random(number)
    words = " ".join(chance.sample(WORDS, 3))
    return {
        "remember": lambda: memory.remember(sentence(chance) + f" {number}", session="s"),
        "recall": lambda: memory.recall(words, hold=False),
        "recall, held": lambda: memory.recall(words),
        "get": lambda: memory.list(limit=1),
    }


def main() -> None:
    """Measure, and print the medians with their ratios to the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--turns", type=int, default=300)
    given = parser.parse_args()
    addresses = ["", "", os.environ.get("HTM_NODE_ADDRESSES", "")]
    memories = [filled(url, given.memories, addresses[place]) for place, url in enumerate(given.urls)]
    took: dict[str, list[list[float]]] = {}
    for turn in range(given.turns):
        for place in random.Random(turn).sample(range(len(memories)), len(memories)):
            for name, verb in verbs(memories[place], turn).items():
                begun = time.perf_counter()
                verb()
                took.setdefault(name, [[] for _ in memories])[place].append(time.perf_counter() - begun)
    for name, places in took.items():
        warm = [sorted(times[len(times) // 10 :]) for times in places]
        halves = [statistics.median(times) for times in warm]
        print(
            f"{name:14}", *(f"{1000 * half:7.2f} ms ({half / halves[0]:.2f})" for half in halves),
            "p95", *(f"{1000 * times[int(0.95 * len(times))]:7.2f}" for times in warm),
        )  # fmt: skip


if __name__ == "__main__":
    main()
