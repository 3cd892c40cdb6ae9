"""What LlamaIndex's own PostgreSQL store gets wrong, each as behaviour that we have right.

Found in llama-index-vector-stores-postgres 0.9.0 by running it.
"""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from htm_core import InvalidInput, Memory
from htm_llamaindex import HTMVectorStore

EVIL = [
    "x' OR '1'='1",
    "x'); drop table htm.documents; --",
    "x' UNION SELECT 1 --",
    "%",
    "_",
    "it's",
    '"',
    "$1",
    "\\",
]


@pytest.fixture
def store(memory: Memory) -> HTMVectorStore:
    return HTMVectorStore(collection="peers", memory=memory)


def node(
    id: str, text: str = "text", vector: tuple[float, float] = (1.0, 0.0), **metadata: object
) -> TextNode:
    return TextNode(id_=id, text=text, metadata=metadata, embedding=list(vector))


def filtered(store: HTMVectorStore, key: str, operator: FilterOperator, value: object) -> list[str]:
    filters = MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])  # type: ignore[arg-type]
    found = (
        store.query(
            VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=50, filters=filters)
        ).ids
        or []
    )
    assert sorted(found) == sorted(each.node_id for each in store.get_nodes(filters=filters))
    return sorted(found)


@pytest.mark.parametrize("evil", EVIL)
def test_a_filters_value_and_key_are_data_and_never_sql(store: HTMVectorStore, evil: str) -> None:
    store.add(
        [
            node("evil", v=evil),
            node("plain", v="plain"),
            TextNode(id_="key", text="t", metadata={evil: 1}, embedding=[1.0, 0.0]),
        ]
    )
    assert filtered(store, "v", FilterOperator.EQ, evil) == ["evil"]
    assert filtered(store, "v", FilterOperator.IN, [evil]) == ["evil"]
    assert filtered(store, "v", FilterOperator.CONTAINS, evil) == ["evil"]
    assert filtered(store, "v", FilterOperator.TEXT_MATCH_INSENSITIVE, evil) == ["evil"]
    if evil.startswith("$"):
        with pytest.raises(InvalidInput, match="does not begin with"):
            filtered(store, evil, FilterOperator.EQ, 1)
    else:
        assert filtered(store, evil, FilterOperator.EQ, 1) == ["key"]
    assert filtered(store, "v", FilterOperator.NE, evil) == ["key", "plain"]
    store.delete(evil)
    assert len(store.get_nodes()) == 3


def test_a_query_with_quotes_is_words_and_never_sql(store: HTMVectorStore) -> None:
    store.add([node("a", "the harbour"), node("b", "the ferry")])
    query = "it's ' OR 1=1 -- harbour & | ! :* <->"
    found = store.query(
        VectorStoreQuery(query_str=query, mode=VectorStoreQueryMode.TEXT_SEARCH, similarity_top_k=5)
    )
    assert found.ids == ["a"]


def test_a_node_added_again_is_one_node(store: HTMVectorStore) -> None:
    for text in ("first", "second"):
        store.add([node("a", text)])
    assert [each.get_content() for each in store.get_nodes()] == ["second"]
    assert store.query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9)).ids == [
        "a"
    ]


def test_hybrid_is_one_ranking_of_both_arms(store: HTMVectorStore) -> None:
    store.add(
        [
            node("vector", "other words", (1.0, 0.0)),
            node("both", "zebra", (0.9, 0.4)),
            node("words", "zebra", (0.0, 1.0)),
        ]
    )
    query = VectorStoreQuery(
        query_embedding=[1.0, 0.0],
        query_str="zebra",
        mode=VectorStoreQueryMode.HYBRID,
        similarity_top_k=3,
    )
    found = store.query(query)
    assert found.ids is not None
    assert found.ids[0] == "both"
    assert found.similarities == sorted(found.similarities or [], reverse=True)
    query.alpha, query.hybrid_top_k = 1.0, 1
    assert store.query(query).ids == ["vector"]
    query.alpha = 0.0
    assert store.query(query).ids != ["vector"]


