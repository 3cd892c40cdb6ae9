"""A neighbour on the same server: roles of PostgreSQL belong to the server, so an installation has its own."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import InvalidInput, SchemaOutdated
from htm_core.db.doctor import examine
from htm_core.db.findings import Finding
from htm_core.db.migrate import migrate
from htm_core.db.role_change import move
from htm_core.db.roles import Roles, own_prefix
from tests.attacks.installations import Installation, installed
from tests.servers.cluster import OUTSIDER, ROOT, Cluster, htm
from tests.servers.conftest import Open
from tests.servers.verbs import ask, every_verb, forget, look
from tests.store.test_migrations import CATALOGUE

REFUSED = psycopg.errors.InsufficientPrivilege


@pytest.fixture(scope="module")
def prod(modern: Cluster) -> Installation:
    return installed(modern, name="prod")


@pytest.fixture(scope="module")
def staging(modern: Cluster) -> Installation:
    return installed(modern, name="staging")


@pytest.fixture
def shared(cluster: Cluster) -> Iterator[tuple[Installation, Installation]]:
    """Two databases whose roles are called htm_owner, htm_app and htm_worker, as all were in 0.1.0; gone afterwards."""
    made = (
        installed(cluster, roles="htm", name="prod"),
        installed(cluster, roles="htm", name="staging"),
    )
    yield made
    for each in made:
        with cluster.admin("postgres") as admin:
            admin.execute(f"drop database {each.database} with (force)")


def examined(installation: Installation, login: str) -> dict[str, list[Finding]]:
    dsn = installation.dsn(login)
    found: dict[str, list[Finding]] = {}
    for finding in examine(dsn, worker=dsn, schema="htm", tenant="t", model="m"):
        found.setdefault(finding.about, []).append(finding)
    return found


# -- two installations of one server ---------------------------------------------------------------------------------------


def test_two_databases_of_one_server_have_no_role_in_common(
    prod: Installation, staging: Installation
) -> None:
    assert prod.roles == Roles.of(f"htm_{prod.database}")
    assert not set(prod.roles.names) & set(staging.roles.names)


def test_logins_of_one_installation_read_nothing_of_another(
    prod: Installation, staging: Installation, memory_at: Open, tenant: str
) -> None:
    """The application's, the workers' and the owner's login of staging, with the right to connect to prod."""
    memory_at(prod.dsn()).remember("the secret of prod")
    for role in staging.roles.names:
        neighbour = staging.login(role)
        with prod.connect(neighbour) as connection:
            for taken in prod.roles.names:
                with pytest.raises(REFUSED):
                    connection.execute(f"set role {taken}")
            for statement in (
                "select * from htm.nodes", "select * from htm.jobs", "select * from htm.migrations", "select htm.this_tenant()",
                "select htm.claim_jobs('embed', 'm', 1, 1, '{f}', '{\"\"}', '{}')",
            ):  # fmt: skip
                connection.execute(f"set role {role}")
                with pytest.raises(REFUSED):
                    connection.execute(statement)
        with (
            memory_at(prod.dsn(neighbour)) as memory,
            pytest.raises(SchemaOutdated, match=prod.roles.app),
        ):
            memory.recall("secret", mode="text")


def test_two_schemas_of_one_database_have_no_role_in_common(staging: Installation) -> None:
    migrate(staging.dsn(), schema="second")
    with staging.connect() as admin:
        rows = admin.execute(
            "select distinct n.nspname, r.role::regrole::text from pg_policy p join pg_class c on c.oid = p.polrelid "
            "join pg_namespace n on n.oid = c.relnamespace, unnest(p.polroles) r(role)"
        ).fetchall()
        admin.execute("drop schema second cascade")
    of = {place: {role for each, role in rows if each == place} for place in ("htm", "second")}
    assert len(of["htm"]) == len(of["second"]) == 2
    assert not of["htm"] & of["second"]


names = st.text(min_size=1, max_size=63).filter(lambda text: "\0" not in text)
schemas = st.from_regex(r"[a-z_][a-z0-9_]{0,40}", fullmatch=True)
alike = st.text(alphabet="ab_", min_size=1, max_size=6)


