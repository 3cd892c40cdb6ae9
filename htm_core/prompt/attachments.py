"""Files in a framework's messages: what is to read in them, so that recall finds it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import overload

from ..base.errors import InvalidInput
from ..base.limits import ATTACHED_LENGTH, ATTACHED_PAGES, NAME_LENGTH
from ..base.types import Attachment, Hit, Recall, Source
from ..text.file_blocks import UNNAMED as UNNAMED

# the adapters and the importers have these from here
from ..text.file_blocks import FileBlock as FileBlock
from ..text.file_blocks import documents_in as documents_in
from ..text.file_blocks import files_in as files_in
from ..text.file_blocks import named as named
from ..text.file_blocks import source_of_files
from ..text.readable import Readable, of_pages
from ..writing.entries import ATTACHED_TO
from ..writing.file_bytes import read_bytes
from .messages import legible, searchable

_log = logging.getLogger("htm.integration")


class FilesOf(Sequence[Attachment]):
    """The readable content of a message's files, read on first use: within the time in which the
    message is written, and not at all where `keep=` leaves it out. It counts as something where
    there are files, be they unreadable.
    """

    def __init__(self, blocks: Iterable[FileBlock], *, source: Source) -> None:
        self._blocks, self._source = tuple(blocks), source

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def __len__(self) -> int:
        return len(self._read)

    @overload
    def __getitem__(self, at: int) -> Attachment: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Attachment]: ...
    def __getitem__(self, at: int | slice) -> Attachment | Sequence[Attachment]:
        return self._read[at]

    @cached_property
    def _read(self) -> tuple[Attachment, ...]:
        return readable_files(self._blocks, source=self._source)


def files_said(blocks: Iterable[FileBlock], role: str | None) -> FilesOf:
    """Return the readable content of a message's files, by the role of its sender; for a system
    message nothing.
    """
    return FilesOf(() if role == "system" else blocks, source=source_of_files(role))


def attach_files(blocks: Sequence[FileBlock], source: Source) -> FilesOf:
    """Return the readable content of a turn's files, texts and PDFs, once the turn is written."""
    return FilesOf(blocks, source=source)


def readable_files(
    blocks: Iterable[FileBlock], *, source: Source = "file"
) -> tuple[Attachment, ...]:
    """Return the content of a message's texts and PDFs, up to 300,000 characters in all, of each
    PDF 200 pages.

    What is neither, or cannot be read, is left out and logged: the log has the message with all of
    its bytes.
    """
    files: list[Attachment] = []
    room = ATTACHED_LENGTH
    for block in blocks:
        try:
            read = _read(block, source=source)
        except InvalidInput as error:
            _log.info(
                "a file in a message is in the log alone, where recall does not look: %s", error
            )
            continue
        kept = _shortened(read, room)
        if len(kept.text) < len(read.text):
            _log.warning(
                "of the files in a message, recall finds the first %s characters alone; load the "
                "file to find all of it",
                f"{ATTACHED_LENGTH:,}",
            )
        room -= len(kept.text)
        if kept.text.strip():
            files.append(kept)
    return tuple(files)


def attached_to(hit: Hit) -> list[tuple[str, str]]:
    """The session and the id of each message with whose files a hit came; none for what is no part
    of such a file.
    """
    ids = (
        (said.session or "", said.metadata.get(ATTACHED_TO))
        for said in hit.mentions
        if said.role is None
    )
    return [(session, id) for session, id in ids if isinstance(id, str)]


def stands_in(
    places: Iterable[Sequence[str]], *, session: str | None, shown: Collection[str]
) -> bool:
    """True if one of these places, each a session and the id of a message (`attached_to`), is among
    those shown of a session.
    """
    return any(at == session and id in shown for at, id in places)


def without_shown_files(recall: Recall, *, session: str | None, shown: Collection[str]) -> Recall:
    """Hits without the parts of files that a model sees anyway: those of the messages with these
    ids in a session.
    """
    kept = tuple(
        hit for hit in recall if not stands_in(attached_to(hit), session=session, shown=shown)
    )
    return recall if len(kept) == len(recall) else replace(recall, hits=kept)


def _read(block: FileBlock, *, source: Source) -> Attachment:
    name = _name(block.name)
    if block.is_text and isinstance(block.data, str):
        return Attachment(
            text=legible(block.data), name=name, media_type=block.media_type, source=source
        )
    data, media_type = _bytes_of(block)
    file = read_bytes(data, name=name or "", media_type=media_type, most_pages=ATTACHED_PAGES)
    return Attachment(
        text=legible(file.text), name=name, media_type=media_type, pages=file.pages, source=source
    )


def _bytes_of(block: FileBlock) -> tuple[bytes, str | None]:
    """The bytes of a file, and its type."""
    data, media_type = block.decoded()
    if data is None:
        raise InvalidInput(
            "expected a file in base64, got other characters; encode its bytes by base64"
        )
    return data, media_type


def _shortened(file: Attachment, room: int) -> Attachment:
    """As much of a file as there is room for."""
    if len(file.text) <= room:
        return file
    if not file.pages:
        return replace(file, text=file.text[:room])
    # where the next page begins, a page has ended
    whole = sum(start <= room for start in file.pages[1:])
    kept = of_pages(Readable(file.text, pages=file.pages).each_page()[:whole])
    return replace(file, text=kept.text, pages=kept.pages)


def _name(name: str | None) -> str | None:
    """A file's name as metadata: without what cannot be stored, and without the folders that it was
    in.
    """
    if not isinstance(name, str):
        return None
    last = searchable(name.replace("\\", "/").rsplit("/", 1)[-1]).strip()
    return last[-NAME_LENGTH:] or None
