"""The package imports nothing before it is used, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import htm_llamaindex


@pytest.mark.parametrize("name", htm_llamaindex.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(htm_llamaindex, name).__name__ == name
    assert name in dir(htm_llamaindex)


def test_importing_the_package_imports_nothing_of_llama_index() -> None:
    code = "import sys, htm_llamaindex; sys.exit(any(name.startswith('llama_index') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_extra_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("llama_index", "htm_llamaindex."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llama_index", None)
    with pytest.raises(ImportError, match=r"pip install 'htm-memory\[llamaindex\]'"):
        htm_llamaindex.__getattr__("HTMMemory")


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(AttributeError, match="HTMVectorStore"):
        htm_llamaindex.__getattr__("HTMEverything")
