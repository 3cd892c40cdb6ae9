"""HTMVectorStore: documents come back exactly, the right ones are found, and `index()` keeps it in step with a source."""

from __future__ import annotations

import asyncio
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore

from htm_core import DimensionMismatch, InvalidInput, Memory, ModelError
from htm_core.db.database import Database
from htm_langchain import HTMEmbeddings, HTMVectorStore
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

LIBRARY = {
    "harbour": "The harbour opens at six in the morning.",
    "parking": "Parking behind the museum costs two coins.",
    "museum": "The museum shows ships and old charts.",
    "ferry": "The ferry to the island leaves from the harbour at noon.",
    "error": "Code E4711 means that the pump is blocked.",
}
YEARS = dict(zip(LIBRARY, (2021, 2022, 2023, 2024, 2025), strict=True))


@pytest.fixture
def store(memory: Memory) -> HTMVectorStore:
    return HTMVectorStore(collection="library", memory=memory)


@pytest.fixture
def library(store: HTMVectorStore) -> HTMVectorStore:
    store.add_texts(
        list(LIBRARY.values()), [{"year": year} for year in YEARS.values()], ids=list(LIBRARY)
    )
    return store


def ids(found: list[Document]) -> list[str | None]:
    return [document.id for document in found]


# -- finding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "text"])
def test_each_strategy_finds_the_right_document_first(
    library: HTMVectorStore, strategy: str
) -> None:
    assert (
        ids(library.similarity_search("What opens at six in the morning?", k=2, strategy=strategy))[
            0
        ]
        == "harbour"
    )


def test_words_that_a_model_cannot_know_are_found_by_default(memory: Memory) -> None:
    store = HTMVectorStore(DeterministicFakeEmbedding(size=64), memory=memory)
    store.add_texts(list(LIBRARY.values()), ids=list(LIBRARY))
    assert ids(store.similarity_search("E4711", k=1)) == ["error"]
    assert store.similarity_search_with_score("E4711", k=1, strategy="vector")[0][1] < 1


def test_a_store_has_a_strategy_of_its_own_that_a_search_may_change(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory, strategy="text")
    store.add_texts(["The harbour opens at six."], ids=["a"])
    assert store.similarity_search("lighthouse") == []
    assert ids(store.similarity_search("lighthouse", strategy="vector")) == ["a"]


def test_a_second_question_is_not_answered_with_the_words_of_the_first(
    library: HTMVectorStore,
) -> None:
    """langchain-postgres keeps the words of the first hybrid query in its configuration for ever."""
    for word, expected in (("parking", "parking"), ("E4711", "error"), ("island", "ferry")):
        assert ids(library.similarity_search(word, k=1)) == [expected]


def test_a_question_in_a_whole_sentence_finds_what_has_some_of_its_words(
    library: HTMVectorStore,
) -> None:
    """langchain-postgres asks for all words at once, and then finds nothing."""
    found = library.similarity_search(
        "Please tell me what the blocked pump was called in the list", strategy="text"
    )
    assert ids(found)[0] == "error"


def test_scores_are_relevances_that_tell_apart(library: HTMVectorStore) -> None:
    """langchain-postgres gives 0.983 for everything."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.similarity_search_with_relevance_scores("harbour opens at six", k=5)
    scored = {document.id: score for document, score in found}
    assert all(0 <= score <= 1 for score in scored.values())
    assert scored["harbour"] > 2 * scored["error"]
    assert found == library.similarity_search_with_score("harbour opens at six", k=5)
    assert library._select_relevance_score_fn()(0.25) == 0.25


def test_a_threshold_keeps_what_reaches_it(library: HTMVectorStore) -> None:
    scored = library.similarity_search_with_score("harbour opens at six", k=5)
    least = scored[0][1]
    assert ids(library.similarity_search("harbour opens at six", k=5, score_threshold=least)) == [
        "harbour"
    ]
    retriever = library.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": least, "k": 5}
    )
    assert ids(retriever.invoke("harbour opens at six")) == ["harbour"]


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "text"])
def test_a_question_that_is_a_book_and_one_of_signs_alone_are_answered(
    library: HTMVectorStore, strategy: str
) -> None:
    """PostgreSQL's parser of queries takes neither 40,000 words nor none."""
    book = "E4711 " + " ".join(f"word{n}" for n in range(40_000))
    assert "error" in ids(library.similarity_search(book, k=5, strategy=strategy))
    for signs in ("?! … --", "'", "\x00", ":* & |"):
        found = library.similarity_search(signs, k=5, strategy=strategy)
        assert len(found) == (0 if strategy == "text" else 5)


