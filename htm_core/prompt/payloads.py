"""Bytes of any length under keys of the caller: what the key-value stores of both frameworks keep
in a collection.

A payload longer than a part is stored in several items, which are written, replaced and deleted
together. Its first item says how many there are and which digest they have, so that a reader who
meets a writer notices, and reads again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..base.errors import InvalidInput, StorageError
from ..base.limits import CALL_BYTES
from ..base.types import CollectionItem
from ..collections.collection import Collection

# A place in a collection: the labels of its namespace, and its id.
Place = tuple[tuple[str, ...], str]
PART_BYTES = 16 << 20
MOST_PARTS = CALL_BYTES // PART_BYTES - 1  # all of them are written by one call
MOST_BYTES = PART_BYTES * MOST_PARTS
# How many items are written in one transaction, and how many bytes, where there are more.
MOST_ITEMS = 10_000
# in an item's value: how many parts its payload has, and the digest of all of it
_SPLIT = "htm_parts"
_PARTS = "parts"  # the label before the namespace of an item whose parts these are


def write(
    collection: Collection, items: Iterable[CollectionItem], *, most: int = MOST_ITEMS
) -> None:
    """Put items whose payloads may be long; of several with one id the last one counts.

    Up to `most` items, or 240 MB, are one transaction. Raises `InvalidInput` for a payload of more
    than 240 MB.
    """
    most = min(most, collection._database.settings.max_drafts)
    last = {_place(item): item for item in items}
    group: list[CollectionItem] = []
    stale: list[Place] = []
    size = 0
    for item in last.values():
        made = _split(item, whole=collection.redactor is not None)
        length = sum(len(each.payload or b"") for each in made)
        if group and (len(group) + len(made) > most or size + length > MOST_BYTES):
            collection.put(group, remove=stale)
            group, stale, size = [], [], 0
        group += made
        size += length
        if len(made) > 1:  # a longer payload may have had more of them
            stale += [_part(_place(item), number) for number in range(len(made), MOST_PARTS)]
    if group:
        collection.put(group, remove=stale)


def read(collection: Collection, places: Sequence[Place]) -> dict[Place, CollectionItem]:
    """The items at these places, with their whole payloads; places without an item are left out."""
    items = {_place(item): item for item in collection.get(list(dict.fromkeys(places)))}
    return {
        place: whole
        for place, item in items.items()
        if (whole := _whole(collection, item)) is not None
    }


def read_below(collection: Collection, namespace: tuple[str, ...]) -> Iterator[CollectionItem]:
    """All items of a namespace with their whole payloads, in the order of their first putting."""
    for hit in collection.query(namespace=namespace, limit=None):
        item = _whole(collection, hit.item)
        if item is not None:
            yield item


def delete(collection: Collection, places: Sequence[Place]) -> int:
    """Delete the items at these places; answers how many there were."""
    by_namespace: dict[tuple[str, ...], list[str]] = {}
    for namespace, id in places:
        by_namespace.setdefault(namespace, []).append(id)
    # The parts first: should this be interrupted, the item reads as if it were gone.
    for namespace, ids in by_namespace.items():
        collection.delete(references=ids, namespace=(_PARTS, *namespace))
    return collection.delete(list(places)) if places else 0


def _place(item: CollectionItem) -> Place:
    return tuple(item.namespace), item.id or ""


def _part(place: Place, number: int) -> Place:
    namespace, id = place
    return (
        _PARTS,
        *namespace,
    ), f"{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}:{number}"


def _split(item: CollectionItem, *, whole: bool) -> list[CollectionItem]:
    """An item and the further parts of its payload. What a redactor reads stays whole, for it could
    not read parts.
    """
    payload = item.payload
    if whole or payload is None or len(payload) <= PART_BYTES:
        return [item]
    pieces = [payload[start : start + PART_BYTES] for start in range(0, len(payload), PART_BYTES)]
    if len(pieces) > MOST_PARTS:
        raise InvalidInput(
            f"expected a value of at most {MOST_BYTES:,} bytes, got {len(payload):,}; store it in "
            "several, or keep it in a "
            "file or an object store"
        )
    split = {"count": len(pieces), "digest": hashlib.sha256(payload).hexdigest()}
    first = replace(item, payload=pieces[0], value={**item.value, _SPLIT: split})
    places = [_part(_place(item), number) for number in range(len(pieces))]
    return [
        first,
        *(
            CollectionItem(
                id=id, namespace=namespace, payload=piece, reference=item.id, index=False
            )
            for (namespace, id), piece in zip(places[1:], pieces[1:], strict=True)
        ),
    ]


def _whole(collection: Collection, item: CollectionItem) -> CollectionItem | None:
    """The item with all of its payload; None when it was deleted meanwhile."""
    place, current = _place(item), item
    for _ in range(10):
        split = current.value.get(_SPLIT)
        if split is None:
            return current
        parts = [_part(place, number) for number in range(1, split["count"])]
        # one statement, so of one moment
        read = {_place(each): each for each in collection.get([place, *parts])}
        if place not in read:
            return None
        if read[place].value.get(_SPLIT) == split:
            if any(part not in read for part in parts):
                return None  # it is being deleted
            payload = b"".join(
                [read[place].payload or b"", *(read[part].payload or b"" for part in parts)]
            )
            if hashlib.sha256(payload).hexdigest() == split["digest"]:
                kept = {name: each for name, each in current.value.items() if name != _SPLIT}
                return replace(read[place], payload=payload, value=kept)
        current = read[place]
    raise StorageError(
        f"expected the parts of {place[1]!r:.80} to belong together, but they do not; put the "
        "value again, or delete it"
    )
