"""Vectors that a recall makes itself: of what this process has just written, so that the next call finds it by meaning."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from ..base import time_limit
from ..base.errors import HTMError, ModelError
from ..base.identity import node_id
from ..base.storable import storable
from ..db import jobs
from ..db.connection import Connection
from ..db.errors import retry_transaction
from ..engine.engine import Engine
from ..writing import nodes
from .search import RecallQuery

_log = logging.getLogger("htm.recall")

NODES = 8  # the newest that a recall looks after; what is more has jobs, and is found by its words until then
PASSAGES = 8
LONGEST_WAIT = 2.0  # seconds for what another thread makes; after that its words have to do


def make_fresh_vectors(engine: Engine, query: RecallQuery) -> None:
    """Make the vectors that are still missing of the newest memories of this process, where they are few.

    Where this process has nothing pending that the query may see, this is one look into memory. Else it is one call of the
    embedder, a read and a transaction. What another thread is at work on is waited for: many recalls at once would all embed the
    same texts. The query's own text is left out: a question that was just said is no answer to itself. What fails here is left
    to the worker.
    """
    model, owners = engine.embedder.name, query.filters.owners
    fresh = engine.fresh_nodes.visible(engine.tenant, owners, model=model, limit=NODES + 1)
    if not fresh:
        return
    asked = storable(query.query)  # as an adapter has stored it
    ids = [node.id for node in fresh if node.id != node_id(node.owner, asked)][:NODES]
    if not ids:
        return
    ends = time.monotonic() + time_limit.for_model(LONGEST_WAIT)
    others = _make_unclaimed(engine, ids, everybody=query.of_everybody)
    if others and engine.fresh_nodes.wait(engine.tenant, others, seconds=max(0.0, ends - time.monotonic())):
        _make_unclaimed(engine, others, everybody=query.of_everybody)  # nearly always they have theirs by now


def _make_unclaimed(engine: Engine, ids: list[UUID], *, everybody: bool) -> list[UUID]:
    """Make the vectors of those nodes that nobody is at work on, and give the others."""
    mine = engine.fresh_nodes.claim(engine.tenant, ids)
    if mine:
        try:
            engine.fresh_nodes.done(engine.tenant, _make_vectors(engine, mine, everybody=everybody))
        except ModelError:
            engine.fresh_nodes.done(engine.tenant, mine)  # a text that the model cannot take would fail each recall
        except HTMError as error:
            _log.warning("the vectors of new memories are left to the worker: %s", error)
        finally:
            engine.fresh_nodes.let_go((engine.tenant, id) for id in mine)
    return [id for id in ids if id not in mine]


def _make_vectors(engine: Engine, ids: list[UUID], *, everybody: bool) -> set[UUID]:
    """Make up to `PASSAGES` vectors of these nodes, and give the nodes that have all of theirs."""
    model = engine.embedder.name
    read = partial(engine.read, everybody=everybody, primary=True)
    missing = jobs.missing_texts(read, ids, model=model, limit=PASSAGES)
    if not missing:
        return set(ids)
    ids = [text.id for text in missing]
    vectors = dict(zip(ids, engine.embedder.documents([text.body for text in missing]), strict=True))
    made = {text.node_id for text in missing} - jobs.nodes_left(missing, vectors)
    retry_transaction(lambda: _store(engine, vectors, sorted(made), everybody=everybody))
    return made


def _store(
    engine: Engine,
    vectors: Mapping[UUID, Sequence[float]],
    complete: Sequence[UUID],
    *,
    everybody: bool,
) -> None:
    model = engine.embedder.name

    def store(connection: Connection) -> None:
        """Have it all stored with the beginning of the transaction."""
        nodes.insert_vectors(connection, vectors, model=model)
        jobs.finish_embedding(connection, complete, model=model)
        if engine.settings.supersession is not None:
            jobs.enqueue(connection, complete, kind="supersede")

    with engine.transaction(everybody=everybody, first=store, alone=True):
        pass
