"""Measure the quality of recall on published sets, with one command each, through the public verbs only.

    python -m benchmarks.retrieval --locomo locomo10.json
    python -m benchmarks.retrieval --longmemeval longmemeval_s.json --limit 50
    python -m benchmarks.retrieval --beir scifact/
    python -m benchmarks.retrieval --beam chats/100K/
    python -m benchmarks.retrieval --chats technical
    python -m benchmarks.retrieval --paraphrases

Each conversation is stored in its own memory on a private server, with the embedded model and the default settings, and its
questions are recalled. `--embedder minilm:int8` takes the quicker form of the model. For comparison, plain methods answer the same
questions: vectors alone, BM25 alone, both without signals, both by reciprocal rank fusion, and PostgreSQL's ts_rank as it is mostly
used. `--ablate` switches off one signal at a time. The file of `--out` has all numbers and the rankings, so that others can score
them again.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

import htm_core
from benchmarks import chats
from benchmarks import retrieval_sets as sets
from benchmarks.retrieval_report import Report
from benchmarks.retrieval_systems import DEPTH, HTM, Answer, CachedEmbedder, CaseMemory
from htm_core import shutdown
from htm_core.models.minilm import weights

BUDGETS = (500, 1_500, 4_000)  # tokens of recalled memories
SHOWN = 10  # hits of a recall at the default limit
TIMED = 200  # questions of each set that are timed, at the default limit


def main() -> None:
    """Fill the memories, ask the questions, print the tables, and write the file."""
    given = arguments()
    for name, cases in chosen(given):
        with home(given.home):
            report = Report(
                name,
                command=" ".join(["python -m benchmarks.retrieval", *sys.argv[1:]]),
                versions=versions(),
                depth=given.depth,
            )
            measure(cases, report, given)
            shutdown()
        Console(width=150).print(*report.tables(), sep="\n")
        if given.out:
            written = given.out.with_name(f"{given.out.stem}-{name}{given.out.suffix or '.json'}")
            written.write_text(json.dumps(report.as_json(), ensure_ascii=False))
        if given.misses:
            lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in report.misses)
            with given.misses.open("a", encoding="utf-8") as file:
                file.writelines(lines)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="locomo10.json, gzipped or not")
    parser.add_argument("--longmemeval", type=Path, metavar="PATH", help="longmemeval_s.json, gzipped or not")
    parser.add_argument("--beir", type=Path, metavar="PATH", help="a folder in BEIR's layout")
    parser.add_argument("--beam", type=Path, metavar="PATH", help="a folder of BEAM's chats of one size")
    parser.add_argument("--chats", choices=("technical", "dialogue"), help="this project's own chats of a kind")
    parser.add_argument("--half", choices=("training", "test"), help="of the chats; both unless given")
    parser.add_argument("--without-names", action="store_true", help="LoCoMo and chats: without names of speakers")
    parser.add_argument("--paraphrases", action="store_true", help="this project's pairs without shared words")
    parser.add_argument(
        "--split", default="", help="BEIR: the qrels (test); else a slice of the memories, as 0:5 or 5:10"
    )
    parser.add_argument("--limit", type=int, help="memories at most (questions, for LongMemEval)")
    parser.add_argument("--workers", type=int, default=1, help="memories at once")
    parser.add_argument("--embedder", default="minilm", help="minilm, minilm:int8 or ollama:MODEL")
    parser.add_argument("--depth", type=int, default=DEPTH, help="hits that are asked for: 10 is what users do")
    parser.add_argument(
        "--misses", type=Path, help="a file of JSON lines for the evidence that is not among the first ten"
    )
    parser.add_argument("--ablate", action="store_true", help="also without each signal")
    parser.add_argument("--only", nargs="+", help="only these systems")
    parser.add_argument("--cache", type=Path, help="a file that caches the model's vectors between runs")
    parser.add_argument("--home", type=Path, help="where the private server lives; a temporary folder unless given")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers and the rankings")
    given = parser.parse_args()
    if not any((given.locomo, given.longmemeval, given.beir, given.beam, given.chats, given.paraphrases)):
        parser.error("name a set: --locomo, --longmemeval, --beir or --beam with a PATH, --chats KIND or --paraphrases")
    return given


def chosen(given: argparse.Namespace) -> Iterator[tuple[str, list[sets.Case]]]:
    """Give the named sets with their cases."""
    if given.locomo:
        yield "locomo", named(cut(sets.locomo(given.locomo), given), given)
    if given.longmemeval:
        yield "longmemeval", cut(sets.longmemeval(given.longmemeval), given)
    if given.beir:
        yield given.beir.name, list(sets.beir(given.beir, given.split or "test"))
    if given.beam:
        yield "beam", cut(sets.beam(given.beam), given)
    if given.chats:
        own = chats.chats(kind=given.chats, half=given.half)
        yield f"{given.chats}-chats", named(cut(own, given), given)
    if given.paraphrases:
        yield "paraphrases", list(sets.paraphrases())


def named(cases: list[sets.Case], given: argparse.Namespace) -> list[sets.Case]:
    """Take the names of the speakers out, where --without-names says so."""
    return [sets.without_names(case) for case in cases] if given.without_names else cases


def cut(cases: Iterator[sets.Case], given: argparse.Namespace) -> list[sets.Case]:
    """Give the slice of --split, and of that the first --limit cases."""
    low, _, high = given.split.partition(":")
    return list(islice(cases, int(low or 0), int(high) if high else None))[: given.limit]


@contextmanager
def home(path: Path | None) -> Iterator[None]:
    """Use a private server in its own folder; the model's weights are used from where they are."""
    os.environ["HTM_MODEL_DIR"] = str(weights.obtain())
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as temporary:
        Path(temporary).chmod(0o755)
        os.environ["HTM_HOME"] = str(path or temporary)
        yield


