"""What LangGraph's own store does, ours does: each test runs over both."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from htm_core import Memory
from htm_langchain import HTMStore
from tests.stand_ins import HashEmbedder

NOTES = ("users", "ann", "notes")


def embed(texts: list[str]) -> list[list[float]]:
    return HashEmbedder().embed_documents(list(texts))


@pytest.fixture(params=["langgraph", "htm"])
def store(request: pytest.FixtureRequest, memory: Memory) -> BaseStore:
    if request.param == "langgraph":
        return InMemoryStore(index={"dims": 64, "embed": embed})
    return HTMStore(memory=memory)


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


# -- putting and getting ----------------------------------------------------------------------------------------------


def test_what_was_put_is_got(store: BaseStore) -> None:
    value = {
        "text": "Ann likes hens.",
        "n": 1,
        "f": 0.1,
        "no": None,
        "yes": True,
        "list": [1, "two", {"three": 3.0}],
        "": {},
    }
    store.put(NOTES, "1", value)
    item = store.get(NOTES, "1")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (NOTES, "1", value)
    assert item.created_at.tzinfo is not None
    assert item.created_at <= item.updated_at


def test_what_is_not_there_is_none(store: BaseStore) -> None:
    store.put(NOTES, "1", {"a": 1})
    assert store.get(NOTES, "2") is None
    assert store.get(("users", "ann"), "1") is None
    assert store.get((*NOTES, "more"), "1") is None
    assert store.search(("nobody",)) == []


def test_a_put_replaces_the_whole_value(store: BaseStore) -> None:
    store.put(NOTES, "1", {"a": 1, "b": 2})
    store.put(NOTES, "1", {"a": 3})
    item = store.get(NOTES, "1")
    assert item is not None
    assert item.value == {"a": 3}


def test_what_is_deleted_is_gone_and_deleting_nothing_is_no_error(store: BaseStore) -> None:
    store.put(NOTES, "1", {"text": "hens"})
    store.delete(NOTES, "1")
    store.delete(NOTES, "1")
    store.delete(("nowhere",), "1")
    assert store.get(NOTES, "1") is None
    assert store.search(NOTES) == store.search(NOTES, query="hens") == []


def test_a_key_that_is_no_text_is_its_text(store: BaseStore) -> None:
    store.put(NOTES, 7, {"a": 1})  # type: ignore[arg-type]
    assert store.get(NOTES, "7") == store.get(NOTES, 7)  # type: ignore[arg-type]
    assert store.get(NOTES, "7") is not None


def test_what_is_put_may_be_changed_afterwards(store: BaseStore) -> None:
    value = {"a": 1}
    store.put(NOTES, "1", value)
    value["a"] = 2
    item = store.get(NOTES, "1")
    assert item is not None
    assert item.value == {"a": 1}


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("langgraph", "x"), ("a", 1)])
def test_a_namespace_that_langgraph_refuses_is_refused(store: BaseStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "1", {"a": 1})


# -- searching --------------------------------------------------------------------------------------------------------


@pytest.fixture
def library(store: BaseStore) -> BaseStore:
    """Ten numbered items in one namespace, in order, and some beside them."""
    for n in range(10):
        value = {
            "n": n,
            "kind": "even" if n % 2 == 0 else "odd",
            "by": {"name": "Ann" if n < 5 else "Bob", "born": 1900 + n},
        }
        store.put(("lib", "a"), f"k{n}", value | {"tags": ["x", n]})
    store.put(("lib", "ab"), "other", {"n": 100, "kind": "even"})
    store.put(("library",), "other", {"n": 100, "kind": "even"})
    return store


def test_a_prefix_is_of_whole_labels(library: BaseStore) -> None:
    assert len(library.search(("lib", "a"), limit=100)) == 10
    assert len(library.search(("lib",), limit=100)) == 11
    assert len(library.search((), limit=100)) == 12
    assert library.search(("li",), limit=100) == []


def test_pages_follow_one_another_after_the_filter(library: BaseStore) -> None:
    whole = keys(library.search(("lib", "a"), limit=100))
    assert sorted(whole) == [f"k{n}" for n in range(10)]
    assert [
        key
        for page in range(0, 12, 3)
        for key in keys(library.search(("lib", "a"), limit=3, offset=page))
    ] == whole
    odd = [
        library.search(("lib", "a"), filter={"kind": "odd"}, limit=2, offset=at)
        for at in (0, 2, 4, 6)
    ]
    wanted = [key for key in whole if int(key[1:]) % 2]
    assert [keys(page) for page in odd] == [wanted[:2], wanted[2:4], wanted[4:], []]
    assert library.search(("lib", "a"), limit=0) == []


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        (None, range(10)),
        ({}, range(10)),
        ({"kind": "odd"}, [1, 3, 5, 7, 9]),
        ({"kind": "odd", "n": {"$gt": 4}}, [5, 7, 9]),
        ({"n": {"$eq": 4}}, [4]),
        ({"n": 4.0}, [4]),
        ({"n": {"$ne": 4}}, [0, 1, 2, 3, 5, 6, 7, 8, 9]),
        ({"n": {"$gte": 2, "$lt": 4}}, [2, 3]),
        ({"n": {"$gte": 8.5}}, [9]),
        ({"n": {"$lte": 0}}, [0]),
        ({"n": "4"}, []),
        ({"by": {"name": "Ann"}}, [0, 1, 2, 3, 4]),
        ({"by": {"name": "Ann", "born": {"$gt": 1902}}}, [3, 4]),
        ({"by": {"$eq": {"name": "Ann", "born": 1902}}}, [2]),
        ({"by": {"$eq": {"name": "Ann"}}}, []),
        ({"by": {}}, range(10)),
        ({"n": {}}, []),
        ({"kind": {"name": "Ann"}}, []),
        ({"tags": ["x", 3]}, [3]),
        ({"tags": ["x"]}, []),
        ({"nothing": None}, range(10)),
        ({"nothing": "x"}, []),
        ({"nothing": {"$ne": "x"}}, range(10)),
        ({"by": {"nothing": None}}, range(10)),
        ({"nothing": {"x": None}}, []),
    ],
    ids=repr,
)
def test_a_filter_finds_what_it_describes(library: BaseStore, filter: Any, found: Any) -> None:
    assert sorted(keys(library.search(("lib", "a"), filter=filter, limit=100))) == [
        f"k{n}" for n in found
    ]


def test_an_operator_that_nobody_knows_is_refused(library: BaseStore) -> None:
    with pytest.raises(ValueError, match="operator"):
        library.search(("lib",), filter={"n": {"$near": 3}})


def test_a_query_finds_the_nearest_first_with_a_score_and_a_list_has_none(store: BaseStore) -> None:
    store.put(NOTES, "hens", {"text": "hens lay eggs in the morning"})
    store.put(NOTES, "trains", {"text": "trains run late on Sundays"})
    found = store.search(NOTES, query="eggs of hens")
    assert keys(found) == ["hens", "trains"]
    assert found[0].score is not None
    assert found[0].score > (found[1].score or 0)
    assert [item.score for item in store.search(NOTES)] == [None, None]
    assert keys(store.search(NOTES, query="eggs of hens", limit=1)) == ["hens"]
    assert keys(store.search(NOTES, query="eggs of hens", limit=1, offset=1)) == ["trains"]
    assert keys(
        store.search(NOTES, query="eggs of hens", filter={"text": "trains run late on Sundays"})
    ) == ["trains"]
    assert keys(store.search(NOTES, query="")) == keys(store.search(NOTES))


def test_the_fields_of_a_put_are_what_it_is_found_by(store: BaseStore) -> None:
    store.put(
        NOTES,
        "1",
        {"a": {"b": [{"c": "hens"}, {"c": "eggs"}]}, "other": "trains"},
        index=["a.b[*].c"],
    )
    store.put(
        NOTES,
        "2",
        {"a": {"b": [{"c": "ships"}]}, "other": "hens hens eggs"},
        index=["a.b[*].c", "missing"],
    )
    store.put(NOTES, "3", {"a": {"b": []}, "other": "hens"}, index=["other"])
    assert keys(store.search(NOTES, query="eggs"))[0] == "1"
    assert keys(store.search(NOTES, query="ships"))[0] == "2"
    assert keys(store.search(NOTES, query="hens", limit=2)) in (["1", "3"], ["3", "1"])


def test_an_unindexed_item_is_listed_but_never_ranked(store: BaseStore) -> None:
    store.put(NOTES, "1", {"text": "hens"}, index=False)
    store.put(NOTES, "2", {"text": "ships"})
    assert sorted(keys(store.search(NOTES))) == ["1", "2"]
    assert [item.key for item in store.search(NOTES, query="hens") if item.score is not None] == [
        "2"
    ]


# -- namespaces -------------------------------------------------------------------------------------------------------

TREE = [
    ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("a", "bc"), ("z",), ("*", "q"),
]  # fmt: skip


@pytest.fixture
def tree(store: BaseStore) -> BaseStore:
    for namespace in TREE:
        store.put(namespace, "1", {"at": list(namespace)})
        store.put(namespace, "2", {"at": list(namespace)})
    return store


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("a", "b")},
        {"prefix": ("a", "b"), "max_depth": 3},
        {"prefix": ("a", "*", "f")},
        {"prefix": ("*",)},
        {"suffix": ("f",)},
        {"suffix": ("*", "f")},
        {"suffix": ("d", "*")},
        {"prefix": ("a",), "suffix": ("f",)},
        {"prefix": ("a", "b", "c"), "suffix": ("a", "b", "c")},
        {"prefix": ("a", "b", "c", "d")},
        {"max_depth": 1},
        {"max_depth": 2, "limit": 2, "offset": 1},
        {"limit": 3},
        {"limit": 3, "offset": 6},
        {"offset": 100},
    ],
    ids=repr,
)
def test_namespaces_are_listed_as_langgraph_lists_them(
    store: BaseStore, tree: BaseStore, asked: Any
) -> None:
    plain = InMemoryStore()
    for namespace in TREE:
        plain.put(namespace, "1", {})
    assert store.list_namespaces(**asked) == plain.list_namespaces(**asked)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([("prefix", ("a", "*")), ("prefix", ("*", "b"))], 4),
        ([("prefix", ("a",)), ("prefix", ("z",))], 0),
        ([("suffix", ("f",)), ("suffix", ("*", "f")), ("prefix", ("a", "c"))], 1),
    ],
)
def test_all_conditions_on_a_namespace_must_hold(tree: BaseStore, paths: Any, found: int) -> None:
    conditions = tuple(MatchCondition(match_type=kind, path=path) for kind, path in paths)
    [names] = tree.batch([ListNamespacesOp(match_conditions=conditions)])
    assert isinstance(names, list)
    assert len(names) == found


# -- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store: BaseStore) -> None:
    store.put(NOTES, "1", {"n": 1})
    answers = store.batch(
        [
            PutOp(NOTES, "1", {"n": 2}),
            GetOp(NOTES, "1"),
            PutOp(NOTES, "2", {"n": 5}),
            SearchOp(NOTES),
            PutOp(NOTES, "1", {"n": 3}),
            GetOp(NOTES, "2"),
            PutOp(NOTES, "3", {"n": 9}),
            PutOp(NOTES, "3", None),
            ListNamespacesOp(),
            PutOp(NOTES, "4", None),
            PutOp(NOTES, "4", {"n": 4}),
        ]
    )
    got, searched = answers[1], answers[3]
    assert getattr(got, "value", None) == {"n": 1}
    assert keys(searched) == ["1"]  # type: ignore[arg-type]
    assert answers[5] is None
    assert answers[8] == [NOTES]
    assert [answers[at] for at in (0, 2, 4, 6, 7, 9, 10)] == [None] * 7
    assert sorted((item.key, item.value) for item in store.search(NOTES)) == [
        ("1", {"n": 3}),
        ("2", {"n": 5}),
        ("4", {"n": 4}),
    ]


def test_an_empty_batch_has_no_answers_and_an_unknown_operation_is_refused(
    store: BaseStore,
) -> None:
    assert store.batch([]) == []
    with pytest.raises(ValueError, match=r"nonsense|str"):
        store.batch(["nonsense"])  # type: ignore[list-item]


def test_every_operation_is_awaitable(store: BaseStore) -> None:
    async def run() -> None:
        await asyncio.gather(
            *(store.aput(NOTES, f"k{n}", {"text": f"hens {n}", "n": n}) for n in range(8))
        )
        item = await store.aget(NOTES, "k3")
        assert item is not None
        assert item.value["n"] == 3
        assert len(await store.asearch(NOTES, query="hens", filter={"n": {"$lt": 5}})) == 5
        assert await store.alist_namespaces() == [NOTES]
        await store.adelete(NOTES, "k3")
        assert await store.abatch([GetOp(NOTES, "k3"), PutOp(NOTES, "k3", {"n": 33})]) == [
            None,
            None,
        ]
        again = await store.aget(NOTES, "k3")
        assert again is not None
        assert again.value == {"n": 33}

    asyncio.run(run())
    asyncio.run(run())  # on a loop of its own


# -- any sequence of operations ---------------------------------------------------------------------------------------

LABELS = st.sampled_from([("a",), ("a", "b"), ("a", "bc"), ("b",), ("b", "a", "b")])
NAMES = st.sampled_from(["1", "2", "a", "A", "%", "a/b"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3)},
    optional={
        "tag": st.sampled_from(["x", "y", ""]),
        "deep": st.dictionaries(st.sampled_from(["p", "q.r"]), st.integers(0, 2)),
    },
)
NUMBERS = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
    st.integers(-2, 2),
    min_size=1,
    max_size=2,
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-2, 2) | NUMBERS,
        "tag": st.sampled_from(["x", "", None])
        | st.fixed_dictionaries({"$ne": st.sampled_from(["x", None])}),
        "deep": st.dictionaries(
            st.sampled_from(["p", "q.r"]), st.integers(0, 2) | st.just({"$ne": 1}), max_size=2
        ),
    },
)
PUTS = st.builds(
    lambda labels, name, value: PutOp(labels, name, value, False), LABELS, NAMES, VALUES | st.none()
)
LISTS = st.builds(
    lambda prefix, depth: ListNamespacesOp((MatchCondition("prefix", prefix),), depth),
    LABELS | st.just(("*", "b")),
    st.none() | st.integers(1, 3),
)
OPS = st.one_of(
    PUTS,
    PUTS,
    st.builds(lambda labels, name: GetOp(labels, name), LABELS, NAMES),
    st.builds(
        lambda labels, filter: SearchOp(labels, filter, 1000),
        LABELS | st.just(()),
        FILTERS | st.none(),
    ),
    st.builds(  # pages of one namespace
        lambda filter, limit, offset: SearchOp(("b", "a", "b"), filter, limit, offset),
        FILTERS | st.none(),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    LISTS,
)


def plain(answer: Any, *, op: Any) -> Any:
    """An answer as the two can be compared: across namespaces each has an order of its own, and neither has a time."""
    if isinstance(op, SearchOp):
        found = [(item.namespace, item.key, item.value, item.score) for item in answer]
        return found if op.limit < 1000 else sorted(found, key=repr)
    return None if answer is None else (answer.namespace, answer.key, answer.value)


def living(twin: InMemoryStore, root: str) -> InMemoryStore:
    """LangGraph's store lists emptied namespaces too; this is one without."""
    found = InMemoryStore()
    for item in twin.search((root,), limit=1000):
        found.put(item.namespace, item.key, item.value)
    return found


