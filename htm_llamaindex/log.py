"""Which messages are new and which ones the log has already. LlamaIndex's messages have no ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from htm_core import Draft, Log, Mention

from .messages import draft_of, encode

Entries = Sequence[tuple[str | None, Mention]]


def drafts_of(messages: Sequence[ChatMessage]) -> list[Draft]:
    """Drafts of new messages, each under a new id."""
    return [draft_of(message, id=str(uuid4())) for message in messages]


def set_log(log: Log, messages: Sequence[ChatMessage]) -> None:
    """Make messages a session's log, in their order. A message that the log has already keeps its id."""
    entries = log.entries()
    known = common_start(entries, messages)
    if known == len(entries):
        log.append(drafts_of(messages[known:]))
    else:
        log.replace(drafts_with_known_ids(entries, drafts_of(messages)))


def common_start(entries: Entries, messages: Sequence[ChatMessage]) -> int:
    """How many messages at the start are the same as at the start of the log."""
    pairs = zip(entries, messages, strict=False)
    differs = (at for at, ((_, mention), message) in enumerate(pairs) if mention.payload != encode(message))
    return next(differs, min(len(entries), len(messages)))


def drafts_with_known_ids(entries: Entries, drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts under the ids that the log has for the same messages. Each id is used once."""
    known: defaultdict[bytes | None, list[str]] = defaultdict(list)
    for id, mention in reversed(entries):
        if id is not None:
            known[mention.payload].append(id)
    return [replace(draft, id=known[draft.payload].pop()) if known[draft.payload] else draft for draft in drafts]
