"""Compare htm-memory with langchain-postgres, LlamaIndex' PGVectorStore and LangGraph's PostgresStore, on one server in one run.

    pip install -e ".[all,peers]"
    python -m benchmarks.peers
    python -m benchmarks.peers --rows 20000 --locomo locomo10.json

All get the same texts with the same ready vectors of 384 dimensions, and each is set up as its own documentation says.
The calls of all systems are mixed in random order. p50 and p95 are in milliseconds; "recall@10" is the share of the
ten nearest rows, found by comparing all, that a search returned; "rows" is the share of the ten rows that a filter
leaves, and that should be there. Rows per second are those of filling and indexing together. A ratio is our value
divided by that of the fastest other system: a slower machine changes the milliseconds, and not so much the ratios.

With `--locomo`, the same questions are asked in the conversations of a LoCoMo file, with the same vectors of the
embedded model, and the ten hits are compared with the evidence, by turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.corpus import Corpus
from benchmarks.peers_systems import (
    HTM,
    LIMIT,
    PEERS,
    ReadyEmbedder,
    Row,
    System,
    new_database,
    opened,
    settle,
)
from benchmarks.retrieval_measures import interval, measured
from benchmarks.retrieval_sets import TURN, Case, locomo
from benchmarks.tcp_server import temporary_server
from htm_core import shutdown

TOPICS = 100  # so a filter on one leaves 1 %
WARM_UP = 10
SERVER = {"shared_buffers": "1GB", "maintenance_work_mem": "512MB", "max_wal_size": "4GB"}
MEASURES = ("any@1", "fraction@10", "mrr")
DENSE, HYBRID, FILTERED = "dense", "hybrid", "filtered"


@dataclass(slots=True)
class Measured:
    """Measures of one system at one size: milliseconds of each call, and what was found."""

    rows_per_second: float = 0.0
    milliseconds: dict[str, list[float]] = field(
        default_factory=lambda: {DENSE: [], HYBRID: [], FILTERED: []}
    )
    recall: dict[str, list[float]] = field(default_factory=lambda: {DENSE: [], FILTERED: []})
    rows: list[float] = field(default_factory=list)

    def p50(self, kind: str) -> float | None:
        """Give the median milliseconds of a kind of search; None where the system has none."""
        values = self.milliseconds[kind]
        return statistics.median(values) if values else None

    def p95(self, kind: str) -> float | None:
        """Give the milliseconds that 95 % of the calls take at most."""
        values = sorted(self.milliseconds[kind])
        return values[int(0.95 * len(values))] if values else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its text, its vector, and a topic for the filter."""

    text: str
    vector: np.ndarray
    topic: str


def main() -> None:
    """Measure each size, then quality, and print the tables."""
    args = arguments()
    console, results = Console(width=150), {}
    with server(args) as dsn:
        for size in args.rows:
            results[size] = measure(dsn, size, calls=args.calls, systems=args.only)
            console.print(*tables(size, results[size], args.calls), sep="\n")
        if args.locomo:
            quality = asked_about(dsn, list(locomo(args.locomo)), args)
            console.print(quality_table(quality))
        else:
            quality = {}
    console.print(", ".join(f"{name} {number}" for name, number in versions().items()))
    if args.out:
        written = {
            "versions": versions(),
            "sizes": {n: {k: asdict(v) for k, v in r.items()} for n, r in results.items()},
        }
        args.out.write_text(json.dumps(written | {"quality": quality}))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[20_000, 100_000])
    parser.add_argument(
        "--calls", type=int, default=100, help="timed calls of each kind and system"
    )
    parser.add_argument(
        "--only", nargs="+", default=[HTM, *PEERS], choices=[HTM, *PEERS], help="only these systems"
    )
    parser.add_argument(
        "--locomo", type=Path, metavar="PATH", help="locomo10.json, gzipped or not: quality by turn"
    )
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    parser.add_argument(
        "--url",
        help="a superuser's DSN of a server that has pgvector; a temporary one over TCP unless given",
    )
    parser.add_argument(
        "--programs", type=Path, help="the bin folder of the temporary server's PostgreSQL"
    )
    parser.add_argument("--out", type=Path, help="a JSON file for all numbers")
    return parser.parse_args()


@contextmanager
def server(args: argparse.Namespace) -> Iterator[str]:
    """Give the DSN of the server that all systems share."""
    if args.url:
        yield args.url
        return
    with temporary_server(args.programs, SERVER) as dsn:
        yield dsn


