"""The product on a Citus cluster: where its tables live, what it does when they move, and what an upgrade keeps."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from htm_core import (
    DatabaseUnavailable,
    Group,
    InvalidInput,
    Memory,
    SchemaOutdated,
    Settings,
    shutdown,
)
from htm_core.db import address
from htm_core.db import migrate as steps
from htm_core.db.cluster.citus import Placement, find_placement, is_moved
from htm_core.db.connection import connect
from htm_core.db.doctor import examine
from htm_core.db.partitions import partition
from htm_core.db.schema_files import FunctionFile, Migration, SchemaFiles, schema_files
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, APP, HOST, OUTSIDER, free_port
from tests.servers.conftest import Open
from tests.servers.failover import is_heard
from tests.servers.pooler import Pooler
from tests.servers.talk import KEPT, talking
from tests.servers.verbs import every_verb
from tests.stand_ins import HashEmbedder

# What of each suite meets the database most, in little time.
SLICE = (
    "store/test_batches.py", "verbs/test_remember.py", "verbs/test_recall.py", "verbs/test_forgetting.py", "groups/test_groups.py",
    "palace/test_places.py", "langchain/test_history.py", "llamaindex/test_chat_store.py",
)  # fmt: skip

whole = pytest.mark.skipif(
    os.environ.get("HTM_TEST_MATRIX") != "whole",
    reason="HTM_TEST_MATRIX is not whole: it takes its time on a cluster",
)


@pytest.fixture(scope="module")
def citus(premises: Path, trusted: Certificate) -> Iterator[CitusCluster]:
    """A cluster with the product's schema, as `htm migrate` makes it."""
    with CitusCluster.prepared(programs.citus(), premises, trusted) as made:
        yield made


def test_every_verb_answers_through_any_node_and_the_tables_are_on_one(
    citus: CitusCluster, memory_at: Open
) -> None:
    for node in (citus.coordinator, citus.elsewhere()):
        with memory_at(node.dsn(), tenant=f"tenant-{uuid4().hex[:12]}", worker="thread") as memory:
            every_verb(memory)
    assert citus.ask("select count(distinct nodeport), count(*) > 30 from citus_shards") == [
        (1, True)
    ]
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
        with (
            before.admin() as admin,
            pytest.raises(psycopg.Error, match="live on another node") as refused,
        ):
            admin.execute(
                "select htm.enter_node()"
            )  # whatever Citus has not dropped yet where they lived, nobody uses it
        assert is_moved(refused.value)
    with memory_at(before.dsn()) as memory:  # and one that asks there finds them
        assert memory.get("lighthouse").content == "The lighthouse was painted in June."


