"""How often a model is asked: not while it is away (the breaker), and not more than it may be (the rate)."""

from __future__ import annotations

from ..store.model_status import Pace

FAILURES = 3  # in a row, after which a model is not asked for a while
FIRST_PAUSE = 1.0  # seconds
LONGEST_PAUSE = 300.0
PROBE_LOOK = 1.0  # seconds after which others look again what came of a probe

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half-open"


def state(pace: Pace) -> str:
    """ "closed": everything goes through; "open", after three failures in a row: nothing; "half-open": a probe at a time."""
    if pace.failures < FAILURES:
        return CLOSED
    return OPEN if pace.opens_in > 0 else HALF_OPEN


def wait(pace: Pace) -> float:
    """Seconds until it is worth looking again whether the model may be asked; 0 when it may."""
    if pace.failures < FAILURES:
        return 0.0
    return pace.opens_in if pace.opens_in > 0 else min(PROBE_LOOK, max(0.0, pace.probed_for))


def pause(failures: int, dice: float) -> float:
    """For how many seconds a model is left alone after so many failures in a row; `dice` is from 0 to 1.

    It doubles with each failure, up to five minutes, and is a little different each time.
    """
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 30)) * (0.5 + dice)


class Rate:
    """At most so many calls a minute, evenly: a second's worth may come at once, and always one.

    What was called is kept as one number: by how many seconds the calls made are `ahead` of the time that they are worth.
    """

    def __init__(self, per_minute: float) -> None:
        self._a_second = per_minute / 60.0
        self._most = max(1.0, self._a_second)

    def room(self, ahead: float) -> int:
        """How many calls may be made now."""
        return int(self._left(ahead))

    def wait(self, ahead: float) -> float:
        """Seconds until the next call may be made."""
        return max(0.0, (1.0 - self._left(ahead)) / self._a_second)

    def after(self, ahead: float, calls: int) -> float:
        """By how much they are ahead when so many calls more are made."""
        return max(0.0, ahead) + calls / self._a_second

    def _left(self, ahead: float) -> float:
        return self._most - max(0.0, ahead) * self._a_second
