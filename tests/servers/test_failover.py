"""The primary dies under writers and its replica takes over: nothing that was acknowledged is lost, and nothing is there twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.failover import Pair, write_under_fire


@pytest.fixture(scope="module")
def pair(premises: Path, trusted: Certificate) -> Iterator[Pair]:
    """A primary and its replica, which take over from each other."""
    made = Pair(programs.modern(), premises, trusted)
    yield made
    made.remove()


def test_nothing_acknowledged_is_lost_or_doubled_when_the_primary_is_killed(pair: Pair) -> None:
    """With synchronous replication, by hand, while four threads write and two workers embed what they wrote."""
    result = write_under_fire(pair, pair.dsn, kills=1, writers=4)
    assert result.acknowledged > 20
    assert result.lost == []
    assert result.doubled == []
    assert result.vectors_missing == 0
    assert result.group_goes_on
    assert len(result.recovery_seconds) == 1
