"""Completions by the Tab key of a word that names something stored: an id, a key, a session, a
robot.

Whoever presses it waits, and sees whatever is printed: so the server has little time, nothing is
made or changed, and what fails is silent. Names and texts are anybody's, and a shell may evaluate
what it is given: nothing is shown that means something to one.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import typer

from ..base.settings import Settings, as_secret, home
from ..memory.process import runtime
from .stored_words import CompletionKind, beginning

SECONDS = 1.5  # for everything: importing, connecting, asking
ABOUT = 60  # characters of what is shown beside a word
_PLAIN = re.compile(r"[\w@%+,./][\w@%+,./=-]*")  # in which no shell sees anything but letters
_NOT_PLAIN = re.compile(r"[^\w .,-]+")

Completion = Callable[[typer.Context, str], list[tuple[str, str]]]


def memories(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids and keys of memories."""
    return _found(ctx, incomplete, "keys", "memories")


def memories_and_changes(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids of changes, and the ids and keys of memories."""
    return _found(ctx, incomplete, "changes", "keys", "memories")


def mentions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids of mentions and of memories."""
    return _found(ctx, incomplete, "mentions", "memories")


def jobs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids of jobs."""
    return _found(ctx, incomplete, "jobs")


def keys(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Keys."""
    return _found(ctx, incomplete, "keys")


def sessions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The names of sessions."""
    return _found(ctx, incomplete, "sessions")


def robots(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The names of robots."""
    return _found(ctx, incomplete, "robots")


def _found(ctx: typer.Context, incomplete: str, *kinds: CompletionKind) -> list[tuple[str, str]]:
    """Return the completions that are read within the time limit; none if anything goes wrong."""
    options, completions = dict(ctx.params), list[tuple[str, str]]()
    asking = threading.Thread(
        target=_ask, args=(options, incomplete, kinds, completions), daemon=True
    )
    with _silence():
        asking.start()
        asking.join(SECONDS)
    return list(completions)


def _ask(
    options: dict[str, Any],
    incomplete: str,
    kinds: tuple[CompletionKind, ...],
    completions: list[tuple[str, str]],
) -> None:
    with contextlib.suppress(Exception):
        completions += _asked(options, incomplete, kinds)


def _asked(
    options: dict[str, Any], incomplete: str, kinds: tuple[CompletionKind, ...]
) -> Iterator[tuple[str, str]]:
    if options.get("url") is None and not home().is_dir():
        return  # the private server would be made first
    settings = Settings(
        worker="off",
        pool_min=0,
        pool_timeout=SECONDS,
        statement_timeout=SECONDS,
        verb_timeout=SECONDS,
        auto_migrate=False,
        user_walls_key=as_secret(os.environ.get("HTM_USER_WALLS_KEY") or None),
    )
    tenant, user = options.get("tenant") or "default", options.get("user")
    for word, about in beginning(
        runtime(options.get("url"), settings).database, incomplete, kinds, tenant=tenant, user=user
    ):
        if _PLAIN.fullmatch(word):
            yield word, " ".join(_NOT_PLAIN.sub(" ", about).split())[:ABOUT]


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Nothing is printed or logged meanwhile: it would stand in the middle of the line that
    somebody types.
    """
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(level)
