"""The Tab key completes what is stored: quickly, silently, and never with what a shell would run."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from htm_core.cli import app, completion
from htm_core.cli.commands import COMMANDS, command
from tests.cli.conftest import ROOT, Htm, bare

HOSTILE = (
    "$(touch pwned)",
    "a b",
    "a'b",
    'a"b',
    "`id`",
    "a;b",
    "~root",
    "-rf",
    "a\\b",
    "a|b",
    "a&b",
    "a\tb",
)
WORD = "\\$(touch pwned) `id` ' \" ; | & \x1b[31m"
# What a new mention is called is not known before.
NEW = {("remember", "id")}


class Tab:
    """What a shell is told when somebody presses the key at the end of a line."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant

    def __call__(self, line: str, *, shell: str = "bash") -> str:
        command, _, rest = line.partition(" ")
        words = f"htm {command} --tenant {self.tenant} {rest}"
        count = str(len(words.split(" ")) - 1)
        env = {
            "_HTM_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": words,
            "COMP_CWORD": count,
            "_TYPER_COMPLETE_ARGS": words,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        done = CliRunner().invoke(app, [], env=env, prog_name="htm")
        assert done.stderr == ""
        return done.stdout

    def words(self, line: str) -> list[str]:
        return self(line).split()


@pytest.fixture
def tab(environment: None, tenant: str) -> Tab:
    return Tab(tenant)


def test_ids_keys_sessions_and_robots_are_completed(htm: Htm, tab: Tab) -> None:
    words = ("--no-wait", "--json", "--robot", "atlas", "--session", "june-trip")
    first = htm("remember", "I live in Rome.", "--key", "home", *words).json["id"]
    second = htm("remember", "I walk.", *words).json["id"]
    for line in ("show", "tags add", "changes list"):
        assert tab.words(f"{line} {first[:4]}") == [first[:8]], line
    assert tab.words(f"link {first[:8]} {second[:5]}") == [second[:8]]
    assert tab.words(f"show {first[:10]}") == [first]
    assert tab.words("show ho") == tab.words("erase --key ho") == ["home"]
    assert tab.words("timeline --session ju") == ["june-trip"]
    assert set(tab.words("timeline --by ")) >= {"atlas"}
    assert tab.words("recall --robot at") == ["atlas"]
    mention = htm("timeline", "--json").json[0]["id"]
    assert mention[:8] in tab.words(f"timeline --before {mention[:4]}")
    job = htm("jobs", "--json").json[0]["id"]
    assert tab.words(f"jobs retry {job[:5]}") == [job[:8]]
    assert "I live in Rome." in tab(f"show {first[:4]}", shell="fish")


def test_each_argument_that_takes_an_id_a_key_a_session_or_a_robot_is_completed() -> None:
    takes = {"ID", "ID_OR_KEY", "ROBOT"}
    for name in COMMANDS:
        for each in command(name).params:
            if each.name in ("session", "robot", "key") or str(each.metavar).strip("[].") in takes:
                assert each._custom_shell_complete is not None or (name, each.name) in NEW, (
                    name,
                    each.name,
                )


def test_only_what_the_user_sees_is_completed(htm: Htm, tab: Tab) -> None:
    htm("remember", "Mine.", "--user", "ann", "--key", "home", "--no-wait")
    assert tab.words("show --user ann ho") == ["home"]
    assert tab.words("show --user bob ho") == tab.words("show ho") == []


def test_nothing_is_shown_that_means_something_to_a_shell(htm: Htm, tab: Tab) -> None:
    """What zsh is given it evaluates; and a word is put into the line as it is, where Enter runs it."""
    for number, name in enumerate(HOSTILE):
        assert (
            htm(
                "remember",
                f"{number} {WORD}",
                "--no-wait",
                "--key",
                name,
                "--session",
                name,
                "--robot",
                name,
            ).code
            == 0
        )
    htm("remember", WORD, "--no-wait", "--key", "plain", "--session", "plain")
    assert tab.words("show ") == ["plain"]
    assert tab.words("timeline --session ") == ["plain"]
    assert tab.words("timeline --robot ") == ["default"]
    for shell in ("zsh", "fish"):
        told = tab("show ", shell=shell)
        assert "plain" in told
        assert not re.search(r"[$`\\;&|\x1b]", told), told
        assert told.count("'") in (0, 2)


def test_a_server_that_does_not_answer_is_left_in_time_and_without_a_word(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        assert (
            tab(f"show --url postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/x ho").strip()
            == ""
        )
        assert time.monotonic() - begun < 5
    assert tab("show --url nonsense ho").strip() == ""


def test_no_server_is_made_and_the_process_ends_at_once(tmp_path: Path) -> None:
    """As a process of its own, where there is no database yet."""
    env = {name: value for name, value in bare().items() if name != "HTM_DATABASE_URL"}
    env |= {
        "HTM_HOME": str(tmp_path / "home"),
        "_HTM_COMPLETE": "complete_bash",
        "COMP_WORDS": "htm show ho",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-m", "htm_core.cli"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
    assert not os.path.exists(tmp_path / "home")
