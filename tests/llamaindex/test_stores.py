"""The document, index and key-value stores: a pipeline and its indexes persist in one place, as with LlamaIndex's own stores."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import (
    Document,
    MockEmbedding,
    StorageContext,
    SummaryIndex,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.storage.docstore import BaseDocumentStore, SimpleDocumentStore

from htm_core import InvalidInput, Memory, Redactor
from htm_core.prompt import payloads
from htm_llamaindex import HTMDocumentStore, HTMIndexStore, HTMKVStore, HTMVectorStore

Make = Callable[..., Memory]
BOOKS = {
    "harbour": "The harbour opens at six.",
    "museum": "The museum shows ships.",
    "ferry": "The ferry leaves at noon.",
}


class Shout(TransformComponent):
    """Counts how often it is called."""

    def __call__(self, nodes: Any, **_: Any) -> Any:
        calls.append(len(nodes))
        return [
            TextNode(text=node.get_content().upper(), relationships=node.relationships)
            for node in nodes
        ]


calls: list[int] = []


@pytest.fixture
def store(memory: Memory) -> HTMDocumentStore:
    return HTMDocumentStore(memory=memory)


@pytest.fixture
def kv(memory: Memory) -> HTMKVStore:
    return HTMKVStore(memory=memory)


def books(**changed: str) -> list[Document]:
    return [
        Document(text=text, doc_id=id, metadata={"id": id})
        for id, text in (BOOKS | changed).items()
    ]


def part(document: str, id: str, text: str = "text", **metadata: Any) -> TextNode:
    source = RelatedNodeInfo(node_id=document, metadata=metadata)
    return TextNode(
        id_=id, text=text, metadata=metadata, relationships={NodeRelationship.SOURCE: source}
    )


def pipeline(
    memory: Memory, strategy: DocstoreStrategy, *, vectors: bool = True
) -> IngestionPipeline:
    return IngestionPipeline(
        transformations=[
            SentenceSplitter(chunk_size=64, chunk_overlap=0),
            MockEmbedding(embed_dim=8),
        ],
        docstore=HTMDocumentStore(memory=memory),
        vector_store=HTMVectorStore(memory=memory) if vectors else None,
        cache=IngestionCache(cache=HTMKVStore(memory=memory)),
        docstore_strategy=strategy,
    )


def texts(memory: Memory) -> dict[str, str]:
    """The texts in the vector store, by the document that they are a part of."""
    return {
        str(node.ref_doc_id): node.get_content()
        for node in HTMVectorStore(memory=memory).get_nodes()
    }


# -- the document store -----------------------------------------------------------------------------------------------


def seen(store: BaseDocumentStore) -> dict[str, Any]:
    infos = store.get_all_ref_doc_info() or {}
    return {
        "docs": {id: node.to_dict() for id, node in store.docs.items()},
        "hashes": store.get_all_document_hashes(),
        "ref_docs": {id: (sorted(info.node_ids), info.metadata) for id, info in infos.items()},
        "exists": [store.document_exists(id) for id in ("a1", "a2", "b1", "a", "b", "none")],
        "known": [store.get_document_hash(id) for id in ("a1", "a2", "b1", "a", "b", "none")],
    }


STEPS: list[Callable[[BaseDocumentStore], Any]] = [
    lambda store: store.add_documents(
        [Document(text="all of a", doc_id="a"), Document(text="all of b", doc_id="b")]
    ),
    lambda store: store.add_documents(
        [part("a", "a1", "one", year=1), part("a", "a2", "two", year=1), part("b", "b1")]
    ),
    lambda store: store.set_document_hashes({"c": "hash of c", "d": "hash of d"}),
    lambda store: store.add_documents([part("a", "a1", "one, again", year=1)]),
    lambda store: store.delete_document("a2"),
    lambda store: store.add_documents([part("a", "a3", "three", year=1)], store_text=False),
    lambda store: store.delete_document("b1"),  # the last node of b, so b goes too
    lambda store: store.delete_ref_doc("a"),
    lambda store: store.delete_ref_doc("none", raise_error=False),
    lambda store: store.delete_document("none", raise_error=False),
]


def test_after_each_step_the_store_has_what_llamaindex_own_store_has(
    store: HTMDocumentStore,
) -> None:
    theirs = SimpleDocumentStore()
    for number, step in enumerate(STEPS):
        step(theirs)
        step(store)
        assert seen(store) == seen(theirs), number


def test_awaited_it_does_the_same(store: HTMDocumentStore) -> None:
    async def all_of_it() -> None:
        await store.async_add_documents([Document(text="all of a", doc_id="a")])
        await store.async_add_documents([part("a", "a1"), part("a", "a2", year=2)])
        assert (await store.aget_document("a1") or part("", "")).get_content() == "text"
        assert [node.node_id for node in await store.aget_nodes(["a2", "a1"])] == ["a2", "a1"]
        await store.aset_document_hash("c", "x")
        await store.aset_document_hashes({"d": "y"})
        assert [await store.aget_document_hash(id) for id in "cde"] == ["x", "y", None]
        assert {"x", "y"} < set(await store.aget_all_document_hashes())
        info = await store.aget_ref_doc_info("a")
        assert info is not None
        assert info.node_ids == ["a1", "a2"]
        assert info.metadata == {"year": 2}
        assert list(await store.aget_all_ref_doc_info() or {}) == ["a"]
        assert await store.aref_doc_exists("a")
        await store.adelete_document("a1")
        assert not await store.adocument_exists("a1")
        await store.adelete_ref_doc("a")

    asyncio.run(all_of_it())
    assert store.docs == {}
    assert store.get_all_ref_doc_info() == {}


def test_nodes_come_back_as_they_were(store: HTMDocumentStore) -> None:
    odd = {
        "seen": datetime(2026, 5, 1, tzinfo=UTC),
        "n": 1e16,
        "nested": [{"a": None}],
        "nul": "a\0b",
    }
    nodes: list[BaseNode] = [
        TextNode(id_="ü\n/'\"", text="one\0two \ud83d", metadata=odd, embedding=[0.1, -0.2]),
        Document(doc_id="doc", text="whole", metadata={"a": (1, 2)}),
    ]
    store.add_documents(nodes)
    found = store.get_nodes([node.node_id for node in nodes])
    assert [type(node) for node in found] == [TextNode, Document]
    assert [node.to_dict() for node in found] == [node.to_dict() for node in nodes]
    found[0].metadata["seen"] = "changed"
    assert store.get_nodes([nodes[0].node_id])[0].metadata["seen"] == odd["seen"]


def test_what_is_not_there_is_an_error_that_names_it(store: HTMDocumentStore) -> None:
    store.add_documents([part("a", "a1")])
    for ask in (store.get_document, store.get_node, store.delete_document, store.delete_ref_doc):
        with pytest.raises(ValueError, match="absent not found"):
            ask("absent")
    with pytest.raises(ValueError, match="absent not found"):
        store.get_nodes(["a1", "absent"])
    assert [node.node_id for node in store.get_nodes(["absent", "a1"], raise_error=False)] == ["a1"]
    with pytest.raises(ValueError, match="a1 already exists"):
        store.add_documents([part("a", "new"), part("a", "a1")], allow_update=False)
    assert not store.document_exists("new")
    with pytest.raises(InvalidInput, match="batch_size"):
        store.add_documents([part("a", "new")], batch_size=0)
    with pytest.raises(InvalidInput, match="JSON's types"):
        store.add_documents([part("a", "new"), TextNode(text="x", metadata={"a": object()})])
    assert not store.document_exists("new")


def test_two_who_add_nodes_of_one_document_at_once_keep_each_others(make: Make) -> None:
    stores = [HTMDocumentStore(memory=make()) for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        list(
            threads.map(
                lambda n: [stores[n].add_documents([part("a", f"{n}-{m}")]) for m in range(20)],
                range(2),
            )
        )
    info = stores[0].get_ref_doc_info("a")
    assert info is not None
    assert len(info.node_ids) == 40


def test_a_node_is_no_memory(store: HTMDocumentStore, memory: Memory) -> None:
    store.add_documents([TextNode(text="The harbour opens at six.")])
    memory.flush()
    assert not memory.recall("When does the harbour open?")
    assert memory.stats().nodes == 0
    for name in ("llamaindex:stores", "langchain:bytes"):
        with pytest.raises(InvalidInput, match="choose another"):
            memory.collection(name)


def test_stores_of_other_names_and_tenants_are_apart(store: HTMDocumentStore, make: Make) -> None:
    store.add_documents([part("a", "a1")])
    for other in (
        HTMDocumentStore(memory=make(), namespace="other"),
        HTMDocumentStore(memory=make(tenant="t-other")),
    ):
        assert other.docs == {}
        assert other.get_all_document_hashes() == {}


def test_a_redactor_reads_nodes_before_they_are_stored(make: Make) -> None:
    store = HTMDocumentStore(memory=make(redactor=Redactor()))
    store.add_documents(
        [TextNode(id_="a", text="Write to ann@example.org. " + "Or not. " * 200_000)]
    )
    found = store.get_nodes(["a"])[0].get_content()
    assert "ann@example.org" not in found
    assert found.startswith("Write to [redacted:email]")
    source, node = (
        "ee9756de-8ab8-4923-b154-c3799eb5be7e",
        "70384a09-07db-4ed8-be44-a918eb4107d0",
    )  # IBANs by chance
    store.add_documents([part(source, node)])
    assert store.get_nodes([node])[0].ref_doc_id == source


# -- the key-value store ----------------------------------------------------------------------------------------------


def test_values_are_kept_under_keys_in_collections(kv: HTMKVStore) -> None:
    kv.put("a", {"n": 1})
    kv.put("a", {"n": 2}, collection="other")
    kv.put_all([("b", {"n": 3}), ("c", {"n": 4}), ("b", {"n": 5})], batch_size=2)
    assert kv.get("a") == {"n": 1}
    assert kv.get("a", "other") == {"n": 2}
    assert kv.get("none") is None
    assert kv.get_all() == {"a": {"n": 1}, "b": {"n": 5}, "c": {"n": 4}}
    assert [kv.delete("a"), kv.delete("a"), kv.delete("a", "other")] == [True, False, True]
    assert list(kv.get_all()) == ["b", "c"]
    assert kv.get_all("other") == {}


def test_awaited_the_key_value_store_does_the_same(kv: HTMKVStore) -> None:
    async def all_of_it() -> None:
        await kv.aput("a", {"n": 1})
        await kv.aput_all([("b", {"n": 2})], collection="data")
        assert await kv.aget("a") == {"n": 1}
        assert list(await kv.aget_all()) == ["a", "b"]
        assert await kv.adelete("a")
        assert await kv.aget("a") is None

    asyncio.run(all_of_it())


def test_a_batch_with_one_value_that_cannot_be_stored_stores_none(kv: HTMKVStore) -> None:
    for bad in ({"x": object()}, "no dict", None):
        with pytest.raises(InvalidInput, match="expected"):
            kv.put_all([("a", {"n": 1}), ("b", bad)])  # type: ignore[list-item]
    assert kv.get_all() == {}


def test_a_long_value_is_kept_in_parts_that_come_and_go_together(
    kv: HTMKVStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART_BYTES", 1_000)
    long, longer = ({"words": ["ahoi"] * many} for many in (700, 1_000))
    collection = kv._stored.collection
    for value, parts in ((long, 5), (longer, 8), (long, 5)):
        kv.put("a", value)
        assert kv.get("a") == value
        assert kv.get_all() == {"a": value}
        assert collection.count(namespace=("parts",)) == parts - 1
    kv.delete("a")
    assert kv.get("a") is None
    assert collection.count() == 0
    monkeypatch.setattr(payloads, "MOST_PARTS", 3)
    monkeypatch.setattr(payloads, "MOST_BYTES", 3_000)
    with pytest.raises(InvalidInput, match="at most 3,000 bytes"):
        kv.put("a", long)


def test_a_reader_of_a_long_value_never_sees_half_of_it(
    kv: HTMKVStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART_BYTES", 500)
    values = [{"words": [word] * many} for word, many in (("one", 400), ("seven", 700))]
    kv.put("a", values[0])

    def write(_: int) -> None:
        for turn in range(30):
            kv.put("a", values[turn % 2])

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write, 0)
        while not writing.done():
            assert kv.get("a") in values
        writing.result()


def test_a_value_of_several_megabytes_comes_back(kv: HTMKVStore) -> None:
    value = {
        "vectors": [[number / 7 for number in range(1_000)]] * 150,
        "when": {"at": datetime(2026, 1, 1, tzinfo=UTC)},
    }
    kv.put("a", value)
    assert kv.get("a") == value
    stored = kv._stored.collection.query(limit=None)[0].item
    assert len(stored.payload or b"") < 1 << 20 < 150 * 1_000 * 18


def test_a_copy_is_the_same_store_and_a_serialised_one_holds_no_address(memory: Memory) -> None:
    for made in (
        HTMKVStore(memory=memory),
        HTMDocumentStore(memory=memory),
        HTMIndexStore(memory=memory),
    ):
        assert copy.deepcopy(made) is made
        written = pickle.dumps(made)
        assert b"postgresql" not in written
        assert b"password" not in written
    again = pickle.loads(pickle.dumps(HTMKVStore(memory=memory, namespace="mine")))
    again.put("a", {"n": 1})
    assert HTMKVStore(memory=memory, namespace="mine").get("a") == {"n": 1}
    assert repr(again) == f"HTMKVStore(tenant={memory.tenant!r}, namespace='mine')"


# -- pipelines and indexes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("awaited", [False, True], ids=["run", "arun"])
@pytest.mark.parametrize("strategy", DocstoreStrategy, ids=lambda strategy: strategy.value)
def test_a_pipeline_run_again_does_what_its_strategy_says(
    memory: Memory, strategy: DocstoreStrategy, awaited: bool
) -> None:
    def run(documents: list[Document]) -> list[str]:
        made = pipeline(memory, strategy)
        nodes = (
            asyncio.run(made.arun(documents=documents))
            if awaited
            else made.run(documents=documents)
        )
        return sorted(str(node.ref_doc_id) for node in nodes)

    assert run(books()) == ["ferry", "harbour", "museum"]
    assert run(books()) == []
    assert run(books(ferry="The ferry leaves at one.")[1:]) == ["ferry"]
    after = texts(memory)
    assert HTMDocumentStore(memory=memory).document_exists("museum")
    if strategy is DocstoreStrategy.UPSERTS_AND_DELETE:
        assert after == {"museum": BOOKS["museum"], "ferry": "The ferry leaves at one."}
        assert not HTMDocumentStore(memory=memory).document_exists("harbour")
    elif strategy is DocstoreStrategy.UPSERTS:
        assert after == BOOKS | {"ferry": "The ferry leaves at one."}
    else:  # a changed document is a further one
        assert len(HTMVectorStore(memory=memory).get_nodes()) == 4


def test_without_texts_in_the_document_store_a_pipeline_still_deletes_what_is_gone(
    memory: Memory,
) -> None:
    """LlamaIndex's own stores raise an error here."""
    strategy = DocstoreStrategy.UPSERTS_AND_DELETE
    pipeline(memory, strategy).run(documents=books(), store_doc_text=False)
    pipeline(memory, strategy).run(documents=books()[:1], store_doc_text=False)
    assert list(texts(memory)) == ["harbour"]
    assert HTMDocumentStore(memory=memory).docs == {}


