"""Brings a database to this version's schema, in one transaction.

Tables, indexes, policies and types come from `migrations/`: numbered files, each applied once, never edited after their release.
Functions, views and triggers come from `functions/`: applied again whenever their text changed. docs/why/upgrades.md says how
an upgrade goes.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg
from pydantic import SecretStr

from ..errors import SchemaOutdated
from ..settings import as_secret
from . import citus, citus_schema
from .connection import Connection, connect
from .errors import translated
from .queries import load, read
from .roles import EMBEDDED, Roles, choose
from .schemas import EXTENSION_SCHEMA, PINNED, Names, open_schemas, search_path

_log = logging.getLogger("htm.migrate")
_FILE = re.compile(r"(\d{3})_(\w+)\.sql")
_OLDEST_CLIENT = re.compile(r"^-- oldest client: (\d+)$", re.MULTILINE)

MOST_TRIES = 10
MADE_TWICE = (pg.UniqueViolation, pg.DuplicateObject, pg.DuplicateSchema, pg.DuplicateTable)

OLDEST_SERVER = 150000
OLDEST_VECTOR = (0, 8)
RELEASE = "0.1.0"  # the version of htm-memory whose files these are

# In this order: a function of the language sql, a view or a trigger needs what it names to be there.
FUNCTION_FILES = (
    "dropped", "tenants", "user_walls", "audit", "metadata_filter", "views", "lexemes", "nodes", "models", "filters", "word_counts",
    "jobs", "writing", "search", "signals", "recall", "supersession", "working_memory", "groups", "relations", "tidying", "tokens",
    "places", "collections", "cells", "erasure", "triggers",
)  # fmt: skip

WAY_OUT = (
    "a database from before 0.1.0, or made by a development version, cannot be upgraded. Run `htm export FILE` for each tenant "
    "with the version of htm-memory that made it, then `htm import FILE` with this version into an empty database (another "
    "--url, or another HTM_HOME)"
)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step."""

    version: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text: it says whether a step was edited after it was applied."""
        return _digest(self.text)

    @property
    def oldest_client(self) -> int:
        """The oldest schema version whose processes may go on beside this step: 9 where its text says "-- oldest client: 9".

        Without such a line it is this step's own version, so that all older processes must stop first.
        """
        found = _OLDEST_CLIENT.search(self.text)
        return int(found[1]) if found else self.version


@dataclass(frozen=True, slots=True)
class FunctionFile:
    """One file of functions, views or triggers."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text: it says whether the file has to be applied again."""
        return _digest(self.text)


@dataclass(frozen=True, slots=True)
class SchemaFiles:
    """All that a version of htm-memory makes its schema of."""

    migrations: Sequence[Migration]
    functions: Sequence[FunctionFile]
    release: str = RELEASE

    @property
    def version(self) -> int:
        """The schema version: the number of the last migration. A process announces it to the server as its client version."""
        return self.migrations[-1].version


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A row of the table `migrations`."""

    version: int
    digest: str
    oldest_client: int | None  # None: the table is from before 0.1.0 and does not say


@dataclass(frozen=True, slots=True)
class Applied:
    """What a database says was applied to it."""

    migrations: Sequence[AppliedMigration] = ()
    functions: Mapping[str, str] = field(default_factory=dict)  # digests by the name of the file
    release: str = "0"  # the newest version of htm-memory that applied functions


@dataclass(frozen=True, slots=True)
class Steps:
    """What is to be done, or was done, to bring a database up to date."""

    migrations: Sequence[Migration] = ()
    functions: Sequence[FunctionFile] = ()

    def __bool__(self) -> bool:
        return bool(self.migrations or self.functions)

    @property
    def names(self) -> list[str]:
        """The migrations by name, and "functions" where functions were applied."""
        return [*(step.name for step in self.migrations), *(["functions"] if self.functions else [])]

    def __str__(self) -> str:
        counts = {"migrations": len(self.migrations), "files of functions": len(self.functions)}
        return " and ".join(f"{count} {what}" for what, count in counts.items() if count) + " are pending"


@cache
def schema_files() -> SchemaFiles:
    """The files of this version."""
    return SchemaFiles(migrations(), [FunctionFile(name, read(f"functions/{name}.sql")) for name in FUNCTION_FILES])


def migrations() -> list[Migration]:
    """Every migration of this version, in order."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda step: step.version)


