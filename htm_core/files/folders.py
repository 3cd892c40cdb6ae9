"""A folder whose files anybody may have put there: nothing is read, written or deleted outside of
it.

Each part of a path is opened by itself below the folder's own descriptor and never through a link,
so that nothing can be swapped between a check and its use. A link to a file within the folder is
followed by opening what it leads to in the same way. Where the system cannot open files below a
descriptor (Windows), paths are resolved and compared instead.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from ..base.errors import InvalidInput
from ..base.limits import FILE_BYTES, FILES_PER_LOAD, FOLDER_LEVELS, PATTERN_LENGTH, PATTERN_PARTS

Parts = tuple[str, ...]

_BELOW = {
    os.open,
    os.mkdir,
    os.unlink,
    os.rename,
} <= os.supports_dir_fd and os.scandir in os.supports_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
# a pipe must not wait
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_LINK

_UP = ("", ".", "..")
# what opening a link or a file as a folder answers
_A_LINK = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)


class Folder:
    """An open folder. The path to it may lead through links, since whoever gave it has chosen them;
    what is in it has not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = Path(os.path.realpath(path))
        self._fd = os.open(self._real, _DIRECTORY) if _BELOW else -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read(self, parts: Parts, *, most: int = FILE_BYTES) -> bytes:
        """The bytes of a file. Raises `InvalidInput` for what is no file, is too large, or leads
        out of the folder.
        """
        try:
            fd = self._open(parts)
        except OSError:
            inside = self._within(parts)
            if inside == parts:
                raise
            fd = self._open(inside)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):  # reading a pipe or a device may never end
                raise InvalidInput(
                    f"expected a file, got {str(self.path.joinpath(*parts))!r}, which is none"
                )
            data = file.read(most + 1)
        if len(data) > most:
            raise InvalidInput(f"expected a file of at most {most >> 20} MB, got more; split it")
        return data

    def exists(self, parts: Parts) -> bool:
        """True if something has this name, even a link that leads nowhere."""
        try:
            with self._parent(parts) as parent:
                os.stat(self._name(parts), dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno in _A_LINK:
                raise self._outside(parts[:-1]) from None
            raise
        return True

    def write(self, parts: Parts, text: str) -> None:
        """Write a file whole or not at all, with the folders above it. A link by that name is
        replaced, not followed.
        """
        with self._parent(parts, create=True) as parent:
            name = f".htm-{secrets.token_hex(8)}"
            draft = name if parent is not None else str(self._real.joinpath(*parts[:-1], name))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _NO_LINK
            fd = os.open(draft, flags, 0o644, dir_fd=parent)
            try:
                with open(fd, "w", encoding="utf-8", newline="\n") as out:
                    out.write(text)
                os.replace(draft, self._name(parts), src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=parent)
                raise

    def remove(self, parts: Parts) -> None:
        """Delete a file, if it is there."""
        with suppress(FileNotFoundError), self._parent(parts) as parent:
            os.unlink(self._name(parts), dir_fd=parent)

    def files(self, pattern: Sequence[str]) -> list[Parts]:
        """The files whose paths match, sorted; nothing hidden, and no folder that is a link.

        A link to a file is among them, wherever it leads: `read` says so. Raises `InvalidInput` for
        too many or too deep ones.
        """
        paths: list[Parts] = []
        for parts in self._walk((), pattern, _start(pattern)):
            paths.append(parts)
            if len(paths) > FILES_PER_LOAD:
                raise InvalidInput(
                    f"expected a folder of at most {FILES_PER_LOAD:,} files, got more in "
                    f"{str(self.path)!r}; load its parts"
                )
        return sorted(paths)

    def _walk(
        self, above: Parts, pattern: Sequence[str], states: frozenset[int]
    ) -> Iterator[Parts]:
        if len(above) > FOLDER_LEVELS:
            raise InvalidInput(
                f"expected folders of at most {FOLDER_LEVELS} levels, got more in "
                f"{str(self.path)!r}; load its parts"
            )
        try:
            with self._scanned(above) as entries:
                listed = [(each.name, each.is_dir(follow_symlinks=False), each) for each in entries]
                files = [
                    name for name, is_folder, each in listed if not is_folder and _is_file(each)
                ]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # it left, became a link meanwhile, or is nobody's to read
        for name in files:
            if not name.startswith(".") and len(pattern) in _step(pattern, states, name):
                yield (*above, name)
        for name, is_folder, _ in listed:
            below = (
                _step(pattern, states, name)
                if is_folder and not name.startswith(".")
                else frozenset()
            )
            if any(state < len(pattern) for state in below):
                yield from self._walk((*above, name), pattern, below)

    @contextmanager
    def _scanned(self, parts: Parts) -> Iterator[Iterator[os.DirEntry[str]]]:
        if not _BELOW:
            with os.scandir(self._checked(parts)) as entries:
                yield entries
            return
        with self._parent((*parts, "")) as fd, os.scandir(fd) as entries:
            yield entries

    @contextmanager
    def _parent(self, parts: Parts, *, create: bool = False) -> Iterator[int | None]:
        """The folder that a file lies in, as a descriptor; None where the system has none, and then
        its path was checked.
        """
        if not _BELOW:
            above = self._checked(parts[:-1])
            if create:
                above.mkdir(parents=True, exist_ok=True)
            yield None
            return
        if any(name in _UP or "/" in name for name in parts[:-1]):
            raise self._outside(parts)
        fd = os.dup(self._fd)
        try:
            for name in parts[:-1]:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=fd)
                inner = self._inner(name, fd, parts, create=create)
                os.close(fd)
                fd = inner
            yield fd
        finally:
            os.close(fd)

    def _inner(self, name: str, fd: int, parts: Parts, *, create: bool) -> int:
        try:
            return os.open(name, _DIRECTORY, dir_fd=fd)
        except OSError as error:
            if create and error.errno in _A_LINK:
                raise self._outside(parts[:-1]) from None
            raise

    def _name(self, parts: Parts) -> str:
        if parts[-1] in _UP or "/" in parts[-1]:
            raise self._outside(parts)
        return parts[-1] if _BELOW else str(self._real.joinpath(*parts))

    def _open(self, parts: Parts) -> int:
        with self._parent(parts) as parent:
            if parent is None:
                self._checked(parts)
            return os.open(self._name(parts), _FILE, dir_fd=parent)

    def _within(self, parts: Parts) -> Parts:
        """Where a path with links leads, if that is within this folder and not hidden."""
        target = self._checked(parts)
        inside = target.relative_to(self._real).parts
        if any(part.startswith(".") for part in inside) or not inside:
            raise self._outside(parts)
        return inside

    def _checked(self, parts: Parts) -> Path:
        target = Path(os.path.realpath(self._real.joinpath(*parts)))
        if not target.is_relative_to(self._real):
            raise self._outside(parts)
        return target

    def _outside(self, parts: Parts) -> InvalidInput:
        return InvalidInput(
            f"expected what lies in the folder {str(self.path)!r}, got {'/'.join(parts)!r}, a "
            "link that leads out of it or to "
            "something hidden; put the thing itself there"
        )