@pytest.mark.parametrize("first", ["read", pytest.param("write", marks=whole)])
def test_a_verb_right_after_a_move_goes_to_the_new_node_at_the_first_refusal(
    citus: CitusCluster, memory_at: Open, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its process has no connection open: a new one is refused, and nobody waits for the pool."""
    lookups: list[str] = []
    find = address.citus.find_placement

    def counted(*given: Any, **named: Any) -> Placement | None:
        """Where the tables are, noted."""
        found = find(*given, **named)
        lookups.append("" if found is None else found.node_name)
        return found

    patience = 60.0
    with memory_at(citus.elsewhere().dsn(), pool_timeout=patience) as memory:
        memory.remember("The ferry leaves at nine.", key="ferry", session="s")
        target = citus.move()
        memory._engine.database.pools.close()  # as after a while of rest: its next verb needs a new connection
        monkeypatch.setattr(address.citus, "find_placement", counted)
        begun = time.monotonic()
        if first == "write":
            memory.revise("ferry", "The ferry leaves at ten.")
        assert (
            memory.get("ferry").content
            == f"The ferry leaves at {'ten' if first == 'write' else 'nine'}."
        )
        took = time.monotonic() - begun
    assert lookups[-1] == f"{HOST}:{target.port}"
    assert len(lookups) <= len(
        address.PAUSES
    )  # one, unless the server of the url has heard of the move later
    assert took < patience / 2, "it waited for the pool"


@whole
@pytest.mark.parametrize("way", ["citus_schema_move", "citus_rebalance_start"])
def test_while_the_tables_move_nothing_that_was_acknowledged_is_lost_and_nobody_sees_an_error(
    citus: CitusCluster, memory_at: Open, way: str
) -> None:
    """By hand, and by the rebalancer, which is told to empty the node where they live."""
    with memory_at(citus.coordinator.dsn()) as memory:
        with talking(memory) as talk:
            for _ in range(2):
                before, home = len(talk.said), citus.home()
                assert (citus.move() if way == "citus_schema_move" else citus.drain()) is not home
                deadline = time.monotonic() + 30
                while len(talk.said) < before + 10 and time.monotonic() < deadline:
                    time.sleep(0.05)
        assert talk.errors == []
        rows = citus.home_rows(KEPT, [memory.tenant])
        assert sorted(row[0] for row in rows) == sorted(talk.said)
        assert len(talk.said) > 20


def test_members_of_a_group_that_asked_different_nodes_hear_each_other_also_when_the_tables_have_moved(
    citus: CitusCluster, memory_at: Open
) -> None:
    tenant, embedder = f"tenant-{uuid4().hex[:12]}", HashEmbedder()
    with contextlib.ExitStack() as held:

        def member(robot: str, url: str) -> tuple[Memory, Group]:
            """A robot of the team, by the connections and the listener of its url."""
            settings = Settings(worker="off", pool_timeout=10.0)
            made = held.enter_context(
                Memory(
                    robot,
                    url=url,
                    tenant=tenant,
                    session="team",
                    embedder=embedder,
                    settings=settings,
                )
            )
            return made, made.group("team", lease=600)

        atlas, first = member("atlas", citus.coordinator.dsn())
        juno, second = member("juno", citus.elsewhere().dsn())
        for text in ("Before the tables move.", "After the tables have moved."):
            # Looked at once: who has just found out that the tables have moved listens to nobody for a moment.
            deadline, listening = time.monotonic() + 30, False
            while not listening and time.monotonic() < deadline:
                time.sleep(0.02)
                listening = first.status().listening and second.status().listening
            assert listening
            assert is_heard(atlas, juno, text)
            assert is_heard(juno, atlas, f"{text} Heard.")
            citus.move()


def test_a_process_reaches_the_nodes_by_the_addresses_that_it_is_given(
    citus: CitusCluster, memory_at: Open, premises: Path
) -> None:
    """Through a PgBouncer beside each node; the tables move, and it goes from one to the other."""
    poolers = {}
    for node in citus.nodes[1:]:
        pooler = Pooler(
            programs.pgbouncer(), node, Path(tempfile.mkdtemp(dir=premises)), sessions=4
        )
        pooler.start()
        poolers[f"{HOST}:{node.port}"] = pooler
    try:
        addresses = tuple((name, f"{HOST}:{pooler.port}") for name, pooler in poolers.items())
        with memory_at(citus.coordinator.dsn(), node_addresses=addresses) as memory:
            for turn in range(2):
                every_verb(memory.of(tenant=f"{memory.tenant}-{turn}"))
                with memory._engine.transaction() as connection:
                    assert connection.info.port == poolers[f"{HOST}:{citus.home().port}"].port
                citus.move()
    finally:
        for pooler in poolers.values():
            pooler.stop()


def test_who_cannot_reach_the_node_of_the_tables_is_told_how_to_say_where_it_is(
    citus: CitusCluster, memory_at: Open
) -> None:
    addresses = ((f"{HOST}:{citus.home().port}", f"{HOST}:{free_port()}"),)
    with (
        memory_at(citus.coordinator.dsn(), node_addresses=addresses) as memory,
        pytest.raises(DatabaseUnavailable, match=r"Settings\(node_addresses="),
    ):
        memory.stats()


@whole
@pytest.mark.parametrize("first", ["read", "write"])
@pytest.mark.parametrize("connected", [True, False], ids=["connected", "unconnected"])
def test_a_process_that_was_idle_finds_tables_that_have_left_a_node_which_is_gone(
    citus: CitusCluster, memory_at: Open, connected: bool, first: str
) -> None:
    """Also where its pool, which may be empty while nobody asks, can open no connection to that node."""
    patience = 60.0
    with memory_at(citus.coordinator.dsn(), pool_timeout=patience, pool_min=0) as memory:
        memory.remember("The crane was oiled on Monday.", key="crane", session="s")
        left = citus.home()
        if left is citus.coordinator:  # its own tables are asked for at the url
            left = citus.move()
            memory.get("crane")
        if not connected:
            memory._engine.database.pools.close()
        citus.move()
        left.stop()
        begun = time.monotonic()
        try:
            if first == "write":
                memory.revise("crane", "The crane was oiled on Tuesday.")
            assert memory.get("crane").content.startswith("The crane was oiled on")
        finally:
            left.start()
        assert time.monotonic() - begun < patience / 2, (
            "it waited for the pool of the node that is gone"
        )


@whole
def test_where_only_the_coordinator_can_be_reached_it_keeps_the_tables_itself(
    citus: CitusCluster, memory_at: Open
) -> None:
    coordinator = citus.coordinator
    with memory_at(coordinator.dsn()) as memory:
        memory.remember("The pilot sleeps in the old tower.", key="pilot", session="s")
        citus.hold(coordinator, shards=True)
        try:
            citus.move(target=coordinator)
            assert memory.get("pilot").content == "The pilot sleeps in the old tower."
            with memory._engine.transaction() as connection:
                assert connection.info.port == coordinator.port
        finally:
            citus.move(target=citus.nodes[1])
            citus.hold(coordinator, shards=False)
        assert memory.get("pilot").content == "The pilot sleeps in the old tower."


def test_a_slice_of_each_suite_passes_on_a_cluster(citus: CitusCluster) -> None:
    """All of them do with HTM_TEST_MATRIX=whole."""
    citus.run_suite(SLICE)


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
            rows = connection.execute(
                f"select count(*) from {table} where content ~ 'harbour master'"
            ).fetchone()
            assert rows == (0,), table


@whole
def test_users_are_kept_apart_by_the_database_there_too(
    citus: CitusCluster, memory_at: Open
) -> None:
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
    wanted = schema_files()
    text = "\ncreate or replace function htm.newer_than_before() returns integer language sql immutable begin atomic select 1; end;\n"
    changed = [
        FunctionFile(file.name, file.text + text) if file.name == "tokens" else file
        for file in wanted.functions
    ]
    monkeypatch.setattr(steps, "schema_files", lambda: SchemaFiles(wanted.migrations, changed))
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
    assert {
        each.says.split()[0] for each in found if (each.about, each.state) == ("nodes", "well")
    } == {
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


def test_what_a_distributed_schema_cannot_do_is_refused_with_a_reason(
    citus: CitusCluster, memory_at: Open
) -> None:
    with (
        memory_at(citus.coordinator.dsn()) as memory,
        pytest.raises(InvalidInput, match="Citus distributes"),
    ):
        partition(memory._engine.database, 4)


def test_on_an_ordinary_server_there_is_no_placement_to_look_for(
    url: str | None, database_url: str
) -> None:
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
        (row,) = connection.execute(
            "select rolname from pg_roles where rolname ~ %s", [f"{schema}_.*app$"]
        ).fetchall()
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
        memory.collection("more").put(
            [{"id": "one", "content": "Numbers go on after those that there were."}]
        )
        assert [hit.item.id for hit in memory.collection("pages").query("gulls")] == ["one"]


@whole
def test_roles_of_an_ordinary_schema_are_made_on_every_node_or_the_node_that_cannot_is_named(
    citus: CitusCluster,
) -> None:
    """Each time: nodes that told one another of the same new role waited for each other, and mostly all were ended."""
    schema = f"roles_{uuid4().hex[:8]}"
    admin = citus.coordinator.dsn(ADMIN)
    steps.migrate(f"{admin}&options=-c%20citus.enable_schema_based_sharding%3Doff", schema=schema)
    node = citus.elsewhere()
    node.stop()
    try:
        with pytest.raises(
            DatabaseUnavailable, match=f"expected node .*:{node.port} to make the roles"
        ):
            steps.migrate(admin, schema=schema)
    finally:
        node.start()
    assert steps.migrate(admin, schema=schema).names == []
    for node in citus.nodes:
        with node.admin() as connection:
            made = connection.execute(
                "select count(*) from pg_roles where rolname ~ %s", [schema]
            ).fetchone()
        assert made == (3,)


@whole
def test_an_upgrade_brings_the_tables_to_the_coordinator_and_back_and_keeps_what_is_in_them(
    citus: CitusCluster, memory_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory_at(citus.coordinator.dsn()) as memory:
        memory.remember(
            "The bridge opens at noon.",
            key="bridge",
            tags=["harbour:bridge"],
            metadata={"pier": 2},
            session="s",
        )
    wanted = schema_files()
    newer = Migration(
        wanted.version + 1,
        "one_more",
        "-- oldest client: 9\ncreate table one_more (tenant text primary key);\ncall add_tenant_policy('one_more');\nalter table tenants add column one_more integer;",
    )
    monkeypatch.setattr(
        steps, "schema_files", lambda: SchemaFiles([*wanted.migrations, newer], wanted.functions)
    )
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
