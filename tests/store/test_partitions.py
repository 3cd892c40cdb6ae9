"""Vectors in partitions by tenant: the same answers, walls and catalogue, and nothing lost while they are being copied."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from htm_core import Draft, InvalidInput, Memory
from htm_core.base.errors import StorageError
from htm_core.base.settings import Settings
from htm_core.db import indexes, partitions
from htm_core.db.database import Database
from htm_core.db.doctor import examine
from htm_core.db.partitions import MOST, partition
from tests.stand_ins import HashEmbedder
from tests.store.own_schema import opened_schema, settings_in
from tests.store.test_migrations import catalogue

pytestmark = pytest.mark.not_on_citus(
    "a distributed schema has no partitions, as tests/servers/test_citus.py tests", run=False
)

SCHEMA = f"parted_{uuid.uuid4().hex[:8]}"
TENANTS = [f"tenant-{number}" for number in range(5)]
QUESTION = "word7 word12"


@pytest.fixture(scope="module")
def parted() -> Settings:
    return settings_in(SCHEMA)


@pytest.fixture
def base(url: str | None, parted: Settings, database_url: str) -> Iterator[Database]:
    """A schema of this test's own, whose vectors may be moved."""
    with opened_schema(url, parted, database_url) as known:
        yield known


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


def opened(url: str | None, parted: Settings, embedder: HashEmbedder, tenant: str) -> Memory:
    return Memory("atlas", url=url, tenant=tenant, embedder=embedder, settings=parted)


def fill(url: str | None, parted: Settings, embedder: HashEmbedder) -> None:
    for tenant in TENANTS:
        drafts = [
            Draft(content=f"{text} of {tenant}", vector=embedder.embed_query(text))
            for text in (f"word{n % 17} word{n % 23} number{n}" for n in range(120))
        ]
        with opened(url, parted, embedder, tenant) as memory:
            memory.remember_many(drafts)


def answers(
    url: str | None, parted: Settings, embedder: HashEmbedder
) -> list[list[tuple[str, float]]]:
    given = []
    for tenant in TENANTS:
        with opened(url, parted, embedder, tenant) as memory:
            for mode in ("vector", "hybrid"):
                found = memory.recall(QUESTION, mode=mode, hold=False)  # type: ignore[arg-type]
                given.append([(hit.content, round(hit.score, 6)) for hit in found])
    return given


def rows(database: Database, statement: str) -> list[dict[str, Any]]:
    with database.owner() as connection:
        return connection.execute(statement).fetchall()  # type: ignore[arg-type]


def test_answers_are_the_same_in_any_number_of_partitions_and_back_in_one_so_is_the_catalogue(
    url: str | None, parted: Settings, base: Database, embedder: HashEmbedder, database_url: str
) -> None:
    fill(url, parted, embedder)
    before = answers(url, parted, embedder)
    with psycopg.connect(database_url, autocommit=True) as admin:
        plain = catalogue(admin, SCHEMA)
        assert [partition(base, number) for number in (4, 4, 7)] == [600, 0, 600]
        assert answers(url, parted, embedder) == before
        assert partition(base, 1) == 600
        assert catalogue(admin, SCHEMA) == plain
    assert answers(url, parted, embedder) == before


def test_a_search_of_a_tenant_reads_the_index_of_its_partition_alone(
    url: str | None, parted: Settings, base: Database, embedder: HashEmbedder
) -> None:
    fill(url, parted, embedder)
    assert len(indexes.build_due(base, threshold=100)) == 1
    partition(base, 4)
    names = {f"vectors_{number}_hnsw" for number in range(4)}
    made = {
        row["relname"].rpartition("_")[0]
        for row in rows(
            base,
            "select relname from pg_class where relname like '%hnsw%' "
            "and relnamespace = current_schema()::regnamespace",
        )
    }
    assert made == names
    vector = str(embedder.embed_query(QUESTION))
    with base.owner() as connection:
        connection.execute("set enable_seqscan = off; set enable_sort = off")
        plan = connection.execute(
            "explain (format json) select * from vectors where tenant = 'tenant-2' and space = "
            f"{rows(base, 'select id from vector_spaces')[0]['id']} order by embedding::pgvector.halfvec(64) "
            f"operator(pgvector.<=>) '{vector}'::pgvector.halfvec(64) limit 5"  # type: ignore[arg-type]
        ).fetchone()
    text = str(plan)
    assert sum(name in text for name in names) == 1


@pytest.mark.usefixtures("crash_safe_server")
def test_a_space_that_is_due_later_gets_an_index_in_each_partition_and_the_doctor_misses_one_that_is_gone(
    url: str | None, parted: Settings, base: Database, embedder: HashEmbedder, database_url: str
) -> None:
    partition(base, 3)
    fill(url, parted, embedder)
    built = indexes.build_due(base, threshold=100)
    assert [name.rpartition("_hnsw")[0] for name in built] == [
        "vectors_0",
        "vectors_1",
        "vectors_2",
    ]

    def wrong() -> dict[str, str]:
        options: dict[str, Any] = {
            "worker": database_url,
            "schema": SCHEMA,
            "tenant": TENANTS[0],
            "model": "HashEmbedder:hash",
        }
        return {
            each.about: each.says
            for each in examine(database_url, **options, embedded=True)
            if each.state == "wrong"
        }

    assert wrong() == {}
    with base.owner() as connection:
        connection.execute(f"drop index {built[1]}")  # type: ignore[arg-type]
    assert list(wrong()) == ["indexes"]


