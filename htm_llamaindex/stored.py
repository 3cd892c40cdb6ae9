"""Shared base of the key-value, document and index stores: one collection of the tenant, opened
where it is used.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from htm_core import Collection, CollectionItem, InvalidInput
from htm_core.prompt import payloads
from htm_core.prompt.exact_json import decode_value, encode_value
from htm_core.prompt.payloads import Place
from htm_core.prompt.scope import StoreOptions, check_store, warn_of_user

from . import handles

_log = logging.getLogger("htm.llamaindex")

# The collection that all of these stores of a tenant share. No vector store can open a collection
# of this kind.
COLLECTION: Final = "stores"
KIND: Final = "llamaindex"
# A longer value is compressed: the vectors in a cache of nodes are digits, of which more than half
# can be saved.
COMPRESSED_FROM = 1 << 20
_FORM = "htm_form"  # in an item's value: how its payload was written, "exact", "zlib" or both


class Stored:
    """The items of one store, in the memory that it was given, else in one that is made of its url
    and tenant.

    It is serialised as configuration, never with an address; a copy is the same.
    """

    def __init__(self, store: StoreOptions, *, of: str) -> None:
        url, self.memory = check_store(store), store["memory"]
        warn_of_user(self.memory, of=of, log=_log)
        self.tenant = store["tenant"] if self.memory is None else self.memory.tenant
        self.handle = handles.handle_of(self.memory, url)
        self._collection: Collection | None = None

    @property
    def collection(self) -> Collection:
        """The collection that has the items."""
        if self._collection is None:
            memory = handles.open_memory(self.memory, self.handle, tenant=self.tenant)
            self._collection = memory.collection(COLLECTION, kind=KIND)
        return self._collection

    def put(self, items: Iterable[CollectionItem], *, most: int = payloads.MOST_ITEMS) -> None:
        """Write items, up to `most` of them in one transaction."""
        payloads.write(self.collection, items, most=most)

    def get(self, places: list[Place]) -> dict[Place, CollectionItem]:
        """The items at these places that exist."""
        return payloads.read(self.collection, places)

    def item(self, place: Place, value: Any, *, reference: str | None = None) -> CollectionItem:
        """The item that stores a value of JSON's types, or of others that `exact_json` brings back,
        at a place.
        """
        namespace, id = place
        form, payload = _written(value, compressed=self.collection.redactor is None)
        return CollectionItem(
            id=id,
            namespace=namespace,
            payload=payload,
            value=form,
            reference=reference or None,
            index=False,
        )

    # -- copies ------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        written = handles.written(
            self.handle, lambda: handles.open_memory(self.memory, None, tenant=self.tenant)
        )
        return _restored, (type(self), self.tenant, written)


def _restored(kind: Callable[..., Stored], tenant: str, handle: str) -> Stored:
    made = kind({"memory": None, "url": None, "tenant": tenant}, of="")
    made.handle = handle
    return made


def value_of(item: CollectionItem) -> Any:
    """The value that `Stored.item` was given; a fresh one each time."""
    form = str(item.value.get(_FORM, ""))
    payload = item.payload or b"null"
    value = json.loads(zlib.decompress(payload) if "zlib" in form else payload)
    return decode_value(value) if "exact" in form else value


def exact(value: Any) -> Any:
    """A value in JSON's own types, of which `decode_value` makes it again; raises `InvalidInput`
    for an object of another type.
    """
    return encode_value(value, otherwise=_refuse)


def _written(value: Any, *, compressed: bool) -> tuple[Mapping[str, str], bytes]:
    try:
        text, form = json.dumps(value, separators=(",", ":")), []
    except TypeError:  # a datetime in a node's metadata, a tuple as a key
        text, form = json.dumps(exact(value), separators=(",", ":")), ["exact"]
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"expected a value without circles, as JSON can have it, got one that is not: {error}"
        ) from None
    payload = text.encode("ascii")
    if compressed and len(payload) >= COMPRESSED_FROM:
        payload = zlib.compress(payload, level=1)
        form.append("zlib")
    return ({_FORM: " ".join(form)} if form else {}), payload


def _refuse(value: Any) -> Any:
    raise InvalidInput(
        "expected a value of JSON's types, or a datetime, bytes, set or the like, got "
        f"{type(value).__name__}; convert it "
        "first, or use str(…)"
    )
