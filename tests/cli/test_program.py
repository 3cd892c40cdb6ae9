"""The program: exit codes, one-line messages, no traceback, quiet pipes, and JSON that parses."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import htm_core
from htm_core.cli import exit_codes
from htm_core.db.database import Database
from htm_core.models.minilm import weights
from tests.cli.conftest import ROOT, Htm, bare


def test_the_installed_script_is_this_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["htm"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_version_is_the_packages(process: Htm) -> None:
    from htm_core import __version__

    assert process("--version").out.strip() == f"htm {__version__}"


@pytest.mark.parametrize(
    "words",
    [
        ("recall",),
        ("recal", "x"),
        ("recall", "x", "--mode", "psychic"),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--where", "{a"),
        ("recall", "x", "--where", "[1]"),
        ("purge", "--older-than", "1d"),
        ("erase", "--user", "ines"),
        ("erase", "--yes"),
        ("reembed",),
    ],
    ids=" ".join,
)
def test_a_mistake_of_usage_exits_with_2_and_no_traceback(
    main: Htm, words: tuple[str, ...]
) -> None:
    done = main(*words)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "x", "--timeframe", "when pigs fly"),
        ("recall", "x", "--tags", "::"),
        ("recall", "x", "--embedder", "psychic"),
        ("remember", "x", "--at", "2026-01-01T00:00:00"),
        ("remember", "x", "--at", "yesterday"),
        ("remember", "", "--no-wait"),
        ("purge", "--older-than", "a while", "--yes"),
        ("context", "--order", "random"),
        ("import", "no-such-file.jsonl"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_exits_with_2_and_one_line_that_says_why(
    main: Htm, words: tuple[str, ...]
) -> None:
    done = main(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("htm: ")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [("recall", "x", "--where", "{a"), ("remember", "x", "--at", "yesterday")],
    ids=" ".join,
)
def test_a_process_of_its_own_says_the_same_of_a_mistake_to_the_last_byte(
    main: Htm, process: Htm, words: tuple[str, ...]
) -> None:
    """One of either kind: nothing is added while an interpreter starts or ends."""
    assert process(*words) == main(*words)


def test_a_database_that_is_away_exits_with_1_and_keeps_the_password_to_itself(
    process: Htm,
) -> None:
    url = "postgresql://ines:secret@127.0.0.1:1/nowhere?connect_timeout=2"
    done = process("stats", "--url", url, "--json")
    assert (done.code, done.out) == (1, "")
    assert "htm: " in done.err
    assert "secret" not in done.err
    assert "Traceback" not in done.err
    debugged = process("stats", "--url", url, "--debug")
    assert debugged.code == 1
    assert "Traceback" in debugged.err


def test_without_a_model_words_answer_and_stderr_says_so(process: Htm, tenant: str) -> None:
    assert process("remember", "The dog is called Biscuit.", "--tenant", tenant, "--json").code == 0
    done = process("recall", "dog", "--tenant", tenant)
    assert done.code == 0
    assert "Biscuit" in done.out
    assert "Only words were searched" in done.err
    found = process("recall", "dog", "--tenant", tenant, "--json").json
    assert found["hits"][0]["content"] == "The dog is called Biscuit."
    assert found["degraded"]
    vectors = process("recall", "dog", "--tenant", tenant, "--mode", "vector")
    assert (vectors.code, vectors.out) == (1, "")


def test_what_is_piped_has_no_colours_nor_escapes(process: Htm, tenant: str) -> None:
    process("remember", "A \x1b[31m red \x1b[0m word.", "--tenant", tenant, "--no-wait")
    done = process("recall", "red", "--tenant", tenant, "--mode", "text")
    assert "red" in done.out
    assert "\x1b" not in done.out
    assert (
        "\x1b" not in process("recall", "red", "--tenant", tenant, "--mode", "text", "--json").out
    )


@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "table"])
def test_a_pipe_whose_reader_has_gone_ends_it_quietly(
    process: Htm, tenant: str, form: list[str]
) -> None:
    assert process("remember", "Somebody said this.", "--tenant", tenant, "--no-wait").code == 0
    command = [sys.executable, "-m", "htm_core.cli", "timeline", "--tenant", tenant, *form]
    with subprocess.Popen(
        command, cwd=ROOT, env=bare(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 141


def test_ctrl_c_ends_a_command_with_130_and_no_traceback(environment: None, tmp_path: Path) -> None:
    pipe = tmp_path / "talk.jsonl"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "htm_core.cli", "import", str(pipe)],
            cwd=ROOT,
            env=bare(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # As from a terminal: what runs in the background of a script is started deaf to it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as running,
        pipe.open("wb"),
    ):  # opened once the command reads it, where it stays
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b"")
    assert b"Traceback" not in err


LAST_INSTANT = """
import os, signal, sys
from htm_core.cli import main

