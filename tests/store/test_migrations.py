"""Migrations: once, in order, all or nothing, however many start at once; and history is not edited."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from htm_core import SchemaOutdated
from htm_core.db import migrate
from htm_core.db.migration_script import script
from htm_core.db.roles import EMBEDDED
from htm_core.db.schema_files import (
    Applied,
    AppliedMigration,
    Migration,
    SchemaFiles,
    migrations,
    pending_steps,
    schema_files,
)

pytestmark = pytest.mark.not_on_citus(
    "makes ordinary installations; tests/servers/test_citus.py migrates distributed ones", run=False
)

CATALOGUE = """
select 'column', c.table_name::text, c.column_name::text, c.data_type::text, c.column_default::text, c.is_nullable::text from information_schema.columns c
  where c.table_schema = %(schema)s
union all select 'index', tablename, indexname, replace(indexdef, %(schema)s, 'S'), null, null from pg_indexes
  where schemaname = %(schema)s
union all select 'policy', tablename, policyname, qual, with_check, array_to_string(roles, ',') from pg_policies
  where schemaname = %(schema)s
union all select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), null, null from pg_constraint
  where connamespace = to_regnamespace(%(schema)s)
union all select 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid), tgenabled::text, null
  from pg_trigger t join pg_class c on c.oid = tgrelid where c.relnamespace = to_regnamespace(%(schema)s) and not tgisinternal
union all select 'view', viewname, null, definition, null, null from pg_views where schemaname = %(schema)s
union all select 'relation', relname, relkind::text, array_to_string(reloptions, ','), relrowsecurity::text, array_to_string(relacl, ',')
  from pg_class where relnamespace = to_regnamespace(%(schema)s)
union all select 'type', t.typname, a.attname, format_type(a.atttypid, a.atttypmod), null, null
  from pg_type t join pg_attribute a on a.attrelid = t.typrelid join pg_class c on c.oid = t.typrelid
  where t.typnamespace = to_regnamespace(%(schema)s) and c.relkind = 'c'
union all select 'function', p.proname, pg_get_function_identity_arguments(p.oid), pg_get_functiondef(p.oid),
  array_to_string(p.proacl, ','), null from pg_proc p
  where p.pronamespace = to_regnamespace(%(schema)s)
union all select 'grant', table_name, grantee, privilege_type, null, null from information_schema.table_privileges
  where table_schema = %(schema)s
order by 1, 2, 3, 4
"""


@pytest.fixture
def admin(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def schema(admin: psycopg.Connection[tuple[object, ...]]) -> Iterator[str]:
    name = f"htm_{uuid.uuid4().hex[:8]}"
    yield name
    admin.execute(f"drop schema if exists {name} cascade")


def catalogue(
    admin: psycopg.Connection[tuple[object, ...]], schema: str
) -> list[tuple[object, ...]]:
    rows = admin.execute(CATALOGUE, {"schema": schema}).fetchall()
    return sorted(tuple(str(value).replace(schema, "S") for value in row) for row in rows)


def test_step_by_step_gives_the_same_schema_as_all_at_once(
    admin: psycopg.Connection[tuple[object, ...]], database_url: str, schema: str
) -> None:
    other = f"{schema}_b"
    try:
        applied = [
            m.version
            for step in migrations()
            for m in migrate.migrate(
                database_url, schema=schema, upto=step.version, roles="htm"
            ).migrations
        ]
        migrate.migrate(database_url, schema=other, roles="htm")
        assert applied == [step.version for step in migrations()]
        assert catalogue(admin, schema) == catalogue(admin, other)
        assert len(catalogue(admin, schema)) > 100
    finally:
        admin.execute(f"drop schema if exists {other} cascade")


def test_five_processes_at_once_migrate_once(
    admin: psycopg.Connection[tuple[object, ...]], database_url: str, schema: str
) -> None:
    code = (
        "import sys; from htm_core.db.migrate import migrate; "
        "print(len(migrate(sys.argv[1], schema=sys.argv[2], roles='htm').migrations))"
    )

    def start(_: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, database_url, schema],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    with ThreadPoolExecutor(5) as pool:
        counts = sorted(pool.map(start, range(5)))
    assert counts == ["0"] * 4 + [str(len(migrations()))]


def test_a_second_run_has_nothing_to_do(database_url: str, schema: str) -> None:
    assert len(migrate.migrate(database_url, schema=schema, roles="htm").migrations) == len(
        migrations()
    )
    assert migrate.migrate(database_url, schema=schema, roles="htm").names == []


def test_edited_history_is_refused(
    admin: psycopg.Connection[tuple[object, ...]], database_url: str, schema: str
) -> None:
    migrate.migrate(database_url, schema=schema, roles="htm")
    admin.execute(f"update {schema}.migrations set digest = 'other' where version = 2")
    with pytest.raises(SchemaOutdated, match=r"002 .* history must not"):
        migrate.migrate(database_url, schema=schema, roles="htm")


def test_a_database_of_a_development_version_is_told_the_way_out_and_left_as_it_is(
    admin: psycopg.Connection[tuple[object, ...]], database_url: str, schema: str
) -> None:
    """Before 0.2.0 was released its migrations had the numbers 010 to 034; they are one file now."""
    migrate.migrate(database_url, schema=schema, upto=9, roles="htm")
    admin.execute(
        f"insert into {schema}.migrations (version, name, digest, oldest_client) "
        "select n, 'unreleased', 'of another text', n from generate_series(10, 34) n"
    )
    before = catalogue(admin, schema)
    with pytest.raises(
        SchemaOutdated, match=r"010 .* development version .*`htm export FILE`.*`htm import FILE`"
    ):
        migrate.migrate(database_url, schema=schema, roles="htm")
    assert catalogue(admin, schema) == before


def test_a_newer_database_asks_for_a_newer_program() -> None:
    known = SchemaFiles([Migration(1, "one", "select 1")], [])
    applied = Applied(
        [AppliedMigration(1, known.migrations[0].digest, 1), AppliedMigration(2, "x", 2)]
    )
    with pytest.raises(SchemaOutdated, match="upgrade htm-memory"):
        pending_steps(applied, known)


def test_a_step_that_fails_leaves_nothing_behind(
    admin: psycopg.Connection[tuple[object, ...]],
    database_url: str,
    schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = [
        replace(step, text="select 1/0") if step.version == 3 else step for step in migrations()
    ]
    monkeypatch.setattr(migrate, "schema_files", lambda: replace(schema_files(), migrations=steps))
    with pytest.raises(Exception, match="division"):
        migrate.migrate(database_url, schema=schema, roles="htm")
    assert admin.execute("select to_regnamespace(%s)", [schema]).fetchone() == (None,)


def test_what_an_administrator_would_run_is_the_whole_of_it(
    admin: psycopg.Connection[tuple[object, ...]], database_url: str, schema: str
) -> None:
    other = f"{schema}_b"
    try:
        migrate.migrate(database_url, schema=schema, roles="htm")
        row = admin.execute(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"
        ).fetchone()
        assert row is not None
        admin.execute(script(other, roles=EMBEDDED, extension=str(row[0])))
        admin.execute(
            "do $$ begin execute format('grant connect on database %I to public', current_database()); end $$"
        )
        assert catalogue(admin, schema) == catalogue(admin, other)
        assert migrate.migrate(database_url, schema=other, roles="htm").names == []
    finally:
        admin.execute(f"drop schema if exists {other} cascade")


def test_numbers_have_no_gaps_and_no_twins() -> None:
    assert [step.version for step in migrations()] == list(range(1, len(migrations()) + 1))
