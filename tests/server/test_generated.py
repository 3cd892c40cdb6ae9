"""Whatever is sent, right or wrong, is never a failure of the server."""

from __future__ import annotations

import httpx
import pytest

from benchmarks.http_requests import Generator, send
from tests.server.conftest import Issue, Running


@pytest.mark.parametrize("seed", range(3))
def test_generated_requests_are_answered_and_never_with_500(
    seed: int, running: Running, issue: Issue
) -> None:
    headers = {"Authorization": f"Bearer {issue('admin')}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=60) as http:
        counts = send(http, Generator(seed), 150)
    assert sum(counts.values()) > 130
    assert counts[200] > 20
    assert counts[422] > 10
