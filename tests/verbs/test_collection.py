"""Collections: documents under ids of their caller's, found by meaning, words and filters, and nobody else's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import DimensionMismatch, InvalidInput, Memory, ModelError
from htm_core.base.types import CollectionHit, CollectionItem
from htm_core.collections.collection import Collection
from htm_core.db.database import Database
from htm_core.models.embedders import resolve
from tests.stand_ins import HashEmbedder

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
Open = Callable[..., Collection]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_(database: Database, tenant: str, embedder: HashEmbedder, clock: Clock) -> Open:
    """Opens collections of this test's tenant."""

    def collection(name: str = "docs", **options: Any) -> Collection:
        return Collection(
            database,
            **{"tenant": tenant, "name": name, "embedder": resolve(embedder), "clock": clock}
            | options,
        )

    return collection


@pytest.fixture
def docs(open_: Open) -> Collection:
    return open_()


@pytest.fixture
def given(open_: Open) -> Collection:
    """A collection whose vectors are given."""
    return open_("given", embedder=None)


def ids(found: list[CollectionHit]) -> list[str | None]:
    return [hit.item.id for hit in found]


def numbered(count: int, **fields: Any) -> list[Mapping[str, Any]]:
    return [
        {"id": f"n{n}", "content": f"item number{n}", "metadata": {"n": n}, **fields}
        for n in range(count)
    ]


# -- putting and getting ----------------------------------------------------------------------------------------------


def test_an_item_comes_back_as_it_was_put(docs: Collection, clock: Clock) -> None:
    item = CollectionItem(
        id="a",
        content="It's 100% “exact”\n\ttext 😀",
        value={"deep": {"list": [1, 2.5, None, True, "x"]}, "empty": {}},
        metadata={"page": 7, "tags": ["a", "b"], "größe": "ß"},
        namespace=("users", "ann@example.org"),
        payload=b"\x00\xff bytes",
        reference="file:///tmp/a b.txt",
        ttl=timedelta(minutes=5),
    )
    assert docs.put([item]) == ["a"]
    [found] = docs.get(["a"], namespace=("users", "ann@example.org"))
    for name in ("id", "content", "value", "metadata", "namespace", "payload", "reference", "ttl"):
        assert getattr(found, name) == getattr(item, name)
    assert found.created_at == found.updated_at == clock.now
    assert found.expires_at == clock.now + timedelta(minutes=5)


@pytest.mark.parametrize(
    "id",
    [
        "foo",
        "1",
        " ",
        "'; drop table documents; --",
        "日本語 😀",
        "a\nb",
        "%s ? {x}",
        "a/b.c*",
        "x" * 9_000,
    ],
)
def test_any_text_is_an_id(docs: Collection, id: str) -> None:
    docs.put([{"id": id, "content": "one thing"}, {"id": id + ".", "content": "another thing"}])
    assert [item.id for item in docs.get([id])] == [id]
    assert docs.delete([id]) == 1
    assert docs.count() == 1


def test_ids_are_made_where_there_are_none_and_stand_in_the_order_of_the_items(
    docs: Collection,
) -> None:
    first, second, third = docs.put(
        [{"content": "x"}, {"id": "mine", "content": "y"}, {"content": "x"}]
    )
    assert second == "mine"
    assert first != third  # the same words twice are two documents: nothing is merged
    assert [item.content for item in docs.get([third, second, "nobody", first])] == ["x", "y", "x"]


def test_of_the_same_id_twice_the_last_counts(docs: Collection) -> None:
    assert docs.put(
        [{"id": "a", "content": "old"}, {"id": "b"}, {"id": "a", "content": "new"}]
    ) == ["a", "b", "a"]
    assert docs.count() == 2
    assert docs.get(["a"])[0].content == "new"


def test_putting_again_replaces_everything_but_the_time_of_creation(
    docs: Collection, clock: Clock
) -> None:
    docs.put(
        [
            {
                "id": "a",
                "content": "red apples",
                "metadata": {"k": 1},
                "payload": b"1",
                "reference": "r",
            }
        ]
    )
    clock.pass_(hours=1)
    docs.put([{"id": "a", "content": "blue berries"}])
    [item] = docs.get(["a"])
    assert (item.metadata, item.payload, item.reference) == ({}, None, None)
    assert (item.created_at, item.updated_at) == (START, START + timedelta(hours=1))
    assert docs.query("red apples", mode="text") == []
    [hit] = docs.query("red apples", mode="vector")
    [same] = docs.query("blue berries", mode="vector")
    assert hit.cosine == pytest.approx(0.0, abs=0.5)
    assert same.cosine == pytest.approx(1.0, abs=1e-3)


