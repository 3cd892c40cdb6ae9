"""Forgetting and its opposite, and what erases for good, which wants a yes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from ..errors import InvalidInput
from .json_output import answer, form
from .options import Whose
from .rendering import console, shown

Key = Annotated[str, typer.Argument(metavar="ID_OR_KEY", help="A memory's id, or its key.")]
Yes = Annotated[bool, typer.Option("--yes", help="Yes, erase it for good.")]
AGE = re.compile(r"(\d+)\s*(minutes?|min|hours?|h|days?|d|weeks?|w)", re.IGNORECASE)
UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def forget(
    whose: Whose,
    id_or_key: Key,
    by: Annotated[
        str | None, typer.Option("--by", metavar="ROBOT", help="Withdraw this robot's mentions only.")
    ] = None,
) -> None:
    """Hide a memory; restore brings it back."""
    with whose.memory() as memory:
        memory.forget(id_or_key, robot=by)
    done(whose, {"forgotten": id_or_key}, f"Forgotten; bring it back with: htm restore {id_or_key}")


def restore(whose: Whose, id_or_key: Key) -> None:
    """Bring back what was forgotten."""
    with whose.memory() as memory:
        node = memory.restore(id_or_key)
    done(whose, form(node), f"Restored: {node.content:.200}")


def purge(
    whose: Whose,
    older_than: Annotated[str, typer.Option("--older-than", metavar="AGE", help='As "30 days", or an ISO 8601 time.')],
    yes: Yes = False,
) -> None:
    """Erase for good what was forgotten longer ago than this."""
    confirmed(yes)
    with whose.memory() as memory:
        gone = memory.purge(age(older_than), confirm="confirmed")
    done(whose, {"purged": gone}, f"{gone:,} memories were erased for good.")


def erase(
    whose: Whose,
    key: Annotated[str | None, typer.Option("--key", help="A key with all its values.")] = None,
    yes: Yes = False,
) -> None:
    """Erase at once and for good everything of a --key, a --session or a --user."""
    confirmed(yes)
    if key is None and whose.session is None and whose.user is None:
        raise typer.BadParameter("say whose: --user, or --session or --key (of that --user, if one is given)")
    with whose.memory() as memory:
        of_user = whose.user if key is None and whose.session is None else None
        receipt = memory.erase(user=of_user, session=whose.session, key=key, confirm="confirmed")
    told = ", ".join(f"{count:,} {name}" for name, count in receipt.counts.items() if count) or "nothing"
    done(whose, {"erased": form(receipt.counts)}, f"Erased for good: {told}.")


def done(whose: Whose, value: object, words: str) -> None:
    """Say what was done, to a program or to a person."""
    if whose.json:
        answer(value)
    else:
        console().print(shown(words))


def confirmed(yes: bool) -> None:
    """Refuse what cannot be undone unless it was confirmed."""
    if not yes:
        raise typer.BadParameter("this cannot be undone, and nothing was erased: add --yes if you mean it")


def age(text: str) -> timedelta | datetime:
    """Read an age such as "30 days" or "12h", or a time in ISO 8601."""
    if match := AGE.fullmatch(text.strip()):
        return int(match[1]) * UNITS[match[2][0].lower()]
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f'expected an age such as "30 days" or "12h", or a time in ISO 8601, got {text!r}') from None
