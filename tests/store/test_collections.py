"""What PostgreSQL does for collections: its walls, its indexes, and the functions that a search is made of."""

from __future__ import annotations

import math
import random
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from htm_core.base.errors import HTMError
from htm_core.base.identity import document_id
from htm_core.base.settings import Settings
from htm_core.base.types import CollectionHit
from htm_core.collections import store
from htm_core.collections.collection import Collection
from htm_core.collections.store import DocumentFilters
from htm_core.db import indexes
from htm_core.db.database import Connection, Database
from tests.conftest import SETTINGS
from tests.store import index_use
from tests.store.index_use import used

TABLES = ("collections", "documents", "document_passages")
LABELS = st.lists(
    st.sampled_from(["a", "b", "ab", "a.b", "*", "é", "A", "日", "\x01", "z"]), max_size=4
)
RELAXED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def connection(database: Database, tenant: str) -> Iterator[Connection]:
    with database.transaction(tenant) as connection:
        yield connection


# -- labels -----------------------------------------------------------------------------------------------------------


@RELAXED
@given(namespace=LABELS, prefix=LABELS.filter(bool))
@example(namespace=["a", "b"], prefix=["a"])
@example(namespace=["a\x01"], prefix=["a"])
def test_what_begins_with_labels_is_one_range(
    connection: Connection, namespace: list[str], prefix: list[str]
) -> None:
    row = connection.execute(
        'select n collate "C" >= p and n collate "C" < namespace_upper_bound(p) as inside '
        "from (select %s::text[] as n, %s::text[] as p) x",
        [namespace, prefix],
    ).fetchone()
    assert row == {"inside": namespace[: len(prefix)] == prefix}


def alike(labels: list[str], pattern: list[str]) -> bool:
    return len(labels) == len(pattern) and all(
        p in ("*", label) for label, p in zip(labels, pattern, strict=True)
    )


@RELAXED
@given(namespace=LABELS, pattern=LABELS)
@example(namespace=["a", "b"], pattern=["*", "b"])
@example(namespace=[], pattern=[])
def test_patterns_of_labels_match_at_either_end(
    connection: Connection, namespace: list[str], pattern: list[str]
) -> None:
    row = connection.execute(
        "select namespace_begins_with(%(n)s::text[], %(p)s::text[]) as begins, namespace_ends_with(%(n)s::text[], %(p)s::text[]) as ends",
        {"n": namespace, "p": pattern},
    ).fetchone()
    start = len(namespace) - len(pattern)
    assert row == {
        "begins": alike(namespace[: len(pattern)], pattern),
        "ends": start >= 0 and alike(namespace[start:], pattern),
    }


NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    max_size=3,
)


@given(one=st.tuples(NAMES, st.text(max_size=3)), other=st.tuples(NAMES, st.text(max_size=3)))
def test_documents_share_a_uid_only_when_they_share_all_that_names_them(
    one: tuple[list[str], str], other: tuple[list[str], str]
) -> None:
    same = document_id("docs", *one) == document_id("docs", *other)
    assert same == (one == other)
    assert document_id("docs", *one) != document_id("others", *one)


# -- walls ------------------------------------------------------------------------------------------------------------


def opened(database: Database, tenant: str, name: str = "docs") -> Collection:
    return Collection(database, tenant=tenant, name=name, embedder=None)


def test_no_row_of_a_collection_is_seen_or_touched_through_the_wall(
    database: Database, tenant: str
) -> None:
    docs = opened(database, tenant)
    docs.put([{"id": "a", "content": "behind the wall", "vector": [1, 2]}])
    with database.transaction(f"other-{tenant}") as connection:
        for table in TABLES:
            counted = connection.execute(
                f"select count(*) as n from {table} where tenant = %s", [tenant]
            ).fetchone()
            assert counted == {"n": 0}
            assert (
                connection.execute(f"delete from {table} where tenant = %s", [tenant]).rowcount == 0
            )
    assert docs.count() == 1


def test_a_collections_number_opens_it_to_its_own_tenant_only(
    database: Database, tenant: str
) -> None:
    """The search functions run as the owner: they must take the tenant from the wall, whatever they are asked for."""
    docs = opened(database, tenant)
    docs.put([{"id": "a", "content": "behind the wall", "vector": [1, 2]}])
    with database.transaction(tenant) as connection:
        standing = store.find(connection, "docs")
    assert standing is not None
    filters = DocumentFilters(at=datetime.now(UTC), uids=[document_id("docs", (), "a")])
    page = store.Page(limit=10)
    question = store.DocumentQuery(
        words="wall", embedding=[1, 2], vector_share=0.5, min_score=0, vector_pool=10, text_pool=10
    )  # fmt: skip
    for wall, seen in ((tenant, 1), (f"other-{tenant}", 0)):
        with database.transaction(wall) as connection:
            assert (
                len(store.search(connection, question, filters, page, collection=standing.id))
                == seen
            )
            assert len(store.list_items(connection, filters, page, collection=standing.id)) == seen
            assert store.count(connection, filters, collection=standing.id) == seen
    with pytest.raises(HTMError, match="tenant"), database.transaction("") as connection:
        store.count(connection, filters, collection=standing.id)


