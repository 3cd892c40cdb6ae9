"""Telemetry is off by default; on, it has a span for each verb and job and counts events, and never says what was said."""

from __future__ import annotations

import asyncio
import builtins
import inspect
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from htm_core import Changes, Collection, CollectionItem, Memory, NotFound, Settings
from htm_core.base import telemetry
from htm_core.base.errors import ModelError
from htm_core.engine.groups.group import Group
from htm_core.engine.log import Log
from htm_core.forgetting.backup import Backup
from htm_core.jobs.jobs import Jobs
from htm_core.palace import Palace
from htm_core.tags.tags import Tags
from tests.conftest import Make
from tests.stand_ins import HashEmbedder


def counted(figures: InMemoryMetricReader, metric: str) -> dict[str, Any]:
    data = figures.get_metrics_data()
    found = [
        m
        for r in data.resource_metrics
        for s in r.scope_metrics
        for m in s.metrics
        if m.name == metric
    ]
    return {p.attributes["htm.name"]: p for m in found for p in m.data.data_points}


def test_verbs_and_jobs_have_spans_and_events_are_counted(make: Make, told: Any) -> None:
    spans, figures = told
    with make(settings=Settings(worker="off", telemetry=True)) as memory:
        memory.remember_many([{"content": "The secret is marzipan."}, {"content": "Another."}])
        memory.flush()
        memory.recall("marzipan")
    names = [span.attributes["htm.name"] for span in spans.get_finished_spans()]
    assert [name for name in names if name != "htm.job"] == [
        "htm.remember_many",
        "htm.flush",
        "htm.recall",
        "htm.close",
    ]
    assert "htm.job" in names
    assert counted(figures, "htm.events")["remember"].value == 1
    assert counted(figures, "htm.duration")["htm.recall"].count == 1
    assert "marzipan" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_every_verb_has_a_span_with_numbers_and_names_and_without_content(
    make: Make, told: Any
) -> None:
    spans, _ = told
    settings = Settings(worker="off", telemetry=True)
    with make(settings=settings, session="s") as memory:
        memory.remember(
            "The secret is marzipan.",
            key="marzipan",
            tags=["marzipan"],
            name="marzipan",
            importance=7,
        )
        memory.log("marzipan").append([{"content": "marzipan", "role": "user"}])
        memory.recall("marzipan", mode="text", limit=3, robot="marzipan")
        memory.context(order="recent", budget=100)
        memory.revise("marzipan", "marzipan!", forget=True)
        memory.tags.add(memory.get("marzipan").id, ["marzipan:white"])
        memory.collection("marzipan").put([CollectionItem(id="marzipan", content="marzipan")])
        Palace(memory).note("marzipan", ttl=60.0)
        with pytest.raises(NotFound):
            memory.forget("no marzipan")
    finished = {
        span.attributes["htm.name"]: dict(span.attributes or {})
        for span in spans.get_finished_spans()
    }
    assert [name for name in finished if name != "htm.job"] == [
        "htm.remember", "htm.log.append", "htm.recall", "htm.context", "htm.revise", "htm.get", "htm.tags.add",
        "htm.collection.put", "htm.palace.note", "htm.forget", "htm.close",
    ]  # fmt: skip
    ours = {
        name: value for name, value in finished["htm.recall"].items() if name.startswith("htm.")
    }
    assert ours == {
        "htm.name": "htm.recall", "htm.mode": "text", "htm.limit": 3, "htm.count": 0, "htm.outcome": "ok",
        "htm.degraded": False, "htm.fallback": False,
    }  # fmt: skip
    assert finished["htm.remember"]["htm.importance"] == 7
    assert finished["htm.log.append"]["htm.count"] == 1
    assert finished["htm.forget"]["htm.outcome"] == "NotFound"
    assert "marzipan" not in "".join(span.to_json() for span in spans.get_finished_spans())


@pytest.mark.parametrize(
    "kind", [Memory, Log, Tags, Jobs, Changes, Collection, Backup, Group, Palace]
)
def test_no_verb_of_a_class_is_without_a_span(kind: type) -> None:
    no_work = {"of", "log", "collection", "checked_room", "scratchpad"}
    methods = {
        name
        for name, verb in vars(kind).items()
        if inspect.isfunction(verb) and not name.startswith("_")
    }
    assert {name for name in methods if not hasattr(getattr(kind, name), "__wrapped__")} <= no_work
    assert methods - no_work


def test_an_awaited_verb_has_the_same_span(make: Make, told: Any) -> None:
    spans, _ = told
    with make(settings=Settings(worker="off", telemetry=True)) as memory:
        asyncio.run(memory.aio.recall("marzipan", mode="text"))
    assert "htm.recall" in [span.attributes["htm.name"] for span in spans.get_finished_spans()]


def test_a_failure_is_told_by_its_kind_and_not_by_its_words(
    make: Make, embedder: HashEmbedder, told: Any
) -> None:
    spans, _ = told
    with make(settings=Settings(worker="off", telemetry=True)) as memory:
        memory.remember("The secret is marzipan.")
        embedder.down = True
        memory.flush(timeout=1)
        with pytest.raises(ModelError):
            memory.recall("marzipan", mode="vector")
    jobs = [span for span in spans.get_finished_spans() if span.name == "htm.job"]
    assert "ModelError" in {span.attributes["htm.outcome"] for span in jobs if span.attributes}
    assert "marzipan" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_it_is_off_by_default(make: Make, told: Any) -> None:
    spans, figures = told
    with make() as memory:
        memory.remember("Quiet.")
    assert spans.get_finished_spans() == ()
    assert figures.get_metrics_data() is None or counted(figures, "htm.events") == {}


def test_a_missing_extra_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def gone(name: str, *args: Any, **named: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *args, **named)

    telemetry._opened.cache_clear()
    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(ImportError, match=r"htm-memory\[otel\]"):
        make(settings=Settings(worker="off", telemetry=True))