@given(st.tuples(names | alike, schemas | alike), st.tuples(names | alike, schemas | alike))
def test_the_default_is_a_name_that_roles_may_have_and_no_other_database_or_schema_gets(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    prefixes = {place: own_prefix(*place) for place in (one, other)}
    assert len(set(prefixes.values())) == len({one, other})
    for prefix in prefixes.values():
        assert all(len(name) <= 63 for name in Roles.of(prefix).names)


def test_names_that_no_role_may_have_are_refused() -> None:
    for prefix in ("", "Mine", "pg_mine", "1st", "x" * 57, 'a"; drop role postgres; --', "a b"):
        with pytest.raises(InvalidInput, match="what the names of the roles begin with"):
            Roles.of(prefix)


# -- who may connect -------------------------------------------------------------------------------------------------------


def test_the_script_of_an_administrator_lets_only_members_connect(
    modern: Cluster, memory_at: Open
) -> None:
    database = Installation(modern, f"scripted{uuid.uuid4().hex[:8]}")
    modern.create(database.database)
    printed = htm("migrate", "--sql", url=database.dsn())
    said = modern.programs.run(
        "psql", database.dsn(), "-X", "-q", "-v", "ON_ERROR_STOP=1", text=printed.stdout
    )
    assert "ERROR" not in said
    assert database.roles == Roles.of(f"htm_{database.database}")
    with pytest.raises(psycopg.OperationalError, match="does not have CONNECT"):
        database.connect(OUTSIDER)
    chatbot = database.login(database.roles.app, database.roles.worker)
    with memory_at(database.dsn(chatbot), auto_migrate=False) as memory:
        every_verb(memory)
    assert [finding.state for finding in examined(database, chatbot)["connect"]] == ["well"]


def test_a_script_for_one_database_changes_nothing_in_another(
    modern: Cluster, prod: Installation
) -> None:
    other = Installation(modern, f"other{uuid.uuid4().hex[:8]}")
    modern.create(other.database)
    printed = htm("migrate", "--sql", url=prod.dsn()).stdout
    with (
        other.connect() as admin,
        pytest.raises(psycopg.errors.RaiseException, match="this script is for the database"),
    ):
        admin.execute(printed.encode())
    assert htm("migrate", "--sql", url="").returncode != 0


def test_the_doctor_tells_that_everybody_may_connect_and_its_command_mends_it(
    prod: Installation,
) -> None:
    chatbot = prod.login(prod.roles.app, prod.roles.worker)
    [finding] = examined(prod, chatbot)["connect"]
    assert finding.state == "note"
    with prod.connect() as admin:
        admin.execute(str(finding.mend).partition("  --")[0].encode())
    assert [each.state for each in examined(prod, chatbot)["connect"]] == ["well"]
    with prod.connect() as admin:
        admin.execute(f"grant connect on database {prod.database} to public")


# -- a login without the workers' role --------------------------------------------------------------------------------------


def test_a_login_that_may_do_no_jobs_is_served_every_verb_and_says_once_that_jobs_wait(
    prod: Installation, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="htm")
    serving = prod.login(prod.roles.app)
    working = memory_at(prod.dsn(prod.login(prod.roles.worker)))
    with memory_at(prod.dsn(serving), worker="thread") as memory:
        node = memory.remember(
            "The ferry leaves at nine.", key="ferry", tags=["travel:sea"], session="s"
        )
        memory.remember_many(
            [{"content": "Tea is in the blue tin."}, {"content": "The cat sleeps."}]
        )
        memory.revise("ferry", "The ferry leaves at ten.", if_version=node.version, session="s")
        memory.log("chat").append(
            [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good morning"}]
        )
        memory.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        working._runtime.worker.drain()
        for part in (ask, look, forget):
            part(memory)
        for n in range(5):
            memory.remember(f"said {n}")
        begun = time.monotonic()
        assert not memory.flush(timeout=20), "the jobs wait for a process whose login may do them"
        assert time.monotonic() - begun < 15
        assert memory.stats().pending_jobs > 0
        assert memory.stats().breakers == {}
    told = [
        record.getMessage() for record in caplog.records if prod.roles.worker in record.getMessage()
    ]
    assert len(told) == 1, caplog.text
    assert "htm worker" in told[0]
    assert [record for record in caplog.records if "the worker waits" in record.getMessage()] == []
    [finding] = examined(prod, serving)["login"]
    assert finding.state == "well"
    assert "does no jobs" in finding.says


def test_jobs_of_a_serving_login_are_done_by_a_worker_of_another(
    prod: Installation, memory_at: Open
) -> None:
    """One login serves verbs and may do no jobs, the other does jobs and may serve no verbs."""
    serving, working = prod.login(prod.roles.app), prod.login(prod.roles.worker)
    memory = memory_at(prod.dsn(serving))
    memory.remember("the harbour is blue")
    worker = memory_at(prod.dsn(working), worker="off")
    worker._runtime.worker.drain()
    assert memory.stats().pending_jobs == 0
    with pytest.raises(SchemaOutdated):
        worker.recall("harbour")
    refused = htm("worker", "--once", url=prod.dsn(serving))
    assert refused.returncode != 0
    assert f"grant {prod.roles.worker} to" in refused.stderr


# -- installations whose roles are shared ------------------------------------------------------------------------------------


def test_an_installation_with_the_shared_roles_keeps_working(
    shared: tuple[Installation, Installation], memory_at: Open
) -> None:
    prod, _ = shared
    assert prod.roles == Roles.of("htm")
    chatbot = prod.login("htm_app", "htm_worker")
    assert not migrate(prod.dsn())
    with memory_at(prod.dsn(chatbot)) as memory:
        every_verb(memory)
    with (
        memory_at(prod.dsn(chatbot), roles="mine") as memory,
        pytest.raises(SchemaOutdated, match="--move-roles"),
    ):
        memory.remember("x")


def test_the_doctor_names_logins_that_reach_another_database_by_shared_roles(
    shared: tuple[Installation, Installation],
) -> None:
    prod, staging = shared
    neighbour = staging.login("htm_app", "htm_worker", kind="staging_app")
    said = [
        finding
        for finding in examined(prod, neighbour)["reach"]
        if staging.database in finding.says
    ]
    assert [finding.state for finding in said] == ["wrong"]
    assert neighbour in said[0].says
    assert "--move-roles" in str(said[0].mend)


def test_the_doctor_notes_a_login_that_is_a_member_of_two_installations(
    prod: Installation, staging: Installation
) -> None:
    both = prod.login(prod.roles.app, staging.roles.app)
    said = [
        finding.says for finding in examined(prod, both).get("reach", ()) if both in finding.says
    ]
    assert len(said) == 1
    assert staging.database in said[0]


def test_moving_to_own_roles_shuts_the_neighbour_out_and_the_running_process_goes_on(
    shared: tuple[Installation, Installation], memory_at: Open
) -> None:
    prod, staging = shared
    chatbot, neighbour = prod.login("htm_app", "htm_worker"), staging.login("htm_app", "htm_worker")
    running = memory_at(prod.dsn(chatbot))
    running.remember("said before", key="k")
    with staging.connect(neighbour) as connection:
        assert connection.execute("set role htm_app").statusmessage == "SET"
    done = htm("migrate", "--move-roles", "--login", chatbot, "--json", url=prod.dsn())
    assert done.returncode == 0, done.stderr
    assert neighbour in json.loads(done.stdout)["left"]
    assert prod.roles == Roles.of(f"htm_{prod.database}")
    with prod.connect(neighbour) as connection:
        connection.execute("set role htm_app")
        with pytest.raises(REFUSED):
            connection.execute("select * from htm.nodes")
    with pytest.raises(SchemaOutdated):
        running.remember("refused once")
    running.remember("said after", key="k")
    assert [node.content for node in running.history("k")] == ["said before", "said after"]
    every_verb(running)
    with memory_at(
        staging.dsn(neighbour)
    ) as memory:  # whoever shares the old roles is served as before
        every_verb(memory)
    [note] = examined(prod, chatbot)[
        "reach"
    ]  # it is a member of the old roles as well, which staging goes on to use
    assert note.state == "note"
    with prod.connect() as admin:
        admin.execute(str(note.mend).partition("  --")[0].encode())
    assert "reach" not in examined(prod, chatbot)
    assert not migrate(prod.dsn())


def test_a_moved_schema_is_the_same_as_one_made_with_these_roles(
    cluster: Cluster, shared: tuple[Installation, Installation]
) -> None:
    moved, fresh = shared[0], installed(cluster, name="fresh")
    move(
        moved.dsn(),
        schema="htm",
        prefix=f"moved{uuid.uuid4().hex[:6]}",
        logins=[moved.login("htm_app")],
    )

    def catalogue(of: Installation) -> list[tuple[str, ...]]:
        prefix = of.roles.app.removesuffix("_app")
        with of.connect() as admin:
            admin.execute("set search_path = htm, public")
            rows = admin.execute(CATALOGUE, {"schema": "htm"}).fetchall()
            owners = admin.execute(
                "select 'owner', relname, relowner::regrole::text from pg_class where relnamespace = 'htm'::regnamespace union all "
                "select 'owner', proname, proowner::regrole::text from pg_proc where pronamespace = 'htm'::regnamespace union all "
                "select 'owner', typname, typowner::regrole::text from pg_type where typnamespace = 'htm'::regnamespace union all "
                "select 'owner', nspname, nspowner::regrole || '|' || nspacl::text from pg_namespace where nspname = 'htm' union all "
                "select 'policy', polname || polrelid::regclass, polroles::regrole[]::text from pg_policy"
            ).fetchall()
        return sorted(
            tuple(str(value).replace(prefix, "P") for value in _sorted_rights(row))
            for row in [*rows, *owners]
        )

    assert catalogue(moved) == catalogue(fresh)
    with moved.connect() as admin:
        left = admin.execute(
            "select count(*) from pg_shdepend s join pg_database d on d.oid = s.dbid and d.datname = current_database() "
            "where refclassid = 'pg_authid'::regclass and refobjid = any(array['htm_owner', 'htm_app', 'htm_worker']::regrole[])"
        ).fetchone()
    assert left == (0,)


def _sorted_rights(row: tuple[object, ...]) -> tuple[object, ...]:
    """A row of the catalogue, with the rights in one order: that in which they were granted says nothing."""
    return tuple(
        ",".join(sorted(value.strip("{}").split(",")))
        if isinstance(value, str) and "=" in value and "/" in value
        else value
        for value in row
    )


def test_moving_refuses_to_guess_which_logins_go_along(
    shared: tuple[Installation, Installation],
) -> None:
    prod, _ = shared
    chatbot = prod.login("htm_app")
    before = prod.roles
    with pytest.raises(InvalidInput, match=chatbot):
        move(prod.dsn(), schema="htm", prefix=None, logins=())
    with pytest.raises(InvalidInput, match="nobody_here"):
        move(prod.dsn(), schema="htm", prefix=None, logins=[chatbot, "nobody_here"])
    with pytest.raises(SchemaOutdated, match="nothing to move"):
        move(prod.dsn(), schema="htm", prefix="htm", logins=[chatbot])
    with pytest.raises(SchemaOutdated):
        move(prod.dsn(chatbot), schema="htm", prefix=None, logins=[chatbot])
    assert prod.roles == before


def test_roles_are_found_when_the_database_or_a_role_is_renamed(
    modern: Cluster, memory_at: Open
) -> None:
    made = installed(modern, name="early")
    app = made.roles.app
    chatbot = made.login(app, made.roles.worker)
    late = Installation(modern, made.database.replace("early", "late"))
    with modern.admin("postgres") as admin:
        admin.execute(f"alter database {made.database} rename to {late.database}")
        admin.execute(f"alter role {app} rename to {app}_renamed")
    assert not migrate(late.dsn())
    with memory_at(late.dsn(chatbot)) as memory:
        every_verb(memory)


def test_a_role_whose_name_is_sql_is_refused_and_not_run(modern: Cluster, memory_at: Open) -> None:
    made = installed(modern, name="odd")
    app, odd = made.roles.app, f'x"; drop table htm.nodes; --{uuid.uuid4().hex[:6]}'
    quoted = odd.replace('"', '""')
    with modern.admin("postgres") as admin:
        admin.execute(f'alter role {app} rename to "{quoted}"'.encode())
    with memory_at(made.dsn()) as memory, pytest.raises(SchemaOutdated, match="rename"):
        memory.remember("x")
    with pytest.raises(SchemaOutdated, match="rename"):
        migrate(made.dsn())


def test_two_processes_may_be_the_first_in_two_databases_at_once(modern: Cluster) -> None:
    """Roles, schema and tables that two processes make at the same moment are made once."""
    made = [Installation(modern, f"first{uuid.uuid4().hex[:8]}") for _ in range(2)]
    for each in made:
        modern.create(each.database)
    code = "import sys; from htm_core.db.migrate import migrate; print(len(migrate(sys.argv[1], roles=sys.argv[2]).migrations))"
    prefix = f"both{uuid.uuid4().hex[:6]}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, each.dsn(), prefix], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for each in made * 3
    ]  # fmt: skip
    said = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * 6, said
    assert sorted(int(out) for out, _ in said)[:4] == [0] * 4
    assert [each.roles for each in made] == [Roles.of(prefix)] * 2


def test_a_stranger_that_calls_itself_an_older_process_does_not_stop_a_migration(
    prod: Installation,
) -> None:
    from htm_core.db.queries import load

    with psycopg.connect(prod.dsn(OUTSIDER), application_name="htm/htm/1"), prod.connect() as admin:
        statement = prod.roles.put_into(load("db/bootstrap")["older_clients"])
        assert admin.execute(statement, {"schema": "htm", "oldest": 99}).fetchall() == []
    member = prod.login(prod.roles.app)
    with psycopg.connect(prod.dsn(member), application_name="htm/htm/1"), prod.connect() as admin:
        assert len(admin.execute(statement, {"schema": "htm", "oldest": 99}).fetchall()) == 1
