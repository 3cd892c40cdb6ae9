"""`htm demo`: imports a conversation far longer than working memory, then recalls the right old
memories.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.rule import Rule

from ..base.errors import ModelError
from ..base.settings import home
from ..base.types import Context, Eviction, Recall, Stats
from ..importers import Source, read, source_of
from ..memory.memory import Memory
from ..prompt.overview import hits_block
from ..reading.readers import reads_prompts
from .chat.command import needs_agents
from .hits import BUDGET, AnsweredQuestion, show_answer
from .import_report import ImportedTranscript
from .importing import Format, import_source, wait_for_vectors
from .options import CommonOptions
from .rendering import (
    context_panel,
    key_value_table,
    make_table,
    print_json,
    printable,
    progress_bar,
    stderr_console,
    stdout_console,
)
from .samples import Question, conversation, questions
from .setup import ensure_weights

BATCH = 8  # turns at once, so that working memory visibly changes
EXAMPLES = 5
SAMPLE = "sample"
_ASKS = re.compile(r"(?:\S+\s+){3,}\S+\?")

Limit = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=1000, help="Memories recalled for each question.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """All results of the demonstration."""

    transcript: ImportedTranscript
    evicted: int
    examples: Sequence[Eviction]
    stats: Stats
    answers: Sequence[AnsweredQuestion]
    context: Context
    seconds: float


def demo(
    common: CommonOptions,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Your own transcript.")
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="What FILE is written in.")
    ] = Format.auto,
    ask: Annotated[
        list[str] | None, typer.Option("--ask", help="Ask this; may be repeated.")
    ] = None,
    limit: Limit = 3,
    budget: Annotated[
        int, typer.Option("--budget", min=1, help="Tokens of working memory.")
    ] = BUDGET,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Let this model answer, too, as ollama:llama3.2."),
    ] = None,
) -> None:
    """See it work: half a year of conversation, a working memory of 1,000 tokens, and questions
    about it.
    """
    started = time.monotonic()
    answer = None if model is None else _answering(model)
    source = sample() if file is None else source_of(file, format=format.value)
    report = _Report(common)
    report.heading(
        f"htm-memory remembers {source.turns:,} turns with {budget:,} tokens of working memory"
    )
    ensure_weights(common)
    receipts: list[Eviction] = []
    robot = common.robot or source.name
    with common.memory(robot=robot, works=True, budget=budget, on_evict=receipts.append) as memory:
        report.server(memory)
        with progress_bar() as progress:
            result = import_source(
                memory, source, common=common, works=True, batch=BATCH, progress=progress
            )
        report.imported(result, memory.stats(), receipts)
        wait_for_vectors(memory)
        asked = [Question(question=each, expect="") for each in ask or ()] or (
            questions() if file is None else own_questions(source)
        )
        answers = []
        for question in asked:
            hits = recall_question(memory, question, robot=robot, limit=limit)
            answers.append(
                report.answered(question, hits, answer and answer(memory, question.question, hits))
            )
        context = memory.context(order="recent")
        stats = memory.stats()
    report.finish(
        DemoResult(
            transcript=result,
            evicted=len(receipts),
            examples=examples(receipts),
            stats=stats,
            answers=answers,
            context=context,
            seconds=round(time.monotonic() - started, 3),
        )
    )


def sample() -> Source:
    """The conversation that comes with the package."""
    transcript = read("\n".join(json.dumps(turn) for turn in conversation()), name=SAMPLE)
    return Source(
        name=SAMPLE,
        format=transcript.format,
        turns=len(transcript),
        drafts=lambda: iter(transcript),
    )


def fill_with_sample(common: CommonOptions) -> None:
    """Import the conversation that comes with the package, as far as it is not known yet, and make
    its vectors.
    """
    source = sample()
    ensure_weights(common)
    with common.memory(robot=common.robot or source.name, works=True, budget=BUDGET) as memory:
        if not stderr_console().is_terminal and not memory.stats().nodes:  # a terminal has a bar
            stderr_console().print(
                f"Importing the sample conversation of {source.turns:,} turns, which takes some "
                "seconds."
            )
        with progress_bar() as progress:
            import_source(memory, source, common=common, works=True, batch=BATCH, progress=progress)
        wait_for_vectors(memory)


def own_questions(source: Source) -> list[Question]:
    """Questions for the user's own transcript: the first three that somebody asks in it."""
    texts = (
        " ".join(draft.content.split()) for draft in source.drafts() if draft.role in (None, "user")
    )
    candidates = [text for text in texts if _ASKS.fullmatch(text) and len(text) <= 200]
    return [Question(question=text, expect="") for text in candidates[:3]]


