"""Read a conversation from elsewhere: find out what wrote it, and read it whole, line by line, or
item by item of a JSON list.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import isfinite
from typing import Any, overload

from ...base.errors import InvalidInput
from ...base.types import Draft
from . import chatgpt, claude, claude_code, codex, langchain, llamaindex, mem0
from .json_items import BrokenList, items
from .looks_like import json_words, looks_like, refusal, text_looks_like
from .turns import (
    ROLES,
    Attach,
    Conversation,
    Entry,
    Omissions,
    Skip,
    Turn,
    drafts,
    iso_time,
    not_understood,
    object_field,
    role_of,
    shown,
    texts_of,
)

FORMATS = (
    "auto", "jsonl", "chatgpt", "claude", "claude-code", "codex", "langchain", "llamaindex", "mem0",
    "text",
)  # fmt: skip
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FIELDS = ("session", "role", "name", "content", "at", "id", "metadata")
SPEAKER = re.compile(r"(?P<name>[^\W_][^:\n]{0,39}):\s+(?P<content>\S.*)")
SPEAKERS: Mapping[str, str] = {
    **ROLES,
    "you": "user",
    "me": "user",
    "bot": "assistant",
    "chatgpt": "assistant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Sequence[Draft]):
    """The drafts of one file in order; `reasons` counts the entries that were left out, `examples`
    are the first of each reason.

    `conversations` say what of it holds now, in formats whose conversations have branches.
    """

    format: str
    drafts: tuple[Draft, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Skip, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def skipped(self) -> int:
        """The number of entries that were left out."""
        return sum(self.reasons.values())

    @overload
    def __getitem__(self, index: int) -> Draft: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Draft]: ...
    def __getitem__(self, index: int | slice) -> Draft | Sequence[Draft]:
        return self.drafts[index]

    def __len__(self) -> int:
        return len(self.drafts)


def read(
    text: str | bytes,
    *,
    name: str = "transcript",
    format: str = "auto",
    attach: Attach = texts_of,
    longest: int | None = None,
) -> Transcript:
    """Read a whole transcript; the first broken place raises `InvalidInput`, where somebody can
    mend it.

    With `longest`, the most characters of a text, each place that cannot be read or stored is left
    out and named instead. `name` is the file's name: messages show it, and it is the session where
    the file names none. Reading the same file under the same name gives the same ids. `format` is
    one of `FORMATS`; auto finds it out. `attach` reads the files of messages, by default those that
    are texts.
    """
    if format not in FORMATS:
        raise InvalidInput(
            f"format: expected one of {', '.join(FORMATS)}; {shown(format)} came. Leave it out "
            "for auto."
        )
    content = decoded(text, name=name, format=format if longest is not None else None)
    if isinstance(content, list):  # lines, one of which is not in its encoding
        known = lines_format(first_line(content)[0], name) if format == "auto" else format
        entries = LINE_READERS[known](content, name)
    else:
        known, entries = (
            parsed(content, name=name, as_far=longest is not None)
            if format == "auto"
            else (format, READERS[format](content, name))
        )
    left_out, now = Omissions(), list[Conversation]()
    kept = tuple(
        drafts(
            entries,
            format=known,
            skip=left_out.add,
            attach=attach,
            follow=now.append,
            longest=longest,
        )
    )
    return Transcript(
        format=known,
        drafts=kept,
        reasons=dict(left_out.reasons),
        examples=tuple(left_out.examples),
        conversations=tuple(now),
    )


def iter_read(
    lines: Iterable[str | bytes],
    *,
    name: str = "transcript",
    format: str = "auto",
    skip: Callable[[Skip], object] | None = None,
    attach: Attach = texts_of,
    follow: Callable[[Conversation], object] | None = None,
    longest: int | None = None,
) -> Iterator[Draft]:
    """Read a format of one JSON object a line, one line at a time, giving the same drafts as
    `read`.

    A broken line raises only when it is reached, and with `longest` is left out: to store all or
    nothing, read to the end before storing. `skip` is called with each line left out, `follow` with
    what holds of each conversation. Keeps no text, but about 200 bytes for each id that the file
    gives; of sessions of Claude Code and Codex, whose lines form a tree, all that was said.
    """
    first, rest = first_line(lines)
    known = lines_format(first, name) if format == "auto" else format
    entries = LINE_READERS[known](rest, name)
    return drafts(entries, format=known, skip=skip, attach=attach, follow=follow, longest=longest)


def iter_list(
    read: Callable[[int], bytes],
    *,
    name: str,
    format: str = "auto",
    skip: Callable[[Skip], object] | None = None,
    attach: Attach = texts_of,
    follow: Callable[[Conversation], object] | None = None,
    longest: int | None = None,
) -> tuple[str, Iterator[Draft]]:
    """Read a JSON list item by item, such as a long export, giving its format and the same drafts
    as `read`.

    `read(size)` gives the next bytes of the file. A broken place raises only when it is reached, as
    with `iter_read`.
    """
    values = items(read, name, scan=PLAIN_JSON)
    values = values if longest is None else whole_items(values)
    first = list(islice(values, 1))
    if first and isinstance(first[0], InvalidInput):
        raise first[0]
    known = next(
        (each for each, shape in LIST_SHAPES.items() if format == each or shape.has(first)), None
    )
    if known is None or (format != "auto" and known != format):
        raise InvalidInput(refusal(name, json_words(first)))
    entries = LIST_SHAPES[known].entries(chain(first, values), name)
    return known, drafts(
        entries, format=known, skip=skip, attach=attach, follow=follow, longest=longest
    )


def whole_items(values: Iterator[Any]) -> Iterator[Any]:
    """The items of a list up to where it is broken or cut off, and then the error that says so."""
    try:
        yield from values
    except BrokenList as error:
        yield error


def first_line(lines: Iterable[str | bytes]) -> tuple[str | bytes, Iterator[str | bytes]]:
    """The first line that is not blank, and all lines."""
    rest, before = iter(lines), list[str | bytes]()
    for line in rest:
        before.append(line)
        if line.strip():
            break
    return (before[-1] if before else ""), chain(before, rest)


def lines_format(line: str | bytes, name: str) -> str:
    """Return the format, among those of one JSON object a line, whose first line this is."""
    try:
        value = plain_json(text_of_line(line, name=name))
    except (InvalidInput, ValueError, RecursionError):
        return "jsonl"  # whose reader says what is wrong with it
    return next((format for format, recognised in LINES.items() if recognised(value)), "jsonl")


def parsed(content: str, *, name: str, as_far: bool = False) -> tuple[str, Entries]:
    """Detect the format by how the text begins, and read it; with `as_far` a list that is cut off
    is read up to there.
    """
    start = content.lstrip()
    if words := text_looks_like(start):
        raise InvalidInput(refusal(name, words))
    if not start.startswith(("{", "[")):
        return "text", text_lines(content, name)
    try:
        value = plain_json(content)
    except (ValueError, RecursionError):
        if start.startswith("{") and not start.startswith(("{\n", "{\r")):
            listed = content.split("\n")
            format = lines_format(first_line(listed)[0], name)
            return format, LINE_READERS[format](listed, name)
        value = (
            whole_part(content, name)
            if as_far and start.startswith("[")
            else json_value(content, name)
        )
    if value == []:
        return "jsonl", iter(())
    if isinstance(value, list):
        for format, shape in LIST_SHAPES.items():
            if shape.has(value[:1]):
                return format, shape.entries(value, name)
    else:
        for format, (recognised, entries) in OBJECTS.items():
            if recognised(value):
                return format, entries(value, name)
    raise InvalidInput(
        f"{refusal(name, json_words(value))} "
        'Or write one object a line, such as {"role": "user", "name": "Ines", "content": "..."}.'
    )


def whole_part(content: str, name: str) -> list[Any]:
    """The items of a list that is broken, up to where it is, and the error that says so; raises it
    if there are none.
    """
    text = io.BytesIO(content.encode("utf-8", "surrogatepass"))
    whole = list(whole_items(items(text.read, name, scan=PLAIN_JSON)))
    if whole and isinstance(whole[0], InvalidInput):
        raise whole[0]
    return whole


def json_lines(lines: Iterable[str | bytes], name: str) -> Iterator[Turn | Skip]:
    """Read one record per line; blank lines are ignored."""
    for where, value in values(lines, name):
        yield tolerant_record(value, where=where, session=name)


def values(lines: Iterable[str | bytes], name: str) -> Iterator[tuple[str, Any]]:
    """The JSON value of each line that is not blank, with its place; for a line that is none the
    error that says so.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        try:
            text = text_of_line(line, name=where)
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text.strip():
                yield where, json_value(text, where)
        except InvalidInput as error:
            yield where, error


