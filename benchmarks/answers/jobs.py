"""Try the prompts of this package's own jobs on a real model: `python -m benchmarks.answers.jobs --model http://127.0.0.1:11434`.

Each plug is what `"ollama:NAME"` makes. A call counts as parsed when the plug's checks accept the answer, and as right by what a
person expects: `jobs.jsonl` has fifty messages of the chats with acceptable tags, the facts that they state, and the words of a
summary; `changes.jsonl` has sixty pairs of sayings, of which the later one replaces the earlier one, or not. An expander and a
reranker are given the questions of `facts.jsonl`. Answers are kept in the file of --cache.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.retrieval import home
from benchmarks.retrieval_systems import CachedEmbedder
from htm_core import ModelError
from htm_core.models.expanders import resolve_expander
from htm_core.models.judges import resolve_judge
from htm_core.models.propositioners import resolve_propositioner
from htm_core.models.rerankers import resolve_reranker
from htm_core.models.summarizers import resolve_summarizer
from htm_core.models.taggers import resolve_tagger

from .__main__ import interval
from .cases import rows
from .judged import plain
from .relay import Relay

SECONDS = 900.0
COVERED = 0.6  # of a fact's words stand in one that states it
SHOWN = 8
FIRST = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """One call: whether its answer was accepted, how right it is from 0 to 1, without the plug as well, and its seconds."""

    parsed: bool
    right: float
    without: float | None
    seconds: float


Call = Callable[[], tuple[float, float | None]]


def main() -> None:
    """Try all plugs, and print what they did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="URL", help="a server of Ollama's API")
    parser.add_argument("--name", default="qwen", help="the model's name there")
    parser.add_argument("--limit", type=int, default=60, help="calls of each plug at most")
    parser.add_argument("--only", nargs="+", choices=JOBS, help="only these plugs")
    parser.add_argument("--cache", type=Path, default=Path("answers.cache"), help="keeps answers, and vectors beside")
    given = parser.parse_args()
    table = Table(title=f"jobs by {given.name}")
    for column in ("plug", "calls", "parsed", "right", "without the plug", "seconds (median)"):
        table.add_column(column)
    with home(None), Relay(given.model, given.cache) as relay:
        os.environ["OLLAMA_HOST"] = relay.url
        embedder = CachedEmbedder(given.cache.with_suffix(".vectors"))
        for name in given.only or JOBS:
            calls = list(JOBS[name](f"ollama:{given.name}", embedder))[: given.limit]
            tried = [one(call) for call in track(calls, name, console=Console(stderr=True))]
            parsed, known = [each for each in tried if each.parsed], [e.without for e in tried if e.without is not None]
            table.add_row(
                name, str(len(tried)), interval(len(parsed), len(tried)),
                f"{statistics.mean(each.right for each in tried):.2f}",
                f"{statistics.mean(known):.2f}" if known else "",
                f"{statistics.median(each.seconds for each in tried):.1f}",
            )  # fmt: skip
    Console(width=130).print(table)


def one(call: Call) -> Tried:
    """Call once."""
    began = time.perf_counter()
    try:
        right, without = call()
    except ModelError:
        return Tried(False, 0.0, None, time.perf_counter() - began)
    return Tried(True, right, without, time.perf_counter() - began)


def words(text: str) -> set[str]:
    """The words of a text, plurals as singulars."""
    return {word.removesuffix("s") for word in plain(text).split()}


def taggers(spec: str, _: CachedEmbedder) -> Iterator[Call]:
    """Right is the share of tags of which a level is one that a person would give."""
    tagger = resolve_tagger(spec)
    assert tagger is not None
    for row in rows("jobs.jsonl"):
        accepted = [words(tag) for tag in row["tags"]]

        def call(text: str = row["text"], accepted: list[set[str]] = accepted) -> tuple[float, None]:
            found = tagger.tags(text)
            levels = [[words(level) for level in re.split("[:]", tag)] for tag in found]
            fitting = [any(level & each for level in tag for each in accepted) for tag in levels]
            return (statistics.mean(fitting) if fitting else 0.0), None

        yield call


