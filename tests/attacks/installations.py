"""Installations on a server of the tests' own: a database with the schema, and logins that are members of what they need."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import psycopg

from htm_core.db.connection import connect
from htm_core.db.migrate import migrate
from htm_core.db.roles import Roles, find
from tests.servers.cluster import ADMIN, PASSWORD, Cluster

SECRET = PASSWORD.replace("'", "''")


@dataclass(frozen=True, slots=True)
class Installation:
    """One database with the schema, on a server."""

    cluster: Cluster
    database: str

    def dsn(self, login: str = ADMIN) -> str:
        """The connection string of a login."""
        return self.cluster.dsn(login, database=self.database)

    def connect(self, login: str = ADMIN) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of a login."""
        return psycopg.connect(self.dsn(login), autocommit=True)

    @property
    def roles(self) -> Roles:
        """Its roles, as the schema names them."""
        with connect(self.dsn()) as connection:
            found = find(connection, "htm")
        assert found is not None
        return found

    def login(self, *roles: str, kind: str = "login") -> str:
        """A new login that is a member of these roles and of nothing more."""
        name = f"{kind}_{uuid.uuid4().hex[:8]}"
        with self.connect() as admin:
            admin.execute(f"create role {name} login password '{SECRET}'")
            for role in roles:
                admin.execute(f"grant {role} to {name}")
        return name


def installed(cluster: Cluster, *, roles: str | None = None, name: str = "db") -> Installation:
    """A new database with the schema; `roles` is what the names of its roles begin with, by default its own."""
    made = Installation(cluster, f"{name}{uuid.uuid4().hex[:8]}")
    cluster.create(made.database)
    migrate(made.dsn(), roles=roles)
    return made