def test_an_item_that_is_put_again_without_an_index_keeps_no_old_vector(docs: Collection) -> None:
    docs.put([{"id": "a", "texts": ["red apples", "green pears"]}])
    docs.put([{"id": "a", "texts": ["red apples"]}])
    assert docs.query("green pears", mode="text") == []
    docs.put([{"id": "a", "content": "red apples", "index": False}])
    assert docs.query("red apples") == []
    assert ids(docs.query()) == ["a"]


def test_ids_of_several_namespaces_are_pairs(docs: Collection) -> None:
    docs.put(
        [
            {"id": "1", "namespace": labels, "value": {"in": labels}}
            for labels in (["a"], ["a", "b"], ["b"])
        ]
    )
    found = docs.get([(("b",), "1"), (("nowhere",), "1"), (("a", "b"), "1"), (("b",), "1")])
    assert [item.namespace for item in found] == [("b",), ("a", "b")]
    assert docs.delete([(("a",), "1"), (("b",), "1")]) == 2
    assert docs.namespaces() == [("a", "b")]
    with pytest.raises(InvalidInput, match="expected ids to be a text"):
        docs.get(["1", (("b",), "1")])


def test_what_is_removed_and_put_at_once_changes_at_once_or_not_at_all(
    docs: Collection, embedder: HashEmbedder
) -> None:
    docs.put([{"id": "old", "content": "hens"}, {"id": "new", "content": "cats"}])
    embedder.down = True
    with pytest.raises(ModelError):
        docs.put([{"id": "new", "content": "dogs"}], remove=["old"])
    assert [item.content for item in docs.get(["old", "new"])] == ["hens", "cats"]
    embedder.down = False
    assert docs.put([{"id": "new", "content": "dogs"}], remove=["old", "never there"]) == ["new"]
    assert [item.content for item in docs.get(["old", "new"])] == ["dogs"]
    docs.put([], remove=["new"])
    assert docs.count() == 0


def test_nothing_is_written_when_the_embedder_fails(
    docs: Collection, embedder: HashEmbedder
) -> None:
    docs.put([{"id": "a", "content": "kept"}])
    embedder.down = True
    with pytest.raises(ModelError):
        docs.put([{"id": "a", "content": "lost"}, {"id": "b", "content": "lost too"}])
    assert [item.content for item in docs.get(["a", "b"])] == ["kept"]


def test_what_needs_no_embedding_asks_no_embedder(docs: Collection, embedder: HashEmbedder) -> None:
    embedder.down = True
    docs.put(
        [{"id": "a"}, {"id": "b", "content": "words", "index": False}, {"id": "c", "content": "  "}]
    )
    assert ids(docs.query()) == ["a", "b", "c"]
    assert embedder.calls == 0


# -- asking -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def animals(docs: Collection) -> Collection:
    docs.put(
        [
            {"id": "cat", "content": "The cat sleeps on the warm mat", "metadata": {"legs": 4}},
            {"id": "dog", "content": "The dog barks at the postman", "metadata": {"legs": 4}},
            {"id": "hen", "content": "A hen lays an egg each morning", "metadata": {"legs": 2}},
        ]
    )
    return docs


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_each_mode_finds_the_right_document_first(animals: Collection, mode: str) -> None:
    found = animals.query("a cat on a mat", mode=mode)
    assert found[0].item.id == "cat"
    assert all(hit.score is not None and 0 <= hit.score <= 1 for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def cosine_score(cosine: float | None) -> float:
    return min(max(cosine or 0, 0) / 0.8, 1)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.6, 1.0])
def test_scores_are_those_of_the_rules(animals: Collection, share: float) -> None:
    found = animals.query("the cat and the hen", share=share)
    assert len(found) == 3
    for hit in found:
        assert hit.score == pytest.approx(
            share * cosine_score(hit.cosine) + (1 - share) * (hit.words or 0)
        )


def test_an_arm_that_did_not_run_leaves_the_score_to_the_other(animals: Collection) -> None:
    [told, *_] = animals.query("egg", mode="text")
    assert (told.item.id, told.vector_rank, told.text_rank) == ("hen", None, 1)
    assert told.score == told.words
    [near, *_] = animals.query("egg", mode="vector")
    assert (near.item.id, near.vector_rank, near.text_rank, near.words) == ("hen", 1, None, None)
    assert near.score == pytest.approx(cosine_score(near.cosine))


def test_words_are_asked_without_an_embedder_and_meaning_never_quietly_so(
    animals: Collection, embedder: HashEmbedder
) -> None:
    embedder.down = True
    assert ids(animals.query("egg", mode="text")) == ["hen"]
    for mode in ("hybrid", "vector"):
        with pytest.raises(ModelError):
            animals.query("egg", mode=mode)