def measure(dsn: str, size: int, *, calls: int, systems: Sequence[str]) -> dict[str, Measured]:
    """Fill all systems with the same rows, and ask all of them the same questions."""
    rows, questions = corpus(size, calls + WARM_UP)
    known = {row.content: row.vector for row in rows} | {
        each.text: each.vector for each in questions
    }
    embedder, matrix = ReadyEmbedder(known), np.stack([row.vector for row in rows])
    results: dict[str, Measured] = {name: Measured() for name in systems}
    ready: dict[str, System] = {}
    try:
        for number, name in enumerate(systems):
            database = new_database(dsn, f"peers_{size}_{number}_{os.getpid()}")
            ready[name] = opened(name, database, embedder)
            began = time.perf_counter()
            ready[name].fill(rows)
            results[name].rows_per_second = size / (time.perf_counter() - began)
            settle(database)
        for number, question in enumerate(
            track(questions, description=f"ask {size:,}", console=Console(stderr=True))
        ):
            ask(ready, question, rows, matrix, results if number >= WARM_UP else None, seed=number)
    finally:
        close(ready)
    return results


def corpus(size: int, questions: int) -> tuple[list[Row], list[Asked]]:
    """Give the rows, each with one of a hundred topics, and questions near the same clusters."""
    made, draw = Corpus(size), random.Random(size)
    rows = [
        Row(
            unit=str(number), content=each.content, vector=np.asarray(each.vector, np.float32), at=each.at, role="user",
            topic=f"topic-{draw.randrange(TOPICS)}",
        )
        for number, each in enumerate(made.documents())
    ]  # fmt: skip
    return rows, [
        Asked(made.sentence(6), made.vector(), draw.choice(rows).topic) for _ in range(questions)
    ]


def ask(
    systems: dict[str, System],
    question: Asked,
    rows: Sequence[Row],
    matrix: np.ndarray,
    results: dict[str, Measured] | None,
    *,
    seed: int,
) -> None:
    """Ask all systems one question in each way, in random turns, and note what they take and find."""
    nearness = matrix @ question.vector
    in_topic = np.asarray([row.topic == question.topic for row in rows])
    expected = {
        DENSE: _nearest(nearness, np.ones(len(rows), bool), rows),
        FILTERED: _nearest(nearness, in_topic, rows),
    }
    turns = [(name, kind) for name in systems for kind in (DENSE, HYBRID, FILTERED)]
    random.Random(seed).shuffle(turns)
    for name, kind in turns:
        began = time.perf_counter()
        hits = search(systems[name], kind, question)
        taken = (time.perf_counter() - began) * 1e3
        if hits is None or results is None:
            continue
        into = results[name]
        into.milliseconds[kind].append(taken)
        if kind in expected:
            units = {unit for each in hits for unit in each}
            into.recall[kind].append(len(units & expected[kind]) / len(expected[kind]))
            if kind == FILTERED:
                into.rows.append(len(hits) / len(expected[kind]))


def search(system: System, kind: str, question: Asked) -> list[list[str]] | None:
    """Ask one system in one way."""
    if kind == DENSE:
        return system.dense(question.text)
    return (
        system.hybrid(question.text)
        if kind == HYBRID
        else system.filtered(question.text, question.topic)
    )


def _nearest(nearness: np.ndarray, among: np.ndarray, rows: Sequence[Row]) -> set[str]:
    allowed = np.flatnonzero(among)
    best = allowed[np.argsort(-nearness[allowed], kind="stable")[:LIMIT]]
    return {rows[number].unit for number in best}


def close(systems: dict[str, System]) -> None:
    """Close all systems."""
    for system in systems.values():
        system.close()
    shutdown()


def tables(size: int, results: dict[str, Measured], calls: int) -> Iterator[Table]:
    """Give a table of what was measured, and one of our ratios to the fastest of the others."""
    table = Table(
        title=f"{size:,} rows of 384 dimensions, {calls} calls each, p50 / p95 in ms",
        title_justify="left",
    )
    for column in (
        "system", "dense", "recall@10", "hybrid", "filter of 1 %, dense", "rows", "recall@10 of the filter", "filled + indexed",
    ):  # fmt: skip
        table.add_column(column, justify="left" if column == "system" else "right")
    for name, own in results.items():
        table.add_row(
            name, _times(own, DENSE), _share(own.recall[DENSE]), _times(own, HYBRID), _times(own, FILTERED),
            f"{100 * statistics.mean(own.rows):.0f} %", _share(own.recall[FILTERED]), f"{own.rows_per_second:,.0f} rows/s",
        )  # fmt: skip
    yield table
    ours, others = results.get(HTM), {name: each for name, each in results.items() if name != HTM}
    if ours is not None and others:
        yield _ratios(ours, others)


