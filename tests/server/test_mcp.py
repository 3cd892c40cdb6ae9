"""The Model Context Protocol at /mcp of a server: by its tokens alone."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from htm_core.client import Client as HttpClient
from tests.mcp.conftest import ask, refused
from tests.server.conftest import Issue, Running


def call(running: Running, token: str, tool: str, mode: str = "auto", **given: Any) -> str:
    async def session() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(
                streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode
            ) as client,
        ):
            return await ask(client, tool, **given)

    return asyncio.run(session())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_has_its_own_memory_over_mcp_and_over_http(
    running: Running, issue: Issue, mode: str
) -> None:
    ann, ben = issue(user="ann"), issue(user="ben")
    call(running, ann, "remember", mode, content="The spare key is under the blue pot.")
    assert "blue pot" in call(running, ann, "recall", mode, query="Where is the spare key?")
    assert "blue pot" not in call(running, ben, "recall", mode, query="Where is the spare key?")
    with HttpClient(running.url, ann, robot="atlas", retries=0) as client:
        assert "blue pot" in client.recall("Where is the spare key?")[0].content


ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_without_a_token_there_is_no_protocol(running: Running) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with httpx2.Client() as http:
        answer = http.post(f"{running.url}/mcp", json=body, headers=ACCEPT)
    assert answer.status_code == 401
    assert "tools" not in answer.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_that_may_only_read_has_the_tools_that_only_read(
    running: Running, issue: Issue, mode: str
) -> None:
    writes, reads = issue(user="ann"), issue("read", user="ann")
    call(running, writes, "remember", mode, content="The spare key is under the blue pot.")
    assert "blue pot" in call(running, reads, "recall", mode, query="Where is the spare key?")

    async def session() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {reads}"}) as http,
            Client(
                streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode
            ) as client,
        ):
            names = {each.name for each in (await client.list_tools()).tools}
            assert names == {"recall", "search", "fetch", "timeline", "context", "palace_consult"}
            for tool, given in (
                ("remember", {"content": "x"}), ("forget", {"id": "x"}), ("revise", {"key": "x", "content": "x"}),
                ("palace_file", {"content": "x", "room": "x", "drawer": "x", "reason": "x"}),
            ):  # fmt: skip
                assert "may only read" in await refused(client, tool, **given)

    asyncio.run(session())
    assert call(running, writes, "timeline", mode).count("blue pot") == 1


@pytest.mark.parametrize("arguments", [
    {"query": "x", "tags": [1] * 1_500_000}, {"query": "x", **{f"n{number}": 1 for number in range(300_000)}},
    {"query": "x", "tags": [[]] * 1_000_000}, {"query": {"a": [{"b": 1}] * 300_000}},
])  # fmt: skip
def test_a_message_of_very_many_values_is_refused_while_others_are_answered(
    running: Running, issue: Issue, arguments: dict[str, Any]
) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": arguments},
    }
    with httpx2.Client(
        headers={"Authorization": f"Bearer {issue()}", **ACCEPT}, timeout=60
    ) as http:
        answer = http.post(f"{running.url}/mcp", json=body)
    assert answer.status_code == 413
    assert answer.json()["id"] == 7
    assert "at most 10,000 values" in answer.json()["error"]["message"]


def test_a_long_text_is_no_large_number_of_values(running: Running, issue: Issue) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"content": "Boats, " * 30_000}},
    }
    with httpx2.Client(
        headers={"Authorization": f"Bearer {issue()}", **ACCEPT}, timeout=60
    ) as http:
        assert "Remembered" in http.post(f"{running.url}/mcp", json=body).text


def test_there_is_no_stream_to_open(running: Running, issue: Issue) -> None:
    headers = {"Authorization": f"Bearer {issue()}", "Accept": "text/event-stream"}
    with httpx2.Client(headers=headers, timeout=10) as http:
        answer = http.get(f"{running.url}/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_what_was_recalled_is_not_kept_for_a_repetition(running: Running, issue: Issue) -> None:
    headers = {"Authorization": f"Bearer {issue()}", "Idempotency-Key": "the-same"}
    with httpx2.Client(base_url=running.url, headers=headers, timeout=30) as http:
        asked = {"query": "What is the code of the vault?"}
        first = http.post("/v1/recall", json=asked)
        assert "9988" not in first.text
        said = http.post(
            "/v1/remember",
            json={"content": "The code of the vault is 9988."},
            headers={"Idempotency-Key": "said"},
        )
        assert said.status_code < 300
        assert "9988" in http.post("/v1/recall", json=asked).text
