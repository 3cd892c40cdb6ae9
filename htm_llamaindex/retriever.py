"""Recall as a LlamaIndex retriever, and as the passages that a prompt shows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilters

from htm_core import Hit, HTMError, InvalidInput, Memory, Mode, Recall, Scope, Source
from htm_core.prompt.choices import Choices, TimeframeLike, check_choices
from htm_core.prompt.follow_ups import SaidBefore
from htm_core.prompt.hit_metadata import KEY, hit_metadata
from htm_core.prompt.origin import trusted
from htm_core.prompt.overview import Overview, recall_or_overview, recalled_block
from htm_core.prompt.prompt_block import EXTRA_HITS, note_of, passage_of
from htm_core.prompt.scope import check_memory, check_user, scope_of

from .filters import where_of
from .log import tell_degraded
from .window import CountTokens

LIMIT = 10
MODES = ("hybrid", "vector", "text")


class HTMRetriever(BaseRetriever):
    """Retrieve what a memory knows about a query, as nodes: for query engines, chat engines and tools.

    Args:
        memory: The memory.
        similarity_top_k: How many nodes at most, 10 by default, up to 1,000. `limit` is accepted as well.
        mode: "hybrid" (meaning and words, the default), "vector" or "text".
        where: A filter on metadata, such as `{"kind": "fact"}`. None, the default, is no filter.
        filters: The same as LlamaIndex's `MetadataFilters`. With both, both hold.
        tags: Tags that a memory must have, all of them. None, the default, is any.
        timeframe: When it was said: "last week", a date, a `Window`; "auto" reads it from the query. None is any time.
        as_of: What was known then; a datetime with a time zone.
        valid_at: What holds then, or says nothing of when it holds.
        sources: Where it came from, such as `["user"]`; None among them is the program itself.
        min_trust: The least trust, from 0 to 4.
        user: Whose memories are retrieved; by default the memory's own user.
        scope: "user" (theirs and what the tenant shares), "session" or "tenant" (everybody's). By default `Memory.recall`'s.
        min_score: The lowest score, from 0 (the default) to 1.
        hold: Whether hits go into working memory, and count as used. False by default: reading writes nothing.

    `narrowed` gives a retriever for one run, with filters that hold beside its own.

    `node.metadata["htm"]` holds who said it when in which session, the ranks by vector and by text, and the best passage;
    neither embedders nor models are shown it. The rest of the metadata is the memory's own. Raises `InvalidInput` for what
    recall cannot work with, and what `Memory.recall` raises.

        retriever = HTMRetriever(Memory("atlas"), similarity_top_k=5, user="ann")
        engine = RetrieverQueryEngine.from_args(retriever)
        facts = retriever.narrowed(where={"kind": "fact"}, timeframe="last week").retrieve("Which port does the API use?")
    """

    def __init__(
        self,
        memory: Memory,
        *,
        similarity_top_k: int = LIMIT,
        mode: Mode = "hybrid",
        limit: int | None = None,
        where: Mapping[str, Any] | None = None,
        filters: MetadataFilters | None = None,
        tags: Sequence[str] | None = None,
        timeframe: TimeframeLike = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        sources: Sequence[Source | None] | None = None,
        min_trust: int | None = None,
        user: str | None = None,
        scope: Scope | None = None,
        min_score: float = 0.0,
        hold: bool = False,
    ) -> None:
        if mode not in MODES:
            raise InvalidInput(f"expected mode to be one of {', '.join(MODES)}, got {mode!r}")
        if limit is not None and similarity_top_k not in (LIMIT, limit):
            raise InvalidInput("expected similarity_top_k or limit, which are one thing, got both; leave one out")
        self.memory = check_memory(memory) if check_user(user) is None else check_memory(memory).of(user=user)
        self.similarity_top_k = similarity_top_k if limit is None else limit
        self.mode = mode
        self.scope, self.min_score, self.hold = scope, min_score, hold
        chosen = check_choices(
            limit=self.similarity_top_k, where=where, tags=tags, timeframe=timeframe, as_of=as_of, valid_at=valid_at,
            sources=sources, min_trust=min_trust, least=1,
        )  # fmt: skip
        self._choices = chosen.narrowed({"where": where_of(filters)})
        super().__init__()

    def narrowed(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        filters: MetadataFilters | None = None,
        tags: Sequence[str] | None = None,
        timeframe: TimeframeLike = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        sources: Sequence[Source | None] | None = None,
        min_trust: int | None = None,
        limit: int | None = None,
    ) -> Self:
        """This retriever for one run, with more filters: they hold beside its own; a timeframe and a limit replace its own.

        Args:
            where: A filter on metadata.
            filters: The same as LlamaIndex's `MetadataFilters`.
            tags: Tags that a memory must have, all of them.
            timeframe: When it was said.
            as_of: What was known then; a datetime with a time zone.
            valid_at: What holds then, or says nothing of when it holds.
            sources: Where it came from, such as `["user"]`; None among them is the program itself.
            min_trust: The least trust, from 0 to 4.
            limit: How many nodes at most, from 1 to 1,000.

        Raises `InvalidInput` for what recall cannot work with.
        """
        check_choices(limit=self.similarity_top_k if limit is None else limit, least=1)
        options = {
            "where": where, "tags": tags, "timeframe": timeframe, "limit": limit, "as_of": as_of, "valid_at": valid_at,
            "sources": sources, "min_trust": min_trust,
        }  # fmt: skip
        made = copy.copy(self)
        made._choices = self._choices.narrowed(options).narrowed({"where": where_of(filters)})
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
        metadata={**hit.node.metadata, KEY: hit_metadata(hit, degraded=result.degraded, timeframe=result.timeframe)},
        excluded_embed_metadata_keys=[KEY],
        excluded_llm_metadata_keys=[KEY],
    )


# -- for a prompt -----------------------------------------------------------------------------------------------------


def recall_for_prompt(
    memory: Memory,
    question: str,
    *,
    choices: Choices,
    min_score: float,
    min_trust: int,
    without: str,
    run: Callable[[Callable[[], Recall]], Recall],
    rewrite: Callable[[str], str] | None = None,
    speaker: str | None = None,
    before: Sequence[SaidBefore] = (),
) -> Recall:
    """Recall for a question, a few hits more than the limit, since those that are shown anyway are skipped.

    `run` does the recall in the time that a turn has. `rewrite` makes the query of the question. `speaker` is who asks, where
    several people speak, and `before` what was said before it, for a question that does not say itself what it is about
    (see `htm_core.prompt.overview.recall_or_overview`); a query of `rewrite` is taken as it is. It never raises: a failure
    is told, with `without` to say what the model is shown instead.
    """
    query = rewritten(question, rewrite)
    if not query.strip():
        return Recall(query=query)
    try:
        result = run(
            lambda: recall_or_overview(
                memory,
                query,
                choices=choices,
                scope=scope_of(memory),
                limit=choices.limit + EXTRA_HITS,
                min_score=min_score,
                speaker=speaker,
                before=() if rewrite else before,
            )
        )
    except (HTMError, TimeoutError) as error:
        tell_degraded("recall", error, instead=without)
        return Recall(query=query)
    return trusted(result, min_trust)


def rewritten(question: str, rewrite: Callable[[str], str] | None) -> str:
    """The query for a question; the question itself when there is no rewriting, or it fails."""
    if rewrite is None:
        return question
    try:
        query: object = rewrite(question)
    except Exception as error:  # another's code may raise anything
        tell_degraded("rewriting the question", error, instead="what is recalled for the question as it was said")
        return question
    if not isinstance(query, str):
        raise InvalidInput(f"expected rewrite to answer with a text, got {type(query).__name__}; return the query")
    return query


def recalled_text(
    result: Recall,
    question: str,
    *,
    token: str,
    today: date,
    shown: Collection[str],
    limit: int,
    room: int,
    count_tokens: CountTokens,
) -> str:
    """A block of what was recalled (see `htm_core.prompt.overview.recalled_block`); empty when nothing is left."""
    return recalled_block(
        [(passage_of(hit, today=today), hit.score) for hit in result],
        question=question,
        head=result.head if isinstance(result, Overview) else None,
        note=note_of(degraded=result.degraded, timeframe=result.timeframe.note if result.timeframe else None),
        token=token,
        shown=shown,
        limit=limit,
        room=room,
        count=count_tokens,
    )