def below(root: str, op: Any) -> Any:
    """The same operation under a root of its own."""
    if isinstance(op, ListNamespacesOp):
        depth = None if op.max_depth is None else op.max_depth + 1
        paths = tuple(
            MatchCondition(one.match_type, (root, *one.path)) for one in op.match_conditions or ()
        )
        return op._replace(match_conditions=paths, max_depth=depth)
    field = "namespace_prefix" if isinstance(op, SearchOp) else "namespace"
    return op._replace(**{field: (root, *getattr(op, field))})


@pytest.fixture(scope="module")
def lasting(url: str | None) -> Iterator[HTMStore]:
    with Memory(
        "atlas", url=url, tenant=f"tenant-{uuid.uuid4().hex[:12]}", embedder=HashEmbedder()
    ) as memory:
        yield HTMStore(memory=memory)


@given(st.lists(st.lists(OPS, min_size=1, max_size=6), max_size=6))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_after_any_operations_both_answer_alike(lasting: HTMStore, batches: Any) -> None:
    root, twin = uuid.uuid4().hex, InMemoryStore()
    for batch in batches:
        asked = [below(root, op) for op in batch]
        before = living(twin, root)
        ours, theirs = lasting.batch(asked), twin.batch(asked)
        for op, our, their in zip(asked, ours, theirs, strict=True):
            if isinstance(op, ListNamespacesOp):
                assert our == before.batch([op])[0]
            elif isinstance(op, SearchOp) and op.query is None:
                # Ours come newest first, as PostgresStore's do; the twin has them as they were put.
                every = plain(
                    before.batch([op._replace(limit=1_000, offset=0)])[0],
                    op=op._replace(limit=1_000),
                )
                assert all(each in every for each in plain(our, op=op)), op
                assert len(our) == len(their), op
            else:
                assert plain(our, op=op) == plain(their, op=op), op
    whole = SearchOp((root,), limit=1000)
    [ours], [theirs] = lasting.batch([whole]), twin.batch([whole])
    assert plain(ours, op=whole) == plain(theirs, op=whole)
