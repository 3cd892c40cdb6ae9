"""The real weights, fetched once per machine, for the tests that run the embedded model."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM


@pytest.fixture(scope="session")
def weights_dir() -> Path:
    """Where the weights lie; fetched into the user's cache on a fresh machine."""
    found = weights.find()
    if found is not None:
        return found
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "htm-memory-tests"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_HOME", str(cache))
        patch.delenv("HTM_MODEL_FETCH", raising=False)
        return weights.fetch()


@pytest.fixture(scope="session")
def minilm(weights_dir: Path) -> MiniLM:
    """The embedded model, loaded once."""
    return MiniLM(weights_dir)


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which nothing was fetched or installed yet; gives its HTM_HOME."""
    monkeypatch.setenv("HTM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HTM_MODEL_DIR", raising=False)
    monkeypatch.delenv("HTM_MODEL_FETCH", raising=False)
    monkeypatch.setattr(weights, "PACKAGE", "a_package_that_nobody_installed")
    monkeypatch.setattr(weights, "_failed", None)
    return tmp_path / "home"


@pytest.fixture
def in_a_fork() -> Callable[[Callable[[], bool]], bool]:
    """Run a check in a forked process, which is ended if it hangs."""

    def run(check: Callable[[], bool]) -> bool:
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                os._exit(0 if check() else 1)
            finally:
                os._exit(2)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return run