# -- indexes ----------------------------------------------------------------------------------------------------------

DIMENSION = 16
MANY = 10_400  # just above what is scanned exactly


def direction(dice: random.Random, centre: float) -> list[float]:
    return [centre + dice.gauss(0, 1)] + [dice.gauss(0, 1) for _ in range(DIMENSION - 1)]


@pytest.fixture(scope="module")
def crowd() -> str:
    return f"crowd-{uuid.uuid4().hex[:8]}"


def build(database: Database) -> None:
    """Build the index that is due, here or in the worker that is at it already."""
    for _ in range(300):
        indexes.build_due(database)
        with database.owner() as connection:
            if not indexes.due(connection, "document_passages", threshold=indexes.THRESHOLD):
                return
        time.sleep(0.1)
    pytest.fail("no index was built")


@pytest.fixture
def crowded(database: Database, crowd: str) -> dict[str, Collection]:
    """Two large collections in one vector space, all vectors of one far from all of the other; with their index."""
    both = {name: opened(database, crowd, name) for name in ("east", "west")}
    if not both["east"].count():
        for name, centre in (("east", 6.0), ("west", -6.0)):
            dice = random.Random(name)
            items = [
                {
                    "id": str(n),
                    "content": f"note{n} of group{n % 50} and everything",
                    "metadata": {"n": n, "third": n % 3},
                    "namespace": (f"user{n % 40}",),
                    "vector": direction(dice, centre),
                }
                for n in range(MANY)
            ]
            for first in range(0, MANY, 2_000):  # a busy machine has a statement's time for each
                both[name].put(items[first : first + 2_000], model=crowd)
        build(database)
        assert indexes.build_due(database) == []  # what is built is not wanted again
    return both


def ids(found: list[CollectionHit]) -> list[str | None]:
    return [hit.item.id for hit in found]


def nearest(docs: Collection, vector: list[float], *, limit: int) -> list[str | None]:
    """What is nearest, reckoned outside PostgreSQL."""

    def cosine(hit: CollectionHit) -> float:
        assert hit.vector is not None
        dot = sum(a * b for a, b in zip(hit.vector, vector, strict=True))
        return dot / math.hypot(*hit.vector) / math.hypot(*vector)

    return ids(sorted(docs.query(limit=None, with_vectors=True), key=cosine, reverse=True)[:limit])


def test_a_large_collection_is_searched_through_its_index(
    database: Database, crowded: dict[str, Collection]
) -> None:
    east, dice = crowded["east"], random.Random(1)
    vector = direction(dice, 6.0)
    assert any("hnsw" in name for name in used(database, lambda: east.query(vector=vector)))
    found = ids(east.query(vector=vector, limit=20))
    assert len(found) == 20
    assert len(set(found) & set(nearest(east, vector, limit=20))) >= 17


def test_words_of_a_large_collection_are_looked_up_by_their_index(
    database: Database, crowded: dict[str, Collection]
) -> None:
    east = crowded["east"]
    assert "document_passages_by_lexeme" in used(
        database, lambda: east.query("note77", mode="text")
    )
    assert ids(east.query("note77", mode="text")) == ["77"]
    assert (
        east.query("everything of note77", mode="text")[0].item.id == "77"
    )  # rare words lead, common ones do not crowd
    hits = east.query("everything group7", mode="text", limit=5)
    assert {int(hit.item.id or 0) % 50 for hit in hits} == {7}


def test_a_page_is_full_though_the_index_gives_up_among_what_belongs_to_others(
    database: Database, crowd: str, crowded: dict[str, Collection]
) -> None:
    """Asked for what is nearest in the other collection, the index visits its allowance of tuples and finds nothing."""
    vector = [6.0] + [0.0] * (DIMENSION - 1)
    question = store.DocumentQuery(
        words=None, embedding=vector, vector_share=1, min_score=0, vector_pool=128, text_pool=128
    )
    with database.transaction(crowd) as connection:
        standing = store.find(connection, "west")
        assert standing is not None
        assert standing.indexed
        connection.execute("select set_config('hnsw.max_scan_tuples', '2000', true)")
        found = store.search(
            connection,
            question,
            DocumentFilters(at=datetime.now(UTC)),
            store.Page(limit=50),
            collection=standing.id,
        )
    assert ids(found) == nearest(crowded["west"], vector, limit=50)


