"""HTMStore by itself: its index, its walls, its set-up, and what other stores get wrong."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.base.embed import EmbeddingsLambda

from htm_core import DimensionMismatch, InvalidInput, Memory, ModelError, Settings
from htm_core.db.database import Database
from htm_langchain import AsyncHTMStore, HTMStore
from htm_langchain.store.index import EmbeddingFunction
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

NS = ("users", "ann")


@pytest.fixture
def store(memory: Memory) -> HTMStore:
    return HTMStore(memory=memory)


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


# -- what other stores get wrong --------------------------------------------------------------------------------------


def test_numbers_are_compared_as_numbers(store: HTMStore) -> None:
    store.batch([PutOp(NS, str(n), {"n": n, "text": str(n)}, index=False) for n in range(60)])
    assert len(store.search(NS, filter={"n": {"$gte": 10}}, limit=100)) == 50
    assert keys(store.search(NS, filter={"n": {"$lt": 2.5}}, limit=100)) == ["0", "1", "2"]
    assert (
        store.search(NS, filter={"text": {"$gte": 10}}) == []
    )  # a text is no number, and that is no error
    assert store.search(NS, filter={"missing": {"$gt": 1}}) == []


def test_types_are_never_mixed(store: HTMStore) -> None:
    for key, value in {
        "true": True,
        "one": 1,
        "text": "1",
        "null": None,
        "float": 1.0,
        "list": [1],
    }.items():
        store.put(NS, key, {"v": value})
    assert keys(store.search(NS, filter={"v": True})) == ["true"]
    assert keys(store.search(NS, filter={"v": 1})) == ["float", "one"]
    assert keys(store.search(NS, filter={"v": "1"})) == ["text"]
    assert keys(store.search(NS, filter={"v": {"$ne": 1}})) == ["list", "null", "text", "true"]
    assert keys(store.search(NS, filter={"v": [1]})) == ["list"]


def test_a_query_has_pages_to_its_end(store: HTMStore) -> None:
    store.batch([PutOp(NS, str(n), {"text": f"note{n} about hens"}) for n in range(45)])
    pages = [keys(store.search(NS, query="hens", limit=10, offset=at)) for at in range(0, 60, 10)]
    assert [len(page) for page in pages] == [10, 10, 10, 10, 5, 0]
    assert len({key for page in pages for key in page}) == 45


def test_a_small_namespace_beside_a_large_one_has_full_pages(store: HTMStore) -> None:
    """The filter is not applied to what an index happened to bring."""
    store.batch(
        [PutOp(("crowd", str(n % 7)), str(n), {"text": f"hens and note{n}"}) for n in range(700)]
    )
    store.batch([PutOp(NS, str(n), {"text": f"ships and trains {n}"}) for n in range(30)])
    assert len(store.search(NS, query="hens and note", limit=20)) == 20
    assert len(store.search(("crowd", "3"), query="ships", limit=60)) == 60


@pytest.mark.parametrize(
    "again", [{"index": False}, {"index": ["texts[*]"]}, {"index": ["nothing"]}, {"index": []}]
)
def test_a_put_replaces_what_the_old_value_was_found_by(store: HTMStore, again: Any) -> None:
    store.put(NS, "1", {"texts": ["hens", "zebras"]}, index=["texts[*]"])
    store.put(NS, "2", {"texts": ["ships"]}, index=["texts[*]"])
    store.put(NS, "1", {"texts": ["ships"]}, **again)
    found = store.search(NS, query="zebras")
    assert all(item.score == 0 for item in found)
    assert [item.key for item in found if item.key == "1"] == (
        ["1"] if again["index"] == ["texts[*]"] else []
    )


def test_a_query_is_embedded_as_a_query(make: Make) -> None:
    class Asymmetric(HashEmbedder):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text.removeprefix("query: "))

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            assert "query: hens" not in texts
            return super().embed_documents(texts)

    store = HTMStore(memory=make(embedder=Asymmetric()))
    store.put(NS, "1", {"text": "hens"}, index=["text"])
    assert store.search(NS, query="query: hens")[0].score > 0.5  # type: ignore[operator]


def test_one_query_does_not_stick_to_the_next(store: HTMStore) -> None:
    store.put(NS, "z", {"text": "a zebra on the plain"})
    store.put(NS, "w", {"text": "a wolf in the wood"})
    assert [keys(store.search(NS, query=word))[0] for word in ("zebra", "wolf", "zebra")] == [
        "z",
        "w",
        "z",
    ]
    asked = store.batch([SearchOp(NS, query="wolf"), SearchOp(NS, query="zebra")])
    assert [keys(found)[0] for found in asked] == ["w", "z"]  # type: ignore[arg-type]


def test_words_find_what_the_meaning_does_not(make: Make) -> None:
    class Blind(HashEmbedder):
        def _vector(self, text: str) -> list[float]:
            return [1.0, 0.0, 0.0]

    store = HTMStore(memory=make(embedder=Blind()))
    for n in range(20):
        store.put(NS, str(n), {"text": f"The password of vault{n} is xyzzy{n}."})
    assert keys(store.search(NS, query="Could you tell me what xyzzy13 opens?", limit=1)) == ["13"]


def test_a_question_that_is_a_book_and_one_of_signs_alone_are_answered(store: HTMStore) -> None:
    """PostgreSQL's parser of queries takes neither 40,000 words nor none."""
    store.put(NS, "z", {"text": "a zebra on the plain"})
    store.put(NS, "w", {"text": "a wolf in the wood"})
    assert (
        keys(store.search(NS, query="zebra " + " ".join(f"word{n}" for n in range(40_000))))[0]
        == "z"
    )
    for signs in ("?! … --", "'", "\x00", ":* & |"):
        assert sorted(keys(store.search(NS, query=signs))) == ["w", "z"]


