"""The doctor says what a database would gain by for its size, and its commands bring that about."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from htm_core import Draft, Memory
from htm_core.base.settings import Settings
from htm_core.db import indexes, sizing
from htm_core.db.database import Database
from htm_core.db.doctor import examine
from htm_core.db.findings import Finding
from htm_core.db.owner_claims import EVERYBODY
from htm_core.db.partitions import partition
from htm_core.db.quantization import quantize
from htm_core.db.sizing import IndexSize, Neglected, Sizes, Unindexed, advise, read_sizes
from tests.stand_ins import HashEmbedder
from tests.store.own_schema import opened_schema, settings_in

SCHEMA = f"sized_{uuid.uuid4().hex[:8]}"
MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

SMALL = Sizes(
    vectors=120_000, partitions=1, tenants=3, passages=100_000, shared_buffers=GIGABYTE, cache=4 * GIGABYTE, build_memory=64 * MEGABYTE,
    indexes=[IndexSize("vectors_hnsw_1", "m", 384, quantized=False, bytes=140 * MEGABYTE, vectors=120_000)],
)  # fmt: skip
INDEX = SMALL.indexes[0]
SHARED = replace(SMALL, vectors=1_200_000, tenants=900, passages=40_000)


def advice(sizes: Sizes, *, embedded: bool = False) -> dict[str, Finding]:
    found = advise(sizes, tenant="acme", schema="htm", owner="htm_owner", embedded=embedded)
    return {finding.about: finding for finding in found}


def with_index(sizes: Sizes, **changes: Any) -> Sizes:
    return replace(sizes, indexes=[replace(INDEX, **changes)])


def test_of_a_database_that_fits_nothing_is_said_but_its_size() -> None:
    (finding,) = advice(SMALL).values()
    assert (finding.about, finding.state, finding.mend) == ("size", "well", None)
    assert "120,000 vectors of 3 tenants" in finding.says


@pytest.mark.parametrize(
    ("sizes", "about", "command"),
    [
        (SHARED, "partitions", "htm migrate --partitions 16 --url OWNER_DSN"),
        (with_index(SMALL, bytes=5 * GIGABYTE), "quantization", "htm migrate --quantization binary --url OWNER_DSN"),
        (with_index(SMALL, bytes=2 * GIGABYTE), "shared_buffers", "alter system set shared_buffers = '3GB';"),
        (with_index(SMALL, vectors=1_000_000), "maintenance_work_mem", "alter system set maintenance_work_mem = '3GB'; select pg_reload_conf();"),
        (replace(SMALL, unindexed=[Unindexed("m", 384, quantized=False, vectors=10_000)]), "indexes", "htm migrate --url OWNER_DSN"),
        (replace(SMALL, unindexed=[Unindexed("m", 4_096, quantized=False, vectors=10_000)]), "indexes", "htm migrate --quantization binary --url OWNER_DSN"),
        (replace(SMALL, unindexed=[Unindexed("m", 4_096, quantized=True, vectors=10_000)]), "indexes", "htm migrate --url OWNER_DSN"),
        (replace(SMALL, neglected=[Neglected("nodes", 20_000, unknown=False, changed=15_000, dead=0)]), "statistics", 'analyze "htm"."nodes";'),
        (replace(SMALL, neglected=[Neglected("tags", 0, unknown=True, changed=0, dead=0)]), "statistics", 'analyze "htm"."tags";'),
        (replace(SMALL, neglected=[Neglected("jobs", 20_000, unknown=False, changed=0, dead=15_000)]), "vacuum", 'vacuum (analyze) "htm"."jobs";'),
    ],
)  # fmt: skip
def test_each_gain_is_a_note_with_its_command(sizes: Sizes, about: str, command: str) -> None:
    finding = advice(sizes)[about]
    assert finding.state == "note"
    assert str(finding.mend).startswith(command)


@pytest.mark.parametrize(
    ("sizes", "about"),
    [
        (replace(SHARED, vectors=999_999), "partitions"),  # in so small an index nothing was gained
        (replace(SHARED, passages=9_999), "partitions"),  # read whole, or nearly
        (replace(SHARED, passages=700_000), "partitions"),  # the index is its own
        (replace(SHARED, partitions=16), "partitions"),
        (with_index(SMALL, bytes=4 * GIGABYTE), "quantization"),
        (with_index(SMALL, bytes=5 * GIGABYTE, quantized=True), "quantization"),
        (with_index(replace(SMALL, passages=50_000), bytes=5 * GIGABYTE), "quantization"),  # others have most of it
        (with_index(SMALL, bytes=GIGABYTE), "shared_buffers"),
        (with_index(SMALL, vectors=200_000), "maintenance_work_mem"),  # 512 MB are allowed in any case
        (with_index(SMALL, vectors=340_000, quantized=True), "maintenance_work_mem"),
        (with_index(replace(SMALL, build_memory=4 * GIGABYTE), vectors=1_000_000), "maintenance_work_mem"),
    ],
)  # fmt: skip
def test_what_would_gain_nothing_is_not_advised(sizes: Sizes, about: str) -> None:
    assert about not in advice(sizes)


def test_the_embedded_server_needs_no_url_and_its_settings_are_its_own() -> None:
    large = with_index(SHARED, bytes=2 * GIGABYTE, vectors=1_200_000)
    found = advice(large, embedded=True)
    assert found["partitions"].mend == "htm migrate --partitions 16"
    assert str(found["shared_buffers"].mend).startswith(
        "htm export FILE; htm import FILE --url DSN"
    )
    assert "maintenance_work_mem" not in found
    assert not [finding for finding in found.values() if "alter system" in str(finding.mend)]


@pytest.fixture(scope="module")
def settings_here() -> Settings:
    return settings_in(SCHEMA)


@pytest.fixture
def base(url: str | None, settings_here: Settings, database_url: str) -> Iterator[Database]:
    """A schema of this test's own, in which autovacuum does nothing."""
    with opened_schema(url, settings_here, database_url) as known:
        with psycopg.connect(database_url, autocommit=True) as connection:
            tables = connection.execute(
                "select tablename from pg_tables where schemaname = %s", [SCHEMA]
            ).fetchall()
            for (table,) in tables:
                connection.execute(
                    f'alter table "{SCHEMA}"."{table}" set (autovacuum_enabled = off)'
                )
        yield known


