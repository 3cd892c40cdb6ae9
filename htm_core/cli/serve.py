"""`htm serve`: the verbs over HTTP."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import InvalidInput
from ..base.types import Event
from ..memory.memory import Memory
from ..memory.process import shutdown, threads
from ..serve.run import check_start, serve
from ..serve.settings import Identity, ServerSettings
from .options import CommonOptions
from .rendering import stderr_console

if TYPE_CHECKING:
    from ..serve.app import Application
    from ..serve.memories import Whose


def run(
    common: CommonOptions,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65_535, help="The port to listen at.")
    ] = 8377,
    no_auth: Annotated[
        bool,
        typer.Option(
            "--no-auth",
            help="Serve --tenant and --user to this machine without a token; on loopback only.",
        ),
    ] = False,
    rate: Annotated[
        float,
        typer.Option("--rate", min=0, help="Requests a second of one token; 0 for any number."),
    ] = 100.0,
    burst: Annotated[int, typer.Option("--burst", min=1, help="How many of them at once.")] = 200,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="Bytes of a request's body at most.")
    ] = 8_000_000,
    drain: Annotated[
        float,
        typer.Option(
            "--drain",
            min=0,
            help="Seconds to go on after SIGTERM, while /ready says that it stops.",
        ),
    ] = 3.0,
    ui: Annotated[bool, typer.Option("--ui", help="Also serve the inspector, at /ui.")] = False,
    ignore_unknown: Annotated[
        bool,
        typer.Option(
            "--ignore-unknown",
            help="Ignore arguments that a tool at /mcp does not have, and say so.",
        ),
    ] = False,
    worker: Annotated[
        bool,
        typer.Option(
            "--worker/--no-worker",
            help="Do pending jobs in this process, or leave them to htm worker.",
        ),
    ] = True,
) -> None:
    """Serve the verbs over HTTP to those who have a token, until Ctrl-C or SIGTERM."""
    anonymous = None
    if no_auth:
        scopes = frozenset(("read", "write", "admin"))
        anonymous = Identity(
            tenant=common.tenant, user=common.user, robot=common.robot, scopes=scopes
        )
    settings = ServerSettings(
        host=host,
        port=port,
        anonymous=anonymous,
        rate=rate,
        burst=burst,
        max_body=max_body,
        drain=drain,
    )
    made = application(common, settings, works=worker, ignore_unknown=ignore_unknown)
    if ui:
        from ..inspector import Inspector  # it needs more than the verbs do
        from ..inspector import mounted as inspector_mounted

        made.mount(inspector_mounted(Inspector(made)))
    check_start(settings, common.runtime(works=worker).database)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s"
    )
    at = f"http://{host}:{port}{'/ui' if ui else ''}"
    stderr_console().print(f"Listening at {at}; Ctrl-C ends it after the running requests.")
    try:
        serve(made)
    finally:
        shutdown()


def application(
    common: CommonOptions, settings: ServerSettings, *, works: bool, ignore_unknown: bool = False
) -> Application:
    """The application for these options. What else is served beside it is mounted here: MCP, where
    its extra is installed.
    """
    try:
        from ..serve.app import Application
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise InvalidInput(f'htm serve needs {missing}: pip install "htm-memory[serve]"') from error
    process = common.settings(works=works)

    def open_memory(whose: Whose, on_event: Callable[[Event], None]) -> Memory:
        """The memory of an identity, with the model of its tenant."""
        own = replace(common, tenant=whose.tenant, user=whose.user, session=whose.session)
        return own.memory(robot=whose.robot, works=works, on_event=on_event, settings=process)

    made = Application(
        settings,
        database=lambda: common.runtime(works=works).database,
        executor=lambda: threads(process),
        open_memory=open_memory,
        verb_timeout=process.verb_timeout,
    )
    if find_spec("mcp") is not None:
        from ..serve.mcp.mounted import mounted

        made.mount(mounted(made.memories, ignore_unknown=ignore_unknown))
    return made