def test_the_nearest_to_a_vector_are_found(library: HTMVectorStore) -> None:
    vector = library.embeddings.embed_query(LIBRARY["museum"])
    assert ids(library.similarity_search_by_vector(vector, k=1)) == ["museum"]
    assert ids(
        library.similarity_search_by_vector(vector, k=1, filter={"year": {"$lt": 2023}})
    ) != ["museum"]


def test_a_blank_query_lists_what_satisfies_the_filter_in_order(library: HTMVectorStore) -> None:
    assert ids(library.similarity_search(" ", k=10, filter={"year": {"$gte": 2024}})) == [
        "ferry",
        "error",
    ]
    assert [score for _, score in library.similarity_search_with_score("", k=10)] == [0.0] * 5
    assert library.similarity_search("", score_threshold=0.1) == []
    assert ids(library.max_marginal_relevance_search("", k=2)) == ["harbour", "parking"]


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "similarity_score_threshold"])
def test_its_retriever_finds_in_every_way(library: HTMVectorStore, search_type: str) -> None:
    options = {"k": 1, "filter": {"year": {"$ne": 2021}}, "score_threshold": 0.0}
    retriever = library.as_retriever(search_type=search_type, search_kwargs=options)
    assert ids(retriever.invoke("the harbour")) == ["ferry"]
    assert ids(asyncio.run(retriever.ainvoke("the harbour"))) == ["ferry"]


def test_few_documents_among_many_are_all_found(memory: Memory) -> None:
    """LangGraph's store looks for the nearest of all and filters afterwards, and finds two of ten."""
    store = HTMVectorStore(memory=memory)
    store.add_texts(
        [f"note {n}" for n in range(1_500)], [{"rare": n % 100 == 0} for n in range(1_500)]
    )
    found = store.similarity_search("note", k=15, filter={"rare": True}, strategy="vector")
    assert len(found) == 15
    assert all(document.metadata["rare"] is True for document in found)


# -- diversity --------------------------------------------------------------------------------------------------------


def twins(store: Any) -> Any:
    texts = ["red apple pie", "red apple pie", "red apple cake", "green pear", "apple"]
    store.add_texts(texts, ids=list("abcde"))
    return store


@pytest.mark.parametrize("weight", [0, 0.3, 0.5, 1.0])
def test_diversity_is_that_of_langchains_own_store(memory: Memory, weight: float) -> None:
    """langchain-postgres takes a weight of 0 for none given, and gives the chosen back by similarity."""
    fake = DeterministicFakeEmbedding(size=8)
    theirs, ours = twins(InMemoryVectorStore(fake)), twins(HTMVectorStore(fake, memory=memory))
    for query in ("a red pie", "green apple", "pear"):
        asked: dict[str, Any] = {"k": 3, "fetch_k": 5, "lambda_mult": weight}
        expected = [
            each.page_content for each in theirs.max_marginal_relevance_search(query, **asked)
        ]
        assert [
            each.page_content for each in ours.max_marginal_relevance_search(query, **asked)
        ] == expected
        vector = fake.embed_query(query)
        by_vector = ours.max_marginal_relevance_search_by_vector(vector, **asked)
        assert [each.page_content for each in by_vector] == expected


def test_diversity_leaves_a_twin_out_and_keeps_to_the_filter(library: HTMVectorStore) -> None:
    library.add_texts([LIBRARY["harbour"]], [{"year": 2021}], ids=["twin"])
    asked = "When does the harbour open in the morning?"
    assert set(ids(library.similarity_search(asked, k=2))) == {"harbour", "twin"}
    assert (
        len(
            {"harbour", "twin"}
            & set(ids(library.max_marginal_relevance_search(asked, k=2, lambda_mult=0.2)))
        )
        == 1
    )
    assert ids(library.max_marginal_relevance_search(asked, k=9, filter={"year": 2025})) == [
        "error"
    ]


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "id", ["1", "foo", "it's", 'a"b\\c', "ü😀", "x" * 5_000, " ", "%s", "00000000-0000-0000-0000-0"]
)
def test_an_id_is_any_text(store: HTMVectorStore, id: str) -> None:
    """langchain-postgres takes only UUIDs."""
    assert store.add_documents([Document(page_content="word", id=id)]) == [id]
    assert ids(store.get_by_ids([id])) == [id]
    assert ids(store.similarity_search("word")) == [id]
    store.delete([id])
    assert store.get_by_ids([id]) == []


def test_ids_are_made_where_there_are_none(store: HTMVectorStore) -> None:
    made = store.add_documents([Document(page_content="a", id="foo"), Document(page_content="b")])
    assert made[0] == "foo"
    assert made[1] not in (None, "", "foo")
    assert [each.page_content for each in store.get_by_ids(made)] == ["a", "b"]