def test_a_minimal_score_leaves_out_what_is_below(animals: Collection) -> None:
    best, *_ = scores = [hit.score or 0 for hit in animals.query("cat mat")]
    assert len(animals.query("cat mat", min_score=best)) == 1
    assert len(animals.query("cat mat", min_score=0.0)) == len(scores) == 3


def test_a_given_vector_stands_for_the_texts_embedding(
    animals: Collection, embedder: HashEmbedder
) -> None:
    vector = embedder.embed_query("hen egg")
    embedder.down = True
    found = animals.query(vector=vector, with_vectors=True)
    assert found[0].item.id == "hen"
    assert found[0].text_rank is None
    assert found[0].vector == pytest.approx(
        embedder._vector("A hen lays an egg each morning"), abs=1e-3
    )
    assert animals.query("dog postman", vector=vector, share=0.0)[0].item.id == "dog"


def test_vectors_are_fetched_only_when_asked_for(animals: Collection) -> None:
    assert all(hit.vector is None for hit in animals.query("hen"))
    assert all(len(hit.vector or ()) == 64 for hit in animals.query("hen", with_vectors=True))
    assert all(len(hit.vector or ()) == 64 for hit in animals.query(with_vectors=True))


def test_documents_of_the_same_score_stand_by_their_cosine(given: Collection) -> None:
    """A cosine counts in full from 0.8 on; what is nearer still stands before."""
    given.put(
        [
            {"id": f"{d}°", "vector": [math.cos(math.radians(d)), math.sin(math.radians(d))]}
            for d in (30, 0, 20, 10)
        ]
    )
    found = given.query(vector=[1, 0])
    assert ids(found) == ["0°", "10°", "20°", "30°"]
    assert {hit.score for hit in found} == {1.0}


def test_an_item_of_several_texts_is_one_hit_by_its_best(
    docs: Collection, embedder: HashEmbedder
) -> None:
    docs.put(
        [{"id": "many", "texts": ["red apples", "green pears", "blue plums"], "value": {"a": 1}}]
    )
    docs.put([{"id": "one", "content": "green grapes"}])
    found = docs.query("green pears", with_vectors=True)
    assert ids(found) == ["many", "one"]
    assert found[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert found[0].vector == pytest.approx(embedder._vector("green pears"), abs=1e-3)


def test_texts_may_bring_a_vector_each(given: Collection) -> None:
    given.put(
        [
            {"id": "a", "texts": ["north", "east"], "vectors": [[0, 1], [1, 0]]},
            {"id": "b", "vector": [-1, 0]},
        ]
    )
    assert ids(given.query(vector=[1, 0])) == ["a", "b"]
    assert given.query("east", mode="text")[0].item.id == "a"


def test_many_passages_of_one_document_do_not_crowd_out_the_others(given: Collection) -> None:
    crowd = [[1.0, n / 1000] for n in range(300)]
    given.put([{"id": "crowd", "texts": [f"t{n}" for n in range(300)], "vectors": crowd}])
    given.put([{"id": f"other{n}", "vector": [1.0, 1.0 + n]} for n in range(5)])
    assert ids(given.query(vector=[1, 0], limit=5)) == [
        "crowd",
        "other0",
        "other1",
        "other2",
        "other3",
    ]


def test_a_long_document_is_found_by_its_last_words(docs: Collection) -> None:
    long = "Some ordinary filler sentence. " * 200 + "The password is xylophone."
    [vector] = HashEmbedder().embed_documents([long])
    whole = {"id": "whole", "texts": [long], "vectors": [vector]}
    passages = {"id": "passages", "texts": ["Other.", long]}
    docs.put([passages, whole, {"id": "short", "content": long[:30]}], model="HashEmbedder:hash")
    assert set(ids(docs.query("password xylophone", mode="text"))) == {"passages", "whole"}
    [first, second, _] = docs.query("The password is xylophone", mode="vector")
    assert (first.item.id, second.item.id) == ("passages", "whole")
    assert (first.cosine or 0) > 2 * (
        second.cosine or 0
    )  # its last passage has less of everything else


def test_scripts_without_spaces_are_found_by_their_words(docs: Collection) -> None:
    docs.put(
        [
            {"id": "tokyo", "content": "東京都は日本の首都です"},
            {"id": "other", "content": "大阪は大きい"},
        ]
    )
    assert ids(docs.query("首都", mode="text")) == ["tokyo"]


def test_a_question_of_nothing_but_signs_finds_nothing_by_words(animals: Collection) -> None:
    assert animals.query("?!…", mode="text") == []
    assert len(animals.query("?!…")) == 3


def test_a_question_may_be_as_long_as_a_book(animals: Collection) -> None:
    assert animals.query("the cat on the mat " + "and so on, word by word " * 20_000, limit=1) != []
    assert ids(
        animals.query("hen egg " + " ".join(f"w{n}" for n in range(5_000)), mode="text")
    ) == ["hen"]


def test_an_empty_collection_answers_with_nothing(docs: Collection) -> None:
    assert docs.query("anything") == docs.query() == docs.get(["a"]) == docs.namespaces() == []
    assert docs.count() == docs.clear() == docs.sweep() == docs.delete(["a"]) == 0
    assert docs.put([]) == []


def test_without_an_embedder_texts_are_found_by_their_words(open_: Open) -> None:
    plain = open_("plain", embedder=None)
    plain.put([{"id": "a", "content": "red apples"}, {"id": "b", "content": "green pears"}])
    assert ids(plain.query("pears")) == ["b"]
    with pytest.raises(InvalidInput, match="mode='text'"):
        plain.query("pears", mode="vector")


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "it's",
        '"',
        "x' OR '1'='1",
        "?",
        "%",
        "%s",
        "%(x)s",
        "{}",
        "\\",
        "$.*",
        "; drop table documents; --",
        "ünï😀",
        "*",
    ],
)
def test_filter_values_and_keys_are_data(docs: Collection, text: str) -> None:
    docs.put(
        [
            {
                "id": "it",
                "metadata": {"v": text, f"k{text}": 1},
                "value": {"v": text},
                "namespace": (text,),
                "reference": text,
            },
            {"id": "no", "metadata": {"v": "other"}},
        ]
    )
    assert ids(docs.query(where={"v": text})) == ["it"]
    assert ids(docs.query(where={"v": {"$in": [text, "none"]}})) == ["it"]
    assert ids(docs.query(where={"v": {"$ne": "other"}})) == ["it"]
    assert ids(docs.query(where={f"k{text}": {"$gte": 1}})) == ["it"]
    assert ids(docs.query(where={"v": text}, on="value")) == ["it"]
    assert ids(docs.query(namespace=(text,))) == ["it"]
    assert ids(docs.query(references=[text])) == ["it"]
    assert docs.namespaces(prefix=(text,)) == [(text,)]
    assert docs.delete(where={"v": text}) == 1
    assert docs.count() == 1