def client_name(schema: str, *, cells: bool = False) -> str:
    """The name by which this process's connections can be told from those of older versions, in pg_stat_activity.

    It also says whether the process asks in which of the `cells` a tenant lives.
    """
    return f"htm/{schema}/{schema_files().version}{'/cells' if cells else ''}"


def read_applied(connection: Connection) -> Applied:
    """What was applied to the schema that is first in the search path; raises psycopg's `UndefinedTable` without one."""
    boot = load("bootstrap")
    rows = connection.execute(boot["applied"]).fetchall()
    steps = [AppliedMigration(row["version"], row["digest"], row["oldest_client"]) for row in rows]
    if any(step.oldest_client is None for step in steps):
        return Applied(steps)
    rows = connection.execute(boot["applied_functions"]).fetchall()
    release = max((row["release"] for row in rows), key=_ordered, default="0")
    return Applied(steps, {row["name"]: row["digest"] for row in rows}, release)


def pending_steps(applied: Applied, wanted: SchemaFiles) -> Steps:
    """What is still to be applied.

    A database of a newer version is left as it is, when that version lets processes of this one go on. Raises
    `SchemaOutdated` when it does not, when an applied migration has another text here, and for a database from before 0.1.0.
    """
    known = {step.version: step for step in wanted.migrations}
    if any(step.oldest_client is None for step in applied.migrations):
        raise SchemaOutdated(f"expected a schema of htm-memory 0.1.0 or newer, got one from before: {WAY_OUT}")
    newer = [step for step in applied.migrations if step.version > wanted.version]
    oldest = max((step.oldest_client or 0 for step in newer), default=0)
    if oldest > wanted.version:
        raise SchemaOutdated(
            f"expected a schema of version {wanted.version}, got version {newer[-1].version}, which works with processes of "
            f"version {oldest} or newer; upgrade htm-memory here"
        )
    for row in applied.migrations:
        step = known.get(row.version)
        if step is not None and step.digest != row.digest:
            raise SchemaOutdated(
                f"migration {step.version:03} ({step.name}) was applied with another text than this version's; history must not "
                f"be edited. Restore the file if it was edited here. Otherwise, {WAY_OUT}"
            )
    done = {row.version for row in applied.migrations}
    steps = [step for step in wanted.migrations if step.version not in done]
    if newer or _ordered(applied.release) > _ordered(wanted.release):
        return Steps()
    return Steps(steps, _pending_functions(applied, wanted, all_of_them=bool(steps)))


def _pending_functions(applied: Applied, wanted: SchemaFiles, *, all_of_them: bool) -> list[FunctionFile]:
    """The files whose text changed; all of them after a migration, and when something is dropped, which may be made anew."""
    changed = [file for file in wanted.functions if applied.functions.get(file.name) != file.digest]
    if all_of_them or (changed and changed[0].name == "dropped"):
        return list(wanted.functions)
    return changed


def _ordered(release: str) -> tuple[int, ...]:
    """A release's number, for comparison; what follows it, as in 0.2.0rc1, does not count."""
    found = re.match(r"\d+(\.\d+)*", release)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def migrate(
    conninfo: str | SecretStr,
    *,
    schema: str = "htm",
    upto: int | None = None,
    logins: bool = False,
    roles: str | None = None,
) -> Steps:
    """Apply what is pending and say what it was; safe when many processes start at once.

    `conninfo` is the owner's: a superuser, or a login that is a member of the owner's role where the extension, the roles and
    the schema exist. `upto` stops after the migration of that number; functions come after the last one. `roles` is what
    the names of the roles begin with: by default those of the schema, and for a new one of this database and schema alone.
    `logins` lets the three roles log in (the embedded server, whose socket only its user can reach). Raises
    `SchemaOutdated` for what is missing, with the command that helps, and when processes of an older version have to stop first.
    """
    conninfo = as_secret(conninfo)
    for attempt in range(MOST_TRIES):
        try:
            with connect(conninfo) as connection:
                if _is_distributed(connection, schema):
                    return _migrate_distributed(connection, conninfo, schema=schema, upto=upto, prefix=roles)
                with connection.transaction():
                    if citus.has_citus(connection) is not None:
                        citus_schema.propagate(connection, on=False)  # it is for this server alone
                    return _migrate(connection, schema=schema, upto=upto, logins=logins, prefix=roles)
        except (*MADE_TWICE, pg.InternalError_) as error:
            # Before there is a table to lock, two processes may make the same role, schema or table; the second finds it now.
            if attempt == MOST_TRIES - 1 or not (isinstance(error, MADE_TWICE) or "concurrently updated" in str(error)):
                with translated():
                    raise
            time.sleep(0.05 * attempt)
        except psycopg.Error:
            with translated():
                raise
    raise AssertionError("the last attempt returns or raises")


