"""A new database for each page, and the real model, so that examples run as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from htm_core import ModelError
from htm_core.models.minilm import weights
from tests.docs.markdown import ROOT

MISSED = "missed.json"  # what a page did not run, written beside it
Run = Callable[[str, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def weights_dir() -> Path:
    """The folder of the embedded model's weights; downloaded into the user's cache if there is none."""
    found = weights.find()
    if found is not None:
        return found
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "htm-memory-tests"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_HOME", str(cache))
        patch.delenv("HTM_MODEL_FETCH", raising=False)
        try:
            return weights.fetch()
        except ModelError as error:
            pytest.skip(f"the examples need the embedded model: {error}")


@pytest.fixture
def run(empty_database: str, weights_dir: Path, tmp_path: Path) -> Run:
    """A function that runs a page's program in a new process, with an empty database and the real model."""

    def run_page(source: str, page: Path) -> subprocess.CompletedProcess[str]:
        script = tmp_path / f"page_{page.stem}.py"  # its line numbers are the page's
        script.write_text(source, encoding="utf-8")
        own = {
            "HTM_DATABASE_URL": empty_database,
            "HTM_HOME": str(tmp_path),
            "HTM_MODEL_DIR": str(weights_dir),
        }
        environment = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
        command = [
            sys.executable,
            str(ROOT / "tests" / "docs" / "steps.py"),
            str(script),
            str(tmp_path / MISSED),
        ]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240
        )

    return run_page