@pytest.mark.parametrize(
    ("options", "index"),
    [
        ({"where": {"n": 77}}, "documents_by_metadata"),
        ({"namespace": ("user7",)}, "documents_by_namespace"),
        ({"ids": ["77"], "namespace": ("user37",)}, "documents_pkey"),
        ({"references": ["nobody"]}, "documents_by_reference"),
    ],
)
def test_narrow_filters_are_served_by_an_index_and_then_exactly(
    database: Database, crowded: dict[str, Collection], options: dict[str, object], index: str
) -> None:
    east = crowded["east"]
    vector = direction(random.Random(2), 6.0)
    assert index in used(database, lambda: east.query("note77", vector=vector, **options))  # type: ignore[arg-type]
    listed = east.query(limit=None, **options)  # type: ignore[arg-type]
    found = east.query(vector=vector, limit=500, **options)  # type: ignore[arg-type]
    assert sorted(ids(found), key=str) == sorted(ids(listed), key=str)


def test_a_wide_filter_still_fills_the_page_with_the_nearest(
    crowded: dict[str, Collection],
) -> None:
    east = crowded["east"]
    vector = direction(random.Random(3), 6.0)
    found = ids(east.query(vector=vector, where={"n": {"$lt": 6_000}}, limit=20))
    best = [id for id in nearest(east, vector, limit=MANY) if int(id or 0) < 6_000][:20]
    assert len(found) == 20
    assert len(set(found) & set(best)) >= 17


def test_pages_of_a_large_answer_do_not_overlap(crowded: dict[str, Collection]) -> None:
    east = crowded["east"]
    pages = [
        east.query("group7 note7", vector=[6.0] * DIMENSION, limit=10, offset=at)
        for at in (0, 10, 20)
    ]
    seen = [id for page in pages for id in ids(page)]
    assert len(seen) == len(set(seen)) == 30


def test_growth_is_noted_for_the_worker(
    database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_core.collections.collection.THRESHOLD", 20)
    monkeypatch.setattr("htm_core.collections.collection.SELDOM", 1)
    docs = opened(database, tenant)

    def owed() -> int:
        with database.transaction(tenant) as connection:
            row = connection.execute(
                "select count(*) as n from jobs where kind = 'count'"
            ).fetchone()
        return int(row["n"]) if row else 0

    docs.put([{"id": str(n), "vector": [1.0] * 16} for n in range(20)])
    assert owed() == 0
    docs.put([{"id": "one more", "vector": [1.0] * 16}])
    assert owed() == 1


@pytest.mark.not_on_citus(
    "makes an installation of its own as the owner, which needs an administrator there"
)
def test_a_bulk_after_a_handful_compares_no_document_with_all_others(
    database: Database, url: str | None, home: Path, tenant: str
) -> None:
    """Foreign keys plan their look-up once; what was planned over a handful, of many tenants, must serve a bulk of one."""
    schema = f"tiny_{uuid.uuid4().hex[:8]}"
    settings = Settings(schema=schema, pool_max=1, migrate_url=SETTINGS.migrate_url, roles="htm")
    tiny = Database(url=url, home=home, settings=settings)
    try:
        for _ in range(3):
            for n in range(50):
                opened(tiny, f"{tenant}-{n}").put([{"id": "a", "content": "one of a handful"}])
            with tiny.owner() as connection:
                connection.execute("analyze collections, documents, document_passages")
        docs = opened(tiny, tenant)
        docs.put([{"id": "1", "content": "one more"}])  # planned now, and kept
        docs.put([{"id": str(n), "content": "a bulk"} for n in range(2_000)])
        assert docs.clear() == 2_000
        tiny.close()
        assert rows_read(tiny, schema) < 100_000
    finally:
        tiny.close()
        with database.owner() as connection:
            connection.execute(f"drop schema {schema} cascade")


def test_a_page_of_a_list_reads_nothing_of_what_else_there_is(
    database: Database, tenant: str
) -> None:
    docs = opened(database, tenant)
    docs.put(
        [{"id": str(n), "namespace": (f"user{n % 40}",), "index": False} for n in range(4_000)]
    )
    with database.owner() as connection:
        connection.execute("analyze documents")
    pages: list[int] = []

    def ask() -> None:
        pages.extend([len(docs.query(limit=10)), len(docs.query(namespace=("user7",), limit=10))])

    assert 20 <= index_use.rows_read(database, ask, tables=TABLES) < 2_000
    assert pages == [10, 10]


def rows_read(database: Database, schema: str) -> int:
    """How many rows and index entries of collections were read."""
    with database.owner() as connection:
        row = connection.execute(
            "select (select sum(seq_tup_read) from pg_stat_user_tables where schemaname = %(s)s and relname = any(%(t)s)) + "
            "(select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = %(s)s and relname = any(%(t)s)) as n",
            {"s": schema, "t": list(TABLES)},
        ).fetchone()
    return int(row["n"]) if row else 0
