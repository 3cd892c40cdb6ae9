"""No verb fails, and none loses anything, because telemetry does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from htm_core import InvalidInput, Memory
from htm_core.base import telemetry
from htm_core.db import verbs
from tests.telemetry.conftest import Told

Open = Callable[..., Memory]


class Broken(SpanProcessor):
    """Fails at the begin of each span, or at its end."""

    def __init__(self, at: str) -> None:
        self.at = at

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.at == "start":
            raise RuntimeError("begin")

    def on_end(self, span: Any) -> None:
        if self.at == "end":
            raise RuntimeError("end")


class Refusing:
    """An instrument, a tracer or a meter that fails whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Meter:
    """Makes instruments that fail."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: Refusing()


def use(memory: Memory) -> None:
    node = memory.remember("Ann likes tea.")
    assert memory.recall("tea", mode="text")[0].node.id == node.id
    with pytest.raises(InvalidInput):
        memory.recall("tea", limit=0)
    memory.collection("shelf").put([{"id": "1", "content": "A book."}])
    assert memory.collection("shelf").count() == 1


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_processor_of_spans_that_fails(open_memory: Open, telling: Told, at: str) -> None:
    telling.tracers.add_span_processor(Broken(at))
    with open_memory() as memory:
        use(memory)


def test_a_tracer_and_a_meter_that_fail(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer", lambda *_: Refusing())
    monkeypatch.setattr(metrics, "get_meter", lambda *_: Meter())
    telemetry._opened.cache_clear()
    with open_memory() as memory:
        use(memory)


def test_a_description_that_fails(
    open_memory: Open, telling: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> dict[str, telemetry.Figure]:
        raise ValueError("no words")

    monkeypatch.setattr(verbs, "described_call", fail)
    monkeypatch.setattr(verbs, "described_answer", fail)
    with open_memory() as memory:
        use(memory)
    assert [span.name for span in telling.spans][:2] == ["create_memory", "search_memory"]


def test_after_a_failed_end_the_next_span_has_no_wrong_parent(
    open_memory: Open, telling: Told
) -> None:
    telling.tracers.add_span_processor(Broken("end"))
    with open_memory() as memory:
        memory.remember("One.")
        memory.remember("Two.")
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert all(span.parent is None for span in telling.spans)


def test_a_lone_surrogate_in_a_query_fails_only_as_it_would_without(
    open_memory: Open, telling: Told
) -> None:
    with open_memory(telemetry_content=True) as memory:
        memory.recall("tea \ud800", mode="text")
        with pytest.raises(InvalidInput):
            memory.forget("\ud800")
        with pytest.raises(InvalidInput):
            memory.recall(7)  # type: ignore[arg-type]
        memory.remember("Ann likes tea.")
    assert [span.name for span in telling.spans][:4] == [
        "search_memory",
        "delete_memory",
        "search_memory",
        "create_memory",
    ]


def test_a_span_that_is_sampled_out_costs_no_attributes(
    open_memory: Open, telling: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    monkeypatch.setattr(trace, "get_tracer", TracerProvider(sampler=ALWAYS_OFF).get_tracer)
    telemetry._opened.cache_clear()
    described = []
    monkeypatch.setattr(verbs, "described_call", lambda *_, **__: described.append(1) or {})
    with open_memory() as memory:
        memory.remember("One.")
    assert described == []
    assert [p.attributes["htm.name"] for p in telling.points("htm.duration")][:1] == [
        "htm.remember"
    ]
