"""Read the conversations.json of a Claude export: a list of conversations, each with its messages in their order.

A message has its words as blocks of content; older exports have one text. Pasted and attached documents are in the export as
text: they come with their message. What is not understood is left out with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from ...errors import InvalidInput
from ..text.file_blocks import FileBlock
from ..text.thoughts import is_thought
from .turns import Skip, Turn, iso_time, not_understood, role_of, shown

# What a message is that has no text, by the types of its blocks.
WITHOUT_TEXT = {
    "tool_use": "a call of a tool",
    "tool_result": "the result of a tool",
    "thinking": "a model's notes or reasoning",
}


def is_export(value: Any) -> bool:
    """Whether this is an exported conversation, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "chat_messages" in first


def conversations(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read every conversation of an export; its uuid is the session, its name the title in the metadata of each turn."""
    yield from each_conversation(value if isinstance(value, list) else [value], name)


def each_conversation(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read conversations one by one, as they come out of a long export."""
    for number, item in enumerate(values, 1):
        where = f"{name}, conversation {number}"
        try:
            turns = list(_conversation(item, where=where))
        except InvalidInput as error:
            yield not_understood(error, where=where)
        else:
            yield from turns


def _conversation(value: Any, *, where: str) -> Iterator[Turn | Skip]:
    messages = value.get("chat_messages") if isinstance(value, dict) else None
    session = value.get("uuid") if isinstance(value, dict) else None
    if not isinstance(messages, list) or not isinstance(session, str) or not session:
        raise InvalidInput(f'{where}: expected an object with "uuid" and "chat_messages"; {shown(value)} came')
    title = value.get("name")
    about = {"title": title} if isinstance(title, str) and title.strip() else {}
    before = iso_time(value.get("created_at"), where=where)
    for number, message in enumerate(messages, 1):
        place = f"{where}, message {number}"
        try:
            found = list(_message(message, where=place, session=session, about=about, before=before))
        except InvalidInput as error:
            yield not_understood(error, where=place)
            continue
        for entry in found:
            before = entry.at if isinstance(entry, Turn) else before
            yield entry


def _message(
    value: Any, *, where: str, session: str, about: Mapping[str, Any], before: datetime | None
) -> Iterator[Turn | Skip]:
    if not isinstance(value, dict) or not isinstance(value.get("uuid"), str):
        raise InvalidInput(f'{where}: expected an object with "uuid"; {shown(value)} came')
    id, role = value["uuid"], role_of(value.get("sender"))
    at = iso_time(value.get("created_at"), where=where) or before
    attachments = [each for each in _listed(value, "attachments") if _extracted(each)]
    without_text = len(_listed(value, "files")) + len(_listed(value, "attachments")) - len(attachments)
    text, reason = text_of(value)
    if not text.strip() and not attachments:
        yield Skip("only files in it" if without_text and reason is None else reason or "no text in it", where)
        return
    extra = {"parts_without_text": without_text} if without_text else {}
    yield Turn(
        where=where, session=session, content=text, role=role, at=at, id=id, metadata={**about, **extra},
        files=tuple(map(_file_of, attachments)),
    )  # fmt: skip


def text_of(value: Mapping[str, Any]) -> tuple[str, str | None]:
    """The words of a message as paragraphs, or why there are none. Blocks come before `text`, which repeats them with notes."""
    blocks = [each for each in _listed(value, "content") if isinstance(each, dict)]
    texts = [
        each["text"]
        for each in blocks
        if isinstance(each.get("text"), str) and each.get("type") not in WITHOUT_TEXT and not is_thought(each)
    ]
    if any(text.strip() for text in texts):
        return "\n\n".join(text for text in texts if text.strip()), None
    kinds = {str(each.get("type")) for each in blocks}
    if reason := next((why for kind, why in WITHOUT_TEXT.items() if kind in kinds), None):
        return "", reason
    text = value.get("text")
    return (text, None) if isinstance(text, str) else ("", None)


def _listed(value: Mapping[str, Any], field: str) -> list[Any]:
    found = value.get(field)
    return found if isinstance(found, list) else []


def _file_of(attachment: Mapping[str, Any]) -> FileBlock:
    name = attachment.get("file_name")
    return FileBlock(data=_extracted(attachment), is_text=True, name=name if isinstance(name, str) and name else None)


def _extracted(attachment: Any) -> str:
    text = attachment.get("extracted_content") if isinstance(attachment, dict) else None
    return text if isinstance(text, str) and text.strip() else ""
