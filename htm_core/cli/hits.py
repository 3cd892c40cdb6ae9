"""The hits of a recall as a list, and as the answer of `htm demo` and `htm ask`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ..base.types import Hit, Recall
from .ids import short
from .listing import Column, print_table
from .rendering import MAX_SHOWN, local_time, printable, recall_notes, speaker

BUDGET = 1_000  # tokens of working memory


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question, what was recalled for it, and what a model says with that, where one
    was asked.
    """

    question: str
    timeframe: str | None
    recall: Recall
    answer: str | None = None


def show_answer(to: Console, answered: AnsweredQuestion, *, marked: str | None = None) -> None:
    """Print a question and the memories recalled for it, with the `marked` words highlighted."""
    when = f"  ({answered.timeframe})" if answered.timeframe else ""
    to.print(printable(f"\n? {answered.question}{when}"), style="bold cyan")
    if answered.recall:
        print_hits(to, answered.recall, marked=marked)
    else:
        to.print("  Nothing was found.")
    for note in recall_notes(answered.recall):
        to.print(printable(note), style="yellow")
    if answered.answer is not None:
        to.print(printable(f"  {answered.answer}", longest=len(answered.answer) + 2), style="bold")


def hit_columns(marked: str | None = None) -> Sequence[Column[Hit]]:
    """Id, score, how likely it answers, ranks by meaning and by words, speaker and time; `marked`
    words are highlighted.

    With --explain each memory has its signals below it: what each added to the score.
    """
    return [
        Column(name="id", value=lambda hit: hit.node.id, shown=lambda hit: short(hit.node.id)),
        Column(
            name="score",
            value=lambda hit: hit.score,
            shown=lambda hit: f"{hit.score:.2f}",
            right=True,
        ),
        Column(
            name="likely",
            value=lambda hit: hit.relevance,
            shown=lambda hit: f"{hit.relevance:.0%}",
            right=True,
        ),
        Column(name="by", shown=_ranks),
        Column(name="vector_rank", value=lambda hit: hit.vector_rank, exact=True),
        Column(name="text_rank", value=lambda hit: hit.text_rank, exact=True),
        Column(name="who and when", shown=_who_and_when),
        Column(name="who", value=lambda hit: speaker(hit.mention), exact=True),
        Column(
            name="at",
            value=lambda hit: hit.mention.at if hit.mention else hit.node.created_at,
            exact=True,
        ),
        Column(name="session", value=lambda hit: hit.mention and hit.mention.session, exact=True),
        Column(name="tags", value=lambda hit: hit.node.tags, exact=True),
        Column(name="memory", value=lambda hit: hit.content, shown=lambda hit: _text(hit, marked)),
    ]


def print_hits(to: Console, result: Recall, *, marked: str | None = None) -> None:
    """Print the hits of a recall as a table."""
    print_table(result.hits, hit_columns(marked), to=to)


def _text(hit: Hit, marked: str | None) -> Text:
    text = printable(hit.content if len(hit.content) <= MAX_SHOWN else hit.passage)
    if marked:
        text.highlight_words([marked], "bold green", case_sensitive=False)
    if hit.before is not None:
        text = Text.assemble(
            (f"{speaker(hit.before)}: {printable(hit.before.content)}\n", "dim"), text
        )
    if hit.signals:
        added = " + ".join(
            f"{name} {value:.2f}" for name, value in hit.signals.items() if abs(value) >= 0.005
        )
        text = Text.assemble(text, (f"\n{added}", "dim"))
    return text


def _who_and_when(hit: Hit) -> Text:
    """Speaker and time in two lines, so that more width is left for the memory."""
    more = f" +{hit.times_said - 1}" if hit.times_said > 1 else ""
    when = local_time(hit.mention.at if hit.mention else hit.node.created_at)
    holds = f"\n{hit.holds}" if hit.holds else ""
    return Text.assemble(
        printable(speaker(hit.mention) + more, longest=16), "\n", (when, "dim"), (holds, "italic")
    )


def _ranks(hit: Hit) -> str:
    """The places by meaning and by words, in two lines."""
    named = (("meaning", hit.vector_rank), ("words", hit.text_rank))
    return "\n".join(f"{name} {rank}" for name, rank in named if rank is not None)


HITS = hit_columns()
