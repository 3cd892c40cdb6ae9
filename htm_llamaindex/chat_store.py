"""A chat store for LlamaIndex's own `Memory`: the messages of every conversation, exact, permanent
and searchable.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import Field, PrivateAttr, SecretStr, field_serializer

from htm_core import Log, Memory, Mention
from htm_core.prompt.held import LastUsed
from htm_core.prompt.keep import Keep
from htm_core.prompt.scope import as_secret, check_alone, check_user

from . import handles, keep_rules
from .log import TurnLog, drafts_of, drafts_with_known_ids, retold_of
from .messages import message_of
from .scope import known_user, memory_for

T = TypeVar("T")
ACTIVE = MessageStatus.ACTIVE
# Of so many sessions, those that were used last, it is known which messages may not have been
# written.
MAX_SESSIONS = 1_000


class HTMChatStore(AsyncDBChatStore):
    """Keep the messages of LlamaIndex's `Memory` in PostgreSQL; each key is a session.

    Args:
        memory: The memory to use. Otherwise one is made of `robot`, `tenant` and `url`; both at
            once raise `InvalidInput`.
        robot: The robot, "default" by default.
        tenant: The tenant, "default" by default.
        user: Whose conversations these are. By default the memory's own user; without one each
            belongs to its session alone.
        url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
        handle: The name under which this process finds the memory; set when a store is
            deserialised.
        timeout: Seconds that a method may take; 10 by default, None is no limit. While the database
            does not answer, methods raise `StorageError` at once.
        keep: Which messages recall may find: roles, such as `["user", "assistant"]`, or a function
            of a `ChatMessage`. By default all. The log has every message.

    Every message is in PostgreSQL when `add_message` returns. What LlamaIndex deletes leaves the
    session's log but stays in long-term memory; to forget it, use the memory itself. It works in
    any event loop, and in several one after the other. It is serialised as configuration, never
    with an address; a copy is the same store. Raises `StorageError`.

        chat = llama_index.core.memory.Memory.from_defaults("s1",
        chat_store=HTMChatStore(Memory("atlas")))
    """

    robot: str = "default"
    tenant: str = "default"
    user: str | None = None
    handle: str | None = Field(
        default=None, description="under which name this process knows the memory"
    )
    timeout: float | None = Field(default=10.0, gt=0)
    keep: keep_rules.KeepField = Field(default=None, description="which messages recall may find")

    _memory: Memory | None = PrivateAttr(default=None)
    _turns: LastUsed[str, TurnLog] = PrivateAttr(default_factory=lambda: LastUsed(MAX_SESSIONS))
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | SecretStr | None = None,
        handle: str | None = None,
        timeout: float | None = 10.0,
        keep: Keep[ChatMessage] | None = None,
    ) -> None:
        url = as_secret(url)
        check_alone(memory, robot=robot, tenant=tenant, url=url)
        super().__init__(
            robot=robot if memory is None else memory.robot,
            tenant=tenant if memory is None else memory.tenant,
            user=known_user(memory, check_user(user)),
            handle=handle or handles.handle_of(memory, url),
            timeout=timeout,
            keep=keep,
        )  # type: ignore[call-arg]  # fields of this class
        self._memory = memory

    @field_serializer("handle")
    def _written_handle(self, handle: str | None) -> str:
        return handles.written(handle, lambda: self.memory)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "HTMChatStore"

    @property
    def memory(self) -> Memory:
        """The memory behind it."""
        if self._memory is None:
            self._memory = handles.open_memory(
                None, self.handle, robot=self.robot, tenant=self.tenant
            )
        return self._memory

    # -- reading, on threads, so that no connection belongs to an event loop -----------------------

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """The messages of a session, ascending: the active or the archived ones, or with
        `status=None` all.

        `offset` counts from the oldest.
        """
        mentions = await self._within(self._read, key, status)
        first = offset or 0
        return [
            message_of(each) for each in mentions[first : None if limit is None else first + limit]
        ]

    async def count_messages(self, key: str, status: MessageStatus | None = ACTIVE) -> int:
        """Count the messages of a status in a session."""
        return len(await self._within(self._read, key, status))

    async def get_keys(self) -> list[str]:
        """The sessions that have messages: the user's, or all those without a user."""
        return await self._within(memory_for(self.memory, user=self.user, session=None).sessions)

    # -- writing -----------------------------------------------------------------------------------

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = ACTIVE
    ) -> None:
        """Keep a message for good."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE
    ) -> None:
        """Keep messages for good, all of them or none. The same ones added again right after an
        error are stored once.
        """
        await asyncio.to_thread(self._add, key, messages, status)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE
    ) -> None:
        """Make these the messages of a session; long-term memory keeps what they replace."""
        await self._within(self._set, key, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Take the message at a place out of the session; None when there is none.

        `idx` counts all of its messages, active and archived, from 0, the oldest.
        """
        mentions = await self._within(self._read, key, None)
        if not 0 <= idx < len(mentions):
            return None
        gone = await self._within(self._remove, key, mentions[idx])
        return message_of(gone[0]) if gone else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Take the messages of a status out of the session, or all of them."""
        await self._within(self._delete, key, status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Take the `n` oldest active messages out of the session, and return them."""
        return await self._within(self._take_oldest, key, n, Log.remove)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the `n` oldest active messages, and return them."""
        return await self._within(self._take_oldest, key, n, Log.archive)

    # -- copies ------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate, (self.model_dump(),)

    # -- inside ------------------------------------------------------------------------------------

    async def _within(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work in a thread, within the time; raises `StorageError` when it is not done by then."""
        turn = TurnLog(self.memory, timeout=self.timeout)
        return await asyncio.to_thread(turn.write, lambda: work(*arguments))

    def _remove(self, key: str, mention: Mention) -> list[Mention]:
        return self._log(key).remove([mention])

    def _log(self, key: str) -> Log:
        return memory_for(self.memory, user=self.user, session=key).log()

    def _read(self, key: str, status: MessageStatus | None) -> list[Mention]:
        return [mention for _, mention in self._log(key).entries(archived=_archived(status))]

    def _add(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        turn = self._turn_of(key)
        turn.begin()
        turn.append(drafts_of(messages, keep=self.keep), archived=bool(_archived(status)))
        turn.forget_seen()  # a chat store reads from the database alone

    def _turn_of(self, key: str) -> TurnLog:
        """The one log of a session that writes, which knows what may not have been written."""
        with self._lock:
            turn = self._turns.get(key) or TurnLog(
                memory_for(self.memory, user=self.user, session=key), timeout=self.timeout
            )
            self._turns[key] = turn
            return turn

    def _set(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        log = self._log(key)
        entries = log.entries()
        drafts = drafts_with_known_ids(log, entries, messages, keep=self.keep)
        mentions = (
            log.replace(drafts) if entries else log.append(drafts, retold=retold_of(messages))
        )
        if _archived(status):
            log.archive(mentions)

    def _delete(self, key: str, status: MessageStatus | None) -> None:
        log = self._log(key)
        if status is None:
            log.clear()
        else:
            log.remove(self._read(key, status))

    def _take_oldest(
        self, key: str, n: int, verb: Callable[[Log, list[Mention]], list[Mention]]
    ) -> list[ChatMessage]:
        oldest = self._read(key, ACTIVE)[: max(0, n)]
        return [message_of(each) for each in verb(self._log(key), oldest)]


def _archived(status: MessageStatus | None) -> bool | None:
    """The log's flag for a status; None for all messages."""
    return None if status is None else MessageStatus(status) == MessageStatus.ARCHIVED
