"""LangGraph's long-term memory: what agents put, get and search through `runtime.store`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Self, Unpack, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from pydantic import SecretStr

from htm_core import CollectionItem, InvalidInput, Memory, Settings
from htm_core.prompt.option_names import with_options
from htm_core.prompt.scope import StoreOptions, as_secret, memory_of_store

from .filters import where_of
from .index import index_of, waiting
from .items import (
    Place,
    check_conditions,
    check_namespace,
    check_ttl,
    found_item,
    got_item,
    minutes,
    pattern,
    put_item,
)
from .sweeper import Sweeper

# The collection that all stores of a tenant share. No vector store can open a collection of this
# kind.
COLLECTION: Final = "store"
KIND: Final = "langgraph"
DEFAULT_INTERVAL = 5  # minutes between sweeps, as in PostgresStore


class HTMStore(BaseStore):
    """Keep items under namespaces and keys, and find them by meaning, words and filters:
    `create_agent(store=…)`.

    Args:
        index: None (the memory's embedder, over the whole value), False (nothing is indexed, and
            queries are ignored), or LangGraph's mapping of `dims`, `embed` and `fields`, each of
            which may be left out.
        ttl: LangGraph's mapping, in minutes. An expired item is gone at once; sweeping frees its
            space.
        store: Options of the memory that it works on. All stores of a tenant have the same items.

    A batch's reads see what was there before its writes. All of its writes happen, the last one to
    each key, or none. An item can be found as soon as `put` returns. Scores are in [0, 1]. Nothing
    is opened before the first operation. Raises `InvalidInput`, `ModelError`, `DimensionMismatch`
    and `StorageError`.

        store = HTMStore(memory=Memory("atlas"))
        store.put(("users", "ann"), "drink", {"text": "Ann likes tea."})
        store.search(("users",), query="What does Ann drink?")
    """

    supports_ttl = True

    @with_options(StoreOptions, tenant="default")
    def __init__(
        self,
        *,
        index: IndexConfig | bool | None = None,
        ttl: TTLConfig | None = None,
        **store: Unpack[StoreOptions],
    ) -> None:
        self.memory = memory_of_store(store)
        self._is_owner = store["memory"] is None
        self.index_config = index
        self._index = index_of(index)
        self.ttl_config = check_ttl(ttl)
        self._items = self.memory.collection(
            COLLECTION, kind=KIND, dim=self._index.dim, embedder=self._index.embedder
        )
        self._sweeper = Sweeper(self._items.sweep)
        weakref.finalize(self, self._sweeper.ask_to_stop)

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str | SecretStr,
        *,
        tenant: str = "default",
        pool_config: Mapping[str, Any] | None = None,
        index: IndexConfig | bool | None = None,
        ttl: TTLConfig | None = None,
    ) -> OpenStore:
        """A store at a PostgreSQL DSN, open within a `with` or an `async with`.

        In the latter its own verbs (`setup`, `sweep_ttl`, …) are awaited.

        Args:
            conn_string: The DSN.
            tenant: The tenant, "default" by default.
            pool_config: `min_size` and `max_size` of the pool of connections; by default those of
                `Settings`.
            index: As for `HTMStore`.
            ttl: As for `HTMStore`.

        Raises `InvalidInput` for what these cannot be. Nothing is opened before the first
        operation.

            with HTMStore.from_conn_string("postgresql://…") as store:
                store.setup()
        """
        conn_string = as_secret(conn_string)
        settings = _settings(pool_config)
        return OpenStore(
            lambda kind: kind(
                memory=Memory(url=conn_string, tenant=tenant, settings=settings),
                index=index,
                ttl=ttl,
            )._owning()
        )

    def __repr__(self) -> str:
        if not hasattr(self, "memory"):  # it could not be made, and an error report shows it
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}(tenant={self.memory.tenant!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle, like the memory itself; there is one sweeper

    # -- operations --------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations: reads first, then all writes at once. The answers are in the order
        of the operations.

        Args:
            ops: `GetOp`, `SearchOp`, `PutOp` and `ListNamespacesOp`. A search without a query
                answers with what was put last first.

        Raises `InvalidInput`, `ModelError`, `DimensionMismatch` and `StorageError`, and has then
        written nothing.
        """
        # Called by what runs on that loop, which stands still until this is done and cannot embed
        # meanwhile.
        if waiting.get() is asyncio._get_running_loop():
            waiting.set(None)
        operations = list(ops)
        for op in operations:
            _check(op)
        put, removed = self._writes(operations)
        stored = self._read(operations)
        answers = [self._answer(op, stored) for op in operations]
        if put or removed:
            self._items.put(put, remove=removed)
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, on the memory's own threads."""
        token = waiting.set(asyncio.get_running_loop())
        try:
            return await self.memory.aio.run(self.batch, list(ops))
        finally:
            waiting.reset(token)

    def _writes(self, operations: Sequence[Op]) -> tuple[list[CollectionItem], list[Place]]:
        last = {_place(op): op for op in operations if isinstance(op, PutOp)}
        put = [put_item(op, self._index) for op in last.values() if op.value is not None]
        return put, [place for place, op in last.items() if op.value is None]

    def _read(self, operations: Sequence[Op]) -> dict[Place, CollectionItem]:
        stored: dict[Place, CollectionItem] = {}
        for refresh in (True, False):
            wanted = [
                _place(op)
                for op in operations
                if isinstance(op, GetOp) and bool(op.refresh_ttl) is refresh
            ]
            items = self._items.get(wanted, refresh=refresh) if wanted else []
            stored |= {(tuple(item.namespace), cast(str, item.id)): item for item in items}
        return stored

    def _answer(self, op: Op, stored: Mapping[Place, CollectionItem]) -> Result:
        if isinstance(op, GetOp):
            item = stored.get(_place(op))
            return None if item is None else got_item(item)
        if isinstance(op, SearchOp):
            return cast(Result, self._search(op))
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        by_query = self._index.on and op.query is not None and bool(op.query.strip())
        hits = self._items.query(
            op.query if by_query else None,
            where=where_of(op.filter),
            on="value",
            namespace=tuple(op.namespace_prefix),
            limit=op.limit,
            offset=op.offset,
            refresh=bool(op.refresh_ttl),
            newest_first=True,
        )
        return [found_item(hit) for hit in hits]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix, suffix = pattern(conditions, "prefix"), pattern(conditions, "suffix")
        if prefix is None or suffix is None:
            return []
        return self._items.namespaces(
            prefix=prefix, suffix=suffix, max_depth=op.max_depth, limit=op.limit, offset=op.offset
        )

    # -- keeping -----------------------------------------------------------------------------------

    def setup(self) -> None:
        """Create the schema where it is missing, and check that the index has the model that made
        the items' vectors.

        The first operation creates the schema too. Here a wrong model is noticed before anything is
        put. Any number of processes may call it at once. Raises `DimensionMismatch` and
        `StorageError`.
        """
        if self._index.on:
            self._items.check()
        else:
            self._items.count()

    def sweep_ttl(self) -> int:
        """Delete for good what has expired, and return how many items that was."""
        return self._items.sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep in a thread every so many minutes (default: the configuration's, else 5), until
        stopped or cancelled.

        Args:
            sweep_interval_minutes: The time between two sweeps.

        Without a `ttl` configuration there is nothing to do, and the returned future is done.
        """
        if not self.ttl_config:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        wanted = (
            sweep_interval_minutes
            or self.ttl_config.get("sweep_interval_minutes")
            or DEFAULT_INTERVAL
        )
        return self._sweeper.start(
            minutes(wanted, what="sweep_interval_minutes").total_seconds() / 60
        )

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping, and return whether it has ended.

        Args:
            timeout: Seconds to wait for its end; None waits as long as it takes.
        """
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Stop sweeping, and close the memory if it is the store's own."""
        self._sweeper.stop()
        if self._is_owner:
            self.memory.close()

    def _owning(self) -> HTMStore:
        self._is_owner = True
        return self


class AsyncHTMStore(HTMStore):
    """`HTMStore` with its own verbs awaited, like `AsyncPostgresStore`; arguments and errors are
    those of `HTMStore`.

    async with HTMStore.from_conn_string("postgresql://…") as store:
        await store.setup()
        await store.aput(("users", "ann"), "drink", {"text": "Ann likes tea."})
    """

    async def setup(self) -> None:  # type: ignore[override]
        """`HTMStore.setup`, awaited."""
        await self.memory.aio.run(super().setup)

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        """`HTMStore.sweep_ttl`, awaited."""
        return await self.memory.aio.run(super().sweep_ttl)

    async def start_ttl_sweeper(  # type: ignore[override]
        self, sweep_interval_minutes: float | None = None
    ) -> asyncio.Future[None]:
        """`HTMStore.start_ttl_sweeper`; the future may be awaited or cancelled."""
        return asyncio.wrap_future(super().start_ttl_sweeper(sweep_interval_minutes))

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # type: ignore[override]
        """`HTMStore.stop_ttl_sweeper`, awaited."""
        return await self.memory.aio.run(super().stop_ttl_sweeper, timeout)


class OpenStore:
    """A store that is opened by `with` or `async with`, and closed at its end."""

    def __init__(self, make: Callable[[type[HTMStore]], HTMStore]) -> None:
        self._make = make
        self._store: HTMStore | None = None

    def __enter__(self) -> HTMStore:
        self._store = self._make(HTMStore)
        return self._store

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._store is not None:
            self._store.close()

    async def __aenter__(self) -> AsyncHTMStore:
        self._store = self._make(AsyncHTMStore)
        return cast(AsyncHTMStore, self._store)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._store is not None:
            await self._store.memory.aio.run(self._store.close)


def _place(op: GetOp | PutOp) -> Place:
    return tuple(op.namespace), op.key


def _check(op: object) -> None:
    if isinstance(op, ListNamespacesOp):
        check_conditions(op.match_conditions or ())
    elif isinstance(op, SearchOp):
        check_namespace(op.namespace_prefix)
    elif isinstance(op, GetOp | PutOp):
        check_namespace(op.namespace)
    else:
        raise InvalidInput(
            f"expected GetOp, SearchOp, PutOp or ListNamespacesOp, got {type(op).__name__}"
        )


def _settings(pool_config: Mapping[str, Any] | None) -> Settings:
    options = dict(pool_config or {})
    pool_min, pool_max = options.pop("min_size", None), options.pop("max_size", None)
    if options:
        raise InvalidInput(
            "expected pool_config to have min_size and max_size, got "
            f"{', '.join(map(str, options))} too; give a "
            "connection's other settings in the DSN"
        )
    sizes = {"pool_min": pool_min, "pool_max": None if pool_max is None else max(pool_max, 1)}
    return Settings(**{name: size for name, size in sizes.items() if size is not None})
