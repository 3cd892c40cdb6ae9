"""Tags and facts from any chat model of LangChain, by structured output:
`Memory(tagger=…, propositioner=…)`.

`Memory` also takes a chat model as it is. These classes are for what that leaves open: a model by
its name, a configuration for its runs (callbacks, tags, metadata), other instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from htm_core import ChatPropositioner, ChatTagger, InvalidInput


class LangChainTagger:
    """A `Tagger` that calls a LangChain chat model.

    Args:
        model: A chat model, or a name such as "openai:gpt-4.1-mini" for LangChain's
            `init_chat_model`.
        instructions: Replaces the default instructions. The model is always shown the tags in use.
        config: Goes with every call of the model.

    The memory's worker calls it, never the thread that remembers. Raises `InvalidInput` for what is
    no chat model, and `ImportError` for a name without the package `langchain`.

        memory = Memory("atlas", tagger=LangChainTagger("openai:gpt-4.1-mini"))
    """

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        instructions: str | None = None,
        config: RunnableConfig | None = None,
    ) -> None:
        chat = _Configured(_chat_model(model), config)
        self.model = chat.model
        self._tagger = ChatTagger(chat) if instructions is None else ChatTagger(chat, instructions)

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """The tags that the model gives a text; `known` are those in use."""
        return self._tagger.tag(text, known)


class LangChainPropositioner:
    """A `Propositioner` that calls a LangChain chat model.

    Args:
        model: A chat model, or a name such as "openai:gpt-4.1-mini" for LangChain's
            `init_chat_model`.
        instructions: Replaces the default instructions.
        config: Goes with every call of the model.

    The memory's worker calls it, never the thread that remembers. Raises `InvalidInput` for what is
    no chat model, and `ImportError` for a name without the package `langchain`.

        memory = Memory("atlas", propositioner=LangChainPropositioner("openai:gpt-4.1-mini"))
    """

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        instructions: str | None = None,
        config: RunnableConfig | None = None,
    ) -> None:
        chat = _Configured(_chat_model(model), config)
        self.model = chat.model
        self._propositioner = (
            ChatPropositioner(chat)
            if instructions is None
            else ChatPropositioner(chat, instructions)
        )

    def propose(self, text: str) -> Sequence[str]:
        """The facts that the model finds in a text."""
        return self._propositioner.propose(text)


class _Configured:
    """A chat model that is called with a configuration."""

    def __init__(self, chat: BaseChatModel, config: RunnableConfig | None) -> None:
        self._chat = chat
        self._config = config

    @property
    def model(self) -> str:
        """The model's own name, else that of its class; the jobs have it too."""
        names = (getattr(self._chat, attribute, None) for attribute in ("model", "model_name"))
        return next(
            (name for name in names if isinstance(name, str) and name), type(self._chat).__name__
        )

    def with_structured_output(self, schema: type) -> Any:
        """A runnable that answers in a schema."""
        runnable = self._chat.with_structured_output(schema)
        return runnable if self._config is None else runnable.with_config(self._config)


def _chat_model(model: BaseChatModel | str) -> BaseChatModel:
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str):
        raise InvalidInput(
            'expected a LangChain chat model or a name such as "openai:gpt-4.1-mini", got '
            f"{type(model).__name__}"
        )
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ImportError(
            f"expected langchain to be installed for {model!r} by its name; run: pip install "
            "'htm-memory[agents]', or give "
            "the chat model itself",
            name=error.name,
        ) from error
    chat: BaseChatModel = init_chat_model(model)
    return chat
