"""Files in LangChain's messages, as LangChain, OpenAI, Anthropic, Google and Bedrock write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from htm_core.integration.attachments import FileBlock

_NAMES = ("filename", "file_name", "title", "name")


def files_of(message: BaseMessage) -> Iterator[FileBlock]:
    """The files whose text or bytes a message has. What lies elsewhere, under an address or an id, is not fetched."""
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, Mapping):
            found = _file_of(block)
            if found is not None and found.data:
                yield found


def _file_of(block: Mapping[str, Any]) -> FileBlock | None:
    kind = block.get("type")
    if kind == "text-plain" and isinstance(block.get("text"), str):
        return _made(block["text"], block, is_text=True)
    if kind in ("text-plain", "file"):
        inner = block.get("file")  # OpenAI's
        if isinstance(inner, Mapping):
            return _made(inner.get("file_data"), inner)
        if block.get("source_type") == "text":  # before LangChain 1.0, as the next
            return _made(block.get("text"), block, is_text=True)
        return _made(block.get("base64") or block.get("data"), block)
    if kind == "input_file":  # OpenAI's responses
        return _made(block.get("file_data"), block)
    if kind == "media":  # Google's
        return _made(block.get("data"), block) if _is_document(block.get("mime_type")) else None
    if kind == "document" and isinstance(block.get("source"), Mapping):  # Anthropic's
        source = block["source"]
        kind = source.get("type")
        data = _joined(source.get("content")) if kind == "content" else source.get("data")
        return _made(data, {**source, **block}, is_text=kind in ("text", "content"))
    if kind in (None, "document") and isinstance(block.get("document"), Mapping):  # Bedrock's
        document = block["document"]
        source = document.get("source")
        if not isinstance(source, Mapping):
            return None
        text = source.get("text") or _joined(source.get("content"))
        return _made(text, document, is_text=True) if text else _made(source.get("bytes"), document)
    return None


def _joined(content: Any) -> str | None:
    """The texts of a document's content: one text, or blocks, of which pictures have none."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content if isinstance(content, str) else None
    texts = (block.get("text") for block in content if isinstance(block, Mapping))
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _made(data: Any, about: Mapping[str, Any], *, is_text: bool = False) -> FileBlock | None:
    if not isinstance(data, str | bytes):
        return None
    places = [about, *(about[each] for each in ("extras", "metadata") if isinstance(about.get(each), Mapping))]
    names = (place.get(name) for place in places for name in _NAMES)
    types = (about.get(name) for name in ("mime_type", "media_type"))
    return FileBlock(
        data=data,
        is_text=is_text,
        name=next((each for each in names if isinstance(each, str) and each.strip()), None),
        media_type=next((each for each in types if isinstance(each, str)), None),
    )


def _is_document(media_type: Any) -> bool:
    return isinstance(media_type, str) and (media_type.startswith("text/") or media_type == "application/pdf")
