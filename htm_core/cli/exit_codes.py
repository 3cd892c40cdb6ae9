"""How a command ends: the exit codes, and what is said of an error without a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import typer

from ..errors import HTMError, InvalidInput, NotFound

FAILED = 1
MISUSED = 2
NOTHING_FOUND = 3
INTERRUPTED = 130  # as a shell says of SIGINT
PIPE_CLOSED = 141  # and of SIGPIPE


@contextlib.contextmanager
def told(*, debug: bool) -> Iterator[None]:
    """Turn what goes wrong within into a message on stderr and an exit code; `debug` shows the traceback instead."""
    try:
        yield
        sys.stdout.flush()
    except HTMError as error:
        if debug:
            raise
        complain(str(error))
        raise typer.Exit(code_of(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        forsake_stdout()
        raise typer.Exit(PIPE_CLOSED) from None


def code_of(error: HTMError) -> int:
    """The exit code of an error: what could not be meant, what is not there, or what did not work."""
    if isinstance(error, InvalidInput):
        return MISUSED
    return NOTHING_FOUND if isinstance(error, NotFound) else FAILED


def complain(message: str) -> None:
    """Say on stderr what is wrong."""
    typer.echo(f"htm: {message}", err=True)


def forsake_stdout() -> None:
    """Let nothing more be written to a pipe whose reader has gone, not even by the interpreter as it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
