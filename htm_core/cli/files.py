"""Commands for files: load, unload, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..operations.files import File, Loaded
from .exit_codes import FAILED, NOTHING_FOUND
from .forget import done
from .importing import wait_for_vectors
from .listing import Column, show_rows
from .memories import Tags, end_empty, report_pending_vectors
from .options import CommonOptions, json_object, split_values
from .rendering import local_time, printable, progress_bar, stderr_console
from .setup import ensure_weights

Place = Annotated[Path, typer.Argument(metavar="PATH", help="A file, or a folder with everything below it.")]


def _left_out(loaded: Loaded) -> str:
    """Return what of a note was not understood, as words to append; "" if all was."""
    return f": not understood: {', '.join(loaded.left_out)}" if loaded.left_out else ""


FILES: Sequence[Column[File]] = (
    Column(name="loaded", value=lambda each: each.loaded_at, shown=lambda each: local_time(each.loaded_at)),
    Column(name="chunks", value=lambda each: each.chunks, shown=lambda each: f"{each.chunks:,}", right=True),
    Column(name="bytes", value=lambda each: each.size, shown=lambda each: f"{each.size:,}", right=True),
    Column(name="file", value=lambda each: each.path),
)
LOADED: Sequence[Column[Loaded]] = (
    Column(name="status", value=lambda each: each.status),
    Column(name="chunks", value=lambda each: each.chunks, right=True),
    Column(name="added", value=lambda each: each.added, right=True),
    Column(name="removed", value=lambda each: each.removed, right=True),
    Column(
        name="file", value=lambda each: each.path,
        shown=lambda each: f"{each.path}: {each.error}" if each.error else f"{each.path}{_left_out(each)}",
    ),
    Column(name="left out", value=lambda each: each.left_out, exact=True),
    Column(name="error", value=lambda each: each.error, exact=True),
)  # fmt: skip


def load(
    common: CommonOptions,
    path: Place,
    pattern: Annotated[str, typer.Option("--pattern", help="Which files of a folder.")] = "**/*.md",
    tags: Tags = None,
    metadata: Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="An object.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files too.")] = False,
    vault: Annotated[
        bool | None,
        typer.Option("--vault/--no-vault", help="Read #tags and [[links]] as Obsidian does; default in its vaults."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be loaded, and write nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")] = True,
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

            found = memory.load(
                path,
                pattern=pattern,
                tags=split_values(tags) or (),
                metadata=json_object(metadata),
                force=force,
                vault=vault,
                dry_run=dry_run,
                progress=_step,
            )
        if wait and any(each.added for each in found):
            wait_for_vectors(memory)
        _report(common, found)
        if dry_run and not common.json:
            stderr_console().print("This was a dry run: nothing was loaded.")
        report_pending_vectors(memory)
    if not found:
        raise typer.Exit(NOTHING_FOUND)
    if any(each.status == "failed" for each in found):
        raise typer.Exit(FAILED)


def unload(common: CommonOptions, path: Place) -> None:
    """Forget the content of a file, or of every file below a folder."""
    with common.memory() as memory:
        gone = memory.unload(path)
    done(common, {"unloaded": gone}, f"{gone:,} chunk{' is' if gone == 1 else 's are'} forgotten.")


def files(
    common: CommonOptions,
    path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="Only this file or folder.")] = None,
) -> None:
    """Show the files that are loaded."""
    with common.memory() as memory:
        found = memory.files(path)
    show_rows(common, found, FILES, document={"files": found})
    if not found:
        end_empty("No file is loaded." if path is None else f"Nothing is loaded from {path}.")


def _report(common: CommonOptions, found: list[Loaded]) -> None:
    show_rows(common, found, LOADED, document={"files": found})
