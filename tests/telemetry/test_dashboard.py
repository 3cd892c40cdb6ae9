"""The dashboard in docs/ shows metrics, labels and values that there are, as Prometheus is given them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from htm_core import Memory
from htm_core.base import telemetry
from htm_core.models.embedders import resolve
from tests.stand_ins import HashEmbedder
from tests.telemetry.conftest import Told

DASHBOARD = json.loads((Path(__file__).parents[2] / "docs" / "grafana-dashboard.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
QUERIES = [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]


def served(telling: Told) -> dict[str, list[dict[str, str]]]:
    """Each metric by the name that Prometheus has for it, with the labels of its points."""
    found: dict[str, list[dict[str, str]]] = {}
    for name, metric in telling.metrics().items():
        base = name.replace(".", "_") + {"s": "_seconds"}.get(metric.unit or "", "")
        points = [
            {
                key.replace(".", "_"): str(value).lower() if isinstance(value, bool) else str(value)
                for key, value in p.attributes.items()
            }
            for p in metric.data.data_points
        ]
        kind = type(metric.data).__name__
        ends = {"Histogram": ("_bucket", "_count", "_sum"), "Sum": ("_total",), "Gauge": ("",)}[
            kind
        ]
        found |= {base + end: points for end in ends}
        if kind == "Histogram":
            bounds = [str(float(bound)) for bound in metric.data.data_points[0].explicit_bounds]
            found[base + "_bucket"] = [
                point | {"le": bound} for point in points for bound in bounds
            ]
    return found


def test_every_metric_label_and_value_of_the_dashboard_exists(
    make: object, telling: Told, open_memory: Callable[..., Memory], embedder: object
) -> None:
    with open_memory(budget=60) as memory:
        for number in range(12):
            memory.remember(
                f"Ann likes tea of kind {number}, and says so at some length every day of the week."
            )
        embedder.down = True  # type: ignore[attr-defined]
        assert memory.recall("tea").degraded
        with suppress(LookupError):
            memory.get("nothing")
        metrics = served(telling)
    for expression in [*EXPRESSIONS, *QUERIES]:
        used = re.findall(r"\b(htm_\w+)(?:\{([^}]*)\})?", re.sub(r"by \([^)]*\)", "", expression))
        used = [
            (name, labels)
            for name, labels in used
            if name in metrics or not name.startswith(("htm_name", "htm_kind"))
        ]
        assert used
        for name, labels in used:
            assert name in metrics, f"{name} of {expression}"
            for label, sign, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', labels):
                values = {point[label] for point in metrics[name] if label in point}
                if sign == "=" and value != "parked":
                    assert value in values, f"{label}={value} of {expression}"
                assert values, f"{label} of {expression}"
        for labels in re.findall(r"by \(([^)]*)\)", expression):
            for label in set(labels.replace(" ", "").split(",")) - {"le", "job"}:
                assert any(label in point for name, _ in used for point in metrics[name]), (
                    f"{label} of {expression}"
                )


def test_pending_jobs_are_those_of_the_database(
    telling: Told, open_memory: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "FRESH", 0.0)  # what the test before has counted is no answer
    embedder = HashEmbedder(name=f"pending-{uuid4().hex[:8]}")  # no other test's worker has it
    with open_memory(embedder=embedder) as memory:
        memory.remember("Ann likes tea.")
        states = {
            (p.attributes["htm.kind"], p.attributes["htm.state"]): p.value
            for p in telling.points("htm.jobs")
        }
    assert states["embed", "pending"] >= 1


def test_what_waits_is_told_by_lane_and_apart_from_bulk_work(
    telling: Told, open_memory: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever scales workers by it must not take an import for people who wait; and what is done goes back to 0."""
    monkeypatch.setattr(telemetry, "FRESH", 0.0)
    embedder = HashEmbedder(name=f"lanes-{uuid4().hex[:8]}")

    def told() -> dict[bool, tuple[float, bool]]:
        """Of bulk work and of the other: how many jobs wait, and whether the oldest has an age."""
        numbers, ages = (
            {
                p.attributes["htm.bulk"]: p.value
                for p in telling.points(metric)
                if (p.attributes["htm.kind"], p.attributes["htm.model"])
                == ("embed", resolve(embedder).name)
                and p.attributes.get("htm.state", "pending") == "pending"
            }
            for metric in ("htm.jobs", "htm.jobs.oldest")
        )
        return {bulk: (number, ages[bulk] > 0) for bulk, number in numbers.items()}

    with open_memory(embedder=embedder) as memory:
        memory.remember("Ann likes tea.")
        memory.remember_many([{"content": f"Imported line {number}."} for number in range(20)])
        assert told() == {False: (1, True), True: (20, True)}
        memory.flush()
        assert told() == {False: (0, False), True: (0, False)}


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(0 <= x < 24 for x, _ in cells)
    assert all(panel["description"] for panel in panels)
