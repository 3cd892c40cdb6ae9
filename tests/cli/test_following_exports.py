"""A conversation is followed: what was taken back in it since goes, what is new comes, and an older file changes nothing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from htm_core.cli import hook as hook_module
from htm_core.cli.options import CommonOptions
from tests.cli.conftest import Htm
from tests.conftest import Make
from tests.rules.test_conversation_trees import (
    START,
    chatgpt,
    claude,
    claude_code,
    event,
    line,
    minute,
    said,
)

# The second message of the user was edited: 2 and its answer 3 became 4 and 5.
OLDER: list[int | None] = [None, 0, 1, 2]
NEWER: list[int | None] = [None, 0, 1, 2, 1, 4]


def exported(
    file: Path, kind: str, parents: list[int | None], *, current: str | None = None
) -> Path:
    if kind == "chatgpt":
        file.write_text(json.dumps([chatgpt(parents, current=current or f"n{len(parents) - 1}")]))
    elif kind == "claude":
        file.write_text(json.dumps([claude(parents, current=current)]))
    else:
        file.write_text("".join(json.dumps(each) + "\n" for each in claude_code(parents)))
    return file


def words(htm: Htm) -> list[str]:
    done = htm("timeline", "--json")
    return [] if done.code == 3 else [each["content"] for each in done.json]


def report(htm: Htm, *given: object) -> dict[str, Any]:
    [told] = htm("import", *given, "--no-wait", "--json").json["files"]
    return dict(told)


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "claude-code"])
def test_a_newer_file_takes_back_what_was_edited_away_and_an_older_one_after_it_changes_nothing(
    htm: Htm, tmp_path: Path, kind: str
) -> None:
    old, new = (
        exported(tmp_path / "old.json", kind, OLDER),
        exported(tmp_path / "new.json", kind, NEWER),
    )
    now = [f"Words {n}." for n in (0, 1, 4, 5)]
    assert report(htm, old, "--format", kind)["imported"] == 4
    dry = report(htm, new, "--format", kind, "--dry-run")
    assert (dry["imported"], dry["taken_back"]) == (2, 2)
    assert len(words(htm)) == 4
    told = report(htm, new, "--format", kind)
    assert (told["imported"], told["known"], told["taken_back"]) == (2, 2, 2)
    assert words(htm) == now
    assert htm("recall", "Words 2.", "--mode", "text", "--json").code in (0, 3)
    for file in (old, new, old):
        told = report(htm, file, "--format", kind)
        assert (told["imported"], told["taken_back"]) == (0, 0)
        assert words(htm) == now


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "claude-code"])
def test_an_older_file_that_comes_after_a_newer_one_brings_back_nothing(
    htm: Htm, tmp_path: Path, kind: str
) -> None:
    report(htm, exported(tmp_path / "new.json", kind, NEWER), "--format", kind)
    before = words(htm)
    told = report(htm, exported(tmp_path / "old.json", kind, OLDER), "--format", kind)
    assert told["imported"] == 0
    assert told["reasons"] == {"not in what is known of its conversation, which is newer": 2}
    assert words(htm) == before == [f"Words {n}." for n in (0, 1, 4, 5)]


def test_a_branch_that_is_shown_again_comes_back_and_what_a_user_forgot_does_not(
    htm: Htm, tmp_path: Path
) -> None:
    file = tmp_path / "c.json"
    report(htm, exported(file, "chatgpt", OLDER))
    report(htm, exported(file, "chatgpt", NEWER))
    [first] = [each["id"] for each in htm("list", "--json").json if each["content"] == "Words 0."]
    htm("forget", first)
    told = report(htm, exported(file, "chatgpt", NEWER, current="n3"))
    assert told["taken_back"] == 2
    assert words(htm) == [f"Words {n}." for n in (1, 2, 3)]


def test_a_message_that_is_gone_from_an_export_goes_and_a_conversation_that_is_not_in_it_stays(
    htm: Htm, tmp_path: Path
) -> None:
    file = tmp_path / "c.json"
    other = chatgpt([None], current="n0") | {"conversation_id": "other"}
    file.write_text(json.dumps([chatgpt([None, 0, 1, 2], current="n3"), other]))
    report(htm, file)
    value = chatgpt(
        [None, 0, 1, 1], current="n3"
    )  # the answer to message 1 is gone with all that was before message 3
    del value["mapping"]["n2"]
    file.write_text(json.dumps([value]))
    assert report(htm, file)["taken_back"] == 1
    assert sorted(words(htm)) == ["Words 0.", "Words 0.", "Words 1.", "Words 3."]


def test_the_same_words_that_were_said_elsewhere_stay(htm: Htm, tmp_path: Path) -> None:
    report(htm, exported(tmp_path / "c.json", "chatgpt", OLDER))
    htm("remember", "Words 2.", "--session", "elsewhere")
    report(htm, exported(tmp_path / "c.json", "chatgpt", NEWER))
    assert "Words 2." in words(htm)


def test_a_conversation_that_is_marked_later_as_not_to_be_remembered_goes(
    htm: Htm, tmp_path: Path
) -> None:
    file = exported(tmp_path / "c.json", "chatgpt", OLDER)
    report(htm, file)
    file.write_text(json.dumps([chatgpt(OLDER, current="n3") | {"is_do_not_remember": True}]))
    done = htm("import", file, "--no-wait")
    assert done.code == 0
    assert "taken back 4" in done.out
    assert "marked as not to be remembered (1)" in done.out
    assert words(htm) == []


def test_turns_of_codex_that_were_rolled_back_go(htm: Htm, tmp_path: Path) -> None:
    meta = {"timestamp": START.isoformat(), "type": "session_meta", "payload": {"id": "s"}}
    lines = [
        meta,
        said(1, "user", "One."),
        said(2, "assistant", "1"),
        said(3, "user", "Two."),
        said(4, "assistant", "2"),
    ]
    file = tmp_path / "rollout.jsonl"
    for _ in range(2):
        file.write_text("".join(json.dumps(each) + "\n" for each in lines))
        told = report(htm, file, "--format", "codex")
        lines += [event(5, type="thread_rolled_back", num_turns=1), said(6, "user", "Three.")]
    assert (told["imported"], told["taken_back"]) == (1, 2)
    assert words(htm) == ["One.", "1", "Three."]


def forked(
    file: Path,
    *lines: dict[str, Any],
    id: str,
    of: str | None = None,
    named: bool = True,
    at: int = 0,
) -> Path:
    """A session of Codex, or one that goes on from another and repeats its lines, written one after the other at its beginning."""
    payload = {"id": id, **({"forked_from_id": of} if of and named else {})}
    metas = [{"timestamp": minute(at).isoformat(), "type": "session_meta", "payload": payload}]
    if of:
        metas.append({**metas[0], "payload": {"id": of}})
    file.write_text("".join(json.dumps(each) + "\n" for each in [*metas, *lines]))
    return file


FIRST = [said(1, "user", "My boat is called Nixe."), said(2, "assistant", "A fine name."), said(3, "user", "Yes."), said(4, "assistant", "Good.")]  # fmt: skip
GOES_ON = [said(9, "user", "It lies at pier seven."), said(10, "user", "Yes.")]


@pytest.mark.parametrize("named", [True, False])
def test_a_forked_session_of_codex_repeats_what_was_said_and_says_it_no_second_time(
    htm: Htm, tmp_path: Path, make: Make, named: bool
) -> None:
    repeated = [{**each, "timestamp": minute(8).isoformat()} for each in FIRST[:2]]
    again = [{**each, "timestamp": minute(20).isoformat()} for each in [*repeated, *GOES_ON]]
    folder = tmp_path / "sessions"
    folder.mkdir()
    forked(folder / "rollout-1.jsonl", *FIRST, id="one")
    forked(folder / "rollout-2.jsonl", *repeated, *GOES_ON, id="two", of="one", named=named, at=8)
    assert report(htm, folder)["imported"] == 8
    third = forked(
        tmp_path / "rollout-3.jsonl",
        *again,
        said(21, "user", "No."),
        id="three",
        of="two",
        named=named,
        at=20,
    )
    for imported in (5, 0):
        assert report(htm, third)["imported"] == imported
    with make(user=None) as memory:
        times = {(each.content, each.at) for each in memory.timeline()}
        assert {at for text, at in times if text == "My boat is called Nixe."} == {minute(1)}
        assert {at for text, at in times if text == "Yes."} == {minute(3), minute(10)}
        boat = memory.recall("What is my boat called?", mode="text")[0].node
        memory.forget(boat.id)
        forked(tmp_path / "rollout-4.jsonl", *again, id="four", of="three", named=named, at=30)
        report(htm, tmp_path / "rollout-4.jsonl")
        assert "My boat is called Nixe." not in {each.content for each in memory.timeline()}


def test_a_forked_session_whose_beginning_is_not_known_is_imported_whole(
    htm: Htm, tmp_path: Path
) -> None:
    file = forked(tmp_path / "rollout.jsonl", *FIRST, id="two", of="lost")
    assert report(htm, file)["imported"] == 4


def test_a_hook_follows_what_was_taken_back(
    make: Make,
    tenant: str,
    url: str | None,
    models: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    common = CommonOptions(url=url, tenant=tenant, user="ann", embedder="hash")  # type: ignore[arg-type]
    file = tmp_path / "s.jsonl"
    lines = [
        line("user", "u1", None, "Build it."),
        line("assistant", "a2", "u1", "I do."),
        line("user", "u3", "a2", "Use npm."),
    ]
    for more in (
        [],
        [line("user", "u4", "a2", "Use yarn."), line("assistant", "a5", "u4", "Yarn.")],
    ):
        lines += more
        file.write_text("".join(json.dumps(each) + "\n" for each in lines) + "{oops\n")
        given = json.dumps(
            {"hook_event_name": "Stop", "transcript_path": str(file), "session_id": "s"}
        )
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        hook_module.hook(common, 1_500)
    with make(user="ann") as memory:
        assert [each.content for each in memory.timeline(session="s")] == [
            "Build it.",
            "I do.",
            "Use yarn.",
            "Yarn.",
        ]


def test_lines_that_end_otherwise_are_the_same_memory(htm: Htm, tmp_path: Path) -> None:
    file, note = tmp_path / "talk.jsonl", tmp_path / "note.md"
    for ends in ("\n", "\r\n"):
        file.write_bytes(json.dumps({"content": f"One{ends}two."}).encode() + ends.encode())
        note.write_bytes(f"# Boats{ends}{ends}The boat{ends}is blue.{ends}".encode())
        told = report(htm, file)
        loaded = htm("load", note, "--no-wait", "--json").json
    assert (told["imported"], told["known"], told["changed"]) == (0, 1, 0)
    assert htm("stats", "--json").json["nodes"] == 2
    assert "\r" not in json.dumps(loaded)


def test_a_message_of_megabytes_is_named_by_file_and_line_and_keeps_up_no_others(
    htm: Htm, tmp_path: Path
) -> None:
    file = tmp_path / "big.jsonl"
    file.write_text(
        "".join(json.dumps({"content": each}) + "\n" for each in ("One.", "x" * 30_000_000, "Two."))
    )
    done = htm("import", file, "--no-wait")
    assert done.code == 1
    assert (
        "big.jsonl, line 2: expected content of at most 1,000,000 characters, got 30,000,000"
        in " ".join(done.out.split())
    )
    assert words(htm) == ["One.", "Two."]


def test_a_folder_of_notes_with_a_bad_one_says_so_by_its_exit_code(
    htm: Htm, tmp_path: Path
) -> None:
    (tmp_path / "good.md").write_text("# Boats\n\nThe boat is blue.")
    (tmp_path / "bad.md").write_bytes(b"caf\xe9")
    done = htm("import", tmp_path, "--no-wait")
    assert done.code == 1
    assert "2 files, 1 part)" in done.out
    assert "bad.md" in done.out
    assert "turn" not in done.out
