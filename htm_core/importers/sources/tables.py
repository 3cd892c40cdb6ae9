"""Tables that `htm import` reads row by row: CSV by the standard library, Parquet by pyarrow."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import IO, Any

from ...base.errors import InvalidInput
from ...base.types import Draft
from ..transcripts import tables
from ..transcripts.turns import Conversation, Skip, drafts

OnSkip = Callable[[Skip | Conversation], None]
Opened = tuple[str, Iterator[Draft]]
# opens one stream of a source: its format, and its turns from the beginning
Part = Callable[[OnSkip], Opened]

CSV_SUFFIXES = frozenset({".csv", ".tsv"})
LONGEST_CELL = 64 << 20  # characters
ROWS_AT_ONCE = 1_000  # of a Parquet file
MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """Options of a table: which column holds which field, and the time zone of times without an
    offset.

    `longest` is the most characters of a text.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    longest: int = 1_000_000


NO_TABLE_OPTIONS = TableOptions()


def table_part(
    path: Path, head: bytes, *, name: str, format: str, options: TableOptions
) -> Part | None:
    """The rows of a file, if it is a table by its name, its first bytes, or the format that is
    said.
    """
    if format == "parquet" or (format == "auto" and head.startswith(MAGIC)):
        return lambda skip: (
            "parquet",
            _read(_parquet_rows(path, name), skip, name=name, format="parquet", options=options),
        )
    if format == "csv" or (format == "auto" and path.suffix.lower() in CSV_SUFFIXES):
        return csv_part(lambda: path.open("rb"), name=name, options=options)
    return None


def csv_part(open: Callable[[], IO[bytes]], *, name: str, options: TableOptions) -> Part:
    """The rows of a CSV file."""
    return lambda skip: (
        "csv",
        _read(_csv_rows(open(), name), skip, name=name, format="csv", options=options),
    )


Rows = Iterator[tuple[str, Mapping[str, Any] | InvalidInput]]


def _read(
    rows: Rows, skip: OnSkip, *, name: str, format: str, options: TableOptions
) -> Iterator[Draft]:
    """The drafts of rows, the first of which is the names of the columns."""
    with closing(rows):  # type: ignore[type-var]  # a generator
        _, header = next(rows, ("", {}))
        if not header or isinstance(header, InvalidInput):
            return
        columns = tables.columns_of(list(header), options.columns, name=name, zone=options.zone)
        turns = tables.turns(rows, columns, name=name, format=format)
        yield from drafts(turns, format=format, skip=skip, longest=options.longest)


def _csv_rows(file: IO[bytes], name: str) -> Rows:
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        utf_16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        file.seek(0)
        with io.TextIOWrapper(
            file, encoding="utf-16" if utf_16 else "utf-8-sig", newline=""
        ) as text:
            first = text.readline()
            separator = max(",;\t|", key=first.count)
            text.seek(0)
            rows = csv.reader(text, delimiter=separator, strict=True)
            header = [each.strip() for each in next(rows, [])]
            if len(set(header)) != len(header):
                raise InvalidInput(
                    f"{name}: expected columns with different names, got {', '.join(header)[:200]}"
                )
            yield name, dict.fromkeys(header)
            for row in rows:
                where = f"{name}, line {rows.line_num}"
                if len(row) > len(header):
                    wrong = (
                        f"expected {len(header)} cells, got {len(row)}. Put a text with "
                        f"{separator!r} in it into quotes"
                    )
                    yield where, InvalidInput(f"{where}: {wrong}")
                elif row:
                    yield where, dict(zip(header, row, strict=False))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name}: expected UTF-8, got another encoding ({error.reason}). Save the file as UTF-8"
        ) from None
    except csv.Error as error:
        raise InvalidInput(f"{name}: expected CSV, got something else: {error}") from None
    finally:
        csv.field_size_limit(before)


def _parquet_rows(path: Path, name: str) -> Rows:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput(
            f"{name}: expected pyarrow, which reads Parquet, and it is not installed: pip install "
            '"htm-memory[parquet]"'
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            yield name, dict.fromkeys(table.schema_arrow.names)
            number = 0
            for batch in table.iter_batches(ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{name}, row {number}", row
    except pyarrow.ArrowException as error:
        raise InvalidInput(
            f"{name}: expected a whole Parquet file, got a broken one: {error}"
        ) from None
