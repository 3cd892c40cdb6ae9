"""What is written for other vector stores works here: documents without a model, and a $not of several filters."""

from __future__ import annotations

from langchain_core.documents import Document

from htm_langchain import HTMVectorStore
from tests.conftest import Make


def test_documents_need_no_model_and_a_not_of_several_holds_where_none_of_them_does(make: Make) -> None:
    documents = [Document(f"The boat {n}", metadata={"n": n}, id=str(n)) for n in range(4)]
    store = HTMVectorStore.from_documents(documents, memory=make(), collection="boats")
    found = store.similarity_search("boat", k=4, filter={"$not": [{"n": 1}, {"n": {"$gte": 3}}]})
    assert {each.metadata["n"] for each in found} == {0, 2}
