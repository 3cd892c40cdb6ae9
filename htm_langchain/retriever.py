"""Recall as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import ConfigDict, Field, model_validator

from htm_core import Hit, Memory, Recall
from htm_core.prompt.choices import LARGEST_LIMIT, NAMES, Choices, RecallFilters, check_choices
from htm_core.prompt.hit_metadata import KEY, hit_metadata
from htm_core.prompt.option_names import check_known
from htm_core.prompt.overview import Overview

from .embedder import HTMEmbeddings
from .options import check_tenant, one_name
from .scope import chosen, memory_of, run_of

# Beside what is known of a hit: what an overview's messages are (see `htm_core.prompt.overview`).
OVERVIEW = "overview"
# What else an option is called: in the constructor, where `tags` are LangChain's own, and in a
# call.
_FIELDS = {"limit": "k"}
_ARGUMENTS = {"k": "limit", "tagged": "tags"}


class HTMRetriever(BaseRetriever):
    """Retrieve what a memory knows about a query, as documents.

    Whose memory that is each run says, as for `HTMMemoryMiddleware`: the context's `user_id`, the
    server's identity or the config's `user_id`, and its thread as the session; else the memory's
    own. Reading writes nothing.

    Args:
        memory: The memory.
        k: Documents at most, 10 by default, up to 1,000. `limit` is accepted as well.
        tagged: Tags that a memory must have, all of them. (`tags` are LangChain's own, for traces.)
        mode, scope, where, timeframe, as_of, valid_at, min_trust: As in `Memory.recall`.
        sources, robot, session, min_score, budget: As in `Memory.recall`, whose options
            `htm_core.RecallOptions` describes.
        hold: Whether hits go into working memory, and count as used. False by default.
        tenant: Another tenant than the memory's own, as for `HTMMemoryMiddleware`. By default a run
            cannot choose one.
        trust_context: Whether a run's context and configuration may name another user and session
            than the server's, as for `HTMMemoryMiddleware`; False by default.
        only: Keeps the hits of which it is true.

    `invoke` takes `where`, `tags`, `timeframe` and `limit` (or `k`) for one call, and so does the
    run's context or `configurable`. They narrow the retriever's own: both filters hold, and all
    tags; a timeframe and a limit replace it.

    `Document.metadata["htm"]` holds the hit's score, rank, ranks by vector and by text, best
    passage, and who said it when in which session. The rest of the metadata is the memory's own.
    The memory itself is never serialised, so no address and no password is.

    Raises `InvalidInput` for what recall cannot work with, `StorageError`, and `ModelError` for
    mode="vector" without a working embedder.

        retriever = HTMRetriever(memory=Memory("atlas"), k=5)
        ann = {"configurable": {"user_id": "ann"}}
        documents = retriever.invoke("Which port does the API use?", ann, where={"kind": "fact"},
        timeframe="last week")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True)
    k: int = Field(default=10, ge=1, le=LARGEST_LIMIT)
    mode: str = "hybrid"
    scope: str | None = None
    timeframe: Any = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    sources: list[Any] | None = None
    min_trust: int | None = None
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
    hold: bool = False
    tenant: Any = Field(
        default=None,
        exclude=True,
        description="another tenant than the memory's, where it is allowed",
    )
    trust_context: bool = Field(
        default=False,
        description="whether a run may name another user and session than the server's",
    )
    only: Callable[[Hit], bool] | None = Field(
        default=None, exclude=True, description="keep only hits of which this is true"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, data: Any) -> Any:
        return one_name(data, _FIELDS) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self._choices()
        check_tenant(self.tenant)
        return self

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Recall what memory knows about a query, best first.

        Args:
            input: The query.
            config: The run's configuration; its `configurable` says whose memory it is.
            kwargs: `where`, `tags`, `timeframe`, `as_of`, `valid_at`, `sources`, `min_trust` and
                `limit` (or `k`) of this call.

        Raises `InvalidInput`, `StorageError` and `ModelError`.

            retriever.invoke("Which port?", {"configurable": {"user_id": "ann"}}, where={"project":
            "atlas"})
        """
        full = ensure_config(config)
        return super().invoke(input, full, **kwargs, run=run_of(full))

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """`invoke`, awaited."""
        full = ensure_config(config)
        return await super().ainvoke(input, full, **kwargs, run=run_of(full))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        run: Any = None,
        **options: Any,
    ) -> list[Document]:
        arguments = self._recall_arguments(run, options)
        if not arguments["limit"]:
            return []
        return self._documents(self._memory_of(run).recall(query, **arguments))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        run: Any = None,
        **options: Any,
    ) -> list[Document]:
        arguments = self._recall_arguments(run, options)
        if not arguments["limit"]:
            return []
        result = await self._memory_of(run).aio.recall(query, **arguments)
        return self._documents(result)

    def _memory_of(self, run: Any) -> Memory:
        return memory_of(self.memory, run, tenant=self.tenant, trust_context=self.trust_context)

    def _choices(self) -> Choices:
        own = {
            name: getattr(self, name) for name in RecallFilters.__annotations__ if name != "tags"
        }
        return check_choices(limit=self.k, tags=self.tagged, **own, least=1)

    def _recall_arguments(self, run: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        own = one_name(
            {name: value for name, value in options.items() if name != "verbose"}, _ARGUMENTS
        )
        check_known(own, NAMES, what="options of invoke")
        choices = chosen(run, self._choices()).narrowed(own)
        return {
            "limit": choices.limit,
            **choices.filters(),
            **{
                name: getattr(self, name)
                for name in ("mode", "scope", "robot", "session", "min_score", "budget", "hold")
            },
        }

    def _documents(self, result: Recall) -> list[Document]:
        kept = (
            result
            if self.only is None
            else replace(result, hits=tuple(hit for hit in result if self.only(hit)))
        )
        return documents(kept)

    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(
            ls_retriever_name="htm",
            ls_vector_store_provider="htm",
            ls_embedding_provider="htm",
            ls_embedding_model=HTMEmbeddings(self.memory).model,
        )


def documents(result: Recall) -> list[Document]:
    """The hits of a recall as documents, best first; those of an overview as they were said."""
    head = {OVERVIEW: result.head} if isinstance(result, Overview) else {}
    return [
        Document(
            id=hit.node.id,
            page_content=hit.content,
            metadata={
                **hit.node.metadata,
                KEY: {
                    "score": hit.score,
                    "rank": rank,
                    **hit_metadata(hit, degraded=result.degraded, timeframe=result.timeframe),
                    **head,
                },
            },
        )
        for rank, hit in enumerate(result, start=1)
    ]