def _migrate(connection: Connection, *, schema: str, upto: int | None, logins: bool, prefix: str | None) -> Steps:
    boot, roles, names = _begin(connection, schema=schema, logins=logins, prefix=prefix)
    _make_history(connection, boot)
    steps = _due(connection, upto)
    _refuse_older_clients(connection, boot["older_clients"], schema, steps.migrations)
    _apply_migrations(connection, steps, roles, names)
    connection.execute(boot["settle"], {"path": PINNED})  # so a function whose text leaves a schema out cannot be made
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
    """Choose the roles, and make what only a superuser can make: the statements with these roles, the roles, and the schemas."""
    connection.execute(load("bootstrap")["pin"])
    roles = choose(connection, schema, prefix=prefix)
    boot = roles.statements("bootstrap")
    connection.execute(boot["enter"], {"schema": schema})
    names = _prepare(connection, roles, schema=schema, logins=logins)
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
    for step in steps.migrations:
        connection.execute(names.put_into_migration(roles.put_into(step.text)))
        connection.execute(load("bootstrap")["record"], _row(step))
        _log.info("applied migration %03d %s", step.version, step.name)


def _record_functions(connection: Connection, steps: Steps, names: Names) -> None:
    for file in steps.functions:
        row = _row(file) | {"release": schema_files().release, "extension_schema": names.extension}
        connection.execute(load("bootstrap")["record_functions"], row)


def _warn_of_open_schemas(connection: Connection, roles: Roles, names: Names) -> None:
    for found in open_schemas(connection, roles, names):
        _log.warning("%s; %s", found.says, found.mend)


def _is_distributed(connection: Connection, schema: str) -> bool:
    """Whether Citus distributes this schema, or is to do so, by the setting citus.enable_schema_based_sharding."""
    return bool(citus.has_citus(connection)) or citus.find_placement(connection, schema) is not None


