"""LangChain's messages as they are stored: the words to search, and the bytes that bring every
field back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    messages_from_dict,
)

from htm_core import Draft, Mention
from htm_core.palace import GROUNDING_KEY
from htm_core.prompt import exact_json
from htm_core.prompt.attachments import files_said
from htm_core.prompt.memory_block import without_blocks
from htm_core.prompt.messages import (
    LANGCHAIN_MESSAGE,
    NOT_KEPT,
    is_thought,
    quotes_memories,
    read_payload,
    safe_repr,
    searchable,
    storable_name,
    without_thoughts,
    write_payload,
)
from htm_core.prompt.origin import EXTERNAL, quoted

from .attachments import files_of

FORMAT = LANGCHAIN_MESSAGE
# LangChain's own mark of a message that no person typed. Its providers do not send the mark to the
# model.
SOURCE = "lc_source"

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}


# -- storing ---------------------------------------------------------------------------------------


def without_quotes(message: BaseMessage) -> BaseMessage:
    """Return a message without memories that a tool of memory or a palace quoted in it, or a
    request had before a user's words.

    It is the very message where there are none.
    """
    if isinstance(message, HumanMessage):
        content = with_beginning(message.content, without_blocks)
        return (
            message
            if content == message.content
            else message.model_copy(update={"content": content})
        )
    if isinstance(message, ToolMessage) and quotes_memories(str(message.text)):
        return message.model_copy(update={"content": NOT_KEPT, "artifact": None})
    cited = message.response_metadata.get(GROUNDING_KEY)
    if not isinstance(cited, dict) or not isinstance(cited.get("evidence"), list):
        return message
    where = [
        {name: each for name, each in found.items() if name != "content"}
        for found in cited["evidence"]
    ]
    more = {**message.response_metadata, GROUNDING_KEY: {**cited, "evidence": where}}
    return message.model_copy(update={"response_metadata": more})


def with_beginning(content: str | list[Any], change: Callable[[str], str]) -> str | list[Any]:
    """A content whose first text is changed; a block whose text is gone is left out."""
    if isinstance(content, str):
        return change(content)
    first = content[0] if content else None
    text = first.get("text") if isinstance(first, dict) else first
    if not isinstance(text, str):
        return content
    left = change(text)
    kept = {**first, "text": left} if isinstance(first, dict) else left
    return [kept, *content[1:]] if left else content[1:]


def encode(message: BaseMessage, *, thread: str | None = None) -> bytes:
    """Write down a message of any type, with every field of it, and `thread` beside it where
    several share a log.

    What a tool of memory quoted is left out: the memory itself has it, until it is forgotten.

    The shape is that of LangChain's `messages_to_dict`; bytes, times, tuples and sets are marked.
    An object of any other type (a data frame as an artifact) is kept as its `repr`: nothing is
    pickled. A field that cannot be written down at all, because it contains itself or is nested
    without end, does not harm the other fields.
    """
    whole = without_quotes(
        message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
    )
    try:
        return _payload(
            whole.type, exact_json.encode_value(whole.model_dump(warnings=False)), thread
        )
    except Exception:  # a value's own `repr` may raise anything
        return _payload(whole.type, {name: _encode_field(value) for name, value in whole}, thread)


def decode(payload: bytes) -> BaseMessage:
    """Read a message that `encode` wrote; a fresh object each time. Raises `ValueError` for other
    bytes.
    """
    data = read_payload(payload, FORMAT)
    if data is None:
        raise ValueError(
            f"expected a message that htm_langchain wrote ({FORMAT}), got other bytes; read "
            "Mention.content"
        )
    return messages_from_dict(
        [{"type": data["type"], "data": exact_json.decode_value(data["data"])}]
    )[0]


def thread_of(mention: Mention) -> str | None:
    """The thread of a message whose log several threads share; None for any other."""
    if b'"thread"' not in (mention.payload or b""):  # most are not read for it
        return None
    thread = (read_payload(mention.payload, FORMAT) or {}).get("thread")
    return thread if isinstance(thread, str) else None


def message_of(mention: Mention, *, id: str | None = None) -> BaseMessage:
    """The message of a mention; of one that was not said through LangChain, a message with its role
    and words.

    `id` is for a message that had none of its own.
    """
    try:
        message = decode(mention.payload or b"null")
    except ValueError:
        if mention.role == "tool":
            message = ToolMessage(content=mention.content, tool_call_id="")
        # a page or a file has no role in a chat, and these are nobody's words
        elif mention.source in EXTERNAL:
            message = HumanMessage(content=quoted(mention), additional_kwargs={SOURCE: "htm"})
        else:
            types: dict[str | None, type[BaseMessage]] = {
                "assistant": AIMessage,
                "system": SystemMessage,
            }
            message = types.get(mention.role, HumanMessage)(
                content=mention.content, name=mention.name
            )
    message.id = message.id or id or mention.id
    return message


def draft_of(
    message: BaseMessage,
    *,
    id: str,
    metadata: Mapping[str, Any] | None = None,
    thread: str | None = None,
    by_agent: bool = False,
) -> Draft:
    """Draft of a message under an id: its words, its speaker, the exact message with its thread,
    and the text of its files.

    `by_agent` says that another agent speaks where a user does elsewhere. Neither the message's
    name nor its metadata decides where it comes from: its type does.
    """
    message, role = without_quotes(message), role_of(message)
    return Draft(
        content=words_of(message),
        id=stored_id(id),
        role=role,
        source="import" if role is None else "assistant" if role == "user" and by_agent else None,
        name=storable_name(message.name),
        payload=encode(message, thread=thread),
        metadata=metadata,
        attached=files_said(files_of(message), role),
    )


def stored_id(id: str) -> str:
    """The id under which a message is stored: its own, or the hash of one that the core does not
    accept.
    """
    return storable_name(id) or hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def words_of(message: BaseMessage) -> str:
    """The words of a message that can be searched, which a model's thoughts are not;
    may be empty.
    """
    text = (
        str(message.text) if isinstance(message.content, str) else "".join(_texts(message.content))
    )
    return searchable(without_thoughts(text) if isinstance(message, AIMessage) else text)


def _texts(content: Sequence[str | dict[Any, Any]]) -> Iterator[str]:
    for block in content:
        if isinstance(block, str):
            yield block
        elif (
            block.get("type") == "text"
            and isinstance(block.get("text"), str)
            and not is_thought(block)
        ):
            yield block["text"]


def role_of(message: BaseMessage) -> str | None:
    """The core's role for a message; None for a role that the core does not have."""
    if message.type == "chat":
        role = getattr(message, "role", None)
        return role if role in _ROLES.values() else None
    return _ROLES.get(
        message.type.removesuffix("MessageChunk").lower()
        if message.type not in _ROLES
        else message.type
    )


# -- who wrote it ----------------------------------------------------------------------------------


def is_inserted(message: BaseMessage) -> bool:
    """True if a framework put this message there (a summary, a recalled block), so that nobody said
    it.
    """
    return isinstance(message.additional_kwargs.get(SOURCE), str)


def is_from_person(message: BaseMessage) -> bool:
    """True if a person said this."""
    return isinstance(message, HumanMessage) and not is_inserted(message)


def leading_system(messages: Sequence[BaseMessage]) -> int:
    """Count the system messages that come first."""
    return next(
        (at for at, each in enumerate(messages) if not isinstance(each, SystemMessage)),
        len(messages),
    )


def _payload(type: str, data: Any, thread: str | None) -> bytes:
    return write_payload(
        FORMAT, {"type": type, "data": data} | ({} if thread is None else {"thread": thread})
    )


def _encode_field(value: Any) -> Any:
    try:
        encoded = exact_json.encode_value(value)
        json.dumps(encoded)
    except Exception:
        return safe_repr(value)
    return encoded