def test_a_cache_is_there_for_the_next_pipeline(memory: Memory) -> None:
    calls.clear()
    for _ in range(2):
        made = IngestionPipeline(
            transformations=[Shout()], cache=IngestionCache(cache=HTMKVStore(memory=memory))
        )
        nodes = made.run(documents=books())
        assert [node.get_content() for node in nodes] == [text.upper() for text in BOOKS.values()]
    assert calls == [3]
    made.cache.clear()
    made.run(documents=books())
    assert calls == [3, 3]


def contexts(memory: Memory) -> StorageContext:
    return StorageContext.from_defaults(
        docstore=HTMDocumentStore(memory=memory),
        index_store=HTMIndexStore(memory=memory),
        vector_store=HTMVectorStore(memory=memory, collection="index"),
    )


def test_indexes_are_opened_again_from_one_storage_context(make: Make, tmp_path: Path) -> None:
    model = MockEmbedding(embed_dim=8)
    first = contexts(make())
    VectorStoreIndex.from_documents(books(), storage_context=first, embed_model=model).set_index_id(
        "vectors"
    )
    summary = SummaryIndex.from_documents(books(), storage_context=first)
    summary.set_index_id("summary")
    first.persist(str(tmp_path))  # writes no file that is needed
    again = contexts(make())
    found = load_index_from_storage(again, index_id="summary")
    assert [node.node.get_content() for node in found.as_retriever().retrieve("ships?")] == list(
        BOOKS.values()
    )
    found.refresh_ref_docs(books(ferry="The ferry leaves at one."))
    assert sorted(found.ref_doc_info) == sorted(BOOKS)
    found.delete_ref_doc("museum", delete_from_docstore=True)
    opened = load_index_from_storage(contexts(make()), index_id="summary")
    assert sorted(opened.ref_doc_info) == ["ferry", "harbour"]
    vectors = load_index_from_storage(again, index_id="vectors", embed_model=model)
    assert len(vectors.as_retriever(similarity_top_k=5).retrieve("ships?")) == 3

    async def structures() -> list[str]:
        store = HTMIndexStore(memory=make())
        await store.adelete_index_struct("vectors")
        return [each.index_id for each in await store.async_index_structs()]

    assert asyncio.run(structures()) == ["summary"]


PROGRAM = """
import sys
from llama_index.core import Document, MockEmbedding
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from htm_llamaindex import HTMDocumentStore, HTMKVStore, HTMVectorStore

tenant, own = sys.argv[1:]
IngestionPipeline(
    transformations=[MockEmbedding(embed_dim=8)],
    docstore=HTMDocumentStore(tenant=tenant),
    vector_store=HTMVectorStore(tenant=tenant),
    cache=IngestionCache(cache=HTMKVStore(tenant=tenant)),
).run(documents=[Document(text=f"{name} text", doc_id=name) for name in ("shared", own)])
"""


def test_two_processes_fill_the_same_stores_at_once(memory: Memory, url: str | None) -> None:
    environment = os.environ | ({"HTM_DATABASE_URL": url} if url else {})
    memory.remember("The server is up.")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, memory.tenant, name],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for each in running:
        assert each.wait(120) == 0, each.stderr and each.stderr.read()
    assert sorted(HTMDocumentStore(memory=memory).docs) == ["first", "second", "shared"]
    assert set(HTMDocumentStore(memory=memory).get_all_document_hashes().values()) == {
        "first",
        "second",
        "shared",
    }
    assert len(HTMVectorStore(memory=memory).get_nodes()) == 3
