"""Files in LlamaIndex's messages: their document blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llama_index.core.base.llms.types import ChatMessage, DocumentBlock

from htm_core import Mention
from htm_core.prompt.attachments import UNNAMED, FileBlock


def files_of(message: ChatMessage) -> Iterator[FileBlock]:
    """The documents whose bytes a message has. What lies elsewhere, under a path or an address, is
    not opened.
    """
    for block in _documents(message):
        data = block.data if isinstance(block.data, bytes) or block.data is None else _whole(block)
        if data:
            yield FileBlock(
                data=data.decode("ascii", "replace") if isinstance(block.data, bytes) else data,
                name=block.title
                if block.title != UNNAMED
                else str(block.path)
                if block.path
                else None,
                media_type=block.document_mimetype,
            )


def with_shown_files(
    entries: Sequence[tuple[str | None, Mention]],
    messages: Sequence[ChatMessage],
    window: Sequence[ChatMessage],
) -> frozenset[str]:
    """The ids of those messages whose documents are shown in a window; `messages` are those of the
    last entries.
    """
    shown = {id(block) for message in window for block in message.blocks}
    last = zip(entries[len(entries) - len(messages) :], messages, strict=True)
    return frozenset(
        name
        for (name, _), message in last
        if name and any(id(each) in shown for each in _documents(message))
    )


def _documents(message: ChatMessage) -> list[DocumentBlock]:
    return [block for block in message.blocks if isinstance(block, DocumentBlock)]


def _whole(block: DocumentBlock) -> bytes:
    """The bytes of a file object, which is left where it was."""
    stream = block.data
    assert stream is not None
    assert not isinstance(stream, bytes)
    try:
        place = stream.tell()
        stream.seek(0)
        content = stream.read()
        stream.seek(place)
    except (OSError, ValueError):  # closed, or one that cannot go back
        return b""
    return content if isinstance(content, bytes) else str(content).encode()
