"""Metadata filters mean what LlamaIndex's reference means, in PostgreSQL, on values of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from htm_core import InvalidInput, Memory
from htm_core.base.filters.filters import compile_where
from htm_llamaindex import HTMVectorStore
from htm_llamaindex.filters import where_of
from tests.filter_reference import matches

ODD = [
    "it's",
    'say "no"',
    "x' OR '1'='1",
    "100 %",
    "what?",
    "%s",
    "naïve Σ 日本",
    "$1",
    "\\",
    "a\nb",
]
VALUES: list[Any] = [
    None, "", "red", "Red wine", "7", "007", 7, 7.0, 6.5, -1, 0, [], ["red"], ["red", "blue"], [7, 8], [6.5], *ODD
]  # fmt: skip
LISTS = [["red", "7"], [7, 6.5, -1], ["it's", "x' OR '1'='1"], []]
ORDERED = (FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE)
LISTED = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
TEXTS = [value for value in VALUES if isinstance(value, str)]


def operands(operator: FilterOperator) -> list[Any]:
    """What an operator can be given."""
    if operator in LISTED:
        return LISTS
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        return [value for value in VALUES if value != []]
    if operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        return ["re", "RED W", "NAÏVE \u03c3", *TEXTS]
    if operator == FilterOperator.IS_EMPTY:
        return [None]
    return [value for value in VALUES if isinstance(value, str | int | float)]


def reference(filters: MetadataFilters, metadata: Mapping[str, Any]) -> bool:
    """LlamaIndex's own meaning, where a comparison between two types is false instead of an error."""
    try:
        return build_metadata_filter_fn(lambda _: metadata, filters)("any")
    except TypeError:
        return False


def one(key: str, operator: FilterOperator, value: Any) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])


plain = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.integers(-5, 5),
    st.floats(-5, 5),
    st.lists(st.text(max_size=2)),
)


@given(
    st.sampled_from(FilterOperator), st.data(), st.dictionaries(st.sampled_from(["a", "b"]), plain)
)
def test_each_operator_means_what_the_reference_means(
    operator: FilterOperator, data: st.DataObject, metadata: dict[str, Any]
) -> None:
    value = data.draw(st.sampled_from(operands(operator)))
    filters = one("a", operator, value)
    assert matches(compile_where(where_of(filters)), metadata) == reference(filters, metadata)


filter_of = st.builds(
    lambda operator, key, at: one(
        key, operator, operands(operator)[at % len(operands(operator))]
    ).filters[0],
    st.sampled_from([operator for operator in FilterOperator if operator not in ORDERED]),
    st.sampled_from(["a", "b"]),
    st.integers(0, 100),
)


@given(
    st.lists(filter_of, min_size=1, max_size=4),
    st.sampled_from(FilterCondition),
    st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3)),
)
def test_conditions_mean_what_the_reference_means(
    parts: list[Any], condition: FilterCondition, metadata: dict[str, Any]
) -> None:
    filters = MetadataFilters(filters=parts, condition=condition)
    hold = [reference(MetadataFilters(filters=[part]), metadata) for part in parts]
    wanted = {
        FilterCondition.AND: all(hold),
        FilterCondition.OR: any(hold),
        FilterCondition.NOT: not any(hold),
    }
    assert matches(compile_where(where_of(filters)), metadata) == wanted[condition]


@pytest.fixture(scope="module")
def stores(url: str | None) -> Iterator[tuple[HTMVectorStore, SimpleVectorStore]]:
    """Ours and LlamaIndex's reference, with the same nodes: one for each value, and one without the key."""
    with Memory(url=url, tenant="filters") as memory:
        ours = HTMVectorStore(collection="filters", memory=memory)
        theirs = SimpleVectorStore()
        ours.clear()
        nodes = [
            TextNode(id_=f"n{at}", text="t", metadata={"v": value})
            for at, value in enumerate(VALUES)
        ]
        nodes.append(TextNode(id_="missing", text="t"))
        for node in nodes:
            node.embedding = [1.0, 0.5]
        ours.add(nodes)
        theirs.add(nodes)
        yield ours, theirs


@pytest.mark.parametrize("operator", FilterOperator, ids=lambda operator: operator.name)
def test_queries_and_get_nodes_find_what_the_reference_finds(
    stores: tuple[HTMVectorStore, SimpleVectorStore], operator: FilterOperator
) -> None:
    ours, _ = stores
    values = {f"n{at}": {"v": value} for at, value in enumerate(VALUES)} | {"missing": {}}
    for value in operands(operator):
        filters = one("v", operator, value)
        wanted = {id for id, metadata in values.items() if reference(filters, metadata)}
        assert {node.node_id for node in ours.get_nodes(filters=filters)} == wanted, value
        query = VectorStoreQuery(query_embedding=[1.0, 0.5], similarity_top_k=100, filters=filters)
        assert set(ours.query(query).ids or ()) == wanted, value


