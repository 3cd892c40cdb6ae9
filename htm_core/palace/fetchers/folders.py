"""Text files and Markdown below a folder, and nothing out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ...base.errors import InvalidInput, NotFound
from ...base.limits import FILE_BYTES
from ...files.folders import Folder, Parts, checked_pattern, matches
from ..sources import FetchFailed, Listed

PATTERNS = ("**/*.md", "**/*.markdown", "**/*.txt", "**/*.rst")
MAX_ABOUT = 300  # characters


class FolderFetcher:
    """Text files and Markdown below a folder, such as a clone of a wiki or of docs.

        palace.register(FolderFetcher("handbook"))

    The uris are "file:///…/handbook/holidays.md". A file is read anew each time. Hidden files,
    files that no pattern matches, and links that lead out of the folder are not read.

    Args:
        folder: The folder; the path to it may lead through links, what is in it may not.
        patterns: Which files, below the folder.
        max_bytes: Of one file. A larger one is a failure.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        patterns: Sequence[str] = PATTERNS,
        max_bytes: int = FILE_BYTES,
    ) -> None:
        if not isinstance(folder, str | os.PathLike) or "\0" in os.fspath(folder):
            raise InvalidInput(f"expected folder to be a path, got {folder!r:.200}")
        if isinstance(patterns, str) or not patterns:
            raise InvalidInput(
                f"expected patterns to be a list such as ['**/*.md'], got {patterns!r:.200}"
            )
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise InvalidInput(
                f"expected max_bytes to be a whole number of at least 1, got {max_bytes!r}"
            )
        self.folder = Path(os.path.abspath(Path(folder).expanduser()))
        if not self.folder.is_dir():
            raise NotFound(f"expected a folder, got {str(self.folder)!r:.300}")
        self.max_bytes = max_bytes
        self._patterns = [checked_pattern(each) for each in patterns]

    def __repr__(self) -> str:
        return f"FolderFetcher({str(self.folder)!r})"

    @property
    def name(self) -> str:
        """The uri of the folder that it reads."""
        return self.folder.as_uri()

    def covers(self, uri: str) -> bool:
        """True if a uri is one of a file of this folder that a pattern matches, be it
        there or not.
        """
        return self._parts(uri) is not None

    def __call__(self, uri: str) -> str | None:
        """The text of a file; None when there is none. Raises `InvalidInput` for what is not of
        this folder, or leads out of it.
        """
        parts = self._parts(uri)
        if parts is None:
            raise InvalidInput(
                f"expected a file of {self.name!r:.300}, got {uri!r:.300}; nothing else is read"
            )
        try:
            with Folder(self.folder) as folder:
                return self._text(folder, parts)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise FetchFailed(
                f"the file cannot be read: {error.strerror or type(error).__name__}"
            ) from error

    def listing(self, limit: int) -> Iterator[Listed]:
        """The files by name, each with its first heading, or its first line. What cannot be read is
        left out.
        """
        with Folder(self.folder) as folder:
            for parts in sorted(
                {each for pattern in self._patterns for each in folder.files(pattern)}
            )[: max(0, limit)]:
                try:
                    text = self._text(folder, parts)
                except (OSError, InvalidInput, FetchFailed):
                    continue
                first = next(
                    (
                        line.lstrip("#").strip()
                        for line in text[:2_000].splitlines()
                        if line.strip("#= -\t")
                    ),
                    "",
                )
                yield Listed(
                    self.folder.joinpath(*parts).as_uri(), f"{'/'.join(parts)}: {first}"[:MAX_ABOUT]
                )

    def _text(self, folder: Folder, parts: Parts) -> str:
        try:
            return folder.read(parts, most=self.max_bytes).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FetchFailed(
                f"expected UTF-8, got another encoding at byte {error.start}; convert the file"
            ) from None

    def _parts(self, uri: str) -> Parts | None:
        """A file's path below the folder, of its uri; None for what is not below it."""
        if not isinstance(uri, str) or not uri.startswith("file:") or "?" in uri:
            return None
        root = unquote(urlsplit(self.name).path).rstrip("/") + "/"
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.netloc or not path.startswith(root) or "\0" in path or "\\" in path:
            return None
        below = tuple(path.removeprefix(root).split("/"))
        if any(each == "" or each.startswith(".") for each in below):
            return None
        return below if any(matches(below, pattern) for pattern in self._patterns) else None
