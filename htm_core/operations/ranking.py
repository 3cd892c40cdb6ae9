"""What becomes of the hits that a search brings: fused by ranks, where that is set, and copies behind what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..rules.fusion import reciprocal_rank
from ..rules.text.near_duplicates import copies
from ..types import Hit

# The hits for a limit, best first; a larger limit brings the same and more.
Search = Callable[[int], list[Hit]]
FURTHER = 4  # times as many hits are asked for when copies crowd a limit


def by_ranks(hits: Sequence[Hit], *, arms: int) -> list[Hit]:
    """Hits of the arms by reciprocal rank: what they scored does not count, only their places among `arms` arms."""
    fused = []
    for hit in hits:
        parts = {
            "vector": reciprocal_rank([hit.vector_rank]) / arms,
            "words": reciprocal_rank([hit.text_rank]) / arms,
        }
        fused.append(replace(hit, score=sum(parts.values()), signals={**dict.fromkeys(hit.signals, 0.0), **parts}))
    return sorted((hit for hit in fused if hit.score > 0), key=lambda hit: (-hit.score, hit.node.id))


def diverse(search: Search, *, limit: int, most: int, weight: float, lowest: float) -> list[Hit]:
    """The best `limit` hits when one that repeats a better one is worth less, by `weight` of its score.

    Where copies crowd the limit, more are asked for, at most `most`; otherwise one search is all.
    """
    asked = limit
    while True:
        hits = search(asked)
        repeats = copies([hit.passage for hit in hits], voices=[_voice(hit) for hit in hits]) if weight else []
        crowding = sum(original is not None for original in repeats)
        if len(hits) - crowding >= limit or len(hits) < asked or asked >= most:
            break
        asked = min(most, FURTHER * asked)
    weighed = [
        _lowered(hit, weight * hit.score) if original is not None else hit
        for hit, original in zip(hits, repeats or [None] * len(hits), strict=True)
    ]
    weighed.sort(key=lambda hit: -hit.score)  # copies of equal score stay in their order
    return [hit for hit in weighed if hit.score >= lowest][:limit]


def _lowered(hit: Hit, loss: float) -> Hit:
    return replace(hit, score=hit.score - loss, signals={**hit.signals, "diversity": -loss})


def _voice(hit: Hit) -> str | None:
    """Who said it last, where that is known: two people's like words are two memories."""
    return hit.mention.name if hit.mention else None
