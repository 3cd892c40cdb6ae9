"""The package costs nothing until it is used, and says what it misses."""

from __future__ import annotations

import subprocess
import sys

import htm_langchain


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_it_imports_nothing_of_langchain() -> None:
    code = "import sys, htm_langchain; print([m for m in sys.modules if m.startswith(('langchain', 'langgraph'))])"
    assert run(code) == "[]"


def test_a_missing_extra_is_named() -> None:
    code = """
import sys
sys.modules["langchain"] = None
try:
    from htm_langchain import HTMMemoryMiddleware
except ImportError as error:
    print(error)
from htm_langchain import HTMChatMessageHistory, HTMRetriever
"""
    assert run(code) == (
        "expected langchain to be installed for HTMMemoryMiddleware; run: pip install 'htm-memory[agents]'"
    )


def test_every_public_name_is_there() -> None:
    for name in htm_langchain.__all__:
        assert getattr(htm_langchain, name).__name__ == name
        assert name in dir(htm_langchain)
