"""How often a model is asked: not while it is away (the breaker), and not more than it may be (the rate)."""

from __future__ import annotations

import threading
from collections.abc import Callable

FAILURES = 3  # in a row, after which a model is not asked for a while
FIRST_PAUSE = 1.0  # seconds
LONGEST_PAUSE = 300.0

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half-open"


class Breaker:
    """Keeps a model that is away from being asked over and over; `now` is a clock in seconds, `dice` is from 0 to 1.

    Closed, it lets everything through. After three failures in a row it is open: nothing goes through for a while, which
    doubles with each failure, up to five minutes, and is a little different each time. Then it is half-open: one probe
    goes through at a time, and whether that succeeds closes it or opens it again.
    """

    def __init__(self, *, now: Callable[[], float], dice: Callable[[], float]) -> None:
        self._now = now
        self._dice = dice
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> str:
        """ "closed", "open" or "half-open"."""
        if self._failures < FAILURES:
            return CLOSED
        return OPEN if self._now() < self._until else HALF_OPEN

    @property
    def wait(self) -> float:
        """Seconds until something may go through; 0 when it may, or when a probe is under way."""
        return max(0.0, self._until - self._now()) if self._failures >= FAILURES else 0.0

    def admit(self, wanted: int) -> int:
        """How many of the wanted may go through: all, one as a probe, or none. A probe ends by what came of it."""
        with self._lock:
            state = self.state
            if state == CLOSED:
                return wanted
            if state == OPEN or self._probing or not wanted:
                return 0
            self._probing = True
            return 1

    def withdraw(self) -> None:
        """End a probe that came to nothing: there was no work for it, or it never reached the model."""
        with self._lock:
            self._probing = False

    def succeeded(self) -> bool:
        """Note that the model answered; whether it had not before."""
        with self._lock:
            failed, self._failures, self._probing = self._failures > 0, 0, False
            return failed

    def failed(self) -> float:
        """Note that the model did not answer, and say for how many seconds it should be left alone."""
        with self._lock:
            self._failures += 1
            self._probing = False
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 30)) * (0.5 + self._dice())
            self._until = self._now() + pause
            return pause

    def hurry(self) -> None:
        """Let a probe through now: somebody is waiting."""
        with self._lock:
            self._until = 0.0

    def renew_lock(self) -> None:
        """After a fork: another thread of the parent may have held it, and probes are the parent's."""
        self._lock, self._probing = threading.Lock(), False


class Rate:
    """At most so many calls a minute, evenly: a second's worth may come at once, and always one."""

    def __init__(self, per_minute: float, *, now: Callable[[], float]) -> None:
        self._now = now
        self._a_second = per_minute / 60.0
        self._most = max(1.0, self._a_second)
        self._left = self._most
        self._at = now()

    @property
    def room(self) -> int:
        """How many calls may be made now."""
        self._refill()
        return int(self._left)

    @property
    def wait(self) -> float:
        """Seconds until the next call may be made."""
        self._refill()
        return max(0.0, (1.0 - self._left) / self._a_second)

    def take(self, calls: int) -> None:
        """Note calls that are being made."""
        self._refill()
        self._left -= calls

    def _refill(self) -> None:
        now = self._now()
        self._left = min(self._most, self._left + (now - self._at) * self._a_second)
        self._at = now