def test_ids_of_nodes_and_of_documents_are_honoured(store: HTMVectorStore) -> None:
    parts = [node("a"), node("b")]
    parts[1].relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="book")
    store.add(parts)
    for given, wanted in (({"node_ids": ["a"]}, ["a"]), ({"doc_ids": ["book"]}, ["b"])):
        assert (
            store.query(
                VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, **given)
            ).ids
            == wanted
        )  # type: ignore[arg-type]


def test_a_second_event_loop_is_as_good_as_the_first(store: HTMVectorStore) -> None:
    async def use(at: int) -> list[str]:
        await store.async_add([node(f"n{at}")])
        found = await store.aquery(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9))
        return sorted(found.ids or [])

    assert [asyncio.run(use(at)) for at in range(3)] == [["n0"], ["n0", "n1"], ["n0", "n1", "n2"]]


def test_a_password_is_in_no_form_of_the_store() -> None:
    store = HTMVectorStore(url="postgresql://ada:s3cret@db.example/htm")
    assert all(
        "s3cret" not in form
        for form in (str(store.to_dict()), store.to_json(), repr(store), str(store.model_dump()))
    )


def test_a_text_of_digits_stays_a_text(store: HTMVectorStore) -> None:
    store.add([node("text", v="007"), node("number", v=7)])
    assert filtered(store, "v", FilterOperator.EQ, "007") == ["text"]
    assert filtered(store, "v", FilterOperator.EQ, 7) == ["number"]
    assert filtered(store, "v", FilterOperator.IN, ["007", "7"]) == ["text"]


def test_comparing_with_a_value_of_another_type_is_false_and_no_error(
    store: HTMVectorStore,
) -> None:
    store.add(
        [
            node("word", v="many"),
            node("nine", v=9),
            node("ten", v=10),
            node("list", v=[11]),
            node("missing"),
        ]
    )
    assert filtered(store, "v", FilterOperator.GTE, 9) == ["nine", "ten"]
    assert filtered(store, "v", FilterOperator.LT, 10) == ["nine"]
    assert filtered(store, "v", FilterOperator.GT, "a") == ["word"]


def test_not_means_none_of_them_and_nests(store: HTMVectorStore) -> None:
    store.add([node("a", v=1), node("b", v=2), node("c", v=3), node("missing")])
    parts = [MetadataFilter(key="v", value=1), MetadataFilter(key="v", value=2)]
    neither = MetadataFilters(filters=list(parts), condition=FilterCondition.NOT)
    assert {each.node_id for each in store.get_nodes(filters=neither)} == {"c", "missing"}
    either = MetadataFilters(filters=[neither, parts[0]], condition=FilterCondition.OR)
    assert {each.node_id for each in store.get_nodes(filters=either)} == {"a", "c", "missing"}


def test_none_of_a_list_holds_for_a_missing_key(store: HTMVectorStore) -> None:
    store.add([node("a", v="x"), node("b", v="y"), node("missing")])
    assert filtered(store, "v", FilterOperator.NIN, ["x"]) == ["b", "missing"]


def test_a_filter_that_leaves_few_of_many_finds_all_of_these(store: HTMVectorStore) -> None:
    store.add([node(f"n{at}", vector=(1.0, at / 500)) for at in range(500)])
    store.add([node(f"far{at}", vector=(-1.0, 0.1), v="far") for at in range(5)])
    for mode in (
        VectorStoreQueryMode.DEFAULT,
        VectorStoreQueryMode.HYBRID,
        VectorStoreQueryMode.MMR,
    ):
        filters = MetadataFilters(filters=[MetadataFilter(key="v", value="far")])
        query = VectorStoreQuery(
            query_embedding=[1.0, 0.0],
            query_str="text",
            similarity_top_k=10,
            filters=filters,
            mode=mode,
        )
        assert len(store.query(query).ids or []) == 5
