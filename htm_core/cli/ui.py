"""`htm ui`: the inspector of these memories in a browser of this machine."""

from __future__ import annotations

import logging
import sys
import webbrowser
from dataclasses import replace
from typing import Annotated

import typer

from ..memory.process import shutdown
from ..serve.run import serve
from ..serve.settings import Identity, ServerSettings
from .commands import DEMO_TENANT
from .demo import fill_with_sample
from .options import DEFAULT_TENANT, CommonOptions
from .rendering import print_json, stderr_console
from .serve import application

HOST = "127.0.0.1"


def ui(
    common: CommonOptions,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65_535, help="The port to listen at.")
    ] = 8378,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer nothing that changes a memory.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Also open the link in a browser.")
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Show the sample conversation; it is imported if it is not there."
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
    """Look into these memories with a browser: prints a link that signs in, once, and serves this
    machine until Ctrl-C.
    """
    from ..inspector import Inspector, mounted  # it needs an extra

    if demo:
        common = replace(
            common, tenant=DEMO_TENANT if common.tenant == DEFAULT_TENANT else common.tenant
        )
        fill_with_sample(common)
    settings = ServerSettings(host=HOST, port=port, drain=0.0, stop_timeout=3.0)
    made = application(common, settings, works=worker)
    inspector = Inspector(made, once=visitor(common, read_only=read_only))
    made.mount(mounted(inspector))
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s"
    )
    common.runtime(works=worker).database.open()
    link = f"http://{HOST}:{port}{inspector.link}"
    if common.json:
        print_json({"link": link})
    else:
        typer.echo(link)
    stderr_console().print(
        "Open this link: it signs in the first browser that opens it. Ctrl-C ends the server."
    )
    if open_browser:
        webbrowser.open(link)
    try:
        serve(made)
    finally:
        shutdown()


def visitor(common: CommonOptions, *, read_only: bool) -> Identity:
    """Who opens the link. Who looks at one user's memories, or may only read, sees no other user's
    sizes and no other tenant's.
    """
    scopes = frozenset(
        ("read",) if read_only else ("read", "write") if common.user else ("read", "write", "admin")
    )
    return Identity(
        tenant=common.tenant,
        user=common.user,
        robot=common.robot,
        scopes=scopes,
        token_name="htm ui",
        operator="admin" in scopes,
    )