def test_a_long_value_is_found_by_its_last_words(store: HTMStore) -> None:
    """A model sees a few hundred tokens of a text: a value is embedded in passages, not as a whole."""
    text = "Some ordinary filler sentence. " * 300 + "The parrot is green."
    store.put(NS, "long", {"text": text}, index=["text"])
    store.put(NS, "short", {"text": "Some ordinary sentence."})
    found = store.search(NS, query="The parrot is green")
    assert found[0].key == "long"
    [whole], asked = (
        HashEmbedder().embed_documents([text]),
        HashEmbedder().embed_query("The parrot is green"),
    )
    assert (found[0].score or 0) > 0.2 > 4 * sum(a * b for a, b in zip(whole, asked, strict=True))


@pytest.mark.parametrize(
    "text",
    ["it's", 'x" || true || "', "x' OR '1'='1", "100%", "a_b", "\\", "%(tenant)s", "a.b", "{}"],
)
def test_no_text_is_read_as_syntax(store: HTMStore, text: str) -> None:
    store.put(NS, text, {text: text, "other": 1})
    store.put(NS, "other", {"other": "x"})
    assert keys(store.search(NS, filter={text: text})) == [text]
    assert keys(store.search(NS, filter={text: {"$ne": text}})) == ["other"]
    assert keys(store.search(NS, filter={"nothing": text})) == []
    assert store.search(NS, query=text, limit=5) is not None
    assert store.get(NS, text).value[text] == text  # type: ignore[union-attr]


def test_embedding_holds_no_connection(make: Make) -> None:
    class Curious(HashEmbedder):
        """Asks the database while it embeds, for which the pool has no second connection."""

        store: HTMStore | None = None

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            assert self.store is not None
            self.store.get(NS, "1")
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> list[float]:
            assert self.store is not None
            self.store.get(NS, "1")
            return super().embed_query(text)

    embedder = Curious()
    settings = Settings(pool_min=0, pool_max=1, pool_timeout=5, worker="off")
    embedder.store = HTMStore(memory=make(embedder=embedder, settings=settings))
    embedder.store.put(NS, "1", {"text": "hens"})
    assert keys(embedder.store.search(NS, query="hens")) == ["1"]


# -- namespaces and walls ---------------------------------------------------------------------------------------------


def test_no_namespace_leaks_into_another(store: HTMStore) -> None:
    odd = [("a", "b"), ("a", "bc"), ("a.b",), ("a", "b", "c"), ("ab",), ("a/b",), ("a,b",), ('{"a","b"}',), ("A", "b"), ("a", "*"), ("a", "b\x01"), ("a%",), ("a_",)]  # fmt: skip
    store.batch(
        [PutOp(namespace, "1", {"at": list(namespace)}) for namespace in odd]
    )  # as operations, dots and all
    for namespace in odd:
        [found, got] = store.batch([SearchOp(namespace, limit=100), GetOp(namespace, "1")])
        assert isinstance(found, list)
        assert {item.namespace for item in found} == {
            one for one in odd if one[: len(namespace)] == namespace
        }  # type: ignore[union-attr]
        assert getattr(got, "value", None) == {"at": list(namespace)}
    [names] = store.batch([ListNamespacesOp((MatchCondition("prefix", ("a", "b")),))])
    assert names == [("a", "b"), ("a", "b", "c")]


