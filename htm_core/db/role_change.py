"""Moves an installation to other roles: one that shares its roles with other databases of the
server gets its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from ..base.errors import InvalidInput, SchemaOutdated
from ..base.settings import as_secret
from .cluster.citus import find_placement
from .connection import connect
from .errors import translated
from .prerequisites import make_roles
from .queries import load
from .roles import Roles, find, own_prefix


@dataclass(frozen=True, slots=True)
class RoleChange:
    """Result of `move`: the roles before and now, the logins that went along, and those that have
    lost their access.
    """

    before: Roles
    now: Roles
    moved: Sequence[str]
    left: Sequence[str]


def move(
    conninfo: str | SecretStr, *, schema: str, prefix: str | None, logins: Sequence[str]
) -> RoleChange:
    """Give everything in a schema to roles whose names begin with `prefix`, in one transaction.

    `prefix` is by default the installation's own (see `Settings.roles`); roles that are not there
    are made. `logins` become members of the new roles as they are of the old; all other members of
    the old ones lose their access to this schema. The old roles stay, for the databases that use
    them. Processes that are running go on after one refused call.

    Raises `InvalidInput` when no login is named though there are members, and for one that is no
    member; `SchemaOutdated` when there is no schema, when it has these roles already, or when
    `conninfo` is not a superuser's.
    """
    conninfo = as_secret(conninfo)
    with translated(), connect(conninfo) as connection, connection.transaction():
        statements = load("db/role_change")
        connection.execute(load("db/bootstrap")["pin"])
        connection.execute(load("db/bootstrap")["enter"], {"schema": schema})
        if find_placement(connection, schema) is not None:
            raise InvalidInput(
                "expected a schema of one server, got one that Citus distributes: its roles "
                "cannot be changed yet"
            )
        old = find(connection, schema)
        if old is None:
            raise SchemaOutdated(
                f"expected the schema {schema} with its tables, got none; run `htm migrate` first"
            )
        new = Roles.of(prefix or own_prefix(connection.info.dbname, schema))
        if set(new.names) & set(old.names):
            raise SchemaOutdated(
                f"expected other roles than the schema has, got {new}; there is nothing to move"
            )
        members = [
            row["login"] for row in connection.execute(statements["members"], {"roles": old.names})
        ]
        _check_logins(logins, members, old)
        make_roles(connection, new, schema=schema)
        values = {
            "old": ",".join(old.names),
            "new": ",".join(new.names),
            "logins": "\x1f".join(logins),
        }
        connection.execute(statements["settings"], values)
        for step in (
            "change_owner",
            "change_grants",
            "change_policies",
            "change_functions",
            "change_members",
        ):
            connection.execute(statements[step])
        return RoleChange(old, new, list(logins), [each for each in members if each not in logins])


def _check_logins(logins: Sequence[str], members: Sequence[str], old: Roles) -> None:
    strangers = [each for each in logins if each not in members]
    if strangers:
        raise InvalidInput(
            f"expected logins that are members of {old}, got {', '.join(strangers)}; the members "
            f"are {', '.join(members) or 'none'}"
        )
    if members and not logins:
        raise InvalidInput(
            "expected --login for each login that this database is for, got none; the members of "
            f"{old} are "
            f"{', '.join(members)}, and those that are not named lose their access to it"
        )
