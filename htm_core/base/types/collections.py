"""Documents of vector stores, items of key-value stores, and the hits among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .options import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionItem:
    """A document of a vector store, or an item of a key-value store.

    `content` is embedded and indexed in passages of a few hundred tokens each; `texts`, when given,
    replace it, each by itself. `vector` (of the content) or `vectors` (one for each text) are
    embeddings that you have already. With `index=False` an item is found neither by meaning nor by
    words. `reference` is the id of the source document that it is a part of. An item expires at
    `expires_at`, or when `ttl` is over; a read with `refresh` starts the `ttl` again. The
    collection sets `created_at` and `updated_at`; values given for them are ignored. What is read
    back has no texts and vectors.
    """

    id: str | None = None
    content: str = ""
    value: Metadata = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)
    namespace: Sequence[str] = ()
    payload: bytes | None = None
    reference: str | None = None
    vector: Sequence[float] | None = None
    texts: Sequence[str] | None = None
    vectors: Sequence[Sequence[float]] | None = None
    index: bool = True
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionHit:
    """A document that answers a query, and why; `score` is None when there were only filters.

    `score` is from 0 to 1 and compares between queries. Ranks count from 1; None means that this
    arm did not find it. `cosine` is the similarity of its best vector, None without one. `words`,
    from 0 to 1, is how much of the query its words cover. `vector`, with `with_vectors`, is that
    best vector.
    """

    item: CollectionItem
    score: float | None
    vector_rank: int | None
    text_rank: int | None
    cosine: float | None
    words: float | None
    vector: tuple[float, ...] | None = None
