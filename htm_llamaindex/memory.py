"""Memory for chat engines and agents: every message is kept, a window fits, and memory adds what it knows of the question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr, field_validator

from htm_core import Draft, Hit, InvalidInput, Memory, Mention
from htm_core.integration.messages import searchable
from htm_core.integration.scope import check_alone, check_user
from htm_core.palace import WAKE, Consulted, Enforce, Grounding, Palace, before_answer, checked_enforce

from . import grounding as evidence
from . import handles
from .log import drafts_of, set_log
from .messages import message_of, words_of
from .retriever import before_question, is_recalled, recall_for_prompt, recalled_message
from .scope import known_user, memory_for
from .window import Counted, count, fit

# How many of the last messages are read first, and how many more than the estimate when these do not fill the room.
FIRST_READ = 64
READ_MORE = 1.25
# The largest share of the room for what is recalled.
RECALL_SHARE = 1 / 3

Entries = Sequence[tuple[str | None, Mention]]


class HTMMemory(BaseMemory):
    """Remember a conversation for good, and show the model what fits: for chat engines, agents and workflows.

    Made by `from_defaults`. Its fields, with their defaults:

    `token_limit` (30,000): tokens of all that `get` returns; only a last question that is longer alone exceeds it.
    `recall_limit` (8), `recall_tokens` (1,000), `min_score` (0.2): how many passages are recalled at most, in how many
    tokens, and with which score at least. `user`: whose memories are recalled, from all of their sessions; without one
    only this session's. `palace_tokens` (2,000): tokens at most of what a palace says to the question.

    Every message is in PostgreSQL when `put` returns. `get` returns the newest whole turns, and before the question a
    message with what memory knows about it. It is serialised as configuration, never with an address; a copy is the same
    memory.

        memory = HTMMemory.from_defaults("s1", Memory("atlas", user="ann"))
        engine = index.as_chat_engine(chat_mode="context", memory=memory)
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
    enforce: Enforce = "advise"
    handle: str | None = Field(default=None, description="under which name this process knows the memory")
    palace_handle: str | None = Field(default=None, description="under which name it knows the palace")
    tokenizer_fn: Callable[[str], Any] = Field(default_factory=get_tokenizer, exclude=True)

    _given: Memory | None = PrivateAttr(default=None)
    _memory: Memory | None = PrivateAttr(default=None)
    _recalled: tuple[object, Sequence[Hit]] | None = PrivateAttr(default=None)
    _given_palace: Palace | None = PrivateAttr(default=None)
    _palace: Palace | None = PrivateAttr(default=None)
    _consulted: tuple[tuple[str, str | None], Consulted] | None = PrivateAttr(default=None)
    _tokens: dict[str, int] = PrivateAttr(default_factory=dict)

    @field_validator("user")
    @classmethod
    def _own_name(cls, user: str | None) -> str | None:
        return check_user(user)

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
        palace: Palace | None = None,
        enforce: Enforce = "advise",
    ) -> Self:
        """Open the memory of a session. Nothing is read or written yet.

        Args:
            session_id: The conversation; by default a new one.
            memory: The memory to use. Otherwise one is made of `robot`, `tenant` and `url`; both at once raise
                `InvalidInput`.
            robot: The robot, "default" by default.
            tenant: The tenant, "default" by default.
            user: Whose memories are recalled; by default the memory's own user.
            url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
            chat_history: Becomes the session's log at once.
            token_limit: Tokens of all that `get` returns.
            tokenizer_fn: Splits a text into tokens, to count them; by default LlamaIndex's.
            palace: A `htm_core.palace.Palace` that is consulted about each question, as this user and session. It brings
                its own memory, unless another one of its tenant is given.
            enforce: With "strict" `get` raises `Ungrounded` when a layer of the palace could not be reached.
        """
        if palace is not None:
            memory = memory or evidence.check_palace(palace, memory).memory
        check_alone(memory, robot=robot, tenant=tenant, url=url)
        check_user(user)
        made = cls(
            session_id=session_id or str(uuid4()),
            robot=robot if memory is None else memory.robot,
            tenant=tenant if memory is None else memory.tenant,
            user=known_user(memory, user),
            token_limit=token_limit,
            handle=handles.handle_of(memory, url),
            tokenizer_fn=tokenizer_fn or get_tokenizer(),
            enforce=checked_enforce(enforce),
            palace_handle=None if palace is None else evidence.handle_of(evidence.check_palace(palace, memory)),
        )
        made._given, made._given_palace = memory, palace
        if chat_history:
            made.set(list(chat_history))
        return made

    @property
    def memory(self) -> Memory:
        """The memory behind it, of this user and session: to recall by hand, to forget, to erase."""
        if self._memory is None:
            found = handles.open_memory(
                self._given, self.handle, robot=self.robot, tenant=self.tenant, tokenizer=self.tokenizer_fn
            )
            self._memory = memory_for(found, user=self.user, session=self.session_id)
        return self._memory

    @property
    def palace(self) -> Palace | None:
        """The palace that is consulted, as this user and session; None without one."""
        if self._palace is None and self.palace_handle is not None:
            # In another process it is a palace without fetchers; fetching an artifact there fails with an error.
            found = self._given_palace or evidence.palace_of(self.palace_handle) or Palace(self.memory)
            self._palace = found.of(user=self.memory.user, session=self.memory.session)
        return self._palace

    @property
    def grounding(self) -> Grounding | None:
        """What the palace said to the last question; None without one."""
        return self._consulted[1].grounding if self._consulted else None

    # -- reading ------------------------------------------------------------------------------------------------------

    def get(self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any) -> list[ChatMessage]:
        """The messages for a model: the window, and what is recalled for `input`, else for the user's last message.

        `initial_token_count` is what else the model is given. The messages are fresh objects each time. Recall and the
        palace are consulted once for each question, however often this is called. Raises `InvalidInput` when nothing of the
        limit is left, and `Ungrounded` when a strict palace could not be reached.
        """
        room = self._room(initial_token_count)
        entries = self.memory.log().entries(FIRST_READ)
        question, turn = _last_question(entries, input)
        share = min(self.palace_tokens, int(room * evidence.SHARE))
        consulted = evidence.fit_evidence(
            self._consult(entries, question, turn), room=share, count_tokens=self._count_tokens
        )
        from_palace = evidence.evidence_message(consulted)
        room -= count(from_palace, count_tokens=self._count_tokens) if from_palace else 0
        # Where the answer is to be that there is no evidence, nothing else may look like evidence.
        hits = () if consulted and consulted.refusal else self._recall(question, turn)
        reserve = min(self.recall_tokens, int(max(0, room) * RECALL_SHARE)) if hits else 0
        window = self._window(entries, room - reserve)
        quoted = {each.content for each in consulted.grounding.evidence} if consulted else set()
        from_memory = recalled_message(
            hits,
            shown={words_of(each) for each in window} | {question} | quoted,
            limit=self.recall_limit,
            room=reserve,
            count_tokens=self._count_tokens,
        )
        with_evidence = before_question(window, from_palace, question=question)
        return before_question(with_evidence, from_memory, question=question)

    async def aget(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any
    ) -> list[ChatMessage]:
        """`get`, awaited. Counting tokens takes time too, so all of it happens in a thread."""
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
        self._recalled = self._consulted = None
        said = [message for message in messages if not is_recalled(message) and not evidence.is_evidence(message)]
        set_log(self.memory.log(), said)

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """`set`, awaited."""
        await asyncio.to_thread(self.set, messages)

    def reset(self) -> None:
        """Empty the session's log; long-term memory keeps what was in it. To erase it use `memory.erase(session=...)`."""
        self._recalled = self._consulted = None
        self.memory.log().clear()

    async def areset(self) -> None:
        """`reset`, awaited."""
        self._recalled = self._consulted = None
        await self.memory.aio.log().clear()

    # -- copies -------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        # A workflow copies its state. Two copies of a memory would know different things of one conversation.
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

    def _consult(self, entries: Entries, question: str, turn: str | None) -> Consulted | None:
        """What the palace says to a question; it is consulted once for each time that the question is said."""
        if self.palace is None or not question:
            return None
        key = (question, turn)
        if self._consulted is None or self._consulted[0] != key:
            wake = min(WAKE, self.palace_tokens // 2)
            first = evidence.is_first_question(entries, question)
            said = before_answer(self.palace, question, enforce=self.enforce, first=first, wake=wake)
            self._consulted = key, said
        return self._consulted[1]

    def _drafts(self, messages: Sequence[ChatMessage]) -> list[Draft]:
        """What is stored of messages; an answer with its evidence, until the user says something else."""
        drafts: list[Draft] = []
        for draft in drafts_of(messages):
            if self._consulted and draft.role == MessageRole.USER.value and draft.content != self._consulted[0][0]:
                self._consulted = None
            drafts.append(evidence.with_provenance(draft, self._consulted[1] if self._consulted else None))
        return drafts

    def _recall(self, question: str, turn: str | None) -> Sequence[Hit]:
        """The hits for a question; recalled once for each time that it is said."""
        if not question or not self.recall_limit:
            return ()
        if turn is None or self._recalled is None or self._recalled[0] != (question, turn):
            hits = recall_for_prompt(
                self.memory,
                question,
                limit=self.recall_limit,
                min_score=self.min_score,
                without="the window alone",
            )
            self._recalled = (question, turn), hits
        return self._recalled[1]

    def _window(self, entries: Entries, room: int) -> list[ChatMessage]:
        """The newest turns that fit, reading as far back as that needs."""
        read, reach = FIRST_READ, room
        while True:
            part = self._newest(entries, reach)
            window = fit(part, room=room, is_all=len(part) == len(entries) < read)
            if window is not None:
                return window
            if len(part) < len(entries):  # much of it was calls without results, or one long turn
                reach = 2 * max(1, reach)
            else:
                mean = sum(each.tokens for each in part) / max(1, len(part))
                read = max(2 * read, int(READ_MORE * reach / max(1.0, mean)))
                entries = self.memory.log().entries(read)

    def _newest(self, entries: Entries, reach: int) -> list[Counted]:
        """The last messages, back to a user's, that cost more than `reach` tokens; each is counted once while it is shown."""
        known, self._tokens = self._tokens, {}
        part: list[Counted] = []
        for _, mention in reversed(entries):
            message = message_of(mention)
            tokens = known.get(mention.id) or count(message, count_tokens=self._count_tokens)
            self._tokens[mention.id] = tokens
            part.append(Counted(message, tokens))
            reach -= tokens
            if reach < 0 and message.role == MessageRole.USER:
                break
        return part[::-1]

    def _count_tokens(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


def _last_question(entries: Entries, given: str | ChatMessage | None) -> tuple[str, str | None]:
    """The question's words, which may be none, and the id of the user's last message in the log.

    The id tells a question from the same words said at another time.
    """
    said = (mention for _, mention in reversed(entries) if mention.role == MessageRole.USER.value)
    last = next(said, None)
    if given is None:
        return (last.content, last.id) if last else ("", None)
    text = given if isinstance(given, str) else given.content or ""
    return searchable(text), last.id if last else None
