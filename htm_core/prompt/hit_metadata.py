"""Metadata that a document or a node has about the hit that it was made of, under its key "htm"."""

from __future__ import annotations

from typing import Any

from ..base.types import AppliedTimeframe, Hit
from .attachments import attached_to
from .origin import origin_of, said_by
from .recalled_block import until
from .short_replies import question_answered

KEY = "htm"


def hit_metadata(
    hit: Hit, *, degraded: str | None, timeframe: AppliedTimeframe | None = None
) -> dict[str, Any]:
    """Relevance, ranks, best passage, tags and importance of a hit, who said it when, where it
    comes from and until when it holds.

    `at` is an ISO time. `source` and `trust` are those of a `Mention`; `place` is the address of a
    page or the name of a file. `attached_to` has the session and the id of each message in whose
    file it stands. `holds` are words such as "until 12 May 2026". `said_when` is "last" or
    "earlier" where `Hit.said_when` is. `user` is whose memory it is, where everybody's are recalled
    (`Hit.user`). `answers` is the question that a short reply answers, where the message before it
    is known (`Hit.before`), else None.

    `degraded` is the recall's own: a sentence when a part of the search was missing, else None.
    `timeframe` is it, too: a sentence when the hits are from other times than the query names, else
    None. `formerly` lists what the hit superseded and until when that held, `superseded_by` is what
    superseded the hit itself; both with the id of the change.
    """
    mention, by = said_by(hit), hit.superseded_by
    origin = origin_of(mention) if mention else None
    return {
        "relevance": hit.relevance,
        "vector_rank": hit.vector_rank,
        "text_rank": hit.text_rank,
        "passage": hit.passage,
        "tags": list(hit.node.tags),
        "importance": hit.node.importance,
        "robot": mention and mention.robot,
        "session": mention and mention.session,
        "role": mention and mention.role,
        "name": mention and mention.name,
        "at": mention and mention.at.isoformat(),
        "source": mention and mention.source,
        "trust": mention and mention.trust,
        "holds": hit.holds,
        "ended": hit.ended,
        "stale": hit.stale,
        "said_when": hit.said_when,
        "user": hit.user,
        "answers": question_answered(hit),
        "place": origin and origin.place,
        "times_said": hit.times_said,
        "attached_to": [list(each) for each in attached_to(hit)],
        "degraded": degraded,
        "timeframe": timeframe and timeframe.note,
        "formerly": [
            {
                "content": each.older.content,
                "until": each.holds_from.isoformat(),
                "shown": until(each),
                "id": each.id,
            }
            for each in hit.formerly
        ],
        "superseded_by": by
        and {
            "content": by.newer.content,
            "since": by.holds_from.isoformat(),
            "node_id": by.newer.node_id,
            "id": by.id,
        },
    }
