"""Servers for the attacks that need logins: the same as those of tests/servers, and skipped where these are not obtained.

HTTP servers and their tokens are those of tests/server.
"""

from __future__ import annotations

import os

import pytest

from tests.server.conftest import issue, running, start
from tests.servers.conftest import (
    cluster,
    memory_at,
    modern,
    new_cluster,
    oldest,
    premises,
    trusted,
)

__all__ = [
    "cluster",
    "issue",
    "memory_at",
    "modern",
    "new_cluster",
    "oldest",
    "premises",
    "running",
    "start",
    "trusted",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a server, unless there is one to be started."""
    if not os.environ.get("HTM_TEST_SERVERS"):
        unasked = pytest.mark.skip(
            reason="HTM_TEST_SERVERS does not name the folder that .ci/servers fills"
        )
        for item in items:
            if "new_cluster" in getattr(item, "fixturenames", ()):
                item.add_marker(unasked)
