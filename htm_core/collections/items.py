"""From an item to a document: checked, named, and split into the passages that it is found by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from ..base import validation
from ..base.errors import InvalidInput
from ..base.filters.json_values import json_bytes, plain, plain_text
from ..base.folding import lexical_text
from ..base.identity import document_id
from ..base.limits import CALL_BYTES, ITEM_ID_LENGTH, NAMESPACE_BYTES, VALUE_BYTES, VALUE_VALUES
from ..base.types import CollectionItem
from ..text.passages import split
from .store import Document, DocumentPassage

# A half holds magnitudes from 6e-8 to 65,504, and three digits from 6e-5 on. Only the direction
# counts for a cosine.
SMALLEST, LARGEST = 1e-3, 65_504.0
Place = tuple[tuple[str, ...], str]
_FIELDS = tuple(field.name for field in fields(CollectionItem))


def as_item(value: CollectionItem | Mapping[str, Any]) -> CollectionItem:
    """An item, from one or from a mapping of its fields; an unknown field is refused."""
    if isinstance(value, CollectionItem):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"expected a CollectionItem or a mapping of its fields, got {type(value).__name__}"
        )
    unknown = [str(key) for key in value if key not in _FIELDS]
    if unknown:
        raise InvalidInput(
            f"expected any of {', '.join(_FIELDS)}; got unknown {', '.join(unknown)}"
        )
    return CollectionItem(**value)


def document(
    value: CollectionItem | Mapping[str, Any],
    *,
    collection: str,
    new_id: Callable[[], str],
    now: datetime,
    longest: int,
) -> Document:
    """The document of an item; raises `InvalidInput`. Passages with a text still have to be
    embedded.
    """
    item = as_item(value)
    id = new_id() if item.id is None else check_id(item.id)
    namespace = check_namespace(item.namespace)
    item = replace(
        item,
        content=_text(item.content, what="content", longest=longest),
        value=_value(item.value),
        metadata=validation.check_metadata(item.metadata),
        namespace=namespace,
        payload=validation.check_payload(item.payload),
        reference=None if item.reference is None else check_id(item.reference, what="reference"),
        ttl=_duration(item.ttl),
    )
    return Document(
        uid=document_id(collection, namespace, id),
        id=id,
        item=item,
        expires_at=_expiry(item, now),
        parts=tuple(_parts(item, longest)) if item.index else (),
    )


def has_other_words(original: CollectionItem, redacted: CollectionItem) -> bool:
    """True if what vectors are made of, the content or the texts, was redacted."""
    texts = None if original.texts is None else list(original.texts)
    return original.content != redacted.content or texts != (
        None if redacted.texts is None else list(redacted.texts)
    )


def without_vectors(document: Document) -> Document:
    """A document that is found by its words alone, since no model here makes vectors as those that
    it came with.
    """
    return replace(
        document, parts=tuple(DocumentPassage(words=part.words) for part in document.parts)
    )


def check_size(documents: Iterable[Document]) -> None:
    """Refuse documents that together are too much for one call."""
    size = 0
    for entry in documents:
        item = entry.item
        size += (
            len(item.content.encode())
            + json_bytes(item.value)
            + json_bytes(item.metadata)
            + len(item.payload or b"")
        )
        if size > CALL_BYTES:
            raise InvalidInput(
                f"expected contents, values, metadata and payloads of at most {CALL_BYTES:,} "
                "bytes in one call, got more; "
                "put the items in batches"
            )


def check_id(id: object, *, what: str = "id") -> str:
    """A text that is not empty. "1" and 1 are different, so only text is accepted."""
    if not isinstance(id, str) or not id:
        raise InvalidInput(
            f"expected {what} to be a text that is not empty, got {id!r:.80}; use str(…), or None "
            "for none"
        )
    if len(id) > ITEM_ID_LENGTH:
        raise InvalidInput(
            f"expected {what} of at most {ITEM_ID_LENGTH:,} characters, got {len(id):,}; hash it"
        )
    return plain_text(id, at=what)


def check_places(
    ids: Sequence[str | tuple[Sequence[str], str]], namespace: tuple[str, ...]
) -> list[Place]:
    """Namespaces and ids, each pair once: all in this namespace, or given as `(namespace, id)`."""
    if isinstance(ids, Sequence):
        validation.check_count(ids, what="ids")
    pairs = (
        [id for id in ids if isinstance(id, tuple | list) and len(id) == 2]
        if isinstance(ids, Sequence)
        else []
    )
    if pairs and len(pairs) == len(ids):
        return list(dict.fromkeys((check_namespace(labels), check_id(id)) for labels, id in pairs))
    return [(namespace, id) for id in check_ids(ids) or ()]  # type: ignore[arg-type]  # looks at each of them


def check_ids(ids: Sequence[str] | None, *, what: str = "ids") -> list[str] | None:
    """A list of ids, each once; None is no condition."""
    if ids is None:
        return None
    if isinstance(ids, str | bytes) or not isinstance(ids, Sequence | set | frozenset):
        raise InvalidInput(
            f"expected {what} to be a list of texts, got {ids!r:.80}; write [{ids!r:.40}]"
        )
    return list(
        dict.fromkeys(
            check_id(id, what=what) for id in validation.check_count(list(ids), what=what)
        )
    )


def check_namespace(namespace: Sequence[str] | None, *, what: str = "namespace") -> tuple[str, ...]:
    """Labels that are not empty; None is no label."""
    if namespace is None:
        return ()
    if isinstance(namespace, str) or not isinstance(namespace, tuple | list):
        raise InvalidInput(
            f"expected {what} to be a tuple of labels, got {namespace!r:.80}; write "
            f"({namespace!r:.40},)"
        )
    labels = tuple(validation.check_name(label, what=f"a label of {what}") for label in namespace)
    size = sum(len(label.encode()) + 8 for label in labels)
    if size > NAMESPACE_BYTES:
        raise InvalidInput(
            f"expected {what} of at most {NAMESPACE_BYTES:,} bytes, got {size:,}; use fewer, "
            "shorter labels"
        )
    return labels


def check_vector(vector: Sequence[float]) -> list[float]:
    """A vector of 1 to 16,000 finite numbers, scaled to unit length where halves could not hold its
    magnitude.
    """
    numbers = validation.check_numbers(vector)
    largest = max(map(abs, numbers))
    if largest == 0 or SMALLEST <= largest <= LARGEST:
        return numbers
    shrunk = [number / largest for number in numbers]
    length = math.hypot(*shrunk)
    return [number / length for number in shrunk]


def _parts(item: CollectionItem, longest: int) -> Iterator[DocumentPassage]:
    for text, vector in _units(item, longest):
        pieces = [text[span.start : span.stop] for span in split(text)]
        if vector is None:
            yield from (DocumentPassage(words=lexical_text(piece), text=piece) for piece in pieces)
        else:
            words = [lexical_text(piece) for piece in pieces] or [""]
            yield DocumentPassage(words=words[0], vector=check_vector(vector))
            yield from (DocumentPassage(words=more) for more in words[1:])


def _units(item: CollectionItem, longest: int) -> list[tuple[str, Sequence[float] | None]]:
    """Texts with their vectors, as far as these are given: the content as a whole, or the item's
    own texts.
    """
    if item.texts is None:
        if item.vectors is not None:
            raise InvalidInput(
                "expected texts along with vectors, one for each; the content's own embedding is "
                "vector="
            )
        return [(item.content, item.vector)]
    if isinstance(item.texts, str):
        raise InvalidInput(
            "expected texts to be a list of texts, got the text "
            f"{item.texts!r:.60}; put it into a list"
        )
    if item.vector is not None:
        raise InvalidInput(
            "expected vectors=, one for each of the texts, got vector=, which is the content's"
        )
    texts = [_text(text, what="a text", longest=longest) for text in item.texts]
    vectors: list[Sequence[float] | None] = (
        [None] * len(texts) if item.vectors is None else list(item.vectors)
    )
    if len(texts) != len(vectors):
        raise InvalidInput(
            f"expected one vector for each of the {len(texts)} texts, got {len(vectors)}"
        )
    return list(zip(texts, vectors, strict=True))


def _text(text: object, *, what: str, longest: int) -> str:
    if not isinstance(text, str):
        raise InvalidInput(
            f"expected {what} to be a str, got {type(text).__name__}; encode other "
            "things as text first"
        )
    if len(text) > longest:
        raise InvalidInput(
            f"expected {what} of at most {longest:,} characters, got {len(text):,}; split it"
        )
    return validation.check_characters(text, what=what)


def _value(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"expected value to be a mapping, got {type(value).__name__}; keep "
            "other things in payload="
        )
    return dict(plain(value, at="value", values=VALUE_VALUES, size=VALUE_BYTES))


def _duration(ttl: object) -> timedelta | None:
    if ttl is None or (isinstance(ttl, timedelta) and ttl > timedelta(0)):
        return ttl
    raise InvalidInput(
        f"expected ttl to be a timedelta above zero, got {ttl!r}; use timedelta(minutes=…), or "
        "None for ever"
    )


def _expiry(item: CollectionItem, now: datetime) -> datetime | None:
    if item.expires_at is not None:
        return validation.check_time(item.expires_at, what="expires_at")
    try:
        return None if item.ttl is None else now + item.ttl
    except OverflowError:
        raise InvalidInput(
            f"expected a ttl that ends before the year 10000, got {item.ttl}; use None for ever"
        ) from None