class Last:
    def __del__(self, kill=os.kill, me=os.getpid(), number=signal.SIGINT):  # while the interpreter is taken down
        kill(me, number)

sys.last = Last()
sys.argv = ["htm", "--version"]
main()
"""


def test_ctrl_c_once_all_is_done_changes_nothing(environment: None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAST_INSTANT],
        cwd=ROOT,
        env=bare(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"htm {htm_core.__version__}\n", "")


def test_an_interrupt_in_the_middle_of_an_import_ends_nothing_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What opens memories may be imported in part then, or not at all: there is nothing to close."""
    monkeypatch.delattr(htm_core, "shutdown", raising=False)
    monkeypatch.setitem(sys.modules, "htm_core.memory.process", None)  # importing it fails
    exit_codes._shut_down()
    monkeypatch.delitem(sys.modules, "htm_core.memory.process")
    exit_codes._shut_down()
    assert "htm_core.memory.process" not in sys.modules


BUSY = """
import sys, threading
from htm_core.cli import main, options
from htm_core.models.embedders import resolve

class Busy:
    model = "busy"
    def embed_documents(self, texts):
        print("embedding", file=sys.stderr, flush=True)
        threading.Event().wait(60)  # a batch that nobody can stop
        return [[1.0, 2.0, 3.0] for _ in texts]
    def embed_query(self, text):
        return [1.0, 2.0, 3.0]

options.resolve = lambda spec: resolve(Busy())
main()
"""
EMBEDDED = """
import sys
from htm_core.cli import main
from htm_core.models.minilm.model import MiniLM

run = MiniLM._run

def told(self, ids):
    print("embedding", file=sys.stderr, flush=True)
    return run(self, ids)

MiniLM._run = told
main()
"""


@pytest.mark.parametrize("program", ["stand-in", "embedded"])
def test_ctrl_c_while_it_embeds_ends_it_within_a_second_and_nothing_is_lost(
    environment: None,
    database: Database,
    tenant: str,
    tmp_path: Path,
    program: str,
    request: pytest.FixtureRequest,
) -> None:
    talk, variables = tmp_path / "talk.jsonl", bare()
    if program == "embedded":
        request.getfixturevalue("real_embedder")
        variables["HTM_MODEL_DIR"] = str(weights.find())
    talk.write_text(
        '{"role": "user", "content": "I like tea."}\n{"role": "user", "content": "I like coffee."}\n'
    )
    with talk.open("a") as more:  # so that the embedded model has work for a while
        more.writelines(
            f'{{"role": "user", "content": "{n} {"words of a garden " * 50}"}}\n' for n in range(90)
        )
    with subprocess.Popen(
        [sys.executable, "-c", {"stand-in": BUSY, "embedded": EMBEDDED}[program], "import", str(talk), "--tenant", tenant],
        cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:  # fmt: skip
        assert running.stderr is not None
        while "embedding" not in running.stderr.readline():
            assert running.poll() is None
        interrupted = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        took = time.monotonic() - interrupted
    assert running.returncode == 130
    assert took < 15  # less than a second where nothing else runs, and a batch takes a minute
    assert "Traceback" not in err
    assert "terminate called" not in err
    with database.transaction(tenant) as connection:
        said = connection.execute(
            "select content from nodes where tenant = this_tenant()"
        ).fetchall()
        jobs = connection.execute(
            "select 1 from jobs where tenant = this_tenant() and kind = 'embed'"
        ).fetchall()
    assert {"I like coffee.", "I like tea."} < {row["content"] for row in said}
    assert len(said) == 92
    assert len(jobs) == 92 if program == "stand-in" else len(jobs) > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_worker_ends_well_when_it_is_told_to(process: Htm, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "htm_core.cli", "worker"],
        cwd=ROOT,
        env=bare(),
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        while "Working for" not in running.stderr.readline():
            assert running.poll() is None
        os.kill(running.pid, number)
        assert running.wait(60) == 0
        assert "Traceback" not in running.stderr.read()