def test_numbers_compare_as_numbers(docs: Collection) -> None:
    docs.put(numbered(60, index=False))
    assert len(docs.query(where={"n": {"$gte": 10}}, limit=None)) == 50
    assert ids(docs.query(where={"n": {"$lt": 2}})) == ["n0", "n1"]
    assert docs.query(where={"n": "7"}) == []  # a text is no number
    assert ids(docs.query(where={"n": 7.0})) == ["n7"]


def test_filters_hold_in_every_mode(animals: Collection) -> None:
    for mode in ("hybrid", "vector", "text"):
        assert ids(animals.query("cat hen egg", mode=mode, where={"legs": 2})) == ["hen"]
        assert animals.query("cat hen egg", mode=mode, where={"legs": {"$gt": 4}}) == []
    assert ids(animals.query("cat", ids=["dog", "hen"], mode="vector", limit=1)) != ["cat"]
    assert animals.query("cat", ids=[]) == []


def test_filters_can_be_on_the_value(docs: Collection) -> None:
    docs.put(
        [{"id": "a", "value": {"kind": "x", "n": 1}}, {"id": "b", "value": {"kind": "y", "n": 2}}]
    )
    assert ids(docs.query(where={"kind": "y"}, on="value")) == ["b"]
    assert ids(docs.query(where={"n": {"$gt": 1}}, on="value")) == ["b"]
    assert docs.query(where={"kind": "y"}) == []
    assert docs.delete(where={"kind": "x"}, on="value") == 1
    assert docs.count(where={"n": 2}, on="value") == 1


def test_references_find_and_delete_the_parts_of_a_source(docs: Collection) -> None:
    docs.put(
        [
            {"id": f"{book}{n}", "content": f"page {n}", "reference": book}
            for book in "ab"
            for n in range(3)
        ]
    )
    assert set(ids(docs.query("page", references=["a"]))) == {"a0", "a1", "a2"}
    assert docs.delete(references=["a", "nobody"]) == 3
    assert docs.delete(references=["b"], where={"x": 1}) == 0
    assert ids(docs.query()) == ["b0", "b1", "b2"]


@pytest.mark.parametrize("question", [None, "item"])
def test_pages_of_a_filtered_answer_are_whole_and_apart(
    docs: Collection, question: str | None
) -> None:
    docs.put(numbered(60))
    pages = [
        docs.query(question, where={"n": {"$gte": 10}}, limit=8, offset=at)
        for at in range(0, 64, 8)
    ]
    assert [len(page) for page in pages] == [8, 8, 8, 8, 8, 8, 2, 0]
    seen = [id for page in pages for id in ids(page)]
    assert sorted(seen) == sorted(f"n{n}" for n in range(10, 60))


