"""`htm mcp`: a server of the Model Context Protocol over stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from typing import Annotated, Any

import typer

from ..base.errors import HTMError, InvalidInput
from ..db import tenants
from ..memory.memory import Memory
from .options import CommonOptions, stored_embedder

DEFAULT_BUDGET = 4_000
PARENT_EVERY = 2.0  # seconds between looks whether the client lives


def mcp(
    common: CommonOptions,
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            "-b",
            min=200,
            max=50_000,
            help="Tokens of an answer at most, where none are asked for.",
        ),
    ] = DEFAULT_BUDGET,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer the tools that only read.")
    ] = False,
    ignore_unknown: Annotated[
        bool,
        typer.Option(
            "--ignore-unknown", help="Ignore arguments that a tool does not have, and say so."
        ),
    ] = False,
) -> None:
    """Serve these memories to a client of the Model Context Protocol over stdin and stdout, until
    it closes stdin.
    """
    if common.json:
        raise InvalidInput("expected no --json, since stdout carries the protocol; leave it out")
    try:
        from ..serve.mcp import build_server, serve_stdio
    except ImportError as error:
        raise InvalidInput(str(error)) from None
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    opened = _Opened(common)
    threading.Thread(target=opened.warm, daemon=True).start()
    threading.Thread(target=_end_with_parent, args=(os.getppid(), opened), daemon=True).start()
    try:
        server = build_server(
            opened, budget=budget, read_only=read_only, ignore_unknown=ignore_unknown
        )
        asyncio.run(serve_stdio(server))
    finally:
        opened.close()


def _end_with_parent(parent: int, opened: _Opened) -> None:
    """End when the client that started this is gone: another process may hold its end of stdin open
    for ever.
    """
    while os.getppid() == parent:
        time.sleep(PARENT_EVERY)
    logging.getLogger("htm.mcp").warning("the program that started this server is gone; it ends")
    opened.close()
    os._exit(0)


class _Opened:
    """The memory of these options, opened at the first request that finds its database; until then
    each request tries again.
    """

    def __init__(self, common: CommonOptions) -> None:
        self._common = common
        self._memory: Memory | None = None
        self._opening = threading.Lock()
        self._is_closing = False

    def __call__(self, _request: Any = None) -> Memory:
        with self._opening:
            if self._memory is None:
                self._memory = _open(self._common)
            return self._memory

    def warm(self) -> None:
        """Open it before it is asked for, so that the first answer does not wait for a server to
        start.
        """
        try:
            self().stats()
        except HTMError as error:
            if not self._is_closing:  # a client that leaves at once is no fault of the database
                logging.getLogger("htm.mcp").warning("%s", error)

    def close(self) -> None:
        """Write what recall has held and counted."""
        self._is_closing = True
        if self._memory is not None:
            self._memory.close()


def _open(common: CommonOptions) -> Memory:
    """The memory with a worker, which makes the vectors; raises `HTMError` when the tenant's model
    cannot be looked up.
    """
    if common.embedder is None:
        with common.runtime(works=True).database.transaction(common.tenant) as connection:
            # refused here, if only a program can give it
            stored_embedder(tenants.active_model(connection))
    return common.memory(works=True)
