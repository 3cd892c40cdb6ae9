"""Long-term memory as a block of LlamaIndex's own `Memory`."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, Unpack

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr, SecretStr

from htm_core import Draft, HTMError, InvalidInput, Memory
from htm_core.prompt.attachments import named, without_shown_files
from htm_core.prompt.follow_ups import in_full
from htm_core.prompt.memory_block import memory_block, today_line, today_of
from htm_core.prompt.option_names import with_options
from htm_core.prompt.recalled_block import drop_last_items, new_token
from htm_core.prompt.scope import as_secret

from .attachments import files_of
from .log import FIRST_MORE, TurnLog, drafts_of, put_again
from .messages import encode, name_of, said_before, words_of
from .prompt_options import PROMPT, PromptFields, PromptOptions, fields_of
from .retriever import recalled_text
from .scope import memory_for

NAME = "long_term_memory"
BATCH_SIZE = 500
# For so many sessions it is remembered which messages may be stored although keeping them failed.
MAX_UNSURE = 1_000
SESSION_KEY = "session_id"
# the types of blocks that are more than words
_MEDIA = frozenset({"document", "image", "audio", "video"})


class HTMMemoryBlock(PromptFields, BaseMemoryBlock[str]):
    """Recall what memory knows about the user's last message, and keep what leaves LlamaIndex's
    short-term memory.

    Args:
        memory: The memory to use. Otherwise one is made of `robot`, `tenant` and `url`; both at
            once raise `InvalidInput`.
        robot: The robot, "default" by default.
        tenant: The tenant, "default" by default.
        user: Whose memories are recalled, from all of their sessions. By default the memory's own
            user; without one only this session's memories are recalled.
        url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
        name: The block's name, and its tag in the prompt.
        description: LlamaIndex's description of the block.
        priority: When LlamaIndex truncates blocks, the last passages of this one go first; with 0
            it is not truncated.
        accept_short_term_memory: Whether it keeps what leaves short-term memory.
        tokenizer_fn: Splits a text into tokens, to count them; by default LlamaIndex's.
        options: What is recalled for the prompt, and what of a conversation recall may find.

    What leaves short-term memory is kept as said in its session. With `HTMChatStore` below,
    everything is kept already, and nothing is kept twice. While the database does not answer,
    nothing is recalled, which is logged; what cannot be kept is a `StorageError`.

        chat = llama_index.core.memory.Memory.from_defaults("s1",
        memory_blocks=[HTMMemoryBlock(Memory("atlas"))])
    """

    # again, for the tools that read the docs from here
    _given: Memory | None = PrivateAttr(default=None)
    _unsure: OrderedDict[str | None, Sequence[Draft]] = PrivateAttr(default_factory=OrderedDict)
    _fence: tuple[object, str] | None = PrivateAttr(default=None)

    @with_options(PromptOptions, **PROMPT)
    def __init__(
        self,
        memory: Memory | None = None,
        *,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | SecretStr | None = None,
        name: str = NAME,
        description: str | None = None,
        priority: int = 1,
        accept_short_term_memory: bool = True,
        tokenizer_fn: Callable[[str], Any] | None = None,
        **options: Unpack[PromptOptions],
    ) -> None:
        url = as_secret(url)
        fields = fields_of(
            options,
            memory=memory,
            robot=robot,
            tenant=tenant,
            user=user,
            url=url,
            tokenizer_fn=tokenizer_fn,
        )
        super().__init__(  # type: ignore[call-arg]  # fields of this class
            name=name,
            description=description,
            priority=priority,
            accept_short_term_memory=accept_short_term_memory,
            **fields,
        )
        self._given = memory

    @property
    def memory(self) -> Memory:
        """The memory behind it."""
        return self._opened()

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Keep messages as said in their session. The messages themselves are not changed.

        Args:
            messages: The messages. The same ones put again right after an error are stored once.
            from_short_term_memory: Whether they leave LlamaIndex's short-term memory.
            session_id: The session; by default the one that LlamaIndex wrote into each message,
                else the memory's own.

        Raises `StorageError` when it is not known that they are stored.
        """
        if self.accept_short_term_memory or not from_short_term_memory:
            await asyncio.to_thread(self._keep, messages, session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """A block without as many of its last passages as saves so many tokens; None when nothing
        is left.
        """
        if not content:
            return None
        return drop_last_items(content, spare=tokens_to_truncate, count=self._count_tokens) or None

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any
    ) -> str:
        return await asyncio.to_thread(self._recalled, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate, (self.model_dump(),)

    # -- inside ------------------------------------------------------------------------------------

    def _recalled(self, messages: Sequence[ChatMessage], session: str | None) -> str:
        place = next(
            (at for at in reversed(range(len(messages))) if messages[at].role == MessageRole.USER),
            None,
        )
        asked = None if place is None else messages[place]
        question = words_of(asked) if asked else ""
        if not question or not self.recall_limit:
            return ""
        memory = self._memory_of(session)
        turn = TurnLog(memory, timeout=self.timeout)
        before = said_before(question, messages[:place])
        result = self._recall_for_prompt(
            memory,
            question,
            choices=self._own_choices,
            without="no memories",
            run=lambda work: turn.run(work, step="recall"),
            speaker=name_of(asked) or "" if asked else None,
            before=before,
        )
        today, token = today_of(memory), self._token_of((question, session, len(messages)))
        recalled = recalled_text(
            without_shown_files(result, session=memory.session, shown=_with_files(turn, messages)),
            question=question if self.rewrite else in_full(question, before),
            token=token,
            today=today,
            shown={words_of(each) for each in messages},
            limit=self.recall_limit,
            room=self.recall_tokens - self._count_tokens(f"{today_line(today)}\n"),
            count=self._count_tokens,
        )
        return memory_block([recalled], today=today, token=token)

    def _token_of(self, turn: object) -> str:
        """The token of a turn's fence: the same however often LlamaIndex asks for the turn."""
        if self._fence is None or self._fence[0] != turn:
            self._fence = turn, new_token()
        return self._fence[1]

    def _keep(self, messages: Sequence[ChatMessage], session: str | None) -> None:
        """Keep what says something and is not in the session's log, where a chat store would have
        put it.
        """
        for name, part in _by_session(messages, session).items():
            memory = self._memory_of(name)
            drafts: Sequence[Draft] = drafts_of(
                [each for each in part if _says_something(each)], keep=self.keep
            )
            drafts = put_again(drafts, self._unsure.pop(name, ()))
            try:
                TurnLog(memory, timeout=self.timeout).write(partial(_keep_new, memory, drafts))
            except HTMError:
                self._unsure[name] = drafts
                if len(self._unsure) > MAX_UNSURE:
                    self._unsure.popitem(last=False)
                raise

    def _memory_of(self, session: str | None) -> Memory:
        session = session or self.memory.session
        if session is None and self.user is None:
            raise InvalidInput(
                "expected to know whose memories these are, got neither a user nor a session; "
                "give user= to the block, or "
                "session_id= to its aget and aput"
            )
        return memory_for(self.memory, user=self.user, session=session, timezone=self.timezone)


def _keep_new(memory: Memory, drafts: Sequence[Draft]) -> None:
    """Keep what is not in the session's log. What recall may not find goes to the log alone.

    Without a session there is no log: of a message that is only a file its name is the words, and
    what has no words is left out.
    """
    log = memory.log() if memory.session else None
    known = (
        Counter(mention.payload for _, mention in log.entries()) if log else Counter[bytes | None]()
    )
    new = [draft for draft in drafts if not _take(known, draft)]
    if log is None:
        new = [named for draft in new for named in [_by_its_file(draft)] if named.content]
    for first in range(0, len(new), BATCH_SIZE):
        batch = new[first : first + BATCH_SIZE]
        log.append(batch) if log else memory.remember_many(batch)


def _by_its_file(draft: Draft) -> Draft:
    """A draft in the words of the names of its files, where it has none."""
    if draft.content or not draft.attached:
        return draft
    return replace(draft, content=named(draft.attached))


def _says_something(message: ChatMessage) -> bool:
    """True if a message has words, or a file, picture or recording."""
    return bool(words_of(message)) or any(block.block_type in _MEDIA for block in message.blocks)


def _with_files(turn: TurnLog, messages: Sequence[ChatMessage]) -> set[str]:
    """The ids under which a chat store has put those of the messages that have documents into the
    session's log.
    """
    shown = [each for said in _by_session(messages, None).values() for each in said]
    payloads = {encode(each) for each in shown if any(True for _ in files_of(each))}
    if not payloads:
        return set()
    return {
        id
        for id, mention in turn.entries(2 * len(messages) + FIRST_MORE)
        if id and mention.payload in payloads
    }


def _by_session(
    messages: Sequence[ChatMessage], session: str | None
) -> dict[str | None, list[ChatMessage]]:
    """Messages by their session, as they were before LlamaIndex wrote its name into them."""
    sessions: dict[str | None, list[ChatMessage]] = {}
    for message in messages:
        more = dict(message.additional_kwargs)
        name = session or more.get(SESSION_KEY)
        if more.get(SESSION_KEY) == name:
            more.pop(SESSION_KEY, None)
        sessions.setdefault(name, []).append(message.model_copy(update={"additional_kwargs": more}))
    return sessions


def _take(known: Counter[bytes | None], draft: Draft) -> bool:
    """True if a message is one of the known ones, each of which counts once."""
    is_known = known[draft.payload] > 0
    known[draft.payload] -= 1
    return is_known
