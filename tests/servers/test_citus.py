"""The product on a Citus cluster: where its tables live, what it does when they move, and what an upgrade keeps."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from htm_core import InvalidInput, Memory, SchemaOutdated, Settings, StorageError, shutdown
from htm_core.store import migrate as steps
from htm_core.store.citus import find_placement, is_moved
from htm_core.store.connection import connect
from htm_core.store.doctor import examine
from htm_core.store.partitions import partition
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, APP, OUTSIDER
from tests.servers.conftest import Open
from tests.servers.verbs import every_verb

whole = pytest.mark.skipif(
    os.environ.get("HTM_TEST_MATRIX") != "whole", reason="HTM_TEST_MATRIX is not whole: it takes its time on a cluster"
)


@pytest.fixture(scope="module")
def citus(premises: Path, trusted: Certificate) -> Iterator[CitusCluster]:
    """A cluster with the product's schema, as `htm migrate` makes it."""
    with CitusCluster.prepared(programs.citus(), premises, trusted) as made:
        yield made


def test_every_verb_answers_through_any_node_and_the_tables_are_on_one(citus: CitusCluster, memory_at: Open) -> None:
    for node in (citus.coordinator, citus.elsewhere()):
        with memory_at(node.dsn(), tenant=f"tenant-{uuid4().hex[:12]}", worker="thread") as memory:
            every_verb(memory)
    assert citus.ask("select count(distinct nodeport), count(*) > 30 from citus_shards") == [(1, True)]
    assert citus.ask("select schema_name::text from citus_schemas") == [("htm_tables",)]


def test_a_process_follows_the_tables_to_another_node_and_its_caller_sees_no_error(
    citus: CitusCluster, memory_at: Open
) -> None:
    with memory_at(citus.coordinator.dsn(), worker="thread") as memory:
        memory.remember("The lighthouse was painted in May.", key="lighthouse", session="s")
        assert memory.flush(timeout=30)
        before, after = citus.home(), citus.move()
        assert after is not before
        memory.revise("lighthouse", "The lighthouse was painted in June.")
        assert memory.flush(timeout=30)
        assert memory.recall("lighthouse")[0].content == "The lighthouse was painted in June."
        with before.admin() as admin, pytest.raises(psycopg.Error, match="live on another node") as refused:
            admin.execute(
                "select htm.enter_node()"
            )  # whatever Citus has not dropped yet where they lived, nobody uses it
        assert is_moved(refused.value)
    with memory_at(before.dsn()) as memory:  # and one that asks there finds them
        assert memory.get("lighthouse").content == "The lighthouse was painted in June."


@whole
def test_while_the_tables_move_nothing_that_was_acknowledged_is_lost_and_nobody_sees_an_error(
    citus: CitusCluster, memory_at: Open
) -> None:
    said: list[str] = []
    errors: list[StorageError] = []
    over = threading.Event()

    def talk(memory: Memory, name: str) -> None:
        """Say one thing after another, and note what was acknowledged."""
        number = 0
        while not over.is_set():
            number += 1
            text = f"{name} saw bird number {number}."
            try:
                memory.remember(text, id=f"{name}-{number}", session=name)
                said.append(text)
                memory.recall(f"bird {number}", mode="text", hold=False)
            except StorageError as error:
                errors.append(error)

    with memory_at(citus.coordinator.dsn()) as memory:
        speakers = [threading.Thread(target=talk, args=(memory, name)) for name in ("Ada", "Ben", "Cleo")]
        for speaker in speakers:
            speaker.start()
        try:
            for _ in range(2):
                before = len(said)
                citus.move()
                deadline = time.monotonic() + 30
                while len(said) < before + 10 and time.monotonic() < deadline:
                    time.sleep(0.05)
        finally:
            over.set()
            for speaker in speakers:
                speaker.join(60)
        assert not errors
        kept = {row[0] for row in citus.home_rows("select content from htm.nodes where tenant = %s", [memory.tenant])}
        assert kept == set(said)
        assert len(said) > 20


