"""LlamaIndex's own `Memory` on our log: the messages of every conversation, exact, permanent and found again."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import Field, PrivateAttr

from htm_core import Log, Memory, Mention

from . import handles
from .log import drafts_of, set_drafts
from .messages import message_of
from .scope import checked_user, known_user, memory_for

ACTIVE = MessageStatus.ACTIVE


class HTMChatStore(AsyncDBChatStore):
    """Keep the messages of `Memory.from_defaults(session_id, chat_store=HTMChatStore(memory))`: each key is a session.

    Every message is in PostgreSQL when `add_message` returns. What LlamaIndex deletes leaves the session's log and stays
    in long-term memory; to forget use the memory itself. Give a `memory` of your own, or what makes one: `robot`, `tenant`
    and `url` (default: `HTM_DATABASE_URL`, else the embedded server). `user` says whose conversations these are; without
    one each belongs to itself alone. It works in any event loop, and in several one after the other. It is serialised as
    configuration, never with an address; a copy is the same store.
    """

    robot: str = "default"
    tenant: str = "default"
    user: str | None = None
    handle: str | None = Field(default=None, description="under which name this process knows the memory")

    _memory: Memory | None = PrivateAttr(default=None)

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | None = None,
        handle: str | None = None,
    ) -> None:
        handles.check_alone(memory, robot=robot, tenant=tenant, url=url)
        super().__init__(
            robot=robot if memory is None else memory.robot,
            tenant=tenant if memory is None else memory.tenant,
            user=known_user(memory, checked_user(user)),
            handle=handle or handles.handle_of(memory, url),
        )  # type: ignore[call-arg]  # fields of this class
        self._memory = memory

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "HTMChatStore"

    @property
    def memory(self) -> Memory:
        """The memory behind it."""
        if self._memory is None:
            self._memory = handles.opened(None, self.handle, robot=self.robot, tenant=self.tenant)
        return self._memory

    # -- reading; all of it on threads, so that no event loop is ever tied to a connection ----------------------------

    async def get_messages(
        self, key: str, status: MessageStatus | None = ACTIVE, limit: int | None = None, offset: int | None = None
    ) -> list[ChatMessage]:
        """The messages of a session, ascending: the active or the archived ones, or with `status=None` all.

        `offset` counts from the oldest.
        """
        found = await asyncio.to_thread(self._read, key, status)
        first = offset or 0
        return [message_of(each) for each in found[first : None if limit is None else first + limit]]

    async def count_messages(self, key: str, status: MessageStatus | None = ACTIVE) -> int:
        """How many messages a session has."""
        return len(await asyncio.to_thread(self._read, key, status))

    async def get_keys(self) -> list[str]:
        """The sessions that have messages: the user's, or all in which nobody is known."""
        return await asyncio.to_thread(memory_for(self.memory, user=self.user, session=None).sessions)

    # -- writing ------------------------------------------------------------------------------------------------------

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = ACTIVE) -> None:
        """Keep a message for good."""
        await self.add_messages(key, [message], status)

    async def add_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE) -> None:
        """Keep messages for good, all of them or none."""
        await asyncio.to_thread(self._add, key, messages, status)

    async def set_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE) -> None:
        """Make these the messages of a session; long-term memory keeps what they replace."""
        await asyncio.to_thread(self._set, key, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Take the message at a place out of the session; None when there is none.

        `idx` counts all of its messages, active and archived, from 0, the oldest.
        """
        found = await asyncio.to_thread(self._read, key, None)
        if not 0 <= idx < len(found):
            return None
        gone = await asyncio.to_thread(self._log(key).remove, [found[idx]])
        return message_of(gone[0]) if gone else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Take the messages of a status out of the session, or all of them."""
        await asyncio.to_thread(self._delete, key, status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Take the `n` oldest active messages out of the session, and say which these were."""
        return await asyncio.to_thread(self._oldest, key, n, Log.remove)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the `n` oldest active messages, and say which these were."""
        return await asyncio.to_thread(self._oldest, key, n, Log.archive)

    # -- copies -------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate, (self.model_dump(),)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _log(self, key: str) -> Log:
        return memory_for(self.memory, user=self.user, session=key).log()

    def _read(self, key: str, status: MessageStatus | None) -> list[Mention]:
        return [mention for _, mention in self._log(key).entries(archived=_archived(status))]

    def _add(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        log = self._log(key)
        said = log.append(drafts_of(messages))
        if _archived(status):
            log.archive(said)

    def _set(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        log = self._log(key)
        said = log.replace(set_drafts(log.entries(), drafts_of(messages)))
        if _archived(status):
            log.archive(said)

    def _delete(self, key: str, status: MessageStatus | None) -> None:
        log = self._log(key)
        if status is None:
            log.clear()
        else:
            log.remove(self._read(key, status))

    def _oldest(self, key: str, n: int, verb: Any) -> list[ChatMessage]:
        oldest = self._read(key, ACTIVE)[: max(0, n)]
        return [message_of(each) for each in verb(self._log(key), oldest)]


def _archived(status: MessageStatus | None) -> bool | None:
    """Which messages of a log have a status; None for all of them."""
    return None if status is None else MessageStatus(status) == MessageStatus.ARCHIVED
