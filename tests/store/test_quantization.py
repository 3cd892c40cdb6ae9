"""Vectors that are indexed by the signs of their numbers: the same nearest, changed while others read and write, and back."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from htm_core import Draft, InvalidInput, Memory, Settings
from htm_core.base.errors import StorageError
from htm_core.db import indexes, quantization
from htm_core.db.database import Database
from htm_core.db.doctor import examine
from htm_core.db.partitions import partition
from htm_core.db.quantization import quantize
from htm_core.jobs import model_change
from tests.store.index_use import used
from tests.store.own_schema import opened_schema, settings_in
from tests.store.test_migrations import catalogue

SCHEMA = f"signs_{uuid.uuid4().hex[:8]}"
TENANT = "acme"
ROWS = 1_500
DIMENSION = 128


class Drawn:
    """Vectors near some of forty centres, by the number in the text."""

    model = "drawn"

    def __init__(self, dimension: int = DIMENSION) -> None:
        draw = np.random.default_rng(3)
        centres = draw.standard_normal((40, dimension))
        self.vectors = centres[draw.integers(40, size=ROWS)] + 0.7 * draw.standard_normal(
            (ROWS, dimension)
        )
        self.vectors = (self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)).astype(
            np.float16
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in self.vectors[int(text.split()[1])]] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def nearest(self, row: int, limit: int, *, step: int = 1) -> set[int]:
        vectors = self.vectors.astype(float)
        order = np.argsort(
            -(vectors @ vectors[row]) / np.linalg.norm(vectors, axis=1), kind="stable"
        )
        return {int(each) for each in order[order % step == 0][:limit]}


@pytest.fixture(scope="module")
def signs() -> Settings:
    return settings_in(SCHEMA)


@pytest.fixture
def base(url: str | None, signs: Settings, database_url: str) -> Iterator[Database]:
    with opened_schema(url, signs, database_url) as known:
        yield known


def opened(url: str | None, signs: Settings, embedder: Drawn) -> Memory:
    return Memory("atlas", url=url, tenant=TENANT, embedder=embedder, settings=signs)


@pytest.fixture
def filled(url: str | None, signs: Settings, base: Database) -> Iterator[tuple[Memory, Drawn]]:
    """A tenant whose vectors have an index, and that counts as one of fifty thousand, so that the index is followed."""
    embedder = Drawn()
    with opened(url, signs, embedder) as memory:
        _fill(memory, embedder, range(ROWS))
        assert len(indexes.build_due(base, threshold=1_000)) == 1
        with base.owner() as connection:
            connection.execute("update lexicon set documents = 50000")
        yield memory, embedder


def _fill(memory: Memory, embedder: Drawn, numbers: range) -> None:
    memory.remember_many([
        Draft(content=f"Row {n} is here.", vector=embedder.embed_query(f"Row {n}"), metadata={"row": n, "tenth": n % 10 == 0}) for n in numbers
    ])  # fmt: skip


def found(memory: Memory, row: int, **options: Any) -> set[int]:
    hits = memory.recall(f"Row {row} is here.", mode="vector", limit=10, hold=False, **options)
    return {int(hit.mentions[0].metadata["row"]) for hit in hits}


def share_of_nearest(memory: Memory, embedder: Drawn, *, step: int = 1, **options: Any) -> float:
    asked = range(0, ROWS, 50)
    right = sum(
        len(found(memory, row, **options) & embedder.nearest(row, 10, step=step)) for row in asked
    )
    return right / (10 * len(asked))


def hnsw(base: Database) -> dict[str, bool]:
    """The HNSW indexes of vectors by name, and whether each is valid."""
    with base.owner() as connection:
        rows = connection.execute(
            "select i.indexrelid::regclass::text as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid "
            "join pg_am a on a.oid = c.relam where a.amname = 'hnsw' and c.relnamespace = current_schema()::regnamespace"
        ).fetchall()
    return {row["name"]: row["valid"] for row in rows}


def wrong(database_url: str) -> dict[str, str]:
    options: dict[str, Any] = {
        "worker": database_url,
        "schema": SCHEMA,
        "tenant": TENANT,
        "model": "Drawn:drawn",
    }
    return {
        each.about: each.says
        for each in examine(database_url, **options, embedded=True)
        if each.state == "wrong"
    }


def test_the_nearest_are_found_by_signs_too_and_the_index_takes_less_room(
    base: Database, filled: tuple[Memory, Drawn], database_url: str
) -> None:
    memory, embedder = filled
    (before,) = hnsw(base)
    done = quantize(base, "binary")
    assert done.built == [f"{before}_quantized"]
    assert done.bytes_now < done.bytes_before
    assert hnsw(base) == {f"{before}_quantized": True}
    assert share_of_nearest(memory, embedder) >= 0.99
    assert share_of_nearest(memory, embedder, step=10, where={"tenth": True}) >= 0.99
    assert "indexes" not in wrong(database_url)
    again = quantize(base, "binary")
    assert (again.built, again.bytes_now) == ([], done.bytes_now)


def test_searches_read_the_index_of_signs(base: Database, filled: tuple[Memory, Drawn]) -> None:
    memory, embedder = filled
    more = [
        Draft(content=f"More {n}.", vector=embedder.embed_query(f"Row {n % ROWS}"))
        for n in range(4_500)
    ]
    memory.remember_many(more)  # of few rows PostgreSQL rather sorts all
    quantize(base, "binary")
    (name,) = hnsw(base)
    assert name in used(base, lambda: memory.recall("Row 7 is here.", mode="vector", hold=False))
    assert name in used(base, lambda: memory.recall("Row 7 is here.", hold=False))


def test_an_index_of_numbers_is_followed_by_a_planned_statement_that_finds_what_the_formatted_one_finds(
    base: Database, filled: tuple[Memory, Drawn]
) -> None:
    """The planned one has the space and the dimension as literals, so it is made anew whenever a space gets an index or loses it."""
    _, embedder = filled
    (name,) = hnsw(base)
    space = name.rpartition("_")[2]
    with base.owner() as connection:

        def source() -> str:
            row = connection.execute(
                "select prosrc from pg_proc where proname = 'nearest_in_index' and pronamespace = current_schema()::regnamespace"
            ).fetchone()
            assert row is not None
            return str(row["prosrc"])

        assert f"space_id = {space} then" in source()
        connection.execute(
            "select set_config('htm.tenant', %s, false), set_config('hnsw.ef_search', '100', false)",
            [TENANT],
        )
        conditions = "row(array['']::text[], null, null, null, null, null, null, null, null, null, null)::conditions"
        for row in range(0, ROWS, 300):
            asked = {"vector": str(embedder.embed_query(f"Row {row}")), "space": int(space)}
            planned = connection.execute(
                f"select * from nearest_in_index(%(space)s, %(vector)s::{base.extension}.halfvec, array[''], 20, 10)",
                asked,
            ).fetchone()
            formatted = connection.execute(
                f"select n.* from vector_spaces s, filtered_in_index(%(vector)s::{base.extension}.halfvec, s, {conditions}, null, false, 100, 20, 10) n "
                "where s.id = %(space)s",
                asked,
            ).fetchone()
            assert planned == formatted
            assert planned is not None
            assert len(planned["nodes"]) == 10
        quantize(base, "binary")
        assert "space_id =" not in source()
        quantize(base, "none")
        assert f"space_id = {space} then" in source()


def test_a_recall_follows_the_index_of_numbers_even_where_sorting_all_looks_cheaper(
    base: Database, filled: tuple[Memory, Drawn]
) -> None:
    memory, _ = filled
    (name,) = hnsw(base)
    with (
        base.owner() as connection
    ):  # many messages: the owner's vectors are not compared one by one
        connection.execute("update sessions set last_seq = 50000")
    assert name in used(base, lambda: memory.recall("Row 7 is here.", mode="vector", hold=False))


def test_the_numbers_are_indexed_again_and_nothing_is_left_of_the_change(
    base: Database, filled: tuple[Memory, Drawn], database_url: str
) -> None:
    memory, embedder = filled
    with psycopg.connect(database_url, autocommit=True) as admin:
        plain = catalogue(admin, SCHEMA)
        quantize(base, "binary")
        assert catalogue(admin, SCHEMA) != plain
        quantize(base, "none")
        assert catalogue(admin, SCHEMA) == plain
    assert share_of_nearest(memory, embedder) >= 0.99


def test_with_partitions_each_has_an_index_of_signs_whichever_came_first(
    base: Database, filled: tuple[Memory, Drawn], database_url: str
) -> None:
    memory, embedder = filled
    (before,) = hnsw(base)
    number = before.rpartition("_")[2]
    quantize(base, "binary")
    partition(base, 3)
    expected = {f"vectors_{leaf}_hnsw_{number}_quantized": True for leaf in range(3)}
    assert hnsw(base) == expected
    assert "indexes" not in wrong(database_url)
    assert share_of_nearest(memory, embedder) >= 0.99
    quantize(base, "none")
    assert hnsw(base) == {name.removesuffix("_quantized"): True for name in expected}
    assert sorted(quantize(base, "binary").built) == sorted(expected)
    assert partition(base, 1) == ROWS
    assert hnsw(base) == {f"{before}_quantized": True}
    assert share_of_nearest(memory, embedder) >= 0.99


def test_what_is_written_while_the_index_is_built_is_found(
    base: Database, filled: tuple[Memory, Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, embedder = filled
    built, written, build = threading.Event(), threading.Event(), indexes.build

    def slowly(*given: Any, **options: Any) -> Any:
        names = build(*given, **options)
        built.set()
        assert written.wait(30)
        return names

    monkeypatch.setattr(indexes, "build", slowly)
    changing = threading.Thread(target=quantize, args=(base, "binary"))
    changing.start()
    assert built.wait(30)
    (new,) = memory.remember_many(
        [Draft(content="A newcomer.", vector=embedder.embed_query("Row 3"), metadata={"row": -1})]
    )
    assert 3 in found(memory, 3)
    written.set()
    changing.join(60)
    assert not changing.is_alive()
    assert -1 in found(memory, 3)
    memory.forget(new.id)
    assert -1 not in found(memory, 3)


def test_an_interrupted_change_has_changed_nothing_and_can_be_repeated(
    base: Database, filled: tuple[Memory, Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, embedder = filled
    before = hnsw(base)
    with monkeypatch.context() as patch:
        patch.setattr(
            quantization, "_drop", _broken
        )  # the new index is there and used, the old one still there
        with pytest.raises(KeyboardInterrupt):
            quantize(base, "binary")
    assert len(hnsw(base)) == 2
    assert share_of_nearest(memory, embedder) >= 0.99
    assert quantize(base, "binary").built == []
    assert len(hnsw(base)) == 1
    with base.owner() as connection:  # killed while it built: what is there is not valid
        (name,) = before
        connection.execute(f"create index {name} on vectors (space) where false")  # type: ignore[arg-type]
    assert quantize(base, "none").built == [name]
    assert hnsw(base) == before


def test_vectors_of_so_many_dimensions_that_halves_have_no_index_get_one_of_signs(
    url: str | None, signs: Settings, base: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes.build_due, "__kwdefaults__", {"threshold": 100})
    embedder = Drawn(dimension=4_096)
    with opened(url, signs, embedder) as memory:
        _fill(memory, embedder, range(150))
        assert indexes.build_due(base) == []
        assert [name.endswith("_quantized") for name in quantize(base, "binary").built] == [True]
        with base.owner() as connection:
            connection.execute("update lexicon set documents = 50000")
        assert 3 in found(memory, 3)
    assert quantize(base, "none").built == []
    assert hnsw(base) == {}
    with base.owner() as connection:
        assert connection.execute("select indexed, quantized from vector_spaces").fetchall() == [
            {"indexed": False, "quantized": False}
        ]


def test_the_index_of_a_model_that_was_given_up_is_dropped(
    base: Database, filled: tuple[Memory, Drawn]
) -> None:
    quantize(base, "binary")
    with base.owner() as connection:
        connection.execute("delete from vectors; delete from models")
    assert len(model_change.drop_unused_indexes(base)) == 1
    assert hnsw(base) == {}


def test_while_indexes_are_built_nothing_is_changed(base: Database) -> None:
    with base.owner() as connection, indexes.sole_builder(connection) as alone:
        assert alone
        with pytest.raises(StorageError, match="another does"):
            quantize(base, "binary")


@pytest.mark.parametrize("word", ["on", "", None, True])
def test_another_word_is_refused(base: Database, word: Any) -> None:
    with pytest.raises(InvalidInput, match="binary, none"):
        quantize(base, word)


def _broken(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt
