"""The name of an embedder: that of the model which makes its vectors, whatever the embedder wraps around it.

Vectors are stored under it, and vectors of two names are never compared. A name that was right stays as it is: another one
would be another model.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from .lazy import has_methods

_log = logging.getLogger("htm.embedder")

# Where the classes of LangChain, LlamaIndex and others have the name of their model, the most telling first.
ATTRIBUTES = (
    "model", "model_name", "model_id", "deployment", "deployment_name", "azure_deployment", "repo_id", "endpoint_name",
    "engine", "model_path", "model_file", "model_uri", "checkpoint",
)  # fmt: skip
# What LlamaIndex writes for a model without a name.
NO_NAMES = ("", "unknown")
# Embedders that give the vectors of what they wrap, unchanged: a cache is no other model.
TRANSPARENT = ("CacheBackedEmbeddings", "HypotheticalDocumentEmbedder")
DEEPEST = 8


def embedder_name(given: Any) -> str:
    """Name an embedder: "OpenAIEmbeddings:text-embedding-3-small", and the same with a cache around it.

    A wrapper of another kind may change vectors, so that it is part of the name: "Instructed(OpenAIEmbeddings:…)". An
    embedder that neither has a name nor wraps one that has is called by its class; when it holds anything that may tell it
    from another of its class, a warning asks for a name.
    """
    name, is_told = _name(given, DEEPEST)
    if not is_told and _has_state(given):
        _log.warning(
            "the embedder %s does not say which model it is: vectors of another %s would be taken for vectors of the same "
            'model; give it an attribute such as model = "my-model-1"', name, name,
        )  # fmt: skip
    return name


def _name(given: Any, depth: int) -> tuple[str, bool]:
    """The name, and whether it says more than the class."""
    own: Any = getattr(given, "embedder", None)
    if isinstance(getattr(own, "name", None), str) and has_methods(own, "documents", "query"):
        return str(own.name), True  # a framework's wrapper around a memory's own embedder
    class_name = str(getattr(given, "__qualname__", None) or type(given).__qualname__)
    name = _own_name(given)
    if name is not None:
        return f"{class_name}:{name}", True
    wrapped = [_name(inner, depth - 1) for inner in _wrapped(given)] if depth else []
    if not wrapped:
        return class_name, False
    names = ", ".join(dict.fromkeys(name for name, _ in wrapped))
    is_told = all(told for _, told in wrapped)
    is_transparent = any(base.__name__ in TRANSPARENT for base in type(given).__mro__)
    return (names if is_transparent else f"{class_name}({names})"), is_told


def _own_name(given: Any) -> str | None:
    """The name that an embedder has itself. One that was given goes before the default of its class."""
    names = {name: value for name in ATTRIBUTES if _is_name(value := getattr(given, name, None))}
    chosen = getattr(given, "model_fields_set", None)
    if isinstance(chosen, set) and not chosen & {"model", "model_name"}:
        names = {name: value for name, value in names.items() if name in chosen} or names
    return next(iter(names.values()), None)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.strip() not in NO_NAMES


def _wrapped(given: Any) -> Iterator[Any]:
    """The embedders that an embedder holds."""
    for value in _state(given).values():
        if value is not given and not isinstance(value, type) and _is_embedder(value):
            yield value


def _is_embedder(value: object) -> bool:
    return has_methods(value, "embed_documents", "embed_query") or has_methods(
        value, "get_text_embedding_batch", "get_query_embedding"
    )


def _has_state(given: Any) -> bool:
    """Whether it holds anything but numbers, which say how long its vectors are or how often it was called."""
    return any(not isinstance(value, int | float | None) for value in _state(given).values())


def _state(given: Any) -> dict[str, Any]:
    """The attributes of an object, those that pydantic hides included."""
    return {**getattr(given, "__dict__", {}), **(getattr(given, "__pydantic_private__", None) or {})}
