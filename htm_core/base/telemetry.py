"""OpenTelemetry, off by default: a span and a duration for each verb and job, counts of events, and
pending jobs.

Content is never in it, unless somebody opts in. Whatever fails in here is logged, and no verb fails
by it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from .settings import Settings
from .version import VERSION

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, Meter, Observation

Figure = float | int | str | bool
SCOPE = "htm_core"
PROVIDER = "htm"
# Whether instrumentations of generative AI may record content, and the answers that mean: on spans.
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ON_SPANS = frozenset(("true", "1", "span_only", "span_and_event"))
# The default bounds of a histogram are made for milliseconds.
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
HITS = (0, 1, 2, 3, 5, 10, 20, 50, 100)
FRESH = 1.0  # seconds for which one reading of the pending jobs serves all gauges

_log = logging.getLogger("htm.telemetry")


@dataclass(frozen=True, slots=True)
class PendingJobs:
    """The jobs of one lane: how many are pending or given up, and for how many seconds the oldest
    pending one has waited.

    `model` is "" for work that needs none. `bulk` are imports, long texts and the like, for which
    nobody waits. `more` says that more are pending than were counted.
    """

    kind: str
    model: str
    bulk: bool
    pending: int
    parked: int
    oldest: float | None
    more: bool = False


class RunningSpan(Protocol):
    """A span that is under way. `is_recording` says whether anybody will see its attributes."""

    is_recording: bool

    def set(self, attributes: Mapping[str, Figure]) -> None:
        """Add attributes, by their whole names."""


class Telemetry(Protocol):
    """Where spans, counts and gauges are sent."""

    def span(
        self,
        name: str,
        /,
        *,
        operation: str | None = None,
        figures: Mapping[str, Figure] | None = None,
    ) -> AbstractContextManager[RunningSpan]:
        """Time a block as `name`. An exception in it is recorded by its class, and raised on.

        A block that is one of the conventions' memory operations is called by the `operation`, and
        `name` is an attribute.
        """

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:
        """Count an event, and add up its whole numbers."""

    def watch(self, database: int, read: Callable[[], Sequence[PendingJobs]]) -> None:
        """Have the pending jobs of a database read, by `read`, whenever metrics are collected. Once
        for each `database`.
        """


class _Unseen:
    is_recording = False

    def set(self, attributes: Mapping[str, Figure]) -> None:  # noqa: ARG002 - nobody sees it
        return None


UNSEEN: RunningSpan = _Unseen()


class _Silence:
    """Telemetry that is off."""

    def span(
        self,
        name: str,  # noqa: ARG002 - it says nothing
        /,
        *,
        operation: str | None = None,  # noqa: ARG002 - it says nothing
        figures: Mapping[str, Figure] | None = None,  # noqa: ARG002 - it says nothing
    ) -> AbstractContextManager[RunningSpan]:
        return nullcontext(UNSEEN)

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:  # noqa: ARG002 - it says nothing
        """Say nothing."""
        return

    def watch(self, database: int, read: Callable[[], Sequence[PendingJobs]]) -> None:  # noqa: ARG002 - it says nothing
        """Read nothing."""
        return


SILENCE: Telemetry = _Silence()


class _Running:
    """A span of OpenTelemetry; an attribute that it does not take is left out."""

    def __init__(self, span: trace.Span, token: Token[Context]) -> None:
        self.span = span
        self.token = token
        self.is_recording = span.is_recording()

    def set(self, attributes: Mapping[str, Figure]) -> None:
        """Add attributes."""
        try:
            self.span.set_attributes(attributes)
        except Exception:
            _log.debug("attributes of a span were not recorded", exc_info=True)


class _OpenTelemetry:
    """Telemetry through whatever providers the application has set up."""

    def __init__(self, tracer: trace.Tracer, meter: Meter) -> None:
        from opentelemetry import context, metrics, trace

        self._context, self._trace, self._observation = context, trace, metrics.Observation
        self._tracer = tracer
        self._durations = meter.create_histogram(
            "htm.duration",
            unit="s",
            description="How long a verb or a job took",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._hits = meter.create_histogram(
            "htm.recall.hits",
            unit="{hit}",
            description="How many hits a recall had, and whether an arm was missing",
            explicit_bucket_boundaries_advisory=HITS,
        )
        self._events = meter.create_counter("htm.events", description="Events by name")
        self._figures = meter.create_counter(
            "htm.figures", description="The whole numbers that events tell, added up"
        )
        self._watched: dict[int, Callable[[], Sequence[PendingJobs]]] = {}
        self._read: tuple[float, list[PendingJobs]] = (-FRESH, [])
        self._lanes: set[_Lane] = (
            set()
        )  # that ever had jobs: one without any is 0, and not missing, to whoever scales by it
        meter.create_observable_gauge(
            "htm.jobs",
            callbacks=[self._jobs],
            unit="{job}",
            description="Jobs that are pending, or were given up",
        )
        meter.create_observable_gauge(
            "htm.jobs.oldest",
            callbacks=[self._oldest],
            unit="s",
            description="How long the oldest pending job has waited",
        )

    @contextmanager
    def span(
        self,
        name: str,
        /,
        *,
        operation: str | None = None,
        figures: Mapping[str, Figure] | None = None,
    ) -> Iterator[RunningSpan]:
        """Open a span, and record how long it took."""
        attributes = _named(name, operation)
        running = self._begin(
            operation or name, attributes | dict(figures or {}), is_client=operation is not None
        )
        began, failure = time.perf_counter(), None
        try:
            yield UNSEEN if running is None else running
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            self._end(running, attributes, seconds=time.perf_counter() - began, failure=failure)

    def count(self, name: str, figures: Mapping[str, Figure | None]) -> None:
        """Count an event in the counters, and a recall's hits in their histogram."""
        try:
            self._events.add(1, {"htm.name": name})
            for figure, value in figures.items():
                if isinstance(value, int) and value >= 0:
                    self._figures.add(value, {"htm.name": name, "htm.figure": figure})
            if name == "recall":
                self._hits.record(
                    float(figures["hits"] or 0), {"htm.degraded": bool(figures["degraded"])}
                )
        except Exception:
            _log.debug("the event %s was not counted", name, exc_info=True)

    def watch(self, database: int, read: Callable[[], Sequence[PendingJobs]]) -> None:
        """Read a database's pending jobs too, when metrics are collected."""
        self._watched.setdefault(database, read)

    def _begin(
        self, name: str, attributes: Mapping[str, Figure], *, is_client: bool
    ) -> _Running | None:
        trace, context = self._trace, self._context
        try:
            kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
            span = self._tracer.start_span(name, kind=kind, attributes=attributes)
            return _Running(span, context.attach(trace.set_span_in_context(span)))
        except Exception:
            _log.debug("the span %s was not begun", name, exc_info=True)
            return None

    def _end(
        self,
        running: _Running | None,
        attributes: dict[str, Figure],
        *,
        seconds: float,
        failure: str | None,
    ) -> None:
        outcome: dict[str, Figure] = {"htm.outcome": failure or "ok"}
        if failure is not None:
            outcome["error.type"] = failure
        try:
            if running is not None:
                self._close(running, outcome, failure)
        except Exception:
            _log.debug("a span was not ended", exc_info=True)
        try:
            self._durations.record(seconds, attributes | outcome)
        except Exception:
            _log.debug("a duration was not recorded", exc_info=True)

    def _close(self, running: _Running, outcome: Mapping[str, Figure], failure: str | None) -> None:
        self._context.detach(running.token)
        if running.is_recording:
            running.set(outcome)
            # The message of an exception may quote content, so only its class is told.
            if failure is not None:
                running.span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, failure))
            running.span.end()

    def _pending(self) -> list[PendingJobs]:
        """The pending jobs of all databases; what cannot be read is left out."""
        if time.monotonic() - self._read[0] >= FRESH:
            jobs: list[PendingJobs] = []
            for read in list(self._watched.values()):
                try:
                    jobs += read()
                except Exception:
                    _log.debug("the pending jobs were not read", exc_info=True)
            self._read = (time.monotonic(), jobs)
        return self._read[1]

    def _jobs(self, _: CallbackOptions) -> Iterable[Observation]:
        totals: dict[tuple[_Lane, str], int] = {}
        for backlog in self._pending():
            for state, number in (("pending", backlog.pending), ("parked", backlog.parked)):
                totals[_lane(backlog), state] = totals.get((_lane(backlog), state), 0) + number
        self._lanes.update(lane for lane, _ in totals)
        return [
            self._observation(
                totals.get((lane, state), 0), _attributes(lane) | {"htm.state": state}
            )
            for lane in sorted(self._lanes)
            for state in ("pending", "parked")
        ]

    def _oldest(self, _: CallbackOptions) -> Iterable[Observation]:
        ages: dict[_Lane, float] = {}
        for backlog in self._pending():
            ages[_lane(backlog)] = max(backlog.oldest or 0.0, ages.get(_lane(backlog), 0.0))
        self._lanes.update(ages)
        return [
            self._observation(ages.get(lane, 0.0), _attributes(lane))
            for lane in sorted(self._lanes)
        ]


