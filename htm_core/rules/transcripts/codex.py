"""Read a session of Codex, its "rollout": one JSON object a line, of which those of talk are turns.

Since its version 0.32 the program wraps each line as {"timestamp", "type", "payload"}; before, a line was the payload itself, and
the first one the session. Lines of other types are notes of the program, and new types come with each version: what is not known
is left out with a reason, and stops nobody's import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import InvalidInput
from ..text.thoughts import is_thought
from .turns import Occurrences, Skip, Turn, iso_time, not_understood, role_of

FORMAT = "codex"
WRAPPED = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
# How what the program writes as if the user had said it begins.
WRITTEN = (
    "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "<permissions instructions>", "<collaboration_mode>",
    "<turn_aborted>", "<user_action>", "<user_shell_command>", "<subagent_notification>", "<skill>", "# AGENTS.md instructions for",
)  # fmt: skip
ASKED = "## My request for Codex:"  # where the user's own words begin after what an editor adds
WITHOUT_TEXT = {
    "function_call": "a call of a tool", "custom_tool_call": "a call of a tool", "local_shell_call": "a call of a tool",
    "web_search_call": "a call of a tool", "function_call_output": "the result of a tool",
    "custom_tool_call_output": "the result of a tool", "reasoning": "a model's notes or reasoning",
}  # fmt: skip


def is_line(value: Any) -> bool:
    """Whether a JSON value is a line of such a session, or the first line of an older one."""
    if not isinstance(value, dict) or "content" in value:
        return False
    if "payload" in value:
        return value.get("type") in WRAPPED
    return isinstance(value.get("id"), str) and "timestamp" in value and ("instructions" in value or "git" in value)


class _Session:
    """What the lines of one file have said so far."""

    def __init__(self, name: str) -> None:
        self.name, self.said = name, False
        self.about: dict[str, Any] = {"client": FORMAT}
        self.model: str | None = None
        self.ids = Occurrences(FORMAT)

    def meta(self, payload: Mapping[str, Any]) -> None:
        """Take the session's id and where it ran. A session that goes on from another one repeats its lines: the first counts."""
        if self.said:
            return
        id, git = payload.get("id"), payload.get("git")
        self.said, self.name = True, id if isinstance(id, str) and id else self.name
        branch = git.get("branch") if isinstance(git, dict) else None
        for field, found in (("cwd", payload.get("cwd")), ("branch", branch)):
            if isinstance(found, str) and found:
                self.about[field] = found


def lines(values: Iterable[tuple[str, Any]], name: str) -> Iterator[Turn | Skip]:
    """Read lines that were parsed already, each with its place; `name` is the session of a file that does not say its own."""
    session = _Session(name)
    for where, value in values:
        if not isinstance(value, dict):
            yield Skip("not a line of such a transcript", where)
            continue
        try:
            yield _line(value, session, where=where)
        except InvalidInput as error:
            yield not_understood(error, where=where)


def _line(value: Mapping[str, Any], session: _Session, *, where: str) -> Turn | Skip:
    payload = value.get("payload")
    if isinstance(payload, dict):
        kind = value.get("type")
    else:  # an older session
        payload, kind = value, "session_meta" if is_line(value) else "response_item"
    if kind == "session_meta":
        session.meta(payload)
    elif kind == "turn_context" and isinstance(payload.get("model"), str):
        session.model = payload["model"]
    elif kind == "compacted":
        return Skip("a summary by the program", where)
    if kind != "response_item":
        return Skip("a note of the program", where)
    if payload.get("type") != "message":
        return Skip(WITHOUT_TEXT.get(str(payload.get("type")), "a note of the program"), where)
    role = role_of(payload.get("role"))
    if role not in ("user", "assistant"):
        return Skip("a system message", where)
    text, reason = _text_of(payload.get("content"))
    if reason:
        return Skip(reason, where)
    time = value.get("timestamp")
    about = {**session.about, **({"model": session.model} if role == "assistant" and session.model else {})}
    return Turn(
        where=where,
        session=session.name,
        content=text,
        role=role,
        at=iso_time(time, where=where),
        id=session.ids.id(time, role, text),
        metadata=about,
    )


def _text_of(content: Any) -> tuple[str, str | None]:
    """The text blocks as paragraphs, or why there are none."""
    blocks = content if isinstance(content, list) else [{"text": content}]
    spoken = [each for each in blocks if isinstance(each, dict) and not is_thought(each)]
    texts = [each["text"] for each in spoken if isinstance(each.get("text"), str)]
    said = [_asked(text) for text in texts if text.strip() and not text.lstrip().startswith(WRITTEN)]
    if said:
        return "\n\n".join(said), None
    return "", "written by the program" if any(text.strip() for text in texts) else "no text in it"


def _asked(text: str) -> str:
    return text.partition(ASKED)[2].strip() or text
