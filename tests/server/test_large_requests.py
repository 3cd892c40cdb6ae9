"""A request of very many wrong values is refused by a few of them, and other requests are answered meanwhile."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.server.conftest import Issue, Running

MANY = 300_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("recall", {"query": "x", "tags": [1] * MANY}),
        ("recall", {"query": "x", **{f"n{number}": 1 for number in range(MANY)}}),
        ("recall", {"query": "x", "signals": {f"n{number}": "x" for number in range(MANY)}}),
        ("remember_many", {"drafts": [{"zz": 1}] * MANY}),
        ("remember_many", {"drafts": [{"content": "x", **{f"n{number}": 1 for number in range(MANY)}}]}),
    ],
)
def test_very_many_faults_are_said_in_few_words(
    running: Running, issue: Issue, path: str, body: dict[str, Any]
) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        answer = http.post(
            f"{running.url}/v1/{path}", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == 422, answer.text[:300]
    assert len(answer.text) < 10_000


def test_deep_json_and_half_a_body_are_refused(running: Running, issue: Issue) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        for content in ("[" * MANY, '{"query": ' + "[" * MANY, '{"query": "x', '{"a":' * MANY):
            answer = http.post(
                f"{running.url}/v1/recall", content=content, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (400, 422), answer.text[:300]


@pytest.mark.parametrize("nothing", [None, "null", "", ["null"]])
@pytest.mark.parametrize("name", ["limit", "tags", "min_score", "timeframe"])
def test_nothing_is_an_argument_that_is_left_out(running: Running, issue: Issue, name: str, nothing: Any) -> None:
    if name == "timeframe" and nothing in ("null", ["null"]):
        pytest.skip("words of a time may be any text")
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        answer = http.post(f"{running.url}/v1/recall", json={"query": "boat", name: nothing})
    assert answer.status_code == 200, answer.text[:300]


def test_nothing_widens_no_erasure(running: Running, issue: Issue) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue('admin')}"}, timeout=60) as http:
        answer = http.post(f"{running.url}/v1/erase", json={"session": "", "confirm": "confirmed"})
    assert answer.status_code >= 400, answer.text[:300]


def test_a_client_that_looks_for_a_way_to_sign_in_is_told_that_there_is_none(running: Running) -> None:
    with httpx2.Client(timeout=10) as http:
        assert http.get(f"{running.url}/.well-known/oauth-protected-resource").status_code == 404
