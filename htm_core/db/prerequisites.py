"""Prerequisites that only an administrator can make: extension, roles and schema; or the commands,
where this login may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import errors as pg

from ..base.errors import SchemaOutdated
from .connection import Connection
from .roles import Roles
from .schemas import EXTENSION_SCHEMA, Names, search_path

OLDEST_SERVER = 150000
OLDEST_VECTOR = (0, 8)


def prepare(connection: Connection, roles: Roles, *, schema: str, logins: bool) -> Names:
    """Make what only a superuser can make, where it is missing; leave the search path set, and name
    the schemas.
    """
    boot = roles.statements("db/bootstrap")
    state = read_state(connection, roles, schema)
    check_server(state)
    if state["vector"] is None:
        _attempt(connection, boot["extension"], extension_command(), "the extension pgvector")
    if state["roles"] < 3:
        make_roles(connection, roles, schema=schema)
    elif not state["owner"]:
        _attempt(
            connection,
            boot["roles"],
            f'grant {roles.owner} to "{state["login"]}";',
            f"membership of {roles.owner}",
        )
    if not state["has_schema"]:
        _attempt(connection, boot["schema"], schema_command(roles, schema), f"the schema {schema}")
    if logins and not state["log_in"]:
        connection.execute(boot["logins"])
    state = read_state(connection, roles, schema)
    check_vector(state)
    names = Names(schema, state["home"])
    connection.execute(boot["settle"], {"path": search_path(schema)})
    return names


def make_roles(connection: Connection, roles: Roles, *, schema: str) -> None:
    """Make the roles that are missing, with the login as a member; raises `SchemaOutdated` when it
    may not.
    """
    state = read_state(connection, roles, schema)
    statement = roles.statements("db/bootstrap")["roles"]
    _attempt(connection, statement, roles_command(roles, state), f"the roles {roles}")


def read_state(connection: Connection, roles: Roles, schema: str) -> dict[str, Any]:
    """Read the state of an installation's extension, roles and schema, and what the login is among
    them.
    """
    row = connection.execute(
        roles.statements("db/bootstrap")["state"], {"schema": schema}
    ).fetchone()
    assert row is not None  # a select without from has one row
    return row


def check_server(state: dict[str, Any]) -> None:
    """Refuse a server that is too old."""
    if state["server"] < OLDEST_SERVER:
        raise SchemaOutdated(
            f"expected PostgreSQL 15 or newer, got {state['server'] // 10000}; upgrade the server"
        )


def check_vector(state: dict[str, Any]) -> None:
    """Refuse a pgvector that is too old."""
    version = tuple(int(part) for part in str(state["vector"]).split(".")[:2])
    if version < OLDEST_VECTOR:
        raise SchemaOutdated(
            f"expected pgvector 0.8 or newer, got {state['vector']}; install it, then: alter "
            "extension vector update;"
        )


def extension_command() -> str:
    """Return the administrator's command that makes the extension."""
    return (
        f"create schema {EXTENSION_SCHEMA}; grant usage on schema {EXTENSION_SCHEMA} to public; "
        f"create extension vector schema {EXTENSION_SCHEMA};"
    )


def roles_command(roles: Roles, state: Mapping[str, Any]) -> str:
    """Return the administrator's command that makes the roles."""
    made = " ".join(f"create role {name} nologin;" for name in roles.names)
    return (
        f'{made} grant connect on database "{state["database"]}" to {", ".join(roles.names)}; '
        f'grant {", ".join(roles.names)} to "{state["login"]}";'
    )


def schema_command(roles: Roles, schema: str) -> str:
    """Return the administrator's command that makes the schema."""
    return (
        f"create schema {schema} authorization {roles.owner}; grant usage on schema {schema} "
        f"to {roles.app}, {roles.worker};"
    )


def _attempt(connection: Connection, statement: Any, command: str, what: str) -> None:
    try:
        with connection.transaction():
            connection.execute(statement)
    except (
        pg.InsufficientPrivilege,
        pg.FeatureNotSupported,
        pg.UndefinedFile,
        pg.UndefinedObject,
    ) as error:
        reason = str(error).splitlines()[0]
        if not isinstance(error, pg.InsufficientPrivilege):
            reason += (
                "; its files must be on the server first, such as apt install "
                "postgresql-NN-pgvector"
            )
        raise SchemaOutdated(
            f"expected {what}, which this login cannot give itself ({reason}); ask an "
            "administrator to run in this database: "
            f"{command} (`htm migrate --sql` prints the whole of it)"
        ) from error
