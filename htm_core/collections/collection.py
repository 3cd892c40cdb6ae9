"""Collections: documents under your own ids, beside the memories, and not found by recall."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar, get_args
from uuid import UUID

from ..base import time_limit, validation
from ..base.errors import InvalidInput
from ..base.identity import document_id, moment_id
from ..base.limits import DIMENSIONS
from ..base.telemetry import telemetry
from ..base.time_limit import WRITTEN_AT_ONCE
from ..base.types import (
    CollectionHit,
    CollectionItem,
    CollectionKind,
    EmbedderLike,
    FilterTarget,
    Mode,
    NamedEmbedder,
)
from ..db import jobs
from ..db.database import Connection, Database
from ..db.errors import attempts, retry_transaction
from ..db.indexes import THRESHOLD
from ..db.verbs import Handle, verbs
from ..engine.engine import Engine
from ..models.embedders import resolve
from ..text.redaction.redactor import Redactor
from ..text.redaction.values import redact_item
from . import items as items_module
from . import query as query_module
from . import store, vector_spaces
from .fusion import VECTOR_WEIGHT
from .store import CollectionState, Document, DocumentFilters, DocumentQuery, Page
from .vector_spaces import VectorSpace

T = TypeVar("T")
# One document in so many looks whether its collection has outgrown exact search.
SELDOM = 256
# Whose items a collection holds: anybody's documents, or what an adapter keeps for itself
# (LangGraph's store).
KINDS = get_args(CollectionKind)
# An id, in the namespace that goes with it; or one of its own.
Id = str | tuple[Sequence[str], str]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(moment_id(time.time(), secrets.token_bytes(10)))


@verbs(
    "htm.collection",
    telemetry_of=lambda self: telemetry(on=self._database.settings.telemetry),
    settings_of=attrgetter("_database.settings"),
    store_of=attrgetter("tenant", "name"),
    names_of=lambda self: {"htm.tenant": self.tenant, "htm.collection": self.name},
)
class Collection(Handle):
    """Documents of a vector store, or items of a key-value store: never merged, never evicted, no
    part of recall.

    A name is the same collection for everyone in the tenant; the first `put` creates it. The first
    vector decides the model and the dimension of all of them: the embedder's, or
    `given:<dimension>` for vectors that items bring without a model's name. Vectors of another
    model raise `DimensionMismatch`. `dim` is the dimension that you expect. Without an embedder,
    texts are found by their words only.
    """

    def __init__(
        self,
        database: Database,
        *,
        tenant: str,
        name: str,
        embedder: NamedEmbedder | None,
        dim: int | None = None,
        redactor: Redactor | None = None,
        clock: Callable[[], datetime] = _utc_now,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._database = database
        self.tenant = validation.check_name(tenant, what="tenant")
        self.name = validation.check_name(name, what="name")
        self.embedder = embedder
        self.dim = (
            None
            if dim is None
            else validation.check_whole(dim, what="dim", least=1, most=DIMENSIONS)
        )
        self.redactor = redactor
        self._clock = clock
        self._new_id = new_id

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, tenant={self.tenant!r})"

    @staticmethod
    def check_name(name: object) -> str:
        """The name of a collection of documents; raises `InvalidInput` for names that adapters use
        themselves.
        """
        checked = validation.check_name(name, what="name")
        kept = next((kind for kind in KINDS[1:] if checked.startswith(f"{kind}:")), None)
        if kept is not None:
            raise InvalidInput(
                f"expected a collection's name that does not begin with {kept + ':'!r}, got "
                f"{name!r:.80}: such names are "
                "kept for what an adapter stores for itself; choose another"
            )
        return checked

    def put(
        self,
        items: Iterable[CollectionItem | Mapping[str, Any]],
        *,
        model: str | None = None,
        remove: Sequence[Id] = (),
    ) -> list[str]:
        """Store items; answers with their ids, in order. An item with a known id in its namespace
        replaces the old one.

        Each is a `CollectionItem` or a mapping of its fields. All are written in one transaction,
        or on an error none, and can be found as soon as this returns: texts are embedded first, and
        a failing embedder raises `ModelError`. A replaced item keeps its time of creation and
        nothing else. Of items with the same id the last one counts. `model` is the name of the
        model that made the vectors which items bring. The ids in `remove` are deleted first, in the
        same transaction.
        """
        listed = list(items)
        if len(listed) > self._database.settings.max_drafts:
            most = self._database.settings.max_drafts
            raise InvalidInput(
                f"expected at most {most:,} items, got {len(listed):,}; put them in batches"
            )
        time_limit.grow(len(listed), batch_size=WRITTEN_AT_ONCE)
        now = self._clock()
        put = [self._document(item, now, model=model) for item in listed]
        items_module.check_size(put)
        last = vector_spaces.with_vectors(
            list({document.uid: document for document in put}.values()), self.embedder
        )
        gone = self._uids(remove, ())
        if last or gone:
            space = vector_spaces.space_of_documents(
                last, model=model, embedder=self.embedder, dim=self.dim
            )
            retry_transaction(
                lambda: self._write(last, space=space, at=now, gone=gone), repeatable=True
            )
        return [document.id for document in put]

    def get(
        self, ids: Sequence[Id], *, namespace: Sequence[str] = (), refresh: bool = False
    ) -> list[CollectionItem]:
        """The items with these ids in exactly this namespace, in this order; ids that do not exist
        are left out.

        Ids of several namespaces are pairs: `(namespace, id)`. `refresh` starts the time to live of
        items again.
        """
        wanted = self._uids(ids, namespace)
        if not wanted:
            return []
        now = self._clock()
        if refresh:
            for attempt in attempts():
                with attempt, self._transaction() as connection:
                    store.extend_ttl(connection, wanted, at=now)
                    by_uid = store.read(connection, wanted, at=now)
        else:
            by_uid = self._reading(lambda connection: store.read(connection, wanted, at=now))
        return [by_uid[uid] for uid in wanted if uid in by_uid]

    def query(
        self,
        text: str | None = None,
        *,
        vector: Sequence[float] | None = None,
        model: str | None = None,
        mode: Mode = "hybrid",
        limit: int | None = 10,
        offset: int = 0,
        where: Mapping[str, Any] | None = None,
        on: FilterTarget = "metadata",
        namespace: Sequence[str] = (),
        ids: Sequence[Id] | None = None,
        references: Sequence[str] | None = None,
        min_score: float = 0.0,
        share: float = VECTOR_WEIGHT,
        vector_pool: int | None = None,
        text_pool: int | None = None,
        with_vectors: bool = False,
        refresh: bool = False,
        newest_first: bool = False,
    ) -> list[CollectionHit]:
        """Find what answers a query, best first. Without `text` and `vector`: list what satisfies
        the filters.

        A list is in the order in which items were first put; with `newest_first` what was put last
        comes first.

        `mode` is "hybrid" (meaning and words), "vector" or "text". `vector` is the text's
        embedding, if you have it, and `model` the name of what made it; another model than the
        collection's is refused. `where` filters on "metadata" or, with `on`, on the "value".
        `namespace` is a prefix of whole labels; with `ids` it is exactly theirs. `share`, from 0 to
        1, is the weight of the vector's score beside the words'. `references` are the sources whose
        documents count. `vector_pool` and `text_pool` are how many candidates each arm brings: set
        them to read several pages of one long ranking. Hits below `min_score` are left out.
        `with_vectors` adds the vectors; `refresh` restarts the time to live of what is found. In a
        list, `limit=None` is all of it; in a search, limit + offset is at most 10,000. Raises
        `ModelError` when the embedder fails; mode="text" needs none.
        """
        filters = self._filters(where, on=on, namespace=namespace, ids=ids, references=references)
        page = query_module.page(
            limit, offset=offset, with_vectors=with_vectors, newest_first=newest_first
        )
        validation.check_choice(mode, get_args(Mode), what="mode")
        if text is None and vector is None:
            return self._found(None, filters, page, refresh=refresh)
        words, embedding = query_module.arms(text, vector, mode=mode)
        depth = query_module.depth(page)
        question = DocumentQuery(
            words=words,
            embedding=embedding,
            vector_share=validation.check_fraction(share, what="share"),
            min_score=validation.check_fraction(min_score, what="min_score"),
            vector_pool=query_module.pool(vector_pool, depth=depth, what="vector_pool"),
            text_pool=query_module.pool(text_pool, depth=depth, what="text_pool"),
        )
        if text is None or vector is not None or mode == "text":
            return self._found(question, filters, page, refresh=refresh, model=model)
        question = replace(question, embedding=self._meaning(text, mode=mode))
        return self._found(
            question,
            filters,
            page,
            refresh=refresh,
            model=self.embedder.name if self.embedder else None,
        )

    def delete(
        self,
        ids: Sequence[Id] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        on: FilterTarget = "metadata",
        references: Sequence[str] | None = None,
        namespace: Sequence[str] | None = None,
    ) -> int:
        """Delete the items that satisfy all conditions; answers how many there were.

        `where`, `on` and `references` are as in `query`. With `ids` the namespace is exactly this
        one (by default the one without labels), else also everything below it. An empty list
        deletes nothing, and ids that do not exist are ignored. To delete everything, use `clear`.
        """
        if ids is None and references is None and not where and not namespace:
            raise InvalidInput(
                "expected ids, where, references or a namespace to delete by, got none; clear() "
                "deletes all"
            )
        filters = self._filters(where, on=on, namespace=namespace, ids=ids, references=references)
        if filters.uids == [] or filters.references == []:
            return 0
        for attempt in attempts():
            with attempt, self._transaction() as connection:
                standing = store.find(connection, self.name)
                gone = store.delete(connection, filters, collection=standing.id) if standing else 0
        return gone

    def clear(self) -> int:
        """Delete every item; answers how many there were. The next vectors may be of
        another model.
        """
        for attempt in attempts():
            with attempt, self._transaction() as connection:
                standing = store.find(connection, self.name)
                gone = store.clear(connection, collection=standing.id) if standing else 0
        return gone

    def namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int | None = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """The namespaces that have items, sorted; "*" in a prefix or suffix stands for any one
        label.

        With `max_depth` they are cut after so many labels, and each is listed once.
        """
        begins = items_module.check_namespace(prefix, what="prefix")
        ends = items_module.check_namespace(suffix, what="suffix")
        depth = (
            None
            if max_depth is None
            else validation.check_whole(max_depth, what="max_depth", least=0)
        )
        page, now = query_module.page(limit, offset=offset), self._clock()

        def work(connection: Connection) -> list[tuple[str, ...]]:
            """Read it in one transaction."""
            standing = store.find(connection, self.name)
            if standing is None:
                return []
            return store.namespaces(
                connection,
                page,
                collection=standing.id,
                prefix=begins,
                suffix=ends,
                depth=depth,
                at=now,
            )

        return self._reading(work)

    def count(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        on: FilterTarget = "metadata",
        namespace: Sequence[str] = (),
    ) -> int:
        """Return the number of items that satisfy `where` (and `on`, as in `query`), in a namespace
        and below it.
        """
        filters = self._filters(where, on=on, namespace=namespace, ids=None, references=None)

        def work(connection: Connection) -> int:
            """Read it in one transaction."""
            standing = store.find(connection, self.name)
            return store.count(connection, filters, collection=standing.id) if standing else 0

        return self._reading(work)

    def ids(
        self,
        *,
        namespace: Sequence[str] = (),
        prefix: str = "",
        limit: int | None = 1_000,
        after: str | None = None,
    ) -> list[str]:
        """The ids in exactly this namespace, without reading the items: those that begin with
        `prefix`.

        They come in an order of their own, which never changes. To read on, give the last one as
        `after`; a `limit` of None is all of them.
        """
        labels = items_module.check_namespace(namespace)
        begins = validation.check_characters(prefix, what="prefix") if prefix else ""
        last = (
            None
            if after is None
            else document_id(self.name, labels, items_module.check_id(after, what="after"))
        )
        page, now = query_module.page(limit, offset=0), self._clock()

        def work(connection: Connection) -> list[str]:
            """Read it in one transaction."""
            standing = store.find(connection, self.name)
            if standing is None:
                return []
            return store.ids(
                connection,
                collection=standing.id,
                namespace=labels,
                prefix=begins,
                after=last,
                limit=page.limit,
                at=now,
            )

        return self._reading(work)

    def server_time(self) -> datetime:
        """The time by the database's clock, which is one for all processes and machines."""
        with self._transaction() as connection:
            return store.server_time(connection)

    def sweep(self) -> int:
        """Delete items that have expired; answers how many. Nobody sees them, even before."""
        for attempt in attempts():
            with attempt, self._transaction() as connection:
                standing = store.find(connection, self.name)
                gone = (
                    store.sweep(connection, collection=standing.id, at=self._clock())
                    if standing
                    else 0
                )
        return gone

    def check(self) -> None:
        """Check that the database can be reached, and that the embedder is of the model that made
        the vectors here.

        Raises `DimensionMismatch` for another model. May call the model, for its dimension.
        """
        space = (
            None
            if self.embedder is None
            else VectorSpace(self.embedder.name, self.embedder.dimension)
        )
        vector_spaces.check_dimension(space, dim=self.dim)
        with self._transaction() as connection:
            standing = store.find(connection, self.name)
        if standing:
            vector_spaces.check_same_space(standing, space, name=self.name)

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self._database.transaction(self.tenant)

    def _reading(self, work: Callable[[Connection], T]) -> T:
        return self._database.reading(self.tenant, work)

    def _document(
        self, item: CollectionItem | Mapping[str, Any], now: datetime, *, model: str | None
    ) -> Document:
        original = items_module.as_item(item)
        redacted = redact_item(original, self.redactor)
        # A vector of the words before they were redacted is not stored: they can be guessed from
        # it.
        stale = items_module.has_other_words(original, redacted)
        made = items_module.document(
            replace(redacted, vector=None, vectors=None) if stale else redacted,
            collection=self.name,
            new_id=self._new_id,
            now=now,
            longest=self._database.settings.max_content,
        )
        had_vectors = original.vector is not None or original.vectors is not None
        if stale and had_vectors and (self.embedder is None or self.embedder.name != model):
            return items_module.without_vectors(made)
        return made

    def _write(
        self,
        put: Sequence[Document],
        *,
        space: VectorSpace | None,
        at: datetime,
        gone: Sequence[UUID],
    ) -> None:
        model, dimension = (space.model, space.dimension) if space else (None, None)
        language = self._database.settings.language
        with self._transaction() as connection:
            standing = store.ensure(
                connection, self.name, language=language, model=model, dimension=dimension
            )
            vector_spaces.check_same_space(standing, space, name=self.name)
            if gone:
                store.lock(connection, [*gone, *(document.uid for document in put)])
                store.delete(connection, DocumentFilters(at=at, uids=gone), collection=standing.id)
            if put:
                store.write(connection, put, collection=standing.id, at=at)
                self._note_growth(connection, standing, put)

    def _note_growth(
        self, connection: Connection, standing: CollectionState, put: Sequence[Document]
    ) -> None:
        """Enqueue an index once exact search is slower. Only one document in `SELDOM` checks, so
        that few pay for it.
        """
        looks = not standing.indexed and any(document.uid.int % SELDOM == 0 for document in put)
        if looks and store.exceeds(connection, standing.id, threshold=THRESHOLD):
            jobs.enqueue_count(connection)

    def _uids(self, ids: Sequence[Id], namespace: Sequence[str] | None) -> list[UUID]:
        places = items_module.check_places(ids, items_module.check_namespace(namespace))
        return [document_id(self.name, labels, id) for labels, id in places]

    def _filters(
        self,
        where: Mapping[str, Any] | None,
        *,
        on: FilterTarget,
        namespace: Sequence[str] | None,
        ids: Sequence[Id] | None,
        references: Sequence[str] | None,
    ) -> DocumentFilters:
        filters = query_module.filters(where, on=on, at=self._clock())
        return replace(
            filters,
            uids=None if ids is None else self._uids(ids, namespace),
            namespace_prefix=items_module.check_namespace(namespace) or None
            if ids is None
            else None,
            references=items_module.check_ids(references, what="references"),
        )

    def _meaning(self, text: str, *, mode: Mode) -> list[float] | None:
        if self.embedder is not None:
            return items_module.check_vector(self.embedder.query(query_module.check_text(text)))
        if mode == "vector":
            raise InvalidInput(
                "expected vector= for mode='vector', since this collection has no embedder; or "
                "use mode='text'"
            )
        return None

    def _found(
        self,
        question: DocumentQuery | None,
        filters: DocumentFilters,
        page: Page,
        *,
        refresh: bool,
        model: str | None = None,
    ) -> list[CollectionHit]:

        def work(connection: Connection) -> list[CollectionHit]:
            """Read it in one transaction."""
            standing = store.find(connection, self.name)
            if standing is None or page.limit == 0:
                return []
            if question is None:
                hits = store.list_items(connection, filters, page, collection=standing.id)
            else:
                vector_spaces.check_same_space(
                    standing,
                    vector_spaces.space_of_query(question.embedding, model, dim=self.dim),
                    name=self.name,
                )
                hits = store.search(connection, question, filters, page, collection=standing.id)
            return self._prolonged(connection, hits, at=filters.at) if refresh else hits

        if not refresh:
            return self._reading(work)
        with self._transaction() as connection:
            return work(connection)

    def _prolonged(
        self, connection: Connection, hits: list[CollectionHit], *, at: datetime
    ) -> list[CollectionHit]:
        mortal = [hit.item for hit in hits if hit.item.ttl is not None]
        if mortal:
            uids = [document_id(self.name, item.namespace, item.id or "") for item in mortal]
            store.extend_ttl(connection, uids, at=at)
        return [
            replace(hit, item=replace(hit.item, expires_at=at + hit.item.ttl))
            if hit.item.ttl is not None
            else hit
            for hit in hits
        ]


def open_collection(
    engine: Engine,
    name: str,
    *,
    dim: int | None = None,
    embedder: EmbedderLike | None = None,
    kind: CollectionKind = "documents",
) -> Collection:
    """A memory's collection; without an embedder of its own it uses the memory's."""
    validation.check_choice(kind, KINDS, what="kind")
    return Collection(
        engine.database,
        tenant=engine.tenant,
        name=Collection.check_name(name) if kind == "documents" else f"{kind}:{name}",
        embedder=engine.embedder if embedder is None else resolve(embedder),
        dim=dim,
        redactor=engine.redactor,
        clock=engine.clock,
    )