def test_a_namespace_that_cannot_be_kept_is_refused_with_its_place(store: HTMStore) -> None:
    for namespace in (("a\0",), ("\ud800",), ("x" * 256,)):
        with pytest.raises(InvalidInput, match="a label of namespace"):
            store.batch([PutOp(namespace, "1", {})])
    with pytest.raises(InvalidInput, match="expected id to be a text"):
        store.put(NS, "", {})
    with pytest.raises(InvalidNamespaceError):
        store.search(("a.b",))


def test_a_tenant_sees_nothing_of_another(make: Make) -> None:
    ours, theirs = (
        HTMStore(memory=make()),
        HTMStore(memory=make(tenant=f"tenant-{uuid.uuid4().hex[:12]}")),
    )
    ours.put(NS, "1", {"text": "hens"})
    assert theirs.get(NS, "1") is None
    assert theirs.search((), query="hens") == theirs.search(()) == theirs.list_namespaces() == []
    theirs.delete(NS, "1")
    assert ours.get(NS, "1") is not None


def test_all_stores_of_a_tenant_have_the_same_items_and_the_memory_none_of_them(make: Make) -> None:
    memory = make()
    HTMStore(memory=memory).put(NS, "1", {"text": "hens lay eggs"})
    assert keys(HTMStore(memory=make("other")).search(NS, query="hens")) == ["1"]
    assert list(memory.recall("hens lay eggs")) == []


# -- what items are found by ------------------------------------------------------------------------------------------


def test_the_fields_of_the_index_are_what_items_are_found_by(memory: Memory) -> None:
    store = HTMStore(memory=memory, index={"fields": ["text", "chapters[*].title"]})
    store.put(
        NS,
        "1",
        {"text": "hens", "secret": "zebras", "chapters": [{"title": "ships"}, {"title": "trains"}]},
    )
    store.put(NS, "2", {"other": "hens"})
    store.put(NS, "3", {"other": "zebras", "text": "hens"}, index=["other"])
    store.put(NS, "4", {"other": {"deep": ["owls"]}}, index=["$"])
    found = {
        word: [i.key for i in store.search(NS, query=word) if (i.score or 0) > 0.4]
        for word in ("ships", "zebras", "owls", "hens")
    }
    assert found == {"ships": ["1"], "zebras": ["3"], "owls": ["4"], "hens": ["1"]}


def test_without_an_index_nothing_is_embedded_and_queries_are_not_looked_at(make: Make) -> None:
    embedder = HashEmbedder(name=f"hash-{uuid.uuid4().hex[:8]}")  # of nobody else's jobs
    embedder.down = True
    store = HTMStore(memory=make(embedder=embedder), index=False)
    store.setup()
    store.put(NS, "1", {"text": "hens"}, index=["text"])
    store.put(NS, "2", {"text": "ships"})
    assert [(item.key, item.score) for item in store.search(NS, query="ships")] == [
        ("2", None),
        ("1", None),
    ]
    assert embedder.calls == 0


def test_a_failing_embedder_leaves_everything_as_it_was(make: Make) -> None:
    embedder = HashEmbedder(name=f"hash-{uuid.uuid4().hex[:8]}")
    store = HTMStore(memory=make(embedder=embedder))
    store.put(NS, "1", {"text": "hens"})
    embedder.down = True
    with pytest.raises(ModelError):
        store.batch([PutOp(NS, "1", None), PutOp(NS, "2", {"text": "ships"})])
    assert keys(store.search(NS)) == ["1"]
    store.put(NS, "3", {"text": "owls"}, index=False)
    with pytest.raises(ModelError):
        store.search(NS, query="hens")


def embed(texts: list[str]) -> list[list[float]]:
    return HashEmbedder(16).embed_documents(list(texts))