def test_the_wall_between_tenants_stands_on_the_node_that_the_tables_have_moved_to(
    citus: CitusCluster, memory_at: Open
) -> None:
    with memory_at(citus.coordinator.dsn()) as memory:
        memory.remember("Only the harbour master knows the code.", session="s")
    node = citus.move()
    with memory_at(citus.coordinator.dsn(), tenant="somebody else") as other:
        assert not other.recall("harbour code", mode="text")
    with psycopg.connect(node.dsn(APP)) as connection:
        (shard,) = connection.execute("select 'htm_tables.nodes_' || shardid from pg_dist_shard where logicalrelid = 'htm_tables.nodes'::regclass").fetchone()  # type: ignore[misc]  # fmt: skip
        connection.execute(
            "select set_config('role', 'htm_app', true), set_config('htm.tenant', 'somebody else', true)"
        )
        for table in ("htm.nodes", shard):
            rows = connection.execute(f"select count(*) from {table} where content ~ 'harbour master'").fetchone()
            assert rows == (0,), table


@whole
def test_users_are_kept_apart_by_the_database_there_too(citus: CitusCluster, memory_at: Open) -> None:
    owner = {"migrate_url": SecretStr(citus.coordinator.dsn(ADMIN))}
    with memory_at(citus.coordinator.dsn(), user_walls=True, **owner) as memory:
        memory.remember("The spare key is under the third stone.", session="s")
        citus.move()
        assert memory.recall("spare key", mode="text")
        with citus.home().admin() as admin:
            row = admin.execute(
                "select count(*) from pg_policy where polname = 'user_wall' and not polpermissive and polrelid::regclass::text ~ '_[0-9]+$'"
            ).fetchone()
            assert row is not None
            assert row[0] > 20
    shutdown()  # who wants the wall would put it up again
    with citus.home().admin() as admin, admin.transaction():
        admin.execute("select htm.enter_node()")
        admin.execute("call htm.set_user_walls(false)")


