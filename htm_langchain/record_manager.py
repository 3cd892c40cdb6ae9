"""A record manager: what `index()` knows of the documents that it has put into a vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Self, Unpack

from langchain_core.indexing import RecordManager

from htm_core import CollectionItem, InvalidInput
from htm_core.prompt import payloads
from htm_core.prompt.option_names import with_options
from htm_core.prompt.scope import StoreOptions, memory_of_store

# The collection that all record managers of a tenant share. No vector store can open a collection
# of this kind.
COLLECTION: Final = "records"
KIND: Final = "langchain"
_UPDATED, _GROUPED = "updated_at", "="  # a group's name may be empty, a reference may not


class HTMRecordManager(RecordManager):
    """Keep what `index()` has to know to load each document once, and to delete what its source has
    no longer.

    Args:
        namespace: The manager's own name, such as "htm/handbook". Everyone of the tenant who names
            it has the same one.
        store: Options of the memory that it works on.

    Times are those of the database's clock, which is one for all processes. It works for any vector
    store. Raises `InvalidInput` and `StorageError`.

        records = HTMRecordManager("htm/handbook", memory=Memory("atlas"))
        index(documents, records, store, cleanup="incremental", source_id_key="source")
    """

    @with_options(StoreOptions, tenant="default")
    def __init__(self, namespace: str, **store: Unpack[StoreOptions]) -> None:
        super().__init__(namespace)
        self.memory = memory_of_store(store)
        self._items = self.memory.collection(COLLECTION, kind=KIND)

    def __repr__(self) -> str:
        if not hasattr(self, "memory"):  # it could not be made, and an error report shows it
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}({self.namespace!r}, tenant={self.memory.tenant!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def create_schema(self) -> None:
        """Make the schema, if there is none. Optional: the first use does that."""
        self._items.server_time()

    def get_time(self) -> float:
        """The time by the database's clock, in seconds since 1970."""
        return self._items.server_time().timestamp()

    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Note that these keys are up to date now; unknown ones become known.

        Args:
            keys: The keys, any texts that are not empty.
            group_ids: The source of each, or None. Without any, known keys keep theirs.
            time_at_least: The time that it must be at least by the database's clock.

        Raises `InvalidInput` for another number of groups than of keys, and when the database's
        clock is behind `time_at_least`; nothing is noted then.
        """
        if group_ids is not None and len(keys) != len(group_ids):
            raise InvalidInput(
                f"expected one of group_ids for each of the {len(keys)} keys, got {len(group_ids)}"
            )
        now = self.get_time()
        if time_at_least is not None and now < time_at_least:
            raise InvalidInput(
                f"expected the database's clock to be at {time_at_least} at least, it is at "
                f"{now}: it was set back; check the "
                "server's time, and index again"
            )
        if group_ids is None:
            known = {item.id: item.reference for item in self._known(keys)}
            references = [known.get(key) for key in keys]
        else:
            references = [None if group is None else _reference(group) for group in group_ids]
        items = (
            CollectionItem(
                id=key,
                namespace=(self.namespace,),
                value={_UPDATED: now},
                reference=reference,
                index=False,
            )
            for key, reference in zip(keys, references, strict=True)
        )
        payloads.write(self._items, items)

    def exists(self, keys: Sequence[str]) -> list[bool]:
        """Return for each of the keys if it is known."""
        known = {item.id for item in self._known(keys)}
        return [key in known for key in keys]

    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """The keys that satisfy all conditions, in the order in which they were first noted.

        Args:
            before: Only those that were last noted before this time.
            after: Only those that were last noted after this time.
            group_ids: Only those of these sources.
            limit: So many at most; None is all.
        """
        bounds = {
            name: time for name, time in (("$lt", before), ("$gt", after)) if time is not None
        }
        hits = self._items.query(
            namespace=(self.namespace,),
            where={_UPDATED: bounds} if bounds else None,
            on="value",
            references=[_reference(group) for group in group_ids] if group_ids else None,
            limit=limit or None,
        )
        return [str(hit.item.id) for hit in hits]

    def delete_keys(self, keys: Sequence[str]) -> None:
        """Forget these keys; those that are not known are ignored."""
        self._items.delete(list(keys), namespace=(self.namespace,))

    def _known(self, keys: Sequence[str]) -> list[CollectionItem]:
        return self._items.get(list(keys), namespace=(self.namespace,))

    # -- awaited -----------------------------------------------------------------------------------

    async def acreate_schema(self) -> None:
        """`create_schema`, awaited."""
        await asyncio.to_thread(self.create_schema)

    async def aget_time(self) -> float:
        """`get_time`, awaited."""
        return await asyncio.to_thread(self.get_time)

    async def aupdate(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """`update`, awaited."""
        await asyncio.to_thread(self.update, keys, group_ids=group_ids, time_at_least=time_at_least)

    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        """`exists`, awaited."""
        return await asyncio.to_thread(self.exists, keys)

    async def alist_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """`list_keys`, awaited."""
        return await asyncio.to_thread(
            self.list_keys, before=before, after=after, group_ids=group_ids, limit=limit
        )

    async def adelete_keys(self, keys: Sequence[str]) -> None:
        """`delete_keys`, awaited."""
        await asyncio.to_thread(self.delete_keys, keys)


def _reference(group: Any) -> str:
    if not isinstance(group, str):
        raise InvalidInput(
            f"expected group_ids to be texts, got {group!r:.80} "
            f"({type(group).__name__}); use str(…)"
        )
    return _GROUPED + group
