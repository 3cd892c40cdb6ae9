"""Recall as a LlamaIndex retriever, and as the passages that a prompt shows."""

from __future__ import annotations

import copy
from datetime import date
from typing import Any, Self, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilters

from htm_core import Hit, InvalidInput, Memory, Mode, Recall, Scope
from htm_core.prompt.choices import RecallFilters, check_choices
from htm_core.prompt.hit_metadata import KEY, hit_metadata
from htm_core.prompt.option_names import with_options
from htm_core.prompt.overview import Overview, recalled_block
from htm_core.prompt.recalled_block import BlockOptions, note_of, passage_of
from htm_core.prompt.scope import check_memory, check_user

from .filters import where_of

LIMIT = 10
MODES = ("hybrid", "vector", "text")


class HTMRetriever(BaseRetriever):
    """Retrieve what a memory knows about a query, as nodes: for query engines, chat engines and
    tools.

    Args:
        memory: The memory.
        similarity_top_k: How many nodes at most, 10 by default, up to 1,000. `limit` is accepted as
            well.
        mode: "hybrid" (meaning and words, the default), "vector" or "text".
        filters: The same as `where` in LlamaIndex's `MetadataFilters`. With both, both hold.
        user: Whose memories are retrieved; by default the memory's own user.
        scope: "user" (theirs and what the tenant shares), "session" or "tenant" (everybody's). By
            default `Memory.recall`'s.
        min_score: The lowest score, from 0 (the default) to 1.
        hold: Whether hits go into working memory, and count as used. False by default: reading
            writes nothing.
        others: Filters as in `Memory.recall`.

    `narrowed` gives a retriever for one run, with filters that hold beside its own.

    `node.metadata["htm"]` holds who said it when in which session, the ranks by vector and by text,
    and the best passage; neither embedders nor models are shown it. The rest of the metadata is the
    memory's own. Raises `InvalidInput` for what recall cannot work with, and what `Memory.recall`
    raises.

        retriever = HTMRetriever(Memory("atlas"), similarity_top_k=5, user="ann")
        engine = RetrieverQueryEngine.from_args(retriever)
        facts = retriever.narrowed(where={"kind": "fact"}, timeframe="last week").retrieve("Which
        port does the API use?")
    """

    @with_options(RecallFilters)
    def __init__(
        self,
        memory: Memory,
        *,
        similarity_top_k: int = LIMIT,
        mode: Mode = "hybrid",
        limit: int | None = None,
        filters: MetadataFilters | None = None,
        user: str | None = None,
        scope: Scope | None = None,
        min_score: float = 0.0,
        hold: bool = False,
        **others: Unpack[RecallFilters],
    ) -> None:
        if mode not in MODES:
            raise InvalidInput(f"expected mode to be one of {', '.join(MODES)}, got {mode!r}")
        if limit is not None and similarity_top_k not in (LIMIT, limit):
            raise InvalidInput(
                "expected similarity_top_k or limit, which are one thing, got both; leave one out"
            )
        self.memory = (
            check_memory(memory) if check_user(user) is None else check_memory(memory).of(user=user)
        )
        self.similarity_top_k = similarity_top_k if limit is None else limit
        self.mode = mode
        self.scope, self.min_score, self.hold = scope, min_score, hold
        chosen = check_choices(limit=self.similarity_top_k, **others, least=1)
        self._choices = chosen.narrowed({"where": where_of(filters)})
        super().__init__()

    @with_options(RecallFilters)
    def narrowed(
        self,
        *,
        filters: MetadataFilters | None = None,
        limit: int | None = None,
        **others: Unpack[RecallFilters],
    ) -> Self:
        """This retriever for one run, with more filters: they hold beside its own; times and a
        limit replace its own.

        Args:
            filters: The same as `where` in LlamaIndex's `MetadataFilters`.
            limit: How many nodes at most, from 1 to 1,000.
            others: Filters as in `Memory.recall`.

        Raises `InvalidInput` for what recall cannot work with.
        """
        check_choices(limit=self.similarity_top_k if limit is None else limit, least=1)
        made = copy.copy(self)
        made._choices = self._choices.narrowed({**others, "limit": limit}).narrowed(
            {"where": where_of(filters)}
        )
        made.similarity_top_k = made._choices.limit
        return made

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(self.memory.recall(query_bundle.query_str, **self._arguments()))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(await self.memory.aio.recall(query_bundle.query_str, **self._arguments()))

    def _arguments(self) -> dict[str, Any]:
        return {
            "limit": self.similarity_top_k,
            **self._choices.filters(),
            "mode": self.mode,
            "scope": self.scope,
            "min_score": self.min_score,
            "hold": self.hold,
        }


def nodes(result: Recall) -> list[NodeWithScore]:
    """The hits of a recall as nodes with their scores, best first."""
    return [NodeWithScore(node=_node(hit, result), score=hit.score) for hit in result]


def _node(hit: Hit, result: Recall) -> TextNode:
    return TextNode(
        id_=hit.node.id,
        text=hit.content,
        metadata={
            **hit.node.metadata,
            KEY: hit_metadata(hit, degraded=result.degraded, timeframe=result.timeframe),
        },
        excluded_embed_metadata_keys=[KEY],
        excluded_llm_metadata_keys=[KEY],
    )


# -- for a prompt ----------------------------------------------------------------------------------


def recalled_text(result: Recall, *, today: date, **block: Unpack[BlockOptions]) -> str:
    """A block of what was recalled (see `htm_core.prompt.overview.recalled_block`); empty when
    nothing is left.
    """
    return recalled_block(
        [(passage_of(hit, today=today), hit.score) for hit in result],
        head=result.head if isinstance(result, Overview) else None,
        note=note_of(
            degraded=result.degraded, timeframe=result.timeframe.note if result.timeframe else None
        ),
        **block,
    )
