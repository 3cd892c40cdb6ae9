"""Measure the rule of small talk on labelled messages.

    python -m benchmarks.small_talk                        # the labelled messages beside this file
    python -m benchmarks.small_talk --locomo FILE.json.gz  # and which messages of LoCoMo's conversations it takes for small talk

Shares come with 95 % intervals by Wilson. The first half of the messages was written before the rule, the second half after it
and without a look at it; what the second half showed to be missed was not added to the rule.

LoCoMo is CC BY-NC 4.0 and not part of this repository: give its path.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections import Counter
from pathlib import Path

from htm_core.rules.text.small_talk import is_small_talk
from tests.palace.labelled_prompts import share

LABELLED = Path(__file__).with_suffix(".tsv")


def messages(half: str | None = None) -> list[tuple[str, bool]]:
    """The labelled messages, of one half or of both: each with whether it is small talk."""
    with LABELLED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["text"], row["label"] == "small talk") for row in rows if half in (None, row["half"])]


def counted(rows: list[tuple[str, bool]]) -> tuple[int, int, int]:
    """How many are rightly taken for small talk, how many wrongly, and how many are missed."""
    outcomes = Counter((is_small_talk(text), expected) for text, expected in rows)
    return outcomes[True, True], outcomes[True, False], outcomes[False, True]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the rule of small talk.")
    parser.add_argument("--locomo", type=Path, help="conversations in LoCoMo's format")
    options = parser.parse_args()
    for half in ("first", "second", None):
        rows = messages(half)
        hits, false, missed = counted(rows)
        print(
            f"{half or 'both':<7} precision {share(hits, hits + false)}   recall {share(hits, hits + missed)}   "
            f"{len(rows)} messages, {false} wrong, {missed} missed"
        )
    if options.locomo:
        with gzip.open(options.locomo, "rt", encoding="utf-8") as file:
            samples = json.load(file)
        said = [
            turn["text"]
            for sample in samples
            for name, turns in sample["conversation"].items()
            if name.startswith("session_") and isinstance(turns, list)
            for turn in turns
        ]
        found = [text for text in said if is_small_talk(text)]
        print(f"{options.locomo.name}: {len(found):,} of {len(said):,} messages")
        for text in sorted(set(found)):
            print(f"  {text}")


if __name__ == "__main__":
    main()
