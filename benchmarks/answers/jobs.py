"""Try the prompts of this package's own jobs on a real model: `python -m benchmarks.answers.jobs --model http://127.0.0.1:11434`.

Each plug is what `"ollama:NAME"` makes. A call counts as parsed when the plug's checks accept the answer, and as right by what a
person expects: `jobs.jsonl` has fifty messages of the chats with acceptable tags, the facts that they state, and the words of a
summary; `changes.jsonl` has sixty pairs of sayings, of which the later one replaces the earlier one, or not, for a judge and for
a promotion's check. A judge is given messages of the worlds in `benchmarks/supersession`, too, each with the earlier ones that are
nearest: such as change one of them, and such as change none. An expander and a reranker are given the questions of `facts.jsonl`,
and the palace's reader these and as many that nobody can answer, each with the five nearest facts. Cases are drawn with a seed, so
that fewer are a part of more. Answers are kept in the file of --cache.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.retrieval import home
from benchmarks.retrieval_systems import CachedEmbedder
from benchmarks.supersession import worlds
from htm_core import ModelError
from htm_core.models.chat_models import chat_model_of
from htm_core.models.expanders import resolve_expander
from htm_core.models.judges import DatedSaying, resolve_judge
from htm_core.models.keywords import KeywordTagger
from htm_core.models.propositioners import resolve_propositioner
from htm_core.models.rerankers import resolve_reranker
from htm_core.models.summarizers import resolve_summarizer
from htm_core.models.taggers import CheckedTagger, resolve_tagger
from htm_core.palace.contradiction import ChatJudge, by_rules
from htm_core.palace.reader import ChatReader, read
from htm_core.reading.readers import embedded_reader

from .__main__ import interval
from .cases import rows
from .judged import plain
from .relay import Relay

SECONDS = 900.0
COVERED = 0.6  # of a fact's words stand in one that states it
SHOWN = 8
FIRST = 3
READ = 5
SEED = 11
KEYWORDS = CheckedTagger("keywords", KeywordTagger)


@dataclass(frozen=True, slots=True)
class Tried:
    """One call: whether its answer was accepted, how right it is from 0 to 1, without the plug as well, and its seconds."""

    parsed: bool
    right: float
    without: float | None
    seconds: float


class Nearest:
    """Messages about the facts, by how near they are to questions."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self.told = [row["told"] for row in rows("facts.jsonl")]
        self._embedder = embedder
        self._matrix = np.asarray(embedder.embed_documents(self.told))

    def to(self, questions: list[str]) -> list[str]:
        """The texts, nearest first, by the best of the questions' cosines."""
        asked = np.asarray([self._embedder.embed_query(question) for question in questions])
        return [
            self.told[place]
            for place in np.argsort(-(self._matrix @ asked.T).max(axis=1), kind="stable")
        ]


Right = tuple[float, float | None]  # how right an answer is, and how right it is without the plug


@dataclass(frozen=True, slots=True)
class Job:
    """Job of a plug: what makes it of a name, its cases, and what asks it one; None is no question for it."""

    resolve: Callable[[str], Any]
    cases: Callable[[], list[dict[str, Any]]]
    ask: Callable[[Any, dict[str, Any], Nearest], Right | None]


