"""Measure what reaches the model: `python -m benchmarks.reach [--locomo PATH] [--longmemeval PATH] [--surfaces] [--cache FILE]`.

For every question: is the right fact, when it is among the first eight of recall, in the text that the model is shown, and
how many tokens of recalled text is it shown? Answerable questions, near misses and foreign prompts are counted apart. Then the
curve: the share of right facts shown, and the tokens for foreign prompts, when only hits above a score are shown (as before),
and as relevance decides. A fact counts as shown when its text, its best passage or an excerpt of it stands in the request.

With --surfaces the same questions go through each surface with a scripted model, and its request is read: LangChain's
middleware and `with_memory`, LlamaIndex's memory and block, and the palace.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import retrieval_sets
from benchmarks.recalled import (
    ANSWERABLE,
    FOREIGN_KIND,
    NEAR_MISS,
    Recalled,
    evaluator,
    facts,
    paraphrases,
    published,
    recalled,
)
from benchmarks.retrieval import home
from benchmarks.retrieval_systems import CachedEmbedder
from htm_core import Hit
from htm_core.models.tokenizers import default_tokens
from htm_core.prompt.recalled_block import EXCERPT, SHORTEST, Passage, build_block, passage_of
from htm_core.text.excerpts import excerpt
from htm_langchain import HTMMemoryMiddleware

# What the middleware does by default.
_DEFAULTS = inspect.signature(HTMMemoryMiddleware).parameters
LIMIT, ROOM = _DEFAULTS["recall_limit"].default, _DEFAULTS["recall_budget"].default
TOKEN = "593027461885102"
SCORES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
Shown = Callable[[Recalled], str]


def main() -> None:
    """Recall every question once, and print what each way of showing makes of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--limit", type=int, default=20, help="questions of LongMemEval at most")
    parser.add_argument(
        "--surfaces", action="store_true", help="also through each surface, with a scripted model"
    )
    parser.add_argument(
        "--without-reader", action="store_true", help="recall in the order of the search"
    )
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    with home(None):
        embedder = CachedEmbedder(args.cache) if args.cache else None
        sets: dict[str, list[Recalled]] = {}
        reader = not args.without_reader
        for name, cases in chosen(args):
            sets[name] = list(recalled(list(cases), embedder=embedder, limit=LIMIT, reader=reader))
        console = Console(width=150)
        console.print(table("shown as relevance decides", sets, block))
        console.print(curve(sets))
        if args.surfaces:
            from benchmarks.reach_surfaces import surfaces

            console.print(surfaces(embedder))


def chosen(args: argparse.Namespace) -> Iterator[tuple[str, Iterator[retrieval_sets.Case]]]:
    """Give the sets by name: this project's own, and those whose paths are given."""
    yield "paraphrases, told alone", paraphrases()
    yield "paraphrases, in 21 sessions", paraphrases(sessions=21)
    yield "facts and small talk", facts(groups_in_one=8)
    yield "evaluator one", evaluator("evaluator_one")
    yield "evaluator two", evaluator("evaluator_two")
    if args.locomo:
        yield "LoCoMo", published(retrieval_sets.locomo(args.locomo))
    if args.longmemeval:
        yield (
            "LongMemEval",
            islice(published(retrieval_sets.longmemeval(args.longmemeval)), args.limit),
        )


_count = default_tokens()


def count(text: str) -> int:
    """Count tokens as a memory does by default."""
    return _count(text)


def block(row: Recalled) -> str:
    """Give the block of a prompt as the adapters make it."""
    return shown_of([passage_of(hit) for hit in row.recall], row.question)


def above(score: float) -> Shown:
    """Show the hits of at least this score, whole, as the adapters did before."""

    def show(row: Recalled) -> str:
        passages = [passage_of(hit) for hit in row.recall if hit.score >= score]
        return shown_of(
            [Passage(each.text, each.best, each.label, each.tokens) for each in passages],
            row.question,
        )

    return show


def shown_of(passages: Sequence[Passage], question: str) -> str:
    """Give the block of these passages."""
    return build_block(
        passages, question=question, token=TOKEN, shown=(), limit=LIMIT, room=ROOM, count=count
    )  # fmt: skip


def stands_in(hit: Hit, question: str, text: str) -> bool:
    """True if the words of a hit, or of its excerpt, stand in a text."""
    indented = [part.replace("\n", "\n  ") for part in (hit.content, hit.passage)]
    excerpts = [
        excerpt(hit.passage, question, longest=longest).replace("\n", "\n  ")
        for longest in (EXCERPT, SHORTEST)
    ]
    return any(part in text for part in [*indented, *excerpts])


def reached(rows: Sequence[Recalled], show: Shown) -> tuple[int, int]:
    """Give how many right facts the model is shown, of how many that recall has."""
    had = shown = 0
    for row in rows:
        right = [hit for place, hit in enumerate(row.recall) if row.right(place)]
        if row.kind == ANSWERABLE and right:
            text = show(row)
            had += 1
            shown += any(stands_in(hit, row.question, text) for hit in right)
    return shown, had


def tokens(rows: Sequence[Recalled], show: Shown, kind: str) -> str:
    """Give the median and the 90th percentile of the tokens that are shown for questions of a kind."""
    spent = sorted(count(text) if (text := show(row)) else 0 for row in rows if row.kind == kind)
    return (
        f"{statistics.median(spent):.0f} / {spent[int(0.9 * (len(spent) - 1))]}" if spent else "-"
    )


def table(title: str, sets: dict[str, list[Recalled]], show: Shown) -> Table:
    """Give one row for each set."""
    made = Table(title=title)
    for column in ("set", "questions", "in recall's first 8", "of these shown, %"):
        made.add_column(column)
    for kind in (ANSWERABLE, NEAR_MISS, FOREIGN_KIND):
        made.add_column(f"tokens, {kind.replace('_', ' ')} (p50 / p90)")
    for name, rows in sets.items():
        shown, had = reached(rows, show)
        asked = sum(row.kind == ANSWERABLE for row in rows)
        spent = [tokens(rows, show, kind) for kind in (ANSWERABLE, NEAR_MISS, FOREIGN_KIND)]
        made.add_row(name, str(asked), str(had), f"{100 * shown / max(1, had):.1f}", *spent)
    return made


def curve(sets: dict[str, list[Recalled]]) -> Table:
    """Give the share of right facts that is shown against the tokens for foreign prompts, by threshold."""
    made = Table(title="right facts shown, % (median tokens for a foreign prompt)")
    made.add_column("set")
    for score in SCORES:
        made.add_column(f"score ≥ {score:g}")
    made.add_column("relevance")
    for name, rows in sets.items():
        cells = []
        for show in [*map(above, SCORES), block]:
            shown, had = reached(rows, show)
            cells.append(
                f"{100 * shown / max(1, had):.1f} ({tokens(rows, show, FOREIGN_KIND).partition(' ')[0]})"
            )
        made.add_row(name, *cells)
    return made


if __name__ == "__main__":
    main()
