"""Commands for files: load, unload, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..files.files import File, Loaded
from .exit_codes import FAILED, NOTHING_FOUND
from .forget import done
from .importing import wait_for_vectors
from .listing import Column, show_rows
from .memories import Tags, end_empty, report_pending_vectors
from .options import CommonOptions, json_object, split_values
from .rendering import local_time, printable, progress_bar, stderr_console
from .setup import ensure_weights

Place = Annotated[
    Path, typer.Argument(metavar="PATH", help="A file, or a folder with everything below it.")
]


def _left_out(loaded: Loaded) -> str:
    """Return what of a note was not understood, as words to append; "" if all was."""
    return f": not understood: {', '.join(loaded.left_out)}" if loaded.left_out else ""


FILES: Sequence[Column[File]] = (
    Column(
        name="loaded", value=lambda row: row.loaded_at, shown=lambda row: local_time(row.loaded_at)
    ),
    Column(
        name="chunks", value=lambda row: row.chunks, shown=lambda row: f"{row.chunks:,}", right=True
    ),
    Column(name="bytes", value=lambda row: row.size, shown=lambda row: f"{row.size:,}", right=True),
    Column(name="file", value=lambda row: row.path),
)
LOADED: Sequence[Column[Loaded]] = (
    Column(name="status", value=lambda row: row.status),
    Column(name="chunks", value=lambda row: row.chunks, right=True),
    Column(name="added", value=lambda row: row.added, right=True),
    Column(name="removed", value=lambda row: row.removed, right=True),
    Column(
        name="file", value=lambda row: row.path,
        shown=lambda row: f"{row.path}: {row.error}" if row.error else f"{row.path}{_left_out(row)}",
    ),
    Column(name="left out", value=lambda row: row.left_out, exact=True),
    Column(name="error", value=lambda row: row.error, exact=True),
)  # fmt: skip


def load(
    common: CommonOptions,
    path: Place,
    pattern: Annotated[str, typer.Option("--pattern", help="Which files of a folder.")] = "**/*.md",
    tags: Tags = None,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="An object.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files too.")] = False,
    vault: Annotated[
        bool | None,
        typer.Option(
            "--vault/--no-vault",
            help="Read #tags and [[links]] as Obsidian does; default in its vaults.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be loaded, and write nothing.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")
    ] = True,
) -> None:
    """Load files as memories. Run it again after they have changed: only changes are read."""
    wait = wait and not dry_run
    if wait:
        ensure_weights(common)
    with common.memory(works=wait) as memory:
        with progress_bar() as progress:
            task = progress.add_task(printable(str(path), longest=40).plain, total=None)

            def _step(_: Loaded, total: int) -> None:
                progress.update(task, advance=1, total=total)

            loaded = memory.load(
                path,
                pattern=pattern,
                tags=split_values(tags) or (),
                metadata=json_object(metadata),
                force=force,
                vault=vault,
                dry_run=dry_run,
                progress=_step,
            )
        if wait and any(each.added for each in loaded):
            wait_for_vectors(memory)
        _report(common, loaded)
        if dry_run and not common.json:
            stderr_console().print("This was a dry run: nothing was loaded.")
        report_pending_vectors(memory)
    if not loaded:
        raise typer.Exit(NOTHING_FOUND)
    if any(each.status == "failed" for each in loaded):
        raise typer.Exit(FAILED)


def unload(common: CommonOptions, path: Place) -> None:
    """Forget the content of a file, or of every file below a folder."""
    with common.memory() as memory:
        gone = memory.unload(path)
    done(common, {"unloaded": gone}, f"{gone:,} chunk{' is' if gone == 1 else 's are'} forgotten.")


def files(
    common: CommonOptions,
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="Only this file or folder.")
    ] = None,
) -> None:
    """Show the files that are loaded."""
    with common.memory() as memory:
        rows = memory.files(path)
    show_rows(common, rows, FILES, document={"files": rows})
    if not rows:
        end_empty("No file is loaded." if path is None else f"Nothing is loaded from {path}.")


def _report(common: CommonOptions, loaded: list[Loaded]) -> None:
    show_rows(common, loaded, LOADED, document={"files": loaded})
