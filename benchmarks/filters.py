"""Measure search by vector with filters: does it find all rows, the nearest ones, and as fast as without a filter?

    python -m benchmarks.filters --rows 20000 100000

A tag, a time, a metadata value, a session and a user each leave 0.1 %, 1 %, 10 % and 50 % of the rows. For each, the table has
p50 and p95 in milliseconds, p50 divided by that of the search without a filter in the same run, the share of the rows that should
be there, and recall@10: the share of the ten nearest, found by comparing all, that are among them. The calls come in random order.
`--quantization binary` indexes the vectors by the signs of their numbers first, and says how long that took.
`--mode hybrid` measures hybrid recall, for which there is no exact answer to compare with: its table has only times and rows.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.corpus import START, Corpus
from benchmarks.peers_systems import ReadyEmbedder
from htm_core import Draft, Memory, Mode, Settings, Window, shutdown
from htm_core.db import indexes
from htm_core.db.quantization import Quantization, quantize
from htm_core.memory.process import runtime

SHARES = {"0.1": 0.001, "1": 0.01, "10": 0.1, "50": 0.5}  # in %, and as a fraction
KINDS = ("tag", "time", "metadata", "session", "user")
REST = "rest"
DAYS = 1_000
LIMIT = 10
BATCH = 1_000
WARM_UP = 5
SETTINGS = Settings(worker="off", max_drafts=1_000_000)


@dataclass(slots=True)
class Filtered:
    """One way to search: the memory that is asked and how, which rows pass, and what was measured."""

    memory: Memory
    options: dict[str, Any]
    passing: np.ndarray
    milliseconds: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)


def main() -> None:
    """Measure each size, and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--calls", type=int, default=60, help="timed calls of each filter")
    parser.add_argument("--mode", choices=["vector", "hybrid"], default="vector")
    parser.add_argument(
        "--quantization",
        choices=["binary", "none"],
        help="change how the vectors are indexed before they are searched",
    )
    parser.add_argument(
        "--home", type=Path, help="keep the filled server here, and use it again if it is there"
    )
    args = parser.parse_args()
    for size in args.rows:
        with tempfile.TemporaryDirectory(
            prefix="htm-bench-", ignore_cleanup_errors=True
        ) as temporary:
            os.environ["HTM_HOME"] = str(args.home or temporary)
            table = Filters(size, mode=args.mode, quantization=args.quantization).table(args.calls)
            Console(width=120).print(table)
            shutdown()


