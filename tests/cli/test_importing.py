"""Importing: run twice, imported once; interrupted, it goes on; broken, nothing came of it."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory
from htm_core.cli import importing
from tests.cli.conftest import Htm
from tests.stand_ins import HashEmbedder

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
COUNTS = ("imported", "changed", "known", "skipped")


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A transcript of 25 turns, two of which say the same words."""
    return write(tmp_path / "talk.jsonl", [turn(n) for n in range(24)] + [turn(0)])


def turn(n: int, **more: Any) -> dict[str, Any]:
    return {"session": "june", "role": "user", "name": "Ines", "content": f"Turn number {n}."} | more


def write(file: Path, turns: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(each) + "\n" for each in turns))
    return file


def counts(htm: Htm, *words: object) -> tuple[int, ...]:
    """What an import says became of one file."""
    [file] = htm("import", *words, "--json").json["files"]
    return tuple(file[name] for name in COUNTS)


def test_run_twice_it_is_imported_once(htm: Htm, talk: Path) -> None:
    assert counts(htm, talk) == (25, 0, 0, 0)
    assert counts(htm, talk) == (0, 0, 25, 0)
    stats = htm("stats", "--json").json
    assert (stats["mentions"], stats["nodes"], stats["vectors"], stats["pending_jobs"]) == (25, 24, 24, 0)


def test_a_file_that_has_grown_adds_what_is_new(htm: Htm, talk: Path) -> None:
    counts(htm, talk)
    with talk.open("a") as file:
        file.write(json.dumps(turn(99)) + "\n")
    assert counts(htm, talk) == (1, 0, 25, 0)


def test_interrupted_it_goes_on_where_it_was(htm: Htm, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    remember, calls = Memory.remember_many, []

    def stopping(self: Memory, drafts: Any) -> Any:
        calls.append(len(drafts))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return remember(self, drafts)

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "remember_many", stopping)
        assert htm("import", talk).code == 130
    assert counts(htm, talk) == (15, 0, 10, 0)


def test_a_turn_that_says_something_else_under_its_id_is_changed(htm: Htm, tmp_path: Path) -> None:
    file = write(tmp_path / "talk.jsonl", [turn(1, id="a"), turn(2, id="b")])
    assert counts(htm, file) == (2, 0, 0, 0)
    write(file, [turn(1, id="a"), turn(3, id="b")])
    assert counts(htm, file) == (0, 1, 1, 0)
    assert [each["content"] for each in htm("timeline", "--json").json] == ["Turn number 1.", "Turn number 3."]


def test_a_broken_line_is_named_and_nothing_of_any_file_is_imported(htm: Htm, talk: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"content": "fine"}\n{"content": \n')
    done = htm("import", talk, broken)
    assert done.code == 2
    assert "broken.jsonl, line 2" in done.err
    assert htm("timeline").code == 3


def test_what_is_left_out_is_counted_with_its_reason(htm: Htm, tmp_path: Path) -> None:
    file = write(tmp_path / "talk.jsonl", [turn(1), turn(2, content="  "), turn(3, content=None)])
    [told] = htm("import", file, "--json").json["files"]
    assert (told["imported"], told["skipped"], told["reasons"]) == (1, 2, {"no text in it": 2})
    assert "no text in it (2)" in htm("import", file).out


@pytest.mark.parametrize("file", sorted(FIXTURES.iterdir()), ids=lambda file: file.name)
def test_every_kind_of_transcript_is_imported(htm: Htm, file: Path) -> None:
    [told] = htm("import", file, "--json").json["files"]
    assert told["imported"] == told["turns"] > 0
    assert counts(htm, file)[2] == told["turns"]


def test_a_transcript_comes_through_stdin_in_the_format_that_is_named(htm: Htm) -> None:
    done = htm("import", "-", "--format", "text", "--json", input="Ines: good morning\nJonas: hello\n")
    assert done.json["files"][0]["imported"] == 2
    assert [each["name"] for each in htm("timeline", "--json").json] == ["Ines", "Jonas"]


def test_a_long_file_is_read_line_by_line_with_the_same_outcome(
    htm: Htm, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts(htm, talk)
    monkeypatch.setattr(importing, "LONG_FILE", 10)
    assert counts(htm, talk) == (0, 0, 25, 0)


def test_without_waiting_the_vectors_are_owed(htm: Htm, talk: Path) -> None:
    apart = ("--embedder", f"apart-{uuid.uuid4().hex[:8]}")  # a model that no other test's worker knows
    done = htm("import", talk, "--no-wait", *apart)
    assert done.code == 0
    assert "htm worker" in done.err
    assert htm("stats", "--json", *apart).json["pending_jobs"] == 24


def test_a_model_that_is_down_does_not_keep_an_import_up(htm: Htm, talk: Path, models: dict[str, HashEmbedder]) -> None:
    name = f"away-{uuid.uuid4().hex[:8]}"
    models[name] = HashEmbedder(name=name)
    models[name].down = True
    done = htm("import", talk, "--embedder", name)
    assert done.code == 0
    assert "by their words only" in done.err
    assert htm("recall", "turn number 7", "--json", "--embedder", name).json["hits"][0]["content"] == "Turn number 7."


def test_what_a_user_imports_is_theirs(htm: Htm, talk: Path) -> None:
    counts(htm, talk, "--user", "ines")
    assert htm("recall", "turn", "--user", "jonas").code == 3
    assert counts(htm, talk, "--user", "jonas") == (25, 0, 0, 0)
