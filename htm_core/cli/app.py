"""The program: every command under its name, and its one way in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from . import (
    asking,
    backing,
    demo,
    doctor,
    filing,
    forgetting,
    hive,
    importing,
    jobs,
    memories,
    palace,
    relating,
    running,
    setup,
    tags,
)
from .options import database_of_tenant, database_only, everything, machine_only, taking
from .telling import INTERRUPTED, PIPE_CLOSED, forsake_stdout

app = typer.Typer(
    name="htm",
    help="Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

SEE, SAY, KEEP = "See it work", "One memory", "An installation"

COMMANDS = (
    (SEE, "setup", taking(machine_only)(setup.setup)),
    (SEE, "demo", taking(everything, tenant=demo.TENANT)(demo.demo)),
    (SEE, "ask", taking(everything, tenant=demo.TENANT)(asking.ask)),
    (SAY, "import", taking(everything)(importing.import_files)),
    (SAY, "remember", taking(everything)(memories.remember)),
    (SAY, "recall", taking(everything)(memories.recall)),
    (SAY, "context", taking(everything)(memories.context)),
    (SAY, "timeline", taking(everything)(memories.timeline)),
    (SAY, "load", taking(everything)(filing.load)),
    (SAY, "unload", taking(everything)(filing.unload)),
    (SAY, "files", taking(everything)(filing.files)),
    (SAY, "forget", taking(everything)(forgetting.forget)),
    (SAY, "restore", taking(everything)(forgetting.restore)),
    (SAY, "purge", taking(everything)(forgetting.purge)),
    (SAY, "erase", taking(everything)(forgetting.erase)),
    (SAY, "stats", taking(everything)(memories.stats)),
    (SAY, "tags", taking(everything)(tags.tags)),
    (SAY, "related", taking(everything)(relating.related)),
    (SAY, "link", taking(everything)(relating.link)),
    (SAY, "palace", taking(everything)(palace.palace)),
    (KEEP, "robots", taking(everything)(hive.robots)),
    (KEEP, "groups", taking(everything)(hive.groups)),
    (KEEP, "jobs", taking(everything)(jobs.jobs)),
    (KEEP, "worker", taking(database_only)(running.worker)),
    (KEEP, "reembed", taking(database_of_tenant)(running.reembed)),
    (KEEP, "migrate", taking(database_only)(running.migrate)),
    (KEEP, "export", taking(everything)(backing.export)),
    (KEEP, "doctor", taking(database_of_tenant)(doctor.doctor)),
)

for part, name, command in COMMANDS:
    app.command(name, rich_help_panel=part)(command)


def show_version(wanted: bool) -> None:
    """Print the version and end, when that is wanted."""
    if wanted:
        typer.echo(f"htm {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector."""


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="htm")
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        forsake_stdout()
        raise SystemExit(PIPE_CLOSED) from None
