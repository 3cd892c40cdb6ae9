"""The memories that requests are about, one for each tenant, user, robot and session, kept while
they are used.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from ..base.types import Event
from ..memory.memory import Memory
from .events import Events

T = TypeVar("T")
# bytes that are read and checked in the loop, so that a small request changes no thread
AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """The memory that is wanted."""

    tenant: str
    user: str | None
    robot: str
    session: str | None


OpenMemory = Callable[[Whose, Callable[[Event], None]], Memory]  # it may read the database


@dataclass(slots=True)
class _Held:
    opening: asyncio.Future[Memory]
    users: int = 0


class Memories:
    """Opens memories and closes those that were used least lately."""

    def __init__(
        self, open: OpenMemory, events: Events, executor: Callable[[], Executor], *, most: int
    ) -> None:
        self._open, self.events, self._executor, self._most = open, events, executor, most
        self._held: OrderedDict[Whose, _Held] = OrderedDict()

    async def aside(self, work: Callable[[], T], *, size: int) -> T:
        """Do work on what a client has sent, whose size is in bytes: in a thread where it may take
        long.
        """
        if size <= AT_ONCE:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._executor(), work)

    @asynccontextmanager
    async def of(self, whose: Whose) -> AsyncIterator[Memory]:
        """A memory, which stays open within the block; raises what opening it raises."""
        held = self._held.get(whose)
        if held is None:
            held = self._held[whose] = _Held(asyncio.ensure_future(self._opened(whose)))
        self._held.move_to_end(whose)
        held.users += 1
        try:
            try:
                memory = await asyncio.shield(held.opening)
            except Exception:
                if self._held.get(whose) is held:
                    del self._held[whose]
                raise
            yield memory
        finally:
            held.users -= 1
            await self._close_idle()

    async def _opened(self, whose: Whose) -> Memory:
        publish = self.events.publisher(whose.tenant, whose.user)
        return await asyncio.get_running_loop().run_in_executor(
            self._executor(), self._open, whose, publish
        )

    async def _close_idle(self) -> None:
        while len(self._held) > self._most:
            idle = next(
                (
                    whose
                    for whose, held in self._held.items()
                    if not held.users and held.opening.done()
                ),
                None,
            )
            if idle is None:
                return
            await self._close(self._held.pop(idle))

    async def close(self) -> None:
        """Close all of them."""
        while self._held:
            await self._close(self._held.popitem()[1])

    async def _close(self, held: _Held) -> None:
        if held.opening.done() and held.opening.exception() is None:
            memory = held.opening.result()
            await asyncio.get_running_loop().run_in_executor(self._executor(), memory.close)
