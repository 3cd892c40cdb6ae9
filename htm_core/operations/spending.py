"""Recall to a budget of tokens: the best whole hits, and what was said right before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from ..engine.engine import Engine
from ..errors import InvalidInput
from ..store import search
from ..types import Hit, Mention, Recall


def within(engine: Engine, recall: Recall, budget: int) -> Recall:
    """The best whole hits that a token budget holds; what is left goes to the message before each, best hit first.

    An answer is seldom readable without its question. A message that is a hit itself, or stands before two hits, is
    paid for once.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}")
    kept: list[Hit] = []
    for hit in recall.hits:
        if hit.node.tokens <= budget:
            kept.append(hit)
            budget -= hit.node.tokens
    return replace(recall, hits=tuple(_with_what_came_before(engine, kept, budget) if budget else kept))


def _with_what_came_before(engine: Engine, hits: Sequence[Hit], budget: int) -> list[Hit]:
    said = [UUID(hit.mention.id) for hit in hits if hit.mention is not None]
    if not said:
        return list(hits)
    with engine.transaction() as connection:
        before = search.preceding(connection, said)
    there = {hit.node.id for hit in hits}
    readable: list[Hit] = []
    for hit in hits:
        mention = before.get(hit.mention.id) if hit.mention else None
        cost = _cost(engine, mention, there)
        if mention is not None and cost is not None and cost <= budget:
            budget -= cost
            there.add(str(mention.node_id))
            hit = replace(hit, before=mention)  # the same hit, with more to read
        readable.append(hit)
    return readable


def _cost(engine: Engine, mention: Mention | None, there: set[str]) -> int | None:
    """What a message costs in tokens; None when it is there already."""
    return None if mention is None or mention.node_id in there else engine.tokens(mention.content)
