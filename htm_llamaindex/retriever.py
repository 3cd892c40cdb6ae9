"""Recall as a LlamaIndex retriever."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from htm_core import Hit, InvalidInput, Memory, Mode, Recall

# Where a node says what the hit knows of itself; neither embedders nor models are shown it.
ABOUT = "htm"
MODES = ("hybrid", "vector", "text")


class HTMRetriever(BaseRetriever):
    """Retrieve what a memory knows about a query, as nodes: for query engines, chat engines and tools.

    `mode` is "hybrid" (meaning and words), "vector" or "text". `node.metadata["htm"]` says who said it when in which
    session, with both ranks; the rest of the metadata is the memory's own.
    """

    def __init__(self, memory: Memory, *, similarity_top_k: int = 10, mode: Mode = "hybrid") -> None:
        if mode not in MODES:
            raise InvalidInput(f"expected mode to be one of {', '.join(MODES)}, got {mode!r}")
        self.memory = memory
        self.similarity_top_k = similarity_top_k
        self.mode = mode
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(self.memory.recall(query_bundle.query_str, limit=self.similarity_top_k, mode=self.mode))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await self.memory.aio.recall(query_bundle.query_str, limit=self.similarity_top_k, mode=self.mode)
        return nodes(found)


def nodes(found: Recall) -> list[NodeWithScore]:
    """The hits of a recall as nodes with their scores, best first."""
    return [NodeWithScore(node=_node(hit, degraded=found.degraded), score=hit.score) for hit in found]


def _node(hit: Hit, *, degraded: str | None) -> TextNode:
    said = hit.mention
    about = {
        "vector_rank": hit.vector_rank,
        "text_rank": hit.text_rank,
        "passage": hit.passage,
        "tags": list(hit.node.tags),
        "importance": hit.node.importance,
        "robot": said and said.robot,
        "session": said and said.session,
        "role": said and said.role,
        "name": said and said.name,
        "at": said and said.at.isoformat(),
        "degraded": degraded,
    }
    return TextNode(
        id_=hit.node.id,
        text=hit.content,
        metadata={**hit.node.metadata, ABOUT: about},
        excluded_embed_metadata_keys=[ABOUT],
        excluded_llm_metadata_keys=[ABOUT],
    )
