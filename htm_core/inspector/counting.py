"""Counts whose time grows with a memory: a page waits for them a little, and else shows the former
ones, or comes again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..base.last_used import LastUsed

T = TypeVar("T")
Key = tuple[str | int | None, ...]  # of a page, whose it is, and what was asked

PATIENCE = 0.15  # seconds that a page waits
AT_ONCE = 4  # counts that run; the others wait for their turn
MOST = 500  # results that are kept; the one that was asked for least lately goes first

_log = logging.getLogger("htm.server")


@dataclass(frozen=True, slots=True)
class PageCount(Generic[T]):
    """A count, and how many seconds ago it began: 0 where it was counted for this very page."""

    value: T
    age: float


class Counting:
    """Counts in this process: one at a time for each key, a few at once for all. Everything is
    counted anew for each page.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._done = LastUsed[Key, tuple[float, object]](MOST)
        self._running: dict[Key, asyncio.Task[object]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def of(
        self, key: Key, count: Callable[[], Awaitable[T]], *, patience: float = PATIENCE
    ) -> PageCount[T] | None:
        """Return what `count` answers, if it does within `patience` seconds; else what it answered
        before; None where it never did.

        It goes on behind the page. Raises what it raises in that time.
        """
        task = self._running.get(key)
        is_fresh = task is None  # one that runs already may have begun before the latest change
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, count))
            task.add_done_callback(lambda ended: self._ended(key, ended))
        await asyncio.wait([task], timeout=patience)
        if task.done() and is_fresh:
            return PageCount(task.result(), 0.0)  # type: ignore[arg-type]  # of this key
        if task.done():
            task.result()  # raises what it raised
        known = self._done.get(key)
        if known is None:
            return None
        return PageCount(known[1], self._clock() - known[0])  # type: ignore[arg-type]  # of this key

    async def _run(self, key: Key, count: Callable[[], Awaitable[object]]) -> object:
        async with self._turns:
            began = self._clock()
            value = await count()
        self._done[key] = (began, value)
        return value

    def _ended(self, key: Key, task: asyncio.Task[object]) -> None:
        self._running.pop(key, None)
        if not task.cancelled() and (failure := task.exception()) is not None:
            _log.debug("a count behind a page has failed", exc_info=failure)
