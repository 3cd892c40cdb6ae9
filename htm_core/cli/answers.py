"""Answers of `htm demo` and `htm ask` to a question. The second imports nothing of the first."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from ..base.types import Recall
from .hits import print_hits
from .rendering import printable, recall_notes

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
