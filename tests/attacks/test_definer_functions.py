"""Nobody who may create functions or operators in a schema can have ours, or our statements, run them.

PostgreSQL looks a function or an operator up in all schemas of the search path, and takes the one that fits the arguments best. So a
function that fits better than PostgreSQL's own, in any schema on the path, runs in its place and with the rights of the caller.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from htm_core import Memory, Settings
from htm_core.db import indexes
from htm_core.db.database import Database
from htm_core.db.doctor import examine
from htm_core.db.findings import Finding
from htm_core.db.migrate import migrate
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS
from tests.servers.verbs import every_verb
from tests.stand_ins import HashEmbedder
from tests.store.statements import CORE

Admin = psycopg.Connection[Any]
PINNED = "search_path=pg_catalog, pg_temp"
TYPES = [
    "integer",
    "bigint",
    "real",
    "float8",
    "numeric",
    "text",
    "name",
    "boolean",
    "jsonb",
    "uuid",
    "timestamptz",
    "interval",
]
TYPES += ["oid", "regconfig", "tsvector", "tsquery", "text[]", "uuid[]"]
FEW = ("integer", "bigint", "float8", "text")
SYMBOLS = [
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "@@",
    "@>",
    "<@",
    "->",
    "->>",
]
SYMBOLS += ["~", "~*", "!~", "~~", "<=>", "<#>"]
VECTORS = ("vector", "halfvec", "sparsevec")

TRAPS = """
create procedure traps.lay(place text, names text[], symbols text[], types text[], few text[]) language plpgsql as $lay$
declare f text; a text; b text; c text; laid bigint := 0;
  body constant text := '$t$ begin perform pg_catalog.nextval(''traps.fired''); '
    'raise exception ''trap %%(%%) as %%'', %L, %L, current_user; end $t$';
begin
  foreach f in array names loop
    foreach a in array types loop
      begin
        execute format('create function %I.%I(%s) returns text language plpgsql as ' || body, place, f, a, f, a);
      exception when duplicate_function then null;   -- it is the extension's own
      end;
      foreach b in array types loop
        execute format('create or replace function %I.%I(%s, %s) returns text language plpgsql as ' || body, place, f, a, b, f, a || ',' || b);
      end loop;
    end loop;
    foreach a in array few loop foreach b in array few loop foreach c in array few loop
      execute format('create or replace function %I.%I(%s, %s, %s) returns text language plpgsql as ' || body,
                     place, f, a, b, c, f, a || ',' || b || ',' || c);
    end loop; end loop; end loop;
  end loop;
  foreach a in array types loop
    foreach b in array types loop
      execute format('create function %I.trap_operator(%s, %s) returns boolean language plpgsql as ' || body, place, a, b, 'operator', a || ',' || b);
      foreach f in array symbols loop
        begin
          execute format('create operator %I.%s (leftarg = %s, rightarg = %s, function = %I.trap_operator)', place, f, a, b, place);
        exception when duplicate_function or duplicate_object or unique_violation then null;   -- it is the extension's own
        end;
      end loop;
    end loop;
  end loop;
end $lay$
"""


def sources() -> str:
    """All the SQL of the package."""
    return "\n".join(path.read_text("utf-8") for path in sorted(CORE.rglob("*.sql")))


@dataclass(frozen=True)
class Trapped:
    """A database in which a login that has nothing to do with the memories may create in the extension's schema."""

    dsn: str
    admin: Admin
    extension: str
    laid_in: str = ""  # the schema with the traps, when it is another one

    def lay(self) -> None:
        """As that login, put a function and an operator for each that ours use beside the extension."""
        called = set(re.findall(r"\b([a-z_][a-z_0-9]*)\(", sources()))
        rows = self.admin.execute(
            "select distinct proname from pg_proc where proname = any(%s) and pronamespace = 'pg_catalog'::regnamespace",
            [list(called)],
        )
        names = sorted(name for (name,) in rows)
        assert {
            "format",
            "set_config",
            "substr",
            "count",
            "array_agg",
            "pg_has_role",
            "concat_ws",
        } <= set(names)
        types = [*TYPES, *(f"{self.extension}.{name}" for name in VECTORS)]
        with self.admin.transaction():
            self.admin.execute("set local role htm_attacker")
            self.admin.execute("set local check_function_bodies = off")
            self.admin.execute("set local search_path = pg_catalog, pg_temp")
            self.admin.execute(
                "call traps.lay(%s, %s, %s, %s, %s)", [self.place, names, SYMBOLS, types, list(FEW)]
            )
        assert self.is_laid()

    @property
    def place(self) -> str:
        """The schema with the traps."""
        return self.laid_in or self.extension

    def is_laid(self) -> bool:
        """Whether the traps are there: many more operators than the extension has."""
        row = self.admin.execute(
            "select count(*) from pg_operator where oprnamespace = %s::regnamespace", [self.place]
        ).fetchone()
        assert row is not None
        return bool(row[0] > 2_000)

    def fired(self) -> int:
        """How many traps were stepped into so far, also in transactions that were rolled back."""
        row = self.admin.execute(
            "select case when is_called then last_value else 0 end from traps.fired"
        ).fetchone()
        assert row is not None
        return int(row[0])

    def settings(self, **options: Any) -> Settings:
        return Settings(
            **SETTINGS.model_dump(by_alias=True)
            | {"migrate_url": self.dsn, "worker": "off"}
            | options
        )