def test_a_list_stands_in_the_order_of_first_putting(docs: Collection, clock: Clock) -> None:
    docs.put([{"id": id} for id in "zya"])
    clock.pass_(seconds=1)
    docs.put([{"id": "b"}, {"id": "z", "content": "again"}])
    assert ids(docs.query()) == ["z", "y", "a", "b"]
    assert all(hit.score is None for hit in docs.query())
    assert docs.query(limit=0) == docs.query("again", limit=0) == []


# -- namespaces -------------------------------------------------------------------------------------------------------

SPACES = [
    (),
    ("a",),
    ("a", "b"),
    ("a", "b", "c"),
    ("ab",),
    ("a", "bc"),
    ("b", "a"),
    ("a.b",),
    ("é", "日本"),
]


@pytest.fixture
def spread(docs: Collection) -> Collection:
    docs.put([{"id": "k", "content": "the same words", "namespace": space} for space in SPACES])
    return docs


@pytest.mark.parametrize("prefix", [*SPACES, ("a", "x"), ("A",)])
def test_a_prefix_is_of_whole_labels(spread: Collection, prefix: tuple[str, ...]) -> None:
    expected = {space for space in SPACES if space[: len(prefix)] == prefix}
    assert {hit.item.namespace for hit in spread.query(namespace=prefix)} == expected
    assert {
        hit.item.namespace for hit in spread.query("same words", namespace=prefix, limit=50)
    } == expected
    assert spread.count(namespace=prefix) == len(expected)
    assert set(spread.namespaces(prefix=prefix)) == expected


def test_an_id_is_one_item_in_each_namespace(spread: Collection) -> None:
    assert [item.namespace for item in spread.get(["k"], namespace=("a",))] == [("a",)]
    assert ids(spread.query(ids=["k"], namespace=("a",))) == ["k"]
    assert spread.delete(["k"], namespace=("a",)) == 1
    assert spread.delete(["k"]) == 1  # the one without labels
    assert spread.count() == len(SPACES) - 2
    assert spread.delete(namespace=("a",)) == 3  # what is below it
    assert set(spread.namespaces()) == {("ab",), ("b", "a"), ("a.b",), ("é", "日本")}


def test_namespaces_are_listed_once_in_order_and_page_by_page(spread: Collection) -> None:
    every = spread.namespaces()
    assert sorted(every) == every == sorted(SPACES)
    assert [spread.namespaces(limit=4, offset=at) for at in (0, 4, 8, 12)] == [
        every[:4],
        every[4:8],
        every[8:],
        [],
    ]
    assert spread.namespaces(max_depth=1) == sorted({space[:1] for space in SPACES})
    assert spread.namespaces(suffix=("b",)) == [("a", "b")]
    assert spread.namespaces(prefix=("*", "b")) == [("a", "b"), ("a", "b", "c")]
    assert spread.namespaces(prefix=("a",), suffix=("*", "c")) == [("a", "b", "c")]


# -- deleting ---------------------------------------------------------------------------------------------------------


def test_deleting_an_empty_list_deletes_nothing(animals: Collection) -> None:
    assert (
        animals.delete([])
        == animals.delete(references=[])
        == animals.delete([], where={"legs": 4})
        == 0
    )
    assert animals.count() == 3


def test_deleting_needs_something_to_delete_by(animals: Collection) -> None:
    for nothing in ({}, {"where": {}}, {"namespace": ()}):
        with pytest.raises(InvalidInput, match="clear"):
            animals.delete(**nothing)
    assert animals.count() == 3


def test_everything_that_is_given_must_hold_to_delete(animals: Collection) -> None:
    assert animals.delete(["cat", "hen", "nobody"], where={"legs": 4}) == 1
    assert ids(animals.query()) == ["dog", "hen"]


def test_clearing_leaves_nothing_and_nothing_to_be_found(animals: Collection) -> None:
    assert animals.clear() == 3
    assert animals.query("cat") == animals.query() == []


# -- expiry -----------------------------------------------------------------------------------------------------------


def test_what_has_expired_is_gone_for_everybody(docs: Collection, clock: Clock) -> None:
    docs.put(
        [
            {
                "id": "brief",
                "content": "brief words",
                "ttl": timedelta(minutes=1),
                "namespace": ("gone",),
            }
        ]
    )
    docs.put(
        [
            {"id": "lasting", "content": "lasting words"},
            {"id": "set", "expires_at": START + timedelta(days=1)},
        ]
    )
    assert docs.count() == 3
    clock.pass_(minutes=1)
    assert docs.get(["brief"], namespace=("gone",)) == []
    assert ids(docs.query("words", limit=1)) == ids(docs.query("brief words")) == ["lasting"]
    assert docs.count() == 2
    assert docs.namespaces() == [()]
    assert docs.delete(["brief"], namespace=("gone",)) == 0
    assert docs.sweep() == 1
    assert docs.sweep() == 0


