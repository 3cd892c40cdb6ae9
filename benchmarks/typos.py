"""Measure what a misspelt word in a question costs recall: the same questions clean, with one word misspelt, and with two.

    python -m benchmarks.typos
    python -m benchmarks.typos --locomo locomo10.json --half looking --out before.json
    python -m benchmarks.typos --locomo locomo10.json --half looking --before before.json

The sets are this project's own chats and paraphrases, own facts that are asked for in another spelling (`spellings.tsv`: names,
transliterations, compounds), and LoCoMo by the path of its file. Each is in two halves: what one looks at while something is built,
and what has the last word. The errors are seeded (benchmarks/typing_errors.py), so that each run asks the same. `--before FILE`
compares with a run of `--out` question by question, as benchmarks.compare does.
"""

from __future__ import annotations

import argparse
import csv
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import chats
from benchmarks import retrieval_sets as sets
from benchmarks.compare import compared
from benchmarks.plugs import units
from benchmarks.retrieval import home
from benchmarks.retrieval_measures import interval, measured
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from benchmarks.typing_errors import with_typing_errors
from htm_core import Mode, shutdown

MEASURES = ("any@1", "fraction@10", "mrr")
MODES: tuple[Mode, ...] = ("hybrid", "text")
LOOKING, LAST = "looking", "last"
CLEAN = "clean"
VARIANTS = {CLEAN: 0, "one word misspelt": 1, "two words misspelt": 2}
SPELLINGS = Path(__file__).with_name("spellings.tsv")
# The measures of each question, by how it was asked: its mode and its variant.
Answers = dict[str, dict[str, dict[str, float]]]


def main() -> None:
    """Ask all questions in all ways, and print a table for each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--locomo",
        type=Path,
        metavar="PATH",
        help="locomo10.json, gzipped or not; its first half is halved",
    )
    parser.add_argument("--half", choices=(LOOKING, LAST), help="both unless given")
    parser.add_argument("--only", nargs="+", help="only these sets")
    parser.add_argument("--seed", default="1", help="of the typing errors")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    parser.add_argument(
        "--home", type=Path, help="where the private server lives; a temporary folder unless given"
    )
    parser.add_argument("--out", type=Path, help="a JSON file for the measures of each question")
    parser.add_argument("--before", type=Path, help="a file of --out to compare with")
    args = parser.parse_args()
    before = json.loads(args.before.read_text("utf-8")) if args.before else {}
    embedder = CachedEmbedder(args.cache, "minilm") if args.cache else None
    written: dict[str, Answers] = {}
    with home(args.home):
        console = Console(width=190)
        for half in [args.half] if args.half else [LOOKING, LAST]:
            for name, cases in chosen(args.locomo, half=half):
                if not args.only or name in args.only:
                    title = f"{name}, {half}"
                    written[title] = asked(cases, embedder, seed=args.seed)
                    console.print(table(title, written[title]))
                    if title in before:
                        console.print(comparison(title, before[title], written[title]))
        shutdown()
    if args.out:
        args.out.write_text(json.dumps(written))


def chosen(locomo: Path | None, *, half: str) -> Iterator[tuple[str, list[sets.Case]]]:
    """The cases of a half, by set."""
    if locomo:
        low, high = (0, 3) if half == LOOKING else (3, 5)
        yield "LoCoMo", list(islice(sets.locomo(locomo), low, high))
    part = chats.TRAINING if half == LOOKING else chats.TEST
    yield "technical chats", list(chats.chats(kind=chats.TECHNICAL, half=part))
    yield "dialogues", list(chats.chats(kind=chats.DIALOGUE, half=part))
    [facts] = sets.paraphrases()
    yield "paraphrases", [replace(facts, questions=facts.questions[half == LAST :: 2])]
    yield "spellings", [spellings(facts, half=half)]


def spellings(beside: sets.Case, *, half: str) -> sets.Case:
    """The facts that are asked for in another spelling, those of both halves, with other facts around them."""
    with SPELLINGS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    facts = [
        sets.Message(unit=f"s{number}", content=row["fact"]) for number, row in enumerate(rows)
    ]
    questions = [
        sets.Question(
            id=f"s{number}",
            text=row["question"],
            kind=row["kind"],
            gold={sets.DOCUMENT: frozenset([f"s{number}"])},
        )
        for number, row in enumerate(rows)
        if row["half"] == half
    ]
    return sets.Case(
        name="spellings",
        messages=[*beside.messages, *facts],
        questions=questions,
        now=datetime(2026, 3, 1, tzinfo=UTC),
    )


def asked(cases: Sequence[sets.Case], embedder: CachedEmbedder | None, *, seed: str) -> Answers:
    """The measures of each question in each mode and variant; only questions that have enough words to misspell."""
    answers: Answers = {f"{mode}, {variant}": {} for mode in MODES for variant in VARIANTS}
    for case in cases:
        filled = CaseMemory(case, tenant=f"typos-{secrets.token_hex(4)}", embedder=embedder)
        filled.fill()
        for question in case.questions:
            if gold := question.gold.get(sets.TURN) or question.gold.get(sets.DOCUMENT):
                for variant, count in VARIANTS.items():
                    text = (
                        with_typing_errors(question.text, count=count, seed=seed)
                        if count
                        else question.text
                    )
                    for mode in MODES if text else ():
                        result = filled.memory.recall(text or "", mode=mode, hold=False)
                        answers[f"{mode}, {variant}"][question.id] = measured(gold, units(result))
        filled.empty()
    return answers


def table(title: str, answers: Answers) -> Table:
    """The measures of each way to ask, and how much less they are than those of the same questions clean."""
    shown = Table(
        title=f"{title}, in %, with 95 % intervals; in brackets what is lost to the same questions clean"
    )
    for column in ("asked", "questions", *MEASURES):
        shown.add_column(column, justify="left" if column == "asked" else "right")
    for way, rows in answers.items():
        clean = answers[f"{way.partition(', ')[0]}, {CLEAN}"]
        if rows:
            shown.add_row(
                way,
                str(len(rows)),
                *(_figure(rows, clean if clean is not rows else None, name) for name in MEASURES),
            )
    return shown


def _figure(
    rows: Mapping[str, Mapping[str, float]],
    clean: Mapping[str, Mapping[str, float]] | None,
    name: str,
) -> str:
    mean, low, high = (100 * each for each in interval([row[name] for row in rows.values()]))
    text = f"{mean:.1f} ({low:.1f} to {high:.1f})"
    if clean is None:
        return text
    lost, least, most = (
        100 * each for each in interval([row[name] - clean[id][name] for id, row in rows.items()])
    )
    return f"{text} [{lost:+.1f}: {least:+.1f} to {most:+.1f}]"


def comparison(title: str, before: Mapping[str, Any], after: Answers) -> Table:
    """Each way to ask, before and after."""
    shown = Table(title=f"{title}: before → after, in %")
    for column in (
        "asked",
        "measure",
        "questions",
        "before",
        "after",
        "difference (95 %)",
        "better",
        "worse",
        "p",
    ):
        shown.add_column(column, justify="left" if column in ("asked", "measure") else "right")
    for way, rows in after.items():
        pairs = [(before[way][id], row) for id, row in rows.items() if id in before.get(way, {})]
        for measure in MEASURES if pairs else ():
            shown.add_row(way, measure, *compared(pairs, measure))
    return shown


if __name__ == "__main__":
    main()
