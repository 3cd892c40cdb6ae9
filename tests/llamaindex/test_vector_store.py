"""HTMVectorStore by itself and under VectorStoreIndex: every mode finds the right node, and nothing leaks."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from htm_core import DimensionMismatch, InvalidInput, Memory
from htm_llamaindex import HTMEmbedding, HTMVectorStore
from tests.llamaindex.models import Scripted

Make = Callable[..., Memory]
Mode = VectorStoreQueryMode
LIBRARY = {
    "harbour": "The harbour opens at six in the morning.",
    "parking": "Parking behind the museum costs two coins.",
    "museum": "The museum shows ships and old charts.",
    "ferry": "The ferry to the island leaves from the harbour at noon.",
    "error": "Code E4711 means that the pump is blocked.",
}


@pytest.fixture
def store(memory: Memory) -> HTMVectorStore:
    return HTMVectorStore(collection="library", memory=memory)


@pytest.fixture
def index(store: HTMVectorStore, memory: Memory) -> VectorStoreIndex:
    nodes = [TextNode(id_=id, text=text, metadata={"topic": id}) for id, text in LIBRARY.items()]
    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes, storage_context=context, embed_model=HTMEmbedding(memory))


def node(
    id: str, text: str = "text", vector: list[float] | None = None, **metadata: Any
) -> TextNode:
    return TextNode(
        id_=id, text=text, metadata=metadata, embedding=[1.0, 0.0] if vector is None else vector
    )


def part_of(document: str, id: str, vector: list[float] | None = None) -> TextNode:
    made = node(id, vector=vector)
    made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return made


def ids(store: HTMVectorStore, **query: Any) -> list[str]:
    found = store.query(
        VectorStoreQuery(**{"query_embedding": [1.0, 0.0], "similarity_top_k": 10} | query)
    )
    assert found.similarities is not None
    assert all(0 <= score <= 1 for score in found.similarities)
    assert [each.node_id for each in found.nodes or ()] == found.ids
    return list(found.ids or ())


@pytest.mark.parametrize(
    "mode", ["default", "hybrid", "semantic_hybrid", "mmr", "text_search", "sparse"]
)
def test_a_query_engine_finds_the_right_node_in_each_mode(
    index: VectorStoreIndex, memory: Memory, mode: str
) -> None:
    model = Scripted("At six.")
    opened = VectorStoreIndex.from_vector_store(
        HTMVectorStore(collection="library", memory=memory), embed_model=HTMEmbedding(memory)
    )
    engine = opened.as_query_engine(llm=model.llm, vector_store_query_mode=mode, similarity_top_k=2)
    answer = engine.query("When does the harbour open?")
    assert str(answer) == "At six."
    assert answer.source_nodes[0].node.node_id == "harbour"
    assert LIBRARY["harbour"] in model.last


@pytest.mark.parametrize("mode", ["default", "hybrid", "mmr", "text_search"])
def test_a_query_engine_is_awaitable_in_one_event_loop_after_the_other(
    index: VectorStoreIndex, mode: str
) -> None:
    engine = index.as_query_engine(
        llm=Scripted("At six.").llm, vector_store_query_mode=mode, similarity_top_k=2
    )

    async def ask() -> str:
        return str(
            (await engine.aquery("When does the harbour open?")).source_nodes[0].node.node_id
        )

    assert [asyncio.run(ask()), asyncio.run(ask())] == ["harbour", "harbour"]


def test_words_that_a_model_cannot_know_are_found_by_text_and_hybrid(
    index: VectorStoreIndex,
) -> None:
    for mode in ("text_search", "hybrid"):
        found = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=1).retrieve(
            "E4711"
        )
        assert [each.node.node_id for each in found] == ["error"]


def test_an_index_opened_again_finds_what_was_added(
    index: VectorStoreIndex, store: HTMVectorStore, memory: Memory
) -> None:
    again = VectorStoreIndex.from_vector_store(
        HTMVectorStore(collection="library", memory=memory), embed_model=HTMEmbedding(memory)
    )
    assert (
        again.as_retriever(similarity_top_k=1).retrieve("pump blocked code")[0].node.node_id
        == "error"
    )


def test_documents_are_inserted_and_deleted_through_the_index(
    index: VectorStoreIndex, store: HTMVectorStore
) -> None:
    index.insert(Document(text="The lighthouse is closed in winter.", doc_id="lighthouse"))
    assert (
        index.as_retriever(similarity_top_k=1).retrieve("lighthouse winter")[0].node.ref_doc_id
        == "lighthouse"
    )
    index.delete_ref_doc("lighthouse")
    assert len(store.get_nodes()) == len(LIBRARY)


def test_filters_of_an_index_hold(index: VectorStoreIndex) -> None:
    filters = MetadataFilters(
        filters=[MetadataFilter(key="topic", operator=FilterOperator.IN, value=["ferry", "museum"])]
    )
    for mode in ("default", "hybrid", "text_search", "mmr"):
        found = index.as_retriever(
            vector_store_query_mode=mode, filters=filters, similarity_top_k=5
        ).retrieve("harbour")
        assert {each.node.node_id for each in found} <= {"ferry", "museum"}
        assert found[0].node.node_id == "ferry"


def test_a_node_added_again_takes_the_place_of_the_old(store: HTMVectorStore) -> None:
    assert store.add([node("a", "old words"), node("b")]) == ["a", "b"]
    store.add([node("a", "new words", vector=[0.0, 1.0], version=2)])
    assert ids(store, query_embedding=[0.0, 1.0]) == ["a", "b"]
    found = store.get_nodes(["a"])[0]
    assert (found.get_content(), found.metadata) == ("new words", {"version": 2})
    assert ids(store, query_str="old", mode=Mode.TEXT_SEARCH) == []


def test_of_the_same_id_twice_at_once_the_last_counts(store: HTMVectorStore) -> None:
    store.add([node("a", "first"), node("a", "second")])
    assert [each.get_content() for each in store.get_nodes()] == ["second"]


def test_hybrid_fuses_both_arms_instead_of_listing_one_after_the_other(
    store: HTMVectorStore,
) -> None:
    store.add([
        node("near", "nothing of the kind", [1.0, 0.0]),
        node("both", "zebra crossing", [0.9, 0.4]),
        node("words", "zebra", [0.0, 1.0]),
    ])  # fmt: skip
    found = ids(store, query_str="zebra crossing", mode=Mode.HYBRID)
    assert found[0] == "both"
    assert set(found) == {"near", "both", "words"}


def test_alpha_is_the_weight_of_the_vector(store: HTMVectorStore) -> None:
    store.add([node("near", "nothing of the kind", [1.0, 0.0]), node("words", "zebra", [0.0, 1.0])])
    assert ids(store, query_str="zebra", mode=Mode.HYBRID, alpha=1.0)[0] == "near"
    assert ids(store, query_str="zebra", mode=Mode.HYBRID, alpha=0.0)[0] == "words"


def test_the_numbers_of_candidates_are_honoured(store: HTMVectorStore) -> None:
    store.add([node(f"v{at}", "plain", [1.0, at / 100]) for at in range(6)])
    store.add([node(f"w{at}", "zebra " * (at + 1), [0.0, 1.0]) for at in range(6)])
    found = ids(
        store,
        query_str="zebra",
        mode=Mode.HYBRID,
        similarity_top_k=2,
        sparse_top_k=3,
        hybrid_top_k=10,
    )
    assert (sum(id.startswith("v") for id in found), sum(id.startswith("w") for id in found)) == (
        2,
        3,
    )
    assert (
        len(ids(store, query_str="zebra", mode=Mode.HYBRID, similarity_top_k=9, hybrid_top_k=4))
        == 4
    )
    assert len(ids(store, query_str="zebra", mode=Mode.TEXT_SEARCH, similarity_top_k=2)) == 2
    assert (
        len(ids(store, query_str="zebra", mode=Mode.SPARSE, similarity_top_k=2, sparse_top_k=5))
        == 5
    )


def test_the_numbers_and_the_weight_of_hybrid_reach_it_through_an_index(
    index: VectorStoreIndex,
) -> None:
    def found(question: str, **options: Any) -> list[str]:
        hits = index.as_retriever(vector_store_query_mode="hybrid", **options).retrieve(question)
        return [each.node.node_id for each in hits]

    assert found("E4711", similarity_top_k=1, alpha=0.0) == ["error"]
    assert len(found("the harbour", similarity_top_k=2, sparse_top_k=1, hybrid_top_k=4)) in (2, 3)
    assert len(found("the harbour", similarity_top_k=5, sparse_top_k=5, hybrid_top_k=2)) == 2
    assert len(found("the harbour", similarity_top_k=3)) == 3
    diverse = index.as_retriever(
        vector_store_query_mode="mmr",
        similarity_top_k=2,
        vector_store_kwargs={"mmr_threshold": 0.5, "mmr_prefetch_k": 5},
    )
    assert len(diverse.retrieve("the harbour")) == 2


def test_mmr_prefers_what_is_unlike_what_it_has(store: HTMVectorStore) -> None:
    store.add(
        [
            node("a", vector=[1.0, 0.1, 0.0]),
            node("a2", vector=[1.0, 0.11, 0.0]),
            node("b", vector=[0.7, 0.0, 0.7]),
        ]
    )
    query: dict[str, Any] = {
        "query_embedding": [1.0, 0.0, 0.0],
        "similarity_top_k": 2,
        "mode": Mode.MMR,
    }
    assert ids(store, **query, mmr_threshold=0.3) == ["a", "b"]
    assert ids(store, **query, mmr_threshold=1.0) == ["a", "a2"]
    by_option = store.query(VectorStoreQuery(**query), mmr_threshold=0.0)
    assert by_option.ids == ["a", "b"]
    with pytest.raises(InvalidInput, match="mmr_threshold"):
        ids(store, **query, mmr_threshold=2.0)


@pytest.mark.parametrize("mode", [Mode.SVM, Mode.LOGISTIC_REGRESSION, Mode.LINEAR_REGRESSION])
def test_learned_modes_are_refused_by_name(
    store: HTMVectorStore, mode: VectorStoreQueryMode
) -> None:
    with pytest.raises(InvalidInput, match=mode.value):
        ids(store, mode=mode)


@pytest.mark.parametrize("mode", ["svm", "logistic_regression", "linear_regression"])
def test_a_query_engine_refuses_learned_modes_by_name(index: VectorStoreIndex, mode: str) -> None:
    engine = index.as_query_engine(llm=Scripted("x").llm, vector_store_query_mode=mode)
    with pytest.raises(InvalidInput, match=mode):
        engine.query("When does the harbour open?")
    with pytest.raises(InvalidInput, match=mode):
        asyncio.run(engine.aquery("When does the harbour open?"))


def test_a_query_engine_answers_within_a_running_event_loop(index: VectorStoreIndex) -> None:
    engine = index.as_query_engine(
        llm=Scripted("At six.").llm, vector_store_query_mode="hybrid", similarity_top_k=1
    )

    async def ask() -> str:
        return str(engine.query("When does the harbour open?"))  # as notebooks do it

    assert asyncio.run(ask()) == "At six."


def test_unknown_options_and_missing_questions_are_refused_by_name(store: HTMVectorStore) -> None:
    with pytest.raises(InvalidInput, match="hnsw_ef"):
        store.query(VectorStoreQuery(query_embedding=[1.0]), hnsw_ef=3)
    with pytest.raises(InvalidInput, match="query_str"):
        ids(store, mode=Mode.TEXT_SEARCH)


@pytest.mark.parametrize("mode", [Mode.TEXT_SEARCH, Mode.HYBRID, Mode.SPARSE, Mode.SEMANTIC_HYBRID])
def test_a_question_that_is_a_book_and_one_of_signs_alone_are_answered(
    store: HTMVectorStore, mode: VectorStoreQueryMode
) -> None:
    """PostgreSQL's parser of queries takes neither 40,000 words nor none."""
    store.add([node("a", "a zebra"), node("b", "a wolf", [0.0, 1.0])])
    book = "zebra " + " ".join(f"word{at}" for at in range(40_000))
    assert ids(store, query_str=book, mode=mode)[0] == "a"
    words_alone = mode in (Mode.TEXT_SEARCH, Mode.SPARSE)
    for signs in ("?! … --", "'", "\x00", ":* & |"):
        assert ids(store, query_str=signs, mode=mode) == ([] if words_alone else ["a", "b"])


