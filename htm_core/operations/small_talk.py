"""Small talk is no fact, nor is what memory's tools replied: it stays in the log, and is left out of what recall finds."""

from __future__ import annotations

from collections.abc import Sequence

from ..rules.text.memory_replies import is_memory_reply
from ..rules.text.small_talk import is_small_talk
from ..store.search import RecallQuery
from ..types import DEFAULT_IMPORTANCE, Hit


def small_talk(query: RecallQuery, hits: Sequence[Hit]) -> frozenset[str]:
    """The ids of hits that are nothing but small talk of a conversation, or that memory's own tools replied.

    No small talk for a query that is small talk itself, or that asks for words in quotation marks. What was remembered under a
    key, with an importance or without a speaker's role was meant to be found.
    """
    replies = frozenset(hit.node.id for hit in hits if hit.mention and is_memory_reply(hit.content, hit.mention.role))
    if query.phrases or is_small_talk(query.text):
        return replies
    return replies | frozenset(
        hit.node.id
        for hit in hits
        if hit.mention is not None
        and hit.mention.role in ("user", "assistant")
        and not hit.node.keys
        and hit.node.importance <= DEFAULT_IMPORTANCE
        and is_small_talk(hit.content)
    )
