"""The doctor: finds each thing that is wrong, and names the command that fixes it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from htm_core.db.doctor import examine
from htm_core.db.findings import Finding
from htm_core.db.migrate import migrate
from htm_core.db.roles import Roles
from htm_core.memory.process import runtime
from tests.cli.conftest import Htm
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

pytestmark = pytest.mark.usefixtures("crash_safe_server")

SCHEMA = f"doctored_{uuid.uuid4().hex[:8]}"
OWNER, APP, WORKER = Roles.of(SCHEMA).names


@pytest.fixture(scope="module")
def owned(database_url: str) -> Iterator[str]:
    """A DSN that may change a schema of this module's own, which is there and gone afterwards."""
    migrate(database_url, schema=SCHEMA, roles=SCHEMA)
    yield database_url
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f'drop schema "{SCHEMA}" cascade')
        for role in (APP, WORKER, OWNER):
            connection.execute(f"drop owned by {role}; drop role {role}")


def run(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f'set search_path = "{SCHEMA}", public')
        connection.execute(statement)


def look(dsn: str, **options: object) -> list[Finding]:
    known = {"worker": dsn, "schema": SCHEMA, "tenant": "t", "model": "m", "embedded": True}
    return examine(dsn, **(known | options))  # type: ignore[arg-type]


def wrong(found: list[Finding]) -> dict[str, Finding]:
    return {finding.about: finding for finding in found if finding.state == "wrong"}


def test_what_is_well_is_well(owned: str) -> None:
    found = look(owned)
    assert wrong(found) == {}
    assert {"PostgreSQL", "pgvector", "roles", "schema", "walls", "indexes", "jobs"} <= {
        each.about for each in found
    }


def test_a_table_without_its_wall_is_found_with_the_statement_that_puts_it_up(owned: str) -> None:
    run(owned, "alter table nodes disable row level security")
    finding = wrong(look(owned))["walls"]
    assert "nodes" in finding.says
    run(owned, str(finding.mend).partition(";")[0])
    assert "walls" not in wrong(look(owned))


def test_a_table_without_a_policy_is_found(owned: str) -> None:
    run(owned, "create table notes (tenant text); alter table notes enable row level security")
    finding = wrong(look(owned))["walls"]
    assert "notes" in finding.says
    run(owned, str(finding.mend).partition("  --")[0])
    assert "walls" not in wrong(look(owned))
    run(owned, "drop table notes")


def test_an_invalid_index_is_found_with_the_statement_that_rebuilds_it(owned: str) -> None:
    run(
        owned,
        f"update pg_index set indisvalid = false where indexrelid = '{SCHEMA}.nodes_by_time'::regclass",
    )
    finding = wrong(look(owned))["indexes"]
    assert "nodes_by_time" in finding.says
    run(owned, str(finding.mend).partition(";")[0])
    assert "indexes" not in wrong(look(owned))


def test_a_lost_index_of_vectors_is_found(owned: str) -> None:
    run(owned, "insert into vector_spaces (name, dimension, indexed) values ('lost', 64, true)")
    finding = wrong(look(owned))["indexes"]
    assert "lost" in finding.says
    run(owned, str(finding.mend).partition(";")[0])
    assert "indexes" not in wrong(look(owned))


def test_pending_migrations_are_found(owned: str) -> None:
    run(
        owned,
        "create table kept as select * from migrations where version > 7; delete from migrations where version > 7",
    )
    finding = wrong(look(owned))["schema"]
    assert (finding.says, str(finding.mend).split()[:2]) != ("", [])
    assert "pending" in finding.says
    run(owned, "insert into migrations select * from kept; drop table kept")
    assert "schema" not in wrong(look(owned))


def test_a_schema_that_was_never_made_is_found(database_url: str) -> None:
    assert "htm migrate" in str(wrong(look(database_url, schema="never_made"))["schema"].mend)


def test_of_a_schema_of_an_older_version_no_more_is_said_than_that_it_must_be_migrated(
    owned: str,
) -> None:
    run(owned, f'drop schema "{SCHEMA}" cascade')
    migrate(owned, schema=SCHEMA, roles=SCHEMA, upto=9)
    try:
        found = wrong(look(owned))
        assert list(found) == ["schema"]
        assert str(found["schema"].mend).startswith("htm migrate")
    finally:
        migrate(owned, schema=SCHEMA, roles=SCHEMA)
    assert wrong(look(owned)) == {}


def test_of_a_database_of_a_development_version_the_way_out_is_said(owned: str) -> None:
    run(
        owned,
        "create table kept as select * from migrations; update migrations set digest = 'x' where version = 10",
    )
    finding = wrong(look(owned))["schema"]
    assert "htm export FILE" in finding.says
    run(
        owned,
        "update migrations m set digest = k.digest from kept k where k.version = m.version; drop table kept",
    )
    assert "schema" not in wrong(look(owned))


