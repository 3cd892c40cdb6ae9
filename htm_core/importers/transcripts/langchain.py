"""Read messages that LangChain dumped, in either of its two formats: `messages_to_dict` and
`dumpd`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...base.errors import InvalidInput
from ...text.file_blocks import files_in
from ...text.thoughts import is_thought
from .turns import Skip, Turn, not_understood, role_of, shown

FIELDS = frozenset({"content", "type", "name", "id", "role", "example"})


def is_dump(value: Any) -> bool:
    """True if this is one dumped message, a list of them, or such lists by session."""
    if isinstance(value, dict) and not is_message(value):
        lists = list(value.values())
        return (
            bool(lists)
            and all(isinstance(one, list) for one in lists)
            and is_dump(next(filter(None, lists), None))
        )
    return is_message(value[0]) if isinstance(value, list) and value else is_message(value)


def is_message(value: Any) -> bool:
    """True if this is one message, as `messages_to_dict` or as `dumpd` writes it."""
    return isinstance(value, dict) and (("type" in value and "data" in value) or "lc" in value)


def messages(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read a message, a list of them, or lists by session; anything else is refused
    with its place.
    """
    if isinstance(value, dict) and not is_message(value):
        for session, listed in value.items():
            where = f"{name}, session {session!r}"
            try:
                yield from messages_of(listed, session=session, where=where)
            except InvalidInput as error:
                yield not_understood(error, where=where)
    else:
        yield from listed_messages(value if isinstance(value, list) else [value], name)


def messages_of(value: Any, *, session: str, where: str) -> Iterator[Turn | Skip]:
    """Read the messages of one session in order."""
    if not isinstance(value, list):
        raise InvalidInput(
            f"{where}: expected a list of messages; {shown(value)} came. Write {{session: "
            f"[message, ...]}} or one list."
        )
    for number, item in enumerate(value, 1):
        yield _tolerant(item, session=session, where=f"{where}, message {number}")


def listed_messages(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read messages one by one, all of the session that is named as the file."""
    for number, item in enumerate(values, 1):
        yield _tolerant(item, session=name, where=f"{name}, message {number}")


def _tolerant(value: Any, *, session: str, where: str) -> Turn | Skip:
    try:
        if isinstance(value, InvalidInput):
            raise value
        return message(value, session=session, where=where)
    except InvalidInput as error:
        return not_understood(error, where=where)


def message(value: Any, *, session: str, where: str) -> Turn | Skip:
    """Read one message; other fields go into metadata, and a message that removes another one is
    skipped.
    """
    kind, fields = kind_and_fields(value, where=where)
    if kind == "remove":
        return Skip("a removal of another message", where)
    role = role_of(fields.get("role") if kind == "chat" else kind)
    text, without_text = text_of(fields.get("content"), where=where)
    files = () if role == "system" else tuple(files_in(fields.get("content")))
    without_text -= len(files)
    speaker = fields.get("name") or (fields.get("role") if role is None else None)
    extra = {field: found for field, found in fields.items() if field not in FIELDS and found}
    return Turn(
        where=where,
        session=session,
        content=text,
        role=role,
        name=None if speaker is None else str(speaker),
        id=None if fields.get("id") is None else str(fields["id"]),
        metadata={**extra, "parts_without_text": without_text} if without_text else extra,
        files=files,
    )


def kind_and_fields(value: Any, *, where: str) -> tuple[str, Mapping[str, Any]]:
    """A message's kind ("human", "ai", "tool", ...) and its fields."""
    fields = (value.get("data") or value.get("kwargs")) if isinstance(value, dict) else None
    if not isinstance(fields, dict) or "content" not in fields:
        raise InvalidInput(
            f"{where}: expected {{'type': ..., 'data': {{'content': ...}}}} as messages_to_dict "
            "writes it, "
            f"or what dumpd writes; {shown(value)} came. Dump the messages again with one of the "
            "two."
        )
    path = value.get("id")
    constructor = path[-1] if isinstance(path, list) and path else ""
    name = (value.get("type") if value.get("data") else fields.get("type")) or constructor
    return str(name).removesuffix("Chunk").removesuffix("Message").lower(), fields


def text_of(content: Any, *, where: str) -> tuple[str, int]:
    """A message's text blocks, joined without a separator as LangChain does, and the number of its
    other blocks.
    """
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        raise InvalidInput(
            f"{where}: expected content as text or a list of blocks; {shown(content)} came. Dump "
            "it again."
        )
    texts = [block_text(block) for block in content]
    return "".join(text for text in texts if text is not None), texts.count(None)


def block_text(block: Any) -> str | None:
    """The text of one content block; None when it is an image, a tool call or the like."""
    if isinstance(block, dict):
        block = block.get("text") if block.get("type") == "text" and not is_thought(block) else None
    return block if isinstance(block, str) else None
