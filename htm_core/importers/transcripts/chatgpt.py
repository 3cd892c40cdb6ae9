"""Read the conversations.json of a ChatGPT export. Each conversation is a tree; the branch that was
shown last is read.

A conversation or a message that is not understood is left out with the reason, and the others are
read: nobody can mend an export.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from ...base.errors import InvalidInput
from ...text.thoughts import is_thought
from .chatgpt_marks import as_read
from .turns import (
    NOT_TO_BE_REMEMBERED,
    NOT_UNDERSTOOD,
    TAKEN_BACK,
    Conversation,
    Entry,
    Skip,
    Turn,
    any_time,
    branch,
    last_leaf,
    lenient_time,
    not_understood,
    object_field,
    role_of,
    shown,
)

INSTRUCTIONS = "custom instructions"  # they stand in every conversation anew
NOTES = "a model's notes or reasoning"
HIDDEN = {
    "thoughts": NOTES, "reasoning_recap": NOTES, "model_editable_context": NOTES,
    "user_editable_context": INSTRUCTIONS, "execution_output": "the result of a tool",
    "system_error": "the result of a tool",
}  # fmt: skip
# how the names of the tools begin that write into a canvas, which the user sees and keeps
CANVAS = "canmore."


def is_export(value: Any) -> bool:
    """True if this is an exported conversation, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "mapping" in first


def conversations(value: Any, name: str) -> Iterator[Entry]:
    """Read every conversation of an export; its id is the session, its title goes into the metadata
    of each turn.
    """
    yield from each_conversation(value if isinstance(value, list) else [value], name)


def each_conversation(values: Iterable[Any], name: str) -> Iterator[Entry]:
    """Read conversations one by one, as they come out of a long export."""
    for number, item in enumerate(values, 1):
        where = f"{name}, conversation {number}"
        try:
            if isinstance(item, InvalidInput):
                raise item
            if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
                raise InvalidInput(f'expected an object with "mapping"; {shown(item)} came')
            yield from conversation(item, where=where)
        except InvalidInput as error:
            yield not_understood(
                error, where=where, title=item.get("title") if isinstance(item, dict) else None
            )


def session_of(value: Mapping[str, Any]) -> str:
    """The id of a conversation. One without an id, as in old exports, has one of its beginning,
    which a later export has too.
    """
    id = value.get("conversation_id") or value.get("id")
    if id:
        return str(id)
    beginning = [value.get("create_time"), next(iter(value["mapping"]), None)]
    return f"chatgpt-{sha256(json.dumps(beginning, default=str).encode()).hexdigest()[:16]}"


def conversation(value: Mapping[str, Any], *, where: str) -> Iterator[Entry]:
    """Read one conversation from its root to its current node; messages on other branches are
    skipped.

    A message without a time gets the time of its last change, or that of the message before it, so
    that the order is kept. With a conversation that is marked as not to be remembered, all of it is
    taken back.
    """
    nodes = {str(key): node for key, node in value["mapping"].items() if isinstance(node, dict)}
    session, title = session_of(value), value.get("title")
    ids = {key: message_id(key, node) for key, node in nodes.items() if node.get("message")}
    times = [moment for node in nodes.values() if (moment := time_of(node.get("message")))]
    latest = max(times) if times else lenient_time(value.get("update_time"))
    if not_to_be_remembered(value):
        yield Skip(NOT_TO_BE_REMEMBERED, where)
        yield Conversation(
            session=session, taken_back=frozenset(ids.values()), at=latest, whole=True
        )
        return
    path, end = current_path(nodes, value.get("current_node"))
    if end is not None:
        fault = "leads back to itself" if end in path else "is not there"
        yield not_understood(
            InvalidInput(
                f"expected a tree; node {end!r} {fault}. Ask for a new export, or fix the file."
            ),
            where=where,
            title=title,
        )
    taken = set(path)
    for key in (each for each in ids if each not in taken):
        yield Skip(TAKEN_BACK, f"{where}, node {key!r}")
    holding = set[str]()
    about = {"title": title} if isinstance(title, str) and title else {}
    at = any_time(value.get("create_time"), where=where) or lenient_time(value.get("update_time"))
    for key in path:
        try:
            entry = node_turn(
                key,
                nodes[key],
                where=f"{where}, node {key!r}",
                session=session,
                title=about,
                before=at,
            )
        except InvalidInput as error:
            entry = not_understood(error, where=where, title=title)
        if isinstance(entry, Turn):
            at = entry.at
        if entry is not None:
            yield entry
            if isinstance(entry, Turn) or entry.reason == NOT_UNDERSTOOD:
                holding.add(ids[key])
    yield Conversation(
        session=session,
        ids=frozenset(holding),
        taken_back=frozenset(ids.values()) - holding,
        at=latest,
        whole=end is None,
    )


