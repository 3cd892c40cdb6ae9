"""Files of a model's own in a memory: each path is a key, each edit a new version of it, and
nothing is ever lost.

A version's text begins with its path, so that equal files are not one memory, an empty file has
something to keep, and recall shows where a passage stands. The replies are those of the reference
implementation of Claude's memory tool, which models know.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from ..base.errors import InvalidInput, NotFound
from ..base.telemetry import store_id
from ..base.types import Conflict, Node
from ..memory.memory import Memory

ROOT = "/memories"
MAX_PATH = 200
MAX_LINES = 999_999
MAX_FILES = 10_000  # versions that are looked through for a listing
MOST_PLACES = 100  # of a text that is to be replaced, whose lines are named
QUOTED = 1_000  # characters of it that are said back
TRIES = 60  # of an edit that others' edits come before
DELETED = "(deleted)"
_WIDTH = len(str(MAX_LINES))
_PAGE = 1_000


class FileRefused(InvalidInput):
    """A command on a file that cannot be done; its message is what a model reads."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of a file: its number, its text, and the id of its memory. A deletion is a
    version without text (None).
    """

    version: int
    text: str | None
    node_id: str


class MemoryFiles:
    """Files below `/memories` in a memory, of its user alone; without a user they are the tenant's.

    Each method does one command of Claude's memory tool and returns its reply. Raises `FileRefused`
    for what cannot be done, with a sentence for the model, and `StorageError`.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        # A user sees what the tenant shares, but not as files: an edit would be of another's key.
        self._store = store_id(memory.tenant, memory.user or "").removeprefix("htm:")

    # -- commands ----------------------------------------------------------------------------------

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with line numbers, or what is in a directory, two levels deep, with sizes."""
        place = checked_path(path)
        node = self._find(place)
        if node is not None:
            return self._numbered(path, _text(node), view_range)
        files = self._below(place)
        if not files and place != ROOT:
            raise FileRefused(f"The path {path} does not exist. Please provide a valid path.")
        return _listing(place, files)

    def create(self, path: str, text: str) -> str:
        """Make a new file."""
        text = _words(text, "file_text")
        place = self._checked_file(path)
        for parent in _parents(place):
            if self._find(parent) is not None:
                raise FileRefused(f"The path {parent} is not a directory.")
        if self._below(place):
            raise FileRefused(f"The path {path} is a directory.")

        def new(before: str | None) -> str:
            if before is not None:
                raise FileRefused(f"File {path} already exists")
            return text

        self._change(place, new)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands exactly once in a file."""
        old, new = _words(old, "old_str"), _words(new, "new_str")
        place = self._existing(path)
        at: list[int] = []

        def edit(before: str | None) -> str:
            body = self._body(before, path)
            lines = [
                body.count("\n", 0, found) + 1 for found in islice(_places(body, old), MOST_PLACES)
            ]
            quoted = old if len(old) <= QUOTED else f"{old[:QUOTED]}\u2026"
            if not lines:
                raise FileRefused(
                    f"No replacement was performed, old_str `{quoted}` did not appear verbatim in "
                    f"{path}."
                )
            if len(lines) > 1:
                raise FileRefused(
                    f"No replacement was performed. Multiple occurrences of old_str `{quoted}` in "
                    "lines: "
                    f"{', '.join(map(str, lines))}. Please ensure it is unique"
                )
            at[:] = lines
            return body.replace(old, new)

        edited = self._change(place, edit).split("\n")
        start, stop = max(0, at[0] - 3), min(len(edited), at[0] + 2)
        shown = "\n".join(_line(number + 1, edited[number]) for number in range(start, stop))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with "
            f"line numbers):\n{shown}"
        )

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert lines after a line of a file; 0 is its beginning."""
        text = _words(text, "insert_text")
        place = self._existing(path)

        def edit(before: str | None) -> str:
            lines = self._body(before, path).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not isinstance(line, int) or not 0 <= line <= len(lines):
                raise FileRefused(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, "
                    f"{len(lines)}]."
                )
            lines.insert(line, text.rstrip("\n"))
            return "\n".join(lines) + "\n"

        self._change(place, edit)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a directory with all that is in it; every version stays in
        `history`.
        """
        place = checked_path(path)
        if place == ROOT:
            raise FileRefused(f"Cannot delete the {ROOT} directory itself")
        files = [place] if self._find(place) is not None else sorted(self._below(place))
        if not files:
            raise FileRefused(f"The path {path} does not exist")
        for file in files:
            self._remove(file)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a directory with all that is in it. What others write meanwhile moves
        too.
        """
        old, new = checked_path(old_path), self._checked_file(new_path)
        if old == ROOT:
            raise FileRefused(f"Cannot rename the {ROOT} directory itself")
        files = [old] if self._find(old) is not None else sorted(self._below(old))
        if not files:
            raise FileRefused(f"The path {old_path} does not exist")
        if new == old or new.startswith(old + "/"):
            raise FileRefused(f"The destination {new_path} is {old_path} itself, or inside of it")
        if self._find(new) is not None or self._below(new):
            raise FileRefused(f"The destination {new_path} already exists")
        for file in files:
            self._move(file, self._checked_file(new + file[len(old) :]))
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete every file."""
        for file in sorted(self._below(ROOT)):
            self._remove(file)
        return "All memory cleared"

    # -- for people --------------------------------------------------------------------------------

    def history(self, path: str) -> list[FileVersion]:
        """Every version of a file, oldest first, also of one that was deleted."""
        place = checked_path(path)
        try:
            versions = self.memory.history(self._key(place))
        except NotFound:
            return []
        return [
            FileVersion(node.version or 0, None if _is_deleted(node) else _text(node), node.id)
            for node in versions
        ]

    def undo(self, path: str, *, version: int | None = None) -> str:
        """Give a file the text of an earlier version: the one before the present, or the last one
        of a deleted file.
        """
        place = checked_path(path)
        written = [each for each in self.history(path) if each.text is not None]
        if version is not None:
            written = [each for each in written if each.version == version]
        elif self._find(place) is not None:
            written = written[:-1]
        if not written:
            raise FileRefused(
                f"expected an earlier version of {path}, got none; history(path) "
                "shows what there is"
            )
        earlier = written[-1].text or ""
        self._change(place, lambda _: earlier)
        return f"The file {path} is as in version {written[-1].version}."

    # -- versions ----------------------------------------------------------------------------------

    def _key(self, place: str) -> str:
        return f"file:{self._store}:{place}"

    def _current(self, place: str) -> Node | None:
        """The newest value of a path, be it a deletion.

        What another process replaces while it is read has no version any more, and an edit of it
        would compare with nothing: it is read again.
        """
        key = self._key(place)
        for _ in range(TRIES):
            try:
                node = self.memory.get(key)
            except NotFound:
                return None
            if key in node.keys and node.version is not None:
                return node
        raise _busy(place)

    def _find(self, place: str) -> Node | None:
        node = self._current(place)
        return None if node is None or _is_deleted(node) else node

    def _existing(self, path: str) -> str:
        place = checked_path(path)
        if self._find(place) is None:
            if place == ROOT or self._below(place):
                raise FileRefused(f"The path {path} is not a file.")
            raise _missing(path)
        return place

    @staticmethod
    def _body(before: str | None, path: str) -> str:
        if before is None:
            raise _missing(path)
        return before

    @staticmethod
    def _checked_file(path: str) -> str:
        place = checked_path(path)
        if place == ROOT:
            raise FileRefused(f"The path {path} is a directory.")
        return place

    def _change(self, place: str, edit: Callable[[str | None], str]) -> str:
        """Compare and swap until nobody was in between: `edit` gets the text as it is, and gives
        the new one.
        """
        for attempt in range(TRIES):
            node = self._current(place)
            text = edit(None if node is None or _is_deleted(node) else _text(node))
            written = self._write(place, f"{place}\n\n{text}", node)
            if written is not None:
                return _text(written)  # as it was stored, perhaps without a secret
            time.sleep(random.uniform(0, min(0.2, 0.005 * 2**attempt)))
        raise _busy(place)

    def _write(self, place: str, content: str, node: Node | None) -> Node | None:
        """The new version; None when somebody was quicker."""
        version = 0 if node is None else node.version
        done = self.memory.revise(
            self._key(place),
            content,
            if_version=version,
            source="assistant",
            metadata={"memory_file": place, "memory_store": self._store},
        )
        return None if isinstance(done, Conflict) else done

    def _remove(self, place: str, *, expected: Node | None = None) -> bool:
        """Write a deletion as a version, and hide it; False when somebody has edited what was
        `expected`.
        """
        for _ in range(TRIES):
            node = self._find(place)
            if node is None:
                return True
            if expected is not None and node.version != expected.version:
                return False
            if self._write(place, f"{place}\n{DELETED}", node) is not None:
                self._hide(place)
                return True
        raise _busy(place)

    def _hide(self, place: str) -> None:
        """Take the sentence of a deletion out of recall, unless the file was made again already."""
        node = self._current(place)
        if node is not None and _is_deleted(node):
            try:
                self.memory.forget(node.id)
            except NotFound:
                return

    def _move(self, old: str, new: str) -> None:
        """Write the new file first, then delete the old one; what was edited in between is taken
        over.
        """
        for _ in range(TRIES):
            node = self._find(old)
            if node is None:
                return
            text = _text(node)
            self._change(new, lambda _, text=text: text)  # type: ignore[misc]
            if self._remove(old, expected=node):
                return
        raise _busy(old)

    def _below(self, place: str) -> dict[str, int]:
        """The files in a directory and below it, each with its size in bytes."""
        sizes: dict[str, int] = {}
        after: str | None = None
        for _ in range(MAX_FILES // _PAGE):
            page = self.memory.list(where={"memory_store": self._store}, limit=_PAGE, after=after)
            for node in page:
                path = str(node.metadata.get("memory_file", ""))
                if (
                    path.startswith(place + "/")
                    and self._key(path) in node.keys
                    and not _is_deleted(node)
                ):
                    sizes[path] = len(_text(node).encode())
            if len(page) < _PAGE:
                break
            after = page[-1].id
        return sizes

    @staticmethod
    def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
        lines = text.split("\n")
        if len(lines) > MAX_LINES:
            raise FileRefused(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
        start, stop = 0, len(lines)
        if view_range is not None and len(view_range) == 2:
            start = max(1, view_range[0]) - 1
            stop = len(lines) if view_range[1] == -1 else max(start, view_range[1])
        shown = [_line(number, line) for number, line in enumerate(lines[start:stop], start + 1)]
        return f"Here's the content of {path} with line numbers:\n" + "\n".join(shown)


def checked_path(path: object) -> str:
    """A path at or below `/memories`, without a slash at its end; raises `FileRefused` for any
    other.

    Dots, encoded ones too, are never followed: there is nothing outside to reach, and a name is one
    place.
    """
    if not isinstance(path, str) or not (path == ROOT or path.startswith(ROOT + "/")):
        raise FileRefused(f"Path must start with {ROOT}, got: {path!s:.200}")
    decoded = unquote(unquote(path))
    if re.search(r"[\x00-\x1f\x7f\\\ud800-\udfff]", decoded):
        raise FileRefused("Path must have no control characters, backslashes or broken characters")
    parts = [part for part in path.split("/") if part]
    if any(part.strip() in (".", "..") for part in decoded.split("/")):
        raise FileRefused(f"Path {path:.200} would escape {ROOT} directory")
    place = "/" + "/".join(parts)
    if len(place) > MAX_PATH:
        raise FileRefused(f"Path must have at most {MAX_PATH} characters, got {len(place):,}")
    return place


def _words(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise FileRefused(
            f"expected {what} to be a text, got {type(text).__name__}; give it and try again"
        )
    return text


def _busy(place: str) -> FileRefused:
    return FileRefused(
        f"The file {place} is being edited by others just now. View it and try again."
    )


def _missing(path: str) -> FileRefused:
    return FileRefused(f"The path {path} does not exist. Please provide a valid path.")


def _text(node: Node) -> str:
    return node.content.partition("\n\n")[2]


def _is_deleted(node: Node) -> bool:
    return node.content.partition("\n")[2] == DELETED


def _parents(place: str) -> list[str]:
    parts = place.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]


def _places(text: str, part: str) -> Iterator[int]:
    """Where a part stands in a text, overlapping ones too; nowhere for an empty part."""
    place = text.find(part) if part else -1
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _line(number: int, line: str) -> str:
    return f"{str(number).rjust(_WIDTH)}\t{line}"


def _listing(place: str, files: dict[str, int]) -> str:
    """A directory, two levels deep: directories end in a slash and have the size of what is in
    them. Hidden ones are left out.
    """
    sizes: dict[str, int] = {}
    for path, size in files.items():
        parts = path[len(place) + 1 :].split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), 3)):
            directory = "/".join(parts[:depth]) + "/"
            sizes[directory] = sizes.get(directory, 0) + size
        if len(parts) <= 2:
            sizes["/".join(parts)] = size
    lines = [f"{_size(sum(files.values()))}\t{place}"]
    lines += [f"{_size(sizes[name])}\t{place}/{name}" for name in sorted(sizes)]
    header = (
        f"Here're the files and directories up to 2 levels deep in {place}, excluding hidden items:"
    )
    return "\n".join([header, *lines])


def _size(count: int) -> str:
    """Bytes in words of at most one decimal: 0B, 512B, 1.5K."""
    number, unit = float(count), "B"
    for larger in "KMG":
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{number:.0f}{unit}" if number == int(number) else f"{number:.1f}{unit}"
