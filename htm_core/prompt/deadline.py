"""Time limits of memory in a turn, and the breaker that leaves it out of turns for a while.

A turn reads and writes its memory in several steps. What is said is kept whatever it costs, as long
as the database answers: only waiting for an answer that does not come has a limit, and recall a
budget of its own. After a failure by time or connection a breaker opens: the next turns do without
memory at once, until one step is let through and finds it well. A step that was late while others
had their answers opens none, nor does one that had less than its fair time: many at once make
memory slow, and not silent.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Literal, TypeVar

from ..base.errors import DatabaseUnavailable, HTMError, QueryTimeout
from ..base.fork import renewed_after_fork
from ..base.time_limit import awithin as awithin  # the adapters have them from here
from ..base.time_limit import locked as locked
from ..base.time_limit import within as within
from ..memory.memory import Memory

T = TypeVar("T")
Clock = Callable[[], float]
# What a step does: "log" reads or writes what was said; "recall" also needs the embedding model;
# "model" asks a chat model, whose time `Settings.verb_timeout` limits and not the turn.
Step = Literal["log", "recall", "model"]

_log = logging.getLogger("htm.deadline")

# Seconds that a turn waits for answers that do not come, and that its recall has in all.
TIMEOUT = 10.0
# Seconds for which memory is left out after a failure.
PAUSE = 30.0
# The share of a turn's time that recall leaves to the log, so that a slow model costs no message.
LOG_SHARE = 0.2
# A recall that takes no longer than this is free: a run with hundreds of steps recalls while memory
# is well.
FREE = 0.25
# A step that was given less than this share of its time says nothing about the database.
FAIR_SHARE = 0.5
# The same of a step of recall in seconds, where half of its time is more.
TELLING = 1.0


def consulting(reader: object) -> Step:
    """The step of consulting a palace: one with a reader has its model's time."""
    return "recall" if reader is None else "model"


class MemorySkipped(HTMError):
    """Memory was not asked in this turn: it did not answer a moment ago, or the turn has no time
    left.
    """


class Breaker:
    """Leaves something out for a while after it failed by time or connection. Safe for threads.

    Args:
        what: What it guards, as a subject for its messages.
        pause: Seconds for which it is left out. After them one caller is let through, and the
            others wait for its outcome.
        clock: Gives the present time in seconds.
    """

    def __init__(self, what: str, *, pause: float = PAUSE, clock: Clock = time.monotonic) -> None:
        self._what, self._pause, self._clock = what, pause, clock
        self._until: float | None = None
        self.answers = 0  # so often it worked
        self._reason = ""
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child."""
        self._lock = threading.Lock()

    def check(self) -> None:
        """Let the caller through, or raise `MemorySkipped` during the pause."""
        with self._lock:
            if self._until is None:
                return
            left = self._until - self._clock()
            if left > 0:
                raise MemorySkipped(
                    f"expected {self._what} to answer, but it failed a moment ago "
                    f"({self._reason}); it is left out for "
                    f"{left:.0f} s more"
                )
            self._until = self._clock() + self._pause  # this caller finds out for all

    def failed(self, error: Exception, *, answers: int | None = None) -> None:
        """Begin a pause, and log the first one; none where others had theirs since it had given so
        many `answers`.
        """
        with self._lock:
            if answers is not None and self.answers > answers:
                return
            is_first = self._until is None
            self._reason = str(error) or type(error).__name__
            self._until = self._clock() + self._pause
        if is_first:
            _log.warning(
                "%s does not answer (%s); turns go on without it for %g s at a time, and what is "
                "said is kept afterwards",
                self._what,
                self._reason,
                self._pause,
            )

    def worked(self) -> None:
        """End the pause."""
        with self._lock:
            self.answers += 1
            was_open, self._until = self._until is not None, None
        if was_open:
            _log.warning("%s answers again", self._what)


_breakers: dict[tuple[object, Step], Breaker] = {}


def breaker_of(memory: Memory, step: Step) -> Breaker:
    """The breaker of a memory's database for a kind of step; one for each in a process."""
    what = {"log": "the database", "recall": "recall", "model": "the palace with its reader"}[step]
    return _breakers.setdefault((memory._engine.database.place, step), Breaker(what))


def forget_failures() -> None:
    """Close all breakers of this process, as after a repair."""
    _breakers.clear()


