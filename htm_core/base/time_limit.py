"""Time limit of a verb, kept by this process: whoever waits for a server or a model asks here how
long it still may.

The outermost verb sets the limit, with `limited`. What it calls runs in the same context and finds
it with `current`. A limit bounds the whole verb and, apart from that, each single answer: work that
is known to be long gets more time in all, and a server that has stopped is still noticed soon.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, Literal, Protocol, TypeVar

from .fork import renewed_after_fork

T = TypeVar("T")

# The share of the time left that one call of a model may take, so that what must follow it has time
# too.
MODEL_SHARE = 2 / 3
# A verb has its time once more for so many more drafts, and for so many more texts that a model
# embeds.
WRITTEN_AT_ONCE = 10_000
EMBEDDED_AT_ONCE = 128
# Calls of one client that are past their time but still at work. When there are so many, its next
# ones fail at once.
MAX_LATE = 32
# The same of all clients together. Then a client that has such calls itself begins no more; any
# other goes on.
MAX_LATE_OF_ALL = 256
IDLE = 30.0  # seconds for which a thread waits for its next call


class OutOfTime(TimeoutError):
    """The time for something is over. Its work may still go on, in a thread of its own."""


class TimeLimit:
    """The time that a verb has.

    Args:
        seconds: For the whole, and for each single answer that it waits for.
        total: Seconds for the whole, where they are not the same; `math.inf` bounds the single
            answers only.
        slides: Whether the whole begins anew after each transaction: for work without an end that
            must not stand still.
    """

    __slots__ = ("ends", "seconds", "slides")

    def __init__(self, seconds: float, *, total: float | None = None, slides: bool = False) -> None:
        self.seconds, self.slides = seconds, slides
        self.ends = time.monotonic() + (seconds if total is None else total)

    @property
    def left(self) -> float:
        """Seconds that are left of the whole; 0 when it is over."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def answer_by(self) -> float:
        """Until when one answer may be waited for, by `time.monotonic`."""
        return min(self.ends, time.monotonic() + self.seconds)

    def extend(self, seconds: float) -> None:
        """Give the whole more time: for work that is known to be more, and for what is not to
        count.
        """
        self.ends += seconds

    def restart(self) -> None:
        """Begin anew, for the next of several transactions or files."""
        self.ends = max(self.ends, time.monotonic() + self.seconds)


_limit: ContextVar[TimeLimit | None] = ContextVar("htm_time_limit", default=None)


current = _limit.get  # the limit of the verb that is running; None outside of verbs


@contextlib.contextmanager
def limited(limit: TimeLimit | None) -> Iterator[None]:
    """Set the limit for a block; None waits as long as it takes."""
    before = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(before)


