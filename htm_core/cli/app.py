"""The program `htm`: the table of its commands, and `main`."""

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
from .exit_codes import INTERRUPTED, PIPE_CLOSED, end_interrupted, silence_stdout
from .options import database_options, machine_options, memory_options, tenant_options, with_options

app = typer.Typer(
    name="htm",
    help="Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DEMO_COMMANDS, MEMORY_COMMANDS, ADMIN_COMMANDS = "See it work", "One memory", "An installation"

COMMANDS = (
    (DEMO_COMMANDS, "setup", with_options(machine_options)(setup.setup)),
    (DEMO_COMMANDS, "demo", with_options(memory_options, tenant=demo.TENANT)(demo.demo)),
    (DEMO_COMMANDS, "ask", with_options(memory_options, tenant=demo.TENANT)(ask.ask)),
    (MEMORY_COMMANDS, "import", with_options(memory_options)(importing.import_files)),
    (MEMORY_COMMANDS, "remember", with_options(memory_options)(memories.remember)),
    (MEMORY_COMMANDS, "recall", with_options(memory_options)(memories.recall)),
    (MEMORY_COMMANDS, "context", with_options(memory_options)(memories.context)),
    (MEMORY_COMMANDS, "timeline", with_options(memory_options)(memories.timeline)),
    (MEMORY_COMMANDS, "load", with_options(memory_options)(files.load)),
    (MEMORY_COMMANDS, "unload", with_options(memory_options)(files.unload)),
    (MEMORY_COMMANDS, "files", with_options(memory_options)(files.files)),
    (MEMORY_COMMANDS, "forget", with_options(memory_options)(forget.forget)),
    (MEMORY_COMMANDS, "restore", with_options(memory_options)(forget.restore)),
    (MEMORY_COMMANDS, "purge", with_options(memory_options)(forget.purge)),
    (MEMORY_COMMANDS, "erase", with_options(memory_options)(forget.erase)),
    (MEMORY_COMMANDS, "stats", with_options(memory_options)(memories.stats)),
    (MEMORY_COMMANDS, "tags", with_options(memory_options)(tags.tags)),
    (MEMORY_COMMANDS, "related", with_options(memory_options)(relations.related)),
    (MEMORY_COMMANDS, "link", with_options(memory_options)(relations.link)),
    (MEMORY_COMMANDS, "palace", with_options(memory_options)(palace.palace)),
    (ADMIN_COMMANDS, "robots", with_options(memory_options)(groups.robots)),
    (ADMIN_COMMANDS, "groups", with_options(memory_options)(groups.groups)),
    (ADMIN_COMMANDS, "jobs", with_options(memory_options)(jobs.jobs)),
    (ADMIN_COMMANDS, "worker", with_options(database_options)(admin.worker)),
    (ADMIN_COMMANDS, "reembed", with_options(tenant_options)(admin.reembed)),
    (ADMIN_COMMANDS, "reindex", with_options(tenant_options)(admin.reindex)),
    (ADMIN_COMMANDS, "migrate", with_options(database_options)(admin.migrate)),
    (ADMIN_COMMANDS, "export", with_options(memory_options)(backup.export)),
    (ADMIN_COMMANDS, "doctor", with_options(tenant_options)(doctor.doctor)),
)

for part, name, command in COMMANDS:
    app.command(name, rich_help_panel=part)(command)


def show_version(wanted: bool) -> None:
    """Print the version and end, if --version was given."""
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
    """Run the command line. Always ends the process with an exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="htm")
    except KeyboardInterrupt:
        end_interrupted()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            end_interrupted()
        raise
    except BrokenPipeError:
        silence_stdout()
        raise SystemExit(PIPE_CLOSED) from None
