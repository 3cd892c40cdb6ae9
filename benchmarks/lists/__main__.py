"""Measure what of a list recall finds among ten hits, and whether the ten are of different matters.

    python -m benchmarks.lists
    python -m benchmarks.lists --half training

The two worlds, `home.txt` and `platform.txt`, are in the form of benchmarks.chats: one for looking, one for the last word. The
items of a list are each said once, in other words than the question's. A message and the reply to it are one matter: `matters@10`
is how many different ones the ten hits are of. Beside the evidence of the question as it is asked, that of the question without the
words by which it asks for a list ("list all", "everything") is shown.
"""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import chats
from benchmarks import retrieval_sets as sets
from benchmarks.plugs import units
from benchmarks.retrieval import home
from benchmarks.retrieval_measures import interval, measured
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Recall, shutdown

MEASURES = ("any@1", "fraction@10", "mrr", "matters@10")
# How a list is asked for.
_ASKED = re.compile(
    r"^\W*(?:(?:please |can you |could you )?(?:list|name|show me|give me|tell me|what are|which are)\b(?: a list of)?)?"
    r"\W*(?:\b(?:all|every|everything|everybody|each)\b(?: of| the| that| who| about)*)?\s*",
    re.IGNORECASE,
)


def main() -> None:
    """Ask all questions of both worlds, and print a table for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=(chats.TRAINING, chats.TEST), help="both unless given")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    parser.add_argument(
        "--home", type=Path, help="where the private server lives; a temporary folder unless given"
    )
    parser.add_argument(
        "--misses", action="store_true", help="also what of each list was not found"
    )
    args = parser.parse_args()
    embedder = CachedEmbedder(args.cache, "minilm") if args.cache else None
    with home(args.home):
        for half, case in worlds(args.half):
            Console(width=130).print(*measure(half, case, embedder, misses=args.misses))
        shutdown()


def worlds(half: str | None) -> Iterator[tuple[str, sets.Case]]:
    """The worlds with their halves."""
    for part, name in ((chats.TRAINING, "home.txt"), (chats.TEST, "platform.txt")):
        if half in (None, part):
            yield part, chats.read(Path(__file__).with_name(name))


def measure(
    half: str, case: sets.Case, embedder: CachedEmbedder | None, *, misses: bool
) -> Iterator[Table | str]:
    """The figures of one world, with what was missed where that is wanted."""
    filled = CaseMemory(case, tenant=f"lists-{secrets.token_hex(4)}", embedder=embedder)
    filled.fill()
    shown = Table(
        title=f"{case.name}, {half}: {len(case.questions)} lists, in %, matters@10 of ten, with 95 % intervals"
    )
    for column in ("asked", *MEASURES):
        shown.add_column(column, justify="left" if column == "asked" else "right")
    texts = {message.unit: message.content for message in case.messages}
    for name, form in (
        ("as it is", str),
        ("without the words that ask for a list", without_request),
    ):
        rows = []
        for question in case.questions:
            result = filled.memory.recall(form(question.text), hold=False)
            gold = question.gold[sets.TURN]
            rows.append(measured(gold, units(result)) | {"matters@10": matters(result, case) / 10})
            if misses and form is str:
                there = {unit for hit in units(result) for unit in hit}
                yield f"{question.text} {rows[-1]['fraction@10']:.2f}"
                yield from (f"    missed: {texts[unit][:100]}" for unit in sorted(gold - there))
        shown.add_row(name, *(_figure([row[measure] for row in rows]) for measure in MEASURES))
    filled.empty()
    yield shown


def without_request(question: str) -> str:
    """The question without the words by which it asks for a list."""
    return _ASKED.sub("", question, count=1) or question


def matters(result: Recall, case: sets.Case) -> int:
    """Count the exchanges that the hits are of: what somebody said, with the reply."""
    matter, of = 0, dict[str, int]()
    for message in case.messages:
        matter += message.role == "user"
        of[message.unit] = matter
    return len({of[hit[0]] for hit in units(result)})


def _figure(values: list[float]) -> str:
    mean, low, high = (100 * each for each in interval(values))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
