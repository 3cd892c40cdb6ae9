"""Long-term memory as a block of LlamaIndex's own `Memory`."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr

from htm_core import Draft, Hit, HTMError, InvalidInput, Memory

from . import handles
from .log import drafts_of
from .messages import words_of
from .recalled_block import block_text, shortened
from .scope import checked_user, known_user, memory_for, scope_of

_log = logging.getLogger("htm.llamaindex")

NAME = "long_term_memory"
# The tag around all blocks in LlamaIndex's template; each has its name as one too.
TEMPLATE_TAG = "memory"
# Recall looks this much further than its limit at most, for what the history shows anyway is left out.
LOOKED_PAST = 50
BATCH = 500
SESSION = "session_id"


class HTMMemoryBlock(BaseMemoryBlock[str]):
    """Recall what memory knows of the user's last message, and keep what leaves LlamaIndex's short-term memory.

    For `Memory.from_defaults(session_id, memory_blocks=[HTMMemoryBlock(memory=memory)])`. Whatever leaves is kept as said
    in its session; with `HTMChatStore` below it everything is kept already, and nothing twice. Give a `memory` of your
    own, or what makes one: `robot`, `tenant` and `url`. `user` says whose memories are recalled, in whichever session they
    were said; without one it is this session's only. Up to `recall_limit` passages with at least `min_score`, in at most
    `recall_tokens`; of these the last make way first when LlamaIndex truncates, unless `priority` is 0.
    """

    robot: str = "default"
    tenant: str = "default"
    user: str | None = None
    recall_limit: int = Field(default=8, ge=0, le=100)
    recall_tokens: int = Field(default=1_000, ge=0)
    min_score: float = Field(default=0.2, ge=0, le=1)
    handle: str | None = Field(default=None, description="under which name this process knows the memory")
    tokenizer_fn: Callable[[str], Any] = Field(default_factory=get_tokenizer, exclude=True)

    _memory: Memory | None = PrivateAttr(default=None)

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | None = None,
        name: str = NAME,
        description: str | None = None,
        priority: int = 1,
        accept_short_term_memory: bool = True,
        recall_limit: int = 8,
        recall_tokens: int = 1_000,
        min_score: float = 0.2,
        tokenizer_fn: Callable[[str], Any] | None = None,
        handle: str | None = None,
    ) -> None:
        handles.check_alone(memory, robot=robot, tenant=tenant, url=url)
        super().__init__(
            robot=robot if memory is None else memory.robot,
            tenant=tenant if memory is None else memory.tenant,
            user=known_user(memory, checked_user(user)),
            name=name, description=description, priority=priority, accept_short_term_memory=accept_short_term_memory,
            recall_limit=recall_limit, recall_tokens=recall_tokens, min_score=min_score,
            handle=handle or handles.handle_of(memory, url),
            tokenizer_fn=tokenizer_fn or get_tokenizer(),
        )  # type: ignore[call-arg]  # fields of this class  # fmt: skip
        self._memory = memory

    @property
    def memory(self) -> Memory:
        """The memory behind it."""
        if self._memory is None:
            self._memory = handles.opened(
                None, self.handle, robot=self.robot, tenant=self.tenant, tokenizer=self.tokenizer_fn
            )
        return self._memory

    async def aput(
        self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None
    ) -> None:
        """Keep messages as said in their session, without writing anything into them."""
        if self.accept_short_term_memory or not from_short_term_memory:
            await asyncio.to_thread(self._keep, messages, session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """What is left of a block without its last items; None when that is nothing."""
        if not content:
            return None
        return shortened(content, spare=tokens_to_truncate, words=self._words) or None

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any) -> str:
        return await asyncio.to_thread(self._recalled, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate, (self.model_dump(),)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _recalled(self, messages: Sequence[ChatMessage], session: str | None) -> str:
        questions = (words_of(each) for each in reversed(messages) if each.role == MessageRole.USER)
        question = next(questions, "")
        if not question or not self.recall_limit:
            return ""
        return block_text(
            self._ask(question, self._mine(session)),
            shown={words_of(each) for each in messages},
            limit=self.recall_limit,
            room=self.recall_tokens,
            words=self._words,
            tags=(TEMPLATE_TAG, self.name),
        )

    def _ask(self, question: str, mine: Memory) -> Sequence[Hit]:
        limit = self.recall_limit + LOOKED_PAST
        try:
            return mine.recall(question, limit=limit, min_score=self.min_score, hold=False, scope=scope_of(mine))
        except HTMError as error:
            _log.warning("recall failed (%s); the model is shown no memories", type(error).__name__)
            return ()

    def _keep(self, messages: Sequence[ChatMessage], session: str | None) -> None:
        """Keep what has words and is not in the session's log, where a chat store would have put it."""
        for named, said in _by_session(messages, session).items():
            mine = self._mine(named)
            logged = mine.log().entries() if mine.session else []
            known = Counter(mention.payload for _, mention in logged)
            new = [draft for draft in drafts_of(said) if draft.content and not _taken(known, draft)]
            for first in range(0, len(new), BATCH):
                mine.remember_many(new[first : first + BATCH])

    def _mine(self, session: str | None) -> Memory:
        session = session or self.memory.session
        if session is None and self.user is None:
            raise InvalidInput(
                "expected to know whose memories these are, got neither a user nor a session; give user= to the block, or "
                "session_id= to its aget and aput"
            )
        return memory_for(self.memory, user=self.user, session=session)

    def _words(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


def _by_session(messages: Sequence[ChatMessage], session: str | None) -> dict[str | None, list[ChatMessage]]:
    """Messages as they were before LlamaIndex wrote their session into them, by that session."""
    found: dict[str | None, list[ChatMessage]] = {}
    for message in messages:
        more = dict(message.additional_kwargs)
        named = session or more.get(SESSION)
        if more.get(SESSION) == named:
            more.pop(SESSION, None)
        found.setdefault(named, []).append(message.model_copy(update={"additional_kwargs": more}))
    return found


def _taken(known: Counter[bytes | None], draft: Draft) -> bool:
    """Whether a message is one of those known; each is taken once."""
    there = known[draft.payload] > 0
    known[draft.payload] -= 1
    return there