@pytest.fixture(scope="module", params=["public", "pgvector"])
def trapped(request: pytest.FixtureRequest, database_url: str) -> Iterator[Trapped]:
    name, extension = f"trapped_{uuid.uuid4().hex[:8]}", request.param
    dsn = make_conninfo(database_url, dbname=name)
    with psycopg.connect(database_url, autocommit=True) as outside:
        outside.execute(f"create database {name}")
        outside.execute(
            "do $$ begin create role htm_attacker; exception when duplicate_object then null; end $$"
        )
        try:
            with psycopg.connect(dsn, autocommit=True) as admin:
                admin.execute(f"create schema if not exists {extension}")
                admin.execute(f"grant usage on schema {extension} to public")
                admin.execute(f"grant create on schema {extension} to htm_attacker")
                admin.execute("grant create on schema public to htm_attacker")
                admin.execute(f"create extension vector schema {extension}")
                admin.execute(
                    "create schema traps; create sequence traps.fired; grant usage on schema traps to public"
                )
                admin.execute("grant all on sequence traps.fired to public")
                admin.execute(TRAPS)
                yield Trapped(dsn, admin, extension)
        finally:
            outside.execute(f"drop database {name} with (force)")


def test_every_function_finds_postgresqls_own_names_and_no_others(database: Database) -> None:
    """Either its names were bound when it was made, or its own search path has nothing but pg_catalog."""
    with database.owner() as connection:
        rows = connection.execute(
            "select p.oid::regprocedure::text as name, l.lanname as language, p.prosqlbody is not null as bound, p.prosecdef as definer, "
            "coalesce(p.proconfig, '{}') as settings from pg_proc p join pg_language l on l.oid = p.prolang "
            "where p.pronamespace = current_schema()::regnamespace"
        ).fetchall()
    assert len(rows) > 60
    for row in rows:
        paths = [each for each in row["settings"] if each.startswith("search_path=")]
        assert paths == [PINNED] or (row["bound"] and not paths and not row["definer"]), row


def test_what_is_bound_is_bound_to_postgresql_the_extension_and_ours(database: Database) -> None:
    """Checks, defaults, policies, indexes, views and SQL functions keep what they were bound to when they were made."""
    with database.owner() as connection:
        rows = connection.execute(
            "select d.classid::regclass::text, d.objid, d.refclassid::regclass::text as kind, d.refobjid from pg_depend d "
            "left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid "
            "left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid "
            "left join pg_type t on d.refclassid = 'pg_type'::regclass and t.oid = d.refobjid "
            "join pg_namespace n on n.oid = coalesce(f.pronamespace, o.oprnamespace, t.typnamespace) "
            "where n.nspname not in ('pg_catalog', 'information_schema', current_schema()) and n.nspname !~ '^(pg_|htm_|told_)' "
            "and not exists (select 1 from pg_depend e where e.classid = d.refclassid and e.objid = d.refobjid and e.deptype = 'e') "
            "and exists (select 1 from pg_proc p where d.classid = 'pg_proc'::regclass and p.oid = d.objid "
            "            and p.pronamespace = current_schema()::regnamespace "
            "            union all select 1 from pg_constraint c where d.classid = 'pg_constraint'::regclass and c.oid = d.objid "
            "            and c.connamespace = current_schema()::regnamespace "
            "            union all select 1 from pg_class c where d.classid = 'pg_class'::regclass and c.oid = d.objid "
            "            and c.relnamespace = current_schema()::regnamespace)"
        ).fetchall()
    assert rows == []


