"""Read a conversation from elsewhere: JSON lines, LangChain dumps, ChatGPT exports, Claude Code, or "Name: text" lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from typing import Any, overload

from ...errors import InvalidInput
from ...types import Draft
from . import chatgpt, claude_code, langchain
from .turns import ROLES, Skip, Turn, drafts, iso_time, object_field, role_of, shown

FORMATS = ("auto", "jsonl", "langchain", "chatgpt", "claude-code", "text")
FIELDS = ("session", "role", "name", "content", "at", "id", "metadata")
SPEAKER = re.compile(r"(?P<name>[^\W_][^:\n]{0,39}):\s+(?P<content>\S.*)")
SPEAKERS: Mapping[str, str] = {**ROLES, "you": "user", "me": "user", "bot": "assistant", "chatgpt": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Sequence[Draft]):
    """The drafts of one file in order; `reasons` counts the entries that were left out, by reason."""

    format: str
    drafts: tuple[Draft, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def skipped(self) -> int:
        """How many entries were left out."""
        return sum(self.reasons.values())

    @overload
    def __getitem__(self, index: int) -> Draft: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Draft]: ...
    def __getitem__(self, index: int | slice) -> Draft | Sequence[Draft]:
        return self.drafts[index]

    def __len__(self) -> int:
        return len(self.drafts)


def read(text: str | bytes, *, name: str = "transcript", format: str = "auto") -> Transcript:
    """Read a whole transcript; the first broken place raises `InvalidInput`.

    `name` is the file's name: messages show it, and it is the session where the file names none. Reading the same file
    under the same name gives the same ids. Formats: jsonl, langchain, chatgpt, claude-code, text, or auto to
    detect it.
    """
    if format not in FORMATS:
        raise InvalidInput(
            f"format: expected one of {', '.join(FORMATS)}; {shown(format)} came. Leave it out for auto."
        )
    content = decoded(text, name=name)
    known, entries = parsed(content, name=name) if format == "auto" else (format, READERS[format](content, name))
    reasons: Counter[str] = Counter()
    found = tuple(drafts(entries, format=known, skip=lambda reason: reasons.update([reason])))
    return Transcript(format=known, drafts=found, reasons=dict(reasons))


def iter_read(
    lines: Iterable[str | bytes], *, name: str = "transcript", skip: Callable[[str], object] | None = None
) -> Iterator[Draft]:
    """Read JSON lines, or a transcript of Claude Code, one line at a time, giving the same drafts as `read`.

    A broken line raises only when it is reached: to store all or nothing, read to the end before storing. `skip` is
    called with the reason for each line left out. Keeps no text, but about 200 bytes for each id that the file gives.
    """
    first, rest = first_line(lines)
    format = lines_format(first, name)
    return drafts(LINE_READERS[format](rest, name), format=format, skip=skip)


def first_line(lines: Iterable[str | bytes]) -> tuple[str | bytes, Iterator[str | bytes]]:
    """The first line that is not blank, and all lines."""
    rest, before = iter(lines), list[str | bytes]()
    for line in rest:
        before.append(line)
        if line.strip():
            break
    return (before[-1] if before else ""), chain(before, rest)


def lines_format(line: str | bytes, name: str) -> str:
    """Which format of one JSON object a line has this as its first line."""
    text = decoded(line, name=name)
    try:
        return "claude-code" if claude_code.is_line(plain_json(text)) else "jsonl"
    except (ValueError, RecursionError):
        return "jsonl"  # whose reader says what is wrong with it


def parsed(content: str, *, name: str) -> tuple[str, Iterator[Turn | Skip]]:
    """Detect the format by how the text begins, and read it."""
    start = content.lstrip()
    if not start.startswith(("{", "[")):
        return "text", text_lines(content, name)
    try:
        value = plain_json(content)
    except (ValueError, RecursionError):
        if start.startswith("{") and not start.startswith(("{\n", "{\r")):
            listed = content.split("\n")
            format = lines_format(first_line(listed)[0], name)
            return format, LINE_READERS[format](listed, name)
        value = json_value(content, name)
    for format, (recognised, entries) in SHAPES.items():
        if recognised(value):
            return format, entries(value, name)
    raise InvalidInput(
        f"{name}: expected JSON lines, a LangChain dump or a ChatGPT export; JSON of another shape came. "
        'Write one object a line, such as {"role": "user", "name": "Ines", "content": "..."}.'
    )


def json_lines(lines: Iterable[str | bytes], name: str) -> Iterator[Turn | Skip]:
    """Read one record per line; blank lines are ignored."""
    for where, value in values(lines, name):
        yield record(value, where=where, session=name)


def values(lines: Iterable[str | bytes], name: str) -> Iterator[tuple[str, Any]]:
    """The JSON value of each line that is not blank, with its place."""
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        text = decoded(line, name=where) if isinstance(line, bytes) else line
        if number == 1:
            text = text.removeprefix("\ufeff")
        if text.strip():
            yield where, json_value(text, where)


def records(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read a JSON list of such records, or a single one."""
    if not isinstance(value, list):
        yield record(value, where=f"{name}, line 1", session=name)
        return
    for number, item in enumerate(value, 1):
        yield record(item, where=f"{name}, item {number}", session=name)


