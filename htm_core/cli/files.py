"""Files from the command line: load, unload, and what is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..operations.files import Loaded
from .exit_codes import FAILED, NOTHING_FOUND
from .forget import done
from .importing import wait_for_vectors
from .json_output import answer
from .memories import Tags, owing
from .options import Whose, json_object, listed
from .rendering import bar, console, local, shown, table
from .setup import have_model

Place = Annotated[Path, typer.Argument(metavar="PATH", help="A file, or a folder with all below it.")]


def load(
    whose: Whose,
    path: Place,
    pattern: Annotated[str, typer.Option("--pattern", help="Which files of a folder.")] = "**/*.md",
    tags: Tags = None,
    metadata: Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="An object.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Read what has not changed, too.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")] = True,
) -> None:
    """Load files as memories, and keep them in step: run it again after they have changed."""
    if wait:
        have_model(whose)
    with whose.memory(works=wait) as memory:
        with bar() as progress:
            task = progress.add_task(shown(str(path), longest=40).plain, total=None)

            def step(_: Loaded, total: int) -> None:
                """One file more."""
                progress.update(task, advance=1, total=total)

            found = memory.load(
                path,
                pattern=pattern,
                tags=listed(tags) or (),
                metadata=json_object(metadata),
                force=force,
                progress=step,
            )
        if wait and any(each.added for each in found):
            wait_for_vectors(memory)
        _report(whose, found)
        owing(memory)
    if not found:
        raise typer.Exit(NOTHING_FOUND)
    if any(each.status == "failed" for each in found):
        raise typer.Exit(FAILED)


def unload(whose: Whose, path: Place) -> None:
    """Forget what a file, or every file below a folder, said."""
    with whose.memory() as memory:
        gone = memory.unload(path)
    done(whose, {"unloaded": gone}, f"{gone:,} chunks are forgotten.")


def files(
    whose: Whose, path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="Only this and below.")] = None
) -> None:
    """Show the files that are loaded."""
    with whose.memory() as memory:
        found = memory.files(path)
    if whose.json:
        answer({"files": found})
    else:
        made = table("loaded", "chunks", "bytes", "file", right=("chunks", "bytes"))
        for each in found:
            made.add_row(local(each.loaded_at), f"{each.chunks:,}", f"{each.size:,}", shown(each.path))
        console().print(made)
    if not found:
        raise typer.Exit(NOTHING_FOUND)


def _report(whose: Whose, found: list[Loaded]) -> None:
    if whose.json:
        answer({"files": found})
        return
    figures = ("chunks", "added", "removed")
    made = table("status", *figures, "file", right=figures)
    for each in found:
        said = shown(f"{each.path}: {each.error}" if each.error else each.path)
        made.add_row(each.status, *(f"{getattr(each, name):,}" for name in figures), said)
    console().print(made)
