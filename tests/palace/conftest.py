"""A palace of this test's tenant, in a session, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from htm_core import Memory
from htm_core.palace import Palace


class Clock:
    """The present moment, and how it passes."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def passes(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


Build = Callable[..., Palace]


@pytest.fixture
def build(make: Callable[..., Memory], clock: Clock) -> Iterator[Build]:
    """Builds palaces of this test's tenant, in the session "today" by default."""
    made: list[Memory] = []

    def palace(robot: str = "atlas", **options: object) -> Palace:
        layout, judge = options.pop("layout", None), options.pop("judge", None)
        made.append(make(robot, **({"session": "today", "embed": "now", "clock": clock} | options)))
        return Palace(made[-1], layout=layout, judge=judge)  # type: ignore[arg-type]

    yield palace
    for memory in made:
        memory.close()


@pytest.fixture
def palace(build: Build) -> Palace:
    return build()