def test_no_trap_beside_the_extension_is_stepped_into(trapped: Trapped) -> None:
    """Neither while the schema is made, nor by any verb, nor by the worker, the doctor and the building of indexes."""
    trapped.lay()
    migrate(trapped.dsn)
    assert trapped.fired() == 0
    embedder = HashEmbedder(dimension=32, name=f"trapped-{uuid.uuid4().hex[:6]}")
    settings = trapped.settings()
    with Memory(
        "atlas", url=trapped.dsn, tenant="acme", user="ann", embedder=embedder, settings=settings
    ) as memory:
        every_verb(memory)
        memory.recall(
            'who said "blue tin" at the Öresund last week, Bob?',
            where={"pier": {"$gt": 3}},
            explain=True,
        )
        memory.link(memory.remember("a").id, memory.remember("b").id, kind="supports")
        assert memory.flush(timeout=30)
        assert memory.collection("pages").query("harbours", where={"pier": {"$lt": 9}}) is not None
        database = runtime(trapped.dsn, settings).database
        indexes.build_due(database, threshold=1)
        assert memory.recall("when does the ferry leave")[0].content == "The ferry leaves at ten."
        findings = examine(
            trapped.dsn, worker=trapped.dsn, schema="htm", tenant="acme", model=embedder.model
        )
    database.close()
    assert trapped.fired() == 0
    open_schema = next(each for each in findings if each.about == "schemas")
    assert "htm_attacker may create" in open_schema.says
    assert open_schema.mend == f'revoke create on schema "{trapped.extension}" from "htm_attacker";'
    trapped.admin.execute(open_schema.mend)
    (mended,) = [
        each
        for each in examine(trapped.dsn, worker=trapped.dsn, schema="htm", tenant="acme", model="m")
        if each.about == "schemas"
    ]
    assert mended.state == "well"


def test_a_trap_that_is_looked_up_does_fire(trapped: Trapped) -> None:
    """The control: on a path with the extension's schema, the traps take the place of PostgreSQL's own."""
    if not trapped.is_laid():  # this test runs by itself
        trapped.lay()
    with psycopg.connect(trapped.dsn) as connection:
        connection.execute(f"set search_path = pg_catalog, {trapped.extension}")
        for statement in (
            "select 1::bigint + 1::float8",
            "select array_agg(u) from unnest('{a}'::text[]) u",
            "select format('%s', 'a'::text)",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="trap"):
                connection.execute(statement)
            connection.rollback()
            connection.execute(f"set search_path = pg_catalog, {trapped.extension}")
    assert trapped.fired() > 0


def test_the_doctor_finds_whoever_may_create_in_our_own_schema_even_among_their_traps(
    database_url: str,
) -> None:
    """Statements of the processes look there for their names: nothing but the grant keeps others out, so the grant is what is told."""
    name = f"inside_{uuid.uuid4().hex[:8]}"
    dsn = make_conninfo(database_url, dbname=name)
    with psycopg.connect(database_url, autocommit=True) as outside:
        outside.execute(f"create database {name}")
        outside.execute(
            "do $$ begin create role htm_attacker; exception when duplicate_object then null; end $$"
        )
        try:
            migrate(dsn)
            with psycopg.connect(dsn, autocommit=True) as admin:
                admin.execute(
                    "create schema traps; create sequence traps.fired; grant usage on schema traps to public"
                )
                admin.execute("grant all on sequence traps.fired to public")
                admin.execute(TRAPS)
                admin.execute("grant create, usage on schema htm to htm_attacker")
                Trapped(dsn, admin, "pgvector", laid_in="htm").lay()
                [found] = found_in_schemas(dsn)
                assert found.state == "wrong"
                assert "htm_attacker may create" in found.says
                assert found.mend == 'revoke create on schema "htm" from "htm_attacker";'
                admin.execute(found.mend)
                assert [each.state for each in found_in_schemas(dsn)] == ["well"]
        finally:
            outside.execute(f"drop database {name} with (force)")


def found_in_schemas(dsn: str) -> list[Finding]:
    """What the doctor says of who may create where our names are looked up."""
    found = examine(dsn, worker=dsn, schema="htm", tenant="acme", model="m")
    return [each for each in found if each.about == "schemas"]


def test_functions_are_made_anew_when_the_extension_was_moved(database_url: str) -> None:
    """The functions name the extension's schema: after a move, the next process that may migrate makes them anew."""
    name = f"moved_{uuid.uuid4().hex[:8]}"
    dsn = make_conninfo(database_url, dbname=name)
    with psycopg.connect(database_url, autocommit=True) as outside:
        outside.execute(f"create database {name}")
        try:
            migrate(dsn)
            with psycopg.connect(dsn, autocommit=True) as admin:
                home = admin.execute(
                    "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"
                ).fetchone()
                assert home == ("pgvector",)
                admin.execute("create schema elsewhere; grant usage on schema elsewhere to public")
                admin.execute("alter extension vector set schema elsewhere")
                admin.execute(
                    "create text search configuration public.house (copy = pg_catalog.english)"
                )
            assert migrate(dsn).names == ["functions"]
            assert migrate(dsn).names == []
            settings = Settings(
                **SETTINGS.model_dump(by_alias=True)
                | {"migrate_url": dsn, "language": "public.house", "worker": "off"}
            )
            with Memory(
                "atlas",
                url=dsn,
                tenant="acme",
                embedder=HashEmbedder(name="moved"),
                settings=settings,
            ) as memory:
                every_verb(memory)
            runtime(dsn, settings).database.close()
        finally:
            outside.execute(f"drop database {name} with (force)")
