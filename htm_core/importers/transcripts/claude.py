"""Read the conversations.json of a Claude export: a list of conversations, each with its messages.

Each message names the one before it, so that edits and new answers begin branches: the current one
is read. Older exports have the messages in their order alone. A message has its words as blocks of
content; older exports have one text. Pasted and attached documents are in the export as text: they
come with their message. What is not understood is left out with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from ...base.errors import InvalidInput
from ...text.file_blocks import FileBlock
from ...text.thoughts import is_thought
from .turns import (
    NOT_TO_BE_REMEMBERED,
    NOT_UNDERSTOOD,
    TAKEN_BACK,
    Conversation,
    Entry,
    Skip,
    Turn,
    branch,
    iso_time,
    last_leaf,
    lenient_time,
    not_understood,
    role_of,
    shown,
)

# What a message is that has no text, by the types of its blocks.
WITHOUT_TEXT = {
    "tool_use": "a call of a tool",
    "tool_result": "the result of a tool",
    "thinking": "a model's notes or reasoning",
    "redacted_thinking": "a model's notes or reasoning",
}
NO_MESSAGE = "00000000-0000-"  # how the id begins that a first message names as the one before it
WHOLE = ("create", "rewrite")  # commands that write all of an artifact


def is_export(value: Any) -> bool:
    """True if this is an exported conversation, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "chat_messages" in first


def conversations(value: Any, name: str) -> Iterator[Entry]:
    """Read every conversation of an export; its uuid is the session, its name the title in the
    metadata of each turn.
    """
    yield from each_conversation(value if isinstance(value, list) else [value], name)


def each_conversation(values: Iterable[Any], name: str) -> Iterator[Entry]:
    """Read conversations one by one, as they come out of a long export."""
    for number, item in enumerate(values, 1):
        where = f"{name}, conversation {number}"
        try:
            yield from _conversation(item, where=where)
        except InvalidInput as error:
            yield not_understood(
                error, where=where, title=item.get("name") if isinstance(item, dict) else None
            )


def _conversation(value: Any, *, where: str) -> Iterator[Entry]:
    if isinstance(value, InvalidInput):
        raise value
    messages = value.get("chat_messages") if isinstance(value, dict) else None
    session = value.get("uuid") if isinstance(value, dict) else None
    if not isinstance(messages, list) or not isinstance(session, str) or not session:
        raise InvalidInput(
            f'{where}: expected an object with "uuid" and "chat_messages"; {shown(value)} came'
        )
    title = value.get("name")
    about = {"title": title} if isinstance(title, str) and title.strip() else {}
    times = [
        moment
        for each in messages
        if isinstance(each, dict) and (moment := lenient_time(each.get("created_at")))
    ]
    latest = max(times) if times else lenient_time(value.get("updated_at"))
    known = {
        each["uuid"]
        for each in messages
        if isinstance(each, dict) and isinstance(each.get("uuid"), str)
    }
    if value.get("is_temporary"):
        yield Skip(NOT_TO_BE_REMEMBERED, where)
        yield Conversation(session=session, taken_back=frozenset(known), at=latest, whole=True)
        return
    holding = set[str]()
    before = lenient_time(value.get("created_at")) or lenient_time(value.get("updated_at"))
    current = dict.fromkeys(_current(messages, value.get("current_leaf_message_uuid")))
    for number in [*(each for each in range(len(messages)) if each not in current), *current]:
        message, place = messages[number], f"{where}, message {number + 1}"
        if number not in current:
            yield Skip(TAKEN_BACK, place)
            continue
        id = message.get("uuid") if isinstance(message, dict) else None
        try:
            entry = _message(message, where=place, session=session, about=about, before=before)
        except InvalidInput as error:
            entry = not_understood(error, where=place, title=title)
        if isinstance(entry, Turn):
            before = entry.at
        if isinstance(id, str) and (isinstance(entry, Turn) or entry.reason == NOT_UNDERSTOOD):
            holding.add(id)
        yield entry
    yield Conversation(
        session=session,
        ids=frozenset(holding),
        taken_back=frozenset(known - holding),
        at=latest,
        whole=True,
    )


