"""OpenTelemetry, off by default: a span and a duration for each verb and job, a count for each event; never any content."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Tracer

Figure = float | int | str | bool
SCOPE = "htm_core"


Tell = Callable[[str, Figure], None]


class Telemetry(Protocol):
    """Where spans and counts are sent."""

    def span(self, name: str, /, **figures: Figure) -> AbstractContextManager[Tell]:
        """Time a block as `name`. An exception in it is recorded as the outcome, and raised on.

        The block gets a function that adds a figure which is known only later.
        """

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:
        """Count an event, and add up its whole numbers."""


class _Silence:
    """Telemetry that is off."""

    def span(self, name: str, /, **figures: Figure) -> AbstractContextManager[Tell]:  # noqa: ARG002 - it says nothing
        return nullcontext(lambda _figure, _value: None)

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:  # noqa: ARG002 - it says nothing
        return None


SILENCE: Telemetry = _Silence()


class _OpenTelemetry:
    """Telemetry through whatever providers the application has set up."""

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer
        self._durations = meter.create_histogram("htm.duration", unit="s", description="How long a verb or a job took")
        self._events = meter.create_counter("htm.events", description="Events by name")
        self._figures = meter.create_counter("htm.figures", description="The whole numbers that events tell, added up")

    @contextmanager
    def span(self, name: str, /, **figures: Figure) -> Iterator[Tell]:
        began, outcome = time.perf_counter(), "ok"
        attributes = {f"htm.{figure}": value for figure, value in figures.items()}
        # The message of an exception may quote content, so only its type is recorded.
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as current:
            try:
                yield lambda figure, value: current.set_attribute(f"htm.{figure}", value)
            except BaseException as error:
                outcome = type(error).__name__
                raise
            finally:
                current.set_attribute("htm.outcome", outcome)
                taken = time.perf_counter() - began
                self._durations.record(taken, {"htm.name": name, "htm.outcome": outcome})

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:
        self._events.add(1, {"htm.name": name})
        for figure, value in figures.items():
            if isinstance(value, int) and value >= 0:
                self._figures.add(value, {"htm.name": name, "htm.figure": figure})


def telemetry(*, on: bool) -> Telemetry:
    """The telemetry for `Settings.telemetry`; raises `ImportError` when it is on and the extra is not installed."""
    return _opened() if on else SILENCE


@cache
def _opened() -> Telemetry:
    try:
        from opentelemetry import metrics, trace
    except ImportError as error:
        raise ImportError("Settings(telemetry=True) needs OpenTelemetry: pip install 'htm-memory[otel]'") from error
    return _OpenTelemetry(trace.get_tracer(SCOPE), metrics.get_meter(SCOPE))
