"""Brings a database to this version's schema, in one transaction.

Tables, indexes, policies and types come from `migrations/`: numbered files, each applied once,
never edited after their release. Functions, views and triggers come from `functions/`: applied
again whenever their text changed. docs/why/store.md says how an upgrade goes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg
from pydantic import SecretStr

from ..base.errors import SchemaOutdated
from ..base.settings import as_secret
from .cluster import citus, citus_schema
from .connection import Connection, connect, refuse_encoding
from .errors import translated
from .prerequisites import make_roles, prepare, read_state
from .queries import load
from .roles import Roles, choose
from .schema_files import FunctionFile, Migration, Steps, pending_steps, read_applied, schema_files
from .schemas import PINNED, Names, open_schemas, search_path

_log = logging.getLogger("htm.migrate")

MOST_TRIES = 10
MADE_TWICE = (pg.UniqueViolation, pg.DuplicateObject, pg.DuplicateSchema, pg.DuplicateTable)


def migrate(
    conninfo: str | SecretStr,
    *,
    schema: str = "htm",
    upto: int | None = None,
    logins: bool = False,
    roles: str | None = None,
) -> Steps:
    """Apply what is pending and say what it was; safe when many processes start at once.

    `conninfo` is the owner's: a superuser, or a login that is a member of the owner's role where
    the extension, the roles and the schema exist. `upto` stops after the migration of that number;
    functions come after the last one. `roles` is what the names of the roles begin with: by default
    those of the schema, and for a new one of this database and schema alone. `logins` lets the
    three roles log in (the embedded server, whose socket only its user can reach). Raises
    `SchemaOutdated` for what is missing, with the command that helps, and when processes of an
    older version have to stop first.
    """
    conninfo = as_secret(conninfo)
    for attempt in range(MOST_TRIES):
        try:
            with connect(conninfo) as connection:
                refuse_encoding(connection)
                if _is_distributed(connection, schema):
                    return _migrate_distributed(
                        connection, conninfo, schema=schema, upto=upto, prefix=roles
                    )
                with connection.transaction():
                    if citus.has_citus(connection) is not None:
                        citus_schema.propagate(connection, on=False)  # it is for this server alone
                    return _migrate(
                        connection, schema=schema, upto=upto, logins=logins, prefix=roles
                    )
        except (*MADE_TWICE, pg.InternalError_) as error:
            # Before there is a table to lock, two processes may make the same role, schema or
            # table; the second finds it now.
            if attempt == MOST_TRIES - 1 or not (
                isinstance(error, MADE_TWICE) or "concurrently updated" in str(error)
            ):
                with translated():
                    raise
            time.sleep(0.05 * attempt)
        except psycopg.Error:
            with translated():
                raise
    raise AssertionError("the last attempt returns or raises")


def _migrate(
    connection: Connection, *, schema: str, upto: int | None, logins: bool, prefix: str | None
) -> Steps:
    boot, roles, names = _begin(connection, schema=schema, logins=logins, prefix=prefix)
    _make_history(connection, boot)
    steps = _due(connection, upto)
    _refuse_older_clients(connection, boot["older_clients"], schema, steps.migrations)
    _apply_migrations(connection, steps, roles, names)
    # so a function whose text leaves a schema out cannot be made
    connection.execute(boot["settle"], {"path": PINNED})
    for file in steps.functions:
        connection.execute(names.put_into(roles.put_into(file.text)))
        _log.debug("applied functions %s", file.name)
    if steps.functions:
        _log.info("applied %d files of functions", len(steps.functions))
    connection.execute(boot["settle"], {"path": search_path(schema)})
    _record_functions(connection, steps, names)
    if steps:
        connection.execute(boot["rights"])
    if steps.functions:
        connection.execute(boot["user_walls"])
    _warn_of_open_schemas(connection, roles, names)
    return steps


def _begin(
    connection: Connection, *, schema: str, prefix: str | None, logins: bool = False
) -> tuple[dict[str, LiteralString], Roles, Names]:
    """Choose the roles, and make what only a superuser can make: the statements with these roles,
    the roles, and the schemas.
    """
    connection.execute(load("db/bootstrap")["pin"])
    roles = choose(connection, schema, prefix=prefix)
    boot = roles.statements("db/bootstrap")
    connection.execute(boot["enter"], {"schema": schema})
    names = prepare(connection, roles, schema=schema, logins=logins)
    connection.execute(names.put_into(boot["load_vector"]))
    return boot, roles, names


def _make_history(connection: Connection, boot: Mapping[str, LiteralString]) -> None:
    """As the owner, make the tables of what was applied, if they are not there, and lock them."""
    for name in ("become_owner", "history", "lock", "history_rights"):
        connection.execute(boot[name])


def _due(connection: Connection, upto: int | None) -> Steps:
    wanted = schema_files()
    steps = pending_steps(read_applied(connection), wanted)
    if upto is not None and upto < wanted.version:
        return Steps([step for step in steps.migrations if step.version <= upto])
    return steps


def _apply_migrations(connection: Connection, steps: Steps, roles: Roles, names: Names) -> None:
    connection.add_notice_handler(_tell)
    for step in steps.migrations:
        connection.execute(names.put_into_migration(roles.put_into(step.text)))
        connection.execute(load("db/bootstrap")["record"], recorded_row(step))
        _log.info("applied migration %03d %s", step.version, step.name)
    connection.remove_notice_handler(_tell)


def _tell(diagnostic: psycopg.errors.Diagnostic) -> None:
    """Pass on what a migration warns of."""
    if diagnostic.severity_nonlocalized == "WARNING":
        _log.warning("%s", diagnostic.message_primary)


def _record_functions(connection: Connection, steps: Steps, names: Names) -> None:
    for file in steps.functions:
        row = recorded_row(file) | {
            "release": schema_files().release,
            "extension_schema": names.extension,
        }
        connection.execute(load("db/bootstrap")["record_functions"], row)


def _warn_of_open_schemas(connection: Connection, roles: Roles, names: Names) -> None:
    for open_schema in open_schemas(connection, roles, names):
        _log.warning("%s; %s", open_schema.says, open_schema.mend)


def _is_distributed(connection: Connection, schema: str) -> bool:
    """True if Citus distributes this schema, or is to do so, by the setting
    citus.enable_schema_based_sharding.
    """
    return bool(citus.has_citus(connection)) or citus.find_placement(connection, schema) is not None


def _migrate_distributed(
    connection: Connection,
    conninfo: SecretStr,
    *,
    schema: str,
    upto: int | None,
    prefix: str | None,
) -> Steps:
    """Apply what is pending to a schema that Citus distributes; `connection` may be to any of its
    nodes.

    Migrations are applied to ordinary tables on the coordinator, before Citus distributes them, or
    after it has brought them back; functions on the node where the tables live. docs/why/scale.md
    says why.
    """
    placement = citus.find_placement(connection, schema)
    saved: list[str] = []
    if placement is not None:
        with connect(placement.node.dsn(conninfo)) as node, node.transaction():
            steps = _renew_functions(node, placement, upto=upto, prefix=prefix)
            saved = citus_schema.saved(node, placement)
        if not steps.migrations:
            return steps
    with connect(citus.coordinator(connection).dsn(conninfo)) as head:
        # the nodes must know the roles before there is anything that belongs to them
        with head.transaction():
            _make_missing_roles(head, schema, prefix)
        with head.transaction():
            steps = _migrate_tables(head, schema=schema, upto=upto, prefix=prefix, saved=saved)
    placement = citus.find_placement(connection, schema)
    if placement is not None:
        with connect(placement.node.dsn(conninfo)) as node, node.transaction():
            _enter_as_owner(node, placement, prefix)
    return steps


def _make_missing_roles(connection: Connection, schema: str, prefix: str | None) -> None:
    connection.execute(load("db/bootstrap")["pin"])
    citus_schema.prepare(connection)
    roles = choose(connection, schema, prefix=prefix)
    if read_state(connection, roles, schema)["roles"] < 3:
        make_roles(connection, roles, schema=schema)
    else:  # maybe made before this server had other nodes
        citus_schema.make_roles_everywhere(connection, roles)
    connection.execute(roles.put_into(load("db/cluster/citus")["owner_may_log_in"]))


def _migrate_tables(
    connection: Connection,
    *,
    schema: str,
    upto: int | None,
    prefix: str | None,
    saved: Sequence[str],
) -> Steps:
    """Migrate ordinary tables on the coordinator and let Citus distribute them; those that it had
    are brought back before.
    """
    citus_schema.prepare(connection)
    boot, roles, names = _begin(connection, schema=schema, prefix=prefix)
    citus_schema.wait_for_other_migrations(connection, roles)
    was_distributed = citus.find_placement(connection, schema) is not None
    if was_distributed:
        citus_schema.undistribute(connection, schema)
    else:
        connection.execute(roles.put_into(load("db/cluster/citus")["tables_schema"]))
    citus_schema.propagate(connection, on=False)
    connection.execute(boot["become_owner"])
    if was_distributed:
        tenants = next(file.text for file in schema_files().functions if file.name == "tenants")
        connection.execute(names.put_into(roles.put_into(tenants)))  # which policies name
        for command in saved:
            connection.execute(command)  # made by citus_schema of the catalogue's own text
    _make_history(connection, boot)
    steps = _due(connection, upto)
    _apply_migrations(connection, steps, roles, names)
    _record_functions(connection, steps, names)
    if upto is not None and upto < schema_files().version:
        # functions come after the last migration, and tables are distributed with their functions
        return steps
    connection.execute(boot["settle"], {"path": PINNED})
    parts = citus_schema.read_parts(connection, schema)
    citus_schema.distribute(connection, roles, schema)
    made = citus_schema.target(connection, names, roles)
    chosen = [
        *citus_schema.parts_steps(made, parts),
        *citus_schema.code_steps(made, _function_texts()),
    ]
    citus_schema.put_steps(connection, made.table("node_steps"), chosen)
    citus_schema.define_entrance(connection, made)
    return steps


def _renew_functions(
    connection: Connection, placement: citus.Placement, *, upto: int | None, prefix: str | None
) -> Steps:
    """Apply changed functions on the node where the tables live; only says what is due where there
    are migrations, too.
    """
    roles, names = _enter_as_owner(connection, placement, prefix)
    steps = _due(connection, upto)
    _refuse_older_clients(
        connection,
        roles.statements("db/bootstrap")["older_clients"],
        placement.schema,
        steps.migrations,
    )
    if steps.functions and not steps.migrations:
        made = citus_schema.target(connection, names, roles)
        citus_schema.put_steps(
            connection, made.stored("node_steps"), citus_schema.code_steps(made, _function_texts())
        )
        citus_schema.settle(connection, placement.schema, again=True)
        _record_functions(connection, steps, names)
    _warn_of_open_schemas(connection, roles, names)
    return steps


def _enter_as_owner(
    connection: Connection, placement: citus.Placement, prefix: str | None
) -> tuple[Roles, Names]:
    """Begin a transaction of the owner on the node where the tables live; what they need there is
    made if it is missing.
    """
    schema = placement.schema
    connection.execute(load("db/bootstrap")["pin"])
    connection.execute(placement.enter)
    roles = choose(connection, schema, prefix=prefix)
    connection.execute(load("db/bootstrap")["enter"], {"schema": schema})
    citus_schema.propagate(connection, on=False)
    names = Names(schema, read_state(connection, roles, schema)["home"])
    connection.execute(roles.statements("db/bootstrap")["become_owner"])
    connection.execute(load("db/bootstrap")["settle"], {"path": search_path(schema)})
    return roles, names


def _function_texts() -> list[tuple[str, LiteralString]]:
    return [(file.name, file.text) for file in schema_files().functions]


def recorded_row(step: Migration | FunctionFile) -> dict[str, Any]:
    """A step as it is recorded."""
    row: dict[str, Any] = {"name": step.name, "digest": step.digest}
    if isinstance(step, Migration):
        row |= {"version": step.version, "oldest_client": step.oldest_client}
    return row


def _refuse_older_clients(
    connection: Connection, statement: LiteralString, schema: str, steps: Sequence[Migration]
) -> None:
    """Raise `SchemaOutdated` when processes are connected that could not go on after these steps,
    and name them.
    """
    oldest = max((step.oldest_client for step in steps), default=0)
    rows = connection.execute(statement, {"schema": schema, "oldest": oldest}).fetchall()
    if rows:
        step = next(step for step in steps if step.oldest_client == oldest)
        named = "; ".join(
            f"pid {row['pid']} of {row['login']} at {row['address']}, schema version "
            f"{row['client']}"
            for row in rows
        )
        raise SchemaOutdated(
            f"migration {step.version:03} ({step.name}) works with processes of schema version "
            f"{oldest} or newer, but older ones "
            f"are connected: {named}. Stop them first (their pid here is the server's: select "
            "pg_terminate_backend(PID) "
            "ends a connection that nobody uses), upgrade htm-memory there, then run `htm "
            "migrate` again; nothing was changed"
        )
