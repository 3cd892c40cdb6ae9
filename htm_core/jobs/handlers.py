"""What a worker can do: each kind of job, and how its results are kept. A job whose row is gone was done by another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from ..errors import HTMError
from ..models.embedders import CheckedEmbedder
from ..models.taggers import CheckedTagger
from ..store import indexes, jobs, nodes, relations, search, tags
from ..store.database import Database
from ..store.jobs import Claimed

KNOWN_TAGS = 100  # of the owner's, that a tagger is told of


class Duty(Protocol):
    """A kind of work by one model ("" where none does it)."""

    kind: str
    slow: bool  # done by a chat model, one job at a time and by a thread of its own, so that nothing else waits for it

    @property
    def model(self) -> str:
        """The model whose jobs these are."""

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Do jobs of one tenant, and strike them out in the transaction that keeps what came of them."""

    def answers(self) -> bool:
        """Whether the model is there."""


class Embedding:
    """Gives passages their vectors."""

    kind, slow = "embed", False

    def __init__(self, database: Database, embedder: CheckedEmbedder) -> None:
        self._database = database
        self._embedder = embedder

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Embed what has no vector yet."""
        with self._database.transaction(tenant, role="htm_worker") as connection:
            texts = jobs.texts(connection, _nodes(owed), model=self.model)
        vectors = dict(zip(texts, self._embedder.documents(list(texts.values())), strict=True))
        with self._database.transaction(tenant, role="htm_worker") as connection:
            nodes.insert_vectors(connection, vectors, model=self.model)
            jobs.done(connection, owed)

    def answers(self) -> bool:
        """Ask a short question."""
        try:
            self._embedder.query("Are you there?")
        except HTMError:
            return False
        return True


class Tagging:
    """Gives nodes tags; what somebody gave them stays."""

    kind, slow = "tag", True

    def __init__(self, database: Database, tagger: CheckedTagger) -> None:
        self._database = database
        self._tagger = tagger

    @property
    def model(self) -> str:
        """The tagger's name."""
        return self._tagger.name

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Ask the tagger about each text; what was hidden meanwhile is not shown to it."""
        for job in owed:
            [node] = _nodes([job])
            with self._database.transaction(tenant, role="htm_worker") as connection:
                found = tags.for_tagging(connection, node, most=KNOWN_TAGS)
            made = () if found is None else self._tagger.tags(found[0], known=found[1])
            with self._database.transaction(tenant, role="htm_worker") as connection:
                # The node first, then the job: the order in which erasing takes them.
                if tags.keep(connection, node) and jobs.done(connection, [job]):
                    tags.unite(connection, [(node, made)])

    def answers(self) -> bool:
        """Ask about a short text."""
        return self._tagger.answers()


class Counting:
    """Counts a tenant's words, and builds the indexes that are due."""

    kind, slow, model = "count", False, ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Count them once, however often it was asked for."""
        with self._database.transaction(tenant, role="htm_worker") as connection:
            search.count_words(connection)
            jobs.done(connection, owed)
        indexes.build_wanted(self._database)

    def answers(self) -> bool:
        """There is no model to be away."""
        return True


class Relating:
    """Joins nodes that share their tags."""

    kind, slow, model = "relate", False, ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Renew the edges of the nodes whose tags changed."""
        with self._database.transaction(tenant, role="htm_worker") as connection:
            relations.relate(connection, _nodes(owed))
            jobs.done(connection, owed)

    def answers(self) -> bool:
        """There is no model to be away."""
        return True


def _nodes(owed: Sequence[Claimed]) -> list[UUID]:
    return [job.node_id for job in owed if job.node_id is not None]