class Deadline:
    """The time that memory has in one turn, over all of its steps. Safe for threads.

    A step of the log that has its answer costs nothing. Steps that have none share `timeout`, and
    so do all recalls.

    Args:
        memory: The memory. All memories of one database share its breakers.
        timeout: Seconds to wait for answers that do not come; None waits as long as it takes.
        clock: Gives the present time in seconds.
        spent: Seconds that steps of this turn took before it was known to be one; 0 by default.

    A step that fails raises what its work raised, `TimeoutError` when it was past its time, or
    `MemorySkipped` when it was not begun. Work that is past its time goes on in its own thread
    until it ends, at the latest by `Settings.verb_timeout`, so it must be work that may be done
    again. The time in which a private PostgreSQL starts does not count.

        deadline = Deadline(memory)
        hits = deadline.run(lambda: memory.recall(question), step="recall")
    """

    def __init__(
        self,
        memory: Memory,
        *,
        timeout: float | None = TIMEOUT,
        clock: Clock = time.monotonic,
        spent: float = 0.0,
    ) -> None:
        self._memory, self._timeout, self._clock = memory, timeout, clock
        self._spent, self._waited = spent, 0.0

    def renew(self) -> None:
        """Give the turn its time again, for a last try to write what is held back."""
        self._spent = self._waited = 0.0

    @property
    def _client(self) -> Hashable:
        """With whose steps a late one is counted: those of the same tenant."""
        engine = self._memory._engine
        return ("turn", engine.database.place, engine.tenant)

    @property
    def spent(self) -> float:
        """Seconds of the turn's time that are used up: by recalls, and by waiting for answers that
        did not come.
        """
        return self._spent

    @property
    def left(self) -> float | None:
        """Seconds that are left of the turn's time; None when there is no limit."""
        return None if self._timeout is None else max(0.0, self._timeout - self._spent)

    def run(self, work: Callable[[], T], *, step: Step = "log", at_most: float | None = None) -> T:
        """Do a step's work in the time that is left, and in `at_most` seconds."""
        seconds = self._admitted(step, at_most)
        with self._watched(step, seconds):
            return within(seconds, work, client=self._client)

    async def arun(
        self, work: Callable[[], T], *, step: Step = "log", at_most: float | None = None
    ) -> T:
        """`run`, awaited; the work is done in a thread."""
        seconds = self._admitted(step, at_most)
        with self._watched(step, seconds):
            return await awithin(seconds, work, client=self._client)

    def _admitted(self, step: Step, at_most: float | None) -> float | None:
        """The seconds for a step; raises `MemorySkipped` when it has none."""
        breaker_of(self._memory, "log").check()
        if step != "log":
            breaker_of(self._memory, step).check()
        if self._timeout is None or step == "model" or self._is_starting():
            return at_most
        left = self._timeout - (
            self._spent + LOG_SHARE * self._timeout if step == "recall" else self._waited
        )
        if left <= 0:
            raise MemorySkipped(
                f"expected memory to answer within {self._timeout:g} s in a turn, and they are "
                "used up; look at the "
                "database and the embedding model, or raise timeout="
            )
        return left if at_most is None else min(left, at_most)

    @contextlib.contextmanager
    def _watched(self, step: Step, seconds: float | None) -> Iterator[None]:
        """Count the time of a step, and tell the breakers how it ended."""
        is_starting, began = self._is_starting(), self._clock()
        answers = breaker_of(self._memory, step).answers
        is_unanswered = False
        try:
            yield
        except Exception as error:
            is_unanswered = isinstance(error, TimeoutError | QueryTimeout | DatabaseUnavailable)
            self._failed(step, error, seconds, answers=answers)
            raise
        else:
            self._worked(step)
        finally:
            took = self._clock() - began
            if took > FREE and not is_starting:
                self._spent += took if step == "recall" or is_unanswered else 0.0
                self._waited += took if is_unanswered else 0.0

    def _failed(self, step: Step, error: Exception, seconds: float | None, *, answers: int) -> None:
        if isinstance(error, DatabaseUnavailable):
            breaker_of(self._memory, "log").failed(error)
        elif isinstance(error, QueryTimeout) or (
            isinstance(error, TimeoutError) and self._is_fair(step, seconds)
        ):
            breaker_of(self._memory, step).failed(error, answers=answers)
        elif not isinstance(error, TimeoutError):  # another failure is an answer
            self._worked(step)

    def _is_fair(self, step: Step, seconds: float | None) -> bool:
        """True if a step had enough time for its silence to say something about the database."""
        if seconds is None or self._timeout is None:
            return True
        fair = FAIR_SHARE * self._timeout
        return seconds >= (min(TELLING, fair) if step == "recall" else fair)

    def _worked(self, step: Step) -> None:
        breaker_of(self._memory, "log").worked()
        breaker_of(self._memory, step).worked()

    def _is_starting(self) -> bool:
        """True if the first use will start a private server, which takes its time once and says
        nothing of its health.
        """
        database = self._memory._engine.database
        return database.is_embedded and not database.opened
