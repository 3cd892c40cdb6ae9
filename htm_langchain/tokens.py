"""How many tokens messages and tools cost a model: counted by the model where it can, else estimated."""

from __future__ import annotations

import json
import logging
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.utils.function_calling import convert_to_openai_tool

_log = logging.getLogger("htm.langchain")

# These packages call a server for each message that they count. An estimate is better than that wait.
COUNTED_BY_SERVER = ("langchain_anthropic", "langchain_google_genai", "langchain_google_vertexai", "langchain_aws")
# For how many messages of each model the count is kept, and for how many models.
HELD = 8_192
MODELS = 8
# What a file, a recording or a film is counted as, whatever it holds: its bytes as text would be a hundred times too many.
# A page of a document costs a model from 1,500 to 3,000 tokens.
MEDIA_TOKENS = {
    "file": 2_048, "document": 2_048, "input_file": 2_048, "audio": 256, "input_audio": 256, "video": 256, "media": 256,
}  # fmt: skip


class Counts(Protocol):
    """Counts the tokens of messages and tools. It is a sum over messages, so that a window can be cut by it."""

    def __call__(self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int: ...


def count(messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int:
    """Tokens of messages and tools: LangChain's estimate, and one token for each character beyond ASCII.

    LangChain counts four characters as one token. That is far too few tokens for most scripts other than Latin, and far too
    many for a file, of which it counts the bytes.
    """
    beyond = sum(len(each.text) - len(each.text.encode("ascii", "ignore")) for each in messages)
    media = [MEDIA_TOKENS[kind] for each in messages for kind in _media(each)]
    counted = [_without_media(each) for each in messages] if media else list(messages)
    return math.ceil(count_tokens_approximately(counted, tools=list(tools) or None) + 0.75 * beyond) + sum(media)


class ModelCounts:
    """Tokens as the model itself counts them, each message once; what it cannot count is estimated."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self._known: OrderedDict[int, int] = OrderedDict()
        self._failed = False

    def __call__(self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> int:
        """The sum over messages, and over tools as the text of their schemas."""
        schemas = [SystemMessage(_schema(tool)) for tool in tools]
        return sum(self._count_one(each) for each in [*schemas, *messages])

    def _count_one(self, message: BaseMessage) -> int:
        key = fingerprint(message)
        tokens = self._known.pop(key, None)
        tokens = self._count_with_model(message) if tokens is None else tokens
        self._known[key] = tokens
        if len(self._known) > HELD:
            self._known.popitem(last=False)
        return tokens

    def _count_with_model(self, message: BaseMessage) -> int:
        if not _is_text(message):  # a model's counter may download an image to see its size
            return count([message])
        try:
            return self.model.get_num_tokens_from_messages([message])
        except Exception as error:
            if not self._failed:
                _log.warning("the model cannot count its tokens (%s); they are estimated", type(error).__name__)
                self._failed = True
            return count([message])


class Counters:
    """The token counter of each model, kept while the model is in use."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, ModelCounts] = OrderedDict()

    def of(self, model: BaseChatModel) -> Counts:
        """The model's own counter where it has one that calls no server; otherwise the estimate."""
        if not _counts_locally(model):
            return count
        found = self._held.pop(id(model), None)
        if found is None or found.model is not model:
            found = ModelCounts(model)
        self._held[id(model)] = found
        if len(self._held) > MODELS:
            self._held.popitem(last=False)
        return found


def _media(message: BaseMessage) -> list[str]:
    """The kinds of a message's files, recordings and films."""
    if isinstance(message.content, str):
        return []
    kinds = (str(block.get("type")) for block in message.content if isinstance(block, dict))
    return [kind for kind in kinds if kind in MEDIA_TOKENS]


def _without_media(message: BaseMessage) -> BaseMessage:
    if not _media(message):
        return message
    content = [each for each in message.content if isinstance(each, str) or each.get("type") not in MEDIA_TOKENS]
    return message.model_copy(update={"content": content})


def _schema(tool: Any) -> str:
    return json.dumps(tool if isinstance(tool, dict) else convert_to_openai_tool(tool), default=str)


def fingerprint(message: BaseMessage) -> int:
    """A number that changes when what a message says does."""
    return hash((message.type, repr(message.content), repr(getattr(message, "tool_calls", None)), message.name))


def _counts_locally(model: BaseChatModel) -> bool:
    own = type(model).get_num_tokens_from_messages
    if own is not BaseLanguageModel.get_num_tokens_from_messages:
        return (own.__module__ or "").split(".")[0] not in COUNTED_BY_SERVER
    return getattr(model, "custom_get_token_ids", None) is not None


def _is_text(message: BaseMessage) -> bool:
    content = message.content
    return isinstance(content, str) or all(isinstance(each, str) or each.get("type") == "text" for each in content)
