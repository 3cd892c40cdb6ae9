"""Who may log in, and what a login that may not is told."""

from __future__ import annotations

import json
import logging
import re
import traceback
import uuid
from urllib.parse import quote

import pytest

from htm_core import DatabaseUnavailable, SchemaOutdated
from htm_core.db.migrate import migrate
from htm_core.db.prerequisites import check_server
from tests.crash_safety import crash_safe
from tests.servers import programs
from tests.servers.authority import authority
from tests.servers.cluster import ADMIN, APP, MIGRATOR, OUTSIDER, PASSWORD, Cluster, htm
from tests.servers.conftest import NewCluster, Open
from tests.servers.verbs import every_verb


@pytest.fixture
def bare(modern: Cluster) -> str:
    """A database of a prepared server with nothing in it."""
    name = f"bare_{uuid.uuid4().hex[:8]}"
    modern.create(name)
    return name


@pytest.mark.parametrize("login", [ADMIN, APP])
def test_superusers_and_members_are_served_every_verb(
    cluster: Cluster, login: str, memory_at: Open
) -> None:
    with memory_at(cluster.dsn(login)) as memory:
        every_verb(memory)


def test_the_members_login_may_define_nothing(cluster: Cluster) -> None:
    import psycopg

    with psycopg.connect(cluster.dsn(APP), autocommit=True) as connection:
        for statement in (
            "create table htm.mine (x int)",
            "create table public.mine (x int)",
            "set role htm_owner",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_a_login_without_membership_is_told_the_command_that_mends_it(
    cluster: Cluster, memory_at: Open
) -> None:
    with memory_at(cluster.dsn(OUTSIDER)) as memory, pytest.raises(SchemaOutdated) as caught:
        memory.remember("let me in")
    assert f'grant htm_app, htm_worker to "{OUTSIDER}";' in str(caught.value)


def test_what_a_newcomer_lacks_is_named_command_by_command(
    new_cluster: NewCluster, memory_at: Open
) -> None:
    """On a server that knows nothing of us, doing what each message says ends in a database that serves."""
    server = new_cluster(programs.modern(), prepared=False)
    server.create("fresh")
    with server.admin("fresh") as admin:
        admin.execute(
            f"create role newcomer login password '{PASSWORD.replace(chr(39), chr(39) * 2)}'"
        )
        told = []
        for _ in range(6):
            with memory_at(server.dsn("newcomer", database="fresh")) as memory:
                try:
                    every_verb(memory)
                    break
                except SchemaOutdated as error:
                    told.append(re.search(r"run in this database: (.*;) \(", str(error)))
            assert told[-1] is not None
            admin.execute(told[-1][1])  # type: ignore[arg-type]
        else:
            pytest.fail(f"still something missing after {told}")
    commands = " ".join(found[1] for found in told if found)
    assert "create extension vector" in commands
    assert "create role htm_fresh_owner" in commands
    assert "create schema htm" in commands


def test_an_extension_that_the_server_does_not_have_is_said_to_be_installed_first(
    modern: Cluster, bare: str
) -> None:
    with modern.admin("postgres") as admin:
        admin.execute(
            f"alter database {bare} set extension_control_path = '/nowhere'"
        )  # where no pgvector lies
    with pytest.raises(
        SchemaOutdated, match=r"not available.*its files must be on the server first"
    ) as caught:
        migrate(modern.dsn(ADMIN, database=bare))
    assert "create extension vector schema pgvector;" in str(caught.value)


def test_an_old_pgvector_is_refused_with_the_command(modern: Cluster, bare: str) -> None:
    with modern.admin(bare) as admin:
        admin.execute("create extension vector")
        admin.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    with pytest.raises(
        SchemaOutdated, match=r"0\.8 or newer, got 0\.7\.4.*alter extension vector update;"
    ):
        migrate(modern.dsn(ADMIN, database=bare))


def test_an_old_server_is_refused() -> None:
    with pytest.raises(SchemaOutdated, match="PostgreSQL 15 or newer, got 14"):
        check_server({"server": 140012})


def test_without_auto_migrate_an_empty_database_is_named_as_such(
    modern: Cluster, bare: str, memory_at: Open
) -> None:
    with (
        memory_at(modern.dsn(ADMIN, database=bare), auto_migrate=False) as memory,
        pytest.raises(SchemaOutdated, match="htm migrate"),
    ):
        memory.remember("x")


def wrong(cluster: Cluster) -> dict[str, str]:
    """Connection strings that each have one mistake."""
    return {
        "password": cluster.dsn(password=PASSWORD + "x"),
        "login": cluster.dsn("nobody_here"),
        "database": cluster.dsn(database="no_such_database"),
        "name": cluster.dsn().replace("@127.0.0.1:", "@localhost:"),
        "plain": cluster.dsn(sslmode="disable"),
        "authority": cluster.dsn(sslrootcert=authority(cluster.folder, "stranger").certificate),
    }


@pytest.mark.parametrize("mistake", ["password", "login", "database", "name", "plain", "authority"])
def test_a_refused_connection_is_told_without_its_password(
    cluster: Cluster, mistake: str, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    memory = memory_at(wrong(cluster)[mistake])
    with pytest.raises(DatabaseUnavailable) as caught:
        memory.remember("hello")
    told = [
        str(caught.value),
        repr(caught.value),
        "".join(traceback.format_exception(caught.value)),
        caplog.text,
    ]
    told += [repr(memory), repr(memory._engine.database)]
    for text in told:
        assert PASSWORD not in text
        assert quote(PASSWORD, safe="") not in text
    assert "htm doctor" in str(caught.value)


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_the_command_line_tells_neither_its_password(
    cluster: Cluster, debug: tuple[str, ...]
) -> None:
    done = htm("stats", *debug, url=cluster.dsn(password=PASSWORD + "x"))
    assert done.returncode != 0
    assert "password authentication failed" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert quote(PASSWORD, safe="") not in done.stdout + done.stderr


def test_the_doctor_is_content_with_a_members_login_and_refuses_the_superusers(
    cluster: Cluster,
) -> None:
    with crash_safe(cluster.dsn(ADMIN)):
        said = {
            login: htm("doctor", "--json", "--tenant", "unheard-of", url=cluster.dsn(login))
            for login in (APP, ADMIN)
        }
    found = {
        login: {each["about"]: each for each in json.loads(done.stdout)["findings"]}
        for login, done in said.items()
    }
    assert said[APP].returncode == 0, said[APP].stdout
    assert found[APP]["login"]["state"] == "well"
    assert said[ADMIN].returncode == 1
    assert found[ADMIN]["login"]["state"] == "wrong"
    assert "create role" in found[ADMIN]["login"]["mend"]
    assert not any(PASSWORD in done.stdout + done.stderr for done in said.values())


def test_a_member_of_the_owner_migrates_without_being_a_superuser(cluster: Cluster) -> None:
    assert not migrate(cluster.dsn(MIGRATOR))
    with cluster.admin() as admin:
        admin.execute(
            "drop schema if exists second cascade; create schema second authorization htm_owner"
        )
    assert len(migrate(cluster.dsn(MIGRATOR), schema="second").migrations) > 5


def test_the_session_is_encrypted_and_bound_to_the_certificate(
    cluster: Cluster, memory_at: Open
) -> None:
    with memory_at(cluster.dsn(channel_binding="require")) as memory:
        memory.remember("over TLS")
        with cluster.admin() as admin:
            rows = admin.execute(
                "select s.ssl, s.version from pg_stat_ssl s join pg_stat_activity a using (pid) where a.usename = %s",
                [APP],
            ).fetchall()
    assert set(rows) == {(True, "TLSv1.3")}
