"""Which model's vectors are whose: never two kinds in one collection, never a question of one to answers of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..errors import DimensionMismatch
from ..rules import validation
from ..store.collections import CollectionState, Document, DocumentPassage
from .items import check_vector


class Embedding(Protocol):
    """What a collection asks of an embedder: `CheckedEmbedder` is one."""

    @property
    def name(self) -> str:
        """What its vectors are kept under."""

    @property
    def dimension(self) -> int:
        """How many numbers each has; may ask the model."""

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in order."""

    def query(self, text: str) -> list[float]:
        """The vector of one question."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What vectors are: a model's, of a dimension. Without a model's name only the dimension is compared."""

    model: str | None
    dimension: int


def embedded(documents: Sequence[Document], embedder: Embedding | None) -> list[Document]:
    """Documents with the vectors of their texts; asks the embedder once, and not at all where there are no texts."""
    texts = [part.text for document in documents for part in document.parts if part.text is not None]
    if embedder is None or not texts:
        return list(documents)
    vectors = iter(embedder.documents(texts))
    return [replace(document, parts=tuple(_filled(document.parts, vectors))) for document in documents]


def kind_of(
    documents: Sequence[Document], *, given: str | None, embedder: Embedding | None, dim: int | None
) -> Kind | None:
    """The kind of all vectors that documents have, None when they have none; raises `DimensionMismatch` for two kinds.

    Those that came along are of the model `given`, or of `given:<dimension>` when nobody named it.
    """
    parts = [part for document in documents for part in document.parts if part.vector is not None]
    dimensions = sorted({len(part.vector) for part in parts if part.vector is not None})
    if not dimensions:
        return None
    if len(dimensions) > 1 or dimensions[0] != (dim or dimensions[0]):
        raise DimensionMismatch(
            f"expected every vector to have {dim or 'the same number of'} dimensions, got {dimensions}; embed all the "
            "texts of a collection with one model"
        )
    named = f"given:{dimensions[0]}" if given is None else validation.check_name(given, what="model")
    own = named if embedder is None else embedder.name
    names = sorted({named if part.text is None else own for part in parts})
    if len(names) > 1:
        raise DimensionMismatch(
            f"expected vectors of one model, got some of {names[0]} and some of {names[1]}; if the embedder made those "
            f"that came along, say so with put(…, model={own!r})"
        )
    return Kind(names[0], dimensions[0])


def kind_asked(vector: Sequence[float] | None, model: str | None, *, dim: int | None) -> Kind | None:
    """The kind of a question's vector; raises `DimensionMismatch` when it has not the dimension that one expects."""
    if vector is None:
        return None
    if len(vector) != (dim or len(vector)):
        raise DimensionMismatch(
            f"expected a vector of dim={dim}, got one of {len(vector)}; embed it with the same model"
        )
    return Kind(model, len(vector))


def expect(kind: Kind | None, *, dim: int | None) -> None:
    """Refuse a model whose vectors have not the dimension that one expects, with `DimensionMismatch`."""
    if kind is not None and kind.dimension != (dim or kind.dimension):
        raise DimensionMismatch(
            f"expected a model of dim={dim}, got {kind.model} with {kind.dimension}; correct the one or the other"
        )


def compare(standing: CollectionState, kind: Kind | None, *, name: str) -> None:
    """Refuse vectors of another kind than a collection has; `DimensionMismatch` says which, and what to do."""
    if kind is None or standing.model is None:
        return
    if kind.dimension == standing.dimension and kind.model in (None, standing.model):
        return
    raise DimensionMismatch(
        f"expected vectors of {standing.model} with {standing.dimension} dimensions, as the collection {name!r} has, "
        f"got {kind.model or 'one'} with {kind.dimension}; use that model, name it with put(…, model=…) if it made the "
        "vectors, query with vector= or mode='text', or clear() the collection first"
    )


def _filled(parts: Sequence[DocumentPassage], vectors: Iterator[Sequence[float]]) -> Iterator[DocumentPassage]:
    for part in parts:
        yield part if part.text is None else replace(part, vector=check_vector(next(vectors)))
