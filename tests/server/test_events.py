"""`GET /v1/events`: what happens to the memories of a token's tenant and user, as it happens, and nobody else's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.server.conftest import Issue, Running

SECONDS = 30


@contextmanager
def listening(
    running: Running, token: str, *, last: str | None = None
) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a stream, each with its id."""
    headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last else {})
    with httpx.stream(
        "GET", f"{running.url}/v1/events", headers=headers, timeout=SECONDS
    ) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    fields: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and "data" in fields:
            yield fields
            fields = {}
        elif name in ("id", "event"):
            fields[name] = value
        elif name == "data":
            fields["data"] = json.loads(value)


def remember(running: Running, token: str, content: str) -> str:
    """Remember over HTTP, and give the node's id."""
    answer = httpx.post(
        f"{running.url}/v1/remember",
        json={"content": content},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["id"])


def test_what_happens_is_told_as_it_happens_without_its_words(
    running: Running, issue: Issue
) -> None:
    token = issue()
    with listening(running, token) as events:
        said = threading.Timer(
            0.2, lambda: remember(running, token, "The heron nests by the river.")
        )
        said.start()
        event = next(event for event in events if event["event"] == "remember")
        said.join()
    assert event["data"]["name"] == "remember"
    assert "heron" not in json.dumps(event)


def test_a_reader_that_comes_back_gets_what_it_has_missed_once(
    running: Running, issue: Issue
) -> None:
    token = issue()
    with listening(running, token) as events:
        remember(running, token, "first")
        last = next(event for event in events if event["event"] == "remember")["id"]
    remember(running, token, "second")
    remember(running, token, "third")
    with listening(running, token, last=last) as events:
        missed = [
            next(event for event in events if event["event"] == "remember")["id"] for _ in range(2)
        ]
    assert len({last, *missed}) == 3


def test_nobody_hears_of_another_user_or_tenant(running: Running, issue: Issue) -> None:
    ann, bob = issue(user="ann"), issue(user="bob")
    with listening(running, ann) as hers, listening(running, bob) as his:
        remember(running, ann, "Ann's own")
        remember(running, issue(of="a-tenant-of-events"), "theirs")
        remember(running, bob, "Bob's own")
        of_ann, of_bob = (
            next(event for event in events if event["event"] == "remember")
            for events in (hers, his)
        )
    # Ids count all events of the server: what bob hears first came after what Ann was told.
    assert _number(of_ann) < _number(of_bob) - 1


def _number(event: dict[str, Any]) -> int:
    return int(event["id"].rpartition("-")[2])