def checked_pattern(pattern: object) -> Parts:
    """The parts of a pattern such as "**/*.md"; raises `InvalidInput` for what is none, or leads
    out of the folder.
    """
    if isinstance(pattern, str) and len(pattern) > PATTERN_LENGTH:
        raise InvalidInput(
            f"expected a pattern of at most {PATTERN_LENGTH:,} characters, got {len(pattern):,}; "
            "shorten it"
        )
    parts = Path(pattern).parts if isinstance(pattern, str) and "\0" not in pattern else ()
    if len(parts) > PATTERN_PARTS:
        raise InvalidInput(
            f"expected a pattern of at most {PATTERN_PARTS} parts, got {len(parts):,}; use '**' "
            "for many"
        )
    if (
        not parts
        or Path(*parts).is_absolute()
        or any(p == ".." or ("**" in p and p != "**") for p in parts)
    ):
        raise InvalidInput(
            f"expected a pattern below the folder, such as '**/*.md', got {pattern!r:.80}"
        )
    return parts


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """True if a pattern matches a path: "**" is any number of parts, "*" anything within one."""
    states = _start(pattern)
    for part in parts:
        states = _step(pattern, states, part)
    return len(pattern) in states


def _start(pattern: Sequence[str]) -> frozenset[int]:
    return _skipped(pattern, {0})


def _step(pattern: Sequence[str], states: frozenset[int], name: str) -> frozenset[int]:
    """Return the states of the pattern after one more part: all at once, so that many "**" cost no
    more than one.
    """
    after = {state for state in states if state < len(pattern) and pattern[state] == "**"}
    after |= {
        state + 1
        for state in states
        if state < len(pattern) and pattern[state] != "**" and fnmatchcase(name, pattern[state])
    }
    return _skipped(pattern, after)


def _skipped(pattern: Sequence[str], states: set[int]) -> frozenset[int]:
    for state in sorted(states):
        while state < len(pattern) and pattern[state] == "**":
            state += 1
            states = states | {state}
    return frozenset(states)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
