"""Cost of tidying: messages a second, a profile at the beginning of a conversation, and recall with and without merges.

    python -m benchmarks.tidying [--messages 4000] [--url DSN]

The embedder is a stand-in, so that no model's time is measured. Messages are made of the templates of `benchmarks.near_duplicates`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from benchmarks.near_duplicates import SEED, TEMPLATES, filled
from htm_core import Memory, Settings
from htm_core.recall import searches
from tests.stand_ins import HashEmbedder

EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
CALLS = 200


def p50(work: Callable[[], object], calls: int = CALLS) -> float:
    """The median time of a call, in milliseconds."""
    spent = []
    for _ in range(calls):
        begun = time.perf_counter()
        work()
        spent.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(spent)


def in_turns(work: Callable[[], object], calls: int = CALLS) -> tuple[float, float]:
    """The median times of recalls without the step and with it, in turns, so that both have one load."""
    whole, spent = searches.as_one, {False: list[float](), True: list[float]()}
    for call in range(2 * calls):
        with_step = bool(call % 2)
        searches.as_one = (
            whole if with_step else lambda _engine, _connection, _query, hits: list(hits)
        )
        begun = time.perf_counter()
        work()
        spent[with_step].append(1e3 * (time.perf_counter() - begun))
    searches.as_one = whole
    return statistics.median(spent[False]), statistics.median(spent[True])


def main() -> None:
    """Measure, and print one line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=4_000)
    parser.add_argument("--url")
    options = parser.parse_args()
    chance, tenant = random.Random(SEED), f"tidying-{uuid.uuid4().hex[:8]}"
    memory = Memory(
        url=options.url,
        tenant=tenant,
        user="ann",
        embedder=HashEmbedder(),
        settings=Settings(worker="off", tidy=()),
    )
    texts = [filled(chance.choice(TEMPLATES), chance) for _ in range(options.messages)]
    for at in range(0, len(texts), 500):
        memory.remember_many(
            [
                {
                    "content": text,
                    "role": "user",
                    "session": f"s{(at + place) // 50}",
                    "at": EARLIER + timedelta(minutes=at + place),
                }
                for place, text in enumerate(texts[at : at + 500])
            ]
        )
    memory.flush()

    def recall() -> object:
        return memory.recall(chance.choice(texts), limit=8, hold=False)

    recall()
    without, with_step = in_turns(recall)
    print(
        f"recall where nothing is merged, without and with the step: p50 {without:.2f} and {with_step:.2f} ms"
    )
    for kind in ("profile", "merge", "summarize"):
        begun = time.perf_counter()
        done = memory.tidy(kinds=[kind])  # type: ignore[list-item]  # each is a kind
        spent = time.perf_counter() - begun
        print(
            f"{kind}: {len(texts) / spent:,.0f} messages a second; {len(done.merges)} merged, {len(done.summaries)} summarised"
        )
    merges = len(memory.merges(limit=1_000))
    without, with_step = in_turns(recall)
    print(
        f"recall where {merges} are merged, without and with the step: p50 {without:.2f} and {with_step:.2f} ms"
    )
    lines = len(memory.profile().lines)
    print(
        f"a profile of {lines} lines where nothing new was said: p50 {p50(memory.profile, 50):.2f} ms"
    )
    place = iter(range(10_000))

    def after_a_message() -> object:
        memory.remember(f"I live in Town{next(place)}.", role="user", session="now")
        return memory.profile()

    alone = p50(
        lambda: memory.remember(f"I live in Village{next(place)}.", role="user", session="now"), 50
    )
    print(f"and after a new message: p50 {p50(after_a_message, 50) - alone:.2f} ms")
    memory.erase(user="ann", confirm="confirmed")


if __name__ == "__main__":
    main()
