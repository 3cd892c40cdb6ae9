"""The demonstration: a conversation far longer than working memory goes in, and the right old memory comes back."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.rule import Rule

from ..memory import Memory
from ..rules.transcripts.read import read
from ..samples import Question, conversation, questions
from ..settings import home
from ..types import Context, Eviction, Recall, Stats
from .importing import Format, Imported, Source, remember_all, source_of, wait_for_vectors
from .json_output import answer
from .options import Whose
from .rendering import aside, bar, console, framed, pairs, recalled, shown, table
from .setup import have_model

TENANT = "demo"
BUDGET = 1_000
BATCH = 8  # turns at once, so that working memory is seen to move on
EXAMPLES = 5
SAMPLE = "sample"
_ASKS = re.compile(r"(?:\S+\s+){3,}\S+\?")

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Memories recalled for each question.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question, and what was recalled for it."""

    question: str
    timeframe: str | None
    recall: Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All that the demonstration has to show."""

    transcript: Imported
    evicted: int
    examples: Sequence[Eviction]
    stats: Stats
    answers: Sequence[Answered]
    context: Context
    seconds: float


def demo(
    whose: Whose,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A transcript of yours.")] = None,
    format: Annotated[Format, typer.Option("--format", help="What FILE is written in.")] = Format.auto,
    ask: Annotated[list[str] | None, typer.Option("--ask", help="Ask this; may be repeated.")] = None,
    limit: Limit = 3,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens of working memory.")] = BUDGET,
) -> None:
    """See it work: half a year of talk under a working memory of 1,000 tokens, and questions about it."""
    started = time.monotonic()
    source = sample() if file is None else source_of(file, format=format)
    page = _Page(whose)
    page.tell(f"htm-memory remembers {source.turns:,} turns with {budget:,} tokens in mind")
    have_model(whose)
    receipts: list[Eviction] = []
    robot = whose.robot or source.name
    with whose.memory(robot=robot, works=True, budget=budget, on_evict=receipts.append) as memory:
        page.server(memory)
        with bar() as progress:
            result = remember_all(memory, source, whose=whose, works=True, batch=BATCH, progress=progress)
        page.imported(result, memory.stats(), receipts)
        wait_for_vectors(memory)
        asked = [Question(question=each, expect="") for each in ask or ()] or (
            questions() if file is None else own_questions(source)
        )
        answers = [page.answered(question, inquire(memory, question, robot=robot, limit=limit)) for question in asked]
        context = memory.context(order="recent")
        stats = memory.stats()
    page.finish(
        Shown(
            transcript=result, evicted=len(receipts), examples=examples(receipts), stats=stats, answers=answers,
            context=context, seconds=round(time.monotonic() - started, 3),
        )
    )  # fmt: skip


def sample() -> Source:
    """The conversation that comes with the package."""
    transcript = read("\n".join(json.dumps(turn) for turn in conversation()), name=SAMPLE)
    return Source(name=SAMPLE, format=transcript.format, turns=len(transcript), drafts=lambda: iter(transcript))


def own_questions(source: Source) -> list[Question]:
    """Questions for a transcript of one's own: the first three that somebody asks in it."""
    said = (" ".join(draft.content.split()) for draft in source.drafts() if draft.role in (None, "user"))
    found = [text for text in said if _ASKS.fullmatch(text) and len(text) <= 200]
    return [Question(question=text, expect="") for text in found[:3]]


def inquire(memory: Memory, question: Question, *, robot: str, limit: int) -> Recall:
    """Recall what this transcript's robot heard."""
    return memory.recall(question.question, timeframe=question.timeframe, robot=robot, limit=limit)


def examples(receipts: Sequence[Eviction]) -> list[Eviction]:
    """A few receipts from all over."""
    step = max(1, len(receipts) // EXAMPLES)
    return list(receipts[::step][:EXAMPLES])


class _Page:
    """What a person sees as it happens; a program gets all of it at the end."""

    def __init__(self, whose: Whose) -> None:
        self._whose = whose
        self._console = aside() if whose.json else console()
        self._quiet = whose.json

    def tell(self, title: str) -> None:
        """Begin a part."""
        if not self._quiet:
            self._console.print(Rule(shown(title), align="left", style="dim"))

    def server(self, memory: Memory) -> None:
        """Reach the database, which the first time is made."""
        began = time.monotonic()
        with aside().status("Starting PostgreSQL…"):
            version = memory.stats().server
        private = self._whose.runtime(works=True).database.is_embedded
        kind = f"private, in {home()}" if private else "at your url"
        if not self._quiet:
            self._console.print(f"PostgreSQL {version}, {kind}, ready in {time.monotonic() - began:.1f} s")

    def imported(self, result: Imported, stats: Stats, receipts: Sequence[Eviction]) -> None:
        """Show what went in, and what left working memory for it."""
        if self._quiet:
            return
        self._console.print(pairs(_figures(result, stats, len(receipts))))
        if receipts:
            made = table("tokens", "evicted, for example; all of it stays in long-term memory", right=("tokens",))
            for each in examples(receipts):
                made.add_row(str(each.item.tokens), shown(each.item.content, longest=160))
            self._console.print(made)

    def answered(self, question: Question, found: Recall) -> Answered:
        """Show what was recalled for a question."""
        if not self._quiet:
            show_recall(self._console, question, found)
        return Answered(question=question.question, timeframe=question.timeframe, recall=found)

    def finish(self, all: Shown) -> None:
        """Show the context, and what to do next."""
        if self._quiet:
            answer(all)
            return
        self._console.print(framed(all.context, budget=all.stats.budget))
        self._console.print(f'{all.seconds:.1f} s. Keep asking: htm ask "…"   Your own talk: htm demo FILE')


def show_recall(to: Console, question: Question, found: Recall) -> None:
    """Show a question and what was recalled for it, the expected words marked."""
    when = f"  ({question.timeframe})" if question.timeframe else ""
    to.print(shown(f"\n? {question.question}{when}"), style="bold cyan")
    to.print(recalled(found, marked=question.expect or None) if found else "  Nothing was found.")
    if found.degraded:
        to.print(shown(found.degraded), style="yellow")


def _figures(result: Imported, stats: Stats, evicted: int) -> list[tuple[str, str]]:
    span = f"{stats.oldest:%d %b %Y} to {stats.newest:%d %b %Y}" if stats.oldest and stats.newest else "no time"
    known = f", {result.known:,} were known already" if result.known else ""
    return [
        ("imported", f"{result.imported + result.changed:,} of {result.turns:,} turns{known}; {span}"),
        ("in mind", f"{stats.working_items:,} memories, {stats.working_tokens:,} of {stats.budget:,} tokens"),
        ("evicted", f"{evicted:,} this time; {stats.nodes:,} memories are in long-term memory"),
    ]