def text_of_line(line: str | bytes, *, name: str) -> str:
    """One line as a text. Raises `InvalidInput` for one that is not UTF-8."""
    if isinstance(line, str):
        return line.removeprefix("\ufeff")
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name}: expected UTF-8; byte 0x{line[error.start]:02x} came. Save the file as UTF-8."
        ) from None


def records(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read the items of a JSON list as such records."""
    for number, item in enumerate(values, 1):
        yield tolerant_record(item, where=f"{name}, item {number}", session=name)


def tolerant_record(value: Any, *, where: str, session: str) -> Turn | Skip:
    """Read one record, or say why it cannot be read."""
    try:
        if isinstance(value, InvalidInput):
            raise value
        return record(value, where=where, session=session)
    except InvalidInput as error:
        return not_understood(error, where=where)


def record(value: Any, *, where: str, session: str) -> Turn | Skip:
    """Read one record; fields that are not in `FIELDS` go into its metadata."""
    if not isinstance(value, dict) or "content" not in value:
        raise InvalidInput(
            f'{where}: expected an object with "content" (and session, role, name, at); '
            f"{shown(value)} came. "
            "Fix that line, or name the right format."
        )
    if value["content"] is None:
        return Skip("no text in it", where)
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
    text = value.get(field)
    if text is not None and not isinstance(text, str):
        raise InvalidInput(
            f"{where}: expected {field!r} to be text; {shown(text)} came. Put it in quotes."
        )
    return text


def name_field(value: Mapping[str, Any], field: str, *, where: str) -> str | None:
    """A field that must be text or a whole number; None if it is missing or empty."""
    name = value.get(field)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    return text_field(value, field, where=where) or None


def known_role(value: object, *, where: str) -> str | None:
    """A record's role as one of ours; None if it is missing, and an unknown word is refused."""
    role = role_of(value) if isinstance(value, str) else None
    if value is not None and role is None:
        raise InvalidInput(
            f"{where}: expected a role of {', '.join(ROLES)}; {shown(value)} came. Leave it out "
            "if none."
        )
    return role


def text_lines(content: str, name: str) -> Iterator[Turn | Skip]:
    """Read "Name: text" lines; a line without a name continues the turn before it."""
    turn: tuple[int, str, list[str]] | None = None
    for number, line in enumerate(content.split("\n"), 1):
        match = SPEAKER.fullmatch(line.strip())
        if match:
            yield from spoken(turn, name)
            turn = number, match["name"].strip(), [match["content"]]
        elif turn:
            turn[2].append(line.rstrip())
        elif line.strip():
            wrong = InvalidInput(
                f"expected JSON, or a line such as 'Ines: good morning'; {shown(line)} came. "
                "Begin each turn with who speaks, a colon and a space."
            )
            yield not_understood(wrong, where=f"{name}, line {number}")
    yield from spoken(turn, name)


def spoken(turn: tuple[int, str, list[str]] | None, session: str) -> Iterator[Turn]:
    """One turn from its collected lines; a speaker whose name is not a role is a user."""
    if turn is not None:
        number, name, lines = turn
        role = SPEAKERS.get(name.lower(), "user")
        content = "\n".join(lines).strip()
        yield Turn(
            where=f"{session}, line {number}",
            session=session,
            content=content,
            role=role,
            name=name,
        )


@overload
def decoded(text: str | bytes, *, name: str, format: None = None) -> str: ...
@overload
def decoded(text: str | bytes, *, name: str, format: str | None) -> str | list[bytes]: ...
def decoded(text: str | bytes, *, name: str, format: str | None = None) -> str | list[bytes]:
    """Read bytes as UTF-8, or as UTF-16 where they begin so, without a byte order mark.

    With a `format` of lines, or one that may be, what is not UTF-8 comes back as lines, so that the
    others can be read.
    """
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if text.startswith(UTF_16):
        try:
            return text.decode("utf-16")
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{name}: expected UTF-16, as it begins; {error.reason}. Save it as UTF-8."
            ) from None
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if words := looks_like(text[:512]):
            raise InvalidInput(refusal(name, words)) from None
        first = text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if format in LINE_READERS or (format == "auto" and first == b"{"):
            return text.split(b"\n")
        line = text.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{name}: expected UTF-8; byte 0x{text[error.start]:02x} came in line {line}. Save "
            "the file as UTF-8."
        ) from None


