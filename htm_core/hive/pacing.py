"""How many jobs of each model may be claimed now: by its breaker, and by its rate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from .breaker import CLOSED, Breaker, Rate


class Pacing:
    """The breakers and rates of a process's models, by name; "" is no model, which is never away.

    `rates` are pairs of the beginning of a model's name and the calls a minute that it may get; the longest that fits
    counts.
    """

    def __init__(
        self, *, rates: Sequence[tuple[str, float]], now: Callable[[], float], dice: Callable[[], float]
    ) -> None:
        self._given = rates
        self._now = now
        self._dice = dice
        self._lock = threading.Lock()
        self._breakers: dict[str, Breaker] = {}
        self._rates: dict[str, Rate | None] = {}

    def state(self, model: str) -> str:
        """ "closed", "open" or "half-open"."""
        return self._breaker(model).state if model else CLOSED

    def wait(self, model: str) -> float:
        """Seconds until the model may be asked."""
        rate = self._rate(model)
        return max(self._breaker(model).wait if model else 0.0, 0.0 if rate is None else rate.wait)

    def admit(self, model: str, wanted: int, *, each: bool) -> int:
        """How many jobs may be claimed; `each` of them is a call, or all of them together are one."""
        rate = self._rate(model)
        if rate is not None and rate.room < 1:
            return 0
        most = wanted if rate is None or not each else min(wanted, rate.room)
        return self._breaker(model).admit(most) if model else most

    def taken(self, model: str, jobs: int, *, each: bool) -> None:
        """Note how many jobs there were after all."""
        rate = self._rate(model)
        if rate is not None and jobs:
            rate.take(jobs if each else 1)
        if model and not jobs:
            self.withdraw(model)

    def withdraw(self, model: str) -> None:
        """A probe came to nothing."""
        if model:
            self._breaker(model).withdraw()

    def succeeded(self, model: str) -> bool:
        """The model answered; whether it had not before."""
        return self._breaker(model).succeeded()

    def failed(self, model: str) -> float:
        """The model did not answer; the seconds for which it is best left alone."""
        return self._breaker(model).failed()

    def hurry(self) -> None:
        """Let every model be tried now: somebody is waiting."""
        for breaker in list(self._breakers.values()):
            breaker.hurry()

    def renew_locks(self) -> None:
        """After a fork: other threads of the parent may have held them."""
        self._lock = threading.Lock()
        for breaker in self._breakers.values():
            breaker.renew_lock()

    def _breaker(self, model: str) -> Breaker:
        with self._lock:
            if model not in self._breakers:
                self._breakers[model] = Breaker(now=self._now, dice=self._dice)
            return self._breakers[model]

    def _rate(self, model: str) -> Rate | None:
        with self._lock:
            if model not in self._rates:
                fitting = [pair for pair in self._given if model and model.startswith(pair[0])]
                most = max(fitting, key=lambda pair: len(pair[0]))[1] if fitting else None
                self._rates[model] = None if most is None else Rate(most, now=self._now)
            return self._rates[model]
