"""How new messages and those that the log has already are told apart; LlamaIndex's have no ids."""

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
    """Messages as they are said for the first time, each under an id of its own."""
    return [draft_of(message, id=str(uuid4())) for message in messages]


def set_log(log: Log, messages: Sequence[ChatMessage]) -> None:
    """Make messages a session's log, in their order; one that the log has already stays the same one."""
    entries = log.entries()
    known = same_messages(entries, messages)
    if known == len(entries):
        log.append(drafts_of(messages[known:]))
    else:
        log.replace(set_drafts(entries, drafts_of(messages)))


def same_messages(entries: Entries, messages: Sequence[ChatMessage]) -> int:
    """How many of the first messages are those with which the log begins."""
    pairs = zip(entries, messages, strict=False)
    differs = (at for at, ((_, mention), message) in enumerate(pairs) if mention.payload != encode(message))
    return next(differs, min(len(entries), len(messages)))


def set_drafts(entries: Entries, drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts under the ids of the messages that they are; of equal ones, each takes another."""
    known: defaultdict[bytes | None, list[str]] = defaultdict(list)
    for id, mention in reversed(entries):
        if id is not None:
            known[mention.payload].append(id)
    return [replace(draft, id=known[draft.payload].pop()) if known[draft.payload] else draft for draft in drafts]
