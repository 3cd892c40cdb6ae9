"""A server of the Model Context Protocol as a client sees it: a process of its own, over stdio."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.cli.conftest import ROOT, environment, htm, models  # noqa: F401 - fixtures

Serve = Callable[..., StdioServerParameters]


def text_of(result: Any) -> str:
    """The one text of an answer."""
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def ask(client: Client, tool: str, **given: Any) -> str:
    """What a tool answers; an error of the tool is an error here."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refused(client: Client, tool: str, **given: Any) -> str:
    """What a tool says when it refuses."""
    result = await client.call_tool(tool, given)
    assert result.is_error, text_of(result)
    return text_of(result)


@pytest.fixture
def serve(tenant: str, database_url: str, home: Any) -> Serve:
    """How a client starts the server for this test's tenant."""

    def parameters(*options: str, url: str = database_url) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "htm_core.cli", "mcp", "--tenant", tenant, *options],
            env={"HTM_DATABASE_URL": url, "HTM_HOME": str(home), "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )

    return parameters
