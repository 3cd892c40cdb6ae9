"""What langchain-postgres keeps is moved in: the same documents, found by the same searches, and nothing twice."""

from __future__ import annotations

import uuid

import pytest

from htm_core import DimensionMismatch, InvalidInput, Memory
from htm_core.importers import DatabaseImport, import_database
from htm_core.importers import run as run_module
from htm_langchain import HTMVectorStore
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import Foreign, counts

PACKAGE, MODULE = "langchain_postgres", "langchain_postgres"
KIND = "langchain-pgvectorstore"
ROWS = len(peers.TEXTS) + 1


def moved(memory: Memory, foreign: Foreign, **options: object) -> DatabaseImport:
    given = {"kinds": [KIND], "embedder": peers.embedder()} | options
    return import_database(memory, foreign.dsn, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def moved_in(foreign: Foreign, url: str | None) -> Memory:
    """A memory that the database was moved into, by one call."""
    memory = Memory(
        "atlas", url=url, tenant=f"moved-{uuid.uuid4().hex[:8]}", embedder=peers.embedder()
    )
    assert counts(moved(memory, foreign)) == [(ROWS, 0, 0, 0)]
    return memory


@pytest.fixture
def store(moved_in: Memory) -> HTMVectorStore:
    return HTMVectorStore(peers.embedder(), collection="guide", memory=moved_in)


def test_documents_come_back_with_their_ids_texts_and_metadata(
    store: HTMVectorStore, foreign: Foreign
) -> None:
    said = foreign.said["documents"]
    found = {each.id: [each.page_content, each.metadata] for each in store.get_by_ids(list(said))}
    assert found == said
    assert repr(found["guide-07"][1]["zero"]) == "-0.0"


def test_the_same_searches_find_the_same_documents(store: HTMVectorStore, foreign: Foreign) -> None:
    shares = []
    for query, ids in foreign.said["found"].items():
        hits = store.similarity_search(query, k=10, mode="vector")
        shares.append(len({each.id for each in hits} & set(ids)) / len(ids))
    assert sum(shares) / len(shares) >= 0.99


def test_its_single_columns_can_be_filtered_by(store: HTMVectorStore) -> None:
    found = store.similarity_search("opens", k=20, filter={"topic": "bakery"})
    assert {each.metadata["topic"] for each in found} == {"bakery"}


def test_no_text_is_embedded_again_but_a_few_to_see_whose_vectors_they_are(
    make: Make, foreign: Foreign
) -> None:
    model = peers.embedder()
    with make() as memory:
        moved(memory, foreign, embedder=model)
    assert model.calls <= 3  # of which one is for its dimension


def test_moved_twice_nothing_is_added(moved_in: Memory, foreign: Foreign) -> None:
    assert counts(moved(moved_in, foreign)) == [(0, 0, ROWS, 0)]


def test_a_dry_run_writes_nothing_and_counts_the_same(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        done = moved(memory, foreign, dry_run=True)
        assert done.dry_run
        assert counts(done) == [(ROWS, 0, 0, 0)]
        assert memory.collection("guide").count() == 0


def test_killed_in_the_middle_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 20)

    def stop(table: str, done: int, total: int | None) -> None:
        assert (table, total) == ("guide", ROWS)
        if done >= 40:
            raise KeyboardInterrupt

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            moved(memory, foreign, progress=stop)
        assert memory.collection("guide").count() == 40
        assert counts(moved(memory, foreign)) == [(ROWS - 40, 0, 40, 0)]


def test_what_changed_there_since_changes_here(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        moved(memory, foreign)
        foreign.run("update guide set content = 'It is closed.' where langchain_id = 'guide-03'")
        try:
            assert counts(moved(memory, foreign)) == [(0, 1, ROWS - 1, 0)]
            assert memory.collection("guide").get(["guide-03"])[0].content == "It is closed."
        finally:
            foreign.run(
                "update guide set content = %s where langchain_id = 'guide-03'", peers.TEXTS[3]
            )


def test_another_models_vectors_are_not_taken_for_this_ones(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        with pytest.raises(DimensionMismatch, match="32 numbers, got HashEmbedder:hash with 64"):
            moved(memory, foreign, embedder=memory._engine.embedder)
        with pytest.raises(
            InvalidInput, match=r"which model made the vectors of guide.*--embedder"
        ):
            moved(memory, foreign, embedder=None)
        assert memory.collection("guide").count() == 0


def test_a_models_name_alone_is_enough(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        [table] = moved(memory, foreign, embedder="Model:hash").tables
        assert table.model == "Model:hash"
        found = HTMVectorStore(
            peers.embedder(), collection="guide", memory=memory
        ).similarity_search("bakery north", k=1)
        assert len(found) == 1


def test_vectors_without_a_name_are_found_by_vectors_and_by_no_text(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        [table] = moved(memory, foreign, embedder="given").tables
        assert table.model is None
        store = HTMVectorStore(peers.embedder(), collection="guide", memory=memory)
        vector = peers.embedder().embed_query(peers.TEXTS[7])
        assert store.similarity_search_by_vector(vector, k=1)[0].id == "guide-07"
        with pytest.raises(DimensionMismatch, match="given:32"):
            store.similarity_search("bakery", mode="vector")


def test_a_table_with_columns_of_other_names_is_taken_when_its_kind_is_said(
    make: Make, foreign: Foreign
) -> None:
    foreign.run(
        "create table notes (note_id bigint primary key, body text not null, meaning vector(32), about jsonb, since date)"
    )
    vector = str(peers.embedder().embed_query("A note."))
    foreign.run("""insert into notes values (7, 'A note.', %s, '{"a": 1}', '2026-05-01')""", vector)
    try:
        with make() as memory:
            with pytest.raises(InvalidInput, match="say --kind"):
                moved(memory, foreign, tables=["notes"], kinds=())
            moved(memory, foreign, tables=["public.notes"], collection="remarks")
            [note] = HTMVectorStore(
                peers.embedder(), collection="remarks", memory=memory
            ).get_by_ids(["7"])
            assert (note.page_content, note.metadata["a"], note.metadata["since"].year) == (
                "A note.",
                1,
                2026,
            )
    finally:
        foreign.run("drop table notes")
