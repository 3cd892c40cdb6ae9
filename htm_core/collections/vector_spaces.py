"""The vector spaces of collections: never vectors of two models in one, and no query of one model
to another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..base import time_limit, validation
from ..base.errors import DimensionMismatch
from ..base.time_limit import EMBEDDED_AT_ONCE
from ..base.types import NamedEmbedder
from .items import check_vector
from .store import CollectionState, Document, DocumentPassage


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The model and the dimension of vectors. Without a model's name only dimensions
    are compared.
    """

    model: str | None
    dimension: int


def with_vectors(documents: Sequence[Document], embedder: NamedEmbedder | None) -> list[Document]:
    """Documents with the vectors of their texts, by few calls of the embedder; by none where there
    are no texts.
    """
    texts = [
        part.text for document in documents for part in document.parts if part.text is not None
    ]
    if embedder is None or not texts:
        return list(documents)
    time_limit.grow(len(texts), batch_size=EMBEDDED_AT_ONCE)
    pieces = (texts[at : at + EMBEDDED_AT_ONCE] for at in range(0, len(texts), EMBEDDED_AT_ONCE))
    vectors = iter([vector for piece in pieces for vector in embedder.documents(piece)])
    return [
        replace(document, parts=tuple(_with_vector(document.parts, vectors)))
        for document in documents
    ]


def space_of_documents(
    documents: Sequence[Document],
    *,
    model: str | None,
    embedder: NamedEmbedder | None,
    dim: int | None,
) -> VectorSpace | None:
    """The space of all vectors that documents have, or None; raises `DimensionMismatch` when they
    have two.

    Vectors that documents bring are of `model`, or of `given:<dimension>` without a name.
    """
    parts = [part for document in documents for part in document.parts if part.vector is not None]
    dimensions = sorted({len(part.vector) for part in parts if part.vector is not None})
    if not dimensions:
        return None
    if len(dimensions) > 1 or dimensions[0] != (dim or dimensions[0]):
        raise DimensionMismatch(
            f"expected every vector to have {dim or 'the same number of'} dimensions, got "
            f"{dimensions}; embed all the "
            "texts of a collection with one model"
        )
    named = (
        f"given:{dimensions[0]}" if model is None else validation.check_name(model, what="model")
    )
    own = named if embedder is None else embedder.name
    names = sorted({named if part.text is None else own for part in parts})
    if len(names) > 1:
        raise DimensionMismatch(
            f"expected vectors of one model, got some of {names[0]} and some of {names[1]}; if "
            "the embedder made those "
            f"that came along, say so with put(…, model={own!r})"
        )
    return VectorSpace(names[0], dimensions[0])


def space_of_query(
    vector: Sequence[float] | None, model: str | None, *, dim: int | None
) -> VectorSpace | None:
    """The space of a query's vector; raises `DimensionMismatch` for another dimension
    than `dim`.
    """
    if vector is None:
        return None
    if len(vector) != (dim or len(vector)):
        raise DimensionMismatch(
            f"expected a vector of dim={dim}, got one of {len(vector)}; embed it with the same "
            "model"
        )
    return VectorSpace(model, len(vector))


def check_dimension(space: VectorSpace | None, *, dim: int | None) -> None:
    """Raise `DimensionMismatch` for a model of another dimension than `dim`."""
    if space is not None and space.dimension != (dim or space.dimension):
        raise DimensionMismatch(
            f"expected a model of dim={dim}, got {space.model} with {space.dimension}; correct "
            "the one or the other"
        )


def check_same_space(standing: CollectionState, space: VectorSpace | None, *, name: str) -> None:
    """Raise `DimensionMismatch` for another space than a collection's vectors are in."""
    if space is None or standing.model is None:
        return
    if space.dimension == standing.dimension and space.model in (None, standing.model):
        return
    raise DimensionMismatch(
        f"expected vectors of {standing.model} with {standing.dimension} dimensions, as the "
        f"collection {name!r} has, "
        f"got {space.model or 'one'} with {space.dimension}; use that model, name it with put(…, "
        "model=…) if it made the "
        "vectors, query with vector= or mode='text', or clear() the collection first"
    )


def _with_vector(
    parts: Sequence[DocumentPassage], vectors: Iterator[Sequence[float]]
) -> Iterator[DocumentPassage]:
    for part in parts:
        yield part if part.text is None else replace(part, vector=check_vector(next(vectors)))