def _current(messages: list[Any], leaf: Any) -> list[int]:
    """The places of the messages of the current branch, in its order; of all where none says which
    one came before it.

    What is no message stays where it is, to be named. One that names no message before it follows
    the one that stands before it.
    """
    parents: dict[str, str | None] = {}
    times: dict[str, Any] = {}
    places: dict[str, int] = {}
    strange = list[int]()
    last: str | None = None
    ids = {
        each.get("uuid")
        for each in messages
        if isinstance(each, dict) and isinstance(each.get("uuid"), str)
    }
    is_tree = any(isinstance(each, dict) and each.get("parent_message_uuid") for each in messages)
    if not is_tree:
        return list(range(len(messages)))
    for number, message in enumerate(messages):
        id = message.get("uuid") if isinstance(message, dict) else None
        if not isinstance(id, str) or id in places:
            strange.append(number)
            continue
        parent = message.get("parent_message_uuid")
        if parent not in ids and not (isinstance(parent, str) and parent.startswith(NO_MESSAGE)):
            parent = None if parent is None and "parent_message_uuid" in message else last
        places[id], parents[id] = number, parent if parent in ids else None
        times[id] = lenient_time(message.get("created_at"))
        last = id
    named = leaf if leaf in places else last_leaf(parents, times, places)
    path, _ = branch(parents, named)
    return [*strange, *(places[id] for id in path)]


def _message(
    value: Any, *, where: str, session: str, about: Mapping[str, Any], before: datetime | None
) -> Turn | Skip:
    if not isinstance(value, dict) or not isinstance(value.get("uuid"), str):
        raise InvalidInput(f'{where}: expected an object with "uuid"; {shown(value)} came')
    id, role = value["uuid"], role_of(value.get("sender"))
    at = (
        _time(value.get("created_at"), where=where)
        or lenient_time(value.get("updated_at"))
        or before
    )
    attachments = [each for each in _listed(value, "attachments") if _extracted(each)]
    without_text = (
        len(_listed(value, "files")) + len(_listed(value, "attachments")) - len(attachments)
    )
    text, reason = text_of(value)
    if not text.strip() and not attachments:
        return Skip(
            "only files in it" if without_text and reason is None else reason or "no text in it",
            where,
        )
    extra = {"parts_without_text": without_text} if without_text else {}
    return Turn(
        where=where,
        session=session,
        content=text,
        role=role,
        at=at,
        id=id,
        metadata={**about, **extra},
        files=tuple(map(_file_of, attachments)),
    )


def _time(value: Any, *, where: str) -> datetime | None:
    """A time of an export, whichever way it is written; what is none is an error that asks for ISO
    8601.
    """
    return lenient_time(value) or iso_time(value or None, where=where)


def text_of(value: Mapping[str, Any]) -> tuple[str, str | None]:
    """The words of a message as paragraphs, or why there are none. Blocks come before `text`, which
    repeats them with notes.

    An artifact is the text that the model wrote into it.
    """
    blocks = [each for each in _listed(value, "content") if isinstance(each, dict)]
    texts = [words for each in blocks if (words := _said(each)) is not None]
    if any(text.strip() for text in texts):
        return "\n\n".join(text for text in texts if text.strip()), None
    kinds = {str(each.get("type")) for each in blocks}
    if reason := next((why for kind, why in WITHOUT_TEXT.items() if kind in kinds), None):
        return "", reason
    text = value.get("text")
    return (text, None) if isinstance(text, str) else ("", None)


def _said(block: Mapping[str, Any]) -> str | None:
    if block.get("type") == "tool_use" and block.get("name") == "artifacts":
        written = block.get("input")
        if (
            isinstance(written, dict)
            and written.get("command") in WHOLE
            and isinstance(written.get("content"), str)
        ):
            return str(written["content"])
    text = block.get("text")
    is_said = block.get("type") not in WITHOUT_TEXT and not is_thought(block)
    return text if isinstance(text, str) and is_said else None


def _listed(value: Mapping[str, Any], field: str) -> list[Any]:
    entries = value.get(field)
    return entries if isinstance(entries, list) else []


def _file_of(attachment: Mapping[str, Any]) -> FileBlock:
    name = attachment.get("file_name")
    return FileBlock(
        data=_extracted(attachment),
        is_text=True,
        name=name if isinstance(name, str) and name else None,
    )


def _extracted(attachment: Any) -> str:
    text = attachment.get("extracted_content") if isinstance(attachment, dict) else None
    return text if isinstance(text, str) and text.strip() else ""