def test_adding_again_replaces_text_metadata_and_vectors(store: HTMVectorStore) -> None:
    store.add_texts(["red apple"], [{"old": True}], ids=["x"])
    store.add_texts(["green pear"], [{"new": 1}], ids=["x"])
    assert store.similarity_search("green pear") == [
        Document(id="x", page_content="green pear", metadata={"new": 1})
    ]
    assert store.similarity_search("apple", strategy="text") == []
    assert store.similarity_search_with_score("red apple", strategy="vector")[0][1] < 0.5


def test_of_the_same_id_twice_the_last_one_counts(store: HTMVectorStore) -> None:
    assert store.add_texts(["one", "two", "three"], ids=["x", "y", "x"], batch_size=2) == [
        "x",
        "y",
        "x",
    ]
    assert [each.page_content for each in store.get_by_ids(["x", "y"])] == ["three", "two"]


def test_what_is_given_is_not_changed_and_what_is_found_is_fresh(store: HTMVectorStore) -> None:
    given = Document(page_content="word", metadata={"deep": {"list": [1]}})
    store.add_documents([given])
    assert given == Document(page_content="word", metadata={"deep": {"list": [1]}})
    found = store.similarity_search("word")[0]
    found.metadata["deep"]["list"].append(2)
    assert store.similarity_search("word")[0].metadata == {"deep": {"list": [1]}}


def test_texts_may_come_from_a_generator_in_batches(
    store: HTMVectorStore, embedder: HashEmbedder
) -> None:
    """langchain-postgres writes each document in a transaction of its own."""
    store.client.count()  # the schema is there
    before, written, real = embedder.calls, [], Database.transaction

    def transaction(database: Database, *given: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():  # not the worker's
            written.append(given)
        return real(database, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "transaction", transaction)
        made = store.add_texts((f"text {n}" for n in range(250)), batch_size=100)
    assert len(written) == 3
    assert len(set(made)) == 250
    assert embedder.calls - before == 3
    assert store.client.count() == 250


def test_nothing_is_written_when_one_text_is_wrong_or_the_model_fails(
    store: HTMVectorStore, embedder: HashEmbedder
) -> None:
    with pytest.raises(InvalidInput, match="expected every text to be a str, got int"):
        store.add_texts(["fine", 7])  # type: ignore[list-item]
    embedder.down = True
    with pytest.raises(ModelError):
        store.add_texts(["fine"])
    embedder.down = False
    assert store.client.count() == 0


def test_documents_are_deleted_by_ids_by_filter_by_both_and_all(library: HTMVectorStore) -> None:
    """langchain-postgres filters a deletion on real columns alone."""
    assert library.delete([]) is True
    assert library.delete(["nobody"]) is True
    assert library.client.count() == 5
    library.delete(["harbour", "nobody"])
    library.delete(["museum", "ferry"], filter={"year": 2023})
    library.delete(filter={"$or": [{"year": 2022}, {"year": {"$gt": 2030}}]})
    assert ids(library.similarity_search("", k=9)) == ["ferry", "error"]
    with pytest.raises(InvalidInput, match="an empty one; delete\\(\\) deletes everything"):
        library.delete(filter={})
    library.delete()
    assert library.client.count() == 0


def test_deleting_everything_leaves_other_collections_and_tenants_alone(
    make: Make, library: HTMVectorStore
) -> None:
    other = HTMVectorStore(memory=make(), collection="other")
    foreign = HTMVectorStore(memory=make(tenant=f"{library.memory.tenant}-x"), collection="library")
    for store in (other, foreign):
        store.add_texts(["mine"], ids=["mine"])
    library.delete()
    assert (
        ids(other.similarity_search("mine")) == ids(foreign.similarity_search("mine")) == ["mine"]
    )


# -- exactly ----------------------------------------------------------------------------------------------------------

ODD: dict[str, Any] = {
    "float": 1.0,
    "int": 1,
    "true": True,
    "none": None,
    "huge": 1e300,
    "big": 10**400,
    "zero": -0.0,
    "sixteen": 1e16,
    "tuple": (1, [2.0, (3,)]),
    "set": {1},
    "bytes": b"\x00\xff",
    "naive": datetime(2025, 1, 2, 3, 4),
    "aware": datetime(2025, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=2))),
    "date": date(2025, 1, 2),
    "uuid": UUID(int=7),
    "decimal": Decimal("1.10"),
    "nul": "a\0b",
    "surrogate": "\ud800",
    "pair": "\ud83d\ude00",
    "text": "ü😀\n'\"",
    "deep": {"a": {"b": [{"c": ()}]}},
    "": "empty key",
    "$htm": "not ours",
    "ke\0y": "odd key",
}


