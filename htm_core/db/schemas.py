"""The two schemas of an installation, ours and the extension's, and who may create in them. Why:
docs/why/walls.md.

A call on a search path takes the function that fits its arguments best, wherever on the path it is.
So a path has only schemas in which nobody else may create: that of the product, and PostgreSQL's
own, which is always on it. What the extension has is named with its schema; in the SQL files that
is `pgvector`, and ours is `htm`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import LiteralString

from pgvector.psycopg.halfvec import register_halfvec_info
from pgvector.psycopg.sparsevec import register_sparsevec_info
from pgvector.psycopg.vector import register_vector_info
from psycopg.types import TypeInfo

from ..base.errors import SchemaOutdated
from .connection import Connection
from .roles import Roles

# where a new installation puts the extension: nobody else may create there
EXTENSION_SCHEMA = "pgvector"
# a path on which only PostgreSQL's own names are found, and temporary tables last
PINNED = "pg_catalog, pg_temp"

_OURS = re.compile(r"(?<![\w'.])htm\.(?=[a-z])")
_EXTENSION = re.compile(r"(?<![\w'.])pgvector\.(?=[a-z<])")
_COLUMN = re.compile(r"^( +\w+ +)(?=(?:halfvec|sparsevec|vector)\b)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$-]*")


def search_path(schema: str) -> str:
    """The product's schema, in which nobody else may create, and temporary tables last;
    docs/why/walls.md says why.
    """
    return f'"{schema}", pg_temp'


@dataclass(frozen=True, slots=True)
class OpenSchema:
    """A schema in which somebody else may create: what is so, and the command that mends it."""

    schema: str
    says: str
    mend: str


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the two schemas, which the SQL files write as `htm` and `pgvector`.

    Raises `SchemaOutdated` for an extension in a schema whose name cannot stand in the text of a
    function.
    """

    schema: str
    extension: str

    def __post_init__(self) -> None:
        if not _PLAIN.fullmatch(self.extension):
            raise SchemaOutdated(
                "expected the extension vector in a schema with a name of letters, digits, _, $ "
                "and -, got "
                f"{self.extension!r}; run: alter extension vector set schema …;"
            )

    def put_into(self, text: LiteralString) -> LiteralString:
        """SQL with these schemas in place of `htm.` and `pgvector.`."""
        # Both names were checked: with them the text is as safe as before.
        return _EXTENSION.sub(f'"{self.extension}".', _OURS.sub(f'"{self.schema}".', text))

    def put_into_migration(self, text: LiteralString) -> LiteralString:
        """A migration: it names our tables without their schema, which is on its path, and so the
        types of some columns.
        """
        return _COLUMN.sub(rf'\1"{self.extension}".', text)


def open_schemas(connection: Connection, roles: Roles, names: Names) -> list[OpenSchema]:
    """The product's schema and the extension's, where somebody else than superusers and the owner
    may create in them.
    """
    statement, values = (
        roles.statements("db/bootstrap")["creators"],
        {"schemas": [names.schema, names.extension]},
    )
    schemas = []
    for row in connection.execute(statement, values).fetchall():
        who = "everybody" if row["role"] == "public" else row["role"]
        about = f"{who} may create functions and operators in the schema {row['schema']}"
        role = "public" if row["role"] == "public" else f'"{row["role"]}"'
        mend = f'revoke create on schema "{row["schema"]}" from {role};'
        if row["owns_it"] and row["schema"] == names.extension:
            mend = (
                f"create schema {EXTENSION_SCHEMA}; grant usage on schema {EXTENSION_SCHEMA} "
                "to public; "
            )
            mend += (
                f"alter extension vector set schema {EXTENSION_SCHEMA};  -- and then: htm migrate"
            )
        elif row["owns_it"]:
            mend = f'alter schema "{row["schema"]}" owner to {roles.owner};'
        schemas.append(OpenSchema(row["schema"], about, mend))
    return schemas


def register_types(connection: Connection, extension: str) -> None:
    """Teach a connection the extension's types, which its search path does not reach."""
    for name, register in (
        ("vector", register_vector_info),
        ("halfvec", register_halfvec_info),
        ("sparsevec", register_sparsevec_info),
    ):
        info = TypeInfo.fetch(connection, f'"{extension}".{name}')
        if info is None:
            raise SchemaOutdated(
                f"expected the type {name} in the schema {extension}, got none; run: alter "
                "extension vector update;"
            )
        register(connection, info)
