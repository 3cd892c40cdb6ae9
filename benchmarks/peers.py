"""Compare htm-memory with langchain-postgres, LlamaIndex' PGVectorStore and LangGraph's PostgresStore, on one server in one run.

    pip install -e ".[all,peers]"
    python -m benchmarks.peers
    python -m benchmarks.peers --rows 20000 100000 1000000 --locomo locomo10.json --home /var/tmp/peers
    python -m benchmarks.peers --rows 1000000 --owners zipf --home /var/tmp/peers

All get the same texts with the same ready vectors of 384 dimensions, and each is set up as its own documentation says. Rows
belong to owners (`--owners`): one, a thousand whose sizes follow Zipf's law, or many of a hundred rows. A question is asked for
the owner of a random row, and every search is that of one owner. The calls of all systems are mixed in random order, and the
embedder's time is subtracted. p50 and p95 are in milliseconds; "recall@10" is the share of the ten nearest rows, found by
comparing all, that a search returned. The others stand there as they are set up by default, and with pgvector's settings for
filters. Rows per second are those of filling and indexing together. A ratio is our value divided by that of the fastest other
that finds as much as `ENOUGH`. With several sizes the last table has how p95 grows from one to the next.

With `--locomo` the conversations of a LoCoMo file, each of an owner of its own, are among the rows, with the vectors of the
embedded model, and their questions are asked in every way that a system offers: index settings, kinds of fusion and their
weights, how many hits a fusion gets; ours by vector, hybrid, and hybrid with the embedded reader. *Time at equal quality* is the
p50 of the fastest way whose ten hits have so much of the evidence by turn. A store that has no field for the speaker gets the
name before the text, and the vector of both, which finds more; `--same-texts` leaves the names out. No other system has a
reranker without a hub, a service or a chat model, so none is tried.

`--home` keeps the filled server, and goes on where filling was interrupted. At a million rows a server needs some thousand
questions (`--warm`) until its pages are in memory.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain, pairwise, repeat, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.corpus import Corpus
from benchmarks.peers_systems import (
    DENSE,
    DIMENSION,
    HTM,
    HYBRID,
    LIMIT,
    PEERS,
    Embeds,
    HTMSystem,
    ReadyEmbedder,
    Row,
    System,
    database,
    filled,
    opened,
)
from benchmarks.retrieval_measures import interval
from benchmarks.retrieval_sets import TURN, Case, locomo
from benchmarks.retrieval_systems import CachedEmbedder
from benchmarks.sizes import SHAPES, tenants
from benchmarks.tcp_server import temporary_server
from htm_core import shutdown

TOPICS = 100  # so a filter on one leaves 1 %
WARM_UP = 10
SERVER = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "3GB",  # an HNSW index of a million rows
    "max_wal_size": "4GB",
}
FILTERED = "filter of 1 %, dense"
KINDS = (DENSE, HYBRID, FILTERED)
ENOUGH = 0.95  # recall@10 of the systems that ours is compared with
TARGETS = (0.70, 0.80, 0.83)  # fraction@10 of LoCoMo's evidence


@dataclass(slots=True)
class Calls:
    """The milliseconds of each call, and the share that it found of what it should have; no share where nothing is known."""

    milliseconds: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        """The median milliseconds."""
        return statistics.median(self.milliseconds)

    @property
    def p95(self) -> float:
        """The milliseconds that 95 % of the calls take at most."""
        return sorted(self.milliseconds)[int(0.95 * len(self.milliseconds))]

    @property
    def found(self) -> float:
        """The mean share."""
        return statistics.mean(self.shares)


# The calls of each kind (or way) by system and variant.
Results = dict[str, dict[str, Calls]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its text, whose it is, a topic for the filter, and the units that each kind of search should find."""

    text: str
    owner: str
    topic: str | None
    expected: Mapping[str, frozenset[str]]


