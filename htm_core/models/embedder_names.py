"""The name of an embedder: that of the model which makes its vectors, whatever the embedder wraps
around it.

Vectors are stored under it, and vectors of two names are never compared. A name that was right
stays as it is: another one would be another model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.errors import InvalidInput
from .lazy import has_methods

# Where the classes of LangChain, LlamaIndex and others have the name of their model, the most
# telling first.
ATTRIBUTES = (
    "model", "model_name", "model_id", "deployment", "deployment_name", "azure_deployment",
    "repo_id", "endpoint_name", "engine", "model_path", "model_file", "model_uri", "checkpoint",
)  # fmt: skip
# What LlamaIndex writes for a model without a name.
NO_NAMES = ("", "unknown")
# Embedders that give the vectors of what they wrap, unchanged: a cache is no other model.
TRANSPARENT = ("CacheBackedEmbeddings", "HypotheticalDocumentEmbedder")
# What every embedder of LlamaIndex has beside its model; it changes no vector.
WITHOUT_WEIGHTS = ("callback_manager", "embeddings_cache", "rate_limiter", "num_workers")
DEEPEST = 8


def embedder_name(embedder: Any) -> str:
    """Name an embedder: "OpenAIEmbeddings:text-embedding-3-small", and the same with a cache around
    it.

    A wrapper of another kind may change vectors, so that it is part of the name:
    "Instructed(OpenAIEmbeddings:…)". An embedder that neither has a name nor wraps one that has is
    called by its class, if that is all there is to it.

    Raises `InvalidInput` for one that holds what may tell it from another of its class: two models
    would share a name. Vectors that an earlier version stored for it are found again by giving it
    the name that they have, its class's.
    """
    name, is_told = _name(embedder, DEEPEST)
    if not is_told and _may_be_another(embedder, DEEPEST):
        raise InvalidInput(
            f"embedder: expected to know which model {name} is, but neither it nor what it wraps "
            "has a name: vectors of another "
            f"{name} would pass for vectors of this one. Give it an attribute such as model_name "
            "= 'my-model-1'. If vectors were "
            f"stored for it without a name, model_name = {name!r} finds them"
        )
    return name


def _name(embedder: Any, depth: int) -> tuple[str, bool]:
    """The name, and whether it says more than the class."""
    own: Any = getattr(embedder, "embedder", None)
    if isinstance(getattr(own, "name", None), str) and has_methods(own, "documents", "query"):
        return str(own.name), True  # a framework's wrapper around a memory's own embedder
    class_name = str(getattr(embedder, "__qualname__", None) or type(embedder).__qualname__)
    own_name = _own_name(embedder)
    wrapped = [_name(inner, depth - 1) for inner in _wrapped(embedder)] if depth else []
    if not wrapped:
        without, is_told = class_name, False
    else:
        names = ", ".join(dict.fromkeys(name for name, _ in wrapped))
        is_told = all(told for _, told in wrapped)
        without = names if _is_transparent(embedder) else f"{class_name}({names})"
    if own_name is None:
        return without, is_told
    return (
        without if own_name == without else f"{class_name}:{own_name}"
    ), True  # the name that its vectors have already


def _own_name(embedder: Any) -> str | None:
    """The name that an embedder has itself. One that was given goes before the default of its
    class.
    """
    names = {name: value for name in ATTRIBUTES if _is_name(value := getattr(embedder, name, None))}
    chosen = getattr(embedder, "model_fields_set", None)
    if isinstance(chosen, set) and not chosen & {"model", "model_name"}:
        names = {name: value for name, value in names.items() if name in chosen} or names
    return next(iter(names.values()), None)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.strip() not in NO_NAMES


def _wrapped(embedder: Any) -> Iterator[Any]:
    """The embedders that an embedder holds."""
    for value in _state(embedder).values():
        if value is not embedder and not isinstance(value, type) and _is_embedder(value):
            yield value


def _is_embedder(value: object) -> bool:
    return has_methods(value, "embed_documents", "embed_query") or has_methods(
        value, "get_text_embedding_batch", "get_query_embedding"
    )


def _is_transparent(embedder: Any) -> bool:
    return any(base.__name__ in TRANSPARENT for base in type(embedder).__mro__)


def _may_be_another(embedder: Any, depth: int) -> bool:
    """True if it, or what it wraps, holds anything but numbers, which say how long its vectors are
    or how often it was called.
    """
    wrapped = list(_wrapped(embedder))
    if any(depth and _may_be_another(inner, depth - 1) for inner in wrapped):
        return True
    if wrapped and _is_transparent(embedder):
        return False
    return any(
        not isinstance(value, int | float | None)
        and (not isinstance(value, str) or _is_name(value))
        for name, value in _state(embedder).items()
        if name not in WITHOUT_WEIGHTS and not any(value is inner for inner in wrapped)
    )


def _state(instance: Any) -> dict[str, Any]:
    """The attributes of an object, those that pydantic hides included."""
    return {
        **getattr(instance, "__dict__", {}),
        **(getattr(instance, "__pydantic_private__", None) or {}),
    }
