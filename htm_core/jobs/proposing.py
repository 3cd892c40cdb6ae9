"""Taking texts apart into facts: each a node of its own, said where its source was said, and hidden and erased with it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ..engine.engine import new_id
from ..engine.entries import Preparer
from ..models.propositioners import CheckedPropositioner
from ..store import jobs, relations, write
from ..store.database import Connection, Database
from ..store.jobs import Claimed
from ..store.records import Entry
from ..store.relations import Source
from ..types import Draft, TokenCounter

SOURCE = "proposition_of"  # in the metadata of a fact's mention: the id of the node that it was taken from


class Proposing:
    """Gives nodes their facts."""

    kind, slow = "propose", True

    def __init__(
        self,
        database: Database,
        propositioner: CheckedPropositioner,
        *,
        count: TokenCounter,
        tagger: str | None,
        longest: int,
    ) -> None:
        self._database = database
        self._propositioner = propositioner
        self._count = count
        self._tagger = tagger
        self._longest = longest

    @property
    def model(self) -> str:
        """The propositioner's name."""
        return self._propositioner.name

    def do(self, tenant: str, owed: Sequence[Claimed]) -> None:
        """Ask the propositioner about each text; neither about facts, nor about what was hidden meanwhile."""
        for job in owed:
            assert job.node_id is not None  # such jobs are owed for nodes
            with self._database.transaction(tenant, role="htm_worker") as connection:
                source = relations.source(connection, job.node_id)
            entries = [] if source is None or source.source_id else self._entries(job.node_id, source)
            with self._database.transaction(tenant, role="htm_worker") as connection:
                # The node first, then the job: the order in which erasing takes them.
                live = relations.hold_source(connection, job.node_id)
                if jobs.done(connection, [job]) and live and source is not None and entries:
                    self._keep(connection, job.node_id, source, entries)

    def answers(self) -> bool:
        """Ask about a short text."""
        return self._propositioner.answers()

    def _entries(self, node: UUID, source: Source) -> list[Entry]:
        preparer = Preparer(
            owner=source.owner, session=source.session, longest=self._longest, count=self._count, new_id=new_id
        )
        facts = self._propositioner.facts(source.content)
        drafts = [Draft(content=fact, name=source.name, at=source.at, metadata={SOURCE: str(node)}) for fact in facts]
        return [preparer.entry(draft, now=source.at) for draft in drafts]

    def _keep(self, connection: Connection, node: UUID, source: Source, entries: Sequence[Entry]) -> None:
        written = write.write(connection, entries, owner=source.owner, robot=source.robot, model="").written
        relations.derive(connection, node, [each.mention for each in written], owner=source.owner)
        if self._tagger is not None:
            new = [each.node for each in written if each.is_new and each.node is not None]
            jobs.owe_kind(connection, new, kind="tag", model=self._tagger)
