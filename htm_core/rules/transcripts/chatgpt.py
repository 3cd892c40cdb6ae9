"""Read the conversations.json of a ChatGPT export: each conversation a tree, of which the branch last shown is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ...errors import InvalidInput
from .turns import Skip, Turn, came, epoch, part, role_of

HIDDEN = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})


def is_export(value: Any) -> bool:
    """Whether this is an exported conversation, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "mapping" in first


def conversations(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read every conversation of an export; its id is the session, its title goes into the metadata of each turn."""
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        where = f"{name}, conversation {number}"
        if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
            raise InvalidInput(
                f'{where}: expected an object with "mapping"; {came(item)} came. '
                "Take conversations.json out of the export as it is."
            )
        yield from conversation(item, where=where, session=f"{name}-{number}")


def conversation(value: Mapping[str, Any], *, where: str, session: str) -> Iterator[Turn | Skip]:
    """Read one conversation from its root to where it was left; what lies on other branches is counted, not read.

    A message without a time has that of the message before it, since order must not be lost.
    """
    mapping = value["mapping"]
    path = current_path(mapping, value.get("current_node"), where=where)
    taken = set(path)
    for key, node in mapping.items():
        if key not in taken and isinstance(node, dict) and node.get("message"):
            yield Skip("on a branch that was not the last shown")
    session = str(value.get("conversation_id") or value.get("id") or session)
    title = {"title": value["title"]} if value.get("title") else {}
    at = epoch(value.get("create_time"), where=where)
    for key in path:
        entry = node_turn(key, mapping[key], where=f"{where}, node {key!r}", session=session, title=title, before=at)
        if entry is not None:
            at = entry.at if isinstance(entry, Turn) else at
            yield entry


def current_path(mapping: Mapping[str, Any], leaf: Any, *, where: str) -> list[str]:
    """Follow the parents from the node last shown up to the root, and give them root first."""
    path: dict[str, None] = {}
    key = last_leaf(mapping) if leaf is None else named(leaf)
    while key is not None:
        if key in path or not isinstance(mapping.get(key), dict):
            fault = "leads back to itself" if key in path else "is not there"
            raise InvalidInput(
                f"{where}: expected a tree; node {key!r} {fault}. Ask for a new export, or mend the file."
            )
        path[key] = None
        key = named(mapping[key].get("parent"))
    return list(reversed(path))


def named(key: object) -> str | None:
    """A node's name as text, whatever was written there."""
    return None if key is None else str(key)


def last_leaf(mapping: Mapping[str, Any]) -> str | None:
    """The last of the nodes that have no children, for a conversation that does not say where it was left."""
    return next(
        (key for key in reversed(list(mapping)) if isinstance(mapping[key], dict) and not mapping[key].get("children")),
        None,
    )


def node_turn(
    key: str, node: Mapping[str, Any], *, where: str, session: str, title: Mapping[str, Any], before: datetime | None
) -> Turn | Skip | None:
    """Read the message of one node; None where the tree only branches, a skip where nobody said it aloud."""
    message = part(node, "message", where=where)
    if not message:
        return None
    author, content = part(message, "author", where=where), part(message, "content", where=where)
    about = part(message, "metadata", where=where)
    reason = unspoken(message, author, content, about)
    if reason:
        return Skip(reason)
    role = role_of(author.get("role"))
    text, left = text_of(content)
    extra = {"model": about.get("model_slug"), "parts_without_text": left}
    return Turn(
        where=where,
        session=session,
        content=text,
        role=role,
        name=named(author.get("name") or (author.get("role") if role is None else None)),
        at=epoch(message.get("create_time"), where=where) or before,
        id=str(message.get("id") or key),
        metadata={**title, **{field: found for field, found in extra.items() if found}},
    )


def unspoken(
    message: Mapping[str, Any], author: Mapping[str, Any], content: Mapping[str, Any], about: Mapping[str, Any]
) -> str | None:
    """Why a message is none of the conversation's turns; None when it is one."""
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
    """Join the parts that are text, one paragraph each, and count the parts of other kinds (images, sound)."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text") or content.get("result") or ""]
    texts = [one.get("text") if isinstance(one, dict) else one for one in parts]
    spoken = [text for text in texts if isinstance(text, str)]
    return "\n\n".join(text for text in spoken if text), len(texts) - len(spoken)