async def aembed(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return embed(texts)


@pytest.mark.parametrize(
    "given",
    [
        embed,
        aembed,
        EmbeddingsLambda(embed),
        EmbeddingsLambda(aembed),
        HashEmbedder(16),
        DeterministicFakeEmbedding(size=16),
    ],
    ids=[
        "function",
        "coroutine",
        "wrapped function",
        "wrapped coroutine",
        "embedder",
        "embeddings",
    ],
)
def test_an_embedder_may_be_anything_that_langgraph_takes(memory: Memory, given: Any) -> None:
    store = HTMStore(memory=memory, index={"dims": 16, "embed": given, "fields": ["text"]})

    async def run() -> list[str]:
        store.put(NS, "1", {"text": "hens"})  # blocks this loop, as the user wants it
        await store.aput(NS, "2", {"text": "ships"})
        return keys(await store.asearch(NS, query="ships", limit=1))

    store.setup()
    assert asyncio.run(run()) == ["2"]
    assert keys(store.search(NS, query="hens", limit=1)) == ["1"]


def test_a_coroutine_embeds_on_the_loop_that_waits_for_it(memory: Memory) -> None:
    loops: list[Any] = []

    async def remember_loop(texts: list[str]) -> list[list[float]]:
        loops.append(asyncio.get_running_loop())
        return embed(texts)

    remember_loop.model = "remember_loop"  # type: ignore[attr-defined]
    store = HTMStore(memory=memory, index={"dims": 16, "embed": remember_loop})

    async def run() -> asyncio.AbstractEventLoop:
        await store.aput(NS, "1", {"text": "hens"})
        await store.asearch(NS, query="hens")
        return asyncio.get_running_loop()

    assert [asyncio.run(run())] * 2 == loops
    store.put(NS, "2", {"text": "ships"})
    assert len(loops) == 3


def test_a_coroutine_that_embeds_may_use_the_store_itself(memory: Memory) -> None:
    async def curious(texts: list[str]) -> list[list[float]]:
        if "first" in texts[0]:
            store.put(NS, "2", {"text": "second"})
        return embed(texts)

    curious.model = "curious"  # type: ignore[attr-defined]
    store = HTMStore(memory=memory, index={"dims": 16, "embed": curious})
    asyncio.run(asyncio.wait_for(store.aput(NS, "1", {"text": "first"}), 60))
    assert sorted(keys(store.search(NS))) == ["1", "2"]


def test_a_failing_function_says_its_name(memory: Memory) -> None:
    async def refuse(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no model")

    refuse.model = "refuse"  # type: ignore[attr-defined]
    store = HTMStore(memory=memory, index={"dims": 16, "embed": refuse})
    with pytest.raises(ModelError, match=r"refuse failed: ConnectionError: no model"):
        store.put(NS, "1", {"text": "hens"})


class Caller:
    """A function with state: a client of a model."""

    def __init__(self, **state: Any) -> None:
        vars(self).update(state)

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


def named(function: Any, name: str) -> Any:
    function.model = name
    return function


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: embed(texts),
        partial(embed),
        Caller(client=object()),
        Caller(client=object()).__call__,
    ],
    ids=["lambda", "partial", "object", "method"],
)
def test_a_function_that_may_be_any_model_is_asked_for_a_name(
    memory: Memory, function: Any
) -> None:
    def local(texts: list[str]) -> list[list[float]]:
        return embed(texts)

    for each in (function, local):
        with pytest.raises(InvalidInput, match=r"which model .*embed\.model = 'my-model-1'"):
            HTMStore(memory=memory, index={"dims": 16, "embed": each})


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (named(lambda texts: embed(texts), "one"), "one"),
        (named(partial(embed), "two"), "two"),
        (Caller(client=object(), model="three"), "three"),
        (Caller(client=object(), model="four").__call__, "four"),
        (embed, f"{__name__}.embed"),
        (Caller(), f"{__name__}.Caller"),
    ],
)
def test_a_function_is_known_by_the_model_that_it_names(function: Any, name: str) -> None:
    assert EmbeddingFunction(function).model == name


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (True, "expected index to be None"),
        (["text"], "expected index to be None"),
        ({"dims": 3, "ann_index_config": {"kind": "flat"}}, "got ann_index_config too"),
        ({"fields": "text"}, r"expected fields to be a list of paths"),
        ({"dims": "3"}, "expected dim to be a whole number"),
        ({"dims": 3, "embed": 5}, "embedder: expected None"),
    ],
)
def test_an_index_that_cannot_be_meant_is_refused(memory: Memory, index: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        HTMStore(memory=memory, index=index)


@pytest.mark.parametrize("index", [True, "text", [1], {"text": 1}])
def test_the_index_of_a_put_that_cannot_be_meant_is_refused(store: HTMStore, index: Any) -> None:
    with pytest.raises(InvalidInput, match="expected index to be a list of paths"):
        store.put(NS, "1", {"text": "hens"}, index=index)


def test_another_model_is_noticed_at_set_up_and_never_mixed(make: Make) -> None:
    HTMStore(memory=make()).put(NS, "1", {"text": "hens"})
    other = HTMStore(memory=make(), index={"dims": 16, "embed": embed})
    with pytest.raises(
        DimensionMismatch,
        match=r"HashEmbedder:hash with 64 dimensions.*got EmbeddingFunction:.*embed",
    ):
        other.setup()
    with pytest.raises(DimensionMismatch):
        other.put(NS, "2", {"text": "ships"})
    with pytest.raises(DimensionMismatch):
        other.search(NS, query="ships")
    wrong = HTMStore(memory=make(), index={"dims": 3, "embed": embed})
    with pytest.raises(DimensionMismatch, match=r"expected a model of dim=3, got .* with 16"):
        wrong.setup()
    HTMStore(memory=make()).setup()
    assert keys(other.search(NS)) == ["1"]


# -- many at once -----------------------------------------------------------------------------------------------------


def test_threads_may_share_a_store(store: HTMStore) -> None:
    def work(n: int) -> None:
        for turn in range(6):
            store.batch(
                [
                    PutOp(NS, "shared", {"n": n, "turn": turn}),
                    PutOp((*NS, str(n)), str(turn), {"text": f"hens {n} {turn}"}),
                    PutOp((*NS, str((n + 1) % 8)), str(turn - 2), None),
                ]
            )
            assert len(store.search((*NS, str(n)), query="hens", limit=100)) <= 6

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert store.get(NS, "shared").value["turn"] == 5  # type: ignore[union-attr]
    assert len(store.list_namespaces(prefix=NS)) == 9


def test_the_event_loop_is_never_blocked(make: Make) -> None:
    """What embeds and asks the database does so in other threads."""
    threads: list[int] = []

    class Where(HashEmbedder):
        def _answer(self) -> None:
            threads.append(threading.get_ident())
            super()._answer()

    async def run() -> None:
        store = HTMStore(memory=make(embedder=Where()))
        await store.aput(NS, "1", {"text": "hens"})
        assert keys(await store.asearch(NS, query="hens")) == ["1"]
        assert store.get(NS, "1") == await store.aget(
            NS, "1"
        )  # a blocking read from the loop is slow, not deadly

    asyncio.run(run())
    assert threads
    assert threading.get_ident() not in threads


def test_a_missing_extra_is_named() -> None:
    code = """
import sys
sys.modules["langgraph"] = None
try:
    from htm_langchain import HTMStore
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert (
        done.stdout.strip()
        == "expected langgraph to be installed for HTMStore; run: pip install 'htm-memory[agents]'"
    )


SET_UP = """
import sys
from htm_core import Memory, Settings
from htm_langchain import HTMStore
memory = Memory("atlas", url=sys.argv[1] or None, tenant="together", settings=Settings(schema=sys.argv[2], worker="off"))
store = HTMStore(memory=memory, index=False)
store.setup()
store.put(("a",), sys.argv[3], {"n": 1})
print(len(store.search(("a",))) > 0)
"""


@pytest.fixture
def empty_schema(database_url: str) -> Iterator[str]:
    name = f"together_{uuid.uuid4().hex[:8]}"
    yield name
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"drop schema if exists {name} cascade")


@pytest.mark.not_on_citus(
    "makes an installation of its own as the owner, which needs an administrator there"
)
def test_processes_may_set_up_an_empty_database_at_once(url: str | None, empty_schema: str) -> None:
    given = [[sys.executable, "-c", SET_UP, url or "", empty_schema, str(n)] for n in range(4)]
    running = [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) for each in given]  # fmt: skip
    ended = [(*each.communicate(timeout=120), each.returncode) for each in running]
    assert [(out.strip(), code) for out, _, code in ended] == [("True", 0)] * 4, ended


# -- opening ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def dsn(url: str | None, database: Database) -> str:
    return url or database.dsn("htm_app").get_secret_value()


def test_a_store_opens_from_a_connection_string(dsn: str, tenant: str) -> None:
    with HTMStore.from_conn_string(
        dsn, tenant=tenant, index=False, pool_config={"min_size": 0, "max_size": 2}
    ) as store:
        store.setup()
        store.setup()
        store.put(NS, "1", {"a": 1})
        assert keys(store.search(NS)) == ["1"]
        future = HTMStore(memory=store.memory, ttl={"default_ttl": 1}).start_ttl_sweeper(60)
    assert type(store) is HTMStore
    assert future.cancel() or future.done()

    async def run() -> None:
        async with HTMStore.from_conn_string(
            dsn, tenant=tenant, index=False, ttl={"default_ttl": 5}
        ) as store:
            assert isinstance(store, AsyncHTMStore)
            await store.setup()
            sweeping = await store.start_ttl_sweeper()
            assert keys(await store.asearch(NS)) == ["1"]
        await sweeping

    asyncio.run(run())
    asyncio.run(run())


def test_a_store_makes_its_own_memory_and_shows_no_password(tenant: str) -> None:
    store = HTMStore(url="postgresql://ann:secret@nowhere.invalid/htm", tenant=tenant, index=False)
    assert "secret" not in repr(store)
    assert store.memory.tenant == tenant
    store.close()


@pytest.mark.parametrize(
    ("make_store", "message"),
    [
        (lambda memory: HTMStore(memory=memory, url="postgresql://x/y"), "expected memory= alone"),
        (lambda memory: HTMStore(memory=memory, tenant="other"), "expected memory= alone"),
        (
            lambda memory: HTMStore(memory="atlas"),
            "expected memory to be an htm_core.Memory, got str",
        ),  # type: ignore[arg-type]
        (
            lambda memory: HTMStore.from_conn_string(
                "postgresql://x/y", pool_config={"kwargs": {}}
            ),
            "got kwargs too",
        ),
        (lambda memory: HTMStore.from_conn_string("no dsn").__enter__(), "DSN|dsn|connection"),
    ],
    ids=["memory and url", "memory and tenant", "no memory", "pool_config", "no DSN"],
)
def test_what_cannot_be_meant_is_refused(
    memory: Memory, make_store: Callable[[Memory], Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_store(memory)


def test_operations_that_cannot_be_meant_are_refused(store: HTMStore) -> None:
    with pytest.raises(InvalidInput, match="expected match_type to be"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="expected limit to be a whole number"):
        store.search(NS, limit=-1)
    with pytest.raises(InvalidInput, match="expected filter to be a mapping"):
        store.search(NS, filter=["a"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="operators in it"):
        store.search(NS, filter={"tags": [{"$gt": 1}]})
    with pytest.raises(InvalidInput, match="unknown operator 'name'"):
        store.search(NS, filter={"by": {"$gt": 1, "name": "Ann"}})
    assert keys(store.search(NS, filter={"$or": [{"a": {"b": 1}}, {"$not": {"c": 1}}]})) == []


def test_without_a_query_what_was_put_last_comes_first(memory: Memory) -> None:
    store = HTMStore(memory=memory, index=False)
    for key in ("a", "b", "c"):
        store.put(("notes",), key, {"text": key})
    store.put(("notes", "more"), "d", {"text": "d"})
    assert [item.key for item in store.search(("notes",))] == ["d", "c", "b", "a"]
    store.put(("notes",), "a", {"text": "changed"})
    assert [item.key for item in store.search(("notes",))] == ["a", "d", "c", "b"]
    assert [item.key for item in asyncio.run(store.asearch(("notes",), limit=2, offset=1))] == [
        "d",
        "c",
    ]
    assert [
        item.key for item in store.search(("notes",), filter={"text": {"$in": ["b", "d"]}})
    ] == ["d", "b"]
    store.batch([PutOp(("batch",), key, {"text": key}) for key in ("x", "y", "z")])
    assert [item.key for item in store.search(("batch",))] == ["x", "y", "z"]  # put at once


def test_reading_an_item_does_not_move_it_up(memory: Memory) -> None:
    store = HTMStore(memory=memory, index=False, ttl={"default_ttl": 60, "refresh_on_read": True})
    for key in ("a", "b"):
        store.put(("notes",), key, {"text": key})
    store.get(("notes",), "a")
    store.search(("notes",), filter={"text": "a"})
    assert [item.key for item in store.search(("notes",))] == ["b", "a"]