def recall_question(memory: Memory, question: Question, *, robot: str, limit: int) -> Recall:
    """Recall among the memories of this transcript's robot."""
    return memory.recall(
        question.question,
        timeframe=question.timeframe,
        robot=robot,
        limit=limit,
        reader=reads_prompts(None),
    )


def _answering(name: str) -> Callable[[Memory, str, Recall], str]:
    """Return a function by which this model answers a question from what was recalled for it;
    nothing of it is remembered.
    """
    with needs_agents("htm demo --model"):
        from ..models.chat_models import explained
        from .chat.command import chat_model
    model = chat_model(name)

    def answer(memory: Memory, question: str, hits: Recall) -> str:
        """Ask the model."""
        block = hits_block(memory, hits, question=question, limit=len(hits), room=BUDGET)
        try:
            with stderr_console().status(printable(f"Waiting for {name}")):
                return str(model.invoke(f"{block}\n\n{question}").text)
        except Exception as error:  # each provider's package has errors of its own
            raise ModelError(f"the model failed: {explained(name, error)}") from None

    return answer


def examples(receipts: Sequence[Eviction]) -> list[Eviction]:
    """A few receipts, evenly spread over all of them."""
    step = max(1, len(receipts) // EXAMPLES)
    return list(receipts[::step][:EXAMPLES])


class _Report:
    """Prints each step as it happens; with --json it prints everything at the end instead."""

    def __init__(self, common: CommonOptions) -> None:
        self._common = common
        self._console = stderr_console() if common.json else stdout_console()
        self._quiet = common.json

    def heading(self, title: str) -> None:
        """Print a heading."""
        if not self._quiet:
            self._console.print(Rule(printable(title), align="left", style="dim"))

    def server(self, memory: Memory) -> None:
        """Open the database, which is created on first use, and say where it is."""
        began = time.monotonic()
        with stderr_console().status("Starting PostgreSQL…"):
            version = memory.stats().server
        private = self._common.runtime(works=True).database.is_embedded
        kind = f"private, in {home()}" if private else "at your url"
        if not self._quiet:
            self._console.print(
                f"PostgreSQL {version}, {kind}, ready in {time.monotonic() - began:.1f} s"
            )

    def imported(
        self, result: ImportedTranscript, stats: Stats, receipts: Sequence[Eviction]
    ) -> None:
        """Show what was imported, and what was evicted from working memory."""
        if self._quiet:
            return
        self._console.print(key_value_table(_figures(result, stats, len(receipts))))
        if receipts:
            made = make_table(
                "tokens",
                "examples of what was evicted; all of it stays in long-term memory",
                right=("tokens",),
            )
            for receipt in examples(receipts):
                made.add_row(str(receipt.item.tokens), printable(receipt.item.content, longest=160))
            self._console.print(made)

    def answered(self, question: Question, hits: Recall, answer: str | None) -> AnsweredQuestion:
        """Show what was recalled for a question, and the answer of a model that was asked."""
        answered = AnsweredQuestion(
            question=question.question, timeframe=question.timeframe, recall=hits, answer=answer
        )
        if not self._quiet:
            show_answer(self._console, answered, marked=question.expect or None)
        return answered

    def finish(self, all: DemoResult) -> None:
        """Show the context, and suggest what to do next."""
        if self._quiet:
            print_json(all)
            return
        self._console.print(context_panel(all.context, budget=all.stats.budget))
        self._console.print(
            f'{all.seconds:.1f} s. Keep asking: htm ask "…"   Your own conversation: htm demo FILE'
        )


def _figures(result: ImportedTranscript, stats: Stats, evicted: int) -> list[tuple[str, str]]:
    span = (
        f"{stats.oldest:%d %b %Y} to {stats.newest:%d %b %Y}"
        if stats.oldest and stats.newest
        else "no time"
    )
    known = f", {result.known:,} were there already" if result.known else ""
    return [
        (
            "imported",
            f"{result.imported + result.changed:,} of {result.turns:,} turns{known}; {span}",
        ),
        (
            "in mind",
            f"{stats.working_items:,} memories, {stats.working_tokens:,} of "
            f"{stats.budget:,} tokens",
        ),
        ("evicted", f"{evicted:,} this time; {stats.nodes:,} memories are in long-term memory"),
    ]
