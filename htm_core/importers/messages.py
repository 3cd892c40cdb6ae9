"""The messages of frameworks, as their packages write them down, as messages of a log; the adapters
read them exactly.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..base.types import Draft
from ..prompt.attachments import documents_in, files_in, files_said
from ..prompt.exact_json import encode_value
from ..prompt.keep import ROLES
from ..prompt.messages import (
    LANGCHAIN_MESSAGE,
    LLAMAINDEX_MESSAGE,
    is_thought,
    searchable,
    storable_name,
    write_payload,
)
from .parts import ForeignMessage, ForeignRow, NotUnderstood


def langchain_message(dumped: Any, *, session: str, id: str, at: datetime | None) -> ForeignRow:
    """A message as LangChain's `message_to_dict` writes it, `{"type": …, "data": …}`. Its own id
    goes before `id`.
    """
    data = dumped.get("data") if isinstance(dumped, dict) else None
    if (
        not isinstance(data, dict)
        or not isinstance(dumped.get("type"), str)
        or "content" not in data
    ):
        return NotUnderstood(
            id, "not a message as LangChain writes it: type, and data with content"
        )
    kind = dumped["type"]
    if kind == "remove":
        return NotUnderstood(id, "the removal of another message")
    own = data.get("id")
    role = _role(data.get("role") if kind == "chat" else kind)
    return ForeignMessage(
        session,
        Draft(
            content=searchable(_text(data["content"])),
            id=_stored_id(own if isinstance(own, str) and own else id),
            role=role,
            source="import" if role is None else None,
            name=storable_name(data.get("name")),
            payload=write_payload(LANGCHAIN_MESSAGE, {"type": kind, "data": encode_value(data)}),
            at=at,
            attached=files_said(files_in(data["content"]), role),
        ),
    )


def llamaindex_message(dumped: Any, *, session: str, where: str) -> ForeignRow:
    """A `ChatMessage` as its `model_dump_json` writes it. It has no id and no time: its id is made
    of what it says.
    """
    if isinstance(dumped, str):
        try:
            dumped = json.loads(dumped)
        except ValueError:
            return NotUnderstood(where, "not JSON")
    if not isinstance(dumped, dict) or not isinstance(dumped.get("role"), str):
        return NotUnderstood(
            where, "not a message as LlamaIndex writes it: role, and blocks or content"
        )
    data = dict(dumped)
    if "content" in data and "blocks" not in data:  # before LlamaIndex had blocks
        data["blocks"] = [{"block_type": "text", "text": data.pop("content") or ""}]
    blocks = data.get("blocks")
    if not isinstance(blocks, list):
        return NotUnderstood(
            where, "not a message as LlamaIndex writes it: role, and blocks or content"
        )
    spoken = [each for each in blocks if isinstance(each, dict) and not is_thought(each)]
    texts = [each.get("text") for each in spoken if each.get("block_type") == "text"]
    more = data.get("additional_kwargs")
    role = _role(data["role"])
    payload = write_payload(LLAMAINDEX_MESSAGE, {"data": encode_value(data)})
    return ForeignMessage(
        session,
        Draft(
            content=searchable("\n".join(text for text in texts if isinstance(text, str))),
            id=hashlib.sha256(payload).hexdigest(),
            role=role,
            source="import" if role is None else None,
            name=storable_name(more.get("name")) if isinstance(more, Mapping) else None,
            payload=payload,
            attached=files_said(documents_in(blocks), role),
        ),
    )


def distinct_ids(rows: Iterable[ForeignRow]) -> Iterator[ForeignRow]:
    """The rows, by session, where the second message of one id in a session has another: else it
    would be the first one again.
    """
    session, seen = None, Counter[str]()
    for row in rows:
        if isinstance(row, ForeignMessage):
            if row.session != session:
                session, seen = row.session, Counter()
            id = row.draft.id or ""
            seen[id] += 1
            if seen[id] > 1:
                row = ForeignMessage(
                    row.session, replace(row.draft, id=_stored_id(f"{id}#{seen[id]}"))
                )
        yield row


def _role(name: object) -> str | None:
    known = str(name).removesuffix("MessageChunk").lower()
    return ROLES.get(known)


def _stored_id(id: str) -> str:
    """The id under which the adapters store a message: its own, or the hash of one that the core
    does not accept.
    """
    return storable_name(id) or hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def _text(content: Any) -> str:
    """The words of a message, as LangChain's `text` gives them."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [
        each
        if isinstance(each, str)
        else each.get("text")
        if isinstance(each, dict) and each.get("type") == "text" and not is_thought(each)
        else None
        for each in blocks
    ]
    return "".join(text for text in texts if isinstance(text, str))
