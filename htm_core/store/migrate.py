"""Brings a database to this version's schema: numbered SQL files, each once, all in one transaction."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from psycopg import errors as pg
from psycopg import sql

from ..errors import SchemaOutdated
from .connection import Connection, connect
from .errors import translated
from .queries import load, read

_log = logging.getLogger("htm.migrate")
_FILE = re.compile(r"(\d{3})_(\w+)\.sql")

OLDEST_SERVER = 150000
OLDEST_VECTOR = (0, 8)


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step; its digest says whether history was edited."""

    version: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Every step of this version, in order."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda step: step.version)


def check_history(applied: Sequence[tuple[int, str]], *, known: Sequence[Migration]) -> list[Migration]:
    """The steps still to do.

    Raises `SchemaOutdated` when an applied step is not the one this version has, or is unknown to it.
    """
    digests = {step.version: step for step in known}
    for version, digest in applied:
        step = digests.get(version)
        if step is None:
            raise SchemaOutdated(
                f"the database is at migration {version}, this version knows up to {known[-1].version}; upgrade htm-memory"
            )
        if step.digest != digest:
            raise SchemaOutdated(
                f"migration {version:03} ({step.name}) was applied with another text than this version's; history must not "
                "be edited: restore the file, or make a new migration"
            )
    done = {version for version, _ in applied}
    return [step for step in known if step.version not in done]


def migrate(conninfo: str, *, schema: str = "htm", upto: int | None = None, logins: bool = False) -> list[Migration]:
    """Apply what is pending and say what it was; safe when many processes start at once.

    `conninfo` is the owner's: a superuser, or a login that is a member of `htm_owner` where the extension, the roles and
    the schema exist. `logins` lets the three roles log in (the embedded server, whose socket only its user can reach).
    Raises `SchemaOutdated` for what is missing, with the command that mends it.
    """
    with translated(), connect(conninfo) as connection, connection.transaction():
        return _migrate(connection, schema=schema, upto=upto, logins=logins)


def _migrate(connection: Connection, *, schema: str, upto: int | None, logins: bool) -> list[Migration]:
    boot = load("bootstrap")
    connection.execute(boot["enter"], {"schema": schema})
    connection.execute(boot["lock"], {"schema": schema})
    _prepare(connection, schema=schema, logins=logins)
    connection.execute(boot["load_vector"])
    connection.execute(boot["become_owner"])
    connection.execute(boot["history"])
    rows = connection.execute(boot["applied"]).fetchall()
    pending = check_history([(row["version"], row["digest"]) for row in rows], known=migrations())
    pending = [step for step in pending if upto is None or step.version <= upto]
    for step in pending:
        connection.execute(sql.SQL(read(f"migrations/{step.version:03}_{step.name}.sql")))
        connection.execute(boot["record"], {"version": step.version, "name": step.name, "digest": step.digest})
        _log.info("applied migration %03d %s", step.version, step.name)
    if pending:
        connection.execute(boot["rights"])
    return pending


def _prepare(connection: Connection, *, schema: str, logins: bool) -> None:
    """Make what only a superuser can make, where it is missing; leave the search path set."""
    boot = load("bootstrap")
    state = _state(connection, schema)
    check_server(state)
    if state["vector"] is None:
        _attempt(connection, boot["extension"], "create extension vector;", "the extension pgvector")
    if state["roles"] < 3:
        _attempt(
            connection, boot["roles"], roles_command(state["login"]), "the roles htm_owner, htm_app and htm_worker"
        )
    elif not state["owner"]:
        _attempt(connection, boot["roles"], f'grant htm_owner to "{state["login"]}";', "membership of htm_owner")
    if not state["has_schema"]:
        _attempt(connection, boot["schema"], schema_command(schema), f"the schema {schema}")
    if logins:
        connection.execute(boot["logins"])
    state = _state(connection, schema)
    check_vector(state)
    connection.execute(boot["settle"], {"path": search_path(schema, state["home"])})


def _state(connection: Connection, schema: str) -> dict[str, Any]:
    row = connection.execute(load("bootstrap")["state"], {"schema": schema}).fetchone()
    assert row is not None  # a select without from has one row
    return row


def search_path(schema: str, home: str) -> str:
    """The product's schema, then the extension's; temporary tables last, so that nobody's table shadows ours."""
    return f'"{schema}", "{home}", pg_temp'


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


def roles_command(login: str) -> str:
    """What an administrator runs to make the roles."""
    return (
        "create role htm_owner nologin; create role htm_app nologin; create role htm_worker nologin; "
        f'grant htm_owner, htm_app, htm_worker to "{login}";'
    )


def schema_command(schema: str) -> str:
    """What an administrator runs to make the schema."""
    return f"create schema {schema} authorization htm_owner; grant usage on schema {schema} to htm_app, htm_worker;"


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


def script(schema: str = "htm") -> str:
    """The whole of what an administrator would run, for psql: roles, extension, schema and every migration."""
    boot = load("bootstrap")
    quoted = schema.replace("'", "''")
    parts = [
        "-- htm-memory: run with psql as a superuser, in the database that is to hold the memories.",
        "begin;",
        f"set local htm.schema = '{quoted}';",
        *(boot[name] + ";" for name in ("extension", "roles", "schema")),
        boot["script_settle"] + ";",
        boot["load_vector"] + ";",
        boot["become_owner"] + ";",
        boot["history"] + ";",
    ]
    for step in migrations():
        parts.append(f"-- {step.version:03} {step.name}\n{step.text}")
        record = boot["record"] % {"version": step.version, "name": f"'{step.name}'", "digest": f"'{step.digest}'"}
        parts.append(record + ";")
    return "\n\n".join([*parts, "commit;"]) + "\n"