def main() -> None:
    """Measure each size, then how times grow, and print the tables."""
    args = arguments()
    console, speed, quality, rates = Console(width=170), {}, {}, {}
    with server(args) as dsn, tempfile.TemporaryDirectory(prefix="htm-bench-") as folder:
        cache = args.cache or (args.home or Path(folder)) / "vectors"
        cases = list(locomo(args.locomo)) if args.locomo else []
        model = CachedEmbedder(cache) if cases else None
        for size in args.rows:
            data = Data(size, args.owners, cases, model, same_texts=args.same_texts)
            with filled_systems(dsn, data, args) as (systems, rates[size]):
                questions = list(data.questions(args.calls, warm=args.warm))
                speed[size] = ask(systems, questions, data.embedder, KINDS, warm=args.warm)
                console.print(speed_table(speed[size], rates[size], size, args))
                if HTM in speed[size] and len(speed[size]) > 1:
                    console.print(ratios(speed[size], rates[size]))
                if cases:
                    ways = list(
                        dict.fromkeys(way for each in systems.values() for way in each.ways)
                    )
                    questions = list(evidence(cases, ways))[: args.questions]
                    questions = questions[:WARM_UP] + questions
                    quality[size] = ask(systems, questions, data.embedder, ways, warm=WARM_UP)
                    console.print(quality_table(quality[size]), equal_quality(quality[size], args))
    if len(args.rows) > 1:
        console.print(growth(speed))
    console.print(", ".join(f"{name} {number}" for name, number in versions().items()))
    if args.out:
        written = {"rows per second": rates, "speed": plain(speed), "quality": plain(quality)}
        args.out.write_text(json.dumps({"versions": versions()} | written))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, systems = parser.add_argument, [HTM, *PEERS]
    add("--rows", type=int, nargs="+", default=[20_000, 100_000])
    add(
        "--owners", choices=SHAPES, default="one", help="one, many of a hundred rows, by Zipf's law"
    )
    add("--calls", type=int, default=100, help="timed calls of each kind and system")
    add("--warm", type=int, default=WARM_UP, help="questions that are asked first, not timed")
    add("--only", nargs="+", default=systems, choices=systems, help="only these systems")
    add("--locomo", type=Path, metavar="PATH", help="locomo10.json, gzipped or not: what is found")
    add("--questions", type=int, help="of LoCoMo, the first so many")
    add("--same-texts", action="store_true", help="no names before the others' texts of LoCoMo")
    add("--cache", type=Path, help="a file that caches the model's vectors between runs")
    add("--url", help="a superuser's DSN of a server that has pgvector; what is filled there stays")
    add("--home", type=Path, help="keep the filled server here, and go on with it")
    add("--programs", type=Path, help="the bin folder of the temporary server's PostgreSQL")
    add("--out", type=Path, help="a JSON file for all numbers")
    return parser.parse_args()


@contextmanager
def server(args: argparse.Namespace) -> Iterator[str]:
    """Give the DSN of the server that all systems share."""
    if args.url:
        yield args.url
        return
    with temporary_server(args.programs, SERVER, home=args.home) as dsn:
        yield dsn


class Data:
    """The rows of one size, first those of LoCoMo, and the embedder that knows their vectors.

    `rows` have the speaker's name in a field, `named` before the text.
    """

    def __init__(
        self,
        size: int,
        owners: str,
        cases: Sequence[Case] = (),
        model: Embeds | None = None,
        *,
        same_texts: bool = False,
    ) -> None:
        self.name = f"peers_{size}_{owners}"
        self.clocks = {case.name: case.now for case in cases}
        self._corpus, self._draw = Corpus(size), random.Random(size)
        self._matrix = np.empty((size, DIMENSION), np.float32)
        self._filler = list(self._made(tenants(size, owners)))
        self._owners = np.asarray([row.owner for row in self._filler])
        self._topics = np.asarray([row.topic for row in self._filler])
        self.rows = self.named = self._filler
        if model is not None:
            self.name += "_same" if same_texts else "_locomo"
            self.rows = [*messages(cases, model, named=False), *self._filler]
            self.named = [*messages(cases, model, named=not same_texts), *self._filler]
        self._known = {row.content: row.vector for row in chain(self.named, self.rows)}
        self.embedder = ReadyEmbedder(self._known, model)

    def _made(self, owners: Iterable[tuple[str, int]]) -> Iterator[Row]:
        names = chain.from_iterable(repeat(owner, count) for owner, count in owners)
        for number, document in enumerate(self._corpus.documents()):
            self._matrix[number] = document.vector
            yield Row(
                unit=str(number), content=document.content, vector=self._matrix[number], at=document.at, role="user",
                owner=next(names, "rest"), topic=f"topic-{self._draw.randrange(TOPICS)}",
            )  # fmt: skip

    def questions(self, count: int, *, warm: int) -> Iterator[Asked]:
        """Give questions near the rows' clusters, each of the owner and topic of a row; the first, `warm` ones expect nothing."""
        for number in range(warm + count):
            text, vector, row = (
                self._corpus.sentence(6), self._corpus.vector(), self._draw.choice(self._filler)
            )  # fmt: skip
            self._known[text] = vector
            own = self._owners == row.owner
            expected = {} if number < warm else {
                DENSE: self.nearest(vector, own), FILTERED: self.nearest(vector, own & (self._topics == row.topic)),
            }  # fmt: skip
            yield Asked(text, row.owner, row.topic, expected)

    def nearest(self, vector: np.ndarray, among: np.ndarray) -> frozenset[str]:
        """Give the units of the nearest of these rows, by comparing all."""
        allowed = np.flatnonzero(among)
        nearness = self._matrix[allowed] @ vector
        best = allowed[np.argsort(-nearness, kind="stable")[:LIMIT]]
        return frozenset(self._filler[number].unit for number in best)


