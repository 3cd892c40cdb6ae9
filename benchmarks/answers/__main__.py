"""Measure right answers: `python -m benchmarks.answers --model http://127.0.0.1:11434 [--locomo PATH] [--longmemeval PATH]`.

Conversations are told to each kind of memory as its users tell them, then each question is asked in a fresh thread of a real model,
which is reached by Ollama's API. Answers are judged by the words that are expected. It prints for each set the share of right
answers with its 95 % interval, the share of the ceiling (the model with the evidence alone in its prompt), how often something was
invented where nothing was told, and the tokens that memory adds to a request; and compares htm-memory with each other arm, question
by question (McNemar's exact test).

Every answer is kept in the file of --cache by its request, so a run that was stopped goes on where it was, and a change of what is
shown costs only the requests that it changed. --out has every question with its request and its answer. `pip install -e
".[all,peers]"` brings what the other arms need.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.retrieval import home
from benchmarks.retrieval_systems import CachedEmbedder
from benchmarks.shares import wilson
from benchmarks.tcp_server import temporary_server
from htm_core import shutdown

from .arms import ALL, ARMS, EVIDENCE, HTM, NOTHING_ARM, Tools
from .cases import FACTS, NOTHING, Case, all_cases, asking, limited
from .judged import RIGHT, WRONG, Outcome, judge
from .picture import picture
from .relay import Relay

NOW = datetime(
    2026, 11, 27, 18, tzinfo=UTC
)  # when facts are asked for: fixed, so that equal requests are equal
MCP = "htm-memory, MCP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question with one arm's answer, how it was judged, and the last request that led to it."""

    arm: str
    set: str
    id: str
    question: str
    expected: Sequence[str]
    answer: str
    outcome: Outcome
    shown: bool  # whether a form of the right answer stands in the request
    tokens: int
    request: object


def main() -> None:
    """Tell, ask, and print."""
    args = arguments()
    console = Console(width=170)
    cases = limited(
        all_cases(locomo_path=args.locomo, longmemeval_path=args.longmemeval, now=NOW), args.limit
    )
    if args.sets:
        names = chosen({each.set for case in cases for each in case.asked}, args.sets)
        cases = asking(cases, lambda question: question.set in names)
    began, answered = time.monotonic(), list[Answered]()
    with home(None), temporary_server() as dsn, Relay(args.model, args.cache) as relay:
        embedder = CachedEmbedder(args.cache.with_suffix(".vectors"))
        with Tools(url=relay.url, model=args.name, embedder=embedder, dsn=dsn) as tools:
            for name in args.arms or ARMS:
                answered += answers(name, cases, tools, relay)
        shutdown()
    if args.out:
        args.out.write_text(
            "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in answered)
        )
    sets = by_set(answered)
    console.print(shares(sets), tests(sets), size(sets))
    if args.picture:
        args.picture.write_text(picture(right_of(sets), ceiling=EVIDENCE, ours="htm-memory"))
    console.print(
        f"{len(answered)} answers, {relay.asked} of them new, in {time.monotonic() - began:.0f} s"
    )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, metavar="URL", help="a server of Ollama's API")
    parser.add_argument("--name", default="qwen", help="the model's name there")
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--limit", type=int, default=150, help="questions of each set at most")
    parser.add_argument(
        "--arms", nargs="+", choices=ALL, metavar="ARM", help=f"of {', '.join(ALL)}"
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", help="only sets of these names, or whose names begin so"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("answers.cache"),
        help="keeps answers, and vectors beside",
    )
    parser.add_argument(
        "--out", type=Path, help="JSON lines: every question with its request, answer and outcome"
    )
    parser.add_argument("--picture", type=Path, metavar="PATH.svg", help="bars of right answers")
    return parser.parse_args()


def chosen(names: Collection[str], wanted: Sequence[str]) -> set[str]:
    """The sets of these names; a name that none has stands for those that begin so."""
    return {
        name
        for name in names
        for each in wanted
        if name == each or (each not in names and name.startswith(each))
    }


def answers(name: str, cases: Sequence[Case], tools: Tools, relay: Relay) -> list[Answered]:
    """Ask an arm all questions, and return its answers."""
    arm, results = ALL[name](tools), list[Answered]()
    if name == MCP:
        cases = [case for case in cases if case.asked[0].set.startswith(FACTS)]
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=sum(len(case.asked) for case in cases))
        for case in cases:
            arm.tell(case)
            relay.taken()
            for question in case.asked:
                answer = arm.ask(case, question)
                sent = relay.taken()
                request = (
                    "\n".join(str(message.get("content")) for message in sent[-1].messages)
                    if sent
                    else ""
                )
                results.append(
                    Answered(
                        arm=name, set=question.set, id=question.id, question=question.text, expected=question.expected,
                        answer=answer, outcome=judge(answer, question.expected, question.former),
                        shown=judge(request, question.expected) == RIGHT,
                        tokens=sent[-1].prompt_tokens if sent else 0, request=sent[-1].messages if sent else None,
                    )
                )  # fmt: skip
                progress.advance(task)
    return results