def main() -> None:
    """Try all plugs, and print what they did."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, metavar="URL", help="a server of Ollama's API")
    parser.add_argument("--name", default="qwen", help="the model's name there")
    parser.add_argument("--limit", type=int, default=60, help="calls of each plug at most")
    parser.add_argument("--only", nargs="+", choices=JOBS, help="only these plugs")
    parser.add_argument("--show", action="store_true", help="print each answer that is not right")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("answers.cache"),
        help="keeps answers, and vectors beside",
    )
    args = parser.parse_args()
    table = Table(title=f"jobs by {args.name}")
    for column in ("plug", "calls", "parsed", "right", "without the plug", "seconds (median)"):
        table.add_column(column)
    with home(None), Relay(args.model, args.cache) as relay:
        os.environ["OLLAMA_HOST"] = relay.url
        near = Nearest(CachedEmbedder(args.cache.with_suffix(".vectors")))
        for name in args.only or JOBS:
            job = JOBS[name]
            plug, cases = job.resolve(f"ollama:{args.name}"), job.cases()
            asked = random.Random(SEED).sample(cases, len(cases))[: args.limit]
            progress = track(asked, name, console=Console(stderr=True))
            every = [one(job, plug, row, near, relay, show=args.show) for row in progress]
            tried = [each for each in every if each is not None]
            parsed, known = (
                [each for each in tried if each.parsed],
                [e.without for e in tried if e.without is not None],
            )
            table.add_row(
                name, str(len(tried)), interval(len(parsed), len(tried)),
                f"{statistics.mean(each.right for each in tried):.2f}",
                f"{statistics.mean(known):.2f}" if known else "",
                f"{statistics.median(each.seconds for each in tried):.1f}",
            )  # fmt: skip
    Console(width=130).print(table)


def one(
    job: Job, plug: Any, row: dict[str, Any], near: Nearest, relay: Relay, *, show: bool = False
) -> Tried | None:
    """Ask once."""
    relay.taken()
    try:
        answer, error = job.ask(plug, row, near), ""
    except ModelError as raised:
        answer, error = (0.0, None), str(raised)
    exchanges = relay.taken()
    if show and answer is not None and answer[0] < 1:
        print(answer[0], row, error, *(each.answer for each in exchanges), sep="\n  ", flush=True)
    return (
        None
        if answer is None
        else Tried(not error, *answer, sum(each.seconds for each in exchanges))
    )


def words(text: str) -> set[str]:
    """The words of a text, plurals as singulars."""
    return {word.removesuffix("s") for word in plain(text).split()}


def tag(tagger: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right is the share of tags of which a level is one that a person would give; without, the tags of "keywords"."""
    return _fitting(tagger.tags(row["text"]), row), _fitting(KEYWORDS.tags(row["text"]), row)


def _fitting(tags: Sequence[str], row: dict[str, Any]) -> float:
    accepted = [words(each) for each in row["tags"]]
    levels = [[words(level) for level in found.split(":")] for found in tags]
    fitting = [any(level & each for level in found for each in accepted) for found in levels]
    return statistics.mean(fitting) if fitting else 0.0