def messages(cases: Sequence[Case], model: Embeds, *, named: bool) -> Iterator[Row]:
    """Give the messages of LoCoMo as rows, each conversation of an owner of its own."""
    for case in cases:
        texts = [
            f"{each.name}: {each.content}" if named else each.content for each in case.messages
        ]
        vectors = np.asarray(model.embed_documents(texts), np.float32)
        for each, text, vector in zip(case.messages, texts, vectors, strict=True):
            yield Row(
                unit=each.unit, content=text, vector=vector, owner=case.name, topic="all", at=each.at,
                session=each.session, role=each.role, name=each.name,
            )  # fmt: skip


def evidence(cases: Sequence[Case], ways: Sequence[str]) -> Iterator[Asked]:
    """Give the questions of LoCoMo, of all conversations in turn; each way should find the evidence."""
    for asked in zip_longest(*(case.questions for case in cases)):
        for case, question in zip(cases, asked, strict=True):
            if question is not None:
                expected = dict.fromkeys(ways, question.gold[TURN])
                yield Asked(question.text, case.name, None, expected)


@contextmanager
def filled_systems(
    server: str, data: Data, args: argparse.Namespace
) -> Iterator[tuple[dict[str, System], dict[str, float]]]:
    """Open all systems, filled with the rows: by name and variant, and the rows a second of each."""
    systems: dict[str, System] = {}
    rates: dict[str, float] = {}
    try:
        for name in args.only:
            dsn = database(server, f"{data.name}_{[HTM, *PEERS].index(name)}")
            rows = data.rows if name == HTM else data.named
            for label, system in opened(name, dsn, data.embedder, data.clocks):
                systems[label] = system
                if label == name:
                    rates[name] = len(rows) / filled(dsn, system, rows)
        yield systems, rates
    finally:
        for system in systems.values():
            system.close()
        shutdown()


def ask(
    systems: Mapping[str, System],
    questions: Sequence[Asked],
    embedder: ReadyEmbedder,
    kinds: Sequence[str],
    *,
    warm: int,
) -> Results:
    """Ask all systems all questions in each way that they have, in random turns; the first, `warm` ones do not count."""
    searches = {
        (label, kind): system.ways[DENSE if kind == FILTERED else kind]
        for label, system in systems.items()
        for kind in kinds
        if kind in (FILTERED, *system.ways)
    }
    results: Results = {label: {} for label in systems}
    turns = list(searches)
    for number, question in enumerate(track(questions, "ask", console=Console(stderr=True))):
        random.Random(number).shuffle(turns)
        for label, kind in turns:
            elsewhere, began = embedder.seconds, time.perf_counter()
            hits = searches[label, kind](
                question.text, question.owner, question.topic if kind == FILTERED else None
            )
            taken = time.perf_counter() - began - (embedder.seconds - elsewhere)
            if number >= warm:
                calls = results[label].setdefault(kind, Calls())
                calls.milliseconds.append(taken * 1e3)
                if expected := question.expected.get(kind):
                    units = {unit for hit in hits for unit in hit}
                    calls.shares.append(len(units & expected) / len(expected))
    return results