def right_of(sets: Mapping[str, ByArm]) -> dict[str, dict[str, float]]:
    """By set and arm the share of right answers, where there are any."""
    return {
        name: {
            arm: sum(each.outcome == RIGHT for each in own.values()) / len(own)
            for arm, own in arms.items()
        }
        for name, arms in sets.items()
        if not name.endswith(NOTHING)
    }


ByArm = dict[str, dict[str, Answered]]  # the answers to a set's questions, by arm and id


def by_set(answered: Sequence[Answered]) -> dict[str, ByArm]:
    """The answers by set, arm and id."""
    sets: dict[str, ByArm] = {}
    for answer in answered:
        sets.setdefault(answer.set, {}).setdefault(answer.arm, {})[answer.id] = answer
    return sets


def table(
    title: str, sets: Mapping[str, ByArm], cell: Callable[[str, str], str], *, without: str = ""
) -> Table:
    """A row for each arm but one, and a column for each set; `cell` writes what stands at an arm and a set."""
    made = Table(
        "arm",
        *(f"{name} ({len(set().union(*arms.values()))})" for name, arms in sets.items()),
        title=title,
    )
    for arm in dict.fromkeys(arm for arms in sets.values() for arm in arms):
        if arm != without:
            made.add_row(arm, *(cell(arm, name) if arm in sets[name] else "" for name in sets))
    return made


def shares(sets: Mapping[str, ByArm]) -> Table:
    """Right answers of each arm and set, or those that were invented."""

    def cell(arm: str, name: str) -> str:
        own, ceiling = (list(sets[name].get(each, {}).values()) for each in (arm, EVIDENCE))
        return _cell(name, own, ceiling)

    title = "right answers, of the ceiling's, wrong, with the answer in the request; where nothing was told: invented"
    return table(title, sets, cell)


def _cell(name: str, own: Sequence[Answered], ceiling: Sequence[Answered]) -> str:
    wrong = sum(each.outcome == WRONG for each in own)
    if name.endswith(NOTHING):
        return f"invented {interval(wrong, len(own))}"
    right, most = (sum(each.outcome == RIGHT for each in some) for some in (own, ceiling))
    of_ceiling = f", {right / most * len(ceiling) / len(own):.2f} of it" if most else ""
    shown = sum(each.shown for each in own) / len(own)
    return (
        f"{interval(right, len(own))}{of_ceiling}, {wrong / len(own):.2f} wrong, {shown:.2f} shown"
    )


def interval(count: int, of: int) -> str:
    """A share with its 95 % interval by Wilson."""
    low, high = wilson(count, of)
    return f"{count / of:.2f} [{low:.2f}, {high:.2f}]"


def tests(sets: Mapping[str, ByArm]) -> Table:
    """htm-memory's middleware beside each other arm, question by question."""

    def cell(arm: str, name: str) -> str:
        own, other = sets[name].get(HTM, {}), sets[name][arm]
        both = own.keys() & other.keys()
        only = sum(own[id].outcome == RIGHT and other[id].outcome != RIGHT for id in both)
        less = sum(own[id].outcome != RIGHT and other[id].outcome == RIGHT for id in both)
        return f"{only} / {less}, {mcnemar(only, less):.3f}" if both else ""

    title = f"{HTM}: questions that only it answers right / that only the other does, p"
    answerable = {name: arms for name, arms in sets.items() if not name.endswith(NOTHING)}
    return table(title, answerable, cell, without=HTM)


def mcnemar(one: int, other: int) -> float:
    """The two-sided exact p of so many discordant pairs (McNemar 1947; the binomial form)."""
    total, least = one + other, min(one, other)
    return (
        min(1.0, 2 * sum(math.comb(total, k) for k in range(least + 1)) / 2**total)
        if total
        else 1.0
    )


def size(sets: Mapping[str, ByArm]) -> Table:
    """The tokens that a memory adds to a request: those of its prompt without those of the question alone."""

    def cell(arm: str, name: str) -> str:
        alone = sets[name].get(NOTHING_ARM, {})
        counts = sorted(
            max(0, each.tokens - (alone[id].tokens if id in alone else 0))
            for id, each in sets[name][arm].items()
        )
        return f"{statistics.median(counts):.0f}, {counts[int(0.9 * len(counts))]}"

    return table(
        "tokens beside the question, by the model's own count: median, 90th percentile", sets, cell
    )


if __name__ == "__main__":
    main()
