"""Every command of the pages that hides or deletes something is run, and does it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from htm_core import Memory, Settings
from htm_core.cli import app
from tests.cli.conftest import models
from tests.conftest import new_database
from tests.docs.markdown import EVERYTHING
from tests.docs.steps import visible
from tests.stand_ins import HashEmbedder

__all__ = ["models"]

TAKE_AWAY = "forget|restore|erase|purge|sweep|tokens revoke"
# As they stand in blocks and in the text; a name alone, such as `htm erase`, is none.
COMMANDS = sorted({
    found[0].strip()
    for page in EVERYTHING
    for found in re.finditer(rf"(?<=[`\n])htm (?:{TAKE_AWAY}) [^`#\n]*|`htm sweep", page.read_text(encoding="utf-8"))
})  # fmt: skip
PLACEHOLDERS = re.compile(r"\b(?:ID_OR_KEY|ID|0199c2)\b")


def option(words: list[str], *names: str) -> str | None:
    """The value of an option in a command; None where it has none of that name."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word in names), None)


def prepare(whose: dict[str, Any], *, is_forgotten: bool) -> str:
    """Make a memory, perhaps forgotten, and another one that has expired; gives the id of the first."""
    with Memory(
        "atlas", **whose, embedder=HashEmbedder(), settings=Settings(worker="off")
    ) as memory:
        node = memory.remember("The code of the gate is 4711.")
        memory.remember(
            "The parcel is here.", at=datetime.now(UTC) - timedelta(days=90), ttl=timedelta(days=1)
        )
        if is_forgotten:
            memory.forget(node.id)
        return node.id


def test_the_pages_have_such_commands() -> None:
    assert {
        "htm erase --tenant harbour --user lena --yes",
        "`htm sweep",
        "htm tokens revoke laptop",
    } <= set(COMMANDS)


@pytest.fixture(scope="module")
def memories(database_url: str) -> Iterator[str]:
    """The DSN of a database for all commands."""
    with new_database(database_url) as dsn:
        yield dsn


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_takes_something_away_does_so(
    command: str, memories: str, models: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTM_DATABASE_URL", memories)

    def htm(*words: str) -> str:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{words}: {done.stderr}"
        return done.stdout

    words = shlex.split(command.removeprefix("`"))[1:]
    tenant = option(words, "--tenant", "--whole-tenant") or "default"
    whose = {
        "tenant": tenant,
        "user": option(words, "--user"),
        "session": option(words, "--session"),
    }
    id = prepare(whose, is_forgotten=words[0] in ("restore", "purge"))
    with psycopg.connect(memories) as connection:  # and it was long ago
        connection.execute(
            "update htm.mentions set forgotten_at = forgotten_at - interval '90 days'"
        )
    words = [PLACEHOLDERS.sub(id, word) for word in words]
    if words[0] == "tokens":
        htm("tokens", "create", words[-1])
        htm(*words)
        assert json.loads(htm("tokens", "list", "--json")) == []
        return
    before = visible()
    htm(*words)
    assert visible() > before if words[0] == "restore" else visible() < before
