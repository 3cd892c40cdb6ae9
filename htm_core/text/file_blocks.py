"""Files in the messages of LangChain and its providers and of LlamaIndex, as they are written:
found, not yet read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from ..base.types import Attachment, Source
from .known_files import decode_base64

_NAMES = ("filename", "file_name", "title", "name")
UNNAMED = "input_document"  # LlamaIndex's own title for a document without one


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBlock:
    """A file as a message has it: its text, its bytes, or these as base64 or a data URL; its name
    and type, where they are said.
    """

    data: str | bytes
    is_text: bool = False
    name: str | None = None
    media_type: str | None = None

    def decoded(self) -> tuple[bytes | None, str | None]:
        """The bytes, and the type, which a data URL says itself; None for what is no base64."""
        data, media_type = self.data, self.media_type
        if isinstance(data, bytes):
            return data, media_type
        if self.is_text:
            return data.encode("utf-8", "surrogatepass"), media_type
        if data.startswith("data:"):
            head, _, data = data[5:].partition(",")
            parts = head.split(";")
            media_type = parts[0] or media_type
            if "base64" not in parts:
                return unquote_to_bytes(data), media_type
        return decode_base64(data), media_type


def source_of_files(role: str | None) -> Source:
    """Where the files in a message of a role come from."""
    return "tool" if role == "tool" else "file"


def named(files: Iterable[FileBlock | Attachment]) -> str:
    """The names of files, as the words of a message that has no others."""
    return ", ".join(f"[{each.name or 'a file'}]" for each in files)


def files_in(content: Any) -> Iterator[FileBlock]:
    """The files whose text or bytes a LangChain message's content has. What lies elsewhere, under
    an address or an id, is none.
    """
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            file = _file_of(block)
            if file is not None and file.data:
                yield file


def documents_in(blocks: Any) -> Iterator[FileBlock]:
    """The documents whose bytes a LlamaIndex message has, as it is written down."""
    for block in blocks if isinstance(blocks, list) else ():
        if (
            isinstance(block, Mapping)
            and block.get("block_type") == "document"
            and block.get("data")
        ):
            file = _made(block["data"], block)
            if file is not None:
                yield file


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
    places = [
        about,
        *(about[each] for each in ("extras", "metadata") if isinstance(about.get(each), Mapping)),
    ]
    names = (place.get(name) for place in places for name in _NAMES)
    types = (about.get(name) for name in ("mime_type", "media_type", "document_mimetype"))
    name = next((each for each in names if isinstance(each, str) and each.strip()), None)
    return FileBlock(
        data=data,
        is_text=is_text,
        name=None if name == UNNAMED else name,
        media_type=next((each for each in types if isinstance(each, str)), None),
    )


def _is_document(media_type: Any) -> bool:
    return isinstance(media_type, str) and (
        media_type.startswith("text/") or media_type == "application/pdf"
    )
