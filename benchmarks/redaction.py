"""Findings of the default redactor in published conversations, and its time.

    python -m benchmarks.redaction --locomo FILE.json.gz --longmemeval FILE.json.gz [--show]

Nobody labelled these conversations: `--show` prints each finding with what stands before it, to be read. The sets are not part of
this repository: give their paths.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from htm_core import Redactor
from htm_core.text.redaction.kinds import FINDERS

MOST = 8_000  # messages of a set; of a larger one so many are drawn


def locomo(samples: Any) -> Iterable[str]:
    """The messages of conversations in LoCoMo's format."""
    for sample in samples:
        for name, turns in sample["conversation"].items():
            if name.startswith("session_") and isinstance(turns, list):
                yield from (turn["text"] for turn in turns)


def longmemeval(samples: Any) -> Iterable[str]:
    """The messages of conversations in LongMemEval's format."""
    for sample in samples:
        for session in sample["haystack_sessions"]:
            yield from (turn["content"] for turn in session)


def drawn(path: Path, read: Any) -> list[str]:
    """The different messages of a file, or `MOST` of them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = sorted(set(read(json.load(file))))
    random.Random(1).shuffle(texts)
    return texts[:MOST]


def measure(texts: list[str], *, show: bool) -> None:
    """Print how much is found, and the time for a message."""
    redactor, counts = Redactor(), Counter[str]()
    times = []
    for text in texts:
        begun = time.perf_counter()
        counts.update(redactor.redact(text).counts)
        times.append((time.perf_counter() - begun) * 1e6)
        for kind, finder in FINDERS.items() if show else ():
            for start, stop in finder(text):
                print(f"  {kind:<12}{' '.join(text[max(0, start - 40) : stop].split())}")
    mean = statistics.mean(map(len, texts))
    print(
        f"{len(texts):,} messages of {mean:,.0f} characters: {dict(counts) or 'nothing'}; "
        f"{statistics.median(times):,.0f} µs median, {statistics.quantiles(times, n=20)[-1]:,.0f} µs 95 %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="What the default redactor finds in published conversations."
    )
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--longmemeval", type=Path)
    parser.add_argument("--show", action="store_true", help="print each finding")
    options = parser.parse_args()
    for path, read in ((options.locomo, locomo), (options.longmemeval, longmemeval)):
        if path is not None:
            print(path.name)
            measure(drawn(path, read), show=options.show)


if __name__ == "__main__":
    main()
