"""Token counts of messages and tools: counted by the model where it can, else estimated."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from htm_core.prompt.held import LastUsed
from htm_core.prompt.token_budget import IMAGE_TOKENS, LOW_DETAIL_TOKENS, default_tokens

from .messages import SOURCE

_log = logging.getLogger("htm.langchain")

# These packages call a server for each message that they count. An estimate is better than that
# wait.
COUNTED_BY_SERVER = (
    "langchain_anthropic",
    "langchain_google_genai",
    "langchain_google_vertexai",
    "langchain_aws",
)
# For how many messages of each model the count is kept, and for how many models.
HELD = 8_192
MODELS = 8
# What a file, a recording or a film is counted as, whatever it holds: its bytes as text would be a
# hundred times too many. A page of a document costs a model from 1,500 to 3,000 tokens.
MEDIA_TOKENS = {
    "file": 2_048, "document": 2_048, "input_file": 2_048, "audio": 256, "input_audio": 256,
    "video": 256, "media": 256, "image": IMAGE_TOKENS, "image_url": IMAGE_TOKENS,
    "input_image": IMAGE_TOKENS,
}  # fmt: skip
# The fields of such a block that hold its bytes, or say where they are.
_BYTES = {
    "data",
    "base64",
    "url",
    "file_data",
    "image_url",
    "bytes",
    "source",
    "file",
    "input_audio",
}
# What a message costs beside what is in it: its role, and what separates it from the next one.
OVERHEAD = 4
# Each provider's own form of a message's calls, which is sent in their place.
_CALLS = ("tool_calls", "function_call")


class Counts(Protocol):
    """Counts the tokens of messages and tools. It is a sum over messages, so that a window can be
    cut by it.
    """

    def __call__(self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int: ...


def count(messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int:
    """About how many tokens messages and tools take: all that a provider may be sent, by the
    tokenizer that `htm doctor` names.

    Fields beside the content count, too, and a block of an unknown kind counts as its JSON. A
    picture, a file, a recording and a film count as a fixed number of tokens, not as their bytes.
    """
    return sum(_known(each) for each in messages) + sum(_tokens(_schema(tool)) for tool in tools)


class ModelCounts:
    """Tokens as the model itself counts them, each message once; what it cannot count
    is estimated.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self._known = _Held()
        self._failed = False

    def __call__(self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int:
        """The sum over messages, and over tools as the text of their schemas."""
        schemas = [SystemMessage(_schema(tool)) for tool in tools]
        return sum(self._count_one(each) for each in [*schemas, *messages])

    def _count_one(self, message: BaseMessage) -> int:
        return self._known.of(message, self._count_with_model)

    def _count_with_model(self, message: BaseMessage) -> int:
        if not _is_text(message):  # a model's counter may download an image to see its size
            return count([message])
        try:
            return self.model.get_num_tokens_from_messages([message]) + _tokens(
                _json(_beside(message))
            )
        except Exception as error:
            if not self._failed:
                _log.warning(
                    "the model cannot count its tokens (%s); they are estimated",
                    type(error).__name__,
                )
                self._failed = True
            return count([message])


class Counters:
    """The token counter of each model, kept while the model is in use."""

    def __init__(self) -> None:
        self._held = LastUsed[int, ModelCounts](MODELS)

    def of(self, model: BaseChatModel) -> Counts:
        """The model's own counter where it has one that calls no server; otherwise the estimate."""
        if not _counts_locally(model):
            return count
        counter = self._held.get(id(model))
        if counter is None or counter.model is not model:
            counter = self._held[id(model)] = ModelCounts(model)
        return counter


class _Held:
    """The tokens of the messages that were counted last. Many threads may ask at a time."""

    def __init__(self) -> None:
        self._tokens = LastUsed[int, int](HELD)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tokens)

    def of(self, message: BaseMessage, counted: Callable[[BaseMessage], int]) -> int:
        """Return the tokens of a message, counted where they are not held."""
        key = fingerprint(message)
        with self._lock:
            tokens = self._tokens.get(key)
        if tokens is None:
            tokens = counted(message)
            with self._lock:
                self._tokens[key] = tokens
        return tokens


