"""The model that made the vectors of another package's table: they are kept, and a search needs its
name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.errors import DimensionMismatch, InvalidInput, ModelError
from ..base.types import EmbedderLike
from ..models.embedders import CheckedEmbedder, resolve

# Given as the embedder: the vectors stay without a model's name, and are searched by vectors alone.
UNNAMED = "given"
# From here on two vectors of one text are of one model. Rounding to halves stays above it. The
# quicker form of a model, which is another model by name (docs/why/vectors.md), stays below.
SAME = 0.999
# So many texts are embedded again to see whether a model made their vectors.
SAMPLE = 3

Sample = Sequence[tuple[str, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The name that vectors are stored under, None for none, and the embedder that makes more of
    them, where there is one.
    """

    name: str | None
    embedder: CheckedEmbedder | None = None


def model_of(
    sample: Sample, *, chosen: EmbedderLike | None, own: CheckedEmbedder, table: str, dimension: int
) -> VectorModel:
    """The model that made a table's vectors: the one `chosen`, else the memory's own if it makes
    the same.

    An embedder embeds the texts of the sample again, to see whether it made their vectors. A name
    that is not an embedder's is taken as it is: it is the one under which the vectors are stored.
    Raises `DimensionMismatch` for an embedder that did not make them, `InvalidInput` when nothing
    says which model did, and `ModelError`.
    """
    if chosen == UNNAMED:
        return VectorModel(None)
    if chosen is not None:
        embedder = _resolved(chosen)
        if embedder is None:
            return VectorModel(str(chosen))
        _check(sample, embedder, table=table, dimension=dimension)
        return VectorModel(embedder.name, embedder)
    if own_model(sample, own=own, dimension=dimension).name is None:
        raise InvalidInput(
            f"expected to know which model made the vectors of {table}, which have {dimension:,} "
            "numbers: the memory's own, "
            f"{own.name}, did not, or could not be asked. Give it as embedder=, or by --embedder "
            "with the name under which the "
            "store will look for them, such as OpenAIEmbeddings:text-embedding-3-small; "
            f"--embedder {UNNAMED} keeps them without a name, for searches by vector"
        )
    return VectorModel(own.name, own)


def own_model(sample: Sample, *, own: CheckedEmbedder, dimension: int) -> VectorModel:
    """The memory's own model if it made the vectors of a sample; else none."""
    if not sample:
        return VectorModel(None)
    try:
        _check(sample, own, table="", dimension=dimension)
    except (DimensionMismatch, ModelError):
        return VectorModel(None)
    return VectorModel(own.name, own)


def similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 1 for two without a direction, 0 where only one has none."""
    length = math.hypot(*one) * math.hypot(*other)
    if length == 0:
        return float(not any(one) and not any(other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / length


def _resolved(embedder: EmbedderLike) -> CheckedEmbedder | None:
    try:
        return resolve(embedder)
    except InvalidInput:
        if isinstance(embedder, str):
            return None
        raise


def _check(sample: Sample, embedder: CheckedEmbedder, *, table: str, dimension: int) -> None:
    if embedder.dimension != dimension:
        raise DimensionMismatch(
            f"expected the embedder that made the vectors of {table}, which have {dimension:,} "
            f"numbers, got {embedder.name} with "
            f"{embedder.dimension:,}; name the one that made them"
        )
    again = embedder.documents([text for text, _ in sample])
    worst = min(
        (similarity(vector, made) for (_, vector), made in zip(sample, again, strict=True)),
        default=1.0,
    )
    if worst < SAME:
        raise DimensionMismatch(
            f"expected the embedder that made the vectors of {table}, got {embedder.name}, whose "
            "vectors of the same texts are "
            f"others (cosine {worst:.2f}); name the one that made them"
        )
