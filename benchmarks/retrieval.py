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
    args = arguments()
    for name, cases in chosen(args):
        with home(args.home):
            report = Report(
                name,
                command=" ".join(["python -m benchmarks.retrieval", *sys.argv[1:]]),
                versions=versions(),
                depth=args.depth,
            )
            measure(cases, report, args)
            shutdown()
        Console(width=150).print(*report.tables(), sep="\n")
        if args.out:
            written = args.out.with_name(f"{args.out.stem}-{name}{args.out.suffix or '.json'}")
            written.write_text(json.dumps(report.as_json(), ensure_ascii=False))
        if args.misses:
            lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in report.misses)
            with args.misses.open("a", encoding="utf-8") as file:
                file.writelines(lines)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="locomo10.json, gzipped or not")
    parser.add_argument(
        "--longmemeval", type=Path, metavar="PATH", help="longmemeval_s.json, gzipped or not"
    )
    parser.add_argument("--beir", type=Path, metavar="PATH", help="a folder in BEIR's layout")
    parser.add_argument(
        "--beam", type=Path, metavar="PATH", help="a folder of BEAM's chats of one size"
    )
    parser.add_argument(
        "--chats", choices=("technical", "dialogue"), help="this project's own chats of a kind"
    )
    parser.add_argument(
        "--half", choices=("training", "test"), help="of the chats; both unless given"
    )
    parser.add_argument(
        "--without-names", action="store_true", help="LoCoMo and chats: without names of speakers"
    )
    parser.add_argument(
        "--paraphrases", action="store_true", help="this project's pairs without shared words"
    )
    parser.add_argument(
        "--split",
        default="",
        help="BEIR: the qrels (test); else a slice of the memories, as 0:5 or 5:10",
    )
    parser.add_argument("--limit", type=int, help="memories at most (questions, for LongMemEval)")
    parser.add_argument("--workers", type=int, default=1, help="memories at once")
    parser.add_argument("--embedder", default="minilm", help="minilm, minilm:int8 or ollama:MODEL")
    parser.add_argument(
        "--depth", type=int, default=DEPTH, help="hits that are asked for: 10 is what users do"
    )
    parser.add_argument(
        "--misses",
        type=Path,
        help="a file of JSON lines for the evidence that is not among the first ten",
    )
    parser.add_argument("--ablate", action="store_true", help="also without each signal")
    parser.add_argument("--only", nargs="+", help="only these systems")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    parser.add_argument(
        "--home", type=Path, help="where the private server lives; a temporary folder unless given"
    )
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers and the rankings")
    args = parser.parse_args()
    if not any((args.locomo, args.longmemeval, args.beir, args.beam, args.chats, args.paraphrases)):
        parser.error(
            "name a set: --locomo, --longmemeval, --beir or --beam with a PATH, --chats KIND or --paraphrases"
        )
    return args


def chosen(args: argparse.Namespace) -> Iterator[tuple[str, list[sets.Case]]]:
    """Give the named sets with their cases."""
    if args.locomo:
        yield "locomo", named(cut(sets.locomo(args.locomo), args), args)
    if args.longmemeval:
        yield "longmemeval", cut(sets.longmemeval(args.longmemeval), args)
    if args.beir:
        yield args.beir.name, list(sets.beir(args.beir, args.split or "test"))
    if args.beam:
        yield "beam", cut(sets.beam(args.beam), args)
    if args.chats:
        own = chats.chats(kind=args.chats, half=args.half)
        yield f"{args.chats}-chats", named(cut(own, args), args)
    if args.paraphrases:
        yield "paraphrases", list(sets.paraphrases())


def named(cases: list[sets.Case], args: argparse.Namespace) -> list[sets.Case]:
    """Take the names of the speakers out, where --without-names says so."""
    return [sets.without_names(case) for case in cases] if args.without_names else cases


def cut(cases: Iterator[sets.Case], args: argparse.Namespace) -> list[sets.Case]:
    """Give the slice of --split, and of that the first --limit cases."""
    low, _, high = args.split.partition(":")
    return list(islice(cases, int(low or 0), int(high) if high else None))[: args.limit]


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


def measure(cases: Sequence[sets.Case], report: Report, args: argparse.Namespace) -> None:
    """Ask each system all questions of all cases, several cases at a time."""
    embedder = CachedEmbedder(args.cache, args.embedder) if args.cache else args.embedder
    with (
        Progress(console=Console(stderr=True)) as progress,
        ThreadPoolExecutor(args.workers) as threads,
    ):
        task = progress.add_task(report.name, total=sum(len(case.questions) for case in cases))

        def one(case: sets.Case) -> None:
            filled = CaseMemory(case, tenant=f"bench-{secrets.token_hex(4)}", embedder=embedder)
            began = time.perf_counter()
            filled.fill()
            report.filled(
                filled.memory.stats(), time.perf_counter() - began, embedded=args.cache is None
            )
            ask(filled, report, args, lambda: progress.advance(task))
            filled.empty()

        list(threads.map(one, cases))


def ask(filled: CaseMemory, report: Report, args: argparse.Namespace, advance: Any) -> None:
    """Ask each system the questions of one case, and recall them within each budget."""
    systems = filled.systems(ablate=args.ablate, depth=args.depth)
    wanted = {
        name: system for name, system in systems.items() if not args.only or name in args.only
    }
    sessions = {message.unit: str(message.session) for message in filled.case.messages}
    for question in filled.case.questions:
        for name, system in wanted.items():
            began = time.perf_counter()
            answer = system(question.text)
            report.add(name, question, answer, sessions, seconds=time.perf_counter() - began)
        if HTM in wanted:
            recall_in_budgets(filled, report, question)
            if args.misses:
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
    result = filled.memory.recall(question.text, limit=DEPTH, hold=False, explain=True)
    places: dict[str, int] = {}
    for place, hit in enumerate(result, 1):
        for mention in hit.mentions:
            places.setdefault(str(mention.metadata["unit"]), place)
    texts = {message.unit: message.content for message in filled.case.messages}
    rows: list[dict[str, Any]] = []
    for unit in sorted(gold):
        place = places.get(unit)
        if place is None or place > SHOWN:
            hit = None if place is None else result[place - 1]
            last = result[min(SHOWN, len(result)) - 1] if result else None
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