_Lane = tuple[str, str, bool]


def _lane(jobs: PendingJobs) -> _Lane:
    return jobs.kind, jobs.model, jobs.bulk


def _attributes(lane: _Lane) -> dict[str, Figure]:
    kind, model, bulk = lane
    return {"htm.kind": kind, "htm.model": model, "htm.bulk": bulk}


def _named(name: str, operation: str | None) -> dict[str, Figure]:
    named: dict[str, Figure] = {"htm.name": name}
    if operation is not None:
        named |= {"gen_ai.operation.name": operation, "gen_ai.provider.name": PROVIDER}
    return named


def captures_content(settings: Settings) -> bool:
    """True if what is asked and found may stand on spans: `Settings.telemetry_content`, else the
    variable of the conventions.
    """
    if settings.telemetry_content is not None:
        return settings.telemetry_content
    return os.environ.get(CAPTURE, "").strip().lower() in ON_SPANS


def store_id(*names: str) -> str:
    """The id of a store on spans, from its tenant and its user ("" for what is shared), or its
    tenant and its collection's name.

    It is a digest, since the name of a user is often an address. Whoever knows the names can make
    it again.
    """
    text = b"".join(len(name.encode()).to_bytes(4, "big") + name.encode() for name in names)
    return f"htm:{hashlib.sha256(text).hexdigest()[:16]}"


def telemetry(*, on: bool) -> Telemetry:
    """The telemetry for `Settings.telemetry`; raises `ImportError` when it is on and the extra is
    not installed.
    """
    return _opened() if on else SILENCE


@cache
def _opened() -> Telemetry:
    try:
        from opentelemetry import metrics, trace
    except ImportError as error:
        raise ImportError(
            "Settings(telemetry=True) needs OpenTelemetry: pip install 'htm-memory[otel]'"
        ) from error
    return _OpenTelemetry(trace.get_tracer(SCOPE, VERSION), metrics.get_meter(SCOPE, VERSION))
