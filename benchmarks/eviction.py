"""Measure the cost of evicting one item, compared with sorting all items each time, as the original HTM did.

    python -m benchmarks.eviction [SIZE ...]

Each working memory is full, so that every addition evicts exactly one item. Times are microseconds per call, for all of
`add` (plan, claim, apply, receipt) and of `touch`; the comparison only scores, sorts and picks. Access counts follow a
power law: half of the items were never used, a quarter once. It runs on one thread, for half a minute.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from math import log1p
from time import perf_counter_ns

from htm_core import Item
from htm_core.working.eviction_policies import Policy
from htm_core.working.memory import WorkingMemory

SIZES = (1_000, 5_000, 20_000, 100_000)
TOKENS, SPAN, ADDITIONS, SORTS = 10, 30 * 86_400.0, 1_000, 7
LINE = "{:<12}{:>9}{:>12}{:>12}{:>12}{:>15}{:>9}"


def callable_policy(item: Item, now: float) -> float:
    """Score by importance and age: a formula that only a callable can have."""
    return item.importance / (1.0 + (now - item.added_at) / 3600.0)


def lfu_lru(item: Item, now: float) -> float:
    """Score by use and recency, for the comparison."""
    return log1p(item.access_count) + 1.0 / (1.0 + max(0.0, now - item.accessed_at) / 3600.0)


SCORES: dict[str | Policy, Policy] = {
    "importance": lambda item, _: item.importance,
    "lfu_lru": lfu_lru,
    "lru": lambda item, _: item.accessed_at,
    "fifo": lambda item, _: item.added_at,
    callable_policy: callable_policy,
}


def random_item(name: str, rng: random.Random, *, added_at: float) -> Item:
    """Make an item with a random importance and a power law of accesses."""
    return Item(
        id=name,
        content="",
        tokens=TOKENS,
        importance=round(rng.uniform(0, 10), 2),
        access_count=min(int(rng.paretovariate(1.0)) - 1, 1_000),
        added_at=added_at,
        accessed_at=added_at + rng.random() * 3_600,
    )


def timed(work: Callable[[], object]) -> float:
    """Microseconds of one call."""
    start = perf_counter_ns()
    work()
    return (perf_counter_ns() - start) / 1_000


def ours(
    policy: str | Policy, items: Sequence[Item], rng: random.Random
) -> tuple[list[float], list[float]]:
    """Time additions that evict one item each, and touches of random items."""
    memory = WorkingMemory(budget=TOKENS * len(items), policy=policy)
    memory.load(items, now=SPAN)
    rounds = ADDITIONS if isinstance(policy, str) else 3 * SORTS
    names = [item.id for item in rng.sample(items, min(rounds, len(items)))]
    evicting, touching = [], []
    for n in range(rounds):
        now = SPAN + n
        item = random_item(f"new {n}", rng, added_at=now)
        evicting.append(timed(lambda item=item, now=now: memory.add(item, now=now)))  # type: ignore[misc]
        touching.append(timed(lambda n=n, now=now: memory.touch((names[n % len(names)],), now=now)))  # type: ignore[misc]
    return evicting, touching


def sorting(policy: str | Policy, items: Sequence[Item]) -> list[float]:
    """Time the comparison: score all, sort all, take the first."""
    score = SCORES[policy]
    return [
        timed(
            lambda: sorted(items, key=lambda item: (score(item, SPAN), item.added_at, item.id))[0]
        )
        for _ in range(SORTS)
    ]


def measured(policy: str | Policy, size: int) -> str:
    """Measure one policy at one size; give a line of the table."""
    rng = random.Random(size)
    items = [random_item(f"item {n:06}", rng, added_at=SPAN * n / size) for n in range(size)]
    gc.collect()
    evicting, touching = ours(policy, items, rng)
    peer = statistics.median(sorting(policy, items))
    median, late = statistics.median(evicting), statistics.quantiles(evicting, n=20)[-1]
    name = policy if isinstance(policy, str) else "a callable"
    touch = statistics.median(touching)
    figures = (
        f"{median:,.1f}",
        f"{late:,.1f}",
        f"{touch:,.1f}",
        f"{peer:,.0f}",
        f"{peer / median:,.0f}x",
    )
    return LINE.format(name, f"{size:,}", *figures)


def main() -> None:
    """Print the table."""
    sizes = [int(argument) for argument in sys.argv[1:]] or SIZES
    print(
        LINE.format(
            "policy", "items", "evict p50", "evict p95", "touch p50", "full sort p50", "faster"
        )
    )
    for policy in SCORES:
        for size in sizes:
            print(measured(policy, size), flush=True)


if __name__ == "__main__":
    main()
