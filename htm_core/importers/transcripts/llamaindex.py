"""Read what LlamaIndex writes: the file of a `SimpleChatStore`, a memory that holds one, and
`ChatMessage`s as JSON.

Its messages have no ids and no times. The id of each is made of its session, its words, and how
often they came before there: so a store from whose beginning messages were taken meanwhile gives
the others the same ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...base.errors import InvalidInput
from ...text.file_blocks import documents_in, named
from ...text.thoughts import is_thought
from .turns import Occurrences, Skip, Turn, not_understood, object_field, role_of, shown

FORMAT = "llamaindex"
ROLES: Mapping[str, str] = {"chatbot": "assistant", "model": "assistant"}
FIELDS = frozenset({"role", "content", "blocks", "additional_kwargs"})


def is_message(value: Any) -> bool:
    """True if this is one ChatMessage as `model_dump` writes it, of today's versions or those
    before there were blocks.
    """
    if not isinstance(value, dict) or "role" not in value:
        return False
    return isinstance(value.get("blocks"), list) or (
        "content" in value and isinstance(value.get("additional_kwargs"), dict)
    )


def is_dump(value: Any) -> bool:
    """True if this is the file of a SimpleChatStore, a memory with one in it, a ChatMessage or a
    list of them.
    """
    if isinstance(value, list) and value:
        return is_message(value[0])
    return is_message(value) or _store(value) is not None


def read(
    content: str, name: str, *, values: Callable[[list[str], str], Iterable[tuple[str, Any]]]
) -> Iterator[Turn | Skip]:
    """Read a text that is a chat store or a message as a whole, or else has one message a line."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return lines(values(content.split("\n"), name), name)
    return messages(whole, name)


def messages(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read all messages; the key of a chat store is the session, and `name` is that of messages
    without one.
    """
    store = _store(value)
    if store is None:
        yield from listed_messages(value if isinstance(value, list) else [value], name)
        return
    for key, listed in store.items():
        where = f"{name}, key {key!r}"
        if not isinstance(listed, list):
            wrong = InvalidInput(
                f"expected a list of messages; {shown(listed)} came. Persist the chat store again."
            )
            yield not_understood(wrong, where=where)
            continue
        yield from lines(
            ((f"{where}, message {number}", each) for number, each in enumerate(listed, 1)), key
        )


def listed_messages(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read messages one by one, all of the session that is named as the file."""
    yield from lines(
        ((f"{name}, message {number}", each) for number, each in enumerate(values, 1)), name
    )


def lines(values: Iterable[tuple[str, Any]], name: str) -> Iterator[Turn | Skip]:
    """Read messages that were parsed already, each with its place, all of one session."""
    ids = Occurrences(FORMAT)
    for where, value in values:
        try:
            if isinstance(value, InvalidInput):
                raise value
            yield _message(value, ids, session=name, where=where)
        except InvalidInput as error:
            yield not_understood(error, where=where)


def _message(value: Any, ids: Occurrences, *, session: str, where: str) -> Turn | Skip:
    if not isinstance(value, dict) or not ("blocks" in value or "content" in value):
        raise InvalidInput(
            f'{where}: expected a ChatMessage with "role" and "blocks"; {shown(value)} came. '
            "Persist it again with LlamaIndex."
        )
    text, without_text = text_of(value)
    speaker = str(value.get("role") or "user").lower()
    role = ROLES.get(speaker) or role_of(speaker)
    extra = {
        field: found
        for field, found in object_field(value, "additional_kwargs", where=where).items()
        if found
    }
    others = {field: found for field, found in value.items() if field not in FIELDS and found}
    files = () if role == "system" else tuple(documents_in(value.get("blocks")))
    without_text -= len(files)
    if not text.strip() and not files:
        return Skip(
            "a call of a tool" if extra.get("tool_calls") or without_text else "no text in it",
            where,
        )
    return Turn(
        where=where,
        session=session,
        content=text,
        role=role,
        name=None if role else speaker,
        id=ids.id(session, speaker, text or named(files)),
        metadata={
            **extra,
            **others,
            **({"parts_without_text": without_text} if without_text else {}),
        },
        files=files,
    )


def text_of(value: Mapping[str, Any]) -> tuple[str, int]:
    """The text blocks of a message, joined by line breaks as LlamaIndex does, and the number of its
    other blocks.
    """
    blocks = value.get("blocks")
    if not isinstance(blocks, list):
        content = value.get("content")
        return (content, 0) if isinstance(content, str) else ("", 0)
    texts = [_text(each) for each in blocks]
    return "\n".join(text for text in texts if text is not None), texts.count(None)


def _text(block: Any) -> str | None:
    is_text = (
        isinstance(block, dict)
        and block.get("block_type", "text") == "text"
        and not is_thought(block)
    )
    text = block.get("text") if is_text else None
    return text if isinstance(text, str) else None


def _store(value: Any) -> Mapping[str, Any] | None:
    """The lists of messages by key, of a chat store or of a memory that holds one (as an object, or
    as its JSON).
    """
    if not isinstance(value, dict):
        return None
    inner = value.get("chat_store")
    if isinstance(inner, str):
        try:
            inner = json.loads(inner)
        except (ValueError, RecursionError):
            return None
    value = inner if isinstance(inner, dict) else value
    store = value.get("store")
    is_store = isinstance(store, dict) and (
        value.get("class_name") == "SimpleChatStore" or all(map(_listed, store.values()))
    )
    return store if is_store else None


def _listed(value: Any) -> bool:
    return isinstance(value, list) and (not value or is_message(value[0]))
