"""Read the rows of a table as turns. Which column holds what is known by its name, or is given."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from ...base.errors import InvalidInput
from .turns import MILLISECONDS, Occurrences, Skip, Turn, not_understood, role_of, shown

# The field of a turn, and the names of columns that hold it, the likeliest first; upper case,
# spaces, "-" and "_" are ignored.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "message", "body", "memory", "utterance", "msg", "note"),
    "role": ("role", "sender", "authorrole", "messagerole", "speakerrole"),
    "user": ("user", "userid", "username", "name", "speaker", "author", "from"),
    "time": (
        "time",
        "at",
        "timestamp",
        "createdat",
        "datetime",
        "date",
        "sentat",
        "createtime",
        "created",
    ),
    "session": (
        "session",
        "sessionid",
        "thread",
        "threadid",
        "conversation",
        "conversationid",
        "chat",
        "chatid",
        "channel",
    ),
    "id": ("id", "uuid", "messageid", "rowid"),
    "title": ("title", "subject", "threadtitle", "conversationtitle"),
    "metadata": ("metadata", "meta"),
}
# The names that records of JSON have for these fields.
SAME = {"content": "text", "name": "user", "at": "time"}


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table by the field of a turn that each holds; the other columns become
    metadata.
    """

    fields: Mapping[str, str]
    zone: tzinfo | None = None


def columns_of(
    columns: Sequence[str], named: Mapping[str, str], *, name: str, zone: tzinfo | None
) -> TableColumns:
    """Find out which column holds what; `named` says it for some fields. Raises `InvalidInput` when
    no column holds the text.
    """
    listed = ", ".join(repr(each) for each in columns[:20]) + (", …" if len(columns) > 20 else "")
    chosen: dict[str, str] = {}
    for alias, column in named.items():
        field = SAME.get(alias, alias)
        if field not in COLUMNS:
            raise InvalidInput(
                f"--column: expected one of the fields {', '.join(COLUMNS)}, or by the names of "
                f"JSON {', '.join(SAME)}; got "
                f"{alias!r:.80}"
            )
        if column not in columns:
            raise InvalidInput(
                f"{name}: expected the column {column!r:.80} for {alias}; the columns are {listed}"
            )
        if chosen.setdefault(field, column) != column:
            other = next(each for each in named if each != alias and SAME.get(each, each) == field)
            raise InvalidInput(
                f"--column: expected {other} or {alias}, which are one field, got "
                "both; leave one out"
            )
    for field, names in COLUMNS.items():
        free = {_plain(each): each for each in reversed(columns) if each not in chosen.values()}
        match = next((free[each] for each in names if each in free), None)
        if field not in chosen and match is not None:
            chosen[field] = match
    if "text" not in chosen:
        raise InvalidInput(
            f"{name}: expected a column with the text, called text, content, message or body; the "
            f"columns are {listed}. Name it "
            "with --column text=COLUMN"
        )
    return TableColumns(chosen, zone)


def turns(
    rows: Iterable[tuple[str, Mapping[str, Any] | InvalidInput]],
    columns: TableColumns,
    *,
    name: str,
    format: str,
) -> Iterator[Turn | Skip]:
    """Read rows, each with its place. A row without an id gets one of what it says, wherever it
    stands in the table.
    """
    ids = Occurrences(format)
    for where, row in rows:
        try:
            if isinstance(row, InvalidInput):
                raise row
            yield _turn(row, columns, ids, where=where, name=name)
        except InvalidInput as error:
            yield not_understood(error, where=where)


def _turn(
    row: Mapping[str, Any], columns: TableColumns, ids: Occurrences, *, where: str, name: str
) -> Turn | Skip:
    of = {field: row.get(column) for field, column in columns.fields.items()}
    text = of["text"]
    if text is None or (isinstance(text, float) and math.isnan(text)) or not str(text).strip():
        return Skip("no text in it", where)
    label, who, session = (
        _words(of.get("role")),
        _words(of.get("user")),
        _words(of.get("session")) or name,
    )
    role = role_of(label)
    at = _time(of.get("time"), columns.zone, where=where)
    used = set(columns.fields.values())
    rest = {
        column: json_value(value)
        for column, value in row.items()
        if column not in used and not _missing(value)
    }
    title = {"title": _words(of.get("title"))} if _words(of.get("title")) else {}
    speaker = who or (label if role is None else None)
    return Turn(
        where=where,
        session=session,
        content=str(text),
        role=role,
        name=speaker,
        at=at,
        id=_words(of.get("id"))
        or ids.id(session, label, who, str(text), None if at is None else at.isoformat()),
        metadata={**rest, **_metadata(of.get("metadata"), columns), **title},
    )


def _metadata(value: Any, columns: TableColumns) -> Mapping[str, Any]:
    """A column of metadata: an object, or its JSON; any other value stays under the
    column's name.
    """
    if _missing(value):
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            return {columns.fields["metadata"]: value}
    plain = json_value(value)
    return plain if isinstance(plain, dict) else {columns.fields["metadata"]: plain}


def _time(value: Any, zone: tzinfo | None, *, where: str) -> datetime | None:
    """A time as a datetime, in ISO 8601, or in seconds or milliseconds since 1970."""
    if _missing(value):
        return None
    try:
        at = value if isinstance(value, datetime) else _parsed_time(value)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{where}: expected a time in ISO 8601, such as 2026-03-01T09:30:00+01:00, or in "
            f"seconds since 1970; {shown(value)} "
            "came. Fix it, or name another column with --column time=COLUMN"
        ) from None
    if at.utcoffset() is not None:
        return at
    if zone is None:
        raise InvalidInput(
            f"{where}: expected a time with an offset; {shown(value)} came. Say where the times "
            "are from: --timezone UTC, "
            "or a place such as --timezone Europe/Rome"
        )
    return at.replace(tzinfo=zone)


def _parsed_time(value: Any) -> datetime:
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    text = str(value).strip()
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        number = float(text)
    return datetime.fromtimestamp(number / 1000 if abs(number) >= MILLISECONDS else number, UTC)


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _words(value: Any) -> str | None:
    if _missing(value):
        return None
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return str(number).strip() or None


def json_value(value: Any) -> Any:
    """A cell as a value that JSON has; what it has none for becomes text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return str(value)


def _plain(name: str) -> str:
    return "".join(each for each in name.lower() if each not in " -_.")
