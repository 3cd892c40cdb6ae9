"""The cassettes tell nothing of the machine that they were recorded on, and none is left over."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cassettes.ollama import CASSETTES

TESTS = CASSETTES.parent
PATHS = sorted(CASSETTES.glob("*/*.yaml"))
TELLING = re.compile(
    r"\d{1,3}(\.\d{1,3}){3}|localhost|authorization|api[_-]?key|bearer|user-agent|(?<!ollama)\.local\b",
    re.I,
)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_no_cassette_tells_of_a_machine_or_holds_a_key(path: Path) -> None:
    text = path.read_text()
    assert not TELLING.search(text)
    assert set(re.findall(r"uri: (\S+)", text)) <= {
        "http://ollama/api/chat",
        "http://ollama/api/show",
    }
    assert os.uname().nodename not in text


@pytest.mark.parametrize("adapter", ["langchain", "llamaindex"])
def test_each_cassette_is_played_by_a_test(adapter: str) -> None:
    source = (TESTS / adapter / "test_ollama.py").read_text()
    assert {path.stem for path in PATHS if path.parent.name == adapter} == set(
        re.findall(r"def test_(\w+)\(make: Make, ollama:", source)
    )
