"""`htm hook`, and transcripts of Claude Code: what is saved of them, once, and what a session wakes up with."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory
from htm_core.cli import hook as hook_module
from htm_core.cli.options import CommonOptions
from htm_core.importers.transcripts.read import iter_read, read
from htm_core.serve.session_start import wake_text
from tests.cli.conftest import ROOT, Htm
from tests.conftest import Make

HEAD = {
    "sessionId": "s-1",
    "timestamp": "2026-11-20T10:00:00Z",
    "cwd": "/work/app",
    "gitBranch": "main",
}


def line(kind: str, id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": id, "message": {"role": kind, "content": content}, **HEAD, **more}


LINES: list[dict[str, Any]] = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    line("user", "u1", "Use tabs in this project."),
    line("assistant", "a1", [{"type": "thinking", "thinking": "Hm."}]),
    line("assistant", "a2", [{"type": "text", "text": "I will use tabs."}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
    line("user", "u2", [{"type": "tool_result", "tool_use_id": "t", "content": "secret output"}]),
    line("user", "u3", "<command-name>/clear</command-name>"),
    line("user", "u4", "A caveat.", isMeta=True),
    line("assistant", "a3", [{"type": "text", "text": "Aside."}], isSidechain=True),
    line("user", "u5", "This session is being continued from a previous conversation that ran out of context."),
    line("user", "u6", 7),
    {"type": "system", "subtype": "x", "content": "note", **HEAD, "uuid": "y"},
    line("user", "u7", "And \ud800 two spaces in YAML."),
]  # fmt: skip


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    file = tmp_path / "s-1.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in LINES))
    return file


def test_talk_is_read_with_its_ids_and_the_rest_is_left_out_with_a_reason(transcript: Path) -> None:
    found = read(transcript.read_bytes())
    assert found.format == "claude-code"
    assert [(each.id, each.role, each.session) for each in found] == [
        ("u1", "user", "s-1"), ("a2", "assistant", "s-1"), ("u7", "user", "s-1"),
    ]  # fmt: skip
    assert found[1].content == "I will use tabs."
    assert found[0].metadata == {"client": "claude-code", "cwd": "/work/app", "branch": "main"}
    assert found.skipped == len(LINES) - 3
    assert list(iter_read(transcript.open("rb"))) == list(found)
    [one] = read(json.dumps(LINES[1]))
    assert one.id == "u1"


def test_import_reads_it_and_a_second_time_adds_nothing(htm: Htm, transcript: Path) -> None:
    [first] = htm("import", str(transcript), "--no-wait", "--json").json["files"]
    [again] = htm("import", str(transcript), "--no-wait", "--json", "--format", "claude-code").json[
        "files"
    ]
    assert (first["format"], first["imported"]) == ("claude-code", 3)
    assert (again["imported"], again["changed"], again["known"]) == (0, 0, 3)


def test_a_hook_saves_what_is_new_and_leaves_a_line_that_is_being_written(
    make: Make,
    tenant: str,
    url: str | None,
    transcript: Path,
    models: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    common = CommonOptions(url=url, tenant=tenant, user="ann", embedder="hash")  # type: ignore[arg-type]
    event = {"hook_event_name": "Stop", "transcript_path": str(transcript), "session_id": "s-1"}

    def call() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
        hook_module.hook(common, 1_500)

    whole = json.dumps(line("user", "u8", "Deploy on Fridays never.")) + "\n"
    transcript.write_text(transcript.read_text() + whole[:40])
    call()
    call()
    with make(user="ann") as memory:
        assert [each.content for each in memory.timeline(session="s-1")] == [
            "Use tabs in this project.", "I will use tabs.", "And \ufffd two spaces in YAML.",
        ]  # fmt: skip
        transcript.write_text(transcript.read_text()[:-40] + whole)
        call()
        said = memory.timeline(session="s-1")
        assert [each.source for each in said] == ["user", "assistant", "user", "user"]
        assert said[-1].content == "Deploy on Fridays never."


def test_a_session_wakes_up_with_what_was_said_lately(make: Make) -> None:
    with make(user="ann") as memory:
        assert wake_text(memory, budget=500) == ""
        for number in range(40):
            memory.remember(
                f"Sentence {number} of yesterday about the parser and its many tests.",
                role="user",
                session="s-0",
            )
        text = wake_text(memory, budget=500)
        assert memory._engine.tokens(text) <= 500
        assert "Sentence 39" in text
        assert "not instructions" in text


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        '{"hook_event_name": "Other"}',
        '{"hook_event_name": "Stop", "transcript_path": "/no"}',
    ],
)
def test_a_failure_never_stops_the_agent(said: str) -> None:
    """An exit code of 2 would."""
    done = subprocess.run(
        [sys.executable, "-m", "htm_core.cli", "hook"],
        input=said,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("htm: expected")


def test_a_started_session_is_told_in_the_form_of_the_hook(
    make: Make, memory: Memory, tenant: str, url: str | None, models: Any, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    memory.remember("The build runs on Tuesdays.", role="user", session="s-0")
    monkeypatch.setattr(
        sys,
        "stdin",
        io.TextIOWrapper(io.BytesIO(b'{"hook_event_name": "SessionStart", "source": "startup"}')),
    )
    hook_module.hook(CommonOptions(url=url, tenant=tenant, embedder="hash"), 1_500)  # type: ignore[arg-type]
    answer = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert "build runs on Tuesdays" in answer["additionalContext"]
