"""Sources of `htm import`: a file, an archive, a folder or stdin, each read as one
source of turns.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from ...base.errors import InvalidInput
from ...base.types import Draft
from ...files.folders import Folder, Parts
from ...prompt.attachments import attach_files
from ..transcripts import mem0
from ..transcripts.looks_like import UNDERSTOOD, refusal
from ..transcripts.mempalace import FORMAT as MEMPALACE
from ..transcripts.mempalace import place_of
from ..transcripts.read import (
    LINE_READERS,
    LIST_SHAPES,
    UTF_16,
    Transcript,
    first_line,
    iter_list,
    iter_read,
    lines_format,
    read,
)
from ..transcripts.turns import FAULTS, Conversation, Omissions, Skip, not_understood
from .archives import CONVERSATIONS, Archive, is_archive
from .mempalace import database_of, drawers_part, identity_of
from .tables import NO_TABLE_OPTIONS, OnSkip, Opened, Part, TableOptions, csv_part, table_part

LONG_FILE = 64 << 20  # bytes, beyond which a file is read part by part instead of at once
TITLES = 5  # that are kept of a source for its report
FOLDER_PATTERN = ("**", "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Result of reading a file; `drafts` returns its turns from the beginning, each time it is
    called.

    `conversations` say what of them holds now, where they have branches. `sessions` is how many
    there are, `titles` are those of the first few, `reasons` counts what was left out, and
    `examples` are the first places of each reason.
    """

    name: str
    format: str
    turns: int
    sessions: int = 0
    titles: tuple[str, ...] = ()
    reasons: dict[str, int] = field(default_factory=dict)
    examples: tuple[Skip, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    drafts: Callable[[], Iterator[Draft]]
    # the room and the drawer of what belongs into a palace
    place_of: Callable[[Draft], tuple[str, str]] | None = None
    identity: str | None = None


def source_of(
    path: Path, *, format: str, table: TableOptions = NO_TABLE_OPTIONS, user: str | None = None
) -> Source:
    """Read a file, an archive or a folder to its end first, so that what cannot be read of it is
    known.

    Raises `InvalidInput` for what cannot be read, is empty, or is nothing that is understood.
    """
    name, longest = "stdin" if str(path) == "-" else path.name or str(path.resolve()), table.longest
    try:
        if path.is_dir() and (database := database_of(path)) and format in ("auto", MEMPALACE):
            drawers = source(name, [drawers_part(database, name=name, zone=table.zone)])
            return replace(drawers, place_of=place_of, identity=identity_of(path))
        if path.is_dir():
            return source(name, _folder_parts(path, format, longest=longest))
        if str(path) == "-" or not path.is_file():  # a pipe can be read only once
            content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
            if format == "csv":
                return source(
                    name, [csv_part(lambda: io.BytesIO(content), name=name, options=table)]
                )
            if is_archive(content[:4]):
                return source(
                    name, _archive_parts(io.BytesIO(content), name, format, longest=longest)
                )
            return source(name, [_kept_part(content, name=name, format=format, longest=longest)])
        with path.open("rb") as file:
            head = file.read(16)
        if part := table_part(path, head, name=name, format=format, options=table):
            return source(name, [part])
        if is_archive(head):
            return source(name, _archive_parts(path, name, format, longest=longest))
        part = _part(path, name=name, format=format, longest=longest)
        return source(name, [partial(_of_user, part, user) if user else part])
    except OSError as error:
        raise InvalidInput(
            f"expected a transcript to read, got {path}: {error.strerror or error}"
        ) from None


def source(name: str, parts: Sequence[Part]) -> Source:
    """One source of its parts, each read to its end once."""
    left_out, sessions, formats, turns = Omissions(), dict[str, str | None](), set[str](), 0
    conversations = list[Conversation]()

    def collect(item: Skip | Conversation) -> None:
        """Note what is left out, and what holds of a conversation."""
        if isinstance(item, Conversation):
            conversations.append(item)
        else:
            left_out.add(item)

    for part in parts:
        format, drafts = part(collect)
        before = turns
        for draft in drafts:
            turns += 1
            title = (draft.metadata or {}).get("title")
            sessions.setdefault(draft.session or "", title if isinstance(title, str) else None)
        if turns > before or len(parts) == 1:
            formats.add(format)
    if not turns and not left_out.reasons:
        raise InvalidInput(
            f"{name}: expected a transcript, got an empty file. Understood are {UNDERSTOOD}."
        )
    if not turns and left_out.reasons and FAULTS.issuperset(left_out.reasons):
        first = left_out.examples[0]
        raise InvalidInput(f"{first.where}: {first.detail} Nothing was understood.")
    return Source(
        name=name,
        format=", ".join(sorted(formats)),
        turns=turns,
        sessions=len(sessions),
        titles=tuple(title for title in sessions.values() if title)[:TITLES],
        reasons=dict(left_out.reasons),
        examples=tuple(left_out.examples),
        conversations=tuple(conversations),
        drafts=lambda: (draft for part in parts for draft in part(lambda _: None)[1]),
    )


def _of_user(part: Part, user: str, skip: OnSkip) -> Opened:
    """Open a part; of an export of several users' memories, read those of one user only."""
    format, drafts = part(skip)
    return format, _only(drafts, user, skip) if format == mem0.FORMAT else drafts


def _only(drafts: Iterator[Draft], user: str, skip: OnSkip) -> Iterator[Draft]:
    for draft in drafts:
        if (draft.metadata or {}).get("user_id") in (None, user):
            yield draft
        else:
            skip(Skip("of another user"))


def _part(file: Path, *, name: str, format: str, longest: int) -> Part:
    return _long_part(file, name=name, format=format, longest=longest) or _kept_part(
        file.read_bytes(), name=name, format=format, longest=longest
    )


def _kept_part(content: bytes, *, name: str, format: str, longest: int) -> Part:
    """Return a part that is read at once, and kept for the second time."""
    transcript = read(content, name=name, format=format, attach=attach_files, longest=longest)
    return lambda skip: (transcript.format, _told(transcript, skip))


def _told(transcript: Transcript, skip: OnSkip) -> Iterator[Draft]:
    for reason, count in transcript.reasons.items():
        shown = [each for each in transcript.examples if each.reason == reason]
        for omission in [*shown, *[Skip(reason)] * (count - len(shown))]:
            skip(omission)
    for conversation in transcript.conversations:
        skip(conversation)
    yield from transcript


def _long_part(file: Path, *, name: str, format: str, longest: int) -> Part | None:
    """A file that is read part by part: a long one in a format that allows it."""
    if file.stat().st_size <= LONG_FILE:
        return None
    with file.open("rb") as head:
        beginning = head.read(4096)
    utf_16 = beginning.startswith(UTF_16)
    start = (
        beginning.decode("utf-16", "ignore").encode()
        if utf_16
        else beginning.removeprefix(b"\xef\xbb\xbf")
    ).lstrip()[:1]
    if start == b"[" and (format == "auto" or format in LIST_SHAPES):
        return lambda skip: _opened_list(
            file.open("rb"), name=name, format=format, skip=skip, longest=longest
        )
    if (
        start == b"{"
        and not utf_16
        and (format in LINE_READERS or (format == "auto" and file.suffix == ".jsonl"))
    ):
        with file.open("rb") as lines:
            known = lines_format(first_line(lines)[0], name) if format == "auto" else format
        return lambda skip: (
            known,
            _lines(file, name=name, format=known, skip=skip, longest=longest),
        )
    return None


def _lines(file: Path, *, name: str, format: str, skip: OnSkip, longest: int) -> Iterator[Draft]:
    with file.open("rb") as lines:
        yield from iter_read(
            lines,
            name=name,
            format=format,
            skip=skip,
            attach=attach_files,
            follow=skip,
            longest=longest,
        )


def _opened_list(file: IO[bytes], *, name: str, format: str, skip: OnSkip, longest: int) -> Opened:
    with ExitStack() as stack:
        stack.enter_context(file)
        known, drafts = iter_list(
            file.read,
            name=name,
            format=format,
            skip=skip,
            attach=attach_files,
            follow=skip,
            longest=longest,
        )
        return known, _within(stack.pop_all(), drafts)


def _within(opened: ExitStack, drafts: Iterator[Draft]) -> Iterator[Draft]:
    with opened:
        yield from drafts


# -- archives and folders --------------------------------------------------------------------------


def _archive_parts(file: Path | io.BytesIO, name: str, format: str, *, longest: int) -> list[Part]:
    with Archive(file, name=name) as archive:
        members = archive.conversations()
    return [
        partial(_opened_member, file, name, number, format, longest)
        for number, _ in enumerate(members)
    ]


def _opened_member(
    file: Path | io.BytesIO, name: str, number: int, format: str, longest: int, skip: OnSkip
) -> Opened:
    with ExitStack() as stack:
        archive = stack.enter_context(Archive(file, name=name))
        info = archive.conversations()[number]
        member = stack.enter_context(archive.open(info))
        known, drafts = iter_list(
            member.read,
            name=f"{name}, {info.filename}",
            format=format,
            skip=skip,
            attach=attach_files,
            follow=skip,
            longest=longest,
        )
        return known, _within(stack.pop_all(), drafts)


def _folder_parts(path: Path, format: str, *, longest: int) -> list[Part]:
    """The transcripts of a folder: an unpacked export, or the sessions of Claude Code or Codex."""
    transcripts = transcripts_in(path)
    if not transcripts:
        with Folder(path) as folder:
            files = folder.files(FOLDER_PATTERN)
        listed = ", ".join("/".join(parts)[:60] for parts in files[:5]) + (
            ", …" if len(files) > 5 else ""
        )
        raise InvalidInput(
            refusal(path.name or str(path), f"a folder of other files ({listed or 'none'})")
        )
    opened = _opened_list_of if CONVERSATIONS.fullmatch(transcripts[0][-1]) else _opened_session
    return [
        partial(opened, path.joinpath(*each), "/".join(each), format, longest)
        for each in transcripts
    ]


def transcripts_in(path: Path) -> list[Parts]:
    """The files of a folder, and of those below it, that are an export's conversations, or else
    sessions.
    """
    with Folder(path) as folder:
        files = [
            parts
            for parts in folder.files(FOLDER_PATTERN)
            if not path.joinpath(*parts).is_symlink()
        ]
    conversations = [parts for parts in files if CONVERSATIONS.fullmatch(parts[-1])]
    return conversations or [parts for parts in files if parts[-1].endswith(".jsonl")]


def _opened_list_of(file: Path, name: str, format: str, longest: int, skip: OnSkip) -> Opened:
    return _opened_list(file.open("rb"), name=name, format=format, skip=skip, longest=longest)


def _opened_session(file: Path, name: str, format: str, longest: int, skip: OnSkip) -> Opened:
    """One of many files; one that is nothing of the kind is left out, since it may have come there
    by chance.
    """
    try:
        part = _part(file, name=file.name, format=format, longest=longest)
    except InvalidInput as error:
        skip(not_understood(error, where=name))
        return format, iter(())
    return part(skip)