def test_node_ids_and_doc_ids_are_honoured(store: HTMVectorStore) -> None:
    store.add([part_of("d1", "a"), part_of("d1", "b"), part_of("d2", "c")])
    assert set(ids(store, node_ids=["a", "c", "gone"])) == {"a", "c"}
    assert set(ids(store, doc_ids=["d1"])) == {"a", "b"}
    assert ids(store, node_ids=["a", "c"], doc_ids=["d2"]) == ["c"]
    assert set(ids(store, node_ids=[])) == {"a", "b", "c"}


def test_delete_takes_a_documents_nodes_and_clear_takes_all(store: HTMVectorStore) -> None:
    store.add([part_of("d1", "a"), part_of("d1", "b"), part_of("d2", "c"), node("d")])
    store.delete("d1")
    assert [each.node_id for each in store.get_nodes()] == ["c", "d"]
    store.delete_nodes(["c"])
    store.delete_nodes([])
    assert [each.node_id for each in store.get_nodes()] == ["d"]
    with pytest.raises(InvalidInput, match="clear"):
        store.delete_nodes()
    store.clear()
    assert store.get_nodes() == []


def test_the_awaited_forms_do_the_same(store: HTMVectorStore) -> None:
    async def all_of_them() -> None:
        assert await store.async_add([part_of("d1", "a"), node("b"), node("c")]) == ["a", "b", "c"]
        assert (
            await store.aquery(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9))
        ).ids is not None
        await store.adelete("d1")
        await store.adelete_nodes(["b"])
        assert [each.node_id for each in await store.aget_nodes()] == ["c"]
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(all_of_them())
    asyncio.run(all_of_them())


