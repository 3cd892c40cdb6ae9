"""What clients are told: schemas, hints, snippets of configuration, the registry; and answers within a budget, over HTTP too."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

from htm_core import InvalidInput, Memory, __version__
from htm_core.cli.commands import command
from htm_core.serve.mcp import build_server, streamable_http
from htm_core.serve.mcp.tools import TOOLS
from tests.cli.conftest import ROOT
from tests.conftest import Make
from tests.mcp.conftest import ask

PAGE = (ROOT / "docs" / "mcp.md").read_text()


def count(text: str) -> int:
    from htm_core.prompt.token_budget import token_counter

    return token_counter(Memory())(text)


def told() -> list[dict[str, Any]]:
    return [
        each.told().model_dump(by_alias=True, exclude_none=True, mode="json")
        for each in TOOLS.values()
    ]


def test_ten_tools_cost_at_most_three_thousand_tokens() -> None:
    assert len(TOOLS) == 10
    assert count(json.dumps(told())) <= 3_000


def test_no_schema_has_an_argument_for_whose_memory_it_is_and_each_refuses_others() -> None:
    for tool in told():
        assert (
            not {"tenant", "user", "robot", "owner", "url"}
            & tool["inputSchema"]["properties"].keys()
        )
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(each.get("type") for each in tool["inputSchema"]["properties"].values())


def test_hints_say_what_changes_something() -> None:
    hints = {each["name"]: each["annotations"] for each in told()}
    changing = {name for name, each in hints.items() if not each["readOnlyHint"]}
    assert changing == {"remember", "forget", "revise", "palace_file"}
    assert {name for name, each in hints.items() if each["destructiveHint"]} == {"forget", "revise"}
    assert {name for name in changing if hints[name]["idempotentHint"]} == {"forget", "palace_file"}
    assert not any(each["openWorldHint"] for each in hints.values())


def test_an_answer_keeps_to_its_budget_and_says_what_it_left_out(memory: Memory) -> None:
    for number in range(20):
        memory.remember(
            f"Fact {number} of the harbour: " + f"ship{number} carries tea and oranges. " * 12,
            role="user",
        )
    long = memory.remember("harbour " + "lighthouse keeper rows home. " * 2_000, tags=["long"])

    async def session() -> None:
        async with Client(build_server(lambda _: memory)) as client:
            for tool, given in (
                ("recall", {"query": "harbour", "limit": 20}), ("timeline", {}), ("context", {}),
                ("palace_consult", {"question": "What is in the harbour?"}),
            ):  # fmt: skip
                for budget in (250, 1_000):
                    answer = await ask(client, tool, budget=budget, **given)
                    assert memory._engine.tokens(answer) <= budget, tool
                    whole = re.findall(
                        r"Fact (\d+) of the harbour: (?:ship\1 carries tea and oranges\.\s?)+",
                        answer,
                    )
                    assert len(whole) == answer.count("of the harbour:"), tool
                    if tool in ("recall", "timeline"):
                        assert "left out" in answer
            text, offset = "", 0
            while offset is not None:
                found = json.loads(
                    await ask(client, "fetch", id=long.id, offset=offset, budget=2_000)
                )
                assert memory._engine.tokens(json.dumps(found, ensure_ascii=False)) <= 2_000
                text += found["text"].partition("]\n")[2].rpartition("\n")[0]
                offset = found["metadata"].get("next_offset")
            assert text == long.content

    asyncio.run(session())
    with pytest.raises(InvalidInput, match="budget"):
        build_server(lambda _: memory, budget=3)


def test_over_http_each_token_has_its_own_memory(make: Make) -> None:
    memories = {"ann": make(user="ann"), "ben": make(user="ben")}
    served = streamable_http(
        lambda request: memories[request.headers["authorization"].removeprefix("Bearer ")]
    )
    app = Starlette(
        routes=[Route("/mcp", endpoint=served.endpoint)], lifespan=lambda _: served.run()
    )

    async def as_user(name: str, mode: str, tool: str, **given: Any) -> str:
        transport = httpx2.ASGITransport(app=app)
        headers = {"Authorization": f"Bearer {name}"}
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Client(
                streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http), mode=mode
            ) as client,
        ):
            return await ask(client, tool, **given)

    async def session() -> None:
        async with app.router.lifespan_context(app):
            await as_user("ann", "auto", "remember", content="Ann's own secret.")
            assert "secret" in await as_user("ann", "legacy", "timeline")
            assert "secret" not in await as_user("ben", "legacy", "timeline")
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:
                answer = await http.post(
                    "http://evil.example/mcp", json={}, headers={"Accept": "application/json"}
                )
                assert answer.status_code == 421

    asyncio.run(session())


def snippets() -> list[list[str]]:
    """Each command line in the page's snippets: a program and its arguments."""
    found: list[list[str]] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict) and "args" in value:
            found.append([value["command"], *value["args"]])
        elif isinstance(value, dict) and value.get("type") == "command":
            found.append(shlex.split(value["command"]))
        for each in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        ):
            collect(each)

    for kind, text in re.findall(r"^```(json|toml)\n(.*?)^```", PAGE, re.M | re.S):
        collect(json.loads(text) if kind == "json" else tomllib.loads(text))
    found += [shlex.split(each) for each in re.findall(r"`claude mcp add \w+ -- ([^`]+)`", PAGE)]
    return found


