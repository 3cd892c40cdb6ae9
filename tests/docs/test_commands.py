"""Every command of the pages that hides or deletes something is run, and does it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import new_database
from tests.docs.markdown import EVERYTHING, ROOT
from tests.docs.steps import visible

TAKE_AWAY = "forget|restore|erase|purge|sweep|tokens revoke"
# As they stand in blocks and in the text; a name alone, such as `htm erase`, is none.
COMMANDS = sorted({
    found[0].strip()
    for page in EVERYTHING
    for found in re.finditer(rf"(?<=[`\n])htm (?:{TAKE_AWAY}) [^`#\n]*|`htm sweep", page.read_text(encoding="utf-8"))
})  # fmt: skip
# A memory, perhaps forgotten, and another one that has expired.
PREPARE = """
import json, sys
from datetime import UTC, datetime, timedelta
from htm_core import Memory, Settings

with Memory("atlas", **json.loads(sys.argv[1]), settings=Settings(worker="off")) as memory:
    node = memory.remember("The code of the gate is 4711.")
    memory.remember("The parcel is here.", at=datetime.now(UTC) - timedelta(days=90), ttl=timedelta(days=1))
    if sys.argv[2] == "True":
        memory.forget(node.id)
    print(node.id)
"""
PLACEHOLDERS = re.compile(r"\b(?:ID_OR_KEY|ID|0199c2)\b")


def option(words: list[str], *names: str) -> str | None:
    """The value of an option in a command; None where it has none of that name."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word in names), None)


def test_the_pages_have_such_commands() -> None:
    assert {"htm erase --tenant harbour --user lena --yes", "`htm sweep", "htm tokens revoke laptop"} <= set(COMMANDS)


@pytest.fixture(scope="module")
def memories(database_url: str) -> Iterator[str]:
    """The DSN of a database for all commands."""
    with new_database(database_url) as dsn:
        yield dsn


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_takes_something_away_does_so(
    command: str, memories: str, weights_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTM_DATABASE_URL", memories)
    own = {"HTM_HOME": str(tmp_path), "HTM_MODEL_DIR": str(weights_dir), "PYTHONPATH": str(ROOT)}

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, **own},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def htm(*words: str) -> str:
        return python("-m", "htm_core.cli", *words)

    words = shlex.split(command.removeprefix("`"))[1:]
    tenant = option(words, "--tenant", "--whole-tenant") or "default"
    whose = {"tenant": tenant, "user": option(words, "--user"), "session": option(words, "--session")}
    id = python("-c", PREPARE, json.dumps(whose), str(words[0] in ("restore", "purge"))).strip()
    with psycopg.connect(memories) as connection:  # and it was long ago
        connection.execute("update htm.mentions set forgotten_at = forgotten_at - interval '90 days'")
    words = [PLACEHOLDERS.sub(id, word) for word in words]
    if words[0] == "tokens":
        htm("tokens", "create", words[-1])
        htm(*words)
        assert json.loads(htm("tokens", "list", "--json")) == []
        return
    before = visible()
    htm(*words)
    assert visible() > before if words[0] == "restore" else visible() < before