def test_nodes_of_every_class_come_back_equal(store: HTMVectorStore) -> None:
    nodes = [
        part_of("d1", "text"),
        TextNode(
            id_="odd",
            text="a \x00 and 日本",
            metadata={"list": [1, "2"], "none": None},
            embedding=[1.0, 0.0],
        ),
        ImageNode(id_="image", text="a ship", image="aGk=", embedding=[1.0, 0.0]),
        IndexNode(id_="index", text="see there", index_id="other", embedding=[1.0, 0.0]),
        Node(id_="node", embedding=[1.0, 0.0]),
        Document(id_="document", text="whole", embedding=[1.0, 0.0]),
    ]
    store.add(nodes)
    for found, added in zip(store.get_nodes([each.node_id for each in nodes]), nodes, strict=True):
        assert type(found) is type(added)
        assert found.to_dict() == added.to_dict() | {"embedding": None}


def test_adding_changes_nothing_of_the_callers(store: HTMVectorStore) -> None:
    given = node("a", topic="x")
    before = given.to_dict()
    store.add([given])
    store.get_nodes(["a"])[0].metadata["topic"] = "changed"
    assert given.to_dict() == before
    assert store.get_nodes(["a"])[0].metadata == {"topic": "x"}


@pytest.mark.parametrize("dimension", [1, 3, 1536, 4096])
def test_vectors_of_any_dimension_are_found(store: HTMVectorStore, dimension: int) -> None:
    store.add([node("a", vector=[0.25] * dimension)])
    assert ids(store, query_embedding=[0.25] * dimension) == ["a"]


