"""Tags and facts from any chat model of LangChain, by structured output: `Memory(tagger=…, propositioner=…)`.

A chat model may be given to `Memory` as it is. These are for what it does not say by itself: a model by its name, a
configuration for its runs (callbacks, tags, metadata), other instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from htm_core import ChatPropositioner, ChatTagger, InvalidInput


class LangChainTagger:
    """A `Tagger` that asks a LangChain chat model.

    `model` is one, or a name such as "openai:gpt-4.1-mini" for LangChain's `init_chat_model`. `instructions` replaces what
    it is told; tags in use are always shown to it. `config` goes with every call. The worker of the memory asks it, never
    the thread that remembers.
    """

    def __init__(
        self, model: BaseChatModel | str, *, instructions: str | None = None, config: RunnableConfig | None = None
    ) -> None:
        chat = _Configured(_chat_model(model), config)
        self.model = chat.model
        self._tagger = ChatTagger(chat) if instructions is None else ChatTagger(chat, instructions)

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """The tags that the model gives a text; `known` are those in use."""
        return self._tagger.tag(text, known)


class LangChainPropositioner:
    """A `Propositioner` that asks a LangChain chat model; `model`, `instructions` and `config` as in `LangChainTagger`."""

    def __init__(
        self, model: BaseChatModel | str, *, instructions: str | None = None, config: RunnableConfig | None = None
    ) -> None:
        chat = _Configured(_chat_model(model), config)
        self.model = chat.model
        self._propositioner = ChatPropositioner(chat) if instructions is None else ChatPropositioner(chat, instructions)

    def propose(self, text: str) -> Sequence[str]:
        """The facts that the model takes from a text."""
        return self._propositioner.propose(text)


class _Configured:
    """A chat model whose structured answers are asked for with a configuration."""

    def __init__(self, chat: BaseChatModel, config: RunnableConfig | None) -> None:
        self._chat = chat
        self._config = config

    @property
    def model(self) -> str:
        """The model's own name, else that of its class: what the jobs are kept under."""
        names = (getattr(self._chat, attribute, None) for attribute in ("model", "model_name"))
        return next((name for name in names if isinstance(name, str) and name), type(self._chat).__name__)

    def with_structured_output(self, schema: type) -> Any:
        """What gives answers of a schema."""
        runnable = self._chat.with_structured_output(schema)
        return runnable if self._config is None else runnable.with_config(self._config)


def _chat_model(model: BaseChatModel | str) -> BaseChatModel:
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str):
        raise InvalidInput(
            f'expected a LangChain chat model or a name such as "openai:gpt-4.1-mini", got {type(model).__name__}'
        )
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ImportError(
            f"expected langchain to be installed for {model!r} by its name; run: pip install 'htm-memory[agents]', or give "
            "the chat model itself",
            name=error.name,
        ) from error
    chat: BaseChatModel = init_chat_model(model)
    return chat