def test_a_refreshing_read_grants_the_time_to_live_anew(docs: Collection, clock: Clock) -> None:
    docs.put(
        [
            {"id": id, "content": f"{id} words", "ttl": timedelta(minutes=10)}
            for id in ("read", "found", "left")
        ]
    )
    clock.pass_(minutes=9)
    assert docs.get(["read"], refresh=True)[0].expires_at == clock.now + timedelta(minutes=10)
    [hit] = docs.query("found words", limit=1, refresh=True)
    assert hit.item.expires_at == clock.now + timedelta(minutes=10)
    assert docs.get(["left"])[0].expires_at == START + timedelta(minutes=10)
    clock.pass_(minutes=9)
    assert ids(docs.query()) == ["read", "found"]


def test_an_expired_item_is_made_anew_and_not_revived(docs: Collection, clock: Clock) -> None:
    docs.put([{"id": "a", "ttl": timedelta(minutes=1)}])
    clock.pass_(hours=1)
    docs.put([{"id": "a"}])
    [item] = docs.get(["a"])
    assert (item.created_at, item.expires_at) == (clock.now, None)


# -- vectors of every kind --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 6, 15, 16, 384, 2_001, 4_001, 16_000])
def test_any_dimension_is_kept_and_found(given: Collection, dimension: int) -> None:
    def vector(sign: float) -> list[float]:
        return [sign * math.sin(n + 1) for n in range(dimension)]

    given.put(
        [
            {"id": "same", "content": "alike", "vector": vector(1)},
            {"id": "against", "vector": vector(-1)},
        ]
    )
    found = given.query(vector=vector(1), with_vectors=True)
    assert ids(found) == ["same", "against"]
    assert found[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert found[1].cosine == pytest.approx(-1.0, abs=1e-3)
    assert found[0].vector == pytest.approx(vector(1), rel=1e-6 if dimension < 16 else 1e-3)


@pytest.mark.parametrize("size", [1e300, 1e9, 1.0, 1e-9, 1e-300])
@pytest.mark.parametrize("dimension", [2, 32])
def test_only_a_vectors_direction_counts(given: Collection, size: float, dimension: int) -> None:
    given.put(
        [
            {"id": "right", "vector": [size] + [0.0] * (dimension - 1)},
            {"id": "aslant", "vector": [size] * dimension},
            {"id": "none", "vector": [0.0] * dimension},
        ]
    )
    found = given.query(vector=[size / 3] + [0.0] * (dimension - 1))
    assert ids(found) == ["right", "aslant", "none"]
    assert found[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert (found[2].score, found[2].cosine) == (0.0, None)  # no direction is like no other
    assert {hit.score for hit in given.query(vector=[0.0] * dimension)} == {0.0}


def test_a_collection_is_of_one_dimension(given: Collection, open_: Open) -> None:
    given.put([{"id": "a", "vector": [1, 2, 3]}])
    with pytest.raises(
        DimensionMismatch, match=r"given:3 with 3.* 'given' has, got given:2 with 2"
    ):
        given.put([{"id": "b", "vector": [1, 2]}])
    with pytest.raises(DimensionMismatch, match="the same number"):
        given.put([{"id": "b", "vector": [1, 2]}, {"id": "c", "vector": [1, 2, 3]}])
    with pytest.raises(DimensionMismatch, match=r"clear\(\)"):
        given.query(vector=[1, 2])
    assert ids(given.query()) == ["a"]


def test_an_expected_dimension_is_held_to_from_the_first_use(open_: Open) -> None:
    expecting = open_("expecting", dim=3)
    with pytest.raises(DimensionMismatch, match="3 dimensions"):
        expecting.put([{"vector": [1, 2]}])
    with pytest.raises(DimensionMismatch, match="3 dimensions"):
        expecting.put([{"content": "embedded with 64"}])
    expecting.put([{"vector": [1, 2, 3]}])
    with pytest.raises(DimensionMismatch, match="dim=3"):
        expecting.query(vector=[1, 2])


def test_a_collection_is_of_one_model(docs: Collection, open_: Open) -> None:
    docs.put([{"id": "a", "content": "words"}])
    other = open_(embedder=resolve(HashEmbedder(name="other")))
    with pytest.raises(DimensionMismatch, match=r"HashEmbedder:hash .*HashEmbedder:other"):
        other.put([{"content": "words"}])
    with pytest.raises(DimensionMismatch, match="HashEmbedder:other"):
        other.query("words")
    assert ids(other.query("words", mode="text")) == ["a"]
    assert docs.clear() == 1
    other.put([{"id": "b", "content": "words"}])
    assert ids(other.query("words")) == ["b"]


def test_given_vectors_count_as_a_models_only_when_it_is_named(
    docs: Collection, embedder: HashEmbedder
) -> None:
    vector = embedder.embed_query("red apples")
    docs.put([{"id": "text", "content": "green pears"}])
    with pytest.raises(DimensionMismatch, match="given:64"):
        docs.put([{"id": "vector", "vector": vector}])
    with pytest.raises(DimensionMismatch, match=r"say so with put\(…, model='HashEmbedder:hash'\)"):
        docs.put([{"id": "vector", "vector": vector}, {"content": "blue plums"}])
    docs.put(
        [{"id": "vector", "vector": vector}, {"content": "blue plums"}], model="HashEmbedder:hash"
    )
    assert docs.query("red apples", limit=1)[0].item.id == "vector"


def test_a_text_is_not_compared_with_vectors_of_unknown_make(open_: Open) -> None:
    docs = open_()
    docs.put([{"id": "a", "content": "red apples", "vector": [1.0] * 64}])
    with pytest.raises(DimensionMismatch, match="vector="):
        docs.query("red apples")
    assert ids(docs.query("red apples", mode="text")) == ["a"]
    assert ids(docs.query("red apples", vector=[1.0] * 64)) == ["a"]


# -- walls and company ------------------------------------------------------------------------------------------------


def test_tenants_do_not_see_each_other(docs: Collection, open_: Open, tenant: str) -> None:
    theirs = open_(tenant=f"{tenant}-other")
    docs.put(
        [
            {
                "id": "a",
                "content": "our secret",
                "reference": "r",
                "namespace": ("n",),
                "metadata": {"k": 1},
            }
        ]
    )
    assert theirs.query("our secret") == theirs.query() == theirs.namespaces() == []
    assert theirs.get(["a"], namespace=("n",)) == []
    assert (
        theirs.count()
        == theirs.delete(["a"], namespace=("n",))
        == theirs.delete(where={"k": 1})
        == theirs.clear()
        == 0
    )
    theirs.put([{"id": "a", "content": "their secret", "namespace": ("n",)}])
    assert [hit.item.content for hit in theirs.query("secret")] == ["their secret"]
    assert [hit.item.content for hit in docs.query("secret")] == ["our secret"]
    assert theirs.clear() == 1
    assert docs.count() == 1


def test_collections_of_a_tenant_are_apart(docs: Collection, open_: Open) -> None:
    other = open_("other", embedder=resolve(HashEmbedder(dimension=8, name="small")))
    docs.put([{"id": "a", "content": "first words"}])
    other.put([{"id": "a", "content": "other words"}])
    assert [hit.item.content for hit in docs.query("words")] == ["first words"]
    assert [hit.item.content for hit in other.query("words")] == ["other words"]
    assert other.clear() == 1
    assert docs.count() == 1


def test_the_first_use_by_many_at_once_makes_one_collection(open_: Open) -> None:
    def put(n: int) -> list[str]:
        return open_("new").put(
            [{"id": f"{n}", "content": f"words of {n}"}, {"id": "all", "content": f"said by {n}"}]
        )

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(put, range(8)))
    assert len(done) == 8
    assert open_("new").count() == 9
    assert len(open_("new").query("words", limit=20)) == 9


def test_writers_of_the_same_items_in_any_order_never_stand_in_each_others_way(
    docs: Collection,
) -> None:
    def work(n: int) -> int:
        items = [{"id": str(i), "content": f"text {i} by {n}"} for i in range(20)]
        docs.put(items[::-1] if n % 2 else items)
        return docs.delete([str(i) for i in range(n, 20, 7)])

    with ThreadPoolExecutor(6) as threads:
        assert len(list(threads.map(work, range(18)))) == 18
    for hit in docs.query("text", limit=20):
        assert hit.text_rank is not None


def test_a_memory_opens_collections_that_its_recall_does_not_see(memory: Memory) -> None:
    docs = memory.collection("manuals")
    docs.put([{"id": "a", "content": "How to descale the kettle"}])
    assert memory.collection("manuals").query("kettle", limit=1)[0].item.id == "a"
    assert list(memory.recall("descale the kettle")) == []
    assert memory.stats().nodes == 0


# -- what cannot be meant ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"id": 1}, "expected id to be a text"),
        ({"id": ""}, "expected id to be a text that is not empty"),
        ({"id": "a\x00"}, "NUL"),
        ({"id": "a\ud800"}, "surrogate"),
        ({"id": "x" * 10_001}, "10,000 characters"),
        ({"content": 5}, "expected content to be a str"),
        ({"content": "a\x00b"}, "NUL"),
        ({"content": "x" * 1_000_001}, "1,000,000 characters"),
        ({"metadata": {"a": math.nan}}, "finite"),
        ({"metadata": {"a": object()}}, "metadata.a: expected a JSON value"),
        ({"metadata": {1: 2}}, "keys that are strings"),
        ({"metadata": [1]}, "expected metadata to be a mapping"),
        ({"value": {"a": "\x00"}}, "NUL"),
        ({"value": None}, "expected value to be a mapping"),
        ({"namespace": "a"}, "tuple of labels"),
        ({"namespace": ("a", "")}, "label"),
        ({"namespace": ("a", 1)}, "label"),
        ({"namespace": tuple("l" * 250 for _ in range(8))}, "1,500 bytes"),
        ({"payload": "text"}, "expected payload to be bytes"),
        ({"reference": 7}, "expected reference to be a text"),
        ({"vector": [1, math.nan]}, "finite"),
        ({"vector": [math.inf]}, "finite"),
        ({"vector": []}, "empty"),
        ({"vector": ["a"]}, "numbers"),
        ({"vector": [0.5] * 16_001}, "16,000"),
        ({"texts": "one"}, "list of texts"),
        ({"texts": ["a"], "vector": [1]}, "vectors="),
        ({"texts": ["a"], "vectors": [[1], [2]]}, "one vector for each of the 1 texts, got 2"),
        ({"vectors": [[1]]}, "texts along with vectors"),
        ({"ttl": 5}, "timedelta"),
        ({"ttl": timedelta(0)}, "above zero"),
        ({"ttl": timedelta.max}, "year 10000"),
        ({"expires_at": datetime(2026, 1, 1)}, "naive"),
        ({"contents": "a"}, "unknown contents"),
        ("text", "expected a CollectionItem"),
    ],
)
def test_an_item_that_cannot_be_meant_is_refused_and_nothing_written(
    docs: Collection, item: Any, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        docs.put([{"id": "good", "content": "fine"}, item])
    assert docs.count() == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": -1}, "limit to be a whole number from 0"),
        ({"limit": True}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"limit": 10_001}, "10,000"),
        ({"limit": None}, "expected a limit along with a question"),
        ({"offset": -1}, "offset"),
        ({"mode": "fuzzy"}, "hybrid, vector, text"),
        ({"on": "payload"}, "metadata, value"),
        ({"where": {"a": {"$regex": "x"}}}, r"unknown operator '\$regex'"),
        ({"where": "a = 1"}, "mapping"),
        ({"min_score": 2}, "min_score"),
        ({"share": math.nan}, "share"),
        ({"vector_pool": 0}, "vector_pool"),
        ({"vector": [math.nan] * 64}, "finite"),
        ({"ids": "a"}, "list of texts"),
        ({"references": [1]}, "references"),
        ({"namespace": "a"}, "tuple of labels"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(
    docs: Collection, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        docs.query("words", **options)


def test_a_question_without_words_is_refused(docs: Collection) -> None:
    for blank in ("", "  \n", 5):
        with pytest.raises(InvalidInput, match="None to list"):
            docs.query(blank)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="mode='vector'"):
        docs.query(vector=[1.0], mode="text")


@pytest.mark.parametrize(
    "options", [{"name": ""}, {"name": "a\x00"}, {"dim": 0}, {"dim": 16_001}, {"dim": "3"}]
)
def test_a_collection_that_cannot_be_meant_is_refused(open_: Open, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        open_(**options)


def test_writers_of_the_same_items_in_any_order_do_not_stand_in_each_others_way(
    docs: Collection,
) -> None:
    names = [f"k{number}" for number in range(6)]

    def write(seed: int) -> None:
        order = random.Random(seed)
        for _ in range(12):
            some = order.sample(names, 4)
            docs.put([{"id": name, "value": {"of": seed}} for name in some[:2]], remove=some[2:])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))


def test_ids_are_listed_by_prefix_and_page_without_their_items(memory: Memory) -> None:
    docs = memory.collection("paged")
    assert docs.ids() == []
    names = [f"{kind}{number}" for kind in ("a%", "a_", "b") for number in range(5)]
    docs.put([{"id": name, "content": name, "index": False} for name in names])
    docs.put([{"id": "a%x", "namespace": ("below",), "index": False}])
    assert sorted(docs.ids()) == sorted(names)
    assert sorted(docs.ids(prefix="a%")) == names[:5]
    assert docs.ids(namespace=("below",), prefix="a") == ["a%x"]
    first, rest = docs.ids(limit=4), docs.ids(limit=None, after=docs.ids(limit=4)[-1])
    assert [*first, *rest] == docs.ids(limit=None)
    with pytest.raises(InvalidInput, match="after"):
        docs.ids(after="")


def test_the_servers_clock_goes_on(memory: Memory) -> None:
    docs = memory.collection("clock")
    first = docs.server_time()
    assert first.tzinfo is not None
    assert first < docs.server_time()
