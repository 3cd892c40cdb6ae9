"""The chat model that --model names."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel

from ...models.chat_models import langchain_model
from .stand_in import NAME, ExtractiveChatModel


def chat_model(name: str) -> BaseChatModel:
    """The model of a name such as "ollama:llama3.2", or the stand-in.

    Raises `InvalidInput` that says which package or which key is missing.
    """
    if name == NAME:
        return ExtractiveChatModel()
    # Ollama is asked at once, and not only after something was said: it may not run, or not have
    # the model.
    options: dict[str, Any] = {"validate_model_on_init": True} if name.startswith("ollama:") else {}
    made: BaseChatModel = langchain_model(name, what="--model", **options)
    return made
