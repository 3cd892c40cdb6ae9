"""Limits on the jobs of each model claimed now: its circuit breaker and its rate limit, shared by
all workers of a database.

The breaker stops calls to a model that is away: three failures in a row open it, and after a pause
one job at a time probes whether the model is back. The rate limit keeps the calls per minute below
a maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import uuid4

from ..db.database import Connection
from . import model_status
from .model_status import ModelStatus

FAILURES = 3  # in a row, which open the breaker
FIRST_PAUSE = 1.0  # seconds
LONGEST_PAUSE = 300.0
PROBE_WAIT = 1.0  # seconds until other workers check again whether a probe succeeded

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half-open"


def breaker_state(status: ModelStatus) -> str:
    """Give "closed" (every call may go through), "open" (none, after three failures in a row) or
    "half-open" (one probe).
    """
    if status.failures < FAILURES:
        return CLOSED
    return OPEN if status.opens_in > 0 else HALF_OPEN


def breaker_wait(status: ModelStatus) -> float:
    """Give the seconds until the model may be called, as far as its breaker is concerned; 0 when it
    may be called now.
    """
    if status.failures < FAILURES:
        return 0.0
    return status.opens_in if status.opens_in > 0 else min(PROBE_WAIT, max(0.0, status.probed_for))


def pause_after(failures: int, jitter: float) -> float:
    """Give the seconds that a model is left alone after so many failures in a row; `jitter` is from
    0 to 1.

    The pause doubles with each failure, up to five minutes, times a random factor from 0.5 to 1.5.
    """
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 30)) * (0.5 + jitter)


class RateLimit:
    """At most so many calls a minute, evenly spread: the calls of one second may come at once, and
    always one.

    The calls made so far are kept as one number, `ahead`: the seconds that the calls took from the
    budget in advance.
    """

    def __init__(self, per_minute: float) -> None:
        self._per_second = per_minute / 60.0
        self._burst = max(1.0, self._per_second)

    def room(self, ahead: float) -> int:
        """Give how many calls may be made now."""
        return int(self._left(ahead))

    def wait(self, ahead: float) -> float:
        """Give the seconds until the next call may be made."""
        return max(0.0, (1.0 - self._left(ahead)) / self._per_second)

    def after(self, ahead: float, calls: int) -> float:
        """Give the new `ahead` after so many more calls."""
        return max(0.0, ahead) + calls / self._per_second

    def _left(self, ahead: float) -> float:
        return self._burst - max(0.0, ahead) * self._per_second


class RateLimits:
    """The breakers and rate limits of models, by name, as one worker applies them; "" means no
    model, which is never away.

    `rates` are pairs: the beginning of a model's name, and the calls a minute that it may get. The
    longest beginning that fits counts. `jitter` gives a random number from 0 to 1.
    """

    def __init__(self, *, rates: Sequence[tuple[str, float]], jitter: Callable[[], float]) -> None:
        self._rates = rates
        self._jitter = jitter
        # models that had failed when this worker last read their status
        self._failing: set[str] = set()
        self._prober = uuid4()

    def breaker_states(self, connection: Connection, models: Sequence[str]) -> dict[str, str]:
        """Give each model's breaker: "closed", "open" or "half-open"."""
        known = model_status.read(connection, models)
        return {model: breaker_state(known.get(model, ModelStatus())) for model in models}

    def waits(self, connection: Connection, models: Sequence[str]) -> dict[str, float]:
        """Give the seconds until each model may be called."""
        known = model_status.read(connection, models)
        return {model: self._wait(model, known.get(model, ModelStatus())) for model in models}

    def admits_at_once(self, model: str) -> bool:
        """True if as many jobs as are wanted may be claimed where the breaker turns out to be
        closed: the calls are not counted, and the model had not failed when its status was last
        read.
        """
        return self._limit(model) is None and model not in self._failing

    def note(self, models: Sequence[str], known: Mapping[str, ModelStatus]) -> None:
        """Note which of the models had failed, by their status as it was read."""
        for model in models:
            failures = known.get(model, ModelStatus()).failures
            (self._failing.add if failures else self._failing.discard)(model)

    def admit(
        self, connection: Connection, model: str, wanted: int, *, per_job: bool, lease: float
    ) -> int:
        """Give how many of the wanted jobs may be claimed in this transaction.

        With `per_job`, every job is one call of the model; without it, all of them together are one
        call. A half-open breaker admits one job, the probe, and no other worker probes until the
        lease is over.
        """
        if not model:
            return wanted
        limit = self._limit(model)
        known = model_status.read(connection, [model])
        self.note([model], known)
        status = known.get(model, ModelStatus())
        if limit is not None or breaker_state(status) == HALF_OPEN:
            status = model_status.lock(connection, model)
        if self._wait(model, status):
            return 0
        if breaker_state(status) == HALF_OPEN:
            model_status.probe(connection, model, prober=self._prober, seconds=lease)
            return 1
        return min(wanted, limit.room(status.ahead)) if limit is not None and per_job else wanted

    def record_claims(
        self, connection: Connection, model: str, jobs: int, *, per_job: bool
    ) -> None:
        """Write down how many jobs were claimed, in the transaction that admitted them; none
        cancels the probe.
        """
        limit = self._limit(model)
        if model and not jobs:
            self.cancel_probe(connection, model)
        elif limit is not None:
            status = model_status.lock(connection, model)
            model_status.set_spent(
                connection, model, ahead=limit.after(status.ahead, jobs if per_job else 1)
            )

    def cancel_probe(self, connection: Connection, model: str) -> None:
        """End this worker's probe without a result: there was no job for it, or its job was not
        begun.
        """
        if model in self._failing:
            model_status.cancel_probe(connection, model, prober=self._prober)

    def is_limited(self, model: str) -> bool:
        """Say whether the calls of the model are counted."""
        return self._limit(model) is not None

    def is_failing(self, model: str) -> bool:
        """Say whether the model had failed when its status was last read, so that an answer of it
        must be recorded.
        """
        return model in self._failing

    def record_success(self, connection: Connection, model: str) -> bool:
        """Write down that the model answered; true when it had failed before."""
        self._failing.discard(model)
        return model_status.record_success(connection, model)

    def record_failure(self, connection: Connection, model: str, *, lasted: float) -> float:
        """Write down that a call of `lasted` seconds failed; give the seconds to leave the model
        alone.
        """
        self._failing.add(model)
        failures = model_status.record_failure(connection, model, lasted=lasted)
        pause = pause_after(failures, self._jitter())
        if failures >= FAILURES:
            model_status.leave_alone(connection, model, seconds=pause)
        return pause

    def renew(self) -> None:
        """Be another prober in a forked child: the parent's probes stay the parent's."""
        self._prober = uuid4()

    def _wait(self, model: str, status: ModelStatus) -> float:
        limit = self._limit(model)
        return max(breaker_wait(status), 0.0 if limit is None else limit.wait(status.ahead))

    def _limit(self, model: str) -> RateLimit | None:
        fitting = [pair for pair in self._rates if model and model.startswith(pair[0])]
        return RateLimit(max(fitting, key=lambda pair: len(pair[0]))[1]) if fitting else None
