"""Read a session of Codex, its "rollout": one JSON object a line, of which those of talk are turns.

Since its version 0.32 the program wraps each line as {"timestamp", "type", "payload"}; before, a
line was the payload itself, and the first one the session. Lines of other types are notes of the
program, and new types come with each version: what is not known is left out with a reason, and
stops nobody's import.

A user who goes back some turns leaves a line that says how many: these hold no more. What they
answer to questions is in the result of a tool.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...base.errors import InvalidInput
from ...base.folding import has_words
from ...text.thoughts import is_thought
from .turns import (
    TAKEN_BACK,
    Conversation,
    Entry,
    Occurrences,
    Skip,
    Turn,
    iso_time,
    not_understood,
    role_of,
)

FORMAT = "codex"
WRAPPED = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
# How what the program writes as if the user had said it begins.
WRITTEN = (
    "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>", "<user_action>", "<user_shell_command>", "<subagent_notification>", "<skill>", "# AGENTS.md instructions for",
    "<goal_context>", "<codex_internal_context", "<recommended_plugins>", "<image name=", "<image>",
    "</image>",
)  # fmt: skip
# What of it ends so that a prompt may follow in the same text.
_BEFORE = {
    "<environment_context>": "</environment_context>",
    "<user_instructions>": "</user_instructions>",
    "<INSTRUCTIONS>": "</INSTRUCTIONS>",
    "# AGENTS.md instructions for": "</INSTRUCTIONS>",
    "<recommended_plugins>": "</recommended_plugins>",
}
ASKED = "## My request for Codex:"  # where the user's own words begin after what an editor adds
ASKS = "request_user_input"  # the tool that asks the user
NOTE = "user_note: "  # how what they write beside a choice begins
NEAR = 50  # lines between what an event and a message say of the same prompt, at most
_BLANKS = 100  # between the two, at most
_ADDED_BY_EDITOR = "# "  # how that begins
WITHOUT_TEXT = {
    "function_call": "a call of a tool", "custom_tool_call": "a call of a tool",
    "local_shell_call": "a call of a tool", "web_search_call": "a call of a tool",
    "function_call_output": "the result of a tool",
    "custom_tool_call_output": "the result of a tool", "reasoning": "a model's notes or reasoning",
}  # fmt: skip


def is_line(value: Any) -> bool:
    """True if a JSON value is a line of such a session, or the first line of an older one."""
    if not isinstance(value, dict) or "content" in value:
        return False
    if "payload" in value:
        return value.get("type") in WRAPPED
    return (
        isinstance(value.get("id"), str)
        and "timestamp" in value
        and ("instructions" in value or "git" in value)
    )


class _Session:
    """State of a session after the lines of one file so far."""

    def __init__(self, name: str) -> None:
        self.name, self.said, self.of_subagent = name, False, False
        self.forked_from: str | None = None
        self.about: dict[str, Any] = {"client": FORMAT}
        self.model: str | None = None
        self.ids = Occurrences(FORMAT)
        # by the call that asks: the questions whose answers are secrets
        self.secrets: dict[str, set[str]] = {}

    def meta(self, payload: Mapping[str, Any]) -> None:
        """Take the session's id and where it ran. A session that goes on from another one repeats
        its lines: the first counts.
        """
        id, git, source = payload.get("id"), payload.get("git"), payload.get("source")
        if self.said:
            if self.forked_from is None and isinstance(id, str) and id != self.name:
                self.forked_from = id
            return
        before = payload.get("forked_from_id")
        self.forked_from = before if isinstance(before, str) and before else None
        self.of_subagent = payload.get("thread_source") == "subagent" or (
            isinstance(source, dict) and "subagent" in source
        )
        self.said, self.name = True, id if isinstance(id, str) and id else self.name
        branch = git.get("branch") if isinstance(git, dict) else None
        for what, value in (("cwd", payload.get("cwd")), ("branch", branch)):
            if isinstance(value, str) and value:
                self.about[what] = value


@dataclass(slots=True)
class _Known:
    """Messages of users, rolled back or not: the words, and in which order."""

    words: set[str] = field(default_factory=set)
    numbered: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, words: str) -> None:
        """Note what the entry of this number says."""
        self.words.add(words)
        self.numbered.append((number, words))

    def has(self, number: int, words: str) -> bool:
        """True if a message has these words, or one near the entry of this number has more or less
        of them.
        """
        near = self.numbered[
            bisect_left(self.numbered, (number - NEAR,)) : bisect_right(
                self.numbered, (number + NEAR,)
            )
        ]
        return words in self.words or any(words in each or each in words for _, each in near)


def lines(values: Iterable[tuple[str, Any]], name: str) -> Iterator[Entry]:
    """Read lines that were parsed already, each with its place; `name` is the session of a file
    that does not say its own.
    """
    session = _Session(name)
    entries = list[Turn | Skip]()
    heard = list[
        tuple[int, str, Any, str]
    ]()  # what events say that the user said: before which entry, where, when and what
    known = _Known()
    # the entries that are answers to questions, which begin no turn
    taken_back, answers = set[str](), set[int]()
    for where, value in values:
        if isinstance(value, InvalidInput):
            entries.append(not_understood(value, where=where))
            continue
        if not isinstance(value, dict):
            entries.append(Skip("not a line of such a transcript", where))
            continue
        try:
            entries.append(entry := _line(value, session, where=where))
        except InvalidInput as error:
            entries.append(entry := not_understood(error, where=where))
        payload = value.get("payload")
        if isinstance(entry, Turn) and entry.role == "user":
            if isinstance(payload, dict) and payload.get("type") != "message":
                answers.add(len(entries) - 1)
            else:
                known.add(len(entries) - 1, entry.content.strip())
        if value.get("type") == "event_msg" and isinstance(payload, dict):
            if payload.get("type") == "thread_rolled_back":
                taken_back |= _roll_back(entries, payload.get("num_turns"), answers)
            elif payload.get("type") == "user_message" and isinstance(payload.get("message"), str):
                heard.append((len(entries) - 1, where, value.get("timestamp"), payload["message"]))
    for number, where, time, text in heard:
        _only_heard(entries, number, text, session, known, time=time, where=where)
    yield from entries
    turns = [each for each in entries if isinstance(each, Turn)]
    held, times = (
        frozenset(each.id or "" for each in turns),
        [each.at for each in turns if each.at is not None],
    )
    yield Conversation(
        session=session.name,
        ids=held,
        taken_back=frozenset(taken_back) - held,
        at=max(times, default=None),
        forked_from=session.forked_from,
    )


def _roll_back(entries: list[Turn | Skip], turns: Any, answers: Collection[int]) -> set[str]:
    """Take back the last turns of a session, each from what its user said on; gives the ids of what
    holds no more.
    """
    gone = set[str]()
    if not isinstance(turns, int):
        return gone
    users = (
        at for at, each in enumerate(entries) if isinstance(each, Turn) and each.role == "user"
    )
    starts = [at for at in users if at not in answers]
    for at in range(
        starts[-turns] if 0 < turns <= len(starts) else 0 if turns > 0 else len(entries),
        len(entries),
    ):
        entry = entries[at]
        if isinstance(entry, Turn):
            gone.add(entry.id or "")
            entries[at] = Skip(TAKEN_BACK, entry.where)
        elif entry.reason == "a note of the program":  # an event of the same turn
            entries[at] = Skip(TAKEN_BACK, entry.where)
    return gone


def _only_heard(
    entries: list[Turn | Skip],
    number: int,
    text: str,
    session: _Session,
    known: _Known,
    *,
    time: Any,
    where: str,
) -> None:
    """Take a user's words from an event where no message has them."""
    words = _asked(_after_context(text)).strip()
    unknown = isinstance(entries[number], Skip) and entries[number].reason != TAKEN_BACK  # type: ignore[union-attr]
    if not unknown or session.of_subagent or not has_words(words) or words.startswith(WRITTEN):
        return
    if known.has(number, words):
        return
    known.words.add(words)
    try:
        at = iso_time(time, where=where)
    except InvalidInput:
        at = None
    entries[number] = Turn(
        where=where,
        session=session.name,
        content=words,
        role="user",
        at=at,
        id=session.ids.id(time, "user", words),
        metadata=dict(session.about),
    )


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
    answered = _answered(payload, session)
    if payload.get("type") != "message" and not answered:
        return Skip(WITHOUT_TEXT.get(str(payload.get("type")), "a note of the program"), where)
    if session.of_subagent:
        return Skip("of a subagent", where)
    role = "user" if answered else role_of(payload.get("role"))
    if role not in ("user", "assistant"):
        return Skip("a system message", where)
    text, reason = (answered, None) if answered else _text_of(payload.get("content"))
    if reason:
        return Skip(reason, where)
    time = value.get("timestamp")
    about = {
        **session.about,
        **({"model": session.model} if role == "assistant" and session.model else {}),
    }
    return Turn(
        where=where,
        session=session.name,
        content=text,
        role=role,
        at=iso_time(time, where=where),
        id=session.ids.id(time, role, text),
        metadata=about,
    )