def json_value(text: str, where: str) -> Any:
    """Parse JSON; an error names the place that is broken."""
    try:
        return plain_json(text)
    except json.JSONDecodeError as error:
        place = (
            f"{where}, "
            + (f"line {error.lineno}, " if error.lineno > 1 else "")
            + f"column {error.colno}"
        )
        raise InvalidInput(
            f"{place}: expected JSON; {error.msg}. Fix or remove that line."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{where}: expected plain JSON; {error}. Fix or remove that place."
        ) from None


def plain_json(text: str) -> Any:
    """Parse standard JSON: without NaN and infinities, which cannot be stored as metadata."""
    return PLAIN_JSON.decode(text)


def finite(word: str) -> float:
    """Read a finite number."""
    number = float(word)
    if not isfinite(number):
        raise ValueError(f"{word} is no number that JSON can hold")
    return number


PLAIN_JSON = json.JSONDecoder(parse_constant=finite, parse_float=finite)


def has_content(value: Any) -> bool:
    """True if this is a record as in JSON lines."""
    return isinstance(value, dict) and "content" in value


Entries = Iterator[Entry]
Reader = Callable[[str, str], Entries]
LineReader = Callable[[Iterable[str | bytes], str], Entries]


@dataclass(frozen=True, slots=True)
class ListShape:
    """Shape of a JSON list of one format: a test of its first item, and a reader of its items."""

    recognised: Callable[[Any], bool]
    entries: Callable[[Iterable[Any], str], Entries]

    def has(self, first: Sequence[Any]) -> bool:
        """True if a list with this first item, or with none, is of this format."""
        return bool(first) and self.recognised(first[0])