_held = _Held()


def _known(message: BaseMessage) -> int:
    return _held.of(message, _about)


def _about(message: BaseMessage) -> int:
    """About the tokens of a message: its role, its content, its calls, and its fields
    beside these.
    """
    blocks = [message.content] if isinstance(message.content, str) else message.content
    counted = {
        each.get("id")
        for each in blocks
        if isinstance(each, dict) and each.get("type") in _CALL_BLOCKS
    }
    calls = [
        call for kind in ("tool_calls", "invalid_tool_calls") for call in getattr(message, kind, ())
    ]
    beside = [
        message.name or "",
        getattr(message, "tool_call_id", ""),
        *(_json(call) for call in calls if call["id"] not in counted),
        _json(_beside(message)),
    ]
    return OVERHEAD + sum(map(_block_tokens, blocks)) + sum(map(_tokens, beside))


# Blocks of the content that say a call, which `tool_calls` has, too.
_CALL_BLOCKS = ("tool_use", "tool_call", "function_call")


def _beside(message: BaseMessage) -> dict[str, Any]:
    """Return the fields beside a message's content that a provider may be sent, such as a model's
    thoughts.
    """
    has_calls = bool(
        getattr(message, "tool_calls", ()) or getattr(message, "invalid_tool_calls", ())
    )
    more = message.additional_kwargs
    return {
        key: more[key]
        for key in more
        if more[key] and key != SOURCE and not (has_calls and key in _CALLS)
    }


def _block_tokens(block: Any) -> int:
    if isinstance(block, str):
        return _tokens(block)
    # a mark, of which a model reads nothing
    block = {key: block[key] for key in block if key != "cache_control"}
    media = MEDIA_TOKENS.get(str(block.get("type")))
    if media is None or _is_text_of_document(block):
        return (
            _tokens(block["text"])
            if block.keys() <= {"type", "text"} and "text" in block
            else _tokens(_json(block))
        )
    shown = block.get("image_url")
    detail = shown.get("detail") if isinstance(shown, dict) else block.get("detail")
    named = {key: block[key] for key in block if key not in _BYTES}
    return (LOW_DETAIL_TOKENS if detail == "low" else media) + _tokens(_json(named))


def _is_text_of_document(block: dict[str, Any]) -> bool:
    """True if a document is its text, as Anthropic and LangChain's standard blocks have it."""
    source = block.get("source")
    return isinstance(source, dict) and source.get("type") in ("text", "content")


def _tokens(text: str) -> int:
    return default_tokens().count(text) if text else 0


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False) if value else ""


def _schema(tool: Any) -> str:
    return json.dumps(tool if isinstance(tool, dict) else convert_to_openai_tool(tool), default=str)


def fingerprint(message: BaseMessage) -> int:
    """A number that changes when what a message says does."""
    fields = message.__dict__  # of a field that a type has not, pydantic is slow to say so
    content = message.content
    calls = [fields.get(kind) for kind in ("tool_calls", "invalid_tool_calls", "tool_call_id")]
    more = message.additional_kwargs
    return hash(
        (
            message.type,
            content if isinstance(content, str) else (repr(content),),
            repr(calls) if any(calls) else "",
            message.name,
            repr(more) if more else "",
        )
    )


def _counts_locally(model: BaseChatModel) -> bool:
    own = type(model).get_num_tokens_from_messages
    if own is not BaseLanguageModel.get_num_tokens_from_messages:
        return (own.__module__ or "").split(".")[0] not in COUNTED_BY_SERVER
    return getattr(model, "custom_get_token_ids", None) is not None


def _is_text(message: BaseMessage) -> bool:
    content = message.content
    return isinstance(content, str) or all(
        isinstance(each, str) or each.get("type") == "text" for each in content
    )
