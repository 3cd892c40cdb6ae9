"""The three roles of an installation: its owner, its application and its workers. docs/why/walls.md
says why they are its own.

The SQL of this package names them `htm_owner`, `htm_app` and `htm_worker`. An installation has its
own roles in their place, because the roles of PostgreSQL belong to the whole server: two databases
with the same roles would share their logins too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, LiteralString

from pydantic import SecretStr

from ..base.errors import InvalidInput, SchemaOutdated
from .connection import Connection, readable
from .queries import load

PREFIX = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,55}")
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")  # a name that SQL needs no quotes for
_IN_SQL = re.compile(r"\bhtm_(owner|app|worker)\b")
_PLAIN = re.compile(r"[a-z][a-z0-9]*")


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of an installation's roles.

    Raises `SchemaOutdated` for names that would need quotes in SQL.
    """

    owner: str
    app: str
    worker: str

    def __post_init__(self) -> None:
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise SchemaOutdated(
                    "expected roles with names of small letters, digits and underscores, got "
                    f"{name!r}; "
                    f'ask an administrator to rename it: alter role "{name}" rename to …;'
                )

    @classmethod
    def of(cls, prefix: str) -> Roles:
        """The roles whose names begin with `prefix`; raises `InvalidInput` for one that no role may
        have.
        """
        if not PREFIX.fullmatch(prefix):
            raise InvalidInput(
                "expected roles to be what the names of the roles begin with: at most 56 small "
                "letters, digits and underscores, "
                f"not beginning with a digit or pg_; got {prefix!r}"
            )
        return cls(f"{prefix}_owner", f"{prefix}_app", f"{prefix}_worker")

    @property
    def names(self) -> list[str]:
        """The names: of the owner, the application and the worker."""
        return list(astuple(self))

    def __str__(self) -> str:
        return f"{self.owner}, {self.app} and {self.worker}"

    def name(self, role: str) -> str:
        """This installation's name of `htm_owner`, `htm_app` or `htm_worker`."""
        return {"htm_owner": self.owner, "htm_app": self.app, "htm_worker": self.worker}[role]

    def put_into(self, text: LiteralString) -> LiteralString:
        """SQL with this installation's roles in place of the names that are written in it."""
        # the names were checked: it is as safe as before
        return _IN_SQL.sub(lambda match: self.name(match[0]), text)

    def statements(self, subject: str) -> dict[str, LiteralString]:
        """The statements of a file, with this installation's roles in them."""
        return {name: self.put_into(text) for name, text in load(subject).items()}


EMBEDDED = Roles.of("htm")  # nobody else has roles on the embedded server


def own_prefix(database: str, schema: str) -> str:
    """Return the prefix of a new installation's role names: no other database or schema of the
    server has the same.

    It is SCHEMA_DATABASE; where that would be ambiguous, too long or in need of quotes, it begins
    with htm and ends with a part of a hash of both.
    """
    plain = f"{schema}_{database}"
    if _PLAIN.fullmatch(schema) and _PLAIN.fullmatch(database) and PREFIX.fullmatch(plain):
        return plain
    digest = hashlib.sha256(f"{schema}\0{database}".encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")[:40].strip("_")
    return f"{readable if readable.startswith('htm') else 'htm_' + readable}__{digest}"


def find(connection: Connection, schema: str) -> Roles | None:
    """The roles that a schema's tables and policies name, None where there are none yet.

    The catalogue is the record: it follows when a role or the database is renamed, and any login
    may read it.
    """
    row = connection.execute(load("db/roles")["find"], {"schema": schema}).fetchone()
    return Roles(row["owner"], row["app"], row["worker"]) if row else None


def choose(connection: Connection, schema: str, *, prefix: str | None) -> Roles:
    """The roles of an installation: those that its schema names, else those of `prefix`, else its
    own by default.

    An empty schema that belongs to a role called PREFIX_owner says its prefix too. Raises
    `SchemaOutdated` when `prefix` is another than the schema's.
    """
    existing, wanted = find(connection, schema), None if prefix is None else Roles.of(prefix)
    if existing is not None:
        if wanted is not None and wanted != existing:
            raise SchemaOutdated(
                f"expected the schema {schema} to be of the roles {wanted}, as Settings.roles "
                f"says, got {existing}; leave "
                "Settings.roles out, or move the installation: htm migrate --move-roles --roles "
                f"{prefix} --login LOGIN"
            )
        return existing
    if wanted is not None:
        return wanted
    row = connection.execute(load("db/roles")["hints"], {"schema": schema}).fetchone()
    assert row is not None  # a select without from has one row
    return Roles.of(row["prefix"] or own_prefix(row["database"], schema))


def database_name(conninfo: SecretStr | None) -> str:
    """The database that a connection string names; raises `InvalidInput` for one that
    names none.
    """
    name = readable(conninfo).get("dbname") if conninfo else None
    if not name:
        raise InvalidInput(
            "expected --url with the name of the database, which the names of its roles are made "
            "of, or --roles PREFIX; got neither"
        )
    return str(name)


def rights(connection: Connection, roles: Roles) -> Mapping[str, Any]:
    """Return what the login is, and which of the roles it may take: `login`, `app` and `worker`."""
    row = connection.execute(
        load("db/roles")["rights"], {"app": roles.app, "worker": roles.worker}
    ).fetchone()
    assert row is not None  # a select without from has one row
    return row