def not_to_be_remembered(value: Mapping[str, Any]) -> bool:
    """True if a conversation was temporary, or its user has marked it as one that no memory is to
    be made of.
    """
    scope = value.get("memory_scope")
    return bool(
        value.get("is_do_not_remember")
        or value.get("is_temporary_chat")
        or (isinstance(scope, str) and "disabled" in scope)
    )


def message_id(key: str, node: Mapping[str, Any]) -> str:
    """The id of a node's message: its own, or the node's."""
    message = node.get("message")
    return str((message.get("id") if isinstance(message, dict) else None) or key)


def current_path(nodes: Mapping[str, Mapping[str, Any]], leaf: Any) -> tuple[list[str], str | None]:
    """The nodes from the root to the one that was shown last, and where the way to the root ends
    early.

    That node is named, or else it is the one that was said last of those at an end.
    """
    parents = {key: as_text(node.get("parent")) for key, node in nodes.items()}
    named = as_text(leaf)
    if named not in nodes:
        with_words = [key for key, node in nodes.items() if node.get("message")]
        times = {key: time_of(nodes[key].get("message")) for key in with_words}
        named = last_leaf(parents, times, with_words) or next(iter(reversed(list(nodes))), None)
    return branch(parents, named)


def time_of(message: Any) -> datetime | None:
    """When a message was written, or else changed."""
    if not isinstance(message, dict):
        return None
    return lenient_time(message.get("create_time")) or lenient_time(message.get("update_time"))


def as_text(key: object) -> str | None:
    """A key or name as text, whatever its type; None stays None."""
    return None if key is None else str(key)


def node_turn(
    key: str,
    node: Mapping[str, Any],
    *,
    where: str,
    session: str,
    title: Mapping[str, Any],
    before: datetime | None,
) -> Turn | Skip | None:
    """Read the message of one node; None if it has none, and a skip if the message is not part of
    the conversation.
    """
    message = object_field(node, "message", where=where)
    if not message:
        return None
    author, content = (
        object_field(message, "author", where=where),
        object_field(message, "content", where=where),
    )
    about = object_field(message, "metadata", where=where)
    role = role_of(author.get("role"))
    canvas = canvas_of(message.get("recipient"), content) if role == "assistant" else None
    if canvas is None and (reason := skip_reason(message, author, content, about)):
        return Skip(reason, where)
    name, text = canvas or (None, "")
    without_text = 0
    if canvas is None:
        text, without_text = text_of(content)
    extra = {"model": about.get("model_slug"), "parts_without_text": without_text, "document": name}
    changed = any_time(message.get("create_time"), where=where) or any_time(
        message.get("update_time"), where=where
    )
    return Turn(
        where=where,
        session=session,
        content=as_read(text, own=role != "user"),
        role=role,
        name=as_text(author.get("name") or (author.get("role") if role is None else None)),
        at=changed or before,
        id=message_id(key, node),
        metadata={**title, **{field: found for field, found in extra.items() if found}},
    )


def skip_reason(
    message: Mapping[str, Any],
    author: Mapping[str, Any],
    content: Mapping[str, Any],
    about: Mapping[str, Any],
) -> str | None:
    """Why a message is not a turn of the conversation; None if it is one."""
    role = role_of(author.get("role"))
    if role == "system":
        return "a system message"
    hidden = HIDDEN.get(str(content.get("content_type")))
    if about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message"):
        return hidden or "hidden from the conversation"
    if hidden is not None:
        return hidden
    if role == "tool":
        return "the result of a tool"
    if message.get("channel") == "analysis":
        return NOTES
    return (
        None
        if role == "user" or message.get("recipient") in (None, "", "all")
        else "a call of a tool"
    )


def canvas_of(recipient: Any, content: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the text of what a model wrote into a canvas: one that is new, or a whole one
    that takes its place.
    """
    if not isinstance(recipient, str) or not recipient.startswith(CANVAS):
        return None
    try:
        canvas = json.loads(text_of(content)[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(canvas, dict):
        return None
    updates = [each for each in _listed(canvas.get("updates")) if isinstance(each, dict)]
    whole = next((each.get("replacement") for each in updates if each.get("pattern") == ".*"), None)
    text, name = canvas.get("content") or whole, canvas.get("name")
    if not isinstance(text, str) or not text.strip():
        return None
    return (name if isinstance(name, str) and name else "canvas"), text


def text_of(content: Mapping[str, Any]) -> tuple[str, int]:
    """The parts that are text, joined as paragraphs, and the number of the other parts (images,
    sound).
    """
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text") or content.get("result") or ""]
    texts = [
        one.get("text") if isinstance(one, dict) else one for one in parts if not is_thought(one)
    ]
    spoken = [text for text in texts if isinstance(text, str)]
    others = sum(isinstance(one, dict) and not isinstance(one.get("text"), str) for one in parts)
    return "\n\n".join(text for text in spoken if text), others


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
