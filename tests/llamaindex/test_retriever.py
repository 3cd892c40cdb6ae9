"""HTMRetriever: recall under LlamaIndex's query engines."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from htm_core import InvalidInput, Memory
from htm_llamaindex import HTMEmbedding, HTMRetriever
from tests.conftest import Make
from tests.llamaindex.models import Scripted


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember(
        "The user prefers dark mode.",
        session="s1",
        role="user",
        name="Ada",
        tags=["ui"],
        metadata={"app": 1},
    )
    memory.remember("The harbour opens at six.", session="s1", role="assistant")
    assert memory.flush()
    return memory


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_what_is_remembered_is_retrieved_with_who_said_it(filled: Memory, mode: str) -> None:
    found = HTMRetriever(filled, similarity_top_k=1, mode=mode).retrieve("dark mode")
    assert [each.get_content() for each in found] == ["The user prefers dark mode."]
    assert 0 < (found[0].score or 0) <= 1
    assert found[0].metadata["app"] == 1
    about = found[0].metadata["htm"]
    assert (about["name"], about["session"], about["tags"]) == ("Ada", "s1", ["ui"])


def test_it_is_awaitable_in_one_event_loop_after_the_other(filled: Memory) -> None:
    retriever = HTMRetriever(filled)
    first, second = (asyncio.run(retriever.aretrieve("dark mode")) for _ in range(2))
    assert [each.node_id for each in first] == [each.node_id for each in second]


def test_a_query_engine_over_memories_answers_without_showing_the_model_our_bookkeeping(
    filled: Memory,
) -> None:
    model = Scripted("Dark.")
    answer = RetrieverQueryEngine.from_args(HTMRetriever(filled), llm=model.llm).query(
        "dark mode or light mode?"
    )
    assert str(answer) == "Dark."
    assert "The user prefers dark mode." in model.last
    assert "text_rank" not in model.last
    assert "text_rank" not in answer.source_nodes[0].get_content(MetadataMode.EMBED)


class Spelling(BaseEmbedding):
    """An embedding of LlamaIndex's kind: how often each letter is in a text."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_any_embedding_of_llamaindexs_is_a_memorys_own(make: Make) -> None:
    memory = make(embedder=Spelling(model_name=f"spelling-{uuid.uuid4().hex[:8]}"), embed="now")
    for text in ("The harbour opens at six.", "zzz zzz zzz"):
        memory.remember(text)
    found = HTMRetriever(memory, similarity_top_k=1, mode="vector").retrieve("zz z")
    assert [each.get_content() for each in found] == ["zzz zzz zzz"]
    assert not memory.jobs.list(kind="embed")
    assert HTMEmbedding(memory).get_query_embedding("b")[1] > 1


def test_an_unknown_mode_is_refused_by_name(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="semantic"):
        HTMRetriever(memory, mode="semantic")


def test_a_run_cannot_be_narrowed_to_no_nodes_at_all(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="limit to be a whole number from 1 to 1,000, got 0"):
        HTMRetriever(memory).narrowed(limit=0)