def test_every_snippet_starts_a_command_that_htm_accepts() -> None:
    lines = snippets()
    assert len(lines) == 10
    for program, name, *rest in lines:
        assert program == "htm"
        command(name).make_context(name, list(rest))


def test_the_registry_names_this_version_and_the_readme_names_the_registry() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    [package] = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text()
    assert package["runtimeArguments"][0]["value"].endswith(f"=={__version__}")
    name = package["packageArguments"][0]["value"]
    options = {each["name"] for each in package["packageArguments"][1:]}
    assert options <= {word for each in command(name).params for word in each.opts}


def test_the_page_names_each_tool() -> None:
    assert {name for name in TOOLS if f"`{name}`" not in PAGE} == set()
    assert Path(ROOT / "docs" / "why" / "interfaces.md").exists()


def test_without_the_sdk_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None; from htm_core.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "mcp"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "htm-memory[mcp]"' in done.stderr


def test_what_a_user_told_and_a_key_replaced_is_not_recalled_and_was_never_the_assistants(
    memory: Memory,
) -> None:
    """A client that remembers first, and learns of revise when something changes."""

    def use(tool: str, **given: Any) -> str:
        return TOOLS[tool].answer(memory, given, budget=4_000)

    use("remember", content="I don't eat meat.", role="user")
    use("revise", key="diet", content="I don't eat meat.")
    assert re.search(r", user\) I don't eat meat", use("recall", query="do I eat meat?"))
    use("revise", key="diet", content="I eat chicken again.")
    for answer in (use("recall", query="do I eat meat?"), use("context")):
        assert "I eat chicken again." in answer
        assert "I don't eat meat." not in answer
    use("revise", key="diet", content="I don't eat meat.")
    assert re.search(r", user\) I don't eat meat", use("recall", query="do I eat meat?"))


def test_a_palace_in_which_nothing_is_filed_says_so_and_sends_to_recall(memory: Memory) -> None:
    """A model that asks it first would else deny what is remembered."""
    memory.remember("My sister Clara is allergic to peanuts.", role="user")
    question = {"question": "What may Clara not eat?"}
    told = TOOLS["palace_consult"].answer(memory, question, budget=4_000)
    assert "with recall" in told
    assert "say exactly this" not in told
    fact = {
        "content": "The API listens on port 8080.",
        "room": "projects",
        "drawer": "api",
        "reason": "Asked for.",
    }
    TOOLS["palace_file"].answer(memory, fact, budget=4_000)
    assert "say exactly this" in TOOLS["palace_consult"].answer(memory, question, budget=4_000)


def test_what_of_a_long_query_was_searched_for_is_said(make: Make) -> None:
    paste = (
        "The roof of the garden house will be renewed in spring. Send your estimates before Friday. "
        * 20
    )
    with make(user="ann", embed="now") as memory:
        memory.remember("My dentist is Dr Okafor.", role="user")
        told = TOOLS["recall"].answer(
            memory, {"query": f"{paste}\n\nWho is my dentist?"}, budget=4_000
        )
        assert "Dr Okafor" in told
        assert "(Searched for: Who is my dentist?)" in told
        found = json.loads(
            TOOLS["search"].answer(
                memory, {"query": f"{paste}\n\nWho is my dentist?"}, budget=4_000
            )
        )
        assert found["searched"] == ["Who is my dentist?"]
        assert "Searched for" not in TOOLS["recall"].answer(
            memory, {"query": "Who is my dentist?"}, budget=4_000
        )
        assert "searched" not in json.loads(
            TOOLS["search"].answer(memory, {"query": "dentist"}, budget=4_000)
        )
