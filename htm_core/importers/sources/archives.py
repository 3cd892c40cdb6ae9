"""The zip archive that an account's export is downloaded as: its conversations are read from
within, and nothing is unpacked.

No path of an archive is ever used as one, so none can lead anywhere. What it unpacks to is counted
while it is read: an archive that is made to fill a disk or a memory is refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from ...base.errors import InvalidInput
from ...base.limits import ARCHIVE_BYTES, ARCHIVE_FILES, ARCHIVE_RATIO, ARCHIVE_SMALL
from ..transcripts.looks_like import refusal

# Long exports of ChatGPT are cut into conversations-000.json, conversations-001.json, …
CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
_KINDS = {
    "word/": "a Word document",
    "xl/": "an Excel workbook",
    "ppt/": "a PowerPoint presentation",
    "META-INF/": "a Java archive or an e-book",
}
# the others unpack as much as they like at once
_UNPACKED_SAFELY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Unpacking:
    """Total of what was unpacked from one archive."""

    def __init__(self, name: str) -> None:
        self.name, self.total = name, 0


class ArchivedFile:
    """One file of an archive as it is unpacked, part by part."""

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo, unpacking: Unpacking) -> None:
        self._file, self._info, self._unpacking, self._read = file, info, unpacking, 0

    def read(self, size: int) -> bytes:
        """The next bytes. Raises `InvalidInput` when they are too many for what was packed, or
        broken.
        """
        name = f"{self._unpacking.name}, {self._info.filename}"
        try:
            chunk = self._file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise InvalidInput(
                f"{name}: expected a whole archive, got a broken one ({error}); download it again"
            ) from None
        self._read += len(chunk)
        self._unpacking.total += len(chunk)
        if self._read > ARCHIVE_SMALL and self._read > ARCHIVE_RATIO * self._info.compress_size:
            raise InvalidInput(
                f"{name}: expected at most {ARCHIVE_RATIO} times its packed size, got more: it "
                "looks like a zip bomb. If you trust "
                "it, unpack it yourself and import the file"
            )
        if self._unpacking.total > ARCHIVE_BYTES:
            raise InvalidInput(
                f"{name}: expected at most {ARCHIVE_BYTES >> 30} GB in one archive, got more; "
                "unpack it and import its files"
            )
        return chunk


class Archive:
    """An open archive of an export."""

    def __init__(self, file: Path | IO[bytes], *, name: str) -> None:
        self.name = name
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise InvalidInput(
                f"{name}: expected a whole zip archive, got a broken one ({error}); download it "
                "again"
            ) from None
        self._unpacking = Unpacking(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def conversations(self) -> list[zipfile.ZipInfo]:
        """The files with conversations, in the order of their names. Raises `InvalidInput` if there
        are none.
        """
        infos = [
            each
            for each in self._zip.infolist()
            if not each.is_dir() and not each.filename.startswith("__MACOSX/")
        ]
        members = [
            each for each in infos if CONVERSATIONS.fullmatch(each.filename.rpartition("/")[2])
        ]
        if not members:
            names = [each.filename for each in infos]
            kind = next(
                (
                    words
                    for start, words in _KINDS.items()
                    if any(each.startswith(start) for each in names)
                ),
                None,
            )
            listed = ", ".join(ascii(each)[1:-1][:60] for each in names[:5]) + (
                ", …" if len(names) > 5 else ""
            )
            raise InvalidInput(
                refusal(self.name, kind or f"a zip archive of other files ({listed or 'none'})")
            )
        if len(members) > ARCHIVE_FILES:
            raise InvalidInput(
                f"{self.name}: expected at most {ARCHIVE_FILES:,} files of conversations, got "
                f"{len(members):,}"
            )
        return sorted(members, key=lambda info: info.filename)

    @contextmanager
    def open(self, info: zipfile.ZipInfo) -> Iterator[ArchivedFile]:
        """Open one file of the archive."""
        if info.flag_bits & 1:
            raise InvalidInput(
                f"{self.name}: expected an archive without a password, got one; unpack it and "
                "import the file"
            )
        if info.compress_type not in _UNPACKED_SAFELY:
            raise InvalidInput(
                f"{self.name}: expected files that are stored or deflated, got another "
                "compression; unpack it and import the file"
            )
        try:
            file = self._zip.open(info)
        except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
            raise InvalidInput(
                f"{self.name}: expected a whole archive, got a broken one ({error}); download it "
                "again"
            ) from None
        with file:
            yield ArchivedFile(file, info, self._unpacking)


def is_archive(head: bytes) -> bool:
    """True if a file is a zip archive, by its first bytes."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
