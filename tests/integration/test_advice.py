"""What an error says to do next exists where it is said: a model has no Python, a shell has no methods, HTTP has paths."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest

import htm_core
from htm_core import HTMError, InvalidInput, Memory, NotFound
from htm_core.base.errors import IN_PYTHON, Advice
from htm_core.cli.chat.terminal import HELP
from htm_core.cli.chat.terminal import WHAT_NEXT as IN_CHAT
from htm_core.cli.commands import COMMANDS
from htm_core.cli.exit_codes import WHAT_NEXT as IN_A_SHELL
from htm_core.cli.palace import PalaceAction
from htm_core.client.problems import WHAT_NEXT as OVER_HTTP
from htm_core.client.problems import error_of, problem_of
from htm_core.client.routes import ROUTES
from htm_core.palace import Palace, PalaceToolReplies
from htm_core.prompt.function_tools import call_tool
from htm_core.prompt.tool_replies import WHAT_NEXT as IN_TOOLS
from htm_core.serve.mcp.shown import WHAT_NEXT as IN_MCP
from htm_core.serve.mcp.shown import told
from htm_core.serve.mcp.tools import TOOLS
from tests.cli.conftest import Htm, environment, htm, models  # noqa: F401 - fixtures

SURFACES: Mapping[str, Mapping[Advice, str]] = {
    "http": OVER_HTTP, "chat": IN_CHAT, "shell": IN_A_SHELL, "tools": IN_TOOLS, "mcp": IN_MCP,
}  # fmt: skip
PYTHON = re.compile(r"\b(Memory|Palace|memory|palace)\.[a-z_]+|[a-z_]+\([^)]*\)|\b[a-z_]+=")


def test_each_advice_has_words_in_python_and_in_a_shell() -> None:
    """Whoever writes Python or commands has all that there is; other surfaces say nothing where they have nothing."""
    assert set(IN_PYTHON) == set(IN_A_SHELL) == set(get_args(Advice))


@pytest.mark.parametrize("surface", SURFACES)
def test_no_other_surface_names_something_of_python(surface: str) -> None:
    assert [
        text
        for text in SURFACES[surface].values()
        if PYTHON.search(text.replace("?forgotten=true", ""))
    ] == []


def test_what_is_named_is_there() -> None:
    shell = " ".join([*IN_A_SHELL.values(), *IN_CHAT.values()])
    assert set(re.findall(r"\bhtm ([a-z]+)", shell)) <= COMMANDS.keys()
    assert set(re.findall(r"\bhtm palace ([a-z]+)", shell)) <= {each.value for each in PalaceAction}
    assert {name for text in IN_CHAT.values() for name in re.findall(r"/\w+", text)} <= {
        name for name, _ in HELP
    }
    paths = {path for text in OVER_HTTP.values() for path in re.findall(r"GET (/[\w/]+)", text)}
    assert paths <= {each.path for each in ROUTES if each.method == "GET"}
    assert IN_MCP["memories"].split(" show")[0].replace(" and", ",").split(", ") == [
        "recall",
        "search",
        "timeline",
    ]
    assert {"recall", "search", "timeline"} <= TOOLS.keys()
    assert "look_palace" in PalaceToolReplies.TOOLS


def messages() -> Iterator[tuple[str, str]]:
    """The lines of code that a message is in, without what is put into it."""
    for path in Path(htm_core.__file__).parent.rglob("*.py"):
        for line in path.read_text().splitlines():
            if re.match(r'\s*(raise \w+\()?f?"(?!"")', line):
                yield path.name, re.sub(r"\{[^{}]*\}", "", line)


def test_no_message_that_surfaces_share_names_a_verb_of_python() -> None:
    """It says `advice=` instead. What is left speaks to somebody who has just given Python an object."""
    named = re.compile(r"\b(Memory|Palace)\.(?!parts)[a-z_]+\b|memory\.[a-z]+\.?[a-z]*\(")
    found = {name for name, line in messages() if named.search(line) and name != "errors.py"}
    assert found <= {"register.py", "sources.py", "groups.py"}


def test_an_error_keeps_its_advice_when_it_travels() -> None:
    error = NotFound("expected a memory, got 'x'", advice="memories")
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (
            str(again)
            == str(error)
            == "expected a memory, got 'x'; Memory.list() shows what there is"
        )
    problem = problem_of(error)
    assert problem.detail == "expected a memory, got 'x'; GET /v1/nodes lists what there is"
    back = error_of({"code": problem.code, "detail": problem.detail, **problem.more})
    assert (type(back), str(back)) == (NotFound, str(error))
    assert (
        str(error_of({"code": "not_found", "detail": "gone", "advice": "of a later version"}))
        == "gone"
    )
    assert problem_of(error, words={}).detail == "expected a memory, got 'x'"


def test_each_surface_says_what_it_has_when_there_is_no_such_memory_or_question(
    memory: Memory,
    htm: Htm,  # noqa: F811
) -> None:
    with pytest.raises(NotFound, match=r"Memory\.list\(\) shows what there is"):
        memory.forget("nosuch")
    for tool, given in (
        ("forget", {"id": "nosuch"}),
        ("fetch", {"id": "nosuch"}),
        ("recall", {"query": ""}),
    ):
        with pytest.raises(HTMError) as failed:
            TOOLS[tool].answer(memory, given, budget=4_000)
        said = told(failed.value)
        assert not PYTHON.search(said), said
        assert "timeline" in said
    said = call_tool(memory, "forget", {"memory_id": "nosuch"})
    assert said.endswith("recall shows the ids of memories in brackets")
    assert not PYTHON.search(call_tool(memory, "recall", {"query": " "}))
    shell = htm("forget", "nosuch")
    assert (shell.code, PYTHON.search(shell.err)) == (3, None)
    assert "htm list shows what there is" in shell.err
    assert "to list memories use htm list" in htm("recall", " ").err
    in_chat = htm("chat", "--user", "ann", input="/forget nosuch\n").err
    assert "ids that stand below an answer" in " ".join(in_chat.split())
    assert "Memory." not in in_chat
    with pytest.raises(InvalidInput, match=r"see Palace\.decisions\(\)") as refused:
        Palace(memory).undo("x")
    assert "htm palace audit lists them" in refused.value._told(IN_A_SHELL)


def test_an_option_that_is_no_time_is_named_as_an_option(htm: Htm) -> None:  # noqa: F811
    said = htm("remember", "x", "--at", "yesterday").err
    assert "expected --at in ISO 8601" in said
    assert "leave the option out" in said
    assert "field" not in said
