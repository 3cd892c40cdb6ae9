"""The command line as a test runs it: in this process with a stand-in for the model, or as a process of its own."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from htm_core.cli import app, options
from htm_core.cli import main as program
from htm_core.memory import process as this_process
from htm_core.models.embedders import CheckedEmbedder, resolve
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its one JSON document; a command that printed none says why on stderr."""
        assert self.out.strip(), (
            f"expected JSON on stdout, got nothing: exit code {self.code}, stderr: {self.err}"
        )
        return json.loads(self.out)


Htm = Callable[..., Answer]


@pytest.fixture
def environment(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server under test, and a terminal of a known width."""
    if url:
        monkeypatch.setenv("HTM_DATABASE_URL", url)
    if owner := os.environ.get("HTM_TEST_OWNER_URL"):
        monkeypatch.setenv("HTM_MIGRATE_URL", owner)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, HashEmbedder]]:
    """Stand-ins for the models that --embedder names, made when they are asked for.

    `htm worker` keeps its models until its process ends. Here that is the process of the next tests too, whose models have the
    same names: so they are taken from it afterwards.
    """
    made: dict[str, HashEmbedder] = {}

    def stand_in(spec: str | None) -> CheckedEmbedder:
        name = (spec or "hash").removeprefix(
            "HashEmbedder:"
        )  # the name that is stored with its vectors
        return resolve(made.setdefault(name, HashEmbedder(name=name)))

    monkeypatch.setattr(options, "resolve", stand_in)
    yield made
    names = {resolve(each).name for each in made.values()}
    for runtime in list(this_process._runtimes.values()):
        if runtime.database.settings != SETTINGS:  # those of the commands
            for kind, model in runtime.worker.lanes:
                if model in names:
                    runtime.worker.clients.remove(kind, model)


@pytest.fixture
def htm(environment: None, models: dict[str, HashEmbedder], tenant: str) -> Htm:
    """Runs a command in this process, for this test's tenant where it takes one."""
    runner = CliRunner()
    whole = ("setup", "migrate", "worker", "cells")

    def run(command: str, *arguments: object, input: str | None = None) -> Answer:
        words = [command, *map(str, arguments)]
        if command not in whole and "--tenant" not in words:
            words += ["--tenant", tenant]
        result = runner.invoke(app, words, input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def process(environment: None) -> Htm:
    """Runs a command as a process of its own, without any model to be had."""

    def run(*arguments: object, input: str | None = None) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "htm_core.cli", *map(str, arguments)],
            cwd=ROOT, env=bare(), input=input, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def main(
    environment: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Htm:
    """Runs the whole program in this process, as a process of its own would, without any model to be had.

    For what is refused: the half second that another interpreter needs for its imports is spared.
    """
    for name in os.environ.keys() - bare().keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTM_MODEL_FETCH", "off")

    def run(*arguments: object, input: str | None = None) -> Answer:
        assert input is None, (
            "expected a command that reads nothing; a process of its own has an input"
        )
        thresholds = gc.get_threshold()
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["htm", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                program()
        gc.set_threshold(*thresholds)
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out, err)

    return run


def bare() -> dict[str, str]:
    """The environment of a process for which the embedded model is out of reach."""
    hidden = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HTM_MODEL_DIR", "HTM_DEBUG")
    }
    return {**hidden, "HTM_MODEL_FETCH": "off", "PYTHONPATH": str(ROOT)}