def record(value: Any, *, where: str, session: str) -> Turn | Skip:
    """Read one record; fields that are not in `FIELDS` go into its metadata."""
    if not isinstance(value, dict) or "content" not in value:
        raise InvalidInput(
            f'{where}: expected an object with "content" (and session, role, name, at); {shown(value)} came. '
            "Fix that line, or name the right format."
        )
    if value["content"] is None:
        return Skip("no text in it")
    return Turn(
        where=where,
        session=name_field(value, "session", where=where) or session,
        content=text_field(value, "content", where=where) or "",
        role=known_role(value.get("role"), where=where),
        name=text_field(value, "name", where=where),
        at=iso_time(value.get("at"), where=where),
        id=name_field(value, "id", where=where),
        metadata={
            **object_field(value, "metadata", where=where),
            **{k: v for k, v in value.items() if k not in FIELDS},
        },
    )


def text_field(value: Mapping[str, Any], field: str, *, where: str) -> str | None:
    """A field that must be text; None if it is missing."""
    found = value.get(field)
    if found is not None and not isinstance(found, str):
        raise InvalidInput(f"{where}: expected {field!r} to be text; {shown(found)} came. Put it in quotes.")
    return found


def name_field(value: Mapping[str, Any], field: str, *, where: str) -> str | None:
    """A field that must be text or a whole number; None if it is missing or empty."""
    found = value.get(field)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return text_field(value, field, where=where) or None


def known_role(value: object, *, where: str) -> str | None:
    """A record's role as one of ours; None if it is missing, and an unknown word is refused."""
    role = role_of(value) if isinstance(value, str) else None
    if value is not None and role is None:
        raise InvalidInput(
            f"{where}: expected a role of {', '.join(ROLES)}; {shown(value)} came. Leave it out if none."
        )
    return role


def text_lines(content: str, name: str) -> Iterator[Turn | Skip]:
    """Read "Name: text" lines; a line without a name continues the turn before it."""
    turn: tuple[int, str, list[str]] | None = None
    for number, line in enumerate(content.split("\n"), 1):
        found = SPEAKER.fullmatch(line.strip())
        if found:
            yield from spoken(turn, name)
            turn = number, found["name"].strip(), [found["content"]]
        elif turn:
            turn[2].append(line.rstrip())
        elif line.strip():
            raise InvalidInput(
                f"{name}, line {number}: expected JSON, or a line such as 'Ines: good morning'; {shown(line)} came. "
                "Begin each turn with who speaks, a colon and a space."
            )
    yield from spoken(turn, name)


def spoken(turn: tuple[int, str, list[str]] | None, session: str) -> Iterator[Turn]:
    """One turn from its collected lines; a speaker whose name is not a role is a user."""
    if turn is not None:
        number, name, lines = turn
        role = SPEAKERS.get(name.lower(), "user")
        content = "\n".join(lines).strip()
        yield Turn(where=f"{session}, line {number}", session=session, content=content, role=role, name=name)


def decoded(text: str | bytes, *, name: str) -> str:
    """Read bytes as UTF-8, without a byte order mark."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{name}: expected UTF-8; byte 0x{text[error.start]:02x} came in line {line}. Save the file as UTF-8."
        ) from None


def json_value(text: str, where: str) -> Any:
    """Parse JSON; an error names the place that is broken."""
    try:
        return plain_json(text)
    except json.JSONDecodeError as error:
        place = f"{where}, " + (f"line {error.lineno}, " if error.lineno > 1 else "") + f"column {error.colno}"
        raise InvalidInput(f"{place}: expected JSON; {error.msg}. Fix or remove that line; nothing was read.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: expected plain JSON; {error}. Fix or remove that place.") from None


def plain_json(text: str) -> Any:
    """Parse standard JSON: without NaN and infinities, which cannot be stored as metadata."""
    return json.loads(text, parse_constant=finite, parse_float=finite)


def finite(word: str) -> float:
    """Read a finite number."""
    number = float(word)
    if not isfinite(number):
        raise ValueError(f"{word} is no number that JSON can hold")
    return number


def has_content(value: Any) -> bool:
    """Whether this is a record, or a list of them, as in JSON lines."""
    first = value[0] if isinstance(value, list) and value else value
    return value == [] or (isinstance(first, dict) and "content" in first)


Reader = Callable[[str, str], Iterator[Turn | Skip]]
LineReader = Callable[[Iterable[str | bytes], str], Iterator[Turn | Skip]]

LINE_READERS: Mapping[str, LineReader] = {
    "jsonl": json_lines,
    "claude-code": lambda lines, name: claude_code.lines(values(lines, name)),
}

SHAPES: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, str], Iterator[Turn | Skip]]]] = {
    "chatgpt": (chatgpt.is_export, chatgpt.conversations),
    "claude-code": (claude_code.is_line, lambda value, name: claude_code.lines([(f"{name}, line 1", value)])),
    "langchain": (langchain.is_dump, langchain.messages),
    "jsonl": (has_content, records),
}
READERS: Mapping[str, Reader] = {
    "jsonl": lambda content, name: json_lines(content.split("\n"), name),
    "langchain": lambda content, name: langchain.messages(json_value(content, name), name),
    "chatgpt": lambda content, name: chatgpt.conversations(json_value(content, name), name),
    "claude-code": lambda content, name: LINE_READERS["claude-code"](content.split("\n"), name),
    "text": text_lines,
}