@whole
def test_changed_functions_are_applied_where_the_tables_live_and_go_with_them(
    citus: CitusCluster, memory_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = steps.schema_files()
    text = "\ncreate or replace function htm.newer_than_before() returns integer language sql immutable begin atomic select 1; end;\n"
    changed = [
        steps.FunctionFile(file.name, file.text + text) if file.name == "tokens" else file for file in wanted.functions
    ]
    monkeypatch.setattr(steps, "schema_files", lambda: steps.SchemaFiles(wanted.migrations, changed))
    assert steps.migrate(citus.coordinator.dsn(ADMIN)).names == ["functions"]
    for _ in range(2):
        with citus.home().admin() as admin:
            admin.execute("select htm.enter_node()")
            assert admin.execute("select htm.newer_than_before()").fetchone() == (1,)
        citus.move()
    monkeypatch.undo()
    assert steps.migrate(citus.coordinator.dsn(ADMIN)).names == ["functions"]


@whole
def test_the_doctor_knows_the_nodes_and_where_the_tables_live(citus: CitusCluster) -> None:
    url = citus.coordinator.dsn(ADMIN)
    found = examine(url, worker=url, schema="htm", tenant="nobody yet", model="none")
    said = {(each.about, each.state): each.says for each in found}
    assert said["cluster", "well"] == "3 nodes, of which 2 hold tables"
    assert f":{citus.home().port}" in said["placement", "well"]
    assert said["walls", "well"].endswith("each behind row-level security and a policy")
    assert said["indexes", "well"] == "all are valid"
    assert {each.says.split()[0] for each in found if (each.about, each.state) == ("nodes", "well")} == {
        "postgresql",
        "citus",
        "pgvector",
    }


@whole
def test_the_doctor_says_which_node_does_not_answer(citus: CitusCluster) -> None:
    node = citus.elsewhere()
    url = citus.coordinator.dsn(ADMIN)
    node.stop()
    try:
        found = examine(url, worker=url, schema="htm", tenant="nobody yet", model="none")
    finally:
        node.start()
    wrong = [each.says for each in found if each.about == "nodes" and each.state == "wrong"]
    assert len(wrong) == 1
    assert f":{node.port} does not answer" in wrong[0]


def test_what_a_distributed_schema_cannot_do_is_refused_with_a_reason(citus: CitusCluster, memory_at: Open) -> None:
    with memory_at(citus.coordinator.dsn()) as memory, pytest.raises(InvalidInput, match="Citus distributes"):
        partition(memory._engine.database, 4)


def test_on_an_ordinary_server_there_is_no_placement_to_look_for(url: str | None, database_url: str) -> None:
    with connect(database_url) as connection:
        assert find_placement(connection, Settings().schema_) is None


def test_a_login_without_rights_may_not_settle_or_enter(citus: CitusCluster) -> None:
    with psycopg.connect(citus.home().dsn(OUTSIDER), autocommit=True) as connection:
        for function in ("enter_node", "settle_node"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"select htm.{function}()")
    home = psycopg.connect(citus.home().dsn(APP), autocommit=True)
    with home as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select htm.settle_node()")


@whole
def test_what_was_in_ordinary_tables_is_distributed_and_whoever_has_it_open_goes_on_after_one_refused_call(
    citus: CitusCluster, memory_at: Open
) -> None:
    schema = f"later_{uuid4().hex[:8]}"
    admin = citus.coordinator.dsn(ADMIN)
    steps.migrate(f"{admin}&options=-c%20citus.enable_schema_based_sharding%3Doff", schema=schema)
    with citus.coordinator.admin() as connection:
        (row,) = connection.execute("select rolname from pg_roles where rolname ~ %s", [f"{schema}_.*app$"]).fetchall()
        connection.execute(f"grant {row[0]} to {APP}")  # type: ignore[arg-type]
    with memory_at(citus.coordinator.dsn(), schema=schema) as memory:
        memory.remember("The gulls slept on the pier.", key="gulls", session="s")
        memory.collection("pages").put([{"id": "one", "content": "A page about gulls."}])
        assert steps.migrate(admin, schema=schema).names == []
        with contextlib.suppress(SchemaOutdated):
            memory.get("gulls")
        assert memory.get("gulls").content == "The gulls slept on the pier."
        placement = memory._engine.database.placement
        assert placement is not None
        assert placement.tables == f"{schema}_tables"
        memory.collection("more").put([{"id": "one", "content": "Numbers go on after those that there were."}])
        assert [hit.item.id for hit in memory.collection("pages").query("gulls")] == ["one"]


@whole
def test_an_upgrade_brings_the_tables_to_the_coordinator_and_back_and_keeps_what_is_in_them(
    citus: CitusCluster, memory_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory_at(citus.coordinator.dsn()) as memory:
        memory.remember(
            "The bridge opens at noon.", key="bridge", tags=["harbour:bridge"], metadata={"pier": 2}, session="s"
        )
    wanted = steps.schema_files()
    newer = steps.Migration(
        wanted.version + 1,
        "one_more",
        "-- oldest client: 9\ncreate table one_more (tenant text primary key);\ncall add_tenant_policy('one_more');\nalter table tenants add column one_more integer;",
    )
    monkeypatch.setattr(steps, "schema_files", lambda: steps.SchemaFiles([*wanted.migrations, newer], wanted.functions))
    assert steps.migrate(citus.nodes[1].dsn(ADMIN)).names == ["one_more", "functions"]
    assert steps.migrate(citus.nodes[2].dsn(ADMIN)).names == []
    with memory_at(citus.coordinator.dsn(), auto_migrate=False, pool_timeout=11.0) as memory:
        node = memory.get("bridge")
        assert (node.content, node.tags, dict(node.metadata)) == (
            "The bridge opens at noon.",
            ("harbour:bridge",),
            {"pier": 2},
        )
        every_verb(memory)
    with citus.home().admin() as admin:
        policies = admin.execute(
            "select count(*) from pg_policy where polrelid::regclass::text like 'htm_tables.one_more_%'"
        ).fetchone()
        assert policies == (1,)
