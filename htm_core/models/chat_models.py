"""Chat models as they are given: by a name such as "ollama:qwen2.5", or as an object of LangChain
or LlamaIndex.

`models=`, every plug that a chat model can be, and the command line read names here.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base.errors import InvalidInput
from . import ollama
from .lazy import has_methods, model_name

EXAMPLES = "ollama:llama3.2, openai:gpt-4o-mini or anthropic:claude-sonnet-4-5"
_NAME = re.compile(r"([a-z][a-z0-9_]*):\s*(\S.*)")
_BY_NAME = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "claude": "anthropic",
    "mistral": "mistralai",
    "grok": "xai",
}
_ABOUT_KEYS = re.compile(r"api.?key|credential|authenticat", re.I)
_UNREACHABLE = re.compile(r"connect|refused", re.I)
_SECRET = re.compile(r"\b(?:sk|pk|key)-[\w-]{6,}")


@dataclass(frozen=True, slots=True)
class ChatModelSource:
    """A chat model that was given: the name that its jobs are stored under, and what makes it."""

    name: str
    load: Callable[[], Any]


def chat_model_of(spec: Any) -> ChatModelSource | None:
    """Give the chat model that was given, by its name or as it is; None where that is something
    else.

    A model of Ollama is made at its first use. One of another provider is made at once, and once
    for the process, so that a missing package or key is known early. Raises `InvalidInput` when it
    cannot be made.
    """
    if isinstance(spec, str):
        if (match := _NAME.fullmatch(spec.strip())) is None:
            return None
        provider, model = match.groups()
        if provider == "ollama":
            return ChatModelSource(
                ollama.name_of(model), functools.partial(ollama.load_chat, model)
            )
        made = _made(f"{provider}:{model}")
        return ChatModelSource(f"{provider}:{model}", lambda: made)
    if isinstance(spec, type) or not is_chat_model(spec):
        return None
    return ChatModelSource(model_name(spec), lambda: spec)


def is_chat_model(model: Any) -> bool:
    """Say whether something has what a chat model of LangChain or an LLM of LlamaIndex answers in a
    schema by.
    """
    return has_methods(model, "with_structured_output") or has_methods(model, "as_structured_llm")


def check_models(spec: Any, *, calls: bool = True) -> None:
    """Raise `InvalidInput` for what is no chat model, and, where this process `calls` it, for one
    whose package is missing.
    """
    if (chat := chat_model_of(spec)) is None:
        raise InvalidInput(
            'models: expected None, "ollama:MODEL", another "PROVIDER:MODEL" such as '
            '"openai:gpt-4o-mini", or a chat model of '
            f"LangChain or LlamaIndex; got {spec!r:.80}"
        )
    provider, _, model = chat.name.partition(":")
    if calls and provider == "ollama" and not ollama.has_chat():
        raise InvalidInput(f"models: {ollama.missing_chat(model)}")


def langchain_model(name: str, *, what: str, **options: Any) -> Any:
    """Make LangChain's chat model of a name, with options of its own; `what` is what messages call
    it.

    Raises `InvalidInput` that says which package or which key is missing.
    """
    provider = name.partition(":")[0] if ":" in name else None
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise InvalidInput(
            f"expected langchain to be installed for {what} {name!r:.80}; run: pip install "
            '"htm-memory[agents]"'
        ) from None
    try:
        return init_chat_model(name, **options)
    except ImportError as error:
        package = re.search(r"pip install ([\w-]+)", str(error))
        command = (
            f"pip install {package[1]}"
            if package
            else f"pip install langchain-{provider or 'PROVIDER'}"
        )
        raise InvalidInput(
            f"expected the package of {what} {name!r:.80} to be installed; run: {command}"
        ) from None
    except Exception as error:  # each provider's package has errors of its own
        raise InvalidInput(_cannot_be_made(name, error, what=what)) from None


@functools.cache
def _made(name: str) -> Any:
    return langchain_model(name, what="the model")


def _cannot_be_made(name: str, error: Exception, *, what: str) -> str:
    if hint := _hint(name, error):
        return f"expected {what} {name!r:.80} to be ready, but {hint}"
    text = brief_text(error)
    if "model provider" in text:
        return f"expected {what} as PROVIDER:MODEL, such as {EXAMPLES}, got {name!r:.80}"
    return f"expected {what} such as {EXAMPLES}, got {name!r:.80}, which cannot be made: {text}"


def _hint(name: str, error: BaseException) -> str | None:
    """Return the fix for an error of a model, if known: a missing key, an Ollama that does not run
    or does not have it.
    """
    provider, _, model = name.partition(":") if ":" in name else ("", "", name)
    provider = provider or next(
        (each for beginning, each in _BY_NAME.items() if name.startswith(beginning)), ""
    )
    variable = f"{provider.upper().replace('-', '_')}_API_KEY"
    if provider == "ollama" and _UNREACHABLE.search(f"{type(error).__name__} {error}"):
        return (
            "no Ollama answers; start it with: ollama serve (or set OLLAMA_HOST), and fetch "
            f"the model with: ollama pull {model}"
        )
    if provider == "ollama" and "not found" in str(error):
        return (
            f"Ollama does not have it; fetch it with: ollama pull {model}, or take one that "
            "ollama list shows"
        )
    if provider != "ollama" and _ABOUT_KEYS.search(str(error)) and not os.environ.get(variable):
        return (
            f"its key is missing; set {variable}, or use a model that needs none, such as "
            "ollama:llama3.2"
        )
    return None


def explained(name: str, error: BaseException) -> str:
    """Return the text of a model's failure, and what to do about it where that is known."""
    hint = _hint(name, error)
    return f"{brief_text(error)}. It seems that {hint}" if hint else brief_text(error)


def brief_text(error: BaseException) -> str:
    """Return the text of an error, in one line of at most 300 characters, without anything that
    looks like a key.
    """
    text = _SECRET.sub("(key)", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