def same(left: Any, right: Any) -> bool:
    """Equal, types and all, however deep."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


@pytest.mark.parametrize("key", ODD)
def test_metadata_comes_back_with_its_types(store: HTMVectorStore, key: str) -> None:
    store.add_texts(["word"], [{key: ODD[key], "also": 1}], ids=["x"])
    assert same(store.get_by_ids(["x"])[0].metadata, {key: ODD[key], "also": 1})
    assert same(store.similarity_search("word")[0].metadata, {key: ODD[key], "also": 1})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters()), JSON, max_size=4), st.text(st.characters()))
@example(ODD, "a\0b \ud800")
@example({}, "")
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_document_comes_back_as_it_was(
    store: HTMVectorStore, metadata: dict[str, Any], text: str
) -> None:
    store.add_texts([text], [metadata], ids=["x"])
    found = store.get_by_ids(["x"])[0]
    assert same(found.metadata, metadata)
    assert same(found.page_content, text)


def test_filters_see_odd_values_as_json_has_them(store: HTMVectorStore) -> None:
    store.add_texts(["word"], [ODD], ids=["x"])
    for where in (
        {"float": 1},
        {"sixteen": 10**16},
        {"tuple": [1, [2, [3]]]},
        {"set": {"$contains": 1}},
        {"aware": datetime(2025, 1, 2, 1, 4, tzinfo=UTC)},
        {"naive": {"$lt": "2025-02"}},
        {"uuid": str(UUID(int=7))},
        {"decimal": "1.10"},
        {"nul": "a\ufffdb"},
    ):
        assert ids(store.similarity_search("word", filter=where)) == ["x"], where


def test_what_another_adapter_put_is_a_document_too(store: HTMVectorStore) -> None:
    store.client.put([{"id": "x", "content": "word", "metadata": {"a": 1}, "payload": b"not ours"}])
    store.client.put([{"id": "y", "content": "word", "payload": b'{"class_name": "TextNode"}'}])
    assert store.get_by_ids(["x", "y"]) == [
        Document(id="x", page_content="word", metadata={"a": 1}),
        Document(id="y", page_content="word"),
    ]


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": 10}, {"ten"}),
        ({"n": {"$eq": 10}}, {"ten"}),
        ({"n": {"$ne": 10}}, {"nine", "text", "none"}),
        ({"n": {"$gte": 10}}, {"ten"}),
        ({"n": {"$lt": 10}}, {"nine"}),
        ({"n": {"$between": [9, 10]}}, {"nine", "ten"}),
        ({"n": {"$in": [10, "10"]}}, {"ten", "text"}),
        ({"n": {"$nin": [10, "10"]}}, {"nine", "none"}),
        ({"n": {"$exists": True}}, {"nine", "ten", "text"}),
        ({"n": {"$exists": False}}, {"none"}),
        ({"file": {"$like": "%.md"}}, {"nine", "none"}),
        ({"file": {"$like": "_.md"}}, {"nine"}),
        ({"file": {"$ilike": "%.MD"}}, {"nine", "ten", "none"}),
        ({"$and": [{"n": {"$gt": 1}}, {"file": {"$like": "A%"}}]}, {"ten"}),
        ({"$or": [{"n": 9}, {"n": "10"}]}, {"nine", "text"}),
        ({"$not": {"n": {"$gt": 1}}}, {"text", "none"}),
        ({"file": "it's' OR '1'='1"}, {"text"}),
        ({"x' OR '1'='1": 1}, set()),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_filters_have_true_types_and_bind_what_they_are_given(
    store: HTMVectorStore, where: dict[str, Any], expected: set[str]
) -> None:
    """LangGraph's store compares numbers as texts, and LlamaIndex's PostgreSQL store lets a value be read as SQL."""
    about: dict[str, dict[str, Any]] = {
        "nine": {"n": 9, "file": "a.md"},
        "ten": {"n": 10, "file": "A1.MD"},
        "text": {"n": "10", "file": "it's' OR '1'='1"},
        "none": {"file": "ab.md"},
    }
    store.add_texts(["word"] * 4, list(about.values()), ids=list(about))
    assert set(ids(store.similarity_search("word", k=9, filter=where))) == expected
    assert set(ids(store.similarity_search("", k=9, filter=where))) == expected
    store.delete(filter=where)
    assert set(ids(store.similarity_search("", k=9))) == about.keys() - expected


VALUES = st.sampled_from(
    [None, True, False, 0, 1, 10, 9.5, "", "a", "ab", "10", "A", [1, "a"], {"b": 1}]
)
BOUNDS = st.sampled_from([0, 1, 9.5, 10, "", "a", "10", "ab"])
NAMES = st.sampled_from(["a", "b", "a.b", "c"])
TESTS = st.one_of(
    st.builds(lambda name, value: {name: value}, st.sampled_from(["$eq", "$ne"]), VALUES),
    st.builds(
        lambda name, value: {name: value}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), BOUNDS
    ),
    st.builds(
        lambda name, values: {name: values},
        st.sampled_from(["$in", "$nin"]),
        st.lists(VALUES, max_size=3),
    ),
    st.builds(
        lambda name, pattern: {name: pattern},
        st.sampled_from(["$like", "$ilike"]),
        st.text("aAb1%_", max_size=3),
    ),
    st.builds(lambda bounds: {"$between": bounds}, st.lists(BOUNDS, min_size=2, max_size=2)),
    st.builds(lambda there: {"$exists": there}, st.booleans()),
)
FILTERS = st.recursive(
    st.builds(lambda name, test: {name: test}, NAMES, TESTS),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)
MISSING = object()


def holds(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """What a filter means, written again in Python, to compare with PostgreSQL."""
    ((name, value),) = where.items()
    if name == "$and":
        return all(holds(part, metadata) for part in value)
    if name == "$or":
        return any(holds(part, metadata) for part in value)
    if name == "$not":
        return not holds(value, metadata)
    ((test, wanted),) = value.items()
    have = metadata.get(name, MISSING)
    if have is MISSING and name == "a.b" and isinstance(metadata.get("a"), dict):
        have = metadata["a"].get("b", MISSING)
    return passes(test, None if have is MISSING else have, wanted, there=have is not MISSING)


def passes(test: str, have: Any, wanted: Any, *, there: bool) -> bool:
    if test == "$exists":
        return there is wanted
    if test in ("$ne", "$nin"):
        return not passes({"$ne": "$eq", "$nin": "$in"}[test], have, wanted, there=there)
    if test == "$in":
        return any(passes("$eq", have, each, there=there) for each in wanted)
    if test == "$between":
        return passes("$gte", have, wanted[0], there=there) and passes(
            "$lte", have, wanted[1], there=there
        )
    if test in ("$like", "$ilike"):
        import re

        pattern = "".join(
            {"%": "(?s:.*)", "_": "(?s:.)"}.get(sign, re.escape(sign)) for sign in wanted
        )
        return isinstance(have, str) and bool(
            re.fullmatch(pattern, have, re.I if test == "$ilike" else 0)
        )
    number = (int, float)
    alike = (
        type(have) is type(wanted)
        or (isinstance(have, number) and isinstance(wanted, number) and not isinstance(have, bool) and not isinstance(wanted, bool))
    )  # fmt: skip
    if test == "$eq":
        return alike and bool(have == wanted)
    ordered = {"$gt": "__gt__", "$gte": "__ge__", "$lt": "__lt__", "$lte": "__le__"}[test]
    return alike and bool(
        getattr(float(have) if isinstance(have, number) else have, ordered)(wanted)
    )


@pytest.fixture
def shelf(store: HTMVectorStore) -> tuple[HTMVectorStore, dict[str, dict[str, Any]]]:
    """A store with every value under "a", half of them with others under "b", "c" and "a.b"."""
    values = [
        None,
        True,
        False,
        0,
        1,
        10,
        9.5,
        "",
        "a",
        "ab",
        "10",
        "A",
        [1, "a"],
        {"b": 1},
        {"b": "a"},
    ]
    about: dict[str, dict[str, Any]] = {str(n): {"a": value} for n, value in enumerate(values)}
    about |= {f"m{n}": {"a": value, "b": values[-n], "c": 1} for n, value in enumerate(values)}
    about |= {"dot": {"a.b": 10, "a": {"b": 1}}, "none": {}}
    store.add_texts(["word"] * len(about), list(about.values()), ids=list(about))
    return store, about


@given(where=FILTERS)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_filter_finds_what_its_meaning_in_python_says(
    shelf: tuple[HTMVectorStore, dict[str, dict[str, Any]]], where: dict[str, Any]
) -> None:
    store, about = shelf
    expected = {id for id, metadata in about.items() if holds(where, metadata)}
    assert set(ids(store.similarity_search("", k=100, filter=where))) == expected
    assert set(ids(store.similarity_search("word", k=100, filter=where))) == expected


# -- what cannot be meant ---------------------------------------------------------------------------------------------


def test_what_cannot_be_meant_is_refused_by_name(library: HTMVectorStore) -> None:
    for wrong, message in (
        ({"filter": {"year": {"$regex": "x"}}}, r"unknown operator '\$regex'; known are"),
        ({"filter": {"$nor": []}}, r"unknown operator '\$nor'"),
        ({"filter": lambda document: True}, "expected filter to be a mapping"),
        (
            {"strategy": "sideways"},
            "expected mode to be one of 'hybrid', 'vector', 'text', got 'sideways'",
        ),
        (
            {"mode": "sideways"},
            "expected mode to be one of 'hybrid', 'vector', 'text', got 'sideways'",
        ),
        ({"mode": "text", "strategy": "text"}, "two names of one option"),
        ({"filters": {}}, "expected options of filter, mode, score_threshold; got filters"),
        ({"score_threshold": 2}, "expected min_score to be a number from 0 to 1, got 2"),
        ({"k": -1}, "expected limit"),
    ):
        with pytest.raises(InvalidInput, match=message):
            library.similarity_search("harbour", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="expected a query that is a text, got dict"):
        library.similarity_search({"query": "harbour"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="expected lambda_mult from 0"):
        library.max_marginal_relevance_search("harbour", lambda_mult=1.5)
    with pytest.raises(
        InvalidInput, match="expected as many metadatas as texts, which are 2, got 1"
    ):
        library.add_texts(["a", "b"], [{}])
    with pytest.raises(InvalidInput, match="expected as many ids as texts, which are 1, got 2"):
        library.add_texts(["a"], ids=["x", "y"])
    with pytest.raises(InvalidInput, match="expected id to be a text"):
        library.add_texts(["a"], ids=[7])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="expected every metadata to be a mapping, got str"):
        library.add_texts(["a"], ["b"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="batch_size"):
        library.add_texts(["a"], batch_size=0)
    assert library.client.count() == 5


def test_a_memory_comes_alone_and_is_one(memory: Memory) -> None:
    for wrong in (
        {"memory": memory, "tenant": "other"},
        {"memory": memory, "url": "postgresql://x"},
        {"memory": "m"},
    ):
        with pytest.raises(InvalidInput, match="memory"):
            HTMVectorStore(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"expected an htm_core\.Memory"):
        HTMEmbeddings("m")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="embedder"):
        HTMVectorStore(object(), memory=memory)  # type: ignore[arg-type]


def test_vectors_of_two_models_never_meet(make: Make, library: HTMVectorStore) -> None:
    for embedder in (HashEmbedder(32, name="small"), HashEmbedder(64, name="other")):
        other = HTMVectorStore(embedder, collection="library", memory=make())  # type: ignore[arg-type]
        for ask in (other.similarity_search, other.max_marginal_relevance_search):
            with pytest.raises(DimensionMismatch, match="expected vectors of"):
                ask("harbour")
        with pytest.raises(DimensionMismatch, match="expected vectors of"):
            other.add_texts(["more"])
        assert ids(other.similarity_search("E4711", strategy="text")) == ["error"]


def test_nothing_of_the_address_is_shown(tenant: str) -> None:
    store = HTMVectorStore(url="postgresql://ann:sesame@db.example/x", tenant=tenant)
    for shown in (repr(store), str(store), repr(store.embeddings), repr(store.as_retriever())):
        assert "sesame" not in shown
        assert "db.example" not in shown


# -- index() ----------------------------------------------------------------------------------------------------------


def pages(*texts: str, source: str = "a.md") -> list[Document]:
    return [Document(page_content=text, metadata={"source": source}) for text in texts]


Shown = dict[str, str]


def shown(store: HTMVectorStore) -> set[tuple[str, str]]:
    return {
        (each.page_content, each.metadata["source"]) for each in store.similarity_search("", k=100)
    }


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("cleanup", [None, "incremental", "full", "scoped_full"])
def test_an_index_is_kept_in_step_with_its_source(
    store: HTMVectorStore, cleanup: Any, way: str
) -> None:
    records = InMemoryRecordManager("library")
    records.create_schema()

    def run(documents: list[Document]) -> dict[str, int]:
        told: dict[str, Any] = {
            "cleanup": cleanup,
            "source_id_key": "source",
            "key_encoder": "sha256",
        }
        if way == "async":
            return asyncio.run(aindex(documents, records, store, **told))  # type: ignore[return-value]
        return index(documents, records, store, **told)  # type: ignore[return-value]

    first = pages("one", "two", "three") + pages("four", source="b.md")
    assert run(first)["num_added"] == 4
    assert run(first) == {"num_added": 0, "num_updated": 0, "num_skipped": 4, "num_deleted": 0}
    changed = run(pages("one", "two", "new"))
    assert changed["num_added"] == 1
    assert (
        changed["num_deleted"] == {None: 0, "incremental": 1, "scoped_full": 1, "full": 2}[cleanup]
    )
    kept = {("one", "a.md"), ("two", "a.md"), ("new", "a.md")}
    if cleanup is None:
        kept |= {("three", "a.md")}
    if cleanup != "full":
        kept |= {("four", "b.md")}
    assert shown(store) == kept
    if cleanup == "full":
        assert run([])["num_deleted"] == 3
        assert shown(store) == set()


# -- both colours -----------------------------------------------------------------------------------------------------


def test_stores_are_made_from_texts_and_documents_in_both_colours(make: Make) -> None:
    memory, fake = make(), DeterministicFakeEmbedding(size=8)
    store = HTMVectorStore.from_texts(
        ["a", "b"], fake, [{"n": 1}, {"n": 2}], ids=["x", "y"], memory=memory
    )
    assert store.get_by_ids(["y"]) == [Document(id="y", page_content="b", metadata={"n": 2})]
    documents = [Document(page_content="c", id="z")]
    assert ids(
        HTMVectorStore.from_documents(documents, fake, memory=memory).get_by_ids(["z", "x"])
    ) == ["z", "x"]
    own = HTMVectorStore.from_texts(["d"], memory=memory, collection="own")
    assert repr(own.embeddings) == "HTMEmbeddings('HashEmbedder:hash')"
    made = asyncio.run(HTMVectorStore.afrom_texts(["e"], fake, ids=["w"], memory=memory))
    asyncio.run(
        HTMVectorStore.afrom_documents([Document(page_content="f", id="v")], fake, memory=memory)
    )
    assert ids(made.get_by_ids(["v", "w"])) == ["v", "w"]


def test_each_method_awaited_answers_the_same_in_one_event_loop_after_another(
    library: HTMVectorStore,
) -> None:
    async def ask(name: str, *given: Any, **options: Any) -> Any:
        return await getattr(library, f"a{name}")(*given, **options)

    vector = library.embeddings.embed_query("harbour")
    for name, query in {
        "similarity_search": ("harbour",),
        "similarity_search_with_score": ("harbour",),
        "similarity_search_with_relevance_scores": ("harbour",),
        "similarity_search_by_vector": (vector,),
        "max_marginal_relevance_search": ("harbour",),
        "max_marginal_relevance_search_by_vector": (vector,),
    }.items():
        expected = getattr(library, name)(*query, k=3, filter={"year": {"$gt": 2021}})
        assert len(expected) == 3
        assert asyncio.run(ask(name, *query, k=3, filter={"year": {"$gt": 2021}})) == expected
    assert asyncio.run(ask("get_by_ids", ["ferry"])) == library.get_by_ids(["ferry"])
    assert asyncio.run(ask("delete", filter={"year": 2021})) is True
    assert asyncio.run(ask("add_texts", ["again"], ids=["ferry"])) == ["ferry"]
    assert library.get_by_ids(["harbour", "ferry"]) == [Document(id="ferry", page_content="again")]


def test_many_tasks_and_threads_may_add_the_same_at_once(make: Make) -> None:
    store = HTMVectorStore(memory=make(), collection="together")
    texts = [f"text {n}" for n in range(20)]
    names = [str(n) for n in range(20)]

    async def together() -> None:
        await asyncio.gather(*(store.aadd_texts(texts, ids=names) for _ in range(6)))

    asyncio.run(together())
    with ThreadPoolExecutor(6) as threads:
        for done in [
            threads.submit(store.add_texts, texts[::-1], ids=names[::-1]) for _ in range(6)
        ]:
            done.result()
    assert store.client.count() == 20
    assert ids(store.similarity_search("text 7", k=1)) == ["7"]
    assert len(store.similarity_search("text", k=100)) == 20


# -- vectors that are there already, and scores -----------------------------------------------------------------------


def test_texts_with_their_vectors_are_put_without_calling_the_model(
    make: Make, embedder: HashEmbedder
) -> None:
    store = HTMVectorStore(embedder, memory=make(), collection="given")  # type: ignore[arg-type]
    words = ["The harbour opens at six.", "A pump is blocked."]
    vectors = embedder.embed_documents(words)
    calls = embedder.calls
    assert store.add_embeddings(
        words, vectors, [{"year": 1}, {"year": 2}], ids=["harbour", "pump"]
    ) == [
        "harbour",
        "pump",
    ]
    assert asyncio.run(
        store.aadd_embeddings(["A lamp."], embedder.embed_documents(["A lamp."]), ids=["lamp"])
    ) == ["lamp"]
    assert embedder.calls == calls + 1
    assert ids(store.similarity_search("When does the harbour open?", k=1, mode="vector")) == [
        "harbour"
    ]
    assert ids(store.similarity_search("pump", k=1, filter={"year": 2}, mode="text")) == ["pump"]
    with pytest.raises(InvalidInput, match="one embedding for each of the 2 texts, got 1"):
        store.add_embeddings(words, vectors[:1])
    with pytest.raises(DimensionMismatch):
        store.add_embeddings(["short"], [[1.0, 2.0]])


def test_a_store_is_made_of_pairs_of_text_and_vector(make: Make, embedder: HashEmbedder) -> None:
    pairs = list(zip(["red", "blue"], embedder.embed_documents(["red", "blue"]), strict=True))
    made: Any = {"embedding": embedder, "memory": make(), "collection": "pairs", "ids": ["r", "b"]}
    assert ids(HTMVectorStore.from_embeddings(pairs, **made).similarity_search("blue", k=1)) == [
        "b"
    ]
    awaited = asyncio.run(HTMVectorStore.afrom_embeddings(pairs, **made))
    assert {document.id for document in awaited.get_by_ids(["r", "b"])} == {"r", "b"}


def test_every_search_says_its_scores_when_asked(library: HTMVectorStore) -> None:
    vector = library.embeddings.embed_query("harbour")
    for search, asked in (
        ("similarity_search", "harbour"),
        ("similarity_search_by_vector", vector),
        ("max_marginal_relevance_search", "harbour"),
        ("max_marginal_relevance_search_by_vector", vector),
    ):
        scored = (
            search.replace("_by_vector", "_with_score_by_vector")
            if "vector" in search
            else f"{search}_with_score"
        )
        plain = getattr(library, search)(asked, k=3)
        pairs = getattr(library, scored)(asked, k=3)
        assert [document.id for document, _ in pairs] == ids(plain)
        assert all(0 <= score <= 1 for _, score in pairs)
        assert max(score for _, score in pairs) > 0
        assert asyncio.run(getattr(library, f"a{scored}")(asked, k=3)) == pairs
        assert getattr(library, scored)(asked, k=3, score_threshold=1.0) == [
            pair for pair in pairs if pair[1] == 1.0
        ]


def test_a_text_that_is_not_indexed_is_found_by_id_and_filter_alone(
    make: Make, embedder: HashEmbedder
) -> None:
    store = HTMVectorStore(embedder, memory=make(), collection="unindexed")  # type: ignore[arg-type]
    calls = embedder.calls
    store.add_texts(["The harbour opens at six."], [{"kind": "raw"}], ids=["raw"], index=False)
    asyncio.run(
        store.aadd_documents(
            [Document(id="more", page_content="More.", metadata={"kind": "raw"})], index=False
        )
    )
    assert embedder.calls == calls
    assert store.similarity_search("harbour") == []
    assert ids(store.similarity_search("", filter={"kind": "raw"})) == ["raw", "more"]
    assert store.get_by_ids(["raw"])[0].page_content == "The harbour opens at six."
    with pytest.raises(InvalidInput, match="expected index to be True or False"):
        store.add_texts(["x"], index="hnsw")  # type: ignore[arg-type]


def test_the_older_name_of_the_mode_still_works(memory: Memory) -> None:
    store = HTMVectorStore(memory=memory, strategy="text")
    assert (store.mode, store.strategy) == ("text", "text")
    with pytest.raises(InvalidInput, match="two names of one option"):
        HTMVectorStore(memory=memory, mode="text", strategy="vector")


def test_a_users_memory_makes_no_private_collection_and_says_so_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("htm_core.prompt.scope._warned", set())
    HTMVectorStore(memory=memory)
    assert caplog.records == []
    for user in ("ann", "bob"):
        HTMVectorStore(memory=memory.of(user=user))
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "a collection belongs to the tenant"
    ]


def test_a_nul_and_a_nan_in_one_documents_metadata_fail_no_batch_and_come_back(
    memory: Memory,
) -> None:
    store = HTMVectorStore(memory=memory, collection="odd")
    ids = store.add_texts(["one", "two", "three"], [{"a": "x\x00"}, {"a": float("nan")}, {"a": 1}])
    nul, nan, plain = store.get_by_ids(ids)
    assert (nul.metadata["a"], plain.metadata["a"]) == ("x\x00", 1)
    assert nan.metadata["a"] != nan.metadata["a"]
