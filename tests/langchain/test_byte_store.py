"""HTMByteStore where LangChain uses one: behind cached embeddings, and for the parents of what a retriever finds."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_classic.retrievers import MultiVectorRetriever, ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import CharacterTextSplitter

from htm_core import InvalidInput, Memory
from htm_core.prompt import payloads
from htm_langchain import HTMByteStore, HTMVectorStore, byte_store
from tests.conftest import Make


class Counting(Embeddings):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(len(text)), 1 / 3] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture
def store(memory: Memory) -> HTMByteStore:
    return HTMByteStore(memory=memory)


def test_embeddings_are_cached_for_every_process(make: Make) -> None:
    model = Counting()
    for _ in range(2):
        cached = CacheBackedEmbeddings.from_bytes_store(
            model,
            HTMByteStore(memory=make()),
            namespace="m1",
            key_encoder="sha256",
            query_embedding_cache=True,
        )
        assert cached.embed_documents(["tea", "coffee"]) == [[3.0, 1 / 3], [6.0, 1 / 3]]
        assert asyncio.run(cached.aembed_query("Which?")) == [6.0, 1 / 3]
    assert model.texts == ["tea", "coffee", "Which?"]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_parent_is_found_by_its_parts(memory: Memory, awaited: bool) -> None:
    store = HTMByteStore(memory=memory, namespace="parents")
    retriever = ParentDocumentRetriever(
        vectorstore=HTMVectorStore(memory=memory, collection="parts"),
        byte_store=store,
        child_splitter=CharacterTextSplitter(separator="|", chunk_size=20, chunk_overlap=0),
    )
    text = "The harbour opens at six.|Parking costs two coins."
    documents = [Document(text, metadata={"page": 1}), Document("The museum shows ships.")]
    if awaited:
        asyncio.run(retriever.aadd_documents(documents))
        [found, *_] = asyncio.run(retriever.ainvoke("What does parking cost?"))
    else:
        retriever.add_documents(documents)
        [found, *_] = retriever.invoke("What does parking cost?")
    assert (found.page_content, found.metadata) == (text, {"page": 1})
    assert len(list(store.yield_keys())) == 2


def test_a_multi_vector_retriever_reads_what_another_one_has_put(make: Make) -> None:
    def retriever() -> MultiVectorRetriever:
        memory = make()
        return MultiVectorRetriever(
            vectorstore=HTMVectorStore(memory=memory),
            byte_store=HTMByteStore(memory=memory),
            id_key="whole",
        )

    first = retriever()
    first.docstore.mset([("book", Document("All of the book."))])
    first.vectorstore.add_documents(
        [Document("A summary about ships.", metadata={"whole": "book"})]
    )
    assert [each.page_content for each in retriever().invoke("ships")] == ["All of the book."]


def test_keys_are_read_by_pages_and_by_prefix(
    store: HTMByteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_store, "PAGE", 3)
    keys = [f"{kind}%_{number}" for kind in ("ä", "a", "b") for number in range(4)]
    store.mset([(key, b"x" * 100) for key in keys])
    assert sorted(store.yield_keys()) == sorted(keys)
    assert sorted(store.yield_keys(prefix="a%")) == [f"a%_{number}" for number in range(4)]

    async def awaited() -> list[str]:
        return [key async for key in store.ayield_keys(prefix="ä")]

    assert sorted(asyncio.run(awaited())) == [f"ä%_{number}" for number in range(4)]
    assert list(store.yield_keys(prefix="none")) == []


def test_long_values_are_kept_and_their_parts_are_no_keys(
    store: HTMByteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART_BYTES", 100)
    values = {"long": bytes(range(256)), "short": b"x"}
    store.mset(list(values.items()))
    assert store.mget(["long", "none", "short", "long"]) == [
        values["long"],
        None,
        b"x",
        values["long"],
    ]
    assert sorted(store.yield_keys()) == ["long", "short"]
    store.mdelete(["long", "none"])
    assert store.mget(["long"]) == [None]
    assert list(store.yield_keys()) == ["short"]
    assert store._items.count() == 1


def test_what_is_no_bytes_is_refused_and_nothing_is_stored(store: HTMByteStore) -> None:
    bad: Any = [("a", b"1"), ("b", "text")]
    with pytest.raises(InvalidInput, match="'b' to be bytes, got str"):
        store.mset(bad)
    with pytest.raises(InvalidInput, match="not empty"):
        store.mset([("a", b"1"), ("", b"2")])
    assert list(store.yield_keys()) == []


def test_stores_of_other_names_and_tenants_are_apart_and_no_memories(
    store: HTMByteStore, make: Make
) -> None:
    store.mset([("harbour", b"The harbour opens at six.")])
    for other in (
        HTMByteStore(memory=store.memory, namespace="other"),
        HTMByteStore(memory=make(tenant="t-bytes")),
    ):
        assert other.mget(["harbour"]) == [None]
        other.mdelete(["harbour"])
    assert store.mget(["harbour"]) == [b"The harbour opens at six."]
    assert not store.memory.recall("When does the harbour open?")


def test_a_copy_is_the_same_store_and_none_can_be_pickled(store: HTMByteStore) -> None:
    assert copy.deepcopy(store) is store
    assert repr(store).startswith("HTMByteStore(tenant=")
    with pytest.raises(TypeError):
        pickle.dumps(store)
