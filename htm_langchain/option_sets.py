"""Options that several components have: each is named, and said, here."""

from __future__ import annotations

from typing import TypedDict

from htm_core.prompt.choices import MemoryFilters as MemoryFilters  # a set names its parts
from htm_core.prompt.choices import PromptFilters
from htm_core.prompt.memory_block import Inject

from .rewriting import Rewrite
from .scope import NameSource, TenantSource


class RunOptions(TypedDict, total=False):
    """Options that say whose memory a run is about:

    user: A name, or a callable of the runtime; for `with_memory` of the run's configuration. By
        default the server's authenticated user, the memory's own user, or else the `user_id` of the
        run's context or config. Without any, memories belong to the session alone.
    session: Likewise. By default the run's thread, the memory's own session, the `session_id` of
        the context or config, or a new session for each run.
    tenant: A name, such a callable, or a list of the names that the context's or the config's
        `tenant` may choose from; a call of a chain then has to name one. By default the memory's
        own, whatever a run says.
    trust_context: Whether the context and the config of a run may name another user and session
        than the server's. False by default, since a client may have written them: a run that names
        another user logs an error, and works for the server's. True where your own code alone
        writes them.
    """

    user: NameSource
    session: NameSource
    tenant: TenantSource
    trust_context: bool


class PromptOptions(PromptFilters, total=False):
    """Options of what memory adds to a prompt:

    limit: Passages to recall at most; 8 by default, 0 recalls none.
    recall_limit: Another name of `limit`.
    recall_budget: Tokens of these at most, 1,000 by default; never more than a quarter of the
        budget.
    recall_timeout: Seconds to wait for recall, 10 by default; None sets no limit of its own.
    timeout: Seconds that a turn waits for a memory that does not answer, and that all its recalls
        have, 10 by default; None waits as long as it takes. After a failure the next turns do
        without memory for a while, and wait for nothing. Keeping what was said has no limit while
        the database answers.
    rewrite: A callable of the question and the messages, awaited or not, that answers with what
        memory is asked: a text, a list of texts, or None for the question itself, which is also
        asked when the callable fails.
    inject: Where memory's block goes, in the request alone: "question" (the default), in the
        question's message before its words, which every model's template takes; "message", in a
        message of its own before it; or "system", at the end of the system prompt, which costs the
        provider's cache of the conversation.

    and those of `PromptFilters`.
    """

    limit: int | None
    recall_limit: int
    recall_budget: int
    recall_timeout: float | None
    timeout: float | None
    rewrite: Rewrite | None
    inject: Inject


PROMPT: PromptOptions = {
    "min_score": 0.0, "min_trust": 0, "recall_limit": 8, "recall_budget": 1_000,
    "recall_timeout": 10.0, "timeout": 10.0, "inject": "question",
}  # fmt: skip


class ConversationOptions(RunOptions, PromptOptions, total=False):
    """Options of whatever gives a conversation its memory: those of `RunOptions`, and those of
    `PromptOptions`.
    """


class RecallToolOptions(RunOptions, PromptFilters, total=False):
    """Options of a tool that recalls: those of `RunOptions`, and those of `PromptFilters`."""
