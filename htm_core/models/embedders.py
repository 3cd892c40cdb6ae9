"""Turn what the user gave as `embedder=` into an embedder with a name, whose answers
are checked.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..base import time_limit
from ..base.errors import HTMError, InvalidInput, ModelError
from ..base.fork import renewed_after_fork
from ..base.types import Embedder
from . import ollama
from .embedder_names import embedder_name
from .lazy import has_methods
from .tokenizers import well_formed

MINILM = "all-MiniLM-L6-v2"
MINILM_INT8 = "all-MiniLM-L6-v2:int8"
MINILM_DIMENSION = 384
LARGEST_COMPONENT = 65504.0  # vectors are stored in half precision
PROBE = "How many numbers has a vector?"

_ALIASES = {"minilm": MINILM, "minilm:int8": MINILM_INT8, MINILM: MINILM, MINILM_INT8: MINILM_INT8}
_resolving = threading.RLock()
_kept_for_parent: list[Embedder | None] = []
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder's name and dimension; they are stored with each vector, so that vectors of two
    models are never compared.
    """

    name: str
    dimension: int


class CheckedEmbedder:
    """An embedder whose answers are checked, so that no invalid vector reaches the database.

    Every failure is a `ModelError`: the model raised, or it gave the wrong number of vectors, a
    vector of another length than before, or something that is not a finite number from -65,504 to
    65,504. `load` is called once, at the first use. Any number of threads may embed at once.
    `client` is what the user gave: it tells two embedders of one name apart.

    A verb waits for a model no longer than its time allows; after that the call fails, and goes on
    in a thread of its own. `is_local` says that the model runs in this process: it cannot hang, and
    its time does not count.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Embedder],
        *,
        dimension: int | None = None,
        client: object | None = None,
        is_local: bool = False,
    ) -> None:
        self.name = name
        self.client = self if client is None else client
        self._load = load
        self._dimension = dimension
        self._is_local = is_local
        self._embedder: Embedder | None = None
        self._loading, self._measuring = threading.RLock(), threading.Lock()
        renewed_after_fork(self)

    def __repr__(self) -> str:
        return f"CheckedEmbedder({self.name!r})"

    @property
    def dimension(self) -> int:
        """The length of a vector; where it is not known beforehand, the model embeds one text to
        find out.
        """
        if self._dimension:  # without a lock, which a thread holds while it downloads weights
            return self._dimension
        try:
            with time_limit.locked(self._measuring, what=f"the embedder {self.name}"):
                # whoever waited finds what the first was told
                return self._dimension or len(self.query(PROBE))
        except time_limit.OutOfTime as error:
            raise self._too_late() from error

    @property
    def model(self) -> Model:
        """The name and the dimension, as they are stored with each vector."""
        return Model(self.name, self.dimension)

    @property
    def is_at_hand(self) -> bool:
        """True if the model runs in this process, and is loaded."""
        return self._is_local and self._embedder is not None

    def warm(self) -> None:
        """Begin to load a model of this process that is on this disk, in a thread, so that it is
        there when it is first used.

        What fails then is said by the first use.
        """
        if self._is_local and self._embedder is None:
            threading.Thread(target=self._load_early, name="htm-model").start()

    def _load_early(self) -> None:
        with contextlib.suppress(Exception):
            from .minilm import weights

            if weights.find() is not None:
                self._loaded()

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts that are stored and searched: one vector per text, in order."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidInput(
                f"expected a sequence of texts to embed, got {texts!r:.60}; put a single text "
                "into a list"
            )
        wanted = [well_formed(text) for text in texts]
        if not wanted:
            return []
        rows = self._call(lambda embedder: list(embedder.embed_documents(wanted)))
        if len(rows) != len(wanted):
            raise self._invalid_answer(
                f"one vector for each of {len(wanted)} texts", f"{len(rows)}"
            )
        return self._vectors(rows)

    def query(self, text: str) -> list[float]:
        """Embed a query."""
        if not isinstance(text, str):
            raise InvalidInput(f"expected a text to embed, got {text!r:.60}")
        row = self._call(lambda embedder: embedder.embed_query(well_formed(text)))
        return self._vectors([row])[0]

    def readable(self, text: str) -> float:
        """Return the share of a text that the model can read, from 0 to 1; 1 where it
        does not say.
        """
        readable: Callable[[str], float] | None = getattr(self._embedder, "readable", None)
        return 1.0 if readable is None else readable(text)

    def _call(self, function: Callable[[Embedder], _Answer]) -> _Answer:
        try:
            if self._is_local and self._embedder is not None:
                with time_limit.uncounted():
                    return function(self._embedder)
            client = ("embedder", id(self.client))  # it lives as long as its calls
            return time_limit.in_time(
                lambda: function(self._loaded()), client=client, share=time_limit.MODEL_SHARE
            )
        except HTMError:
            raise
        except time_limit.OutOfTime as error:
            raise self._too_late() from error
        except Exception as error:
            raise ModelError(
                f"the embedder {self.name} failed: {type(error).__name__}: {error}; check that "
                "the model behind it "
                "runs and can be reached, then try again"
            ) from error

    def _too_late(self) -> ModelError:
        return ModelError(
            f"expected the embedder {self.name} to answer in the time that the verb has, but it "
            "did not; check the model "
            "behind it, or raise Settings.verb_timeout"
        )

    def _loaded(self) -> Embedder:
        with self._loading:
            if self._embedder is None:
                self._embedder = self._load()
            return self._embedder

    def _vectors(self, rows: Iterable[Any]) -> list[list[float]]:
        vectors = [self._numbers(row) for row in rows]
        with self._loading:
            expected = self._dimension or len(vectors[0])
            wrong = next(
                (len(vector) for vector in vectors if len(vector) != expected or not vector), None
            )
            if wrong is not None:
                raise self._invalid_answer(
                    f"{expected or 'some'} numbers in every vector", f"{wrong}"
                )
            self._dimension = expected
        return vectors

    def _numbers(self, row: Any) -> list[float]:
        try:
            numbers = row.tolist() if hasattr(row, "tolist") else list(row)
            if set(map(type, numbers)) == {float} and math.isfinite(sum(numbers)):
                # as it nearly always is: without a step for each number
                vector, finite = numbers, True
            else:
                finite = all(map(math.isfinite, numbers))  # refuses text, which float() would take
                vector = list(map(float, numbers))
        except (TypeError, ValueError, OverflowError) as error:
            raise self._invalid_answer("a list of numbers for each text", f"{row!r:.60}") from error
        if not finite:
            raise self._invalid_answer("finite numbers", "NaN or infinity")
        if vector and (max(vector) > LARGEST_COMPONENT or min(vector) < -LARGEST_COMPONENT):
            raise self._invalid_answer(
                "numbers from -65,504 to 65,504", f"{max(vector, key=abs):g}"
            )
        return vector

    def _invalid_answer(self, expected: str, came: str) -> ModelError:
        return ModelError(
            f"the embedder {self.name} gave an invalid answer: expected {expected}, got {came}; "
            "nothing of it was used. "
            "Fix the model, or name another one with embedder="
        )

    def renew(self) -> None:
        """Load the model anew in a forked child: the threads of onnxruntime exist only in the
        parent.
        """
        # Deleting the session here would wait for them.
        _kept_for_parent.append(self._embedder)
        self._embedder, self._loading, self._measuring = None, threading.RLock(), threading.Lock()


def resolve(spec: object | None = None) -> CheckedEmbedder:
    """Make a checked embedder of what the user gave; nothing is loaded, downloaded or called before
    its first use.

    None or "minilm" is the embedded all-MiniLM-L6-v2, "minilm:int8" its faster form, "ollama:MODEL"
    a model of an Ollama server; else an object with `embed_documents` and `embed_query`, or
    LlamaIndex's `BaseEmbedding`. The same spec gives the same embedder within one process.
    """
    # a framework's wrapper around a memory's own embedder gives that embedder
    own = getattr(spec, "embedder", spec)
    if isinstance(own, CheckedEmbedder):
        return own
    with _resolving:
        if spec is None or isinstance(spec, str):
            return _named(MINILM if spec is None else _ALIASES.get(spec, spec))
        return _given(_ByIdentity(spec))


def is_named(spec: str) -> bool:
    """True if it is a name by which `Memory` makes a model itself, such as "minilm" or
    "ollama:nomic-embed-text".
    """
    prefix, _, model = spec.partition(":")
    return spec in _ALIASES or (prefix == "ollama" and bool(model.strip()))


def as_option(name: str) -> str:
    """Return the value of `--embedder` for the model whose vectors are stored under this name.

    A model that a program gives has no other name for commands than that of its object.
    """
    return name if is_named(name) else "MODULE:OBJECT"


@functools.cache
def _named(spec: str) -> CheckedEmbedder:
    if spec in _ALIASES:
        load = functools.partial(_load_minilm, spec)
        return CheckedEmbedder(spec, load, dimension=MINILM_DIMENSION, client=spec, is_local=True)
    prefix, _, model = spec.partition(":")
    if prefix == "ollama" and model.strip():
        return CheckedEmbedder(
            ollama.name_of(model), functools.partial(ollama.load, model), client=spec
        )
    raise _unknown(spec)


@dataclass(frozen=True, slots=True, eq=False)
class _ByIdentity:
    """An object as a cache key, by identity: most models are not hashable."""

    model: Any

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.model is self.model


@functools.lru_cache(maxsize=64)  # bounded, since the cache keeps its models alive
def _given(key: _ByIdentity) -> CheckedEmbedder:
    model = key.model
    if isinstance(model, type):
        raise _unknown(model)
    if has_methods(model, "embed_documents", "embed_query"):
        return CheckedEmbedder(embedder_name(model), lambda: model, client=model)
    if has_methods(model, "get_text_embedding_batch", "get_query_embedding"):
        return CheckedEmbedder(
            embedder_name(model), lambda: _LlamaIndexEmbedder(model), client=model
        )
    raise _unknown(model)


@dataclass(frozen=True, slots=True)
class _LlamaIndexEmbedder:
    """LlamaIndex's `BaseEmbedding` with the methods of LangChain's `Embeddings`."""

    model: Any

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self.model.get_text_embedding_batch(texts)
        return rows

    def embed_query(self, text: str) -> list[float]:
        row: list[float] = self.model.get_query_embedding(text)
        return row


def _unknown(spec: object) -> InvalidInput:
    return InvalidInput(
        'embedder: expected None, "minilm", "minilm:int8", "ollama:MODEL", or an object with '
        "embed_documents and "
        f"embed_query (LangChain) or LlamaIndex's BaseEmbedding; got {spec!r:.80}"
    )


def _load_minilm(name: str) -> Embedder:
    try:
        from .minilm import weights
        from .minilm.model import MiniLM
    except ImportError as error:
        raise ModelError(
            f"the embedded model {name} needs numpy, onnxruntime and tokenizers, and {error.name} "
            "is not installed: "
            'pip install "htm-memory[embedded]"'
        ) from error
    return MiniLM(weights.obtain(), form="int8" if name == MINILM_INT8 else "float32")


def _after_fork() -> None:
    global _resolving
    _resolving = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
