"""Measure what timeframe="auto" does to questions that name a time: how often the evidence is among the first hits.

    python -m benchmarks.timeframes --locomo locomo10.json --losses

Each conversation of the set is stored in a memory of its own on a private server, with the embedded model. Its questions that
name a time are recalled without a timeframe, with "auto", and with the time as a strict filter. Printed are the questions whose
evidence is among the first eight hits, how many "auto" limited, and how many of these it answered from all times after all.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path

from benchmarks.retrieval_sets import TURN, Case, Question, locomo
from htm_core import Memory, Recall, shutdown
from htm_core.timeframes.questions import extract

LIMIT = 8


def main() -> None:
    """Store each conversation, ask its questions both ways, and print the counts."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--locomo", type=Path, required=True, help="The set's JSON file.")
    options.add_argument(
        "--losses",
        action="store_true",
        help='Print the questions that only "auto" does not answer.',
    )
    args = options.parse_args()
    counts = dict.fromkeys(
        (
            "questions",
            "found without",
            "found with auto",
            "found strictly",
            "limited",
            "limited, outside",
        ),
        0,
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ["HTM_HOME"] = home
        for case in locomo(args.locomo):
            with Memory("bench", user=case.name, clock=partial(_now, case)) as memory:
                _store(memory, case)
                for question in case.questions:
                    _ask(memory, case, question, counts, losses=args.losses)
            print(case.name, counts, flush=True)
        shutdown()


def _now(case: Case) -> datetime:
    return case.now


def _store(memory: Memory, case: Case) -> None:
    memory.remember_many(
        [
            {
                "content": each.content, "session": each.session, "role": each.role, "name": each.name, "at": each.at,
                "metadata": {"unit": each.unit},
            }
            for each in case.messages
        ]
    )  # fmt: skip
    memory.flush()


def _ask(
    memory: Memory, case: Case, question: Question, counts: dict[str, int], *, losses: bool
) -> None:
    gold = question.gold.get(TURN, frozenset())
    rest, windows, words = extract(question.text, now=case.now)
    if not gold or words is None:
        return
    plain = memory.recall(question.text, limit=LIMIT, hold=False)
    auto = memory.recall(question.text, limit=LIMIT, timeframe="auto", hold=False)
    strict = memory.recall(rest, limit=LIMIT, timeframe=list(windows), hold=False)
    counts["questions"] += 1
    counts["found strictly"] += _has(strict, gold)
    counts["found without"] += _has(plain, gold)
    counts["found with auto"] += _has(auto, gold)
    counts["limited"] += auto.timeframe is not None
    counts["limited, outside"] += auto.timeframe is not None and auto.timeframe.outside
    if losses and _has(plain, gold) and not _has(auto, gold):
        print(f"lost: {question.text} [{auto.timeframe and auto.timeframe.words}]", flush=True)


def _has(result: Recall, gold: frozenset[str]) -> bool:
    return any(mention.metadata.get("unit") in gold for hit in result for mention in hit.mentions)


if __name__ == "__main__":
    main()
