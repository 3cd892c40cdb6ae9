"""The writers of the benchmarks of moves count what is lost, and tell calls that failed while something was disturbed from others."""

from __future__ import annotations

import threading

import pytest

from benchmarks.moving_writers import CALM, Comparison, MovingWriters
from htm_core import Memory
from tests.conftest import Make

TENANTS = ("moved_a", "moved_b")


def test_what_is_lost_unsaid_or_of_another_tenant_is_counted(make: Make, tenant: str) -> None:
    names = [f"{tenant}_{each}" for each in TENANTS]
    writers = MovingWriters(lambda name: make(tenant=name), names)
    for name in names:
        writers.fill(name, 3)
    assert writers.compare() == Comparison(acknowledged=6)
    writers.acknowledged[names[0]].append("acknowledged, and nowhere")
    with make(tenant=names[1]) as memory:
        memory.remember(f"{names[1]} said more than it was told of.")
        memory.remember(f"{names[0]} said this.")
    assert writers.compare() == Comparison(acknowledged=7, lost=1, unsaid=1, foreign=1)


@pytest.mark.parametrize("disturbed", [False, True])
def test_a_call_that_fails_is_counted_once_and_told_from_those_that_were_disturbed(
    make: Make, tenant: str, monkeypatch: pytest.MonkeyPatch, disturbed: bool
) -> None:
    monkeypatch.setattr("benchmarks.moving_writers.PAUSE", 0.0)
    writers = MovingWriters(lambda name: make(tenant=name), [tenant])
    if disturbed:
        writers.disturbed.set()
    recall, asked, enough = Memory.recall, 0, threading.Event()

    def failing_once(*given: object, **options: object) -> object:
        """The first answer is lost, the second is empty."""
        nonlocal asked
        asked += 1
        if asked == 4:
            enough.set()
        if asked == 1:
            raise ConnectionError("gone")
        return [] if asked == 2 else recall(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "recall", failing_once)
    with writers.running(1):
        assert enough.wait(60)
    assert writers.failed == {"ConnectionError": 1}
    assert writers.undisturbed == ([] if disturbed else ["ConnectionError: gone"])
    assert len(writers.missing) == 1
    assert (CALM in writers.seconds) is not disturbed
    found = writers.compare()
    assert (found.lost, found.unsaid, found.foreign) == (0, 0, 0)
    lines = "\n".join(writers.report())
    assert "lost 0" in lines
    assert f"nothing was disturbed {0 if disturbed else 1}; not found at once 1" in lines
