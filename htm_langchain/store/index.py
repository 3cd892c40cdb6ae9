"""Index of a store's items: the fields by which they are found, and the embedding model."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings, get_text_at_path
from langgraph.store.base.embed import EmbeddingsLambda

from htm_core import EmbedderLike, InvalidInput
from htm_core.prompt.messages import storable

WHOLE = "$"
_KEYS = ("dims", "embed", "fields")
# The event loop that waits for the current batch. The user's own coroutines run there, since they
# may be bound to it.
waiting: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar(
    "htm_store_waiting", default=None
)
Vectors = list[list[float]]


@dataclass(frozen=True, slots=True)
class Index:
    """A store's index. Without an embedder it is the memory's own; without fields nothing is
    indexed.
    """

    embedder: EmbedderLike | None
    dim: int | None
    fields: tuple[str, ...]

    @property
    def on(self) -> bool:
        """True if items can be found by a query at all."""
        return bool(self.fields)

    def texts(self, value: dict[str, Any], index: object) -> list[str] | None:
        """The texts by which an item is found, None for none. `index` is `put`'s argument: False,
        paths, or None for the fields.
        """
        if index is False or not self.on:
            return None
        paths = self.fields if index is None else check_paths(index, what="index")
        return [storable(text) for path in paths for text in _texts_at(value, path)] or None


def index_of(config: IndexConfig | bool | None) -> Index:
    """The index of a store's `index` argument; raises `InvalidInput` for anything else."""
    if config is None or config is False:
        return Index(None, None, (WHOLE,) if config is None else ())
    if not isinstance(config, Mapping):
        raise InvalidInput(
            "expected index to be None (the memory's embedder, over the whole value), False "
            "(none) or a mapping of "
            f"{', '.join(_KEYS)}; got {config!r:.80}"
        )
    unknown = [str(key) for key in config if key not in _KEYS]
    if unknown:
        raise InvalidInput(
            f"expected index to have {', '.join(_KEYS)}, got {', '.join(unknown)} too; leave it "
            "out: the kind of index and "
            "the distance are chosen by how many items there are"
        )
    fields = config.get("fields")
    dims = config.get("dims")
    return Index(
        embedder=_embedder(config.get("embed")),
        dim=dims,
        fields=(WHOLE,) if fields is None else tuple(check_paths(fields, what="fields")),
    )


def check_paths(paths: object, *, what: str) -> Sequence[str]:
    """Paths such as "text", "author.name", "chapters[*].title", or "$" for the whole value."""
    if isinstance(paths, list | tuple) and all(isinstance(path, str) and path for path in paths):
        return paths
    raise InvalidInput(
        f"expected {what} to be a list of paths such as ['text', 'chapters[*].title'], got "
        f"{paths!r:.80}"
    )


def _texts_at(value: dict[str, Any], path: str) -> list[str]:
    if path == WHOLE:
        return [json.dumps(value, sort_keys=True, ensure_ascii=False)]
    return get_text_at_path(value, path)


def _embedder(embed: Any) -> EmbedderLike | None:
    if isinstance(embed, str):
        return ensure_embeddings(embed)
    if isinstance(embed, EmbeddingsLambda):
        return EmbeddingFunction(getattr(embed, "func", None) or embed.afunc)
    if (
        embed is None
        or isinstance(embed, Embeddings)
        or hasattr(embed, "embed_documents")
        or not callable(embed)
    ):
        return embed  # type: ignore[no-any-return]  # the core checks it
    return EmbeddingFunction(embed)


class EmbeddingFunction:
    """An embedder made of a function from texts to vectors, awaited or not; known by its `model`,
    else by the function's name.

    Raises `InvalidInput` for a function whose name may be another's too, and that has no `model`.
    """

    def __init__(self, function: Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]) -> None:
        self._function = function
        self.model = _name_of(function)
        self._awaited = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - asks whether calling it awaits
        )

    def embed_documents(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        if self._awaited:
            return _run(self._answer, texts)
        vectors: Vectors = self._function(texts)  # type: ignore[assignment]
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query; the function treats it like any text."""
        return self.embed_documents([text])[0]

    async def _answer(self, texts: list[str]) -> Vectors:
        answer = self._function(texts)
        return await answer if inspect.isawaitable(answer) else answer


def _name_of(function: Callable[..., Any]) -> str:
    """The name of the model behind a function, under which its vectors are stored."""
    owner = getattr(function, "__self__", function)  # of a method, whose attributes are the owner's
    model = getattr(function, "model", None) or getattr(owner, "model", None)
    if isinstance(model, str) and model.strip():
        return model
    called = function if hasattr(function, "__qualname__") else type(function)
    name = f"{called.__module__}.{called.__qualname__}"
    # a function, and not a method of something
    is_alone = owner is function or inspect.ismodule(owner)
    if is_alone and inspect.isfunction(inspect.unwrap(function)) and "<" not in name:
        return name
    holds_nothing = (
        not isinstance(function, functools.partial) and getattr(owner, "__dict__", None) == {}
    )
    if holds_nothing and not inspect.isfunction(function) and "<" not in name:
        return name
    raise InvalidInput(
        f"index['embed']: expected to know which model {name} is, but a lambda, a local function, "
        "a partial and an object with "
        "state may be any model: vectors of another one would pass for vectors of this one. Give "
        "it an attribute: "
        "embed.model = 'my-model-1'. If vectors were stored for it without a name, embed.model = "
        f"{name!r} finds them"
    )


def _run(work: Callable[[list[str]], Any], texts: list[str]) -> Vectors:
    """Run a coroutine: on the event loop that waits for this batch, else on a new one in a thread
    of its own.
    """
    loop = waiting.get()
    if loop is not None and loop.is_running() and loop is not asyncio._get_running_loop():
        vectors: Vectors = asyncio.run_coroutine_threadsafe(work(texts), loop).result()
        return vectors
    answers: list[Any] = []

    def alone() -> None:
        """Run the coroutine on an event loop of this thread."""
        try:
            answers.append(asyncio.run(work(texts)))
        except BaseException as error:
            answers.append(error)

    thread = threading.Thread(target=alone, name="htm-store-embed")
    thread.start()
    thread.join()
    if isinstance(answers[0], BaseException):
        raise answers[0]
    answer: Vectors = answers[0]
    return answer
