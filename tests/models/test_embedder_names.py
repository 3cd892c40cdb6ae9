"""An embedder is named by the model that makes its vectors, so that vectors of two models are never mixed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.stores import InMemoryByteStore
from llama_index.core.embeddings import MockEmbedding
from pydantic import BaseModel

from htm_core import DimensionMismatch, InvalidInput
from htm_core.models.embedder_names import embedder_name
from htm_core.models.embedders import resolve
from htm_langchain import HTMEmbeddings, HTMVectorStore
from tests.conftest import Make
from tests.stand_ins import HashEmbedder


class Named(DeterministicFakeEmbedding):
    """An embedder with the fields of those that call a provider."""

    model: str = "text-embedding-ada-002"
    deployment: str | None = None


class ById(DeterministicFakeEmbedding):
    model_id: str


class Instructed(Embeddings):
    """It changes what its model is asked, and so the vectors."""

    def __init__(self, inner: Embeddings) -> None:
        self._inner = inner

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._inner.embed_documents([f"passage: {text}" for text in texts])

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_query(f"query: {text}")


class Plain(Embeddings):
    """It does not say which model it is."""

    def __init__(self, **state: Any) -> None:
        vars(self).update(state)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


class PlainModel(BaseModel):
    size: int = 1
    _client: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


def cached(inner: Any) -> CacheBackedEmbeddings:
    return CacheBackedEmbeddings.from_bytes_store(inner, InMemoryByteStore(), key_encoder="sha256")


@pytest.mark.parametrize(
    ("embedder", "name"),
    [
        (Named(size=3, model="small"), "Named:small"),
        (Named(size=3), "Named:text-embedding-ada-002"),
        (Named(size=3, deployment="ours-3"), "Named:ours-3"),
        (Named(size=3, model="small", deployment="ours-3"), "Named:small"),
        (ById(size=3, model_id="titan-2"), "ById:titan-2"),
        (Plain(repo_id="org/model"), "Plain:org/model"),
        (Plain(model_path="/models/a.gguf"), "Plain:/models/a.gguf"),
        (Plain(model="unknown", model_name=" "), "Plain"),
        (cached(Named(size=3, model="small")), "Named:small"),
        (cached(cached(ById(size=3, model_id="titan-2"))), "ById:titan-2"),
        (Instructed(Named(size=3, model="small")), "Instructed(Named:small)"),
        (cached(Instructed(HashEmbedder(name="a"))), "Instructed(HashEmbedder:a)"),  # type: ignore[arg-type]
        (
            Plain(first=HashEmbedder(name="a"), second=HashEmbedder(name="b")),
            "Plain(HashEmbedder:a, HashEmbedder:b)",
        ),
        (DeterministicFakeEmbedding(size=3), "DeterministicFakeEmbedding"),
    ],
)
def test_an_embedder_has_the_name_of_its_model(embedder: Any, name: str) -> None:
    assert embedder_name(embedder) == name


def test_a_cache_around_a_memorys_own_model_is_that_model(make: Make) -> None:
    assert embedder_name(cached(HTMEmbeddings(make()))) == HTMEmbeddings(make()).model


def test_an_embedder_that_holds_itself_has_a_name() -> None:
    plain = Plain()
    plain.inner = Plain(inner=plain)  # type: ignore[attr-defined]
    assert embedder_name(plain).startswith("Plain(Plain(")


@pytest.mark.parametrize(
    "embedder",
    [
        Plain(client=object()),
        Plain(path="weights.bin"),
        cached(Plain(client=object())),
        Instructed(Plain(seen=["a"])),
    ],  # type: ignore[arg-type]
)
def test_a_name_is_asked_for_where_two_models_could_be_taken_for_one(embedder: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"(?s)which model .*Plain.* is.*model_name = 'my-model-1'"
    ):
        embedder_name(embedder)
    with pytest.raises(InvalidInput, match="which model"):
        resolve(embedder)


@pytest.mark.parametrize(
    "embedder",
    [
        Plain(size=3, calls=0), Plain(), PlainModel(), Plain(model="one"), cached(Plain()), Instructed(Plain(size=3)),  # type: ignore[arg-type]
        MockEmbedding(embed_dim=3), Plain(client=object(), model_name="one"), Plain(client=object(), model_name="Plain"),
    ],
)  # fmt: skip
def test_no_name_is_asked_for_where_the_class_says_all_or_a_name_is_there(embedder: Any) -> None:
    assert embedder_name(embedder)


@pytest.mark.parametrize(
    ("embedder", "stored"),
    [
        (Plain(client=object(), model_name="Plain"), "Plain"),
        (Instructed(Plain(client=object(), model_name="Plain")), "Instructed(Plain)"),  # type: ignore[arg-type]
        (cached(Plain(client=object(), model_name="Plain")), "Plain"),
        (Plain(first=Plain(), model_name="Plain(Plain)"), "Plain(Plain)"),
    ],
)
def test_vectors_that_were_stored_without_a_name_are_found_by_the_name_they_have(
    embedder: Any, stored: str
) -> None:
    assert embedder_name(embedder) == stored


def test_a_database_whose_vectors_have_no_name_goes_on(make: Make) -> None:
    """What an earlier version stored for an embedder without a name stands under its class."""
    with make(embedder=Plain()) as memory:
        memory.remember("The harbour opens at six.")
        assert memory.flush(timeout=30)
    with pytest.raises(InvalidInput, match="model_name = 'Plain' finds them"):
        make(embedder=Plain(client=object()))
    with make(embedder=Plain(client=object(), model_name="Plain")) as memory:
        assert memory.recall("when", mode="vector")[0].content == "The harbour opens at six."


def test_caches_of_two_models_of_one_dimension_do_not_mix(make: Make) -> None:
    first, second = cached(ById(size=8, model_id="a")), cached(ById(size=8, model_id="b"))
    HTMVectorStore(first, memory=make(), collection="one").add_texts(["The harbour opens at six."])
    again = HTMVectorStore(ById(size=8, model_id="a"), memory=make(), collection="one")
    assert len(again.similarity_search("harbour")) == 1
    with pytest.raises(DimensionMismatch, match="ById:a"):
        HTMVectorStore(second, memory=make(), collection="one").similarity_search("harbour")
    with pytest.raises(DimensionMismatch, match="ById:a"):
        HTMVectorStore(second, memory=make(), collection="one").add_texts(["The pump is blocked."])
