"""Measure the rule of small talk on labelled messages.

    python -m benchmarks.small_talk                                   # the labelled messages beside this file
    python -m benchmarks.small_talk --locomo FILE --longmemeval FILE  # and which messages of published sets it takes for small talk

Shares come with 95 % intervals by Wilson. The first half of the messages was written before the rule, the second half after it
and without a look at it; what the second half showed to be missed was not added to the rule.

The sets are not part of this repository: give their paths.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

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


def locomo(samples: Any) -> list[tuple[str, bool]]:
    """The messages of conversations in LoCoMo's format, each with whether a question has it as its evidence."""
    said = []
    for sample in samples:
        evidence = {id for question in sample["qa"] for id in question.get("evidence", ())}
        for name, turns in sample["conversation"].items():
            if name.startswith("session_") and isinstance(turns, list):
                said += [(turn["text"], turn["dia_id"] in evidence) for turn in turns]
    return said


def longmemeval(samples: Any) -> list[tuple[str, bool]]:
    """The messages of conversations in LongMemEval's format, each with whether it has the answer of a question."""
    return [
        (turn["content"], bool(turn.get("has_answer")))
        for sample in samples
        for session in sample["haystack_sessions"]
        for turn in session
    ]


def found_in(path: Path, said: list[tuple[str, bool]]) -> None:
    """Print how many messages of a published set are taken for small talk, and how much evidence is among them."""
    found = [(text, is_evidence) for text, is_evidence in said if is_small_talk(text)]
    wrong = sum(is_evidence for _, is_evidence in found)
    evidence = sum(is_evidence for _, is_evidence in said)
    print(
        f"{path.name}: {len(found):,} of {len(said):,} messages, among them {wrong} of the {evidence:,} that are evidence"
    )
    for text in sorted({text for text, _ in found}):
        print(f"  {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the rule of small talk.")
    parser.add_argument("--locomo", type=Path, help="conversations in LoCoMo's format")
    parser.add_argument("--longmemeval", type=Path, help="conversations in LongMemEval's format")
    options = parser.parse_args()
    for half in ("first", "second", None):
        rows = messages(half)
        hits, false, missed = counted(rows)
        print(
            f"{half or 'both':<7} precision {share(hits, hits + false)}   recall {share(hits, hits + missed)}   "
            f"{len(rows)} messages, {false} wrong, {missed} missed"
        )
    for path, read in ((options.locomo, locomo), (options.longmemeval, longmemeval)):
        if path is not None:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                found_in(path, read(json.load(file)))


if __name__ == "__main__":
    main()
