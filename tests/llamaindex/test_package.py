"""The package imports nothing before it is used, says what is missing, and is what its page says of it."""

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

import htm_llamaindex

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "llamaindex.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", htm_llamaindex.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(htm_llamaindex, name).__name__ == name
    assert name in dir(htm_llamaindex)
    assert name in PAGE


def test_importing_the_package_imports_nothing_of_llama_index() -> None:
    code = "import sys, htm_llamaindex; sys.exit(any(name.startswith('llama_index') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_extra_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("llama_index", "htm_llamaindex."))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llama_index", None)
    with pytest.raises(ImportError, match=r"pip install 'htm-memory\[llamaindex\]'"):
        htm_llamaindex.__getattr__("HTMMemory")


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(AttributeError, match="HTMVectorStore"):
        htm_llamaindex.__getattr__("HTMEverything")


NONE: Any = inspect.Parameter.empty
SIGNATURES: dict[str, dict[str, Any]] = {
    "HTMMemory.from_defaults": {
        "session_id": None, "memory": None, "robot": "default", "tenant": "default", "user": None, "url": None,
        "chat_history": None, "token_limit": 30_000, "tokenizer_fn": None,
    },
    "HTMVectorStore": {"collection": "default", "memory": None, "url": None, "tenant": "default", "dim": None},
    "HTMRetriever": {"memory": NONE, "similarity_top_k": 10, "mode": "hybrid"},
    "HTMChatStore": {"memory": None},
    "HTMMemoryBlock": {"memory": None},
    "HTMToolSpec": {"memory": NONE},
}  # fmt: skip
BY_PLACE = {
    "HTMMemory.from_defaults": list(SIGNATURES["HTMMemory.from_defaults"]), "HTMVectorStore": [], "HTMRetriever": ["memory"],
    "HTMChatStore": ["memory"], "HTMMemoryBlock": ["memory"], "HTMToolSpec": ["memory"],
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_is_made_as_is_promised(name: str) -> None:
    of, _, verb = name.partition(".")
    made = getattr(htm_llamaindex, of)
    found = inspect.signature(getattr(made, verb) if verb else made.__init__).parameters
    assert SIGNATURES[name].items() <= {each.name: each.default for each in found.values()}.items()
    by_place = [
        each.name
        for each in found.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD and each.name != "self"
    ]
    assert by_place[: len(BY_PLACE[name])] == BY_PLACE[name]
    assert len(by_place) == len(BY_PLACE[name]) or verb


def test_the_versions_on_the_page_are_those_that_are_admitted() -> None:
    found = re.findall(r"^\| ([\w-]+|Python) \| ([\d.]+) \| ([\d.]+) \| ([\d.]*) *\|$", PAGE, re.M)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [need] = map(Requirement, project["optional-dependencies"]["llamaindex"])
    bounds = {each.operator: each.version for each in need.specifier}
    python = project["requires-python"].removeprefix(">=")
    assert {name: (lowest, below) for name, lowest, _, below in found} == {
        "Python": (python, ""), need.name: (bounds[">="], bounds["<"]),
    }  # fmt: skip
    assert metadata.version(need.name) in need.specifier
    assert all(newest in need.specifier for name, _, newest, _ in found if name == need.name)
