"""Cost of telemetry: the median of a recall, and the wrapper of a verb alone.

python -m benchmarks.telemetry off      # or: on (without a provider), sdk (with the SDK's tracer and meter)
"""

from __future__ import annotations

import argparse
import statistics
import time

from htm_core import Memory, Settings
from htm_core.db.verbs import verbs


def set_providers() -> None:
    """The SDK's providers, that keep everything in memory."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))


def recall_seconds(memory: Memory) -> float:
    """The median of 500 recalls by words among 500 memories."""
    if not memory.list(limit=1):
        memory.remember_many(
            [{"content": f"Ann likes tea of kind {number}."} for number in range(500)]
        )
    times = []
    for number in range(600):
        began = time.perf_counter()
        memory.recall(f"tea {number % 50}", mode="text", hold=False)
        times.append(time.perf_counter() - began)
    return statistics.median(times[100:])


def wrapper_seconds(memory: Memory) -> float:
    """The best of five means of 5,000 calls of a verb that does nothing."""
    engine = memory._engine

    @verbs(
        "htm",
        settings_of=lambda _: engine.settings,
        telemetry_of=lambda _: engine.telemetry,
        store_of=lambda _: ("tenant", "user"),
    )
    class Nothing:
        def recall(self, query: str, *, limit: int = 10) -> list[str]:  # noqa: ARG002 - it does nothing
            return []

    nothing, means = Nothing(), []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(5_000):
            nothing.recall("tea", limit=5)
        means.append((time.perf_counter() - began) / 5_000)
    return min(means)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=("off", "on", "sdk"))
    way = parser.parse_args().way
    if way == "sdk":
        set_providers()
    settings = Settings(worker="off", telemetry=way != "off")
    with Memory(
        "bench", tenant="benchmark-telemetry", embedder="minilm", settings=settings
    ) as memory:
        print(
            f"{way}: recall {recall_seconds(memory) * 1e3:.2f} ms, wrapper {wrapper_seconds(memory) * 1e6:.1f} µs"
        )


if __name__ == "__main__":
    main()
