"""A chain's answer as messages, however it came: whole, piece by piece, or broken off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, BaseMessageChunk, message_chunk_to_message

# Where a mapping has its answer, if nobody says.
KEYS = ("output", "answer", "result", "text", "messages")
# What the message of an answer that was broken off says of itself.
INTERRUPTED = "interrupted"


class Answer:
    """What a chain has answered so far; `whole` once it has ended by itself."""

    def __init__(self, key: str | None, pieces: Sequence[Any] = ()) -> None:
        self._key = key
        self._pieces = list(pieces)
        self.whole = bool(pieces)

    def add(self, piece: Any) -> None:
        """Take the next piece of a stream."""
        self._pieces.append(piece)

    def messages(self) -> list[BaseMessage]:
        """The messages of the answer, each with an id; of one that was broken off the last says so."""
        said = _messages(self._said()) if self._pieces else []
        named = [each if each.id else each.model_copy(update={"id": str(uuid4())}) for each in said]
        if named and not self.whole:
            marked = {**named[-1].response_metadata, INTERRUPTED: True}
            named[-1] = named[-1].model_copy(update={"response_metadata": marked})
        return named

    def _said(self) -> Any:
        """What all pieces say together; of pieces that do not add up the last says it all."""
        if isinstance(self._pieces[0], Mapping):
            return _summed([piece for each in self._pieces for piece in self._under(each)])
        return _summed(self._pieces)

    def _under(self, piece: Mapping[str, Any]) -> list[Any]:
        key = self._key or next((name for name in KEYS if name in piece), None)
        if key is not None:
            return [piece[key]] if key in piece else []
        return [next(iter(piece.values()))] if len(piece) == 1 else [dict(piece)]


def _summed(pieces: Sequence[Any]) -> Any:
    if not pieces:
        return None
    total = pieces[0]
    for piece in pieces[1:]:
        try:
            total = (
                total + piece if not isinstance(total, BaseMessage) or isinstance(total, BaseMessageChunk) else piece
            )
        except TypeError:
            total = piece
    return total


def _messages(said: Any) -> list[BaseMessage]:
    if said is None:
        return []
    if isinstance(said, BaseMessageChunk):
        return [message_chunk_to_message(said)]
    if isinstance(said, BaseMessage):
        return [said]
    if isinstance(said, list | tuple) and said and all(isinstance(each, BaseMessage) for each in said):
        return list(said)
    return [AIMessage(said if isinstance(said, str) else _as_text(said))]


def _as_text(said: Any) -> str:
    """An answer that is no message: a model's fields or a value, as JSON, or as Python writes it."""
    try:
        return json.dumps(said.model_dump(mode="json") if hasattr(said, "model_dump") else said, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(said)
