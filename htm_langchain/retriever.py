"""Recall as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field

from htm_core import Hit, Memory, Recall
from htm_core.integration.hit_metadata import KEY, hit_metadata

from .embedder import HTMEmbeddings


class HTMRetriever(BaseRetriever):
    """Retrieve what a memory knows about a query, as documents.

    The fields are the arguments of `Memory.recall`, with its defaults: `mode` ("hybrid", "vector" or "text"), `scope`,
    `timeframe`, `tagged` (recall's `tags`), `where`, `robot`, `session`, `min_score`, `budget` and `hold`. `k` is recall's
    `limit`, default 10; it may also be given to `invoke`. `only` keeps the hits of which it is true.

    `Document.metadata["htm"]` holds the hit's score, rank, ranks by vector and by text, best passage, and who said it when
    in which session. The rest of the metadata is the memory's own. The memory itself is never serialised, so no address and
    no password is. Raises what `Memory.recall` raises.

        retriever = HTMRetriever(memory=Memory("atlas"), k=5, timeframe="last week")
        documents = retriever.invoke("Which port does the API use?")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True)
    k: int = Field(default=10, ge=1, le=1_000)
    mode: str = "hybrid"
    scope: str | None = None
    timeframe: Any = None
    tagged: list[str] | None = Field(
        default=None, description="the tags that memories must have; `tags` are LangChain's own"
    )
    where: Mapping[str, Any] | None = None
    robot: str | list[str] | None = None
    session: str | None = None
    min_score: float = Field(default=0.0, ge=0, le=1)
    budget: int | None = Field(
        default=None, ge=0, description="tokens of the best whole hits at most; None is no limit"
    )
    hold: bool = True
    only: Callable[[Hit], bool] | None = Field(
        default=None, exclude=True, description="keep only hits of which this is true"
    )

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        k: int | None = None,
    ) -> list[Document]:
        return self._documents(self.memory.recall(query, **self._recall_arguments(k)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        k: int | None = None,
    ) -> list[Document]:
        return self._documents(await self.memory.aio.recall(query, **self._recall_arguments(k)))

    def _recall_arguments(self, k: int | None) -> dict[str, Any]:
        return {
            "limit": self.k if k is None else k,
            "mode": self.mode,
            "scope": self.scope,
            "timeframe": self.timeframe,
            "tags": self.tagged,
            "where": self.where,
            "robot": self.robot,
            "session": self.session,
            "min_score": self.min_score,
            "budget": self.budget,
            "hold": self.hold,
        }

    def _documents(self, found: Recall) -> list[Document]:
        kept = found if self.only is None else replace(found, hits=tuple(hit for hit in found if self.only(hit)))
        return documents(kept)

    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(
            ls_retriever_name="htm",
            ls_vector_store_provider="htm",
            ls_embedding_provider="htm",
            ls_embedding_model=HTMEmbeddings(self.memory).model,
        )


def documents(found: Recall) -> list[Document]:
    """The hits of a recall as documents, best first."""
    return [
        Document(
            id=hit.node.id,
            page_content=hit.content,
            metadata={
                **hit.node.metadata,
                KEY: {"score": hit.score, "rank": rank, **hit_metadata(hit, degraded=found.degraded)},
            },
        )
        for rank, hit in enumerate(found, start=1)
    ]
