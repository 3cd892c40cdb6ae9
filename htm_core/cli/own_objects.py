"""Models that an option names as an object of a module of the user's own: MODULE:OBJECT."""

from __future__ import annotations

import functools
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..base.errors import InvalidInput
from ..models.embedders import CheckedEmbedder, is_named, resolve
from ..models.lazy import has_methods

_OWN = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*")


def is_own(spec: str) -> bool:
    """True if it is written as an object of a module, and is no name that `Memory` knows, such as
    "ollama:gemma3".
    """
    return _OWN.fullmatch(spec) is not None and not is_named(spec)


def is_there(spec: str) -> bool:
    """True if there is a module of that name. "OpenAIEmbeddings:ada" is written as an object, and
    names a model.
    """
    _look_here()
    try:
        return find_spec(spec.partition(":")[0]) is not None
    except (ImportError, ValueError):
        return False


def object_of(spec: str, *, option: str) -> Any:
    """The object that MODULE:OBJECT names; a module of the working directory is found, as under
    `python -m`.

    Raises `InvalidInput` when there is no such module, or no such object in it.
    """
    module, _, name = spec.partition(":")
    _look_here()
    try:
        value: Any = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"{option}: expected {spec!r} to name an object of a module, got: {error}"
        ) from error
    return value


@functools.cache  # asked for several times in one command, and made once
def own_embedder(spec: str) -> CheckedEmbedder:
    """The embedder that MODULE:OBJECT names: a model, or a function or a class that makes one
    without arguments.

    Raises `InvalidInput` when there is none, or when it cannot be made.
    """
    candidate = object_of(spec, option="--embedder")
    if isinstance(candidate, type) or not _embeds(candidate):
        if not callable(candidate):
            raise InvalidInput(
                f"--embedder: expected {spec!r} to be a model with embed_documents and "
                "embed_query (LangChain), LlamaIndex's "
                f"BaseEmbedding, or a function that makes one, got {type(candidate).__name__}"
            )
        try:
            candidate = candidate()
        # whatever a constructor of the user's raises: a key that is missing, for one
        except Exception as error:
            raise InvalidInput(
                f"--embedder: expected {spec!r} to make a model without arguments, got "
                f"{type(error).__name__}: {error}"
            ) from error
    return resolve(candidate)


def _embeds(candidate: object) -> bool:
    return has_methods(candidate, "embed_documents", "embed_query") or has_methods(
        candidate, "get_text_embedding_batch", "get_query_embedding"
    )


def _look_here() -> None:
    if "" not in sys.path:
        sys.path.insert(0, "")
