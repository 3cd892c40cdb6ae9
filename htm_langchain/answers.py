"""A chain's answer as messages: an answer that came whole, piece by piece, or was interrupted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    message_chunk_to_message,
)

# Where a mapping has its answer, when no key is given.
KEYS = ("output", "answer", "result", "text", "messages")
# The key that marks the last message of an interrupted answer.
INTERRUPTED = "interrupted"


class Answer:
    """The answer of a chain so far. `is_complete` is true once it has ended by itself."""

    def __init__(self, key: str | None, pieces: Sequence[Any] = ()) -> None:
        self._key = key
        self._pieces = list(pieces)
        self.is_complete = bool(pieces)

    def add(self, piece: Any) -> None:
        """Take the next piece of a stream."""
        self._pieces.append(piece)

    def messages(self) -> list[BaseMessage]:
        """The messages of the answer, each with an id; the last one of an interrupted answer is
        marked.
        """
        if not self._pieces:
            return []
        pieces = self._pieces
        if isinstance(pieces[0], Mapping):
            pieces = [value for piece in pieces for value in self._values(piece)]
        messages = [
            each if each.id else each.model_copy(update={"id": str(uuid4())})
            for each in _as_messages(_joined(pieces))
        ]
        if messages and not self.is_complete:
            marked = {**messages[-1].response_metadata, INTERRUPTED: True}
            messages[-1] = messages[-1].model_copy(update={"response_metadata": marked})
        return messages

    def _values(self, piece: Mapping[str, Any]) -> list[Any]:
        """The answer's part of a mapping; none where it has other keys only."""
        key = self._key or next((name for name in KEYS if name in piece), None)
        if key is not None:
            return [piece[key]] if key in piece else []
        return [next(iter(piece.values()))] if len(piece) == 1 else [dict(piece)]


class AnswerInParts(BaseCallbackHandler):
    """Holds what a model has streamed, for an agent whose reader leaves before the answer is
    complete.
    """

    run_inline = True
    ignore_agent = ignore_chain = ignore_retriever = True

    def __init__(self) -> None:
        self._pieces: dict[UUID, list[BaseMessage]] = {}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:  # noqa: ARG002
        """Take a piece of the answer."""
        message = getattr(chunk, "message", None)
        if isinstance(message, BaseMessageChunk):
            self._pieces.setdefault(run_id, []).append(message)

    def messages(self) -> list[BaseMessage]:
        """The last answer as far as it came, marked as interrupted; nothing when it has no words
        yet.
        """
        pieces = next(reversed(self._pieces.values()), [])
        answer = Answer(None)
        for piece in pieces:
            answer.add(piece)
        return [each for each in answer.messages() if str(each.text).strip()]


@contextlib.contextmanager
def held_parts(config: Mapping[str, Any]) -> Iterator[AnswerInParts]:
    """Hold what the model of a run with this configuration streams."""
    parts, manager = AnswerInParts(), config.get("callbacks")
    if isinstance(manager, BaseCallbackManager):
        manager.add_handler(parts)
    try:
        yield parts
    finally:
        if isinstance(manager, BaseCallbackManager):
            manager.remove_handler(parts)


def _joined(pieces: Sequence[Any]) -> Any:
    """The sum of all pieces; where two cannot be added, the later one replaces what was before."""
    if not pieces:
        return None
    total = pieces[0]
    for piece in pieces[1:]:
        if isinstance(total, BaseMessage) and not isinstance(total, BaseMessageChunk):
            total = piece  # LangChain makes a prompt of the sum of two messages
        else:
            try:
                total = total + piece
            except TypeError:
                total = piece
    return total


def _as_messages(answer: Any) -> list[BaseMessage]:
    if answer is None:
        return []
    if isinstance(answer, BaseMessageChunk):
        return [message_chunk_to_message(answer)]
    if isinstance(answer, BaseMessage):
        return [answer]
    if (
        isinstance(answer, list | tuple)
        and answer
        and all(isinstance(each, BaseMessage) for each in answer)
    ):
        return list(answer)
    return [AIMessage(answer if isinstance(answer, str) else _as_text(answer))]


def _as_text(answer: Any) -> str:
    """A model's fields or another value as JSON, or as Python writes it where it has no JSON."""
    try:
        fields = answer.model_dump(mode="json") if hasattr(answer, "model_dump") else answer
        return json.dumps(fields, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(answer)
