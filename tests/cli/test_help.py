"""Help fits a screen of 80 columns and ends with examples that work; names are completed without importing anything."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from htm_core.cli import app
from htm_core.cli.commands import COMMANDS, INSTEAD, command
from htm_core.cli.help import brief
from tests.cli.conftest import ROOT, bare

SCREEN = 58  # lines


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs the program in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return CliRunner()


def test_the_programs_help_has_one_line_for_each_command(runner: CliRunner) -> None:
    lines = runner.invoke(app, ["--help"]).stdout.splitlines()
    assert {match[1] for line in lines if (match := re.match(r"  (\w+) +\w", line))} == set(
        COMMANDS
    )
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80


def test_the_program_alone_prints_its_help(runner: CliRunner) -> None:
    alone = runner.invoke(app, [], prog_name="htm")
    assert (alone.exit_code, alone.stderr) == (0, "")
    assert alone.stdout == runner.invoke(app, ["--help"], prog_name="htm").stdout
    assert "remember  Remember a text" in alone.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_a_screen_and_shows_each_option_once(
    runner: CliRunner, name: str
) -> None:
    told = runner.invoke(app, [name, "--help"]).stdout
    lines = told.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    assert "<bool>" not in told
    assert "\x1b" not in told
    for each in command(name).params:
        for option in (*each.opts, *each.secondary_opts):
            if option.startswith("--"):
                assert (
                    len(
                        re.findall(
                            rf"^  .*(?<![\w-]){option}(?![\w-])",
                            told.partition("Examples:")[0],
                            re.M,
                        )
                    )
                    >= 1
                )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_are_understood(name: str) -> None:
    assert COMMANDS[name].examples
    for example in COMMANDS[name].examples:
        assert len(example) <= 78
        words = shlex.split(
            example.partition(f"htm {name}")[2]
            .partition(" > ")[0]
            .partition(" | ")[0]
            .partition(" < ")[0]
        )
        assert f"htm {name}" in example
        command(name).make_context(name, words)  # raises for what the command does not understand


def test_options_say_what_they_take_their_default_and_their_range(runner: CliRunner) -> None:
    told = " ".join(runner.invoke(app, ["recall", "--help"]).stdout.split())
    assert "-n, --limit N How many at most. [10; 1 to 1,000]" in told
    assert "--mode hybrid|vector|text" in told
    assert "--hold / --no-hold Take the hits into working memory. [hold]" in told
    assert "$HTM_DATABASE_URL" in told
    assert "embed, tag, propose" in " ".join(runner.invoke(app, ["jobs", "--help"]).stdout.split())


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Remember a text.", "Remember a text"),
        ("Hide a memory in here; restore brings it back.", "Hide a memory in here"),
        (
            "Import transcripts of many kinds (JSON, and others).",
            "Import transcripts of many kinds",
        ),
        (
            "A, a sentence without any clause that ends late enough",
            "A, a sentence without any clause…",
        ),
    ],
)
def test_a_summary_is_cut_after_a_clause_or_a_word(text: str, short: str) -> None:
    assert brief(text, 35) == short


def test_names_and_options_are_completed(runner: CliRunner) -> None:
    def completed(words: str) -> list[str]:
        env = {
            "_HTM_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return runner.invoke(app, [], env=env, prog_name="htm").stdout.split()

    assert completed("htm rei") == ["reindex"]
    assert set(completed("htm re")) == {
        "remember",
        "recall",
        "restore",
        "related",
        "reembed",
        "reindex",
    }
    assert completed("htm recall --ti") == ["--timeframe"]
    assert completed("htm recall --mode v") == ["vector"]
    assert "--install-completion" in completed("htm --inst")


QUICK = """
import os, sys
from typer.testing import CliRunner
import typer.rich_utils
before = set(sys.modules)
from htm_core.cli import app
runner = CliRunner()
assert "recall" in runner.invoke(app, ["--help"]).stdout
env = {"_HTM_COMPLETE": "complete_bash", "COMP_WORDS": "htm rec", "COMP_CWORD": "1"}
assert runner.invoke(app, [], env=env, prog_name="htm").stdout.split() == ["recall"]
print(sorted({"psycopg", "numpy", "langchain_core", "tiktoken", "markdown_it"} & (set(sys.modules) - before)))
"""


def test_the_programs_help_and_completion_import_nothing_of_what_commands_need() -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUICK],
        cwd=ROOT,
        env=bare(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_an_unknown_option_is_answered_with_a_question_and_not_with_a_list_that_reads_as_if_it_were_whole(
    runner: CliRunner,
) -> None:
    told = " ".join(runner.invoke(app, ["recall", "x", "--nope"]).stderr.split())
    assert re.search(r"No such option:? '?--nope'?\. ", told)
    assert "Did you mean --mode or --scope?" in told
    assert "Possible options" not in told
    assert "--help" in told


@pytest.mark.parametrize(
    ("guessed", "instead"),
    [
        ("search", "htm recall"),
        ("get", "htm show"),
        ("delete", "htm forget"),
        ("revise", "--key"),
        ("backup", "htm export"),
    ],
)
def test_a_command_that_one_guesses_is_answered_with_the_one_that_does_it(
    runner: CliRunner, guessed: str, instead: str
) -> None:
    done = runner.invoke(app, [guessed, "x"])
    told = " ".join(done.stderr.replace("\u2502", " ").split())
    assert done.exit_code == 2
    assert f"No such command '{guessed}'. It is" in told
    assert instead in told
    assert "Did you mean" not in told


def test_no_name_that_one_guesses_is_a_command() -> None:
    assert not INSTEAD.keys() & COMMANDS.keys()
    named = {word for said in INSTEAD.values() for word in re.findall(r"htm (\w+)", said)}
    assert named <= COMMANDS.keys()


def test_a_text_without_quotation_marks_is_told_to_have_them(runner: CliRunner) -> None:
    done = runner.invoke(app, ["remember", "buy", "more", "milk"])
    assert done.exit_code == 2
    assert "needs quotation marks" in " ".join(done.stderr.replace("\u2502", " ").split())
