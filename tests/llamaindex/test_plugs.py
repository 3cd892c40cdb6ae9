"""LlamaIndex's own postprocessors in recall: what they put first stands first in the model's messages."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from htm_core import Memory
from htm_llamaindex import HTMMemory, HTMRetriever
from tests.conftest import Make

TALK = (
    "The crane in the harbour was sold to Bruges.",
    "The crane in the harbour is green.",
    "The cook in the harbour makes soup on Fridays.",
)
ASKED = "What do you know about the crane in the harbour?"


class LikesSoup(BaseNodePostprocessor):
    """A stand-in for a reranker: it answers with the texts about soup alone, and wants the question."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        assert query_bundle.query_str == ASKED
        return [
            NodeWithScore(node=each.node, score=1.0)
            for each in nodes
            if "soup" in each.node.get_content()
        ]


def told(memory: Memory) -> None:
    for text in TALK:
        memory.remember(text)
    memory.flush()


def test_a_postprocessor_decides_who_is_first_and_no_hit_is_lost(make: Make) -> None:
    with make(reranker=LikesSoup()) as memory:
        told(memory)
        found = memory.recall(ASKED, hold=False)
        assert found.fallback is None
        assert found[0].content == TALK[2]
        assert {hit.content for hit in found} == set(TALK)
        assert HTMRetriever(memory=memory, limit=1).retrieve(ASKED)[0].node.get_content() == TALK[2]


@pytest.mark.parametrize("cutoff", [0.0, 1.0])
def test_a_postprocessor_that_goes_by_scores_gets_those_of_the_search(
    make: Make, cutoff: float
) -> None:
    postprocessor: Any = SimilarityPostprocessor(similarity_cutoff=cutoff)
    with make() as plain:
        told(plain)
        expected = [hit.content for hit in plain.recall(ASKED, hold=False)]
    with make(reranker=postprocessor) as memory:
        found = memory.recall(ASKED, hold=False)
    assert found.fallback is None
    assert [hit.content for hit in found] == expected


def test_what_a_postprocessor_puts_first_stands_first_in_the_messages_for_the_model(
    make: Make,
) -> None:
    with make(user="ann", reranker=LikesSoup()) as memory:
        told(memory)
        chat = HTMMemory.from_defaults(session_id="s1", memory=memory, token_limit=1_000)
        shown = "\n".join(str(message.content) for message in chat.get(input=ASKED))
    assert TALK[2] in shown.split("\n- [")[1]
