"""Re-embed: give a tenant's memories the vectors of another model, while everybody goes on reading
and writing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ..base.errors import ModelError, QueryTimeout
from ..db import indexes
from ..db.database import Database
from ..models.embedders import CheckedEmbedder
from . import model_change

_log = logging.getLogger("htm.models")

Progress = Callable[[int, int], None]

BATCH = 128
FEW = 64  # passages that may be without a vector, as pending jobs, when the new model takes over
DROPPED_AT_ONCE = 5_000
MOST_ROUNDS = 60  # attempts to take over, a second apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """The result of a change of models; `htm reembed --json` prints these fields.

    `before` and `model` are the old and the new model. `passages` is how many there are, `embedded`
    how many vectors were made, `dropped` how many were deleted, `owed` how many are still pending
    as jobs.
    """

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
) -> ModelChange:
    """Give all memories of a tenant vectors of another model, then let that model take over.

    Each batch is stored as soon as it is made, so an interrupted run goes on where it stopped.
    Memories that are written meanwhile are included. With the model that the tenant has already,
    missing vectors are made, and what an interrupted change left behind is deleted. `progress` is
    called with the passages that have a vector, and with all passages.

    Raises `ModelError` when the model stops answering, `NotFound` for an unknown tenant,
    `QueryTimeout` when long writes never leave a gap to take over in, and other `StorageError`s.
    """
    name = embedder.name
    work = _Reembedding(database, tenant, embedder, progress)
    before = model_change.begin(database, tenant, model=name)
    work.fill()
    built = indexes.build_due(database.of(tenant))
    work.take_over(pause)
    # what was pending at that moment, and what processes wrote that still used the old model
    work.fill()
    model_change.drop_finished_jobs(database, tenant, model=name)
    dropped = work.drop_old_vectors()
    built += model_change.drop_unused_indexes(database.of(tenant)) if dropped else []
    filled = model_change.fill_progress(database, tenant, model=name)
    return ModelChange(
        tenant=tenant,
        before=before,
        model=name,
        passages=filled.passages,
        embedded=work.embedded,
        owed=filled.passages - filled.vectors,
        dropped=dropped,
        indexes=tuple(built),
    )


class _Reembedding:
    """One change of models in progress; `embedded` counts the vectors that it made."""

    def __init__(
        self, database: Database, tenant: str, embedder: CheckedEmbedder, progress: Progress | None
    ) -> None:
        self.embedded = 0
        self._database = database
        self._tenant = tenant
        self._embedder = embedder
        self._progress = progress or (lambda _done, _total: None)
        self._refused: set[UUID] = set()  # passages that the model cannot embed

    def fill(self) -> None:
        """Embed the passages that have no vector of the new model, in rounds, until a round finds
        nothing to embed.
        """
        name = self._embedder.name
        filled = model_change.fill_progress(self._database, self._tenant, model=name)
        done, total, made = filled.vectors, filled.passages, -1
        self._progress(done, total)
        while made:
            made, after = 0, None
            while batch := model_change.missing_texts(
                self._database, self._tenant, model=name, after=after, limit=BATCH
            ):
                after = max(batch)
                vectors = self._embed(
                    {id: text for id, text in batch.items() if id not in self._refused}
                )
                if vectors:
                    model_change.store(self._database, self._tenant, vectors, model=name)
                made += len(vectors)
                self.embedded += len(vectors)
                self._progress(done + made, max(total, done + made))
            done += made

    def _embed(self, texts: Mapping[UUID, str]) -> dict[UUID, Sequence[float]]:
        """Embed a batch; where that fails, text by text. A text that fails alone is left to its
        job, which is parked.
        """
        try:
            return dict(zip(texts, self._embedder.documents(list(texts.values())), strict=True))
        except ModelError as error:
            # raises when the model is away: then it is not the text
            self._embedder.query("Are you there?")
            if len(texts) > 1:
                return {
                    id: vector
                    for id, text in texts.items()
                    for id, vector in self._embed({id: text}).items()
                }
            _log.warning("a text that the model cannot embed was left to its job: %s", error)
            self._refused.update(texts)
            return {}

    def take_over(self, pause: Callable[[float], None]) -> None:
        """Make the new model the tenant's model as soon as few vectors are missing; fill in between
        the attempts.
        """
        few = FEW + len(self._refused)
        for _ in range(MOST_ROUNDS):
            if model_change.switch(
                self._database, self._tenant, model=self._embedder.name, few=few
            ):
                return
            pause(1.0)
            self.fill()
        raise QueryTimeout(
            f"expected a moment without a long write, got none in {MOST_ROUNDS} attempts; all "
            "vectors are kept: run "
            "`htm reembed` again when less is being written"
        )

    def drop_old_vectors(self) -> int:
        """Delete the vectors and the rows of the old models, in batches; give how many vectors
        there were.
        """
        database, tenant, name = self._database, self._tenant, self._embedder.name
        dropped = 0
        while gone := model_change.drop_vectors(database, tenant, keep=name, limit=DROPPED_AT_ONCE):
            dropped += gone
        model_change.drop_models(database, tenant, keep=name)
        return dropped