def test_a_superuser_is_refused_as_the_login_of_verbs(owned: str) -> None:
    finding = wrong(look(owned, embedded=False))["login"]
    assert "superuser" in finding.says
    assert "create role" in str(finding.mend)


@pytest.fixture
def login(owned: str) -> Iterator[str]:
    """A DSN of a login of its own, which is nobody yet."""
    name = f"login_{uuid.uuid4().hex[:8]}"
    run(owned, f"create role {name} login password 'a-password'")
    yield make_conninfo(owned, user=name, password="a-password")
    run(owned, f"drop role {name}")


def test_a_login_of_the_two_roles_and_nothing_more_is_well(owned: str, login: str) -> None:
    name = conninfo_to_dict(login)["user"]
    run(owned, f"grant {APP}, {WORKER} to {name}")
    assert wrong(look(login, embedded=False)) == {}


def test_a_login_without_the_roles_is_found_with_the_grant_that_it_lacks(
    owned: str, login: str
) -> None:
    found = wrong(look(login, embedded=False))
    assert f"no member of {APP}" in found["login"].says
    run(owned, str(found["login"].mend))
    assert wrong(look(login, embedded=False)) == {}


def test_a_login_that_is_an_owner_is_refused(owned: str, login: str) -> None:
    run(owned, f"grant {APP}, {WORKER}, {OWNER} to {conninfo_to_dict(login)['user']}")
    assert f"member of {OWNER}" in wrong(look(login, embedded=False))["login"].says


def test_work_that_was_given_up_is_shown_with_its_error(owned: str) -> None:
    run(
        owned,
        "insert into jobs (tenant, kind, model, parked_at, error) values ('t', 'embed', 'm', now(), 'it broke'); "
        "insert into jobs (tenant, kind, model, created_at) values ('u', 'embed', 'n', now() - interval '1 day')",
    )
    found = look(owned)
    assert "it broke" in wrong(found)["jobs"].says
    [note] = [each for each in found if each.about == "jobs" and each.state == "note"]
    assert "1440 minutes" in note.says
    run(owned, "delete from jobs")


def test_memories_that_nobody_owes_a_vector_are_found_and_reembed_mends_it(
    htm: Htm, make: Make, tenant: str, url: str | None
) -> None:
    memory = make(embedder=HashEmbedder(), settings=SETTINGS)
    memory.remember("Tea.")
    assert memory.flush(timeout=30), "no worker is at it any more"
    database = runtime(url, SETTINGS).database
    with database.transaction(tenant) as connection:
        connection.execute("delete from jobs")
        connection.execute("delete from vectors")
    looked = htm("doctor", "--json")
    about = {each["about"]: each for each in looked.json["findings"] if each["state"] == "wrong"}
    assert looked.code == 1
    assert "no pending job" in about["tenant"]["says"]
    assert htm("reembed", "--embedder", "hash").code == 0
    assert "tenant" not in {
        e["about"] for e in htm("doctor", "--json").json["findings"] if e["state"] == "wrong"
    }


def test_another_model_than_the_tenants_is_found(htm: Htm) -> None:
    htm("remember", "Tea.")
    done = htm("doctor", "--embedder", "another", "--json")
    assert done.code == 1
    assert any("htm reembed" in str(each["mend"]) for each in done.json["findings"])


def test_an_embedder_that_is_down_is_wrong_and_everything_else_is_still_looked_at(
    htm: Htm, models: dict[str, HashEmbedder]
) -> None:
    models["hash"] = HashEmbedder()
    models["hash"].down = True
    found = htm("doctor", "--json")
    assert found.code == 1
    state = {each["about"]: each["state"] for each in found.json["findings"]}
    assert state["embedder"] == "wrong"
    assert {"PostgreSQL", "tokenizer", "home"} <= state.keys()


def test_people_see_what_is_wrong_and_the_command_below(htm: Htm) -> None:
    htm("remember", "Tea.")
    shown = htm("doctor", "--embedder", "another").out
    assert "wrong" in shown
    assert "htm reembed --tenant" in shown


def test_an_unreachable_database_is_a_finding_not_an_accident(htm: Htm) -> None:
    done = htm(
        "doctor", "--url", "postgresql://ines:secret@127.0.0.1:1/x?connect_timeout=2", "--json"
    )
    assert done.code == 1
    assert [each["state"] for each in done.json["findings"] if each["about"] == "database"] == [
        "wrong"
    ]
    assert "secret" not in done.out