def comparable(filters: MetadataFilters, values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The nodes that the reference can compare: between two types it raises an error."""
    found = []
    for id, metadata in values.items():
        try:
            build_metadata_filter_fn(lambda _, of=metadata: of, filters)("any")  # type: ignore[misc]
        except TypeError:
            continue
        found.append(id)
    return found


@pytest.mark.parametrize("operator", FilterOperator, ids=lambda operator: operator.name)
def test_the_reference_store_finds_the_same_wherever_it_can_be_asked(
    stores: tuple[HTMVectorStore, SimpleVectorStore], operator: FilterOperator
) -> None:
    values: dict[str, Mapping[str, Any]] = {
        f"n{at}": {"v": value} for at, value in enumerate(VALUES)
    } | {"missing": {}}
    for value in operands(operator):
        filters = one("v", operator, value)
        asked = comparable(filters, values)
        assert "missing" in asked
        query = VectorStoreQuery(
            query_embedding=[1.0, 0.5], similarity_top_k=100, filters=filters, node_ids=asked
        )
        ours, theirs = (set(store.query(query).ids or ()) for store in stores)
        assert ours == theirs, value


def test_conditions_nest(stores: tuple[HTMVectorStore, SimpleVectorStore]) -> None:
    ours, _ = stores
    red = MetadataFilter(key="v", value="red")
    inner = MetadataFilters(
        filters=[red, MetadataFilter(key="v", value=7)], condition=FilterCondition.OR
    )
    outer = MetadataFilters(
        filters=[inner, MetadataFilters(filters=[red], condition=FilterCondition.NOT)],
        condition=FilterCondition.AND,
    )
    assert [node.metadata["v"] for node in ours.get_nodes(filters=outer)] == [7, 7.0]


def test_true_is_not_one(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory)
    store.add([TextNode(id_="n", text="t", metadata={"flag": True}, embedding=[1.0])])
    assert store.get_nodes(filters=one("flag", FilterOperator.EQ, 1)) == []


def test_true_is_found_by_a_filter_that_llamaindex_does_not_check(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory)
    for flag in (True, False):
        store.add([TextNode(id_=str(flag), text="t", metadata={"flag": flag}, embedding=[1.0])])
    done = MetadataFilter.model_construct(key="flag", value=True)
    assert [node.node_id for node in store.get_nodes(filters=MetadataFilters(filters=[done]))] == [
        "True"
    ]


def test_keys_are_data_too(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory)
    key = "k' ->> 'x' OR \"1\"=1 --%s ?"
    store.add(
        [
            TextNode(id_="a", text="t", metadata={key: 1}, embedding=[1.0]),
            TextNode(id_="b", text="t", embedding=[1.0]),
        ]
    )
    assert [node.node_id for node in store.get_nodes(filters=one(key, FilterOperator.EQ, 1))] == [
        "a"
    ]


def test_nodes_are_deleted_by_filters(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory)
    store.add([TextNode(id_=id, text="t", metadata={"v": id}, embedding=[1.0]) for id in "abc"])
    store.delete_nodes(filters=one("v", FilterOperator.IN, ["a", "b"]))
    store.delete_nodes(["c"], filters=one("v", FilterOperator.EQ, "other"))
    assert [node.node_id for node in store.get_nodes()] == ["c"]


@pytest.mark.parametrize(
    ("operator", "value", "message"),
    [
        (FilterOperator.TEXT_MATCH_INSENSITIVE, 7, "expected a text"),
        (FilterOperator.TEXT_MATCH_INSENSITIVE, "x" * 2_001, "expected at most 2,000 characters"),
        (FilterOperator.IN, "red", r"write \['red'\]"),
        (FilterOperator.ALL, 7, "expected a list"),
        (FilterOperator.TEXT_MATCH, 7, "expected a text"),
        (FilterOperator.CONTAINS, ["red"], "use 'all' or 'any'"),
        (FilterOperator.GT, ["red"], "expected a number"),
        (FilterOperator.LTE, None, "expected a number"),
    ],
)
def test_what_cannot_be_answered_exactly_is_refused_by_name(
    memory: Memory, operator: FilterOperator, value: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        HTMVectorStore(memory=memory).get_nodes(filters=one("v", operator, value))
