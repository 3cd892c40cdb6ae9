"""The question that is to be answered: what was given, or what the user said last; and what was
said before it.
"""

from __future__ import annotations

from itertools import takewhile

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from htm_core import Mention
from htm_core.prompt.follow_ups import SENT_AT_ONCE, SaidBefore
from htm_core.prompt.memory_block import without_blocks
from htm_core.prompt.messages import searchable

from .log import Entries
from .messages import message_of, name_of, words_of
from .messages import said_before as said_before_in

# So many messages back a question may lean on.
SEEN_BEFORE = 12


def last_question(entries: Entries, question: str | ChatMessage | None) -> tuple[str, str | None]:
    """The question's words, which may be none, and the id of the user's last message in the log.

    The id tells a question from the same words said at another time.
    """
    last = last_said(entries)
    if question is None:
        return (words_of(message_of(last)), last.id) if last else ("", None)
    return words_given(question), last.id if last else None


def opening_of(entries: Entries) -> Entries:
    """The system messages with which a conversation begins."""
    return list(takewhile(lambda entry: entry[1].role == MessageRole.SYSTEM.value, entries))


def speaker_of(question: str | ChatMessage | None) -> str | None:
    """Who asks a question that is given as a message, empty without a name; None where only the log
    may know.
    """
    return name_of(question) or "" if isinstance(question, ChatMessage) else None


def words_given(question: str | ChatMessage) -> str:
    """The words of a question, without what memory has put before them in a request."""
    return searchable(
        without_blocks(question if isinstance(question, str) else question.content or "")
    )


def is_last_said(entries: Entries, question: str) -> bool:
    """True if a question is what the user said last, so that the window ends with its turn."""
    last = last_said(entries)
    return last is not None and words_of(message_of(last)) == question


def with_sent_before(entries: Entries, question: str) -> str:
    """A question with what the same person sent right before it, up to three messages in all:
    "Where is my boat?", "Thanks!".
    """
    if not is_last_said(entries, question):
        return question
    at = max(
        place
        for place, (_, mention) in enumerate(entries)
        if mention.role == MessageRole.USER.value
    )
    last = entries[at][1]
    together = takewhile(
        lambda mention: (mention.role, mention.name) == (last.role, last.name),
        (mention for _, mention in reversed(entries[max(0, at + 1 - SENT_AT_ONCE) : at + 1])),
    )
    return "\n\n".join(
        filter(None, reversed([words_of(message_of(mention)) for mention in together]))
    )


def said_before(entries: Entries, question: str) -> list[SaidBefore]:
    """Return what was said last before a question, oldest first."""
    before = said_before_in(
        question, (message_of(mention) for _, mention in entries[-SEEN_BEFORE:])
    )
    return before[:-1] if before and before[-1] == SaidBefore(question, by_person=True) else before


def last_said(entries: Entries) -> Mention | None:
    """Return the last message of the user."""
    return next(
        (mention for _, mention in reversed(entries) if mention.role == MessageRole.USER.value),
        None,
    )
