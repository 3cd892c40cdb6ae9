"""The whole of a migration as a script, for an administrator who runs it with psql."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .migrate import recorded_row
from .roles import EMBEDDED, Roles
from .schema_files import schema_files
from .schemas import EXTENSION_SCHEMA, PINNED, Names, search_path


def script(
    schema: str = "htm",
    *,
    roles: Roles = EMBEDDED,
    database: str | None = None,
    extension: str = EXTENSION_SCHEMA,
) -> str:
    """Return an administrator's psql script for an empty database: roles, extension, schema,
    migrations and functions.

    It stops in another database than `database`, if that is given. `extension` is the schema of the
    extension vector, which the script makes where there is none yet; it stops where the extension
    is in another schema.
    """
    boot, wanted, names = roles.statements("db/bootstrap"), schema_files(), Names(schema, extension)
    quoted = (database or "").replace("'", "''")
    right = (
        [f"set local htm.database = '{quoted}';", boot["right_database"] + ";"] if database else []
    )
    parts = [
        "-- htm-memory: run with psql as a superuser, in the database that is to hold the "
        "memories.",
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
        parts += [
            f"-- migration {step.version:03} {step.name}\n{text}",
            _recorded(boot["record"], recorded_row(step)),
        ]
    parts.append(f"set local search_path = {PINNED};")
    parts += [
        f"-- functions {file.name}\n{names.put_into(roles.put_into(file.text))}"
        for file in wanted.functions
    ]
    parts.append(f"set local search_path = {search_path(schema)};")
    for file in wanted.functions:
        row = recorded_row(file) | {"release": wanted.release, "extension_schema": names.extension}
        parts.append(_recorded(boot["record_functions"], row))
    return "\n\n".join([*parts, boot["rights"] + ";", "commit;"]) + "\n"


def _recorded(statement: str, row: Mapping[str, Any]) -> str:
    """A statement of the script with its values: numbers, names and digests, none of which has a
    quote in it.
    """
    values = {
        name: f"'{value}'" if isinstance(value, str) else value for name, value in row.items()
    }
    return statement % values + ";"