def versions() -> dict[str, str]:
    """Give the versions of the software that is measured."""
    names = ("pgvector", "psycopg", "onnxruntime", "numpy")
    own = {"python": sys.version.split()[0], "htm-memory": htm_core.__version__}
    return own | {name: version(name) for name in names}


def measure(cases: Sequence[sets.Case], report: Report, given: argparse.Namespace) -> None:
    """Ask each system all questions of all cases, several cases at a time."""
    embedder = CachedEmbedder(given.cache, given.embedder) if given.cache else given.embedder
    with Progress(console=Console(stderr=True)) as progress, ThreadPoolExecutor(given.workers) as threads:
        task = progress.add_task(report.name, total=sum(len(case.questions) for case in cases))

        def one(case: sets.Case) -> None:
            filled = CaseMemory(case, tenant=f"bench-{secrets.token_hex(4)}", embedder=embedder)
            began = time.perf_counter()
            filled.fill()
            report.filled(filled.memory.stats(), time.perf_counter() - began, embedded=given.cache is None)
            ask(filled, report, given, lambda: progress.advance(task))
            filled.empty()

        list(threads.map(one, cases))


def ask(filled: CaseMemory, report: Report, given: argparse.Namespace, advance: Any) -> None:
    """Ask each system the questions of one case, and recall them within each budget."""
    systems = filled.systems(ablate=given.ablate, depth=given.depth)
    wanted = {name: system for name, system in systems.items() if not given.only or name in given.only}
    sessions = {message.unit: str(message.session) for message in filled.case.messages}
    for question in filled.case.questions:
        for name, system in wanted.items():
            began = time.perf_counter()
            found = system(question.text)
            report.add(name, question, found, sessions, seconds=time.perf_counter() - began)
        if HTM in wanted:
            recall_in_budgets(filled, report, question)
            if given.misses:
                report.misses += missed(filled, question)
        advance()


def recall_in_budgets(filled: CaseMemory, report: Report, question: sets.Question) -> None:
    """Time a recall at the default limit, and recall within each budget of tokens."""
    if report.timed < TIMED:
        report.time(filled.memory.recall(question.text, hold=False))
    for budget in BUDGETS:
        hits = filled.memory.recall(question.text, limit=100, budget=budget, hold=False)
        units = [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in hits]
        report.spend(budget, question, Answer(units, [hit.node.tokens for hit in hits]))


def missed(filled: CaseMemory, question: sets.Question) -> list[dict[str, Any]]:
    """Give the evidence that is not among the first ten hits, with its place among a hundred and what each signal gave it."""
    gold = question.gold.get(sets.TURN) or question.gold.get(sets.DOCUMENT) or frozenset()
    if not gold:
        return []
    found = filled.memory.recall(question.text, limit=DEPTH, hold=False, explain=True)
    places: dict[str, int] = {}
    for place, hit in enumerate(found, 1):
        for mention in hit.mentions:
            places.setdefault(str(mention.metadata["unit"]), place)
    texts = {message.unit: message.content for message in filled.case.messages}
    rows: list[dict[str, Any]] = []
    for unit in sorted(gold):
        place = places.get(unit)
        if place is None or place > SHOWN:
            hit = None if place is None else found[place - 1]
            last = found[min(SHOWN, len(found)) - 1] if found else None
            rows.append(
                {
                    "case": filled.case.name, "question": question.text, "kind": question.kind, "unit": unit,
                    "text": texts.get(unit), "place": place,
                    "signals": None if hit is None else dict(hit.signals), "relevance": None if hit is None else hit.relevance,
                    "last_shown": None if last is None else {"text": last.passage, "signals": dict(last.signals)},
                }
            )  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