def test_another_dimension_is_refused(memory: Memory) -> None:
    store = HTMVectorStore(collection="three", memory=memory, dim=3)
    with pytest.raises(DimensionMismatch, match="3"):
        store.add([node("a")])
    store.add([node("a", vector=[1.0, 2.0, 3.0])])
    with pytest.raises(DimensionMismatch, match="3"):
        ids(store, query_embedding=[1.0, 0.0])


def test_llamaindexs_own_mock_embedding_gets_along_with_it(memory: Memory) -> None:
    store = HTMVectorStore(collection="mock", memory=memory)
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(5))
    index.insert_nodes([TextNode(text="alike"), TextNode(text="alike too")])
    assert len(index.as_retriever(similarity_top_k=5).retrieve("anything")) == 2


def test_nodes_without_an_embedding_are_embedded_by_the_memorys_model(
    store: HTMVectorStore,
) -> None:
    store.add([TextNode(id_=id, text=text) for id, text in LIBRARY.items()])
    assert ids(store, query_embedding=None, query_str="the harbour opens", similarity_top_k=1) == [
        "harbour"
    ]


def test_a_collection_is_its_own_and_a_tenant_sees_no_others(
    make: Make, memory: Memory, tenant: str
) -> None:
    HTMVectorStore(collection="one", memory=memory).add([node("a")])
    assert ids(HTMVectorStore(collection="two", memory=memory)) == []
    other = HTMVectorStore(collection="one", memory=make(tenant=f"{tenant}-b"))
    assert (ids(other), other.get_nodes()) == ([], [])
    other.add([node("a", "theirs")])
    other.clear()
    assert ids(HTMVectorStore(collection="one", memory=memory)) == ["a"]


