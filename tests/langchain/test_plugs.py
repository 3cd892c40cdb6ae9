"""LangChain's own rerankers in recall: what they put first stands first in the model's request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
)
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_text_splitters import CharacterTextSplitter

from htm_core import Memory
from htm_core.prompt.recalled_block import MAYBE, TAG
from htm_langchain import HTMMemoryMiddleware, HTMRetriever
from tests.conftest import Make
from tests.langchain.models import scripted, texts

TALK = (
    "Which crane in the harbour do you mean?",
    "The crane in the harbour was sold to Bruges.",
    "The crane in the harbour is green.",
    "The cook in the harbour makes soup on Fridays.",
)
ASKED = "What do you know about the crane in the harbour?"


class Pairs(BaseCrossEncoder):
    """A stand-in for a cross-encoder: it likes texts about soup."""

    def score(self, text_pairs: Any) -> list[float]:
        return [float("soup" in text) for _, text in text_pairs]


class Rewriting(BaseDocumentCompressor):
    """It answers with new documents in other words, as an extractor does, and leaves most of them out."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        return [
            Document("shortened", metadata=each.metadata)
            for each in documents
            if "soup" in each.page_content
        ]


class Forgetful(BaseDocumentCompressor):
    """It answers with new documents that have lost their metadata, and with one that it made up."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        return [
            Document("made up"),
            *(Document(each.page_content) for each in documents if "soup" in each.page_content),
        ]


def compressors() -> list[Any]:
    reranker = CrossEncoderReranker(model=Pairs(), top_n=1)
    pipeline = DocumentCompressorPipeline(
        transformers=[
            CharacterTextSplitter(chunk_size=20, chunk_overlap=0, separator=" "),
            reranker,
        ]
    )
    return [reranker, pipeline, Rewriting(), Forgetful(), Pairs()]


def told(memory: Memory) -> None:
    for text in TALK:
        memory.remember(text)
    memory.flush()


@pytest.mark.parametrize("compressor", compressors(), ids=lambda each: type(each).__name__)
def test_a_document_compressor_decides_who_is_first_and_no_hit_is_lost_or_changed(
    make: Make, compressor: Any
) -> None:
    with make(reranker=compressor) as memory:
        told(memory)
        found = memory.recall(ASKED, hold=False)
        assert found.fallback is None
        assert found[0].content == TALK[3]
        assert {hit.content for hit in found} == set(TALK)
        assert HTMRetriever(memory=memory, k=1).invoke(ASKED)[0].page_content == TALK[3]


def test_what_a_reranker_puts_first_stands_first_in_the_request_of_an_agent_and_is_not_called_maybe_related(
    make: Make,
) -> None:
    with make(user="ann", reranker=CrossEncoderReranker(model=Pairs(), top_n=1)) as memory:
        told(memory)
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        agent.invoke({"messages": [("user", ASKED)]}, {"configurable": {"thread_id": "t"}})
        [block] = [text for text in texts(model.seen[-1]) if f"<{TAG}-" in text]
        first = block.split("\n- [")[1]
        assert TALK[3] in first
        assert MAYBE not in first


def test_a_reranker_that_fails_costs_the_agent_nothing_but_the_better_order(make: Make) -> None:
    class Broken(BaseDocumentCompressor):
        """Its server is not there."""

        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            raise ConnectionError("no route")

    with make(user="ann", reranker=Broken()) as memory:
        told(memory)
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        agent.invoke({"messages": [("user", ASKED)]}, {"configurable": {"thread_id": "t"}})
        [block] = [text for text in texts(model.seen[-1]) if f"<{TAG}-" in text]
        assert TALK[2] in block
        assert "incomplete" not in block
