"""Try the prompts of this package's own jobs on a real model: `python -m benchmarks.answers.jobs --model http://127.0.0.1:11434`.

Each plug is what `"ollama:NAME"` makes. A call counts as parsed when the plug's checks accept the answer, and as right by what a
person expects: `jobs.jsonl` has fifty messages of the chats with acceptable tags, the facts that they state, and the words of a
summary; `changes.jsonl` has sixty pairs of sayings, of which the later one replaces the earlier one, or not. An expander and a
reranker are given the questions of `facts.jsonl`. Answers are kept in the file of --cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


class Nearest:
    """What was told of the facts, by how near it is to questions."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self.told = [row["told"] for row in rows("facts.jsonl")]
        self._embedder = embedder
        self._matrix = np.asarray(embedder.embed_documents(self.told))

    def to(self, questions: list[str]) -> list[str]:
        """The texts, nearest first, by the best of the questions' cosines."""
        asked = np.asarray([self._embedder.embed_query(question) for question in questions])
        return [self.told[place] for place in np.argsort(-(self._matrix @ asked.T).max(axis=1), kind="stable")]


Right = tuple[float, float | None]  # how right an answer is, and how right it is without the plug


@dataclass(frozen=True, slots=True)
class Job:
    """What makes the plug of a name, the file with its questions, and what asks it one; None is no question for it."""

    resolve: Callable[[str], Any]
    file: str
    ask: Callable[[Any, dict[str, Any], Nearest], Right | None]


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
        near = Nearest(CachedEmbedder(given.cache.with_suffix(".vectors")))
        for name in given.only or JOBS:
            job = JOBS[name]
            plug, asked = job.resolve(f"ollama:{given.name}"), rows(job.file)[: given.limit]
            every = [one(job, plug, row, near) for row in track(asked, name, console=Console(stderr=True))]
            tried = [each for each in every if each is not None]
            parsed, known = [each for each in tried if each.parsed], [e.without for e in tried if e.without is not None]
            table.add_row(
                name, str(len(tried)), interval(len(parsed), len(tried)),
                f"{statistics.mean(each.right for each in tried):.2f}",
                f"{statistics.mean(known):.2f}" if known else "",
                f"{statistics.median(each.seconds for each in tried):.1f}",
            )  # fmt: skip
    Console(width=130).print(table)


def one(job: Job, plug: Any, row: dict[str, Any], near: Nearest) -> Tried | None:
    """Ask once."""
    began = time.perf_counter()
    try:
        answer = job.ask(plug, row, near)
    except ModelError:
        return Tried(False, 0.0, None, time.perf_counter() - began)
    return None if answer is None else Tried(True, *answer, time.perf_counter() - began)


def words(text: str) -> set[str]:
    """The words of a text, plurals as singulars."""
    return {word.removesuffix("s") for word in plain(text).split()}


def tag(tagger: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right is the share of tags of which a level is one that a person would give."""
    accepted = [words(each) for each in row["tags"]]
    levels = [[words(level) for level in found.split(":")] for found in tagger.tags(row["text"])]
    fitting = [any(level & each for level in found for each in accepted) for found in levels]
    return (statistics.mean(fitting) if fitting else 0.0), None


def propose(propositioner: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right is the share of expected facts most of whose words stand in one of the answer."""
    found = [words(fact) for fact in propositioner.facts(row["text"], speaker="The user")]
    expected = [words(fact) for fact in row["facts"]]
    return statistics.mean(any(len(each & fact) >= COVERED * len(each) for fact in found) for each in expected), None


def summarize(summarizer: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when half of the words of a summary stand in the lines about a conversation of one message."""
    found = " ".join(summarizer.lines([row["text"]])).casefold()
    return float(sum(word.casefold() in found for word in row["gist"]) >= len(row["gist"]) / 2), None


def judge(judge: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when the later saying supersedes the earlier one where a person says so, and nowhere else."""
    answer, _reason = judge.judge(row["earlier"], row["later"], seconds=SECONDS)
    return float((answer == "supersedes") == (row["relation"] == "replaces")), None


def expand(expander: Any, row: dict[str, Any], near: Nearest) -> Right:
    """Right when the fact is among the three nearest; without the plug, by the question alone."""
    question = row["question"]
    more = expander.questions(question, seconds=SECONDS)
    both, alone = (float(row["told"] in near.to(asked)[:FIRST]) for asked in ([question, *more], [question]))
    return both, alone


def rerank(reranker: Any, row: dict[str, Any], near: Nearest) -> Right | None:
    """Right when the fact is first of the eight nearest; without the plug, as the cosine has them. Only where it is among them."""
    shown = near.to([row["question"]])[:SHOWN]
    if row["told"] not in shown:
        return None
    order = reranker.order(row["question"], shown, [0.0] * len(shown), seconds=SECONDS)
    return float(shown[order[0]] == row["told"]), float(shown[0] == row["told"])


JOBS = {
    "tagger": Job(resolve_tagger, "jobs.jsonl", tag),
    "propositioner": Job(resolve_propositioner, "jobs.jsonl", propose),
    "summarizer": Job(resolve_summarizer, "jobs.jsonl", summarize),
    "judge": Job(resolve_judge, "changes.jsonl", judge),
    "expander": Job(resolve_expander, "facts.jsonl", expand),
    "reranker": Job(resolve_reranker, "facts.jsonl", rerank),
}

if __name__ == "__main__":
    main()
