"""The Model Context Protocol at /mcp of a server: by its tokens alone."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from htm_core.client import Client as HttpClient
from tests.mcp.conftest import ask
from tests.server.conftest import Issue, Running


def call(running: Running, token: str, tool: str, mode: str = "auto", **given: Any) -> str:
    async def session() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await ask(client, tool, **given)

    return asyncio.run(session())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_has_its_own_memory_over_mcp_and_over_http(running: Running, issue: Issue, mode: str) -> None:
    ann, ben = issue(user="ann"), issue(user="ben")
    call(running, ann, "remember", mode, content="The spare key is under the blue pot.")
    assert "blue pot" in call(running, ann, "recall", mode, query="Where is the spare key?")
    assert "blue pot" not in call(running, ben, "recall", mode, query="Where is the spare key?")
    with HttpClient(running.url, ann, robot="atlas", retries=0) as client:
        assert "blue pot" in client.recall("Where is the spare key?")[0].content


@pytest.mark.parametrize("scopes", [None, ("read",)])
def test_without_a_token_that_may_write_there_is_no_protocol(
    running: Running, issue: Issue, scopes: tuple[str, ...] | None
) -> None:
    headers = {} if scopes is None else {"Authorization": f"Bearer {issue(*scopes)}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with httpx2.Client(headers=headers) as http:
        answer = http.post(f"{running.url}/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == (401 if scopes is None else 403)
    assert "tools" not in answer.text


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
            "/v1/remember", json={"content": "The code of the vault is 9988."}, headers={"Idempotency-Key": "said"}
        )
        assert said.status_code < 300
        assert "9988" in http.post("/v1/recall", json=asked).text
