"""The program: every command under its name, and its one way in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from . import (
    admin,
    ask,
    backup,
    demo,
    doctor,
    files,
    forget,
    groups,
    importing,
    jobs,
    memories,
    palace,
    relations,
    setup,
    tags,
)
from .exit_codes import INTERRUPTED, PIPE_CLOSED, forsake_stdout
from .options import database_of_tenant, database_only, everything, machine_only, taking

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
    (SEE, "ask", taking(everything, tenant=demo.TENANT)(ask.ask)),
    (SAY, "import", taking(everything)(importing.import_files)),
    (SAY, "remember", taking(everything)(memories.remember)),
    (SAY, "recall", taking(everything)(memories.recall)),
    (SAY, "context", taking(everything)(memories.context)),
    (SAY, "timeline", taking(everything)(memories.timeline)),
    (SAY, "load", taking(everything)(files.load)),
    (SAY, "unload", taking(everything)(files.unload)),
    (SAY, "files", taking(everything)(files.files)),
    (SAY, "forget", taking(everything)(forget.forget)),
    (SAY, "restore", taking(everything)(forget.restore)),
    (SAY, "purge", taking(everything)(forget.purge)),
    (SAY, "erase", taking(everything)(forget.erase)),
    (SAY, "stats", taking(everything)(memories.stats)),
    (SAY, "tags", taking(everything)(tags.tags)),
    (SAY, "related", taking(everything)(relations.related)),
    (SAY, "link", taking(everything)(relations.link)),
    (SAY, "palace", taking(everything)(palace.palace)),
    (KEEP, "robots", taking(everything)(groups.robots)),
    (KEEP, "groups", taking(everything)(groups.groups)),
    (KEEP, "jobs", taking(everything)(jobs.jobs)),
    (KEEP, "worker", taking(database_only)(admin.worker)),
    (KEEP, "reembed", taking(database_of_tenant)(admin.reembed)),
    (KEEP, "migrate", taking(database_only)(admin.migrate)),
    (KEEP, "export", taking(everything)(backup.export)),
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
