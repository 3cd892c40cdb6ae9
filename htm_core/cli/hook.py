"""`htm hook`: what a coding agent calls at the start and the end of its work, with the event as
JSON on stdin.

No error of it stops the agent: an exit code of 2 would, so every failure is a 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.errors import HTMError, InvalidInput
from ..base.types import Draft
from ..importers import Transcript, conversations, drafts_of, read
from ..serve.session_start import wake_text
from .exit_codes import FAILED, print_error, told
from .importing import BATCH, new_and_changed
from .options import CommonOptions
from .rendering import print_json

WAKES = ("SessionStart",)
SAVES = ("Stop", "SessionEnd", "PreCompact")  # Claude Code: the transcript says what is new
TURNS = ("AfterAgent",)  # Gemini CLI: the event says it
DEFAULT_BUDGET = 1_500


def hook(
    common: CommonOptions,
    budget: Annotated[
        int,
        typer.Option(
            "--budget", "-b", min=200, max=50_000, help="Tokens that a session wakes up with."
        ),
    ] = DEFAULT_BUDGET,
) -> None:
    """Answer a hook of a coding agent, whose event is on stdin: wake up when a session starts, and
    save what was said.
    """
    try:
        _answer(common, sys.stdin.buffer.read(), budget=budget)
    except HTMError as error:
        if common.debug:
            raise
        print_error(told(error))
        raise typer.Exit(FAILED) from None


def _answer(common: CommonOptions, payload: bytes, *, budget: int) -> None:
    event = _event(payload)
    name = event.get("hook_event_name")
    if name in WAKES:
        with common.memory() as memory:
            text = wake_text(memory, budget=budget)
        if text:
            print_json({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
    elif name in SAVES or name in TURNS:
        saved = _save(
            common,
            _of_transcript(common, event.get("transcript_path"))
            if name in SAVES
            else drafts_of(event),
        )
        if common.json:
            print_json({"saved": saved})
    else:
        raise InvalidInput(
            f"expected the event {', '.join((*WAKES, *SAVES, *TURNS))}, got {name!r:.80}; call "
            "htm hook for these events only"
        )


def _event(payload: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(payload)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise InvalidInput(
            "expected the event of a hook as a JSON object on stdin, got something else; the "
            "agent calls htm hook itself"
        )
    return event


def _of_transcript(common: CommonOptions, path: object) -> Transcript:
    """The turns of a transcript. The agent may be writing its last line: that one is left."""
    if not isinstance(path, str) or not path:
        raise InvalidInput(
            f"expected transcript_path, the path of the session's transcript, got {path!r:.80}"
        )
    file = Path(path).expanduser()
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"expected a transcript to read, got {path!r:.200}: {error.strerror or error}"
        ) from None
    longest = common.settings(works=False).max_content
    return read(
        content[: content.rfind(b"\n") + 1], name=file.name, format="claude-code", longest=longest
    )


def _save(common: CommonOptions, turns: Sequence[Draft]) -> int:
    """Remember what is new among some turns, and let go what was taken back; answers how many are
    new.
    """
    saved = 0
    with common.memory() as memory:
        now = turns.conversations if isinstance(turns, Transcript) else ()
        for start in range(0, len(turns), BATCH):
            new, changed = new_and_changed(turns[start : start + BATCH], common=common, works=False)
            memory.remember_many([*new, *changed])
            saved += len(new) + len(changed)
        conversations.follow(memory._engine, now, but=conversations.older(memory._engine, now))
    return saved
