"""A chat's message history, for chains that keep one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage

from htm_core import Draft, InvalidInput, Memory, Mention
from htm_core.prompt.choices import check_choices
from htm_core.prompt.memory_block import memory_block, today_of
from htm_core.prompt.recalled_block import new_token
from htm_core.prompt.scope import check_memory, memory_for

from .injection import (
    RECALL_SHARE,
    before_what_comes,
    inserted,
    recalled_text,
    shown_texts,
    with_block,
    without_shown_files,
)
from .messages import draft_of, is_from_person, is_inserted, message_of
from .options import check_whole
from .retrieval import PromptRecall, last_question
from .run_inputs import NOT_GIVEN, loaded_for, note_inputs
from .thoughts import without_earlier_thoughts
from .tokens import count
from .window import fit

Entries = list[tuple[str | None, Mention]]
TimeOf: TypeAlias = Callable[[BaseMessage], datetime | None]
RECALL = PromptRecall(
    choices=check_choices(limit=8), min_score=0.0, scope="user", timeout=10.0, restore=False
)
# The tokens of what is recalled.
RECALL_BUDGET = 1_000
# A message counts at least this many tokens, so the budget bounds how many messages must be read.
MIN_TOKENS = 3


class HTMChatMessageHistory(BaseChatMessageHistory):
    """Keep a session's messages for good, exact and in order; drop-in for
    `RunnableWithMessageHistory`.

    Args:
        session_id: The conversation.
        memory: The memory. The messages are its user's; of a memory without a user they belong to
            the session alone.
        budget: With a number of tokens, `messages` is the window of the newest whole turns that
            fit. By default it is all messages. `all_messages` always is.
        recall: With True, a message at the end, marked as reference data, holds what long-term
            memory knows about the question and the window does not show. The assistant answers it
            with a word, so that they speak in turns. The question is the one that the chain was
            given for which `RunnableWithMessageHistory` loads the history, else the last message of
            a user, in which then all this stands.
        input_key: Where an input of the chain that is a mapping has the question, as in
            `input_messages_key`; by default "input", else its only key with words.

    New chains are better served by `with_memory`, which needs none of this. Making one costs
    nothing: nothing is read before `messages` is. What an instance has read it shows until it
        writes, because a runnable reads twice, and would
    otherwise lose the user's message when another process writes in between. Make one for each
    call, as LangChain does. A message without an id gets one. Raises `InvalidInput` and
    `StorageError`; `InvalidInput` too where recall cannot know the question, as when such a chain
    streams: it then says which line does.

        chain = RunnableWithMessageHistory(prompt | model, lambda session:
        HTMChatMessageHistory(session, memory))
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        budget: int | None = None,
        recall: bool = False,
        input_key: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(session_id, str) or not session_id.strip():
            raise InvalidInput(
                f"expected session_id to be a conversation's name, got {session_id!r:.80}"
            )
        self.session_id = session_id
        self.memory = check_memory(memory)
        self.budget = None if budget is None else check_whole(budget, least=1, what="budget")
        self._own = memory_for(memory, user=memory.user, session=session_id)
        self._recall, self._input_key = recall, input_key
        if recall:
            note_inputs()
        self._read: tuple[Entries, Sequence[Document], str] | None = None

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages within the budget, oldest first; fresh objects each time."""
        if self._read is None:
            entries = self._own.log().entries(self._enough())
            question, messages = self._asked(entries)
            recalled = RECALL.recall(self._own, question, messages) if self._recall else ()
            self._read = entries, recalled, RECALL.asked(question, messages)
        return self._shown(*self._read)

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        """Make these the history; long-term memory keeps what they replace."""
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
            question, messages = self._asked(entries)
            recalled = await RECALL.arecall(self._own, question, messages) if self._recall else ()
            self._read = entries, recalled, RECALL.asked(question, messages)
        return self._shown(*self._read)

    def add_messages(self, messages: Sequence[BaseMessage], *, at: TimeOf | None = None) -> None:
        """Add messages, all of them or none; a message with an id that the session has already is
        the same message.

        Args:
            messages: What was said, in order.
            at: When a message was said: a callable that answers with an aware datetime, or with
                None for now. By default all are said now; give it where a conversation of the past
                moves in.

        Raises `InvalidInput` for a time that is naive or none.
        """
        self._read = None
        self._own.log().append(_drafts(messages, at))

    async def aadd_messages(
        self, messages: Sequence[BaseMessage], *, at: TimeOf | None = None
    ) -> None:
        """`add_messages`, awaited."""
        self._read = None
        await self._own.aio.log().append(_drafts(messages, at))

    def clear(self, *, erase: bool = False) -> None:
        """Empty the history. Long-term memory keeps what was in it, unless `erase` is true: then it
        is gone for good.
        """
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

    def _asked(self, entries: Entries) -> tuple[str, list[Any]]:
        """The question that is to be answered, and the messages up to it: with what the chain was
        given, else the user's last.
        """
        messages, chain_input = _messages(entries), loaded_for() if self._recall else None
        messages += [] if chain_input is None else _question_of(chain_input, self._input_key)
        return last_question(messages)[1], messages

    def _enough(self) -> int | None:
        """Return the number of messages to read; None for all."""
        return None if self.budget is None else self.budget // MIN_TOKENS + 1

    def _shown(
        self, entries: Entries, recalled: Sequence[Document], question: str
    ) -> list[BaseMessage]:
        whole: list[Any] = _messages(entries)
        window = (
            whole if loaded_for() is None else without_earlier_thoughts(whole)
        )  # for a model, and not for a program
        if not recalled:
            return self._fitting(window, beside=0)
        reserve = min(RECALL_BUDGET, int(RECALL_SHARE * (self.budget or sys.maxsize)))
        shown = self._fitting(window, beside=reserve)
        block = self._block(recalled, question, shown=shown, messages=whole, room=reserve)
        shown = self._fitting(window, beside=count(before_what_comes(block, inject="question")))
        if shown and shown[-1].type == "human":
            return list(with_block(shown, block, inject="question"))
        return [*shown, *before_what_comes(block, inject="question")]

    def _fitting(self, messages: list[Any], *, beside: int) -> list[Any]:
        return (
            messages
            if self.budget is None
            else fit(messages, room=self.budget - beside, low_water=1.0)
        )

    def _block(
        self,
        recalled: Sequence[Document],
        question: str,
        *,
        shown: list[Any],
        messages: list[Any],
        room: int,
    ) -> str:
        """Return the recalled memories that are not shown anyway, in so many tokens beside today's
        date.
        """
        today = today_of(self._own)
        text = recalled_text(
            without_shown_files(recalled, session=self.session_id, window=shown, messages=messages),
            question=question,
            token=(token := new_token()),
            today=today,
            shown=shown_texts(shown),
            limit=RECALL.choices.limit,
            room=room,
            count=lambda text: count([inserted(text)]),
        )
        return memory_block([text], today=today, token=token)


def _messages(entries: Entries) -> list[BaseMessage]:
    return [message_of(mention, id=id) for id, mention in entries]


def _drafts(messages: Sequence[BaseMessage], at: TimeOf | None = None) -> list[Draft]:
    """Return drafts of messages, without recalled blocks, which nobody said."""
    spoken = [message for message in messages if not is_inserted(message)]
    drafts = [draft_of(message, id=message.id or str(uuid4())) for message in spoken]
    if at is None:
        return drafts
    return [replace(draft, at=at(message)) for draft, message in zip(drafts, spoken, strict=True)]


def _question_of(chain_input: Any, key: str | None) -> list[BaseMessage]:
    """The messages with the question in a chain's input; raises `InvalidInput` when it is not clear
    which part of it that is.
    """
    if chain_input == NOT_GIVEN:
        raise InvalidInput(
            "expected to know the question when the history is loaded, but a chain that streams "
            "shows it to nobody; use "
            "with_memory(chain, memory, input_key=...).stream(...), or invoke, or leave out "
            "recall=True"
        )
    if isinstance(chain_input, Mapping):
        names = [name for name, value in chain_input.items() if _words(value) is not None]
        name = key or ("input" if "input" in chain_input else names[0] if len(names) == 1 else None)
        if name is None or name not in chain_input:
            raise InvalidInput(
                f"expected to know which of {', '.join(map(repr, names))} is the question; use "
                "with_memory(chain, memory, input_key=...), or give input_key= to "
                "HTMChatMessageHistory(recall=True)"
            )
        chain_input = chain_input[name]
    if isinstance(chain_input, list | tuple):
        return [each for each in chain_input if isinstance(each, BaseMessage)]
    is_from_user = isinstance(chain_input, BaseMessage) and is_from_person(chain_input)
    return [chain_input if is_from_user else HumanMessage(_words(chain_input) or "")]


def _words(value: Any) -> str | None:
    """The words of a text, a message, or the last message of a person in a list; None for anything
    else.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, BaseMessage):
        return str(value.text)
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(each, BaseMessage) for each in value)
    ):
        return next((str(each.text) for each in reversed(value) if is_from_person(each)), "")
    return None