def test_nobody_reaches_a_partition_past_the_table_and_its_policies(base: Database) -> None:
    partition(base, 2)
    with (
        pytest.raises(StorageError, match="permission denied"),
        base.transaction("any") as connection,
    ):
        connection.execute("select * from vectors_0")


def test_the_policies_and_rights_of_the_table_go_along_also_those_that_an_operator_added(
    url: str | None, parted: Settings, base: Database, embedder: HashEmbedder
) -> None:
    def protection() -> list[dict[str, Any]]:
        return rows(
            base,
            "select polname, polpermissive, polcmd, polroles::regrole[]::text as who, pg_get_expr(polqual, polrelid) as may, "
            "pg_get_expr(polwithcheck, polrelid) as writes, (select array_agg(a::text order by 1) from unnest(c.relacl) a) as rights "
            "from pg_policy join pg_class c on c.oid = polrelid where polrelid = 'vectors'::regclass order by 1",
        )

    base.set_user_walls(up=True)
    with base.owner() as connection:
        connection.execute("create policy reading on vectors for select to public using (live)")
    before = protection()
    assert [row["polname"] for row in before] == ["reading", "tenant_isolation", "user_wall"]
    partition(base, 3)
    assert protection() == before
    fill(url, parted, embedder)
    assert answers(url, parted, embedder)[0]


def test_what_is_written_revised_and_erased_during_the_change_is_as_it_would_be_without_it(
    url: str | None,
    parted: Settings,
    base: Database,
    embedder: HashEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(url, parted, embedder)
    with opened(url, parted, embedder, TENANTS[0]) as memory:
        gone = memory.remember_many(
            [Draft(content="a leaver", vector=embedder.embed_query("a leaver"), key="leaving")]
        )[0].id
    copied, changed = threading.Event(), threading.Event()
    index = partitions.hnsw_parts
    indexes.build_due(base, threshold=100)

    def slowly(*given: Any, **options: Any) -> Any:
        copied.set()
        assert changed.wait(30)
        return index(*given, **options)

    monkeypatch.setattr(partitions, "hnsw_parts", slowly)
    moving = threading.Thread(target=partition, args=(base, 4))
    moving.start()
    assert copied.wait(30)
    with opened(url, parted, embedder, TENANTS[0]) as memory:
        memory.erase(key="leaving", confirm="confirmed")
        hidden = memory.recall("number6", mode="text", hold=False)[0].node.id
        memory.forget(hidden)
        new = memory.remember_many(
            [Draft(content="a newcomer", vector=embedder.embed_query("a newcomer"))]
        )
    changed.set()
    moving.join(60)
    with opened(url, parted, embedder, TENANTS[0]) as memory:
        found = {
            hit.node.id for hit in memory.recall("a newcomer", mode="vector", limit=200, hold=False)
        }
    assert new[0].id in found
    assert not {gone, hidden} & found
    assert rows(base, "select count(*) as n from vectors") == [{"n": 601}]
    assert rows(
        base,
        "select count(*) as n from vectors v where not exists (select from passages p "
        "where p.tenant = v.tenant and p.id = v.passage_id and p.live = v.live)",
    ) == [{"n": 0}]
    assert rows(base, "select relname from pg_class where relname ~ 'vectors_(new|changed)'") == []


def test_an_interrupted_change_has_changed_nothing_and_can_be_repeated(
    url: str | None,
    parted: Settings,
    base: Database,
    embedder: HashEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(url, parted, embedder)
    before = answers(url, parted, embedder)
    for step in ("_copy", "_replace_when_possible"):
        with monkeypatch.context() as patch:
            patch.setattr(partitions, step, _broken)
            with pytest.raises(KeyboardInterrupt):
                partition(base, 4)
        assert rows(base, "select tgname from pg_trigger where tgname = 'note_vector_change'") == []
    with base.owner() as connection:  # killed, it could not clean up
        connection.execute(
            "create table vectors_changed (tenant text); create table vectors_new (tenant text)"
        )
    assert answers(url, parted, embedder) == before
    assert partition(base, 4) == 600
    assert answers(url, parted, embedder) == before


def test_while_indexes_are_built_nothing_is_moved(base: Database) -> None:
    with base.owner() as connection, indexes.sole_builder(connection) as alone:
        assert alone
        with pytest.raises(StorageError, match="another does"):
            partition(base, 4)
    assert partition(base, 4) == 0  # there are no vectors yet
    with base.owner() as connection:
        assert partitions.count(connection) == 4


def test_a_long_transaction_is_waited_for_in_turns_and_then_said(
    url: str | None,
    parted: Settings,
    base: Database,
    embedder: HashEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(url, parted, embedder)
    monkeypatch.setattr(partitions, "TRIES", 2)
    with base.owner() as other, other.transaction():
        other.execute("lock table vectors in access share mode")
        with pytest.raises(StorageError, match="got none in 2 tries"):
            partition(base, 4)
    with base.owner() as connection:
        assert partitions.count(connection) == 1
    assert partition(base, 4) == 600


def _broken(*_: Any, **__: Any) -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize("number", [0, -1, MOST + 1, 2.0, True, "4"])
def test_another_number_of_partitions_is_refused(base: Database, number: Any) -> None:
    with pytest.raises(InvalidInput, match=f"1 to {MOST}"):
        partition(base, number)