def drawn(title: str, *columns: str) -> Table:
    """Give a table whose columns are of figures, but for the first."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def speed_table(
    results: Results, rates: Mapping[str, float], size: int, args: argparse.Namespace
) -> Table:
    """Give the table of what each kind of search takes and finds."""
    table = drawn(
        f"{size:,} rows of 384 dimensions, owners: {args.owners}, {args.calls} calls each, p50 / p95 in ms",
        "system", DENSE, "recall@10", HYBRID, FILTERED, "recall@10 of the filter", "filled + indexed",
    )  # fmt: skip
    for label, own in results.items():
        table.add_row(
            label, times(own[DENSE]), f"{own[DENSE].found:.3f}", times(own.get(HYBRID)), times(own[FILTERED]),
            f"{own[FILTERED].found:.3f}", f"{rates[label]:,.0f} rows/s" if label in rates else "",
        )  # fmt: skip
    return table


def times(calls: Calls | None) -> str:
    """Give p50 and p95."""
    return "-" if calls is None else f"{calls.p50:.1f} / {calls.p95:.1f}"


def ratios(results: Results, rates: Mapping[str, float]) -> Table:
    """Give our values divided by those of the fastest other system."""
    table = drawn("htm-memory ÷ the fastest other system", "what", "ratio", "the fastest other")
    for kind in KINDS:
        others = {
            label: own[kind].p50
            for label, own in results.items()
            if label != HTM and kind in own and (kind == HYBRID or own[kind].found >= ENOUGH)
        }
        if others:
            best = min(others, key=lambda label: others[label])
            of = "" if kind == HYBRID else f", of those with a recall@10 of {ENOUGH}"
            table.add_row(f"{kind}, p50{of}", f"{results[HTM][kind].p50 / others[best]:.2f}", best)
    best = max(rates.keys() - {HTM}, key=lambda name: rates[name])
    table.add_row("filled + indexed, rows/s", f"{rates[HTM] / rates[best]:.2f}", best)
    return table


def quality_table(results: Results) -> Table:
    """Give what each way finds and takes."""
    table = drawn(
        "LoCoMo's evidence by turn among the rows, ten hits", "system", "way", "fraction@10 in % (95 %)", "p50 / p95 in ms"
    )  # fmt: skip
    for label, ways in results.items():
        for way, calls in ways.items():
            mean, low, high = (100 * share for share in interval(calls.shares))
            table.add_row(label, way, f"{mean:.1f} ({low:.0f}-{high:.0f})", times(calls))
    return table


def equal_quality(results: Results, args: argparse.Namespace) -> Table:
    """Give the p50 of each system's fastest way that finds so much."""
    table = drawn(
        "Time at equal quality: p50 in ms of the fastest way that reaches this fraction@10",
        "system", *(f"{target:.2f}" for target in TARGETS), "the most that is found", "its search by words finds",
    )  # fmt: skip
    for name in args.only:
        own = [
            (calls, ", ".join([*label.split(", ")[1:], way]))
            for label, ways in results.items()
            if label.split(", ")[0] == name
            for way, calls in ways.items()
        ]
        cells = []
        for target in TARGETS:
            enough = [(calls.p50, way) for calls, way in own if calls.found >= target]
            cells.append("{:.1f} ({})".format(*min(enough)) if enough else "-")
        most, way = max((calls.found, way) for calls, way in own)
        table.add_row(name, *cells, f"{most:.3f} ({way})", (PEERS.get(name) or HTMSystem).words)
    return table


def growth(speed: Mapping[int, Results]) -> Table:
    """Give how the p95 of each kind of search grows from each size to the next."""
    pairs = [(a, b, kind) for a, b in pairwise(speed) for kind in KINDS]
    heads = [f"{kind}, {b:,} ÷ {a:,}" for a, b, kind in pairs]
    table = drawn("p95 of a size ÷ p95 of the size before", "system", *heads)
    for label, own in next(iter(speed.values())).items():
        grown = [
            f"{speed[b][label][kind].p95 / speed[a][label][kind].p95:.2f}" if kind in own else "-"
            for a, b, kind in pairs
        ]
        table.add_row(label, *grown)
    return table


def plain(results: Mapping[int, Results]) -> dict[str, Any]:
    """Give results as JSON takes them."""
    return {
        str(size): {label: {kind: asdict(calls) for kind, calls in own.items()} for label, own in of.items()}
        for size, of in results.items()
    }  # fmt: skip


def versions() -> dict[str, str]:
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