def _migrate_distributed(
    connection: Connection, conninfo: SecretStr, *, schema: str, upto: int | None, prefix: str | None
) -> Steps:
    """Apply what is pending to a schema that Citus distributes; `connection` may be to any of its nodes.

    Migrations are applied to ordinary tables on the coordinator, before Citus distributes them, or after it has brought them
    back; functions on the node where the tables live. docs/why/citus.md says why.
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
        with head.transaction():  # the nodes must know the roles before there is anything that belongs to them
            _make_missing_roles(head, schema, prefix)
        with head.transaction():
            steps = _migrate_tables(head, schema=schema, upto=upto, prefix=prefix, saved=saved)
    placement = citus.find_placement(connection, schema)
    if placement is not None:
        with connect(placement.node.dsn(conninfo)) as node, node.transaction():
            _enter_as_owner(node, placement, prefix)
    return steps


def _make_missing_roles(connection: Connection, schema: str, prefix: str | None) -> None:
    connection.execute(load("bootstrap")["pin"])
    citus_schema.prepare(connection)
    roles = choose(connection, schema, prefix=prefix)
    if read_state(connection, roles, schema)["roles"] < 3:
        make_roles(connection, roles, schema=schema)
    else:  # maybe made before this server had other nodes
        connection.execute(load("citus")["roles_everywhere"], {"roles": roles.names})
    connection.execute(roles.put_into(load("citus")["owner_may_log_in"]))


def _migrate_tables(
    connection: Connection, *, schema: str, upto: int | None, prefix: str | None, saved: Sequence[str]
) -> Steps:
    """Migrate ordinary tables on the coordinator and let Citus distribute them; those that it had are brought back before."""
    citus_schema.prepare(connection)
    boot, roles, names = _begin(connection, schema=schema, prefix=prefix)
    citus_schema.wait_for_other_migrations(connection, roles)
    was_distributed = citus.find_placement(connection, schema) is not None
    if was_distributed:
        citus_schema.undistribute(connection, schema)
    else:
        connection.execute(roles.put_into(load("citus")["tables_schema"]))
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
        return steps  # functions come after the last migration, and tables are distributed with their functions
    connection.execute(boot["settle"], {"path": PINNED})
    parts = citus_schema.read_parts(connection, schema)
    citus_schema.distribute(connection, roles, schema)
    made = citus_schema.target(connection, names, roles)
    chosen = [*citus_schema.parts_steps(made, parts), *citus_schema.code_steps(made, _function_texts())]
    citus_schema.put_steps(connection, made.table("node_steps"), chosen)
    citus_schema.define_entrance(connection, made)
    return steps


def _renew_functions(
    connection: Connection, placement: citus.Placement, *, upto: int | None, prefix: str | None
) -> Steps:
    """Apply changed functions on the node where the tables live; only says what is due where there are migrations, too."""
    roles, names = _enter_as_owner(connection, placement, prefix)
    steps = _due(connection, upto)
    _refuse_older_clients(
        connection, roles.statements("bootstrap")["older_clients"], placement.schema, steps.migrations
    )
    if steps.functions and not steps.migrations:
        made = citus_schema.target(connection, names, roles)
        citus_schema.put_steps(connection, made.stored("node_steps"), citus_schema.code_steps(made, _function_texts()))
        citus_schema.settle(connection, placement.schema, again=True)
        _record_functions(connection, steps, names)
    _warn_of_open_schemas(connection, roles, names)
    return steps


def _enter_as_owner(connection: Connection, placement: citus.Placement, prefix: str | None) -> tuple[Roles, Names]:
    """Begin a transaction of the owner on the node where the tables live; what they need there is made if it is missing."""
    schema = placement.schema
    connection.execute(load("bootstrap")["pin"])
    connection.execute(placement.enter)
    roles = choose(connection, schema, prefix=prefix)
    connection.execute(load("bootstrap")["enter"], {"schema": schema})
    citus_schema.propagate(connection, on=False)
    names = Names(schema, read_state(connection, roles, schema)["home"])
    connection.execute(roles.statements("bootstrap")["become_owner"])
    connection.execute(load("bootstrap")["settle"], {"path": search_path(schema)})
    return roles, names


def _function_texts() -> list[tuple[str, LiteralString]]:
    return [(file.name, file.text) for file in schema_files().functions]


def _row(step: Migration | FunctionFile) -> dict[str, Any]:
    """A step as it is recorded."""
    row: dict[str, Any] = {"name": step.name, "digest": step.digest}
    if isinstance(step, Migration):
        row |= {"version": step.version, "oldest_client": step.oldest_client}
    return row


def _refuse_older_clients(
    connection: Connection, statement: LiteralString, schema: str, steps: Sequence[Migration]
) -> None:
    """Raise `SchemaOutdated` when processes are connected that could not go on after these steps, and name them."""
    oldest = max((step.oldest_client for step in steps), default=0)
    rows = connection.execute(statement, {"schema": schema, "oldest": oldest}).fetchall()
    if rows:
        step = next(step for step in steps if step.oldest_client == oldest)
        named = "; ".join(
            f"pid {row['pid']} of {row['login']} at {row['address']}, schema version {row['client']}" for row in rows
        )
        raise SchemaOutdated(
            f"migration {step.version:03} ({step.name}) works with processes of schema version {oldest} or newer, but older ones "
            f"are connected: {named}. Stop them first (their pid here is the server's: select pg_terminate_backend(PID) "
            "ends a connection that nobody uses), upgrade htm-memory there, then run `htm migrate` again; nothing was changed"
        )


def _prepare(connection: Connection, roles: Roles, *, schema: str, logins: bool) -> Names:
    """Make what only a superuser can make, where it is missing; leave the search path set, and name the schemas."""
    boot = roles.statements("bootstrap")
    state = read_state(connection, roles, schema)
    check_server(state)
    if state["vector"] is None:
        _attempt(connection, boot["extension"], extension_command(), "the extension pgvector")
    if state["roles"] < 3:
        make_roles(connection, roles, schema=schema)
    elif not state["owner"]:
        _attempt(
            connection, boot["roles"], f'grant {roles.owner} to "{state["login"]}";', f"membership of {roles.owner}"
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
    """Make the roles that are missing, with the login as a member; raises `SchemaOutdated` when it may not."""
    state = read_state(connection, roles, schema)
    statement = roles.statements("bootstrap")["roles"]
    _attempt(connection, statement, roles_command(roles, state), f"the roles {roles}")


def read_state(connection: Connection, roles: Roles, schema: str) -> dict[str, Any]:
    """What there is of an installation's extension, roles and schema, and what the login is among them."""
    row = connection.execute(roles.statements("bootstrap")["state"], {"schema": schema}).fetchone()
    assert row is not None  # a select without from has one row
    return row


