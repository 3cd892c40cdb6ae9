"""Gain of recall by an expander and a reranker, measured with stand-ins, since no language model is at hand here.

    python -m benchmarks.plugs
    python -m benchmarks.plugs --locomo locomo10.json

The expanders know the questions of this set: one writes the other two wordings of a question, one takes a question apart that was
joined from two, and one writes a question about something else, which shows what a bad one costs. The reranker is perfect: it puts
what is right first. So the first table shows how what is found for several questions becomes one list, and the second how much
there is to gain with so many candidates, and never what a model of yours brings: `htm evaluate` measures that.
"""

from __future__ import annotations

import argparse
import random
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import chats, recalled
from benchmarks import retrieval_sets as sets
from benchmarks.retrieval import home
from benchmarks.retrieval_measures import interval, measured
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Memory, Recall, Signals, shutdown

MEASURES = ("any@1", "fraction@5", "fraction@10", "all@5", "mrr", "ndcg@10")
CANDIDATES = (10, 30, 60, 100)
JOINED = 400  # questions that are joined from two


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what answers it, and what the expander writes for it."""

    text: str
    gold: frozenset[str]
    written: tuple[str, ...]


def main() -> None:
    """Measure both, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="locomo10.json, gzipped or not")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    parser.add_argument(
        "--home", type=Path, help="where the private server lives; a temporary folder unless given"
    )
    args = parser.parse_args()
    embedder = CachedEmbedder(args.cache, "minilm") if args.cache else None
    with home(args.home):
        console = Console(width=130)
        console.print(expanders(embedder))
        named = [
            ("own technical chats", chats.chats(kind="technical")),
            ("own dialogues", chats.chats(kind="dialogue")),
        ]
        if args.locomo:
            named.append(("LoCoMo", sets.locomo(args.locomo)))
        console.print(ceilings(named, embedder))
        shutdown()


def expanders(embedder: CachedEmbedder | None) -> Table:
    """Each stand-in for an expander, without it and with it."""
    [case] = recalled.facts(groups_in_one=1_000)
    filled = CaseMemory(case, tenant=f"plugs-{secrets.token_hex(4)}", embedder=embedder)
    filled.fill()
    table = Table(title=f"an expander, {len(case.messages):,} messages, in %: without it → with it")
    for column in ("it writes", "questions", *MEASURES):
        table.add_column(column, justify="left" if column == "it writes" else "right")
    for name, asked in stand_ins(case).items():
        written = {each.text: list(each.written) for each in asked}
        with_it = filled.opened(Signals(), expander=written.__getitem__)
        before, after = [list(scored(memory, asked)) for memory in (filled.memory, with_it)]
        shown = (f"{mean(before, name):.1f} → {mean(after, name):.1f}" for name in MEASURES)
        table.add_row(name, str(len(asked)), *shown)
    filled.empty()
    return table


def stand_ins(case: sets.Case) -> dict[str, list[Asked]]:
    """The questions of each stand-in."""
    chance = random.Random(1)
    by_fact: dict[str, list[sets.Question]] = defaultdict(list)
    for question in case.questions:
        if question.kind == recalled.ANSWERABLE:
            by_fact[question.id.partition(".")[0]].append(question)
    wordings = list(by_fact.values())
    other_words, joined, beside = list[Asked](), list[Asked](), list[Asked]()
    for same in wordings:
        for question in same:
            others = tuple(other.text for other in same if other is not question)
            other_words.append(Asked(question.text, question.gold[sets.TURN], others))
    for _ in range(JOINED):
        one, other = (chance.choice(same) for same in chance.sample(wordings, 2))
        both = f"{one.text.rstrip('?')}, and {other.text[0].lower()}{other.text[1:]}"
        joined.append(
            Asked(both, one.gold[sets.TURN] | other.gold[sets.TURN], (one.text, other.text))
        )
        beside.append(Asked(one.text, one.gold[sets.TURN], (other.text,)))
    return {"the question in two other wordings": other_words, "both parts of a joined question": joined,
            "a question about something else": beside}  # fmt: skip


def scored(memory: Memory, asked: Sequence[Asked]) -> Iterator[dict[str, float]]:
    """The measures of each question, by a recall of ten."""
    for question in asked:
        yield measured(question.gold, units(memory.recall(question.text, hold=False)))


def units(result: Recall) -> list[list[str]]:
    """The units of each hit."""
    return [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in result]


def mean(rows: Sequence[dict[str, float]], name: str) -> float:
    """The mean of one measure, in %."""
    return 100 * interval([row[name] for row in rows])[0]


def ceilings(
    named: Sequence[tuple[str, Iterable[sets.Case]]], embedder: CachedEmbedder | None
) -> Table:
    """Recall of ten without a reranker, and with a perfect one over so many candidates."""
    table = Table(title="a perfect reranker, in %")
    for column in ("set", "candidates", "questions", *MEASURES):
        table.add_column(column, justify="left" if column == "set" else "right")
    for name, cases in named:
        rows: dict[str, list[dict[str, float]]] = defaultdict(list)
        for case in cases:
            filled = CaseMemory(case, tenant=f"plugs-{secrets.token_hex(4)}", embedder=embedder)
            filled.fill()
            for question in case.questions:
                if question.gold.get(sets.TURN):
                    for label, memory in _memories(filled, question):
                        rows[label].append(
                            measured(
                                question.gold[sets.TURN],
                                units(memory.recall(question.text, hold=False)),
                            )
                        )
            filled.empty()
        for label, values in rows.items():
            table.add_row(
                name, label, str(len(values)), *(f"{mean(values, each):.1f}" for each in MEASURES)
            )
    return table


def _memories(filled: CaseMemory, question: sets.Question) -> Iterator[tuple[str, Memory]]:
    right = {each.content for each in filled.case.messages if each.unit in question.gold[sets.TURN]}
    yield "none", filled.memory
    for count in CANDIDATES:
        yield str(count), filled.opened(Signals(), reranker=_perfect(right), candidates=count)


def _perfect(right: set[str]) -> Callable[[str, Sequence[str]], list[float]]:
    """A reranker that knows the right texts; it reads passages, with the name of who said them before."""

    def rate(query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG001 - it knows
        forms = ([text, text.partition(": ")[2] or text] for text in texts)
        return [float(any(form in each for form in both for each in right)) for both in forms]

    return rate


if __name__ == "__main__":
    main()
