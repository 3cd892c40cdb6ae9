"""Upgrades are promised: from every released version, with its data, and beside processes of the version before."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from htm_core import Memory, SchemaOutdated, Settings
from htm_core.db import installation, migrate
from htm_core.db.schema_files import FunctionFile, Migration, SchemaFiles, schema_files
from htm_core.db.schemas import EXTENSION_SCHEMA
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS
from tests.store.test_migrations import catalogue
from tests.upgrades.contents import answers
from tests.upgrades.snapshot import RELEASED, RELEASES, Admin, load, opened

VERSIONS = sorted(folder.name for folder in RELEASES.iterdir())
OLD_HISTORY = Path(__file__).parent / "before_0.1.0.json"

# What a later version might bring: a column that older processes need not know, and functions in place of others.
COLUMN = "alter table nodes add column language text;\n"
GREET = (
    "create or replace function htm.greet() returns text language sql as $$ select 'hello' $$;\n"
)
GREET_BY_NAME = "create or replace function htm.greet(name text) returns text language sql as $$ select 'hello ' || name $$;\n"
OTHER_RESULT = (
    "create or replace function htm.greet() returns integer language sql as $$ select 1 $$;\n"
)


@pytest.fixture
def admin(database_url: str) -> Iterator[Admin]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def schema(admin: Admin) -> Iterator[str]:
    name = f"htm_{uuid.uuid4().hex[:8]}"
    yield name
    for each in (name, f"{name}_b"):
        admin.execute(f"drop schema if exists {each} cascade")


def in_schema(schema: str, **options: Any) -> Settings:
    """Settings of a runtime of its own in this schema."""
    return Settings(
        **SETTINGS.model_dump(by_alias=True) | {"schema": schema, "worker": "off"} | options
    )


def later(*, oldest_client: int | None, **functions: str) -> SchemaFiles:
    """The files of a version after this one: one more migration, and these files of functions."""
    now = schema_files()
    header = f"-- oldest client: {oldest_client}\n" if oldest_client is not None else ""
    step = Migration(now.version + 1, "languages", header + COLUMN)
    files = {file.name: file for file in now.functions} | {
        name: FunctionFile(name, text) for name, text in functions.items()
    }
    return SchemaFiles([*now.migrations, step], list(files.values()), "0.2.0")


@pytest.fixture
def upgrade(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, SchemaFiles], list[str]]:
    """Does what `htm migrate` of another version does."""

    def run(schema: str, version: SchemaFiles) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "schema_files", lambda: version)
            return migrate.migrate(database_url, schema=schema, roles="htm").names

    return run


def function_names(admin: Admin, schema: str) -> set[str]:
    rows = admin.execute(
        "select proname || '(' || pg_get_function_identity_arguments(oid) || ')' from pg_proc where pronamespace = %s::regnamespace",
        [schema],
    )
    return {str(name) for (name,) in rows}


# -- released migrations --------------------------------------------------------------------------------------------------


def test_a_released_migration_is_never_edited() -> None:
    """Whoever needs another table writes another migration: databases have applied these."""
    now = {f"{step.version:03}_{step.name}": step.digest for step in schema_files().migrations}
    for release, digests in json.loads(RELEASED.read_text("utf-8")).items():
        assert digests.items() <= now.items(), (
            f"a migration of {release} was edited, renamed or removed"
        )


@pytest.mark.parametrize("release", VERSIONS)
def test_the_snapshot_of_a_release_has_the_migrations_of_that_release(release: str) -> None:
    ddl = (RELEASES / release / "schema.sql").read_text("utf-8")
    for name, digest in json.loads(RELEASED.read_text("utf-8"))[release].items():
        assert f"'{digest}'" in ddl, name
        text = ddl.partition(f"-- migration {name[:3]} {name[4:]}\n")[2].partition(
            "\n\ninsert into migrations"
        )[0]
        text = text.replace(
            f'"{EXTENSION_SCHEMA}".', ""
        )  # a script names the schema of the extension's types
        assert hashlib.sha256(text.encode()).hexdigest() == digest


# -- (b) and (c): a database of every release, with data ------------------------------------------------------------------


def assert_answers(open: Callable[..., Memory], release: str) -> None:
    """Everything can be seen as at the release. Recall may rank better by now, and find more: what it found it still finds."""
    now = json.loads(json.dumps(answers(open)))
    then = json.loads((RELEASES / release / "answers.json").read_text("utf-8"))
    for user, seen in then.items():
        for found_then, found_now in zip(
            seen.pop("recalls", []), now[user].pop("recalls", []), strict=True
        ):
            known = [[content, names] for content, _, names in found_now]
            assert [each for each in found_then if [each[0], each[2]] not in known] == []
    assert now == then


@pytest.mark.parametrize("release", VERSIONS)
def test_a_database_of_a_release_is_upgraded_and_answers_as_before(
    release: str, admin: Admin, schema: str, url: str | None, database_url: str
) -> None:
    load(admin, release, schema)
    open = opened(url, in_schema(schema))
    assert_answers(open, release)
    migrate.migrate(database_url, schema=f"{schema}_b", roles="htm")
    assert catalogue(admin, schema) == catalogue(admin, f"{schema}_b")


@pytest.mark.parametrize("release", VERSIONS)
def test_an_upgraded_database_is_written_to_and_does_the_jobs_it_had(
    release: str, admin: Admin, schema: str, url: str | None
) -> None:
    load(admin, release, schema)
    with opened(url, in_schema(schema))("atlas") as memory:
        assert memory.stats().pending_jobs > 0
        assert memory.flush()
        assert (
            memory.recall("kayak", mode="vector", hold=False)[0].content
            == "The kayak waits for its vector."
        )
        assert memory.remember("The dog is called Biscuit.").is_new is False
        assert memory.revise("home", "lives in Oslo", if_version=2).version == 3  # type: ignore[union-attr]
        last = memory.timeline(session="talk", forgotten=True)[-1].seq
        memory.remember("and on", session="talk")
        assert memory.timeline(session="talk")[-1].seq == last + 1


@pytest.mark.parametrize("release", VERSIONS)
def test_in_an_upgraded_database_erasing_leaves_a_receipt_and_a_redactor_takes_secrets_out(
    release: str, admin: Admin, schema: str, url: str | None
) -> None:
    load(admin, release, schema)
    with opened(url, in_schema(schema))("atlas") as memory:
        assert memory.audit() == []
        receipt = memory.erase(session="talk", confirm="confirmed")
        assert receipt.counts["mentions"] > 0
        assert [entry.id for entry in memory.audit(session="talk")] == [receipt.id]
        assert memory.verify_audit([receipt.digest]).ok
        assert memory.timeline(session="talk", forgotten=True) == []
    with opened(url, in_schema(schema))("careful", redactor="default") as memory:
        assert memory.remember("pay by 4111 1111 1111 1111").content == "pay by [redacted:card]"


@pytest.mark.parametrize("release", VERSIONS)
def test_a_later_version_upgrades_a_release_and_both_roads_end_at_the_same_schema(
    release: str,
    admin: Admin,
    schema: str,
    url: str | None,
    upgrade: Callable[[str, SchemaFiles], list[str]],
) -> None:
    load(admin, release, schema)
    version = later(oldest_client=schema_files().version, greetings=GREET)
    assert upgrade(schema, version)[-2:] == ["languages", "functions"]
    assert upgrade(f"{schema}_b", version)
    assert catalogue(admin, schema) == catalogue(admin, f"{schema}_b")
    assert upgrade(schema, version) == []
    assert_answers(opened(url, in_schema(schema)), release)


# -- functions --------------------------------------------------------------------------------------------------------------


def test_functions_are_applied_again_only_when_their_text_changed(
    admin: Admin, schema: str, database_url: str, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    now = schema_files()
    migrate.migrate(database_url, schema=schema, roles="htm")
    with_greeting = replace(now, functions=[*now.functions, FunctionFile("greetings", GREET)])
    before = admin.execute(
        f"select applied_at from {schema}.function_files where name = 'recall'"
    ).fetchone()
    assert upgrade(schema, with_greeting) == ["functions"]
    assert upgrade(schema, with_greeting) == []
    assert (
        admin.execute(
            f"select applied_at from {schema}.function_files where name = 'recall'"
        ).fetchone()
        == before
    )
    assert admin.execute(f"select {schema}.greet()").fetchone() == ("hello",)


def test_a_function_with_other_arguments_replaces_the_one_that_is_dropped(
    admin: Admin, schema: str, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    """Without the drop the old one would stay beside it, and the upgraded schema would differ from a new one."""
    first = later(oldest_client=None, greetings=GREET)
    upgrade(schema, first)
    dropping = {"dropped": "drop function if exists htm.greet();\n"}
    for text, stays in ((GREET_BY_NAME, "greet(name text)"), (OTHER_RESULT, "greet()")):
        changed = replace(
            first, functions=later(oldest_client=None, greetings=text, **dropping).functions
        )
        assert upgrade(schema, changed) == ["functions"]
        assert {name for name in function_names(admin, schema) if name.startswith("greet")} >= {
            stays
        }
    with_name_only = replace(
        first, functions=later(oldest_client=None, greetings=GREET_BY_NAME, **dropping).functions
    )
    admin.execute(f"drop schema {schema} cascade")
    upgrade(schema, first)
    upgrade(schema, with_name_only)
    upgrade(f"{schema}_b", with_name_only)
    assert catalogue(admin, schema) == catalogue(admin, f"{schema}_b")


def test_new_functions_are_for_the_application_and_not_for_everybody(
    admin: Admin, schema: str, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    upgrade(schema, schema_files())
    upgrade(
        schema,
        replace(
            schema_files(), functions=[*schema_files().functions, FunctionFile("greetings", GREET)]
        ),
    )
    may = "select has_function_privilege(%s, %s, 'execute')"
    assert admin.execute(may, ["htm_app", f"{schema}.greet()"]).fetchone() == (True,)
    admin.execute(
        "do $$ begin create role htm_nobody; exception when duplicate_object then null; end $$"
    )
    assert admin.execute(may, ["htm_nobody", f"{schema}.greet()"]).fetchone() == (False,)


def test_an_older_process_leaves_newer_functions_as_they_are(
    admin: Admin, schema: str, url: str | None, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    places = next(file.text for file in schema_files().functions if file.name == "places")
    files = {"greetings": GREET, "places": places + "\n-- newer\n"}
    newer = replace(later(oldest_client=None, **files), migrations=schema_files().migrations)
    upgrade(schema, newer)
    before = catalogue(admin, schema)
    assert upgrade(schema, schema_files()) == []
    with opened(url, in_schema(schema))("old") as memory:
        memory.remember("said by an older process")
    assert catalogue(admin, schema) == before


# -- (d): a rolling upgrade -------------------------------------------------------------------------------------------------


def test_processes_of_both_versions_run_side_by_side_when_a_migration_allows_it(
    schema: str,
    url: str | None,
    monkeypatch: pytest.MonkeyPatch,
    upgrade: Callable[[str, SchemaFiles], list[str]],
) -> None:
    version = later(oldest_client=schema_files().version, greetings=GREET)
    with opened(url, in_schema(schema))("old") as old:
        old.remember("said before the upgrade")
        assert upgrade(schema, version) == ["languages", "functions"]
        old.remember("said after it by a process that runs on")
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "schema_files", lambda: version)
            patch.setattr(installation, "schema_files", lambda: version)
            with opened(url, in_schema(schema, pool_max=3))("new") as new:
                new.remember("said by a newer process")
                assert len(new.list()) == 3
                assert (
                    new.recall("before the upgrade", hold=False)[0].content
                    == "said before the upgrade"
                )
        with opened(url, in_schema(schema, pool_max=2))(
            "late"
        ) as late:  # an old process that begins after the upgrade
            late.remember("said by an older process that was started again")
        assert len(old.list()) == 4
        assert old.recall("a newer process", hold=False)[0].content == "said by a newer process"


def test_an_older_process_is_refused_by_a_schema_that_it_cannot_use(
    schema: str, url: str | None, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    now = schema_files().version
    upgrade(schema, later(oldest_client=None))
    for auto_migrate in (True, False):
        with (
            pytest.raises(
                SchemaOutdated, match=rf"version {now}, got version {now + 1}.*upgrade htm-memory"
            ),
            opened(url, in_schema(schema, auto_migrate=auto_migrate))("old") as memory,
        ):
            memory.remember("never said")


def test_a_migration_names_the_processes_that_must_stop_first_and_changes_nothing(
    admin: Admin, schema: str, url: str | None, upgrade: Callable[[str, SchemaFiles], list[str]]
) -> None:
    now = schema_files().version
    with opened(url, in_schema(schema))("old") as memory:
        memory.remember("said by a process that must stop")
        pids = admin.execute(
            "select pid from pg_stat_activity where application_name = %s", [f"htm/{schema}/{now}"]
        ).fetchall()
        before = catalogue(admin, schema)
        with pytest.raises(
            SchemaOutdated, match=rf"pid {pids[0][0]} of .*schema version {now}.*Stop them first"
        ):
            upgrade(schema, later(oldest_client=None))
        assert catalogue(admin, schema) == before
        memory.remember("it runs on")
    runtime(url, in_schema(schema)).database.close()
    _until_gone(admin, schema)
    assert upgrade(schema, later(oldest_client=None)) == ["languages", "functions"]


def _until_gone(admin: Admin, schema: str) -> None:
    """A session that was closed is gone a moment later."""
    left = "select 1 from pg_stat_activity where application_name like %s"
    while admin.execute(left, [f"htm/{schema}/%"]).fetchone():
        time.sleep(0.05)


def test_a_migration_that_says_nothing_lets_no_older_process_go_on() -> None:
    assert Migration(7, "x", "select 1").oldest_client == 7
    assert (
        Migration(7, "x", "-- What it is for.\n--\n-- oldest client: 5\n\nselect 1").oldest_client
        == 5
    )


# -- databases of before 0.1.0 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auto_migrate", [True, False])
def test_a_database_from_before_the_first_release_is_told_the_way_out(
    admin: Admin, schema: str, url: str | None, database_url: str, auto_migrate: bool
) -> None:
    admin.execute(
        f"create schema {schema} authorization htm_owner; grant usage on schema {schema} to htm_app, htm_worker"
    )
    admin.execute(
        f"create table {schema}.migrations (version integer primary key, name text not null, digest text not null, "
        f"applied_at timestamptz not null default now()); alter table {schema}.migrations owner to htm_owner; "
        f"grant select on {schema}.migrations to htm_app, htm_worker"
    )
    for row in json.loads(OLD_HISTORY.read_text("utf-8")):
        admin.execute(
            f"insert into {schema}.migrations (version, name, digest) values (%(version)s, %(name)s, %(digest)s)",
            row,
        )
    before = catalogue(admin, schema)
    with pytest.raises(
        SchemaOutdated, match=r"before 0\.1\.0.*`htm export FILE`.*`htm import FILE`"
    ):
        migrate.migrate(database_url, schema=schema, roles="htm")
    with (
        pytest.raises(
            SchemaOutdated, match=r"before 0\.1\.0.*`htm export FILE`.*`htm import FILE`"
        ),
        opened(url, in_schema(schema, auto_migrate=auto_migrate))("late") as memory,
    ):
        memory.remember("never said")
    assert catalogue(admin, schema) == before


def test_what_a_version_exported_is_imported_by_the_next(
    make: Callable[..., Memory], tmp_path: Path
) -> None:
    """The way out itself: a backup goes from one database to another."""
    with make() as memory, (tmp_path / "out.jsonl").open("w", encoding="utf-8") as target:
        memory.remember("carried over")
        memory.backup.write(target)
    with (
        make(tenant=f"elsewhere-{uuid.uuid4().hex[:8]}") as other,
        (tmp_path / "out.jsonl").open(encoding="utf-8") as source,
    ):
        other.backup.read(source)
        assert [node.content for node in other.list()] == ["carried over"]
