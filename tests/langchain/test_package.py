"""The package costs nothing until it is used, says what it misses, and is what its page says of it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import htm_langchain

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "langchain.md").read_text(encoding="utf-8")
EXTRAS = ("langchain", "agents", "ollama")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_it_imports_nothing_of_langchain() -> None:
    code = "import sys, htm_langchain; print([m for m in sys.modules if m.startswith(('langchain', 'langgraph'))])"
    assert run(code) == "[]"


def test_what_needs_langchains_core_alone_imports_no_agents_and_no_langgraph() -> None:
    names = "HTMChatMessageHistory, HTMEmbeddings, HTMRetriever, HTMVectorStore, LangChainTagger, create_recall_tool, with_memory"
    code = f"import sys; from htm_langchain import {names}; print([m for m in ('langchain.agents', 'langgraph') if m in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("langchain", "HTMMemoryMiddleware", "agents"),
        ("langgraph", "HTMStore", "agents"),
        ("langgraph", "AsyncHTMStore", "agents"),
        ("langchain_core", "HTMRetriever", "langchain"),
        ("langchain_core", "HTMByteStore", "langchain"),
        ("langchain_core", "HTMVectorStore", "langchain"),
        ("langchain_core", "create_recall_tool", "langchain"),
        ("langchain_core", "with_memory", "langchain"),
    ],
)
def test_a_missing_extra_is_named(missing: str, name: str, extra: str) -> None:
    code = f"""
import sys
sys.modules["{missing}"] = None
try:
    from htm_langchain import {name}
except ImportError as error:
    print(error)
"""
    assert (
        run(code)
        == f"expected {missing} to be installed for {name}; run: pip install 'htm-memory[{extra}]'"
    )


def test_without_agents_the_rest_is_there() -> None:
    code = 'import sys; sys.modules["langchain"] = None; from htm_langchain import HTMChatMessageHistory, HTMRetriever'
    assert run(code) == ""


def test_every_public_name_is_there_and_on_the_page() -> None:
    for name in htm_langchain.__all__:
        assert getattr(htm_langchain, name).__name__ == name
        assert name in dir(htm_langchain)
        assert name in PAGE


NONE: Any = inspect.Parameter.empty
SIGNATURES: dict[str, dict[str, Any]] = {
    "HTMMemoryMiddleware": {
        "memory": NONE, "user": None, "session": None, "scope": None, "budget": None, "recall_budget": 1_000,
        "recall_limit": 8, "min_score": 0.0, "inject": "question", "tools": (), "restore": True, "name": "HTMMemoryMiddleware",
    },
    "HTMVectorStore": {"embedding": None, "collection": "default", "memory": None, "url": None, "tenant": "default"},
    "HTMStore": {"memory": None, "url": None, "tenant": "default", "index": None, "ttl": None},
    "HTMChatMessageHistory": {"session_id": NONE, "memory": NONE, "budget": None, "recall": False},
    "with_memory": {"runnable": NONE, "memory": NONE, "input_key": None, "history_key": "history", "session": None},
    "create_recall_tool": {"memory": NONE},
    "create_remember_tool": {"memory": NONE},
    "create_forget_tool": {"memory": NONE},
}  # fmt: skip
BY_PLACE = {
    "HTMMemoryMiddleware": ["memory"], "HTMVectorStore": ["embedding"], "HTMStore": [],
    "HTMChatMessageHistory": ["session_id", "memory"], "with_memory": ["runnable", "memory"],
    "create_recall_tool": ["memory"], "create_remember_tool": ["memory"], "create_forget_tool": ["memory"],
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_is_made_as_is_promised(name: str) -> None:
    found = inspect.signature(getattr(htm_langchain, name)).parameters
    assert SIGNATURES[name].items() <= {each.name: each.default for each in found.values()}.items()
    assert [
        each.name for each in found.values() if each.kind is each.POSITIONAL_OR_KEYWORD
    ] == BY_PLACE[name]


def test_a_retriever_is_made_as_is_promised() -> None:
    fields = htm_langchain.HTMRetriever.model_fields
    assert (fields["memory"].is_required(), fields["k"].default, fields["mode"].default) == (
        True,
        10,
        "hybrid",
    )


def rows(page: str) -> dict[str, list[str]]:
    """The table of versions of a page: lowest, newest tested and below, for each package."""
    found = re.findall(r"^\| ([\w-]+|Python) \| ([\d.]+) \| ([\d.]+) \| ([\d.]*) *\|$", page, re.M)
    return {name: cells for name, *cells in found}


def required(extras: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """What `pyproject.toml` admits of each package in these extras: from which version, and below which."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        each.name: each
        for extra in extras
        for each in map(Requirement, project["optional-dependencies"][extra])
    }
    bounds = {
        name: {each.operator: each.version for each in need.specifier}
        for name, need in wanted.items()
    }
    python = project["requires-python"].removeprefix(">=")
    return {name: (known[">="], known.get("<", "")) for name, known in bounds.items()} | {
        "Python": (python, "")
    }


def test_the_versions_on_the_page_are_those_that_are_admitted() -> None:
    admitted = required(EXTRAS)
    assert {name: (lowest, below) for name, (lowest, _, below) in rows(PAGE).items()} == admitted


def test_what_runs_these_tests_is_within_what_the_page_admits() -> None:
    def number(version: str) -> tuple[int, ...]:
        return tuple(map(int, version.split(".")))

    for name, (lowest, newest, _) in rows(PAGE).items():
        if name != "Python":
            assert number(lowest) <= number(metadata.version(name))
            assert number(lowest) <= number(newest)
