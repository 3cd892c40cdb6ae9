"""Read the conversations.json of a ChatGPT export. Each conversation is a tree; the branch that was shown last is read.

A conversation that is not understood is left out with the reason, and the others are read: nobody can mend an export.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from ...errors import InvalidInput
from ..text.thoughts import is_thought
from .turns import Skip, Turn, epoch_time, not_understood, object_field, role_of, shown

HIDDEN = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})


def is_export(value: Any) -> bool:
    """Whether this is an exported conversation, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "mapping" in first


def conversations(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read every conversation of an export; its id is the session, its title goes into the metadata of each turn."""
    yield from each_conversation(value if isinstance(value, list) else [value], name)


def each_conversation(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read conversations one by one, as they come out of a long export."""
    for number, item in enumerate(values, 1):
        where = f"{name}, conversation {number}"
        try:
            if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
                raise InvalidInput(f'expected an object with "mapping"; {shown(item)} came')
            turns = list(conversation(item, where=where))
        except InvalidInput as error:
            yield not_understood(error, where=where)
        else:
            yield from turns


def session_of(value: Mapping[str, Any]) -> str:
    """The id of a conversation. One without an id, as in old exports, has one of its beginning, which a later export has too."""
    id = value.get("conversation_id") or value.get("id")
    if id:
        return str(id)
    beginning = [value.get("create_time"), next(iter(value["mapping"]), None)]
    return f"chatgpt-{sha256(json.dumps(beginning, default=str).encode()).hexdigest()[:16]}"


def conversation(value: Mapping[str, Any], *, where: str) -> Iterator[Turn | Skip]:
    """Read one conversation from its root to its current node; messages on other branches are skipped.

    A message without a time gets the time of the message before it, so that the order is kept.
    """
    mapping = value["mapping"]
    path = current_path(mapping, value.get("current_node"), where=where)
    taken = set(path)
    for key, node in mapping.items():
        if key not in taken and isinstance(node, dict) and node.get("message"):
            yield Skip("on a branch that was not the last shown", f"{where}, node {key!r}")
    session = session_of(value)
    title = {"title": value["title"]} if value.get("title") else {}
    at = epoch_time(value.get("create_time"), where=where)
    for key in path:
        entry = node_turn(key, mapping[key], where=f"{where}, node {key!r}", session=session, title=title, before=at)
        if entry is not None:
            at = entry.at if isinstance(entry, Turn) else at
            yield entry


def current_path(mapping: Mapping[str, Any], leaf: Any, *, where: str) -> list[str]:
    """The nodes from the root to the node that was shown last."""
    path: dict[str, None] = {}
    key = last_leaf(mapping) if leaf is None else as_text(leaf)
    while key is not None:
        if key in path or not isinstance(mapping.get(key), dict):
            fault = "leads back to itself" if key in path else "is not there"
            raise InvalidInput(
                f"{where}: expected a tree; node {key!r} {fault}. Ask for a new export, or fix the file."
            )
        path[key] = None
        key = as_text(mapping[key].get("parent"))
    return list(reversed(path))


def as_text(key: object) -> str | None:
    """A key or name as text, whatever its type; None stays None."""
    return None if key is None else str(key)


def last_leaf(mapping: Mapping[str, Any]) -> str | None:
    """The last node without children, for a conversation that does not name its current node."""
    return next(
        (key for key in reversed(list(mapping)) if isinstance(mapping[key], dict) and not mapping[key].get("children")),
        None,
    )


def node_turn(
    key: str, node: Mapping[str, Any], *, where: str, session: str, title: Mapping[str, Any], before: datetime | None
) -> Turn | Skip | None:
    """Read the message of one node; None if it has none, and a skip if the message is not part of the conversation."""
    message = object_field(node, "message", where=where)
    if not message:
        return None
    author, content = object_field(message, "author", where=where), object_field(message, "content", where=where)
    about = object_field(message, "metadata", where=where)
    if reason := skip_reason(message, author, content, about):
        return Skip(reason, where)
    role = role_of(author.get("role"))
    text, without_text = text_of(content)
    extra = {"model": about.get("model_slug"), "parts_without_text": without_text}
    return Turn(
        where=where,
        session=session,
        content=text,
        role=role,
        name=as_text(author.get("name") or (author.get("role") if role is None else None)),
        at=epoch_time(message.get("create_time"), where=where) or before,
        id=str(message.get("id") or key),
        metadata={**title, **{field: found for field, found in extra.items() if found}},
    )


def skip_reason(
    message: Mapping[str, Any], author: Mapping[str, Any], content: Mapping[str, Any], about: Mapping[str, Any]
) -> str | None:
    """Why a message is not a turn of the conversation; None if it is one."""
    if role_of(author.get("role")) == "system":
        return "a system message"
    if about.get("is_visually_hidden_from_conversation"):
        return "hidden from the conversation"
    if str(content.get("content_type")) in HIDDEN:
        return "a model's notes or reasoning"
    if message.get("recipient") not in (None, "all"):
        return "a call of a tool"
    return None


def text_of(content: Mapping[str, Any]) -> tuple[str, int]:
    """The parts that are text, joined as paragraphs, and the number of the other parts (images, sound)."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text") or content.get("result") or ""]
    texts = [one.get("text") if isinstance(one, dict) else one for one in parts if not is_thought(one)]
    spoken = [text for text in texts if isinstance(text, str)]
    return "\n\n".join(text for text in spoken if text), len(texts) - len(spoken)