def _ratios(ours: Measured, others: dict[str, Measured]) -> Table:
    table = Table(title="htm-memory ÷ the fastest other system", title_justify="left")
    for column in ("what", "ratio", "the fastest other"):
        table.add_column(column, justify="right" if column == "ratio" else "left")
    for kind, among in (
        (DENSE, others),
        (HYBRID, others),
        (FILTERED, others),
        (
            "filtered, of those with all rows",
            {k: v for k, v in others.items() if statistics.mean(v.rows) > 0.99},
        ),
    ):
        measured_kind = kind if kind in (DENSE, HYBRID) else FILTERED
        times = {name: each.p50(measured_kind) for name, each in among.items()}
        known = {name: value for name, value in times.items() if value is not None}
        mine = ours.p50(measured_kind)
        if known and mine is not None:
            best = min(known, key=lambda name: known[name])
            table.add_row(f"{kind}, p50", f"{mine / known[best]:.2f}", best)
    best = max(others, key=lambda name: others[name].rows_per_second)
    table.add_row(
        "filled + indexed, rows/s",
        f"{ours.rows_per_second / others[best].rows_per_second:.2f}",
        best,
    )
    return table


def _times(own: Measured, kind: str) -> str:
    p50, p95 = own.p50(kind), own.p95(kind)
    return "-" if p50 is None or p95 is None else f"{p50:.1f} / {p95:.1f}"


def _share(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f}"


def asked_about(
    dsn: str, cases: Sequence[Case], args: argparse.Namespace
) -> dict[str, dict[str, list[float]]]:
    """Ask all systems the questions of each conversation, and score the ten hits by turn: measures by system and kind."""
    from benchmarks.retrieval_systems import CachedEmbedder

    measures: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="htm-bench-") as folder:
        model = CachedEmbedder(args.cache or Path(folder) / "vectors")
        for place, case in enumerate(
            track(cases, description="LoCoMo", console=Console(stderr=True))
        ):
            texts = [message.content for message in case.messages]
            known = dict(
                zip(texts, np.asarray(model.embed_documents(texts), np.float32), strict=True)
            )
            rows = [
                Row(
                    unit=each.unit, content=each.content, vector=known[each.content], topic="all", at=each.at,
                    session=each.session, role=each.role, name=each.name,
                )
                for each in case.messages
            ]  # fmt: skip
            for number, name in enumerate(args.only):
                database = new_database(dsn, f"peers_locomo_{place}_{number}_{os.getpid()}")
                system = opened(name, database, ReadyEmbedder(known, model), now=case.now)
                try:
                    system.fill(rows)
                    settle(database)
                    _score(system, case, measures)
                finally:
                    close({name: system})
    return measures


def _score(system: System, case: Case, into: dict[str, dict[str, list[float]]]) -> None:
    for question in case.questions:
        for kind, ranking in (
            (DENSE, system.dense(question.text)),
            (HYBRID, system.hybrid(question.text)),
        ):
            if ranking is not None:
                values = measured(question.gold[TURN], ranking[:LIMIT])
                lists = into.setdefault(f"{system.name}, {kind}", {name: [] for name in MEASURES})
                for name in MEASURES:
                    lists[name].append(values[name])


def quality_table(quality: dict[str, dict[str, list[float]]]) -> Table:
    """Give the measures of ten hits, with their 95 % intervals."""
    table = Table(title="LoCoMo by turn, ten hits, in % (95 % interval)", title_justify="left")
    for column in ("system", "questions", *MEASURES):
        table.add_column(column, justify="left" if column == "system" else "right")
    for name, measures in quality.items():
        shown = [interval(values) for values in measures.values()]
        cells = [
            f"{100 * mean:.1f} ({100 * low:.0f}-{100 * high:.0f})" for mean, low, high in shown
        ]
        table.add_row(name, str(len(measures[MEASURES[0]])), *cells)
    return table


def versions() -> dict[str, Any]:
    """Give the versions of the software that is compared."""
    names = (
        "langchain-postgres",
        "llama-index-vector-stores-postgres",
        "langgraph-checkpoint-postgres",
        "pgvector",
        "psycopg",
    )
    return {"python": sys.version.split()[0]} | {name: version(name) for name in names}


if __name__ == "__main__":
    main()
