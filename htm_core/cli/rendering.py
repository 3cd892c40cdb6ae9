"""Results for people, as tables with local times, with progress on stderr; for programs, as JSON."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..base.types import Context, Hit, Mention, Recall
from ..prompt.origin import speaker as speaker_of


def print_json(value: object) -> None:
    """Write a value to stdout as one JSON document, and nothing else."""
    exact = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(
        json.dumps(to_json(value), ensure_ascii=not exact, allow_nan=False, indent=2) + "\n"
    )


def to_json(value: object) -> Any:
    """A value as JSON types: times in ISO 8601 with their offset, bytes in base64, dataclasses
    field by field.
    """
    if isinstance(value, Hit):
        return {"content": value.content, **_fields(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Sequence | Set) and not isinstance(value, str | Recall):
        return [to_json(each) for each in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}


if TYPE_CHECKING:
    from rich.progress import Progress

SHORT_ID = 8  # digits of an id in a table; commands take them for the whole
MAX_SHOWN = 400  # characters of one memory in a table; --json has all of them
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Console(Console):
    """A console that raises `BrokenPipeError` and leaves it to the command to handle a
    closed pipe.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout_console() -> Console:
    """The console for results; colours only on a terminal, and not under NO_COLOR."""
    return _Console(file=sys.stdout, highlight=False, emoji=False)


def stderr_console() -> Console:
    """The console for progress and remarks, so that stdout holds results only."""
    return _Console(file=sys.stderr, highlight=False, emoji=False)


def progress_bar() -> Progress:
    """A progress bar on stderr, visible only on a terminal."""
    # Few commands have one.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    printable = stderr_console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=printable, disable=not printable.is_terminal, transient=True)


def local_time(at: datetime | None) -> str:
    """A time in the local time zone, to the minute."""
    return "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M}"


def printable(text: str, *, longest: int = MAX_SHOWN) -> Text:
    """A text without control characters, cut at `longest` characters."""
    harmless = without_controls(text)
    return Text(harmless if len(harmless) <= longest else harmless[: longest - 1] + "…")


def without_controls(text: str) -> str:
    """A text whose control characters, but tabs and line feeds, are replaced, so that a terminal
    obeys none of them.
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def make_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table; the last column gets the remaining width."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=False)
    for name in columns:
        last = name == columns[-1]
        made.add_column(
            name, justify="right" if name in right else "left", no_wrap=not last, overflow="fold"
        )
    return made


def key_value_table(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and values."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, printable(value))
    return made


def recall_notes(result: Recall) -> list[str]:
    """Return notes on a recall besides its hits: other words or times were searched, or a part
    failed.
    """
    when = result.timeframe and result.timeframe.note
    notes = [result.searched_note, when, result.corrections_note, result.degraded, result.fallback]
    return [note for note in notes if note]


def speaker(mention: Mention | None) -> str:
    """Who said it: the name and the role, else the robot that remembers it."""
    return "" if mention is None else speaker_of(mention.name, mention.role) or mention.robot


def timings_line(result: Recall) -> str:
    """Return how long the parts of a recall took, and which steps after the search changed
    something.
    """
    spent, steps = result.timings, f"; then: {', '.join(result.steps)}" if result.steps else ""
    return f"{spent.embedding:.0f} ms for the embedding, {spent.sql:.0f} ms for the search{steps}"


def context_panel(
    context: Context, *, budget: int, longest: int = 100_000, more: str | None = None
) -> Panel:
    """The context of a model in a frame with its size; `more` says below it where the rest of a cut
    text is.
    """
    title = (
        f"what a model is given: {len(context.items)} memories, {context.tokens:,} of "
        f"{budget:,} tokens"
    )
    cut = printable(f"… {more}") if more and len(context.text) > longest else None
    return Panel(
        printable(context.text, longest=longest),
        title=title,
        title_align="left",
        subtitle=cut,
        border_style="dim",
    )
