"""Exit codes, and errors printed without a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import NoReturn

import typer

from ..base.errors import Advice, HTMError, InvalidInput, NotFound

FAILED = 1
MISUSED = 2
NOTHING_FOUND = 3
INTERRUPTED = 130  # what shells use for SIGINT
PIPE_CLOSED = 141  # and for SIGPIPE
WHAT_NEXT: Mapping[Advice, str] = {
    "memories": "htm list shows what there is, with the same --user and --tenant",
    "listing": "to list memories use htm list",
    "forgotten": "htm timeline --forgotten shows what was forgotten",
    "files": "htm files lists them",
    "audit": "htm audit lists them",
    "merges": "htm tidy --dry-run shows what would be merged",
    "changes": "htm changes lists them",
    "notes": "htm palace look shows them",
    "decisions": "htm palace audit lists them",
    "filed": "htm palace look shows what is filed",
    "filed or noted": "htm palace look shows what there is",
    "palace folder": "make one with htm palace export FOLDER",
    "load folder": "load the folder first with htm palace import FOLDER, or export to another one",
    "folder register": "remove it to take all texts as new",
    "groups": "htm groups lists them",
    "session": "name one with --session",
    "exact bytes": "a program can keep the exact bytes, as a payload",
    "log": "write some words",
    "longest content": "a program can choose how long a text may be",
}
SECONDS_TO_END = 0.7  # for what still runs when it is interrupted


@contextlib.contextmanager
def reported_errors(*, debug: bool) -> Iterator[None]:
    """Turn an error inside this block into a message on stderr and an exit code; with `debug` it is
    raised as it is.
    """
    try:
        yield
        sys.stdout.flush()
    except HTMError as error:
        if debug:
            raise
        print_error(told(error))
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        silence_stdout()
        raise typer.Exit(PIPE_CLOSED) from None


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Say of an import that Ctrl-C ends how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        print_error(
            "interrupted; what was imported is kept, and the same command goes on where it was"
        )
        raise


def told(error: HTMError) -> str:
    """The message of an error, with the command that helps."""
    return error._told(WHAT_NEXT)


def exit_code(error: HTMError) -> int:
    """2 for invalid input, 3 for what was not found, 1 for everything else."""
    if isinstance(error, InvalidInput):
        return MISUSED
    return NOTHING_FOUND if isinstance(error, NotFound) else FAILED


def print_error(message: str) -> None:
    """Print an error message on stderr."""
    typer.echo(f"htm: {message}", err=True)


def end(code: str | int | None) -> NoReturn:
    """End the process with an exit code, after what it still has open is closed. Ctrl-C meanwhile
    ends it as at any other time.
    """
    try:
        if "htm_core.memory.process" in sys.modules:
            _shut_down()
            sys.stdout.flush()
            sys.stderr.flush()
            if isinstance(code, int | None) and any(map(_is_at_work, threading.enumerate())):
                # a model is in native code, around which the interpreter cannot be taken down
                os._exit(code or 0)
    except KeyboardInterrupt:
        end_interrupted()
    raise SystemExit(code)


def _is_at_work(thread: threading.Thread) -> bool:
    return thread.name.startswith("htm-worker-")


def completing() -> bool:
    """True if a shell asks this process for the completions of a word, for one press of the Tab
    key.
    """
    return "_HTM_COMPLETE" in os.environ


def end_at_once(code: str | int | None) -> NoReturn:
    """End the process without closing anything."""
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 0)


def end_interrupted() -> NoReturn:
    """End the process after Ctrl-C, within a second.

    The embedded model ends after a part of a batch. Another one may be in the middle of a call that
    takes seconds, which Python cannot stop, nor end the process around it. What it was working on
    is a job, which somebody does once its lease is over.
    """
    try:
        ending = threading.Thread(target=_shut_down, daemon=True)
        ending.start()
        ending.join(SECONDS_TO_END)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(INTERRUPTED)


def _shut_down() -> None:
    if "htm_core.memory.process" not in sys.modules:
        return  # whoever has not imported what opens memories has opened none
    try:
        from .. import shutdown
    except ImportError:  # the interrupt came in the middle of its import
        return
    shutdown()


def silence_stdout() -> None:
    """Redirect stdout to nowhere once its reader is gone, so that the interpreter's last flush
    cannot fail.
    """
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
