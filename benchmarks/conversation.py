"""Measure recall in one conversation, which is what most memories are: how long the database takes, and the whole verb.

    python -m benchmarks.conversation --locomo locomo10.json

The longest conversation of the file (680 messages) is stored, and its questions are asked with the embedded model, whose vectors
are made before. For each mode the table has p50 and p95, in milliseconds, of the SQL with its round trips (`Recall.timings.sql`)
and of the verb without embedding. The modes take turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from benchmarks.retrieval_sets import locomo
from benchmarks.retrieval_systems import drafts
from htm_core import Memory, Mode, Settings, shutdown


class CachedEmbedder:
    """The embedded model, which makes the vector of a question once."""

    def __init__(self) -> None:
        from htm_core.models.minilm import weights
        from htm_core.models.minilm.model import MiniLM

        self._model = MiniLM(weights.obtain())
        self._known: dict[str, list[float]] = {}
        self.model_name = self._model.model_name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed a query, or give its vector again."""
        if text not in self._known:
            self._known[text] = self._model.embed_query(text)
        return self._known[text]


def main() -> None:
    """Fill, measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        os.environ["HTM_HOME"] = home
        Console(width=100).print(measured(args))
        shutdown()


def measured(args: argparse.Namespace) -> Table:
    """The table of all modes."""
    case = max(locomo(args.locomo), key=lambda sample: len(sample.messages))
    questions = [question.text for question in case.questions][: args.questions]
    sql: dict[Mode, list[float]] = defaultdict(list)
    whole: dict[Mode, list[float]] = defaultdict(list)
    settings = Settings(worker="off")
    with Memory(
        "bench", embedder=CachedEmbedder(), settings=settings, clock=lambda: case.now
    ) as memory:
        memory.remember_many(drafts(case.messages))
        memory.flush()
        for number in range(1 + args.rounds):
            for mode in get_args(Mode):
                for question in questions:
                    began = time.perf_counter()
                    timings = memory.recall(question, mode=mode, hold=False).timings
                    taken = (time.perf_counter() - began) * 1e3
                    if number:  # the first round plans and fills caches
                        sql[mode].append(timings.sql)
                        whole[mode].append(taken - timings.embedding)
    table = Table(
        title=f"{len(case.messages)} messages, {len(questions)} questions, {args.rounds} rounds, ms"
    )
    for column in ("mode", "SQL p50 / p95", "verb p50 / p95"):
        table.add_column(column, justify="left" if column == "mode" else "right")
    for mode in get_args(Mode):
        table.add_row(mode, _two(sql[mode]), _two(whole[mode]))
    return table


def _two(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} / {sorted(values)[int(0.95 * len(values))]:.2f}"


if __name__ == "__main__":
    main()
