"""Read the transcript of a session of Claude Code: one JSON object a line, of which those of talk are turns.

The program writes lines of many other types too, and of new ones with each version. So what is not known is left out with a
reason, and stops nobody's import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..text.thoughts import is_thought
from .turns import Skip, Turn, iso_time

# Lines of other types are notes of the program: summaries, snapshots of files, queues, titles.
TALK = ("user", "assistant")
# What such a line has, whatever its type.
MARKS = frozenset({"sessionId", "leafUuid", "messageId"})
# How what the program writes as if the user had said it begins.
WRITTEN = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
    "<system-reminder>", "<task-notification>", "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)  # fmt: skip
ABOUT = {"cwd": "cwd", "gitBranch": "branch"}
# What a message is that has no text, by the types of its blocks.
WITHOUT_TEXT = {
    "tool_result": "the result of a tool",
    "tool_use": "a call of a tool",
    "thinking": "a model's notes or reasoning",
    "redacted_thinking": "a model's notes or reasoning",
}


def is_line(value: Any) -> bool:
    """Whether a JSON value is a line of such a transcript."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and "role" not in value
        and bool(MARKS & value.keys())
    )


def lines(values: Iterable[tuple[str, Any]]) -> Iterator[Turn | Skip]:
    """Read lines that were parsed already, each with its place."""
    for where, value in values:
        yield line(value, where=where) if isinstance(value, dict) else Skip("not a line of such a transcript", where)


def line(value: Mapping[str, Any], *, where: str) -> Turn | Skip:
    """Read one line; what is no talk between the user and the assistant is left out, with the reason."""
    kind, message = value.get("type"), value.get("message")
    if kind not in TALK or not isinstance(message, dict):
        return Skip("a note of the program", where)
    if reason := _skip_reason(value):
        return Skip(reason, where)
    text, reason = _text_of(message.get("content"))
    if reason:
        return Skip(reason, where)
    session, id = value.get("sessionId"), value.get("uuid")
    if not (isinstance(session, str) and session and isinstance(id, str) and id):
        return Skip("without a session or an id", where)
    about = {**{ours: value.get(theirs) for theirs, ours in ABOUT.items()}, "model": message.get("model")}
    return Turn(
        where=where,
        session=session,
        content=text,
        role=kind,
        at=iso_time(value.get("timestamp"), where=where),
        id=id,
        metadata={"client": "claude-code"}
        | {name: each for name, each in about.items() if isinstance(each, str) and each},
    )


def _skip_reason(value: Mapping[str, Any]) -> str | None:
    """Why a message is not a turn of the conversation; None if it may be one."""
    if value.get("isSidechain"):
        return "of a subagent"
    if value.get("isCompactSummary") or value.get("isVisibleInTranscriptOnly"):
        return "a summary by the program"
    return "written by the program" if value.get("isMeta") or value.get("isApiErrorMessage") else None


def _text_of(content: Any) -> tuple[str, str | None]:
    """The text blocks as paragraphs, or why there are none."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return "", "of a form that is not known"
    known = [each for each in blocks if isinstance(each, dict)]
    spoken = [each for each in known if each.get("type") == "text" and not is_thought(each)]
    texts = [each["text"] for each in spoken if isinstance(each.get("text"), str)]
    said = [text for text in texts if text.strip() and not text.lstrip().startswith(WRITTEN)]
    if said:
        return "\n\n".join(said), None
    if any(text.strip() for text in texts):
        return "", "written by the program"
    kinds = {str(each.get("type")) for each in known}
    return "", next((reason for kind, reason in WITHOUT_TEXT.items() if kind in kinds), "no text in it")
