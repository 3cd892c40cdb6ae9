"""Values as people read them: tables, times in the local zone, and progress on stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..types import Context, Hit, Mention, Recall

LONGEST_SHOWN = 400  # characters of one memory in a table; --json has all of them
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Console(Console):
    """A console that leaves it to the command what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Where answers go: colours on a terminal only, and not under NO_COLOR."""
    return _Console(file=sys.stdout, highlight=False, emoji=False)


def aside() -> Console:
    """Where progress and remarks go: stderr, so that stdout has the answer alone."""
    return _Console(file=sys.stderr, highlight=False, emoji=False)


def bar() -> Progress:
    """A progress bar on stderr, which shows itself on a terminal only."""
    shown = aside()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=shown, disable=not shown.is_terminal, transient=True)


def local(at: datetime | None) -> str:
    """A time in the local zone, to the minute."""
    return "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M}"


def shown(text: str, *, longest: int = LONGEST_SHOWN) -> Text:
    """A memory's text, harmless to a terminal and not too long."""
    harmless = _UNPRINTABLE.sub("\ufffd", text)
    return Text(harmless if len(harmless) <= longest else harmless[: longest - 1] + "…")


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table; the last column takes the room that is left."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=False)
    for name in columns:
        last = name == columns[-1]
        made.add_column(name, justify="right" if name in right else "left", no_wrap=not last, overflow="fold")
    return made


def pairs(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values, side by side."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, shown(value))
    return made


def speaker(mention: Mention | None) -> str:
    """Who said it: by name, else by role, else the robot that remembers it."""
    return "" if mention is None else mention.name or mention.role or mention.robot


def recalled(found: Recall, *, marked: str | None = None) -> Table:
    """Hits as a table: score, the rank by meaning and by words, who said it and when; `marked` words stand out.

    Where the recall was explained, each memory has its signals below it: what each added to the score.
    """
    made = table("score", "meaning", "words", "who and when", "memory", right=("score", "meaning", "words"))
    for hit in found:
        text = shown(hit.content if len(hit.content) <= LONGEST_SHOWN else hit.passage)
        if marked:
            text.highlight_words([marked], "bold green", case_sensitive=False)
        if hit.before is not None:
            text = Text.assemble((f"{speaker(hit.before)}: {shown(hit.before.content)}\n", "dim"), text)
        if hit.signals:
            added = " + ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if abs(value) >= 0.005)
            text = Text.assemble(text, (f"\n{added}", "dim"))
        made.add_row(f"{hit.score:.2f}", _rank(hit.vector_rank), _rank(hit.text_rank), _said(hit), text)
    return made


def _said(hit: Hit) -> Text:
    """Who and when in two lines, which leaves the memory more room."""
    more = f" +{len(hit.mentions) - 1}" if len(hit.mentions) > 1 else ""
    when = local(hit.mention.at if hit.mention else hit.node.created_at)
    return Text.assemble(shown(speaker(hit.mention) + more, longest=24), "\n", (when, "dim"))


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def timed(found: Recall) -> str:
    """Where the time of a recall went."""
    spent = found.timings
    return f"{spent.embedding:.0f} ms for the embedding, {spent.sql:.0f} ms for the search"


def framed(context: Context, *, budget: int, longest: int = 100_000, more: str | None = None) -> Panel:
    """What a model is given, in a frame that says how much it is, and below `more` where all of it is to be had."""
    title = f"what a model is given: {len(context.items)} memories, {context.tokens:,} of {budget:,} tokens"
    cut = shown(f"… {more}") if more and len(context.text) > longest else None
    return Panel(
        shown(context.text, longest=longest), title=title, title_align="left", subtitle=cut, border_style="dim"
    )
