"""What a document or a node says about the hit that it was made of, under the key "htm" of its metadata."""

from __future__ import annotations

from typing import Any

from ..types import AppliedTimeframe, Hit

KEY = "htm"


def hit_metadata(hit: Hit, *, degraded: str | None, timeframe: AppliedTimeframe | None = None) -> dict[str, Any]:
    """Relevance, ranks, best passage, tags and importance of a hit, who said it when, where it came from and until when it holds.

    `at` is an ISO time. `holds` are words such as "until 12 May 2026".

    `degraded` is the recall's own: a sentence when a part of the search was missing, else None. `timeframe` is it, too: a
    sentence when the hits are from other times than the query names, else None.
    """
    said = hit.mention
    return {
        "relevance": hit.relevance,
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
        "source": said and said.source,
        "trust": said and said.trust,
        "holds": hit.holds,
        "ended": hit.ended,
        "stale": hit.stale,
        "degraded": degraded,
        "timeframe": timeframe and timeframe.note,
    }
