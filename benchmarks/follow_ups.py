"""Measure what recall finds for a question that leans on the one before it.

    python -m benchmarks.follow_ups --locomo PATH [--limit N]

Two kinds of pairs are made of the questions of LoCoMo. *Another topic*: the second question is about the same person and mostly
about something else, and says "she" or "he" for the name. *The same topic*: both have evidence in common, and the second one is
"and …" without the words that the first one has. Each second question is searched for alone; in full, which is after the first
one; and as the adapters do, by what `queries_of` makes of it. For comparison: the second question as it was published. Then it
is counted which of the published questions, all of which stand by themselves, are taken for such as lean on another one.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.retrieval import home
from benchmarks.retrieval_measures import interval
from benchmarks.retrieval_sets import TURN, Case, Question, locomo
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Hit, Memory
from htm_core.prompt.follow_ups import SaidBefore, fused, queries_of
from htm_core.prompt.leaning_questions import asks_further, meaning

SHOWN = 8  # hits that a prompt shows
DEPTH = 20  # hits of a query
NEAR = 30  # questions back in the set, among which one of the same topic is looked for
STEM = 5  # letters that two words have in common
WOMEN = ("Audrey", "Caroline", "Deborah", "Gina", "Jean", "Jolene", "Joanna", "Maria", "Melanie")
ALONE, FULL, BUILT, PUBLISHED = "alone", "in full", "as the adapters do", "as published"
OTHER, SAME = "another topic", "the same topic"


def main() -> None:
    """Ask every pair each way, and print how much of the evidence is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, required=True, metavar="PATH")
    parser.add_argument("--limit", type=int, help="conversations at most")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    places: dict[tuple[str, str], list[int | None]] = {}
    taken, asked = list[str](), 0
    with home(None):
        embedder = CachedEmbedder(args.cache) if args.cache else None
        for case in islice(locomo(args.locomo), args.limit):
            taken += [each.text for each in case.questions if asks_further(each.text)]
            asked += len(case.questions)
            held = CaseMemory(case, tenant="follow-ups", embedder=embedder)
            held.fill()
            for kind, made in ((OTHER, another_topic(case)), (SAME, same_topic(case))):
                for before, question, leaning in made:
                    for name, hits in answers(held.memory, before, leaning, question.text).items():
                        places.setdefault((kind, name), []).append(place(hits, question))
    table = Table("pair", "searched", "pairs", "any@1", f"any@{SHOWN}", "MRR")
    for (kind, name), ranks in places.items():
        table.add_row(
            kind, name, str(len(ranks)),
            share([float(at == 1) for at in ranks]),
            share([float(at is not None and at <= SHOWN) for at in ranks]),
            share([1 / at if at else 0.0 for at in ranks]),
        )  # fmt: skip
    console = Console(width=120)
    console.print(table)
    console.print(
        f"taken for one that leans on another: {len(taken)} of {asked}", *taken, sep="\n  "
    )


def another_topic(case: Case) -> Iterator[tuple[str, Question, str]]:
    """A question, the next one about the same person and no other, and that one with a pronoun for the name."""
    names = sorted({message.name for message in case.messages if message.name})
    last: dict[str, str] = {}
    for question in case.questions:
        mentioned = [name for name in names if re.search(rf"\b{name}\b", question.text)]
        if len(mentioned) != 1:
            continue
        [name] = mentioned
        if name in last:
            whose, who = ("her", "she") if name in WOMEN else ("his", "he")
            leaning = re.sub(rf"\b{name}['\u2019]s?(?!\w)", whose, question.text)
            yield last[name], question, re.sub(rf"\b{name}\b", who, leaning)
        last[name] = question.text


def same_topic(case: Case) -> Iterator[tuple[str, Question, str]]:
    """An earlier question with evidence in common, the question, and "and …" with the words that the earlier one has not."""
    for at, question in enumerate(case.questions):
        for before in case.questions[max(0, at - NEAR) : at]:
            known = {word.lower()[:STEM] for word in meaning(before.text)}
            words = meaning(question.text)
            common = [word for word in words if word.lower()[:STEM] in known]
            if (
                before.gold[TURN] & question.gold[TURN]
                and len(common) >= 2
                and len(words) - len(common) <= 3
            ):
                left = question.text
                for word in common:
                    left = re.sub(rf"\b{re.escape(word)}\b", "", left)
                yield before.text, question, f"and {' '.join(left.split())}"
                break


def answers(memory: Memory, before: str, leaning: str, published: str) -> dict[str, Sequence[Hit]]:
    """The hits for a question, by how it is searched for."""

    def recalled(query: str) -> Sequence[Hit]:
        return memory.recall(query, limit=DEPTH, hold=False).hits

    results = [
        recalled(query) for query in queries_of(leaning, [SaidBefore(before, by_person=True)])
    ]
    built = fused(results, id_of=lambda hit: hit.id, worth=lambda hit: (hit.relevance, hit.score))
    return {
        ALONE: recalled(leaning),
        FULL: recalled(f"{before} {leaning}"),
        BUILT: built if len(results) > 1 else results[0],
        PUBLISHED: recalled(published),
    }


def place(hits: Sequence[Hit], question: Question) -> int | None:
    """The place of the first hit that is evidence."""
    for at, hit in enumerate(hits, 1):
        if question.gold[TURN] & {str(mention.metadata["unit"]) for mention in hit.mentions}:
            return at
    return None


def share(values: Sequence[float]) -> str:
    """A mean in percent, with its interval."""
    return "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * each for each in interval(values)))


if __name__ == "__main__":
    main()
