"""Providers of a test's own, that keep in memory what they are told."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from htm_core import Memory, Settings
from htm_core.base import telemetry
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

ON = {"worker": "off", "telemetry": True}


@dataclass(frozen=True)
class Told:
    """What was told: finished spans, and metrics as they are now."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    tracers: TracerProvider

    @property
    def spans(self) -> list[ReadableSpan]:
        """The finished spans, but for those of jobs."""
        return [span for span in self.exporter.get_finished_spans() if span.name != "htm.job"]

    @property
    def attributes(self) -> list[dict[str, Any]]:
        return [dict(span.attributes or {}) for span in self.spans]

    @property
    def last(self) -> ReadableSpan:
        return self.spans[-1]

    @property
    def text(self) -> str:
        """Everything that spans and metrics say."""
        data = self.reader.get_metrics_data()
        return "".join(span.to_json() for span in self.exporter.get_finished_spans()) + (
            data.to_json() if data else ""
        )

    def metrics(self) -> dict[str, Metric]:
        data = self.reader.get_metrics_data()
        return (
            {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
            if data
            else {}
        )

    def points(self, metric: str) -> list[Any]:
        found = self.metrics().get(metric)
        return list(found.data.data_points) if found else []


@pytest.fixture
def embedder() -> HashEmbedder:
    """A model that no other test's worker knows, so that the spans of its jobs are this test's."""
    return HashEmbedder(name=f"told-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def telling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Providers of this test's own, in place of the process's."""
    spans, figures = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([figures])
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer", tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", meters.get_meter)
    monkeypatch.delenv(telemetry.CAPTURE, raising=False)
    telemetry._opened.cache_clear()
    yield Told(spans, figures, tracers)
    telemetry._opened.cache_clear()
    tracers.shutdown()
    meters.shutdown()


@pytest.fixture
def told(telling: Told) -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    return telling.exporter, telling.reader


@pytest.fixture
def open_memory(make: Make, telling: Told) -> Callable[..., Memory]:
    """Make a memory whose telemetry is on; options of `Settings` that begin with telemetry are taken too."""

    def opened(**options: Any) -> Memory:
        given = {name: options.pop(name) for name in list(options) if name.startswith("telemetry")}
        return make(settings=Settings(**ON | given), **options)

    return opened