def propositioners(spec: str, _: CachedEmbedder) -> Iterator[Call]:
    """Right is the share of expected facts most of whose words stand in one of the answer."""
    propositioner = resolve_propositioner(spec)
    assert propositioner is not None
    for row in rows("jobs.jsonl"):

        def call(text: str = row["text"], facts: list[str] = row["facts"]) -> tuple[float, None]:
            found = [words(fact) for fact in propositioner.facts(text, speaker="The user")]
            expected = [words(fact) for fact in facts]
            covered = [any(len(each & fact) >= COVERED * len(each) for fact in found) for each in expected]
            return statistics.mean(covered), None

        yield call


def summarizers(spec: str, _: CachedEmbedder) -> Iterator[Call]:
    """Right when half of the words of a summary stand in the lines about a conversation of one message."""
    summarizer = resolve_summarizer(spec)
    assert summarizer is not None
    for row in rows("jobs.jsonl"):

        def call(text: str = row["text"], gist: list[str] = row["gist"]) -> tuple[float, None]:
            found = " ".join(summarizer.lines([text])).casefold()
            return float(sum(word.casefold() in found for word in gist) >= len(gist) / 2), None

        yield call


def judges(spec: str, _: CachedEmbedder) -> Iterator[Call]:
    """Right when the later saying supersedes the earlier one where a person says so, and nowhere else."""
    judge = resolve_judge(spec)
    assert judge is not None
    for row in rows("changes.jsonl"):

        def call(pair: tuple[str, str, str] = (row["earlier"], row["later"], row["relation"])) -> tuple[float, None]:
            answer, _ = judge.judge(pair[0], pair[1], seconds=SECONDS)
            return float((answer == "supersedes") == (pair[2] == "replaces")), None

        yield call


def nearest(embedder: CachedEmbedder, told: list[str], questions: list[str]) -> list[int]:
    """The places of what was told, nearest first, by the best of the questions' cosines."""
    matrix = np.asarray(embedder.embed_documents(told))
    asked = np.asarray([embedder.embed_query(question) for question in questions])
    return [int(place) for place in np.argsort(-(matrix @ asked.T).max(axis=1), kind="stable")]


def expanders(spec: str, embedder: CachedEmbedder) -> Iterator[Call]:
    """Right when the fact is among the three nearest; without the plug, by the question alone."""
    expander = resolve_expander(spec)
    assert expander is not None
    facts = rows("facts.jsonl")
    told = [row["told"] for row in facts]
    for number, row in enumerate(facts):

        def call(number: int = number, question: str = row["question"]) -> tuple[float, float]:
            more = expander.questions(question, seconds=SECONDS)
            both, alone = (nearest(embedder, told, asked)[:FIRST] for asked in ([question, *more], [question]))
            return float(number in both), float(number in alone)

        yield call


def rerankers(spec: str, embedder: CachedEmbedder) -> Iterator[Call]:
    """Right when the fact is first of the eight nearest; without the plug, as the cosine has them. Only where it is among them."""
    reranker = resolve_reranker(spec)
    assert reranker is not None
    facts = rows("facts.jsonl")
    told = [row["told"] for row in facts]
    for number, row in enumerate(facts):
        places = nearest(embedder, told, [row["question"]])[:SHOWN]
        if number in places:

            def call(
                number: int = number, question: str = row["question"], places: list[int] = places
            ) -> tuple[float, float]:
                order = reranker.order(
                    question, [told[place] for place in places], [0.0] * len(places), seconds=SECONDS
                )
                return float(places[order[0]] == number), float(places[0] == number)

            yield call


JOBS: dict[str, Callable[[str, CachedEmbedder], Iterator[Call]]] = {
    "tagger": taggers,
    "propositioner": propositioners,
    "summarizer": summarizers,
    "judge": judges,
    "expander": expanders,
    "reranker": rerankers,
}

if __name__ == "__main__":
    main()
