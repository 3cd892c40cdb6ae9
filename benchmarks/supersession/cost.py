"""Cost of supersession for a recall, in milliseconds: `python -m benchmarks.supersession.cost`."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime, timedelta

from benchmarks.retrieval import home
from htm_core import Memory, Settings

TEXTS, ROUNDS = 2_000, 400
START = datetime(2026, 1, 1, tzinfo=UTC)
CAR, SOLD = "I drive a Honda Civic.", "I sold the Honda Civic, I drive a Tesla now."


def main() -> None:
    """Time recalls with and without changes, in turns, so that a busy machine slows all of them."""
    on, off = Settings(worker="off", supersession=0.5), Settings(worker="off", supersession=None)
    with home(None):
        for tenant in ("none", "some"):
            with Memory("bench", tenant=tenant, settings=on) as memory:
                memory.remember_many(
                    [
                        {"content": f"Note {n}: the boat of pier {n % 97} was painted."}
                        for n in range(TEXTS)
                    ]
                )
                if tenant == "some":
                    for day, text in enumerate((CAR, SOLD)):
                        memory.remember(text, role="user", at=START + timedelta(days=day))
                memory.flush()
        cases = {
            "off": ("some", off, "Which boat of pier 13 was painted?"),
            "on, a tenant without changes": ("none", on, "Which boat of pier 13 was painted?"),
            "on, none among the hits": ("some", on, "Which boat of pier 13 was painted?"),
            "off, the same question as below": ("some", off, "Do I drive a Honda Civic?"),
            "on, one among the hits": ("some", on, "Do I drive a Honda Civic?"),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, (tenant, settings, question) in cases.items():
                with Memory("bench", tenant=tenant, settings=settings) as memory:
                    begun = time.perf_counter()
                    memory.recall(question, hold=False)
                    times[name].append((time.perf_counter() - begun) * 1e3)
        for name, taken in times.items():
            print(
                f"| {name} | {statistics.median(taken):.1f} | {sorted(taken)[int(0.95 * len(taken))]:.1f} |"
            )


if __name__ == "__main__":
    main()
