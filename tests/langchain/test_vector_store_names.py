"""What is written for other vector stores works here: documents without a model, and a $not of several filters."""

from __future__ import annotations

import logging

import pytest
from langchain_core.documents import Document

from htm_core import InvalidInput, ModelError
from htm_langchain import HTMVectorStore
from tests.conftest import Make
from tests.stand_ins import HashEmbedder


def test_documents_need_no_model_and_a_not_of_several_holds_where_none_of_them_does(
    make: Make,
) -> None:
    documents = [Document(f"The boat {n}", metadata={"n": n}, id=str(n)) for n in range(4)]
    store = HTMVectorStore.from_documents(documents, memory=make(), collection="boats")
    found = store.similarity_search("boat", k=4, filter={"$not": [{"n": 1}, {"n": {"$gte": 3}}]})
    assert {each.metadata["n"] for each in found} == {0, 2}


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("embeddings", "embedding"),
        ("collection_name", "collection"),
        ("connection", "url"),
        ("tenent", "tenant"),
    ],
)
def test_an_argument_of_another_store_is_refused_with_the_name_that_it_has_here(
    make: Make, given: str, ours: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"got {given}; did you mean {ours}\?"):
        HTMVectorStore(**{given: "x"})
    with pytest.raises(InvalidInput, match=rf"did you mean {ours}\?"):
        HTMVectorStore.from_texts(["x"], memory=make(), **{given: "x"})


def test_a_hybrid_search_goes_on_by_words_while_the_model_fails(
    make: Make, embedder: HashEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    store = HTMVectorStore(memory=make(), collection="boats")
    store.add_texts(["The harbour opens at six.", "The ship is red."])
    embedder.down = True
    with caplog.at_level(logging.WARNING, "htm.langchain"):
        assert [each.page_content for each in store.similarity_search("harbour")] == [
            "The harbour opens at six."
        ]
    assert "by their words alone" in caplog.text
    with pytest.raises(ModelError):
        store.similarity_search("harbour", mode="vector")