def _answered(payload: Mapping[str, Any], session: _Session) -> str:
    """Return what the user answered to questions of the agent, without secrets; empty where a
    payload is no such answer.
    """
    kind, call = payload.get("type"), str(payload.get("call_id"))
    if kind == "function_call" and payload.get("name") == ASKS:
        asked = _object(payload.get("arguments")).get("questions")
        questions = (
            [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
        )
        session.secrets[call] = {str(each.get("id")) for each in questions if each.get("isSecret")}
    if kind != "function_call_output" or call not in session.secrets:
        return ""
    answers = _object(payload.get("output")).get("answers")
    replies = [
        each.get("answers")
        for id, each in (answers.items() if isinstance(answers, dict) else ())
        if isinstance(each, dict) and id not in session.secrets[call]
    ]
    texts = [
        text for each in replies if isinstance(each, list) for text in each if isinstance(text, str)
    ]
    return "\n".join(reply for text in texts if (reply := text.removeprefix(NOTE).strip()))


def _object(text: Any) -> Mapping[str, Any]:
    """An object that a text holds as JSON; empty for anything else."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _text_of(content: Any) -> tuple[str, str | None]:
    """The text blocks as paragraphs, or why there are none."""
    blocks = content if isinstance(content, list) else [{"text": content}]
    spoken = [each for each in blocks if isinstance(each, dict) and not is_thought(each)]
    texts = [each["text"] for each in spoken if isinstance(each.get("text"), str)]
    after = [_after_context(text) for text in texts]
    typed = [
        _asked(text) for text in after if has_words(text) and not text.lstrip().startswith(WRITTEN)
    ]
    if typed:
        return "\n\n".join(typed), None
    return "", "written by the program" if any(text.strip() for text in texts) else "no text in it"


def _after_context(text: str) -> str:
    """Return the text behind what the program put before a prompt in the same text."""
    start = 0
    while True:
        at = (
            start + len(text[start : start + _BLANKS]) - len(text[start : start + _BLANKS].lstrip())
        )
        close = next(
            (close for begin, close in _BEFORE.items() if text.startswith(begin, at)), None
        )
        end = -1 if close is None else text.find(close, at)
        if close is None or end < 0:
            break
        start = end + len(close)
    rest = text[start:].lstrip() if start else text
    return rest or text


def _asked(text: str) -> str:
    return (
        (text.partition(ASKED)[2].strip() or text)
        if text.lstrip().startswith(_ADDED_BY_EDITOR)
        else text
    )