# Formats of one JSON object a line, by the first of them; what is none of these is read as `jsonl`.
LINES: Mapping[str, Callable[[Any], bool]] = {
    "claude-code": claude_code.is_line,
    "codex": codex.is_line,
    "llamaindex": llamaindex.is_message,
    "mem0": mem0.is_memory,
}
LINE_READERS: Mapping[str, LineReader] = {
    "jsonl": json_lines,
    "claude-code": lambda lines, name: claude_code.lines(values(lines, name)),
    "codex": lambda lines, name: codex.lines(values(lines, name), name),
    "llamaindex": lambda lines, name: llamaindex.lines(values(lines, name), name),
    "mem0": lambda lines, name: mem0.lines(values(lines, name)),
}
LIST_SHAPES: Mapping[str, ListShape] = {
    "chatgpt": ListShape(chatgpt.is_export, chatgpt.each_conversation),
    "claude": ListShape(claude.is_export, claude.each_conversation),
    "langchain": ListShape(langchain.is_message, langchain.listed_messages),
    "llamaindex": ListShape(llamaindex.is_message, llamaindex.listed_messages),
    "mem0": ListShape(mem0.is_memory, mem0.listed_memories),
    "jsonl": ListShape(has_content, records),
}
# One JSON value that is no list.
OBJECTS: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, str], Entries]]] = {
    "chatgpt": (chatgpt.is_export, chatgpt.conversations),
    "claude": (claude.is_export, claude.conversations),
    "claude-code": (
        claude_code.is_line,
        lambda value, name: claude_code.lines([(f"{name}, line 1", value)]),
    ),
    "codex": (codex.is_line, lambda value, name: codex.lines([(f"{name}, line 1", value)], name)),
    "langchain": (langchain.is_dump, langchain.messages),
    "llamaindex": (llamaindex.is_dump, llamaindex.messages),
    "mem0": (mem0.is_answer, mem0.memories),
    "jsonl": (
        has_content,
        lambda value, name: iter([tolerant_record(value, where=f"{name}, line 1", session=name)]),
    ),
}
READERS: Mapping[str, Reader] = {
    "jsonl": lambda content, name: json_lines(content.split("\n"), name),
    "chatgpt": lambda content, name: chatgpt.conversations(json_value(content, name), name),
    "claude": lambda content, name: claude.conversations(json_value(content, name), name),
    "claude-code": lambda content, name: LINE_READERS["claude-code"](content.split("\n"), name),
    "codex": lambda content, name: LINE_READERS["codex"](content.split("\n"), name),
    "langchain": lambda content, name: langchain.messages(json_value(content, name), name),
    "llamaindex": lambda content, name: llamaindex.read(content, name, values=values),
    "mem0": lambda content, name: mem0.memories(json_value(content, name), name),
    "text": text_lines,
}
