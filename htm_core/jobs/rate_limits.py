"""How many jobs of each model may be claimed now: by its breaker, and by its rate. All workers of a database share both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from ..store import model_status
from ..store.database import Connection
from ..store.model_status import Pace
from . import breaker
from .breaker import HALF_OPEN, Rate


class Pacing:
    """The breakers and rates of models, by name, as one worker keeps to them; "" is no model, which is never away.

    `rates` are pairs of the beginning of a model's name and the calls a minute that it may get; the longest that fits
    counts. `dice` is from 0 to 1.
    """

    def __init__(self, *, rates: Sequence[tuple[str, float]], dice: Callable[[], float]) -> None:
        self._rates = rates
        self._dice = dice
        self._doubtful: set[str] = set()  # models that had failed when they were last looked at
        self._me = uuid4()

    def states(self, connection: Connection, models: Sequence[str]) -> dict[str, str]:
        """Each model's breaker: "closed", "open" or "half-open"."""
        known = model_status.look(connection, models)
        return {model: breaker.state(known.get(model, Pace())) for model in models}

    def waits(self, connection: Connection, models: Sequence[str]) -> dict[str, float]:
        """Seconds until each model may be asked."""
        known = model_status.look(connection, models)
        return {model: self._wait(model, known.get(model, Pace())) for model in models}

    def admit(self, connection: Connection, model: str, wanted: int, *, each: bool, lease: float) -> int:
        """How many jobs may be claimed in this transaction; `each` of them is a call, or all of them together are one.

        A probe is one job, and nobody else's for as long as its lease.
        """
        if not model:
            return wanted
        rate = self._rate(model)
        pace = model_status.look(connection, [model]).get(model, Pace())
        (self._doubtful.add if pace.failures else self._doubtful.discard)(model)
        if rate is not None or breaker.state(pace) == HALF_OPEN:
            pace = model_status.hold(connection, model)
        if self._wait(model, pace):
            return 0
        if breaker.state(pace) == HALF_OPEN:
            model_status.probe(connection, model, prober=self._me, seconds=lease)
            return 1
        return min(wanted, rate.room(pace.ahead)) if rate is not None and each else wanted

    def taken(self, connection: Connection, model: str, jobs: int, *, each: bool) -> None:
        """Note, in the transaction that admitted them, how many jobs there were after all."""
        rate = self._rate(model)
        if model and not jobs:
            self.withdraw(connection, model)
        elif rate is not None:
            pace = model_status.hold(connection, model)
            model_status.spend(connection, model, ahead=rate.after(pace.ahead, jobs if each else 1))

    def withdraw(self, connection: Connection, model: str) -> None:
        """A probe came to nothing: there was no work for it, or it was not begun."""
        if model in self._doubtful:
            model_status.withdraw(connection, model, prober=self._me)

    def doubts(self, model: str) -> bool:
        """Whether the model had failed when it was last looked at, so that its answer is news."""
        return model in self._doubtful

    def answered(self, connection: Connection, model: str) -> bool:
        """The model answered; whether it had not before."""
        self._doubtful.discard(model)
        return model_status.answered(connection, model)

    def failed(self, connection: Connection, model: str, *, lasted: float) -> float:
        """The model did not answer a call of so many seconds; the seconds for which it is best left alone."""
        self._doubtful.add(model)
        failures = model_status.failed(connection, model, lasted=lasted)
        pause = breaker.pause(failures, self._dice())
        if failures >= breaker.FAILURES:
            model_status.open(connection, model, seconds=pause)
        return pause

    def renew(self) -> None:
        """After a fork: what the parent tries is the parent's."""
        self._me = uuid4()

    def _wait(self, model: str, pace: Pace) -> float:
        rate = self._rate(model)
        return max(breaker.wait(pace), 0.0 if rate is None else rate.wait(pace.ahead))

    def _rate(self, model: str) -> Rate | None:
        fitting = [pair for pair in self._rates if model and model.startswith(pair[0])]
        return Rate(max(fitting, key=lambda pair: len(pair[0]))[1]) if fitting else None