def test_what_is_in_a_store_is_no_memory(memory: Memory, store: HTMVectorStore) -> None:
    store.add([node("a", "The harbour opens at six.")])
    assert len(memory.recall("harbour")) == 0


def test_what_is_serialised_is_configuration_and_never_an_address() -> None:
    store = HTMVectorStore(url="postgresql://ada:s3cret@db.example/htm", tenant="t", dim=3)
    for form in (str(store.to_dict()), store.to_json(), repr(store), repr(pickle.dumps(store))):
        assert "s3cret" not in form
        assert "db.example" not in form
    assert {"collection": "default", "tenant": "t", "dim": 3}.items() <= store.to_dict().items()


def test_a_copy_is_the_same_store_and_a_restored_one_has_the_same_nodes(
    store: HTMVectorStore,
) -> None:
    store.add([node("a")])
    assert copy.deepcopy(store) is store
    for restored in (HTMVectorStore.from_json(store.to_json()), pickle.loads(pickle.dumps(store))):
        assert ids(restored) == ["a"]
        assert restored.to_dict() == store.to_dict()


@pytest.mark.parametrize("given", [{"tenant": "t"}, {"url": "postgresql://host/db"}])
def test_a_memory_and_what_would_make_another_are_refused_together(
    memory: Memory, given: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput, match="memory= alone"):
        HTMVectorStore(memory=memory, **given)  # type: ignore[arg-type]


def test_odd_metadata_of_one_node_costs_no_other_and_comes_back(memory: Memory) -> None:
    """PostgreSQL's `jsonb` has no NUL and no NaN, and LlamaIndex writes null for NaN."""
    odd = {"nul": "a\x00b", "deep": {"list": [1.5, float("inf")]}, "big": 1e300}
    nodes = [TextNode(id_=f"n{at}", text=f"text {at}", embedding=[1.0, at]) for at in range(5)]
    nodes[2].metadata = odd
    store = HTMVectorStore(memory=memory, dim=2)
    assert store.add(nodes) == [f"n{at}" for at in range(5)]
    assert store.get_nodes(["n2"])[0].metadata == odd
    nodes[3].metadata = {"n": float("nan")}
    store.add(nodes[3:4])
    assert math.isnan(store.get_nodes(["n3"])[0].metadata["n"])


def test_a_users_memory_makes_no_private_collection_and_says_so_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("htm_core.prompt.scope._warned", set())
    for user in ("ann", "bob"):
        HTMVectorStore(memory=memory.of(user=user))
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "a collection belongs to the tenant"
    ]


def test_an_option_that_does_not_exist_is_refused_and_nothing_is_deleted(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory, collection="refusals")
    store.add([TextNode(id_="a", text="Herons nest in trees.")])
    with pytest.raises(InvalidInput, match="got filter; did you mean filters"):
        store.delete_nodes(["a"], filter=MetadataFilters(filters=[]))
    with pytest.raises(InvalidInput, match="options of add of none at all; got batch"):
        store.add([TextNode(id_="b", text="Storks.")], batch=7)
    with pytest.raises(InvalidInput, match="got handel; did you mean handle"):
        HTMVectorStore.from_dict(store.to_dict(), handel="x")
    assert [node.node_id for node in store.get_nodes(["a", "b"])] == ["a"]
