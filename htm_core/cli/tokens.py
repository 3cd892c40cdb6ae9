"""`htm tokens`: who may use the HTTP API."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from ..base import validation
from ..base.errors import InvalidInput, NotFound
from ..db import tokens as store
from ..db.tokens import ApiToken
from .ids import short
from .listing import Column, show_rows
from .options import CommonOptions, split_values
from .rendering import local_time, print_json, printable, stderr_console, stdout_console
from .short_ids import FEWEST_DIGITS

SCOPES = ("read", "write", "admin")


class TokenAction(StrEnum):
    """The subcommands."""

    create = "create"
    list = "list"
    revoke = "revoke"


def tokens(
    common: CommonOptions,
    act: Annotated[
        TokenAction,
        typer.Argument(metavar="create|list|revoke", help="Make a token, show them, or end one."),
    ] = TokenAction.list,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="What the token is called; revoke also takes its id."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", help="read, write or admin; may be repeated. Default read and write."
        ),
    ] = None,
    expires_in: Annotated[
        float | None,
        typer.Option("--expires-in", min=0.0, help="Days until it expires. Default never."),
    ] = None,
    revoked: Annotated[bool, typer.Option("--revoked", help="Also show revoked tokens.")] = False,
) -> None:
    """Make, list and revoke the tokens of the HTTP API; a token's secret is shown once.

    A token is for the memories of --user, or without one for what everyone in the tenant shares;
    with --robot it is one robot's.
    """
    if act is TokenAction.list:
        _show(common, store.listed(common.runtime().database, common.tenant, revoked=revoked))
        return
    if name is None:
        raise typer.BadParameter(f"expected the name of a token: htm tokens {act} NAME")
    if act is TokenAction.create:
        _create(common, name, split_values(scope) or ["read", "write"], expires_in)
    else:
        _revoke(common, name)


def _create(common: CommonOptions, name: str, scopes: list[str], days: float | None) -> None:
    for scope in scopes:
        validation.check_choice(scope, SCOPES, what="--scope")
    now, secret = datetime.now(UTC), f"htm_{secrets.token_urlsafe(32)}"
    try:
        ends = None if days is None else now + timedelta(days=days)
    except OverflowError:
        raise InvalidInput(
            f"expected --expires-in of some years at most, got {days:g} days"
        ) from None
    token = ApiToken(
        id=str(uuid.uuid4()),
        tenant=validation.check_name(common.tenant, what="--tenant"),
        name=validation.check_name(name, what="the token's name"),
        user=None if common.user is None else validation.normal_name(common.user, what="--user"),
        robot=None
        if common.robot is None
        else validation.normal_name(common.robot, what="--robot"),
        scopes=tuple(sorted(set(scopes), key=SCOPES.index)),
        created_at=now,
        expires_at=ends,
    )
    if not store.create(common.runtime().database, token, secret=secret):
        raise InvalidInput(
            f"expected a name that no token of the tenant has, got {name!r}; htm "
            "tokens list shows them"
        )
    if common.json:
        print_json({"token": token, "secret": secret})
        return
    typer.echo(secret)
    stderr_console().print("This is the only time that the secret is shown.")


def _revoke(common: CommonOptions, name: str) -> None:
    ended = store.revoke(
        common.runtime().database, common.tenant, _whole(common, name), at=datetime.now(UTC)
    )
    if ended is None:
        raise NotFound(
            f"expected the name or the id of a valid token of the tenant, got {name!r:.80}; see "
            "htm tokens list"
        )
    if common.json:
        print_json(ended)
    else:
        stdout_console().print(
            f"{printable(ended.name)} is revoked; servers refuse it within five seconds."
        )


def _whole(common: CommonOptions, id_or_name: str) -> str:
    """The id of the token whose id begins so; a name, and anything else, as it is. Raises
    `InvalidInput` for several.
    """
    known = store.listed(common.runtime().database, common.tenant)
    if len(id_or_name) < FEWEST_DIGITS or any(each.name == id_or_name for each in known):
        return id_or_name
    matches = [each for each in known if each.id.startswith(id_or_name.lower())]
    if len(matches) > 1:
        named = "".join(f"\n  {each.id}  {each.name}" for each in matches)
        raise InvalidInput(
            f"expected the beginning of one token's id, got {id_or_name!r}, with which several "
            f"begin:{named}"
        )
    return matches[0].id if matches else id_or_name


def _show(common: CommonOptions, rows: list[ApiToken]) -> None:
    show_rows(common, rows, TOKENS)
    if not rows and not common.json:
        stderr_console().print("There are no tokens.")


def _expires(token: ApiToken) -> str:
    return (
        "revoked"
        if token.revoked_at
        else local_time(token.expires_at)
        if token.expires_at
        else "never"
    )


TOKENS: Sequence[Column[ApiToken]] = (
    Column(name="id", value=lambda row: row.id, shown=lambda row: short(row.id)),
    Column(
        name="name", value=lambda row: row.name, shown=lambda row: printable(row.name, longest=20)
    ),
    Column(
        name="user",
        value=lambda row: row.user,
        shown=lambda row: printable(row.user or "(shared)", longest=12),
    ),
    Column(
        name="robot",
        value=lambda row: row.robot,
        shown=lambda row: printable(row.robot or "(any)", longest=12),
    ),
    Column(name="created", value=lambda row: row.created_at, exact=True),
    Column(name="expires", value=lambda row: row.expires_at, shown=_expires),
    Column(name="revoked", value=lambda row: row.revoked_at, exact=True),
    Column(name="scopes", value=lambda row: row.scopes, shown=lambda row: ", ".join(row.scopes)),
)
