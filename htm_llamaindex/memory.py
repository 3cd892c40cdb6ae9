"""Memory for chat engines and agents: every message kept, a window that fits, and what memory knows of the question."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr, field_validator

from htm_core import Draft, Hit, HTMError, InvalidInput, Memory, Mention
from htm_core import palace as palaces

from . import grounding as grounds
from . import handles
from .log import drafts_of, set_log
from .messages import message_of, searchable, words_of
from .recalled_block import is_note, note, placed
from .scope import checked_user, known_user, memory_for, scope_of
from .window import Counted, count, fit

_log = logging.getLogger("htm.llamaindex")

# How many of the last messages are read first, and how many more than these should fill the room, by what they cost.
FIRST_READ = 64
READ_MORE = 1.25
# Recall never takes more than this share of the room, and looks this much further than its limit at most, for what the
# window shows anyway is left out.
RECALL_SHARE = 1 / 3
LOOKED_PAST = 50

Entries = Sequence[tuple[str | None, Mention]]


class HTMMemory(BaseMemory):
    """Remember a conversation for good, and show the model what fits: for chat engines, agents and workflows.

    Every message is in PostgreSQL when `put` returns. `get` answers with the newest whole turns and, as a message before
    the question, up to `recall_limit` passages with at least `min_score` that memory knows about it; all together hold
    at most `token_limit` tokens, unless the last question alone is longer. `user` says whose memories are recalled, in
    whichever session they were said; without one it is this session's only. A `palace` is consulted about each question
    before: what it says stands before the question too, in at most `palace_tokens`. Made by `from_defaults`. It is
    serialised as configuration, never with an address; a copy is the same memory.
    """

    session_id: str = Field(min_length=1)
    robot: str = "default"
    tenant: str = "default"
    user: str | None = None
    token_limit: int = Field(default=30_000, gt=0)
    recall_limit: int = Field(default=8, ge=0, le=100)
    recall_tokens: int = Field(default=1_000, ge=0)
    min_score: float = Field(default=0.2, ge=0, le=1)
    palace_tokens: int = Field(default=2_000, gt=0)
    enforce: palaces.Enforce = "advise"
    handle: str | None = Field(default=None, description="under which name this process knows the memory")
    palace_handle: str | None = Field(default=None, description="under which name it knows the palace")
    tokenizer_fn: Callable[[str], Any] = Field(default_factory=get_tokenizer, exclude=True)

    _given: Memory | None = PrivateAttr(default=None)
    _memory: Memory | None = PrivateAttr(default=None)
    _asked: tuple[object, Sequence[Hit]] | None = PrivateAttr(default=None)
    _given_palace: palaces.Palace | None = PrivateAttr(default=None)
    _palace: palaces.Palace | None = PrivateAttr(default=None)
    _consulted: tuple[tuple[str, str | None], palaces.Consulted] | None = PrivateAttr(default=None)
    _costs: dict[str, int] = PrivateAttr(default_factory=dict)

    @field_validator("user")
    @classmethod
    def _own_name(cls, user: str | None) -> str | None:
        return checked_user(user)

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialised."""
        return "HTMMemory"

    @classmethod
    def from_defaults(  # type: ignore[override]  # the base takes anything
        cls,
        session_id: str | None = None,
        memory: Memory | None = None,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        token_limit: int = 30_000,
        tokenizer_fn: Callable[[str], Any] | None = None,
        palace: palaces.Palace | None = None,
        enforce: palaces.Enforce = "advise",
    ) -> Self:
        """Open the memory of a session; without an id, of a fresh one. Nothing is read or written yet.

        Give a `memory` of your own, or what makes one: `robot`, `tenant` and `url` (default: `HTM_DATABASE_URL`, else the
        embedded server). Both at once raise `InvalidInput`. A `chat_history` becomes the session's log, at once.
        A `palace` brings its own memory unless another of its tenant is given, and is consulted as its user and session
        here. With `enforce="strict"` `get` raises `Ungrounded` when a layer of it could not be asked.
        """
        if palace is not None:
            memory = memory or grounds.checked(palace, memory).memory
        handles.check_alone(memory, robot=robot, tenant=tenant, url=url)
        checked_user(user)
        made = cls(
            session_id=session_id or str(uuid4()),
            robot=robot if memory is None else memory.robot,
            tenant=tenant if memory is None else memory.tenant,
            user=known_user(memory, user),
            token_limit=token_limit,
            handle=handles.handle_of(memory, url),
            tokenizer_fn=tokenizer_fn or get_tokenizer(),
            enforce=palaces.checked_enforce(enforce),
            palace_handle=None if palace is None else grounds.handle_of(grounds.checked(palace, memory)),
        )
        made._given, made._given_palace = memory, palace
        if chat_history:
            made.set(list(chat_history))
        return made

    @property
    def memory(self) -> Memory:
        """The memory behind it, of this user and session: to recall by hand, to forget, to erase."""
        if self._memory is None:
            found = handles.opened(
                self._given, self.handle, robot=self.robot, tenant=self.tenant, tokenizer=self.tokenizer_fn
            )
            self._memory = memory_for(found, user=self.user, session=self.session_id)
        return self._memory

    @property
    def palace(self) -> palaces.Palace | None:
        """The palace that is consulted, of this user and session; None without one."""
        if self._palace is None and self.palace_handle is not None:
            # In another process it is a palace without fetchers: artifacts that are asked for are then said to fail.
            found = self._given_palace or grounds.palace_of(self.palace_handle) or palaces.Palace(self.memory)
            self._palace = found.of(user=self.memory.user, session=self.memory.session)
        return self._palace

    @property
    def grounding(self) -> palaces.Grounding | None:
        """What the palace said to the last question; None without one."""
        return self._consulted[1].grounding if self._consulted else None

    # -- reading ------------------------------------------------------------------------------------------------------

    def get(self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any) -> list[ChatMessage]:
        """The messages for a model: the window, and what is recalled for `input`, else for the user's last message.

        Fresh objects each time. `initial_token_count` is what else the model is given. Recall is asked once per question,
        however often this is, and so is a palace. Raises `InvalidInput` when nothing is left of the limit, and
        `Ungrounded` when a strict palace could not be asked.
        """
        room = self._room(initial_token_count)
        entries = self.memory.log().entries(FIRST_READ)
        question, turn = _question(entries, input)
        share = min(self.palace_tokens, int(room * grounds.SHARE))
        consulted = grounds.fitted(self._consult(entries, question, turn), room=share, words=self._words)
        told = grounds.told(consulted)
        room -= count(told, words=self._words) if told else 0
        # Where an honest miss is to be the answer, nothing else may pass for evidence.
        found = () if consulted and consulted.refusal else self._recalled(question, turn)
        reserve = min(self.recall_tokens, int(max(0, room) * RECALL_SHARE)) if found else 0
        window = self._window(entries, room - reserve)
        shown = {words_of(each) for each in window} | {question} | _quoted(consulted)
        said = note(found, shown=shown, limit=self.recall_limit, room=reserve, words=self._words)
        return placed(placed(window, told, question=question), said, question=question)

    async def aget(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any
    ) -> list[ChatMessage]:
        """`get`, awaited. Counting tokens is work too, so all of it happens beside the event loop."""
        return await asyncio.to_thread(self.get, input, initial_token_count)

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session's log, exact and in order; fresh objects each time."""
        return [message_of(mention) for mention in self.memory.log().tail()]

    async def aget_all(self) -> list[ChatMessage]:
        """`get_all`, awaited."""
        return [message_of(mention) for mention in await self.memory.aio.log().tail()]

    # -- writing ------------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Keep a message for good."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """`put`, awaited."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Keep messages for good, all of them or none."""
        self.memory.log().append(self._drafts(messages))

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """`put_messages`, awaited."""
        await self.memory.aio.log().append(self._drafts(messages))

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make these messages the session's log; long-term memory keeps what they replace.

        A message that the log has already stays the same one. Recalled blocks among them are left out: nobody said them.
        """
        self._asked = self._consulted = None
        said = [message for message in messages if not is_note(message) and not grounds.is_told(message)]
        set_log(self.memory.log(), said)

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """`set`, awaited."""
        await asyncio.to_thread(self.set, messages)

    def reset(self) -> None:
        """Empty the session's log; long-term memory keeps what was in it. To erase it use `memory.erase(session=...)`."""
        self._asked = self._consulted = None
        self.memory.log().clear()

    async def areset(self) -> None:
        """`reset`, awaited."""
        self._asked = self._consulted = None
        await self.memory.aio.log().clear()

    # -- copies -------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        # A workflow copies its state; two copies of a memory would be two windows on one conversation.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _room(self, initial_token_count: int) -> int:
        if initial_token_count >= self.token_limit:
            raise InvalidInput(
                f"expected initial_token_count to leave room in token_limit={self.token_limit:,}, got "
                f"{initial_token_count:,}; shorten the prompt, or raise the limit"
            )
        return self.token_limit - initial_token_count

    def _consult(self, entries: Entries, question: str, turn: str | None) -> palaces.Consulted | None:
        """What the palace says to a question, asked once for each time that it is said."""
        if self.palace is None or not question:
            return None
        asked = (question, turn)
        if self._consulted is None or self._consulted[0] != asked:
            wake = min(palaces.WAKE, self.palace_tokens // 2)
            first = grounds.begins(entries, question)
            said = palaces.before_answer(self.palace, question, enforce=self.enforce, first=first, wake=wake)
            self._consulted = asked, said
        return self._consulted[1]

    def _drafts(self, messages: Sequence[ChatMessage]) -> list[Draft]:
        """What is kept of messages; an answer with what it rests on, until something else is asked."""
        drafts: list[Draft] = []
        for draft in drafts_of(messages):
            if self._consulted and draft.role == MessageRole.USER.value and draft.content != self._consulted[0][0]:
                self._consulted = None
            drafts += grounds.cited([draft], self._consulted[1] if self._consulted else None)
        return drafts

    def _recalled(self, question: str, turn: str | None) -> Sequence[Hit]:
        if not question or not self.recall_limit:
            return ()
        if turn is None or self._asked is None or self._asked[0] != (question, turn):
            self._asked = (question, turn), self._ask(question)
        return self._asked[1]

    def _ask(self, question: str) -> Sequence[Hit]:
        limit = self.recall_limit + LOOKED_PAST
        try:
            return self.memory.recall(
                question, limit=limit, min_score=self.min_score, hold=False, scope=scope_of(self.memory)
            )
        except HTMError as error:
            _log.warning("recall failed (%s); the model is shown the window alone", type(error).__name__)
            return ()

    def _window(self, entries: Entries, room: int) -> list[ChatMessage]:
        """The newest turns that fit, reading as far back as that needs."""
        read, reach = FIRST_READ, room
        while True:
            part = self._newest(entries, reach)
            window = fit(part, room=room, whole=len(part) == len(entries) < read)
            if window is not None:
                return window
            if len(part) < len(entries):  # much of it was calls without results, or one long turn
                reach = 2 * max(1, reach)
            else:
                mean = sum(each.tokens for each in part) / max(1, len(part))
                read = max(2 * read, int(READ_MORE * reach / max(1.0, mean)))
                entries = self.memory.log().entries(read)

    def _newest(self, entries: Entries, reach: int) -> list[Counted]:
        """The last messages, back to a user's, that cost more than `reach`; each is counted once while it is in view."""
        known, self._costs = self._costs, {}
        part: list[Counted] = []
        for _, mention in reversed(entries):
            message = message_of(mention)
            cost = known.get(mention.id) or count(message, words=self._words)
            self._costs[mention.id] = cost
            part.append(Counted(message, cost))
            reach -= cost
            if reach < 0 and message.role == MessageRole.USER:
                break
        return part[::-1]

    def _words(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


def _question(entries: Entries, given: str | ChatMessage | None) -> tuple[str, str | None]:
    """What is asked, which may have no words, and the user's last message in the log, which tells this asking from others."""
    users = (mention for _, mention in reversed(entries) if mention.role == MessageRole.USER.value)
    last = next(users, None)
    if given is None:
        return (last.content, last.id) if last else ("", None)
    text = given if isinstance(given, str) else given.content or ""
    return searchable(text), last.id if last else None


def _quoted(consulted: palaces.Consulted | None) -> set[str]:
    return {each.content for each in consulted.grounding.evidence} if consulted else set()
