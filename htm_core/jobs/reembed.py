"""Re-embedding: a tenant's memories given the vectors of another model, while everybody goes on reading and writing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ..errors import ModelError, QueryTimeout
from ..models.embedders import CheckedEmbedder
from ..store import indexes, model_change
from ..store.database import Database

_log = logging.getLogger("htm.reembedding")

Progress = Callable[[int, int], None]

BATCH = 128
FEW = 64  # passages that may be owed a vector as jobs when the model takes over
DROPPED_AT_ONCE = 5_000
MOST_ROUNDS = 60  # so often is taking over tried again, a second apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeover:
    """What a change of models did: from which to which, how many vectors it made and dropped, and what stays owed."""

    tenant: str
    before: str | None
    model: str
    passages: int
    embedded: int
    owed: int
    dropped: int
    indexes: tuple[str, ...]


def reembed(
    database: Database,
    *,
    tenant: str,
    embedder: CheckedEmbedder,
    progress: Progress | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Changeover:
    """Give all memories of a tenant vectors of another model, then let it take over from the one before.

    Every batch is kept as soon as it is made: interrupted and run again it goes on where it was. Memories written
    meanwhile are included. `progress` is told the passages that have a vector and all there are. With the model that the
    tenant has already, what is missing is filled in and what another attempt left is dropped. Raises `ModelError` when
    the model stops answering, `NotFound` for an unknown tenant, `StorageError`.
    """
    work = _Work(database, tenant, embedder, progress)
    before = model_change.begin(database, tenant, model=embedder.name)
    work.fill()
    built = indexes.build_wanted(database)
    work.take_over(pause)
    work.fill()  # what was owed at that moment, and what came from whoever did not know yet
    model_change.strike(database, tenant, model=embedder.name)
    dropped = work.drop()
    built += model_change.drop_unused_indexes(database) if dropped else []
    filled = model_change.filled(database, tenant, model=embedder.name)
    return Changeover(
        tenant=tenant,
        before=before,
        model=embedder.name,
        passages=filled.passages,
        embedded=work.embedded,
        owed=filled.passages - filled.vectors,
        dropped=dropped,
        indexes=tuple(built),
    )


class _Work:
    """One change-over under way."""

    def __init__(self, database: Database, tenant: str, embedder: CheckedEmbedder, progress: Progress | None) -> None:
        self.embedded = 0
        self._database = database
        self._tenant = tenant
        self._embedder = embedder
        self._progress = progress
        self._refused: set[UUID] = set()

    def fill(self) -> None:
        """Embed what has no vector of the model yet, until a whole round finds nothing more."""
        filled = model_change.filled(self._database, self._tenant, model=self._embedder.name)
        done, total = filled.vectors, filled.passages
        self._tell(done, total)
        while made := self._round(done, total):
            done += made

    def _round(self, done: int, total: int) -> int:
        made, after = 0, None
        while batch := self._next(after):
            after = max(batch)
            texts = {passage: text for passage, text in batch.items() if passage not in self._refused}
            made += self._embed(texts)
            self._tell(done + made, max(total, done + made))
        return made

    def _next(self, after: UUID | None) -> dict[UUID, str]:
        return model_change.missing(self._database, self._tenant, model=self._embedder.name, after=after, limit=BATCH)

    def _embed(self, texts: Mapping[UUID, str]) -> int:
        vectors = self._vectors(texts)
        if vectors:
            model_change.store(self._database, self._tenant, vectors, model=self._embedder.name)
        self.embedded += len(vectors)
        return len(vectors)

    def _vectors(self, texts: Mapping[UUID, str]) -> dict[UUID, Sequence[float]]:
        """One batch's vectors; a text that the model cannot take is left to the jobs, which park it with the error."""
        try:
            return dict(zip(texts, self._embedder.documents(list(texts.values())), strict=True))
        except ModelError as error:
            self._embedder.query("Are you there?")  # raises when it is the model, not the text
            if len(texts) > 1:
                return {id: v for key, text in texts.items() for id, v in self._vectors({key: text}).items()}
            _log.warning("a text that the model cannot take was left to the jobs: %s", error)
            self._refused.update(texts)
            return {}

    def take_over(self, pause: Callable[[float], None]) -> None:
        """Let the model take over as soon as hardly anything is missing; what comes meanwhile is filled in between."""
        few = FEW + len(self._refused)
        for _ in range(MOST_ROUNDS):
            if model_change.take_over(self._database, self._tenant, model=self._embedder.name, few=few):
                return
            pause(1.0)
            self.fill()
        raise QueryTimeout(
            f"expected a moment without a long write, got none in {MOST_ROUNDS} attempts; all vectors are kept: run "
            "`htm reembed` again when less is being written"
        )

    def drop(self) -> int:
        """Drop the vectors and the rows of the models before, batch by batch."""
        dropped = 0
        while gone := model_change.drop_vectors(
            self._database, self._tenant, keep=self._embedder.name, limit=DROPPED_AT_ONCE
        ):
            dropped += gone
        model_change.drop_models(self._database, self._tenant, keep=self._embedder.name)
        return dropped

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)
