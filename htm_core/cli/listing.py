"""Lists in the form that is asked for: a table for people, CSV for spreadsheets, one JSON document
for programs.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Generic, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from .options import CommonOptions
from .rendering import make_table, print_json, printable, stdout_console, to_json, without_controls

T = TypeVar("T")

# characters of the last column: with less room each row is shown as lines of names and values
LEAST_LAST = 16
GAP = 3  # characters between two columns, at most
# What a spreadsheet would take for a formula: OWASP's list, also behind white space.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[T]):
    """A column of a list: the exact `value` of a row, which CSV has, and how a table shows it, by
    default as it is.

    Without a `value` it is only in tables, without `shown` and with `exact` only in CSV.
    """

    name: str
    value: Callable[[T], object] | None = None
    shown: Callable[[T], str | Text] | None = None
    right: bool = False
    exact: bool = False

    def cell(self, row: T) -> Text:
        """Return what a table shows of a row, without control characters."""
        if self.shown is not None:
            text = self.shown(row)
            return text if isinstance(text, Text) else printable(text)
        assert self.value is not None
        return printable(csv_text(self.value(row)))


def show_rows(
    common: CommonOptions,
    rows: Sequence[T],
    columns: Sequence[Column[T]],
    *,
    document: object = None,
    to: Console | None = None,
) -> None:
    """Print rows in the form that is asked for. `document` is what --json prints, by default the
    rows.
    """
    if common.json:
        print_json(rows if document is None else document)
    elif common.csv:
        print_csv(rows, columns)
    elif rows:
        print_table(rows, columns, to=to)


def print_table(
    rows: Sequence[T], columns: Sequence[Column[T]], *, to: Console | None = None
) -> None:
    """Print rows as a table; where the terminal is too narrow for it, each row as lines of names
    and values.
    """
    console, shown = to or stdout_console(), [each for each in columns if not each.exact]
    cells = [[each.cell(row) for each in shown] for row in rows]
    widths = [
        max(_width(Text(column.name)), *(_width(row[at]) for row in cells))
        for at, column in enumerate(shown[:-1])
    ]
    if sum(widths) + GAP * len(widths) + LEAST_LAST > console.width and len(shown) > 1:
        _print_records(console, [each.name for each in shown], cells)
        return
    table = make_table(
        *(each.name for each in shown), right=[each.name for each in shown if each.right]
    )
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _print_records(console: Console, names: Sequence[str], cells: Sequence[Sequence[Text]]) -> None:
    indent = max(map(len, names)) + 2
    room = console.width - indent if console.width - indent >= LEAST_LAST else console.width
    for number, row in enumerate(cells):
        if number:
            console.print()
        for name, cell in zip(names, row, strict=True):
            if not cell.plain:
                continue
            lines = cell.wrap(console, room, overflow="fold")
            for line in lines:
                line.rstrip()
            first, *others = lines
            console.print(Text.assemble((f"{name:<{indent}}", "bold"), first), overflow="fold")
            for line in others:
                console.print(Text.assemble(" " * (console.width - room), line), overflow="fold")


def _width(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def print_csv(rows: Sequence[T], columns: Sequence[Column[T]]) -> None:
    """Print rows as CSV by RFC 4180, with a line of names: CRLF between records, quotes where they
    are needed.

    A text that a spreadsheet would take for a formula begins with an apostrophe, as OWASP advises;
    JSON has it as it is.
    """
    exact = [
        (each.name.replace(" ", "_"), each.value) for each in columns if each.value is not None
    ]
    made = io.StringIO()
    writer = csv.writer(made)  # its default dialect is that of RFC 4180
    writer.writerow([name for name, _ in exact])
    for row in rows:
        writer.writerow([_guarded(value(row)) for _, value in exact])
    with suppress(AttributeError, ValueError):  # not every stand-in for stdout knows newlines
        sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]
    sys.stdout.write(made.getvalue())


def _guarded(value: object) -> str:
    """A value as CSV text, harmless in a spreadsheet and on a terminal. Numbers stay
    as they are.
    """
    text = csv_text(value)
    runs = not isinstance(value, int | float) and _FORMULA.match(text) is not None
    return ("'" if runs else "") + without_controls(text)


def csv_text(value: object) -> str:
    """A value as text: nothing for None, times in ISO 8601 with their offset, lists with "; "
    between, mappings as JSON.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return json.dumps(to_json(value), ensure_ascii=False)
    if isinstance(value, Sequence | Set) and not isinstance(value, str | bytes):
        return "; ".join(map(csv_text, value))
    return str(value)
