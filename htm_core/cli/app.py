"""The program `htm`, and `main`."""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from typing import Annotated

import typer

from ..base.version import VERSION
from .commands import Commands
from .exit_codes import (
    INTERRUPTED,
    PIPE_CLOSED,
    completing,
    end,
    end_at_once,
    end_interrupted,
    silence_stdout,
)

app = typer.Typer(
    cls=Commands,
    name="htm",
    help="Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + "
    "pgvector.",
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> None:
    """Print the version and end, if --version was given."""
    if wanted:
        typer.echo(f"htm {VERSION}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Memory that never forgets: a token-budgeted working memory in front of
    PostgreSQL + pgvector.
    """


def main() -> None:
    """Run the command line. Always ends the process with an exit code."""
    # What a command imports and makes lives to its end: a tenth of its time went into looking for
    # garbage there.
    gc.set_threshold(100_000, 20, 20)
    # The last of all that is done at the end. The interpreter then gives a signal its first meaning
    # back, and Ctrl-C would kill a process that has done its work.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="htm")
    except KeyboardInterrupt:
        end_interrupted()
    except SystemExit as ended:
        if completing():
            # somebody waits for it, and a server may still not have answered
            end_at_once(ended.code)
        if ended.code == INTERRUPTED:
            end_interrupted()
        end(ended.code)
    except BrokenPipeError:
        silence_stdout()
        raise SystemExit(PIPE_CLOSED) from None
