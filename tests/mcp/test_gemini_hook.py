"""`htm hook` for Gemini CLI: a turn is saved from its event, once, and the page's settings name events that are answered."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from htm_core import InvalidInput
from htm_core.cli import hook as hook_module
from htm_core.cli.commands import command
from htm_core.cli.options import CommonOptions
from htm_core.importers.transcripts.gemini_cli import drafts_of
from tests.cli.conftest import ROOT
from tests.conftest import Make

EVENT: dict[str, Any] = {
    "session_id": "g-1", "transcript_path": "/not/read.json", "cwd": "/work/app", "hook_event_name": "AfterAgent",
    "timestamp": "2026-11-20T10:00:00.000Z", "prompt": "Use tabs here.", "prompt_response": "I will use tabs.",
    "stop_hook_active": False,
}  # fmt: skip
Call = Callable[[dict[str, Any]], None]


@pytest.fixture
def call(tenant: str, url: str | None, models: Any, monkeypatch: pytest.MonkeyPatch) -> Call:
    common = CommonOptions(url=url, tenant=tenant, user="ann", embedder="hash")  # type: ignore[arg-type]

    def called(event: dict[str, Any]) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
        hook_module.hook(common, 1_500)

    return called


def test_a_turn_is_saved_from_its_event_and_the_same_event_again_adds_nothing(
    make: Make, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    call(EVENT)
    call(EVENT)
    call(
        EVENT
        | {"timestamp": "2026-11-20T10:05:00.000Z", "prompt_response": "Tabs \ud800 it\x00 is."}
    )
    with make(user="ann") as memory:
        said = memory.timeline(session="g-1")
    assert [(each.source, each.content) for each in said] == [
        ("user", "Use tabs here."), ("assistant", "I will use tabs."),
        ("user", "Use tabs here."), ("assistant", "Tabs \ufffd it\ufffd is."),
    ]  # fmt: skip
    assert capsys.readouterr().out == ""  # Gemini CLI reads stdout as its answer


def test_a_session_of_gemini_cli_wakes_up_with_what_another_one_said(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    call(EVENT)
    call({**EVENT, "hook_event_name": "SessionStart", "source": "startup", "session_id": "g-2"})
    answer = json.loads(capsys.readouterr().out)
    assert "Use tabs here" in answer["hookSpecificOutput"]["additionalContext"]


def test_what_a_hook_asked_for_is_not_saved_as_the_users_words() -> None:
    [only] = drafts_of(EVENT | {"prompt": "Answer again.", "stop_hook_active": True})
    assert (only.role, only.content) == ("assistant", "I will use tabs.")
    assert [each.role for each in drafts_of(EVENT | {"prompt_response": ""})] == ["user"]


@pytest.mark.parametrize(
    "wrong",
    [{"session_id": ""}, {"session_id": 7}, {"timestamp": None}, {"timestamp": "2026-11-20T10:00:00"}, {"timestamp": "now"},
     {"prompt": None}, {"prompt": ["x"]}, {"prompt_response": {}}],
)  # fmt: skip
def test_an_event_of_another_form_is_refused_with_what_was_expected(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        drafts_of(EVENT | wrong)


def test_the_pages_settings_name_events_and_options_that_are_there() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text().split("### Gemini CLI")[1]
    found = re.search(r"```json\n(.*?)```", page, re.S)
    assert found
    hooks = json.loads(found[1])["hooks"]
    assert set(hooks) == {*hook_module.WAKES, *hook_module.TURNS}
    known = {word for each in command("hook").params for word in each.opts}
    for [group] in hooks.values():
        [each] = group["hooks"]
        words = shlex.split(each["command"])
        assert words[:2] == ["htm", "hook"]
        assert {word for word in words if word.startswith("--")} <= known
        assert each["timeout"] >= 30_000  # milliseconds