def check_server(state: dict[str, Any]) -> None:
    """Refuse a server that is too old."""
    if state["server"] < OLDEST_SERVER:
        raise SchemaOutdated(f"expected PostgreSQL 15 or newer, got {state['server'] // 10000}; upgrade the server")


def check_vector(state: dict[str, Any]) -> None:
    """Refuse a pgvector that is too old."""
    version = tuple(int(part) for part in str(state["vector"]).split(".")[:2])
    if version < OLDEST_VECTOR:
        raise SchemaOutdated(
            f"expected pgvector 0.8 or newer, got {state['vector']}; install it, then: alter extension vector update;"
        )


def extension_command() -> str:
    """What an administrator runs to make the extension."""
    return (
        f"create schema {EXTENSION_SCHEMA}; grant usage on schema {EXTENSION_SCHEMA} to public; "
        f"create extension vector schema {EXTENSION_SCHEMA};"
    )


def roles_command(roles: Roles, state: Mapping[str, Any]) -> str:
    """What an administrator runs to make the roles."""
    made = " ".join(f"create role {name} nologin;" for name in roles.names)
    return (
        f'{made} grant connect on database "{state["database"]}" to {", ".join(roles.names)}; '
        f'grant {", ".join(roles.names)} to "{state["login"]}";'
    )


def schema_command(roles: Roles, schema: str) -> str:
    """What an administrator runs to make the schema."""
    return f"create schema {schema} authorization {roles.owner}; grant usage on schema {schema} to {roles.app}, {roles.worker};"


def _attempt(connection: Connection, statement: Any, command: str, what: str) -> None:
    try:
        with connection.transaction():
            connection.execute(statement)
    except (pg.InsufficientPrivilege, pg.FeatureNotSupported, pg.UndefinedFile, pg.UndefinedObject) as error:
        reason = str(error).splitlines()[0]
        if not isinstance(error, pg.InsufficientPrivilege):
            reason += "; its files must be on the server first, such as apt install postgresql-NN-pgvector"
        raise SchemaOutdated(
            f"expected {what}, which this login cannot give itself ({reason}); ask an administrator to run in this database: "
            f"{command} (`htm migrate --sql` prints the whole of it)"
        ) from error


def script(
    schema: str = "htm", *, roles: Roles = EMBEDDED, database: str | None = None, extension: str = EXTENSION_SCHEMA
) -> str:
    """What an administrator would run with psql for an empty database: roles, extension, schema, migrations and functions.

    It stops in another database than `database`, if that is given. `extension` is the schema of the extension vector, which the
    script makes where there is none yet; it stops where the extension is in another schema.
    """
    boot, wanted, names = roles.statements("bootstrap"), schema_files(), Names(schema, extension)
    quoted = (database or "").replace("'", "''")
    right = [f"set local htm.database = '{quoted}';", boot["right_database"] + ";"] if database else []
    parts = [
        "-- htm-memory: run with psql as a superuser, in the database that is to hold the memories.",
        "begin;",
        boot["pin"] + ";",
        *right,
        f"set local htm.schema = '{names.schema}';",
        *(boot[name] + ";" for name in ("extension", "roles", "only_members_connect", "schema")),
        f"set local htm.extension = '{names.extension}';",
        boot["script_extension"] + ";",
        names.put_into(boot["load_vector"]) + ";",
        boot["become_owner"] + ";",
        f"set local search_path = {search_path(schema)};",
        boot["history"] + ";",
        boot["history_rights"] + ";",
    ]
    for step in wanted.migrations:
        text = names.put_into_migration(roles.put_into(step.text))
        parts += [f"-- migration {step.version:03} {step.name}\n{text}", _recorded(boot["record"], _row(step))]
    parts.append(f"set local search_path = {PINNED};")
    parts += [f"-- functions {file.name}\n{names.put_into(roles.put_into(file.text))}" for file in wanted.functions]
    parts.append(f"set local search_path = {search_path(schema)};")
    for file in wanted.functions:
        row = _row(file) | {"release": wanted.release, "extension_schema": names.extension}
        parts.append(_recorded(boot["record_functions"], row))
    return "\n\n".join([*parts, boot["rights"] + ";", "commit;"]) + "\n"


def _recorded(statement: str, row: Mapping[str, Any]) -> str:
    """A statement of the script with its values: numbers, names and digests, none of which has a quote in it."""
    values = {name: f"'{value}'" if isinstance(value, str) else value for name, value in row.items()}
    return statement % values + ";"
