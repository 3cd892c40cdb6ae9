"""The chat model that --model names."""

from __future__ import annotations

import os
import re
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from ...errors import InvalidInput
from .stand_in import NAME, ExtractiveChatModel

EXAMPLES = "ollama:llama3.2, openai:gpt-4o-mini or anthropic:claude-sonnet-4-5"
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


def chat_model(name: str) -> BaseChatModel:
    """The model of a name such as "ollama:llama3.2", or the stand-in.

    Raises `InvalidInput` that says which package or which key is missing.
    """
    if name == NAME:
        return ExtractiveChatModel()
    provider = name.partition(":")[0] if ":" in name else None
    # Ollama is asked at once, and not only after something was said: it may not run, or not have the model.
    options: dict[str, Any] = {"validate_model_on_init": True} if provider == "ollama" else {}
    try:
        made: BaseChatModel = init_chat_model(name, **options)
    except ImportError as error:
        package = re.search(r"pip install ([\w-]+)", str(error))
        command = f"pip install {package[1]}" if package else f"pip install langchain-{provider or 'PROVIDER'}"
        raise InvalidInput(f"expected the package of --model {name!r:.80} to be installed; run: {command}") from None
    except Exception as error:  # each provider's package has errors of its own
        raise InvalidInput(_cannot_be_made(name, error)) from None
    return made


def _cannot_be_made(name: str, error: Exception) -> str:
    if hint := _hint(name, error):
        return f"expected --model {name!r:.80} to be ready, but {hint}"
    said = brief_text(error)
    if "model provider" in said:
        return f"expected --model as PROVIDER:MODEL, such as {EXAMPLES}, got {name!r:.80}"
    return f"expected --model such as {EXAMPLES}, got {name!r:.80}, which cannot be made: {said}"


def _hint(name: str, error: BaseException) -> str | None:
    """What to do about an error of a model, where that is known: a missing key, an Ollama that does not run or does not have it."""
    provider, _, model = name.partition(":") if ":" in name else ("", "", name)
    provider = provider or next((each for beginning, each in _BY_NAME.items() if name.startswith(beginning)), "")
    variable = f"{provider.upper().replace('-', '_')}_API_KEY"
    if provider == "ollama" and _UNREACHABLE.search(f"{type(error).__name__} {error}"):
        return f"no Ollama answers; start it with: ollama serve (or set OLLAMA_HOST), and fetch the model with: ollama pull {model}"
    if provider == "ollama" and "not found" in str(error):
        return f"Ollama does not have it; fetch it with: ollama pull {model}, or take one that ollama list shows"
    if provider != "ollama" and _ABOUT_KEYS.search(str(error)) and not os.environ.get(variable):
        return f"its key is missing; set {variable}, or use a model that needs none, such as ollama:llama3.2"
    return None


def explained(name: str, error: BaseException) -> str:
    """What a failure of the model says, and what to do about it where that is known."""
    hint = _hint(name, error)
    return f"{brief_text(error)}. It seems that {hint}" if hint else brief_text(error)


def brief_text(error: BaseException) -> str:
    """What an error says, in one line of at most 300 characters, without anything that looks like a key."""
    said = _SECRET.sub("(key)", " ".join(str(error).split()))
    return f"{type(error).__name__}: {said[:300]}" if said else type(error).__name__