def grow(pieces: int, *, batch_size: int) -> None:
    """Give the running verb its time once more for every `batch_size` pieces of work beyond the
    first ones.
    """
    limit = _limit.get()
    if limit is not None and pieces > batch_size:
        limit.extend(limit.seconds * ((pieces - 1) // batch_size))


def restart() -> None:
    """Begin the running verb's time anew: for the next of several transactions, files or calls of a
    chat model.
    """
    limit = _limit.get()
    if limit is not None:
        limit.restart()


def for_model(seconds: float) -> float:
    """So many seconds for one call of a model, or fewer where the running verb has not as much time
    for it.
    """
    limit = _limit.get()
    return seconds if limit is None else min(seconds, limit.seconds, limit.left * MODEL_SHARE)


def ask(work: Callable[[], T], *, client: Hashable) -> T:
    """Call a chat model, or what else somebody gave: the call has a verb's whole time, and so has
    the verb after it.

    `client` says whose calls it is counted with, as in `in_time`.
    """
    restart()
    try:
        return in_time(work, client=client)
    finally:
        restart()


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Do not count the time of a block: for what is computed here and cannot hang, and for the
    start of a private server.
    """
    limit, began = _limit.get(), time.monotonic()
    try:
        yield
    finally:
        if limit is not None:
            limit.extend(time.monotonic() - began)


class Lock(Protocol):
    """A lock of `threading`."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for the lock."""

    def release(self) -> None:
        """Let go of the lock."""


def patience(share: float) -> float:
    """Seconds that one wait may take, of a share of the running verb's time; without end outside of
    verbs.
    """
    limit = _limit.get()
    return math.inf if limit is None else share * min(limit.left, limit.seconds)


@contextlib.contextmanager
def locked(lock: Lock, *, what: str) -> Iterator[None]:
    """Hold a lock for a block; raises `OutOfTime` when the running verb's time is over before it is
    free.
    """
    limit = _limit.get()
    left = (
        -1.0 if limit is None or math.isinf(limit.ends) else min(limit.left, threading.TIMEOUT_MAX)
    )
    if not lock.acquire(timeout=left):
        raise OutOfTime(f"another thread of this process was still at work on {what}")
    try:
        yield
    finally:
        lock.release()


# -- work that cannot be interrupted ---------------------------------------------------------------


_given_up_at: ContextVar[float] = ContextVar("htm_given_up_at", default=math.inf)


def awaited_for() -> float:
    """Seconds for which somebody still waits for the work that this runs in: of the verb, and of
    `within`; without end outside.
    """
    limit = _limit.get()
    return max(
        0.0, min(_given_up_at.get() - time.monotonic(), math.inf if limit is None else limit.left)
    )


class _Call:
    """Work for a thread, and what comes of it. Whoever waits may give it up as late."""

    __slots__ = ("_over", "_state", "client", "done", "work")

    def __init__(self, work: Callable[[], object], client: Hashable, seconds: float) -> None:
        context = contextvars.copy_context()
        context.run(_given_up_at.set, min(_given_up_at.get(), time.monotonic() + seconds))
        self.client = client
        self.work: Callable[[], object] = lambda: context.run(work)
        self.done: Future[Any] = Future()
        self.done.set_running_or_notify_cancel()  # whoever waits may leave; the work goes on
        self._over = threading.Lock()
        self._state: Literal["running", "ended", "late"] = "running"

    def end(self, state: Literal["ended", "late"]) -> bool:
        """End it as done, or as late, whichever comes first; says whether this did."""
        with self._over:
            if self._state == "running":
                self._state = state
            return self._state == state


class _Threads:
    """Threads that wait for work. None is ever waited for: where all are busy there is one more,
    and one that is late is given up.

    Starting a thread for each call of a model would cost a recall more than the call of a fast one.
    """

    def __init__(self) -> None:
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, where the parent's threads do not exist."""
        self._idle: deque[SimpleQueue[_Call | None]] = deque()
        self._late: set[_Call] = set()

    def start(self, work: Callable[[], object], *, client: Hashable, seconds: float) -> _Call:
        """Begin work in a thread that no exit of the process and no event loop waits for."""
        call = _Call(work, client, seconds)
        if self._late:
            self._refuse_more_of(client)
        try:
            self._idle.pop().put(call)
        except IndexError:
            inbox: SimpleQueue[_Call | None] = SimpleQueue()
            inbox.put(call)
            threading.Thread(
                target=self._serve, args=(inbox,), name="htm-turn", daemon=True
            ).start()
        return call

    def give_up(self, call: _Call) -> bool:
        """Count a call as late, unless it has just ended; says which."""
        if not call.end("late"):
            return False
        self._late.add(call)
        call.done.add_done_callback(lambda _: self._late.discard(call))
        return True

    def _refuse_more_of(self, client: Hashable) -> None:
        """Raise `OutOfTime` for a client that has too many late calls. One that has none never
        waits for another's.
        """
        late = [each for each in list(self._late) if not each.done.done()]
        its_own = sum(each.client == client for each in late)
        if its_own >= MAX_LATE or (its_own and len(late) >= MAX_LATE_OF_ALL):
            raise OutOfTime(
                f"expected earlier work to have ended, but {its_own} steps are past their time "
                f"still, of {len(late)} in all"
            )

    def end_idle(self) -> None:
        """End the threads that have nothing to do."""
        while self._idle:
            with contextlib.suppress(IndexError):
                self._idle.pop().put(None)

    def _serve(self, inbox: SimpleQueue[_Call | None]) -> None:
        """Do what comes in, one after the other, until nothing comes for a while."""
        while True:
            try:
                call = inbox.get(timeout=IDLE)
            except Empty:
                try:
                    self._idle.remove(inbox)
                except ValueError:  # somebody has taken it, and work is about to come
                    continue
                return
            if call is None or not self._do(call, inbox):
                return
            del call  # what came of it belongs to whoever waits

    def _do(self, call: _Call, inbox: SimpleQueue[_Call | None]) -> bool:
        """Do one piece of work, and say whether the thread may go on; one that was
        given up ends.
        """
        try:
            result, failure = call.work(), None
        except BaseException as error:
            result, failure = None, error
        in_time = call.end("ended")
        if in_time:
            self._idle.append(inbox)  # first, so that the next call of whoever waits finds it
        if failure is None:
            call.done.set_result(result)
        else:
            call.done.set_exception(failure)
        return in_time


_threads = _Threads()


def end_idle_threads() -> None:
    """End the threads that wait for calls of models; the next call starts one again."""
    _threads.end_idle()


def in_time(
    work: Callable[[], T],
    *,
    client: Hashable,
    share: float = 1.0,
    discard: Callable[[T], object] | None = None,
) -> T:
    """Do work that cannot be interrupted within a share of the running verb's time; raises
    `OutOfTime` after that.

    The work then goes on in its own thread, so it must be work whose end does no harm; `discard` is
    given what comes of it. Outside of verbs it is done at once, here, and however long it takes.
    `client` is the model, the server or the tenant that the work is for: when too much of its work
    hangs, its next work fails at once, and nobody else's.
    """
    limit = _limit.get()
    if limit is None:
        return work()
    return within(min(limit.seconds, limit.left * share), work, client=client, discard=discard)


def within(
    seconds: float | None,
    work: Callable[[], T],
    *,
    client: Hashable = None,
    discard: Callable[[T], object] | None = None,
) -> T:
    """Do work within so many seconds; after that raise `OutOfTime`, while the work goes on in its
    own thread.

    Work that is late is counted by its `client`, as in `in_time`; None is all that names none.
    """
    if seconds is None:
        return work()
    call = _threads.start(work, client=client, seconds=seconds)
    done: Future[T] = call.done
    try:
        return done.result(timeout=seconds)
    except TimeoutError as error:
        if not _threads.give_up(call):
            return done.result()
        if discard is not None:
            done.add_done_callback(
                lambda late: None if late.exception() else discard(late.result())
            )
        raise _too_late(seconds) from error


async def awithin(seconds: float | None, work: Callable[[], T], *, client: Hashable = None) -> T:
    """`within`, awaited: the work is done in a thread, whether there is a limit or not."""
    if seconds is None:
        return await asyncio.to_thread(work)
    call = _threads.start(work, client=client, seconds=seconds)
    done: Future[T] = call.done
    try:
        # Python 3.11's wait_for loses a cancellation that comes as the work ends
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(done)
    except TimeoutError as error:
        if not _threads.give_up(call):
            return done.result()
        raise _too_late(seconds) from error


def _too_late(seconds: float) -> OutOfTime:
    return OutOfTime(
        f"expected memory to answer within {seconds:.3g} s; look at the database and the "
        "embedding model, or raise timeout="
    )
