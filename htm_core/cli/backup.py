"""`htm export`, and the part of `htm import` that reads a backup."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from ..base.errors import InvalidInput
from ..forgetting.backup import BackedUp, is_backup
from ..memory.memory import Memory
from .exporting import ExportFormat, export_mentions, written_whole
from .options import CommonOptions
from .rendering import make_table, print_json, progress_bar, stdout_console
from .setup import ensure_weights


def export(
    common: CommonOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; - is stdout.")],
    format: Annotated[
        ExportFormat,
        typer.Option(
            "--format", help="A backup of everything, or what was said for other programs."
        ),
    ] = ExportFormat.backup,
) -> None:
    """Write all memories and working memories of the tenant as a backup, or what was said as JSON
    lines, Markdown or Parquet.
    """
    if format is not ExportFormat.backup:
        export_mentions(common, file, format=format)
        return
    if common.user is not None or common.session is not None:
        raise InvalidInput(
            "expected no --user and no --session with a backup, since it has all users of the "
            "tenant, got one; add --format jsonl, "
            "markdown or parquet to write what one user sees, or leave it out for everything"
        )
    with common.memory() as memory:
        if str(file) == "-":
            memory.backup.write(sys.stdout)
            return
        _report(common, _write(memory, file))


def is_backup_file(file: Path) -> bool:
    """True if a file is a backup, by its first line. A pipe can be read only once, so it is never
    looked into.
    """
    if not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return is_backup(lines.readline(4096))
    except OSError:
        return False


def read_backup(
    common: CommonOptions, file: Path, *, wait: bool, then: Callable[[Memory], object]
) -> None:
    """Read a backup into the tenant, and with `wait` call `then` when vectors are still missing."""
    if wait:
        ensure_weights(common)
    with common.memory(works=wait) as memory:
        try:
            with file.open(encoding="utf-8") as lines, progress_bar() as progress:
                task = progress.add_task("Reading", total=None)
                done = memory.backup.read(
                    lines, progress=lambda count: progress.update(task, completed=count)
                )
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"expected UTF-8, got another encoding at byte {error.start}; nothing was read"
            ) from None
        if wait and done.vectors_owed:
            then(memory)
        _report(common, done, was_read=True)


def _write(memory: Memory, file: Path) -> BackedUp:
    """Write a draft beside the file and rename it when it is complete; only the owner
    can read it.
    """
    with (
        written_whole(file) as draft,
        draft.open("w", encoding="utf-8") as target,
        progress_bar() as progress,
    ):
        task: TaskID = progress.add_task("Writing", total=None)
        done = memory.backup.write(
            target, progress=lambda count: progress.update(task, completed=count)
        )
        target.flush()
        os.fsync(target.fileno())
    return done


def _report(common: CommonOptions, done: BackedUp, *, was_read: bool = False) -> None:
    if common.json:
        print_json(done)
        return
    made = make_table("rows", "of the backup" if was_read else "of", right=("rows",))
    for name, count in done.counts.items():
        made.add_row(f"{count:,}", name)
    stdout_console().print(made)
    if was_read:
        stdout_console().print("What was there before is not doubled.")
