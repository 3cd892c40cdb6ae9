"""Forget and restore, sweep, and purge and erase, which need --yes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

import typer

from ..base.errors import InvalidInput
from ..base.types import Receipt
from . import completion
from .ids import memory_id, short
from .options import DEFAULT_TENANT, CommonOptions
from .rendering import print_json, printable, progress_bar, stdout_console, to_json

Key = Annotated[
    str,
    typer.Argument(
        metavar="ID_OR_KEY", help="A memory's id, or its key.", autocompletion=completion.memories
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Confirm that it is erased for good.")]
AGE = re.compile(r"(\d+)\s*(minutes?|min|hours?|h|days?|d|weeks?|w)", re.IGNORECASE)
UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def forget(
    common: CommonOptions,
    id_or_key: Key,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="ROBOT",
            help="Withdraw this robot's mentions only.",
            autocompletion=completion.robots,
        ),
    ] = None,
) -> None:
    """Hide a memory; restore brings it back."""
    with common.memory() as memory:
        node_id = memory_id(memory, id_or_key)
        memory.forget(node_id, robot=by)
    done(common, {"forgotten": node_id}, f"Forgotten; bring it back with: htm restore {node_id}")


def restore(common: CommonOptions, id_or_key: Key) -> None:
    """Bring back a forgotten memory."""
    with common.memory() as memory:
        node = memory.restore(memory_id(memory, id_or_key, forgotten=True))
    done(common, to_json(node), f"Restored {short(node.id)}: {node.content:.200}")


def purge(
    common: CommonOptions,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help='As "30 days", or an ISO 8601 time.')
    ],
    yes: Yes = False,
) -> None:
    """Erase for good what was forgotten or expired longer ago than --older-than."""
    confirmed(yes)
    with common.memory() as memory:
        gone = memory.purge(age(older_than), confirm="confirmed")
    done(common, {"purged": gone}, f"{gone:,} memories were erased for good.")


def sweep(common: CommonOptions) -> None:
    """Erase for good what expired longer ago than the grace of 30 days, of the whole tenant."""
    with common.memory() as memory:
        gone = memory.sweep()
    done(common, {"swept": gone}, f"{gone:,} memories were erased for good.")


def erase(
    common: CommonOptions,
    key: Annotated[
        str | None,
        typer.Option("--key", help="A key with all its values.", autocompletion=completion.keys),
    ] = None,
    whole_tenant: Annotated[
        str | None,
        typer.Option(
            "--whole-tenant",
            metavar="TENANT",
            help="A tenant with all its users, collections and tokens.",
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Erase everything of a --key, a --session, a --user or a whole tenant, at once
    and for good.
    """
    confirmed(yes)
    if whole_tenant is not None:
        receipt = _erase_tenant(common, whole_tenant, key)
    elif key is None and common.session is None and common.user is None:
        raise typer.BadParameter(
            "expected --user, --session or --key (the last two of that --user, if one is given), "
            "or --whole-tenant TENANT"
        )
    else:
        with common.memory() as memory:
            of_user = common.user if key is None and common.session is None else None
            receipt = memory.erase(
                user=of_user, session=common.session, key=key, confirm="confirmed"
            )
    erased = (
        ", ".join(f"{count:,} {name}" for name, count in receipt.counts.items() if count)
        or "nothing"
    )
    value = {
        "erased": to_json(receipt.counts),
        "receipt": receipt.id,
        "digest": receipt.digest,
        "at": to_json(receipt.at),
    }
    done(
        common, value, f"Erased for good: {erased}. Receipt {receipt.id}, digest {receipt.digest}."
    )


def _erase_tenant(common: CommonOptions, tenant: str, key: str | None) -> Receipt:
    if not (key is common.session is common.user is None):
        raise typer.BadParameter(
            "expected --whole-tenant without --user, --session and --key, which are parts of a "
            "tenant"
        )
    if common.tenant not in (DEFAULT_TENANT, tenant):
        raise typer.BadParameter(
            f"expected one tenant, got --tenant {common.tenant} and --whole-tenant {tenant}"
        )
    with replace(common, tenant=tenant).memory() as memory, progress_bar() as progress:
        task = progress.add_task(f"erasing {tenant}", total=None)
        return memory.erase_tenant(
            confirm=tenant, progress=lambda rows: progress.update(task, completed=rows)
        )


def done(common: CommonOptions, value: object, words: str) -> None:
    """Print the result: as JSON with --json, else as a sentence."""
    if common.json:
        print_json(value)
    else:
        stdout_console().print(printable(words))


def confirmed(yes: bool) -> None:
    """Raise `BadParameter` without --yes."""
    if not yes:
        raise typer.BadParameter("expected --yes, since this cannot be undone; nothing was erased")


def lifetime(text: str) -> timedelta:
    """Read a length of time such as "30 days" or "12h"."""
    match = AGE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f'expected a length of time such as "30 days" or "12h", got {text!r}')
    return int(match[1]) * UNITS[match[2][0].lower()]


def age(text: str) -> timedelta | datetime:
    """Read an age such as "30 days" or "12h", or a time in ISO 8601."""
    if AGE.fullmatch(text.strip()):
        return lifetime(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f'expected an age such as "30 days" or "12h", or a time in ISO 8601, got {text!r}'
        ) from None
