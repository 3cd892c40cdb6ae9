"""docs/cli.md names every command, and each option under its command or among those in common."""

from __future__ import annotations

import re

import pytest

from htm_core.cli import commands
from htm_core.cli.commands import command
from tests.cli.conftest import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text()
COMMANDS = {name: command(name) for name in commands.COMMANDS}


def section(title: str) -> str:
    """What stands below a heading, up to the next."""
    return re.split(r"^#+ ", PAGE.partition(f"{title}\n")[2], maxsplit=1, flags=re.M)[0]


def options(name: str) -> set[str]:
    return {
        word
        for each in COMMANDS[name].params
        for word in (*each.opts, *each.secondary_opts)
        if word.startswith("-")
    }


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    told = section(f"### htm {name}") + section("## Options in common")
    assert section(f"### htm {name}").strip()
    assert {word for word in options(name) if f"`{word}" not in told} == set()


def test_no_command_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"^### htm (\w+)", PAGE, re.M)) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_option_is_documented_that_does_not_exist(name: str) -> None:
    assert set(
        re.findall(r"^\| `(-[\w-]+)`(?:, `(-[\w-]+)`)?", section(f"### htm {name}"), re.M)
    ) <= {(first, second) for first in options(name) for second in {"", *options(name)}}


def test_the_commands_that_were_promised_are_there() -> None:
    promised = "demo ask import remember recall context timeline forget restore purge stats worker reembed migrate doctor"
    assert {*promised.split(), "setup"} <= set(COMMANDS)
