"""A framework's message or document as it is stored: the words to search, and the bytes that bring
every field back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from ..base.folding import legible as legible
from ..base.folding import normal_form as normal_form
from ..base.folding import storable as storable
from ..engine.log import Log
from ..memory.memory import Memory
from ..text.memory_replies import NOT_KEPT as NOT_KEPT
from ..text.memory_replies import quotes_memories as quotes_memories
from ..text.thoughts import FIELDS as THOUGHT_FIELDS
from ..text.thoughts import is_thought as is_thought
from ..text.thoughts import without_thoughts as without_thoughts
from ..writing.redaction import redact_payload

T = TypeVar("T")

# The formats of the payloads that hold a framework's message.
LANGCHAIN_MESSAGE = "langchain/1"
LLAMAINDEX_MESSAGE = "llamaindex/1"

# Characters beyond this are not searched. The payload has them.
MAX_SEARCHED = 100_000
# A longer name of a speaker is not stored beside the words. The payload has it.
MAX_NAME = 255


def searchable(text: str) -> str:
    """As much of a text as is searched, without characters that PostgreSQL cannot store; empty for
    white space alone.
    """
    clean = legible(text[:MAX_SEARCHED])
    return clean if clean.strip() else ""


def storable_name(name: object) -> str | None:
    """A speaker's name or a message's id that the core accepts as it is, or None."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or "\x00" in name:
        return None
    return name if name.encode("utf-8", "replace").decode() == name else None


def without_thought_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields beside a message's content, without a model's thoughts. Signatures of calls
    stay: they say nothing.
    """
    return {name: value for name, value in fields.items() if name not in THOUGHT_FIELDS}


def write_payload(format: str, fields: Mapping[str, Any]) -> bytes:
    """Fields of JSON's own types as ASCII JSON, marked with the name of their format.

    NUL, NaN, infinities and lone surrogates survive in it, which `jsonb` would refuse.
    """
    return json.dumps({"htm": format, **fields}, separators=(",", ":")).encode("ascii")


def read_payload(payload: bytes | None, format: str) -> dict[str, Any] | None:
    """The fields that `write_payload` wrote; None for anything that is not of this format."""
    try:
        fields = json.loads(payload or b"null")
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and fields.get("htm") == format else None


def stored_payload(
    memory: Memory | Log, payload: bytes, *, stored: Collection[bytes] = ()
) -> bytes:
    """A payload as a memory or its log stores it: without what its redactor takes out.

    It is that one of `stored` which differs by no more than a PDF that could not be read in time.
    """
    return redact_payload(payload, memory.redactor, stored=stored)


def stored_message(
    memory: Memory | Log,
    message: T,
    *,
    encode: Callable[[T], bytes],
    decode: Callable[[bytes], T],
    stored: Collection[bytes] = (),
) -> T:
    """A framework's message as a memory or its log stores it, to compare it with what is `stored`:
    payloads.
    """
    if memory.redactor is None:
        return message
    written = encode(message)
    kept = stored_payload(memory, written, stored=stored)
    return message if kept == written else decode(kept)


def safe_repr(value: object) -> str:
    """The `repr` of a value, or the name of its class when `repr` fails."""
    try:
        return repr(value)
    except Exception:  # another's code may raise anything
        return f"<{type(value).__name__}>"
