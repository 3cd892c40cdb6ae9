"""A chat's history, for chains that keep one."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage

from htm_core import Draft, InvalidInput, Memory, Mention, anonymous

from .messages import draft_of, message_of
from .options import memory_given, whole
from .recalled_block import block, is_note, shown_in
from .retrieval import Asking
from .tokens import count
from .window import fit, leading

Entries = list[tuple[str | None, Mention]]
# Of what memory knows about the last question: passages, how good they are at least, their tokens, their share of the
# budget, and how many seconds they are waited for.
RECALLED = 8
MIN_SCORE = 0.2
RECALL_TOKENS = 1_000
RECALL_SHARE = 0.25
SECONDS = 10.0
# A message counts at least this many tokens, so that a budget bounds how many have to be read.
LEAST_TOKENS = 3


class HTMChatMessageHistory(BaseChatMessageHistory):
    """Keep a session's messages for good, exact and in order; drop-in for `RunnableWithMessageHistory`.

    Free to construct: nothing is read before `messages` is. With a `budget` of tokens `messages` is the window of the
    newest whole turns; `all_messages` has everything. With `recall` a message in front of them, marked as reference data,
    holds what long-term memory knows about the last question and the window does not show. What an instance has read it
    keeps showing until it writes, since a runnable reads twice and would otherwise lose the user's message to a writer in
    between; make one per call, as LangChain does. A message without an id is given one. The messages are the memory's
    user's; of a memory without a user they are the session's alone.
    """

    def __init__(self, session_id: str, memory: Memory, *, budget: int | None = None, recall: bool = False) -> None:
        super().__init__()
        if not isinstance(session_id, str) or not session_id.strip():
            raise InvalidInput(f"expected session_id to be a conversation's name, got {session_id!r:.80}")
        self.session_id = session_id
        self.memory = memory_given(memory)
        self.budget = None if budget is None else whole(budget, least=1, what="budget")
        self._own = memory.of(user=memory.user or anonymous(session_id), session=session_id)
        self._recall = recall
        self._read: tuple[Entries, Sequence[Document]] | None = None

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages within the budget, oldest first; fresh objects each time."""
        if self._read is None:
            entries = self._own.log().entries(self._enough())
            self._read = entries, self._asking().recalled(self._own, _question(entries)) if self._recall else ()
        return self._shown(*self._read)

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        """Make these the history; what they replace stays in long-term memory."""
        self._read = None
        self._own.log().replace(_drafts(messages))

    @property
    def all_messages(self) -> list[BaseMessage]:
        """Every message of the history, whatever the budget."""
        return _messages(self._own.log().entries())

    async def aget_messages(self) -> list[BaseMessage]:
        """`messages`, awaited."""
        if self._read is None:
            entries = await self._own.aio.log().entries(self._enough())
            recalled = await self._asking().arecalled(self._own, _question(entries)) if self._recall else ()
            self._read = entries, recalled
        return self._shown(*self._read)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all of them or none; one whose id the session knows is the same message."""
        self._read = None
        self._own.log().append(_drafts(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages`, awaited."""
        self._read = None
        await self._own.aio.log().append(_drafts(messages))

    def clear(self, *, erase: bool = False) -> None:
        """Empty the history; long-term memory keeps what was in it, unless `erase` takes it away for good."""
        self._read = None
        if erase:
            self._own.erase(session=self.session_id, confirm="confirmed")
        else:
            self._own.log().clear()

    async def aclear(self, *, erase: bool = False) -> None:
        """`clear`, awaited."""
        self._read = None
        if erase:
            await self._own.aio.erase(session=self.session_id, confirm="confirmed")
        else:
            await self._own.aio.log().clear()

    def _enough(self) -> int | None:
        return None if self.budget is None else self.budget // LEAST_TOKENS + 1

    def _asking(self) -> Asking:
        return Asking(limit=RECALLED, min_score=MIN_SCORE, scope="user", seconds=SECONDS, restore=False)

    def _shown(self, entries: Entries, recalled: Sequence[Document]) -> list[BaseMessage]:
        found = _any(_messages(entries))
        reserve = 0
        if recalled:
            reserve = RECALL_TOKENS if self.budget is None else min(RECALL_TOKENS, int(RECALL_SHARE * self.budget))
        window = found if self.budget is None else fit(found, room=self.budget - reserve, low=1.0)
        if self.budget is not None:
            reserve = min(reserve, self.budget - count(window))
        note = block(recalled, shown=shown_in(window), limit=RECALLED, room=reserve)
        lead = leading(window)
        return [*window[:lead], *([] if note is None else [note]), *window[lead:]]


def _messages(entries: Entries) -> list[BaseMessage]:
    return [message_of(mention, id=id) for id, mention in entries]


def _drafts(messages: Sequence[BaseMessage]) -> list[Draft]:
    """What is remembered of messages; recalled blocks among them were said by nobody."""
    return [draft_of(message, id=message.id or str(uuid4())) for message in messages if not is_note(message)]


def _question(entries: Entries) -> str:
    return next((mention.content for _, mention in reversed(entries) if mention.role == "user"), "")


def _any(messages: Sequence[BaseMessage]) -> Sequence[AnyMessage]:
    return messages  # type: ignore[return-value]  # LangChain's union of its own classes
