"""Backups from the command line: all of a tenant's written to a file, and read back."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from ..errors import InvalidInput
from ..memory import Memory
from ..operations.backup import BackedUp, is_backup
from .json_output import answer
from .options import Whose
from .rendering import bar, console, table
from .setup import have_model


def export(
    whose: Whose, file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; - is stdout.")]
) -> None:
    """Write everything that the tenant remembers and holds in mind as JSON lines; htm import reads it back."""
    with whose.memory() as memory:
        if str(file) == "-":
            memory.backup.write(sys.stdout)
            return
        _report(whose, _write(memory, file))


def holds_backup(file: Path) -> bool:
    """Whether a file is a backup, by its first line; a pipe, which can be read once only, is not looked into."""
    if not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return is_backup(lines.readline(4096))
    except OSError:
        return False


def read_backup(whose: Whose, file: Path, *, wait: bool, then: Callable[[Memory], object]) -> None:
    """Read a backup into the tenant, and wait for the vectors that it lacks."""
    if wait:
        have_model(whose)
    with whose.memory(works=wait) as memory:
        try:
            with file.open(encoding="utf-8") as lines, bar() as progress:
                task = progress.add_task("Reading", total=None)
                done = memory.backup.read(lines, progress=lambda count: progress.update(task, completed=count))
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"expected UTF-8, got another encoding at byte {error.start}; nothing was read"
            ) from None
        if wait and done.vectors_owed:
            then(memory)
        _report(whose, done)


def _write(memory: Memory, file: Path) -> BackedUp:
    """Write beside the file and put it in place when it is whole, readable by its owner alone."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as target, bar() as progress:
            task: TaskID = progress.add_task("Writing", total=None)
            done = memory.backup.write(target, progress=lambda count: progress.update(task, completed=count))
            target.flush()
            os.fsync(target.fileno())
        draft.replace(file)
    except OSError as error:
        raise InvalidInput(f"expected a file that can be written, got {file}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return done


def _report(whose: Whose, done: BackedUp) -> None:
    if whose.json:
        answer(done)
        return
    made = table("rows", "of", right=("rows",))
    for name, count in done.counts.items():
        made.add_row(f"{count:,}", name)
    console().print(made)
