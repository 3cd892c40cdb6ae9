"""The report of a set, collected question by question: tables to read, and a JSON file to score again."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.retrieval_measures import interval, measured, merged
from benchmarks.retrieval_sets import SESSION, TURN, Question
from benchmarks.retrieval_systems import HTM, Answer
from htm_core import Recall, Stats

SHOWN = (
    "any@1",
    "any@5",
    "any@10",
    "all@5",
    "all@10",
    "fraction@5",
    "fraction@10",
    "fraction@20",
    "mrr",
    "ndcg@10",
)
ALL = "all"
UNANSWERABLE = "abstention"
ANSWERABLE = "answerable"


class Report:
    """The results of one set; any number of threads may add to them."""

    def __init__(self, name: str, *, command: str, versions: Mapping[str, str], depth: int) -> None:
        self.name = name
        self._depth = depth
        self._head = {"set": name, "command": command, "versions": dict(versions)}
        self._lock = threading.Lock()
        self._values: dict[tuple[str, str, str], list[dict[str, float]]] = defaultdict(list)
        self._rankings: dict[str, dict[str, list[list[str]]]] = defaultdict(dict)
        self._gold: dict[str, dict[str, list[str]]] = {}
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._times_of_recall: list[
            tuple[float, float]
        ] = []  # milliseconds of the embedding, and of the SQL
        self._spent: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
        self._filled: list[tuple[int, int, float]] = []
        self._embedded = True
        self._kind_of: dict[str, str] = {}
        self._sessions: dict[str, dict[str, str]] = defaultdict(dict)
        self.misses: list[dict[str, Any]] = []

    @property
    def timed(self) -> int:
        """The number of recalls that were timed."""
        return len(self._times_of_recall)

    def filled(self, stats: Stats, seconds: float, *, embedded: bool) -> None:
        """Record the seconds that storing and embedding a case took."""
        with self._lock:
            self._embedded = embedded
            self._filled.append((stats.nodes, stats.vectors, seconds))

    def add(
        self,
        system: str,
        question: Question,
        answer: Answer,
        sessions: Mapping[str, str],
        *,
        seconds: float,
    ) -> None:
        """Score one answer, in each unit of the set."""
        with self._lock:
            self._seconds[system].append(seconds)
            self._rankings[system][question.id] = answer.ranking
            self._gold[question.id] = {unit: sorted(gold) for unit, gold in question.gold.items()}
            self._kind_of[question.id] = question.kind
            if SESSION in question.gold:
                self._sessions[question.id] |= {
                    unit: sessions[unit] for units in answer.ranking for unit in units
                }
            for unit, gold in question.gold.items():
                if gold:
                    ranking = (
                        merged(answer.ranking, sessions) if unit == SESSION else answer.ranking
                    )
                    values = measured(gold, ranking, weights=question.weights or None)
                    for kind in self._kinds(question):
                        self._values[system, unit, kind].append(values)

    def time(self, recall: Recall) -> None:
        """Record the times of one recall."""
        with self._lock:
            self._times_of_recall.append((recall.timings.embedding, recall.timings.sql))

    def spend(self, budget: int, question: Question, answer: Answer) -> None:
        """Record the share of the evidence that was found within a budget, and the tokens that it took."""
        with self._lock:
            for unit, gold in question.gold.items():
                if gold and unit != SESSION:
                    share = len(
                        gold.intersection(unit for units in answer.ranking for unit in units)
                    ) / len(gold)
                    self._spent[budget, unit].append((share, float(sum(answer.tokens))))

    def tables(self) -> Iterator[Table]:
        """Give a table for each unit, for each kind of question, for time and for tokens."""
        for unit in sorted({unit for _, unit, _ in self._values}, key=lambda unit: unit != TURN):
            yield self._overview(unit)
            yield self._kinds_of(unit)
        yield self._times()
        if self._spent:
            yield self._budgets()

    def as_json(self) -> dict[str, Any]:
        """Give all numbers, with the rankings and the evidence."""
        numbers: dict[str, Any] = {}
        for (system, unit, kind), rows in self._values.items():
            into = (
                numbers.setdefault(system, {})
                .setdefault(unit, {})
                .setdefault(kind, {"questions": len(rows)})
            )
            into |= {name: interval([row[name] for row in rows]) for name in rows[0]}
        spent = {
            f"{budget} {unit}": np.mean(rows, axis=0).tolist()
            for (budget, unit), rows in self._spent.items()
        }
        times = [{"embedding": embedding, "sql": sql} for embedding, sql in self._times_of_recall]
        return self._head | {
            "results": numbers, "within_budget": spent, "recall_ms": times, "filled": self._filled,
            "gold": self._gold, "kinds": self._kind_of, "sessions": self._sessions,
            "rankings": self._rankings,
        }  # fmt: skip

    def _kinds(self, question: Question) -> set[str]:
        answerable = (
            {ANSWERABLE} if self.name == "longmemeval" and question.kind != UNANSWERABLE else set()
        )
        return {ALL, question.kind} | answerable

    def _overview(self, unit: str) -> Table:
        table = Table(title=f"{self.name}, by {unit}: share (95 % interval), in %")
        for column in ("system", "questions", *SHOWN):
            table.add_column(column, justify="left" if column == "system" else "right")
        for system, of, kind in self._values:
            if of == unit and kind == ALL:
                rows = self._values[system, unit, kind]
                shown = [_shown([row[name] for row in rows], wide=system == HTM) for name in SHOWN]
                table.add_row(system, str(len(rows)), *shown)
        return table

    def _kinds_of(self, unit: str) -> Table:
        table = Table(title=f"{self.name}, by {unit}: recall by kind of question, in %")
        for column in ("kind", "questions", *SHOWN):
            table.add_column(column, justify="left" if column == "kind" else "right")
        for (system, of, kind), rows in sorted(self._values.items()):
            if (system, of) == (HTM, unit):
                table.add_row(
                    kind, str(len(rows)), *(_shown([row[name] for row in rows]) for name in SHOWN)
                )
        return table

    def _times(self) -> Table:
        table = Table(title=f"{self.name}: milliseconds")
        for column in ("what", "calls", "p50", "p95"):
            table.add_column(column, justify="left" if column == "what" else "right")
        if self._times_of_recall:
            for name, values in (
                (
                    "recall of 10, without the question's embedding",
                    [sql for _, sql in self._times_of_recall],
                ),
                (
                    "recall of 10, with it",
                    [embedding + sql for embedding, sql in self._times_of_recall],
                ),
            ):
                table.add_row(
                    name, str(len(values)), *(f"{np.percentile(values, q):.1f}" for q in (50, 95))
                )
        for system, seconds in self._seconds.items():
            values = [each * 1e3 for each in seconds]
            table.add_row(
                f"{system}, {self._depth} hits",
                str(len(values)),
                *(f"{np.percentile(values, q):.1f}" for q in (50, 95)),
            )
        vectors, whole = sum(row[1] for row in self._filled), sum(row[2] for row in self._filled)
        how = "embedding included" if self._embedded else "vectors cached from an earlier run"
        table.add_row(
            f"stored: {vectors:,} vectors, {vectors / max(whole, 1e-9):,.0f} a second ({how})",
            "",
            "",
            "",
        )
        return table

    def _budgets(self) -> Table:
        table = Table(title=f"{self.name}: evidence within a budget of tokens")
        for column in ("budget", "evidence, %", "tokens spent", "evidence per 1,000 tokens, %"):
            table.add_column(column, justify="right")
        for (budget, unit), rows in sorted(self._spent.items()):
            share, tokens = np.mean(rows, axis=0)
            table.add_row(
                f"{budget:,} ({unit})",
                f"{100 * share:.1f}",
                f"{tokens:,.0f}",
                f"{1e5 * share / max(tokens, 1):.1f}",
            )
        return table


def _shown(values: list[float], *, wide: bool = False) -> str:
    mean, low, high = interval(values)
    return f"{100 * mean:.1f} ({100 * low:.0f}-{100 * high:.0f})" if wide else f"{100 * mean:.1f}"
