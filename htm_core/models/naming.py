"""What a model that the user gave is called, and what it can do."""

from __future__ import annotations

from typing import Any


def can(given: Any, *methods: str) -> bool:
    """Whether an object has all of these methods."""
    return all(callable(getattr(given, method, None)) for method in methods)


def name_of(given: Any) -> str:
    """The kind of a model and its own name, such as "ChatOllama:gemma3": what its work is kept under."""
    kind = getattr(given, "__qualname__", None) or type(given).__qualname__
    names = (getattr(given, attribute, None) for attribute in ("model", "model_name"))
    name = next((name for name in names if isinstance(name, str) and name not in ("", "unknown")), None)
    return f"{kind}:{name}" if name else str(kind)
