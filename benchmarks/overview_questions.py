"""Measure which questions are taken for questions about a conversation as a whole, or about the user.

    python -m benchmarks.overview_questions                                   # the labelled questions beside this file
    python -m benchmarks.overview_questions --locomo FILE --longmemeval FILE  # and which of published sets are taken for such

Shares come with 95 % intervals by Wilson. Most examples that questions are compared with are of the first part; the second and the
later ones were seen by nobody who chose them. In published sets a question asks for something that was said, and a message is a
person's to somebody else: what is taken for such a question there is listed, to be read.

The sets are not part of this repository: give their paths.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.shares import share
from htm_core import Settings
from htm_core.recall.topicless import overview_question

LABELLED = Path(__file__).with_suffix(".tsv")


class Asker:
    """Stand-in for a memory when a question is asked."""

    settings, timezone = Settings(), UTC

    @staticmethod
    def clock() -> datetime:
        return datetime(2026, 11, 26, 9, tzinfo=UTC)


def kind(question: str) -> str:
    """Return the kind of a question: "last", "time", "me" or "none"."""
    overview = overview_question(Asker(), question)
    if overview is None:
        return "none"
    return "me" if overview.about == "me" else "time" if overview.windows else "last"


def questions(half: str | None = None) -> list[tuple[str, str]]:
    """The labelled questions, of one part or of all: each with what it asks about."""
    with LABELLED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["text"], row["label"]) for row in rows if half in (None, row["half"])]


def counted(rows: Iterable[tuple[str, str]]) -> tuple[int, int, int]:
    """Return the numbers of questions rightly taken for such a one, wrongly taken, and missed."""
    outcomes = Counter((kind(text), expected) for text, expected in rows)
    hits = sum(
        count for (found, expected), count in outcomes.items() if found == expected != "none"
    )
    false = sum(
        count for (found, expected), count in outcomes.items() if found not in ("none", expected)
    )
    missed = sum(
        count for (found, expected), count in outcomes.items() if found == "none" != expected
    )
    return hits, false, missed


def of_published(path: Path) -> tuple[list[str], list[str]]:
    """The questions of a set in LoCoMo's or LongMemEval's format, and the messages of its conversations."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        samples = json.load(file)
    asked, messages = [], []
    for sample in samples:
        if "qa" in sample:
            asked += [each["question"] for each in sample["qa"]]
            turns = [each for each in sample["conversation"].values() if isinstance(each, list)]
            messages += [turn["text"] for session in turns for turn in session if "text" in turn]
        else:
            asked.append(sample["question"])
            messages += [
                turn["content"]
                for session in sample["haystack_sessions"]
                for turn in session
                if turn["role"] == "user"
            ]
    return asked, messages


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure which questions are taken for such about a conversation, or about the user."
    )
    parser.add_argument("--locomo", type=Path, help="conversations in LoCoMo's format")
    parser.add_argument("--longmemeval", type=Path, help="conversations in LongMemEval's format")
    parser.add_argument(
        "--show", action="store_true", help="print what is taken wrongly, and what is missed"
    )
    options = parser.parse_args()
    for half in ("first", "second", "later", None):
        rows = questions(half)
        hits, false, missed = counted(rows)
        print(
            f"{half or 'both':<7} precision {share(hits, hits + false)}   recall {share(hits, hits + missed)}   "
            f"{len(rows)} questions, {false} wrong, {missed} missed"
        )
        if options.show and half:
            print(
                *(
                    f"  {kind(text):<5} for {label:<5} {text}"
                    for text, label in rows
                    if kind(text) != label
                ),
                sep="\n",
            )
    for path in filter(None, (options.locomo, options.longmemeval)):
        for name, texts in zip(("questions", "messages"), of_published(path), strict=True):
            taken = [text for text in texts if kind(text) != "none"]
            print(f"{path.name}: {len(taken):,} of {len(texts):,} {name}")
            print(*(f"  {kind(text)}: {text}" for text in sorted(set(taken))), sep="\n")


if __name__ == "__main__":
    main()