class Filters:
    """The measurement of one size."""

    def __init__(
        self, size: int, *, mode: Mode = "vector", quantization: Quantization | None = None
    ) -> None:
        self._size = size
        self._quantization = quantization
        self._mode: Mode = mode
        self._corpus = Corpus(size)
        self._documents = list(self._corpus.documents())
        self._matrix = np.asarray([each.vector for each in self._documents], np.float32)
        draw = np.random.default_rng(size)
        self._drawn = {kind: draw.random(size) for kind in KINDS}  # the first so many of these pass
        self._known: dict[str, np.ndarray] = {}
        self._embedder = ReadyEmbedder(self._known)

    def table(self, calls: int) -> Table:
        """Fill the memories unless they are filled, measure, and give the table."""
        everybody = self._memory()
        if not self._memory(f"user-{REST}").stats().nodes:
            self._fill()
        if self._quantization is not None:
            began = time.perf_counter()
            done = quantize(runtime(None, SETTINGS).database, self._quantization)
            if done.built:
                print(
                    f"{', '.join(done.built)}: built in {time.perf_counter() - began:.1f} s, "
                    f"{done.bytes_now / 1e6:.1f} MB (before: {done.bytes_before / 1e6:.1f} MB)"
                )
        ways = self._ways(everybody)
        for number in track(
            range(WARM_UP + calls), description=f"ask {self._size:,}", console=Console(stderr=True)
        ):
            self._ask(ways, number, timed=number >= WARM_UP)
        return self._drawn_table(ways, calls)

    def _memory(self, user: str | None = None) -> Memory:
        return Memory(
            "bench",
            tenant=f"filters-{self._size}",
            user=user,
            embedder=self._embedder,
            settings=SETTINGS,
            budget=20_000,
        )

    def _of(self, kind: str, row: int) -> str:
        """Return the group of a kind that a row is in, when a row is in one only: a session, a user."""
        before = 0.0
        for name, share in SHARES.items():
            before += share
            if self._drawn[kind][row] < before:
                return f"{kind}-{name}"
        return f"{kind}-{REST}"

    def _passing(self, kind: str, name: str) -> np.ndarray:
        if kind in ("session", "user"):
            return np.asarray(
                [self._of(kind, row) == f"{kind}-{name}" for row in range(self._size)]
            )
        return self._drawn[kind] < SHARES[name]

    def _fill(self) -> None:
        """Store all rows, each in the memory of its user, and build the index."""
        by_user: dict[str, list[int]] = {}
        for row in range(self._size):
            by_user.setdefault(self._of("user", row), []).append(row)
        for user, rows in by_user.items():
            memory = self._memory(user)
            for start in track(
                range(0, len(rows), BATCH), description=user, console=Console(stderr=True)
            ):
                memory.remember_many([self._draft(row) for row in rows[start : start + BATCH]])
            memory.flush()
        database = runtime(None, SETTINGS).database
        indexes.build_due(database)
        with database.owner() as connection:
            connection.execute("vacuum analyze")

    def _draft(self, row: int) -> Draft:
        document = self._documents[row]
        passed = [name for name, share in SHARES.items() if self._drawn["tag"][row] < share]
        named = {
            f"p{name.replace('.', '_')}": True
            for name in SHARES
            if self._drawn["metadata"][row] < SHARES[name]
        }
        return Draft(
            content=document.content, vector=document.vector, role="user", session=self._of("session", row),
            tags=[f"share:{name.replace('.', '-')}" for name in passed],
            metadata={"row": row} | named,
            at=START + timedelta(days=DAYS * float(self._drawn["time"][row])),
        )  # fmt: skip

    def _ways(self, everybody: Memory) -> dict[tuple[str, str], Filtered]:
        """Give all the ways to search: without a filter, and each kind with each share."""
        ways = {
            ("none", "100"): Filtered(everybody, {"scope": "tenant"}, np.ones(self._size, bool))
        }
        for name, share in SHARES.items():
            window = Window(start=START, stop=START + timedelta(days=DAYS * share))
            options: dict[str, dict[str, Any]] = {
                "tag": {"tags": [f"share:{name.replace('.', '-')}"], "scope": "tenant"},
                "time": {"timeframe": window, "scope": "tenant"},
                "metadata": {"where": {f"p{name.replace('.', '_')}": True}, "scope": "tenant"},
                "session": {"session": f"session-{name}", "scope": "tenant"},
                "user": {},
            }
            for kind in KINDS:
                memory = self._memory(f"user-{name}") if kind == "user" else everybody
                ways[kind, name] = Filtered(memory, options[kind], self._passing(kind, name))
        return ways

    def _ask(self, ways: dict[tuple[str, str], Filtered], number: int, *, timed: bool) -> None:
        """Ask the same question in all ways, in random order."""
        question, vector = self._corpus.sentence(6), self._corpus.vector()
        self._known[question] = vector
        nearness = self._matrix @ vector
        turns = list(ways.values())
        random.Random(number).shuffle(turns)
        for way in turns:
            began = time.perf_counter()
            hits = way.memory.recall(
                question, limit=LIMIT, mode=self._mode, hold=False, **way.options
            )
            taken = (time.perf_counter() - began) * 1e3
            nearest = _nearest(nearness, way.passing)
            if timed and nearest:
                way.milliseconds.append(taken)
                returned = {
                    int(mention.metadata["row"]) for hit in hits for mention in hit.mentions
                }
                assert all(way.passing[list(returned)]), (
                    "a search returned what its filter does not let pass"
                )
                way.rows.append(len(hits) / len(nearest))
                way.recall.append(len(returned & nearest) / len(nearest))

    def _drawn_table(self, ways: dict[tuple[str, str], Filtered], calls: int) -> Table:
        plain = statistics.median(ways["none", "100"].milliseconds)
        title = f'{self._size:,} rows of 384 dimensions, mode="{self._mode}", ten hits, {calls} calls each'
        table = Table(title=title, title_justify="left")
        for column in (
            "filter",
            "rows that pass",
            "p50 ms",
            "p95 ms",
            "÷ without",
            "rows",
            "recall@10",
        ):
            table.add_column(column, justify="left" if column == "filter" else "right")
        for (kind, name), way in ways.items():
            p50 = statistics.median(way.milliseconds)
            table.add_row(
                kind, f"{name} %", f"{p50:.1f}", f"{_p95(way.milliseconds):.1f}", f"{p50 / plain:.2f}",
                f"{100 * statistics.mean(way.rows):.0f} %",
                f"{statistics.mean(way.recall):.3f}" if self._mode == "vector" else "",
            )  # fmt: skip
        return table


def _nearest(nearness: np.ndarray, passing: np.ndarray) -> set[int]:
    allowed = np.flatnonzero(passing)
    return {int(row) for row in allowed[np.argsort(-nearness[allowed], kind="stable")[:LIMIT]]}


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


if __name__ == "__main__":
    main()