def propose(propositioner: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right is the share of expected facts most of whose words stand in one of the answer."""
    stated = [words(fact) for fact in propositioner.facts(row["text"], speaker="The user")]
    expected = [words(fact) for fact in row["facts"]]
    return statistics.mean(
        any(len(each & fact) >= COVERED * len(each) for fact in stated) for each in expected
    ), None


def summarize(summarizer: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when half of the words of a summary stand in the lines about a conversation of one message."""
    summary = " ".join(summarizer.lines([row["text"]])).casefold()
    return float(
        sum(word.casefold() in summary for word in row["gist"]) >= len(row["gist"]) / 2
    ), None


def judge(judge: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when the later saying replaces the earlier one where a person says so, and nowhere else."""
    earlier, later = (
        DatedSaying(row["earlier"], worlds.BEGAN),
        DatedSaying(row["later"], worlds.BEGAN + timedelta(days=60)),
    )
    named = judge.no_longer(later, [earlier], seconds=SECONDS)
    return float((named is not None) == (row["relation"] == "replaces")), None


def judge_of_ten(judge: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when it names a former saying that is replaced, and no other one; without, as the reader acts by default."""
    began = worlds.BEGAN
    now, *earlier = (
        DatedSaying(text, began + timedelta(days=day))
        for day, text in (row["now"], *row["earlier"])
    )
    place = judge.no_longer(now, earlier, seconds=SECONDS)
    named = set() if place is None else {earlier[place].text}
    judged = embedded_reader().replaced([(now.text, each.text) for each in earlier])
    acted = {
        each.text for each, sure in zip(earlier, judged, strict=True) if sure >= worlds.THRESHOLD
    }
    return tuple(float(_is_right(found, row)) for found in (named, acted))  # type: ignore[return-value]


def _is_right(chosen: set[str], row: dict[str, Any]) -> bool:
    return not chosen - row["replaced"] - row["open"] and bool(chosen & row["replaced"]) == bool(
        row["replaced"]
    )


def contradiction(judge: Any, row: dict[str, Any], _: Nearest) -> Right:
    """Right when a summary that replaces another one contradicts it, and no other does; without, by the rules."""
    expected = row["relation"] == "replaces"
    reasons = (judge(row["later"], row["earlier"]), by_rules(row["later"], row["earlier"]))
    return tuple(float((why is not None) == expected) for why in reasons)  # type: ignore[return-value]


def reader(reader: Any, row: dict[str, Any], near: Nearest) -> Right:
    """Right when it says that texts answer a question where the fact is among them, and nowhere else."""
    shown = near.to([row["question"]])[:READ]
    if "told" in row and row["told"] not in shown:
        shown[-1] = row["told"]
    return float(bool(read(reader, row["question"], shown)) == ("told" in row)), None


def expand(expander: Any, row: dict[str, Any], near: Nearest) -> Right:
    """Right when the fact is among the three nearest; without the plug, by the question alone."""
    question = row["question"]
    more = expander.questions(question, seconds=SECONDS)
    both, alone = (
        float(row["told"] in near.to(asked)[:FIRST]) for asked in ([question, *more], [question])
    )
    return both, alone


def rerank(reranker: Any, row: dict[str, Any], near: Nearest) -> Right | None:
    """Right when the fact is first of the eight nearest; without the plug, as the cosine has them. Only where it is among them."""
    shown = near.to([row["question"]])[:SHOWN]
    if row["told"] not in shown:
        return None
    order = reranker.order(row["question"], shown, [0.0] * len(shown), seconds=SECONDS)
    return float(shown[order[0]] == row["told"]), float(shown[0] == row["told"])


def of_file(name: str) -> Callable[[], list[dict[str, Any]]]:
    """The rows of a file as cases."""
    return functools.partial(rows, name)


def of_worlds(file: str, *, changed: bool) -> Callable[[], list[dict[str, Any]]]:
    """Messages of a file of worlds, each with the earlier ones that the job would show a judge."""

    def cases() -> list[dict[str, Any]]:
        result = []
        for world in worlds.read(worlds.FILES[file]):
            texts = [text for _, text in world.messages]
            vectors = np.asarray(worlds.vectors(texts))
            cosines = vectors @ vectors.T
            last = {fact.then[-1] for fact in world.facts if bool(fact.former) == changed}
            for newer in (at for at, text in enumerate(texts) if text in last):
                near = [
                    at
                    for at in worlds._nearest(texts, cosines[newer], newer)
                    if at < newer and texts[at] != texts[newer]
                ]
                is_replaced = {at: world.supersedes(at, newer) for at in near}
                if near and any(is_replaced.values()) == changed:
                    result.append({
                        "now": world.messages[newer], "earlier": [world.messages[at] for at in near],
                        "replaced": {texts[at] for at in near if is_replaced[at]},
                        "open": {texts[at] for at in near if is_replaced[at] is None},
                    })  # fmt: skip
        return result

    return cases


def _model(name: str) -> Any:
    chat = chat_model_of(name)
    assert chat is not None
    return chat.load()


JOBS = {
    "tagger": Job(resolve_tagger, of_file("jobs.jsonl"), tag),
    "propositioner": Job(resolve_propositioner, of_file("jobs.jsonl"), propose),
    "summarizer": Job(resolve_summarizer, of_file("jobs.jsonl"), summarize),
    "judge": Job(resolve_judge, of_file("changes.jsonl"), judge),
    "ten-changed": Job(resolve_judge, of_worlds("held-out", changed=True), judge_of_ten),
    "ten-stayed": Job(resolve_judge, of_worlds("held-out", changed=False), judge_of_ten),
    "ten-changed-dev": Job(resolve_judge, of_worlds("development", changed=True), judge_of_ten),
    "ten-stayed-dev": Job(resolve_judge, of_worlds("development", changed=False), judge_of_ten),
    "contradiction": Job(
        lambda name: ChatJudge(_model(name)), of_file("changes.jsonl"), contradiction
    ),
    "reader": Job(
        lambda name: ChatReader(_model(name)),
        lambda: [*rows("facts.jsonl"), *rows("unanswerable.jsonl")],
        reader,
    ),
    "expander": Job(resolve_expander, of_file("facts.jsonl"), expand),
    "reranker": Job(resolve_reranker, of_file("facts.jsonl"), rerank),
}

if __name__ == "__main__":
    main()