@pytest.fixture
def filled(url: str | None, settings_here: Settings, base: Database) -> HashEmbedder:
    embedder = HashEmbedder()
    for tenant, count in (("acme", 150), ("other", 50)):
        with Memory(
            "r", url=url, tenant=tenant, embedder=embedder, settings=settings_here
        ) as memory:
            memory.remember_many([
                Draft(content=f"word{n % 17} number{n}", vector=embedder.embed_query(f"word{n % 17} number{n}")) for n in range(count)
            ])  # fmt: skip
    return embedder


def sizes_of(base: Database, tenant: str = "acme") -> Sizes:
    with base.transaction(tenant, claim=EVERYBODY) as connection:
        return read_sizes(connection)


def found_by_the_doctor(database_url: str, about: str) -> list[Finding]:
    options: dict[str, Any] = {
        "worker": database_url,
        "schema": SCHEMA,
        "tenant": "acme",
        "model": "HashEmbedder:hash",
    }
    return [
        each
        for each in examine(database_url, **options)
        if each.about == about and each.state == "note"
    ]


def until(condition: Any) -> bool:
    """Whether it becomes true in a short time: counts of rows are published as sessions end."""
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.1)
    return False


def run(database_url: str, command: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(command.partition("  --")[0])  # type: ignore[arg-type]


def test_sizes_are_read_by_the_application_of_plain_partitioned_and_quantized_vectors(
    base: Database, filled: HashEmbedder
) -> None:
    indexes.build_due(base, threshold=100)
    (plain,) = sizes_of(base).indexes
    assert (plain.model, plain.dimension, plain.quantized, plain.vectors) == (
        "HashEmbedder:hash",
        64,
        False,
        200,
    )
    read = sizes_of(base)
    assert (read.vectors, read.partitions, read.tenants) == (
        200,
        1,
        0,
    )  # the words are not analyzed: that is counted by others
    assert min(read.shared_buffers, read.cache, read.build_memory, plain.bytes) >= 8192
    partition(base, 2)
    quantize(base, "binary")
    read = sizes_of(base)
    assert (read.vectors, read.partitions) == (200, 2)
    assert [index.quantized for index in read.indexes] == [True, True]
    assert sum(index.vectors for index in read.indexes) == 200


@pytest.mark.parametrize("parts", [1, 3])
def test_tables_are_analyzed_again_once_a_tenth_of_them_has_changed(
    base: Database, filled: HashEmbedder, url: str | None, database_url: str, parts: int
) -> None:
    """At once where a table has grown, and a few seconds later where as many rows are others now."""
    partition(base, parts)
    with base.owner() as connection:
        first = indexes.analyze(connection)
        assert {"nodes", "mentions", "passages", "vectors"} <= set(first)
        assert (
            connection.execute("select from pg_stats where tablename = 'nodes'").fetchone()
            is not None
        )
        assert indexes.analyze(connection) == []
        with Memory("r", embedder=filled, settings=base.settings, url=url, tenant="t") as memory:
            memory.remember_many(
                [Draft(content=f"More about the harbour, {n}.") for n in range(300)]
            )
            grown = indexes.analyze(connection)
            assert {"nodes", "mentions", "passages"} <= set(grown)
            memory.flush()
        assert "vectors" in [*grown, *indexes.analyze(connection)]
        assert until(lambda: not indexes.analyze(connection))
        run(database_url, f'update "{SCHEMA}".nodes set tokens = tokens + 1')
        run(database_url, f'vacuum "{SCHEMA}".nodes')  # its pages are known, its values are not
        assert until(lambda: indexes.analyze(connection) == ["nodes"])


def test_many_vectors_without_an_index_are_found_and_the_command_builds_it(
    base: Database, filled: HashEmbedder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "THRESHOLD", 100)
    (finding,) = found_by_the_doctor(database_url, "indexes")
    assert "100 vectors of HashEmbedder:hash or more" in finding.says
    assert sizes_of(base, "other").unindexed == []  # it has few, and is read whole
    monkeypatch.setattr(indexes.build_due, "__kwdefaults__", {"threshold": 100})
    assert indexes.build_due(base) == ["vectors_hnsw_1"]  # as `htm migrate` does
    assert found_by_the_doctor(database_url, "indexes") == []


def test_tables_without_statistics_are_found_and_the_statement_makes_them(
    base: Database, filled: HashEmbedder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "UNKNOWN_BYTES", 0)
    (finding,) = found_by_the_doctor(database_url, "statistics")
    assert {"nodes", "mentions", "vectors"} <= set(finding.says.replace(",", "").split())
    run(database_url, str(finding.mend))
    assert found_by_the_doctor(database_url, "statistics") == []


def test_tables_full_of_what_is_gone_are_found_and_the_statement_cleans_them(
    base: Database, filled: HashEmbedder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "LARGE_TABLE", 100)
    run(database_url, f'analyze "{SCHEMA}".nodes')
    for _ in range(3):
        run(database_url, f'update "{SCHEMA}".nodes set tokens = tokens + 1')
    assert until(lambda: found_by_the_doctor(database_url, "vacuum"))
    (finding,) = found_by_the_doctor(database_url, "vacuum")
    assert "nodes" in finding.says
    run(database_url, str(finding.mend))
    assert until(lambda: not found_by_the_doctor(database_url, "vacuum"))


def test_of_a_new_database_nothing_is_noted(base: Database, database_url: str) -> None:
    options: dict[str, Any] = {
        "worker": database_url,
        "schema": SCHEMA,
        "tenant": "nobody",
        "model": "m",
    }
    found = [
        each for each in examine(database_url, **options, embedded=True) if each.about == "size"
    ]
    assert [each.state for each in found] == ["well"]
