"""Read a conversation that was had elsewhere: JSON lines, LangChain dumps, ChatGPT exports, or "Name: text" lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, overload

from ...errors import InvalidInput
from ...types import Draft
from . import chatgpt, langchain
from .turns import ROLES, Skip, Turn, came, drafts, moment, part, role_of

FORMATS = ("auto", "jsonl", "langchain", "chatgpt", "text")
FIELDS = ("session", "role", "name", "content", "at", "id", "metadata")
SPEAKER = re.compile(r"(?P<name>[^\W_][^:\n]{0,39}):\s+(?P<content>\S.*)")
SPEAKERS: Mapping[str, str] = {**ROLES, "you": "user", "me": "user", "bot": "assistant", "chatgpt": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Sequence[Draft]):
    """The drafts of one file in its order; `reasons` counts what was left out, by why."""

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
    """Read a whole transcript, or raise at its first broken place before anything came of it.

    `name` is the file's name: it stands in messages, and is the session where the file names none. Reading the same
    file under the same name gives the same ids. Formats: jsonl, langchain, chatgpt, text, or auto to find out.
    """
    if format not in FORMATS:
        raise InvalidInput(f"format: expected one of {', '.join(FORMATS)}; {came(format)} came. Leave it out for auto.")
    content = decoded(text, name=name)
    known, entries = parsed(content, name=name) if format == "auto" else (format, READERS[format](content, name))
    reasons: Counter[str] = Counter()
    found = tuple(drafts(entries, format=known, skip=lambda reason: reasons.update([reason])))
    return Transcript(format=known, drafts=found, reasons=dict(reasons))


def iter_read(
    lines: Iterable[str | bytes], *, name: str = "transcript", skip: Callable[[str], object] | None = None
) -> Iterator[Draft]:
    """Read JSON lines one at a time, from an open file for instance, giving the same drafts as `read`.

    A broken line raises when it is reached: run through once before storing to have all or nothing. `skip` is told the
    reason for each line left out. Holds no text, but about 200 bytes for each id that the file gives of its own.
    """
    return drafts(json_lines(lines, name), format="jsonl", skip=skip)


def parsed(content: str, *, name: str) -> tuple[str, Iterator[Turn | Skip]]:
    """Find out the format by what the text begins with, and read it in that format."""
    start = content.lstrip()
    if not start.startswith(("{", "[")):
        return "text", text_lines(content, name)
    try:
        value = plain_json(content)
    except (ValueError, RecursionError):
        if start.startswith("{") and not start.startswith(("{\n", "{\r")):
            return "jsonl", json_lines(content.split("\n"), name)
        value = json_value(content, name)
    for format, (recognised, entries) in SHAPES.items():
        if recognised(value):
            return format, entries(value, name)
    raise InvalidInput(
        f"{name}: expected JSON lines, a LangChain dump or a ChatGPT export; JSON of another shape came. "
        'Write one object a line, such as {"role": "user", "name": "Ines", "content": "..."}.'
    )


def json_lines(lines: Iterable[str | bytes], name: str) -> Iterator[Turn | Skip]:
    """Read one record a line; blank lines are no turns."""
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        text = decoded(line, name=where) if isinstance(line, bytes) else line
        if number == 1:
            text = text.removeprefix("\ufeff")
        if text.strip():
            yield record(json_value(text, where), where=where, session=name)


def records(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read a JSON list of the same records, or a single one."""
    if not isinstance(value, list):
        yield record(value, where=f"{name}, line 1", session=name)
        return
    for number, item in enumerate(value, 1):
        yield record(item, where=f"{name}, item {number}", session=name)


def record(value: Any, *, where: str, session: str) -> Turn | Skip:
    """Read one record: its own fields by name, all others into its metadata."""
    if not isinstance(value, dict) or "content" not in value:
        raise InvalidInput(
            f'{where}: expected an object with "content" (and session, role, name, at); {came(value)} came. '
            "Mend that line, or name the right format."
        )
    if value["content"] is None:
        return Skip("no text in it")
    return Turn(
        where=where,
        session=label(value, "session", where=where) or session,
        content=words(value, "content", where=where) or "",
        role=known_role(value.get("role"), where=where),
        name=words(value, "name", where=where),
        at=moment(value.get("at"), where=where),
        id=label(value, "id", where=where),
        metadata={**part(value, "metadata", where=where), **{k: v for k, v in value.items() if k not in FIELDS}},
    )


def words(value: Mapping[str, Any], field: str, *, where: str) -> str | None:
    """Take a field that is text or missing."""
    found = value.get(field)
    if found is not None and not isinstance(found, str):
        raise InvalidInput(f"{where}: expected {field!r} to be text; {came(found)} came. Put it in quotes.")
    return found


def label(value: Mapping[str, Any], field: str, *, where: str) -> str | None:
    """Take a field that is text, a whole number or missing; empty is missing."""
    found = value.get(field)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return words(value, field, where=where) or None


def known_role(value: object, *, where: str) -> str | None:
    """Translate a record's role; none is none, and a word that means nothing here is refused."""
    role = role_of(value) if isinstance(value, str) else None
    if value is not None and role is None:
        raise InvalidInput(f"{where}: expected a role of {', '.join(ROLES)}; {came(value)} came. Leave it out if none.")
    return role


def text_lines(content: str, name: str) -> Iterator[Turn | Skip]:
    """Read "Name: text" lines; a line without a name goes on with the turn before it."""
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
                f"{name}, line {number}: expected JSON, or a line such as 'Ines: good morning'; {came(line)} came. "
                "Begin each turn with who speaks, a colon and a space."
            )
    yield from spoken(turn, name)


def spoken(turn: tuple[int, str, list[str]] | None, session: str) -> Iterator[Turn]:
    """Make one turn of the lines gathered for it; whoever is not named after a role is a person."""
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
    """Parse JSON; what is broken is told with its place."""
    try:
        return plain_json(text)
    except json.JSONDecodeError as error:
        place = f"{where}, " + (f"line {error.lineno}, " if error.lineno > 1 else "") + f"column {error.colno}"
        raise InvalidInput(
            f"{place}: expected JSON; {error.msg}. Mend or remove that line; nothing was read."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: expected plain JSON; {error}. Mend or remove that place.") from None


def plain_json(text: str) -> Any:
    """Parse JSON as the standard has it: without NaN and infinities, which could not be stored as metadata."""
    return json.loads(text, parse_constant=finite, parse_float=finite)


def finite(word: str) -> float:
    """Read a number that is one."""
    number = float(word)
    if not isfinite(number):
        raise ValueError(f"{word} is no number that JSON can hold")
    return number


def has_content(value: Any) -> bool:
    """Whether this is a record, or a list of them, as in JSON lines."""
    first = value[0] if isinstance(value, list) and value else value
    return value == [] or (isinstance(first, dict) and "content" in first)


Reader = Callable[[str, str], Iterator[Turn | Skip]]

SHAPES: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, str], Iterator[Turn | Skip]]]] = {
    "chatgpt": (chatgpt.is_export, chatgpt.conversations),
    "langchain": (langchain.is_dump, langchain.messages),
    "jsonl": (has_content, records),
}
READERS: Mapping[str, Reader] = {
    "jsonl": lambda content, name: json_lines(content.split("\n"), name),
    "langchain": lambda content, name: langchain.messages(json_value(content, name), name),
    "chatgpt": lambda content, name: chatgpt.conversations(json_value(content, name), name),
    "text": text_lines,
}
