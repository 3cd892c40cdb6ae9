"""A request of very many wrong values is refused by a few of them, and other requests are answered meanwhile."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from htm_core.db import tokens
from htm_core.serve.access import LOOKUPS
from tests.server.conftest import Issue, Running

MANY = 300_000
SOON = (
    15.0  # seconds, in which a process that others keep busy answers; one that is held needs more
)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("recall", {"query": "x", "tags": [1] * MANY}),
        ("recall", {"query": "x", **{f"n{number}": 1 for number in range(MANY)}}),
        ("recall", {"query": "x", "signals": {f"n{number}": "x" for number in range(MANY)}}),
        ("remember_many", {"drafts": [{"zz": 1}] * MANY}),
        (
            "remember_many",
            {"drafts": [{"content": "x", **{f"n{number}": 1 for number in range(MANY)}}]},
        ),
    ],
)
def test_very_many_faults_are_said_in_few_words(
    running: Running, issue: Issue, path: str, body: dict[str, Any]
) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        answer = http.post(
            f"{running.url}/v1/{path}",
            content=json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
    assert answer.status_code == 422, answer.text[:300]
    assert len(answer.text) < 10_000


def test_deep_json_and_half_a_body_are_refused(running: Running, issue: Issue) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        for content in ("[" * MANY, '{"query": ' + "[" * MANY, '{"query": "x', '{"a":' * MANY):
            answer = http.post(
                f"{running.url}/v1/recall",
                content=content,
                headers={"Content-Type": "application/json"},
            )
            assert answer.status_code in (400, 422), answer.text[:300]


@pytest.mark.parametrize("nothing", [None, "null", "", ["null"]])
@pytest.mark.parametrize("name", ["limit", "tags", "min_score", "timeframe"])
def test_nothing_is_an_argument_that_is_left_out(
    running: Running, issue: Issue, name: str, nothing: Any
) -> None:
    if name == "timeframe" and nothing in ("null", ["null"]):
        pytest.skip("words of a time may be any text")
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        answer = http.post(f"{running.url}/v1/recall", json={"query": "boat", name: nothing})
    assert answer.status_code == 200, answer.text[:300]


def test_nothing_widens_no_erasure(running: Running, issue: Issue) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue('admin')}"}, timeout=60) as http:
        answer = http.post(f"{running.url}/v1/erase", json={"session": "", "confirm": "confirmed"})
    assert answer.status_code >= 400, answer.text[:300]


def test_a_client_that_looks_for_a_way_to_sign_in_is_told_that_there_is_none(
    running: Running,
) -> None:
    with httpx2.Client(timeout=10) as http:
        assert http.get(f"{running.url}/.well-known/oauth-protected-resource").status_code == 404


def call(**arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": arguments},
    }


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/recall", {"query": "x", "tags": [1] * 3_500_000}),
        ("/v1/recall", {"query": "x", **{f"n{number}": 1 for number in range(600_000)}}),
        ("/v1/recall", {"query": "x", "where": {"$or": [{"a": 1}] * 700_000}}),
        ("/v1/recall", {"query": "x", "where": {"k" * 1_000_000: [1] * 90_000}}),
        ("/v1/remember", {"content": "\u2764\ufe0f [" * 200_000}),
        ("/v1/remember", {"content": "x", "metadata": {"k" * 2_000_000: [1] * 90_000}}),
        ("/v1/remember_many", {"drafts": [{"content": "x"}] * 300_000}),
        ("/mcp", call(query="x", tags=[1] * 3_500_000)),
        ("/mcp", call(query="x", **{f"n{number}": 1 for number in range(600_000)})),
        ("/mcp", call(query="x" * 7_000_000)),
    ],
)
def test_health_is_answered_while_a_large_request_is_worked_on(
    running: Running, issue: Issue, path: str, body: dict[str, Any]
) -> None:
    headers = {
        "Authorization": f"Bearer {issue()}",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
    content = json.dumps(body, ensure_ascii=False).encode()
    with (
        httpx2.Client(timeout=120) as http,
        httpx2.Client(timeout=120) as other,
        ThreadPoolExecutor(1) as beside,
    ):
        answer = beside.submit(
            lambda: http.post(running.url + path, content=content, headers=headers)
        )
        longest = 0.0
        while not answer.done():
            began = time.monotonic()
            assert other.get(f"{running.url}/health").status_code == 200
            longest = max(longest, time.monotonic() - began)
    assert answer.result().status_code < 500
    assert longest < SOON


def test_a_query_that_is_very_long_is_not_said_back(running: Running, issue: Issue) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        for given in (
            {"query": "x " * 1_000_000},
            {"query": "x", "mode": "x" * 2_000_000},
            {"query": "x", "limit": "x" * 2_000_000},
        ):
            answer = http.post(f"{running.url}/v1/recall", json=given)
            assert answer.status_code in (200, 422)
            assert len(answer.text) < 100_000


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("recall", {"query": "boat", "limit": 0}, "limit"), ("recall", {"query": " "}, "query"), ("recall", {"query": "x", "min_score": 2}, "min_score"),
        ("remember", {"content": "x", "importance": 99}, "importance"), ("remember", {"content": " "}, "content"),
        ("remember", {"content": "a\0b"}, "content"), ("remember", {"content": "x", "trust": 9}, "trust"), ("recall", {"query": "x", "limit": "x"}, "limit"),
    ],
)  # fmt: skip
def test_an_error_names_the_argument_that_it_is_about_and_no_python(
    running: Running, issue: Issue, path: str, body: dict[str, Any], named: str
) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {issue()}"}, timeout=60) as http:
        answer = http.post(f"{running.url}/v1/{path}", json=body)
    assert answer.status_code == 422
    assert [each["argument"] for each in answer.json()["errors"]] == [named]
    assert not any(
        word in answer.text for word in ("Settings", "Memory", "payload=", "None", "str,")
    )


def test_many_who_ask_whether_it_is_ready_or_with_unknown_tokens_keep_up_nobody(
    running: Running, issue: Issue
) -> None:
    headers = {"Authorization": f"Bearer {issue()}"}
    looks: list[object] = []
    find = tokens.find
    with (
        pytest.MonkeyPatch.context() as patch,
        httpx2.Client(base_url=running.url, timeout=60) as http,
    ):
        at_once = threading.Semaphore(LOOKUPS)

        def found(database: Any, secret: str) -> Any:
            assert at_once.acquire(blocking=False), "more look-ups at once than allowed"
            try:
                return find(database, secret)
            finally:
                at_once.release()

        patch.setattr(tokens, "find", found)
        patch.setattr(tokens, "exists", lambda database: looks.append(1) or time.sleep(0.3) or True)
        with ThreadPoolExecutor(40) as many:
            unknown = [
                many.submit(http.get, "/v1/stats", headers={"Authorization": f"Bearer htm_{n}"})
                for n in range(100)
            ]
            ready = [many.submit(http.get, "/ready") for _ in range(20)]
            assert http.get("/v1/stats", headers=headers).status_code == 200
            assert {each.result().status_code for each in unknown} == {401}
            assert {each.result().status_code for each in ready} == {200}
        assert len(looks) <= 3
