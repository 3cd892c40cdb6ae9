"""The handlers of a worker, one for each kind of job: embed, tag, propose, count, relate, supersede
and judge.

Each handler deletes its jobs in the transaction that stores their results. A job whose row is gone
was done by another worker, and its result is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID
from zoneinfo import ZoneInfo

from ..base import time_limit
from ..base.errors import HTMError
from ..base.folding import lexical_query
from ..base.types import Draft, TokenCounter
from ..base.types.memories import TRUST, source_of
from ..change import supersession
from ..change.supersession import ComparedNode, NewEdge, UndecidedEdge
from ..db import indexes, jobs
from ..db.database import Connection, Database
from ..db.jobs import ClaimedJob, MissingText
from ..db.records import Entry
from ..engine.engine import new_id
from ..engine.fresh_nodes import FreshNodes
from ..models.embedders import CheckedEmbedder
from ..reading import readers
from ..recall import search
from ..text.speakers import own_name
from ..writing import nodes, relations, tags, write
from ..writing.entries import Preparer
from ..writing.relations import FactSource

if TYPE_CHECKING:
    from ..models.judges import CheckedJudge
    from ..models.propositioners import CheckedPropositioner
    from ..models.taggers import CheckedTagger

BATCH_SECONDS = 1.0  # what a call of an embedder should take: others wait for it
# jobs of an embedder of which nobody knows yet how quick it is, and of handlers without a model
FIRST_BATCH = 64
SMALLEST_BATCH = 8
SLOW_BATCH = 4  # jobs of a chat model that are claimed at once: each may take many seconds
KNOWN_TAGS = 100  # tags of the owner that a tagger is shown
# nodes that each new one is compared with, and characters whose words find them
COMPARED, COMPARED_LENGTH = 10, 300
COMPARED_AT_ONCE = 8  # new nodes whose results are stored together
LOOKED_AT = 30  # nearest nodes among which the ten of the same speaker are that a judge reads
NOT_COMPARED, JUDGE_WAIT = "the reader has not compared it yet", 5.0
READ = "a model that read both says that it no longer holds"
BY_READER, REPLACED = "reader", "what the newer one says takes its place"  # who judged, and why
LEAST = 0.5  # from this confidence on, an edge is stored at all
UNHEARD = (
    "tool",
    "system",
    # whose words neither replace anything nor are replaced, and so are those of tools and pages by
    # source
)
SPEAKING = ("user", None)  # whose sayings are judged beside one another
# in the metadata of a fact's mention: the id of the node that the fact comes from
PROPOSITION_OF = "proposition_of"


class Handler(Protocol):
    """Does one kind of job with one model (`model` is "" where no model is needed)."""

    kind: str
    # by a chat model: one job at a time, in a thread of its own, so that quick jobs need not wait
    slow: bool
    together: bool  # takes jobs of several tenants at once, so that they are one call of the model

    @property
    def model(self) -> str:
        """The model that these jobs need."""

    @property
    def batch(self) -> int | None:
        """Return the number of jobs it takes at once now; None is as many as the settings allow."""

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Do jobs, by tenant, and delete them in the transaction that stores their results.

        What is more work than one batch is given back and goes on in its next turn.
        """

    def answers(self) -> bool:
        """Say whether the model can be reached."""


class EmbedHandler:
    """Gives passages their vectors."""

    kind, slow, together = "embed", False, True
    batch: int | None = FIRST_BATCH

    def __init__(
        self, database: Database, embedder: CheckedEmbedder, fresh_nodes: FreshNodes
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._fresh_nodes = fresh_nodes

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Embed passages that have no vector yet, of all tenants in one call and no more than
        `Settings.worker_batch` of them.

        The first passage of each node comes first, so that a long text keeps nobody waiting. Jobs
        with passages left are given back. The next batch is as large as the model does in about a
        second.
        """
        most = self._database.settings.worker_batch
        # so that each node is in it
        limit = max(min(self.batch or most, most), sum(map(len, claimed.values())))
        missing: dict[str, list[MissingText]] = {}
        for tenant, group in claimed.items():
            known = [job.texts for job in group if job.texts is not None]
            if len(known) == len(group):
                missing[tenant] = [text for texts in known for text in texts]
            else:
                missing[tenant] = self._missing_texts(tenant, _nodes(group), limit)
        waiting = [(tenant, text) for tenant, texts in missing.items() for text in texts]
        chosen = sorted(waiting, key=lambda pair: pair[1].turn)[:limit]
        begun = time.monotonic()
        with time_limit.limited(None):  # a model may be slow where nobody waits for it
            vectors = self._embedder.documents([text.body for _, text in chosen])
        if len(chosen) >= SMALLEST_BATCH:  # a call of few texts says little about many
            in_a_second = len(chosen) / max(time.monotonic() - begun, 1e-6)
            self.batch = max(SMALLEST_BATCH, int(min(most, BATCH_SECONDS * in_a_second)))
        for tenant, group in claimed.items():
            made = {
                text.id: vector
                for (of, text), vector in zip(chosen, vectors, strict=True)
                if of == tenant
            }
            self._store(tenant, group, made, incomplete=jobs.nodes_left(missing[tenant], made))

    def answers(self) -> bool:
        """Embed a short text, and say whether that worked."""
        try:
            self._embedder.query("Are you there?")
        except HTMError:
            return False
        return True

    def _missing_texts(self, tenant: str, ids: Sequence[UUID], limit: int) -> list[MissingText]:
        return self._database.in_one_message(
            tenant,
            lambda connection: jobs.queue_missing_texts(
                connection, ids, model=self.model, limit=limit
            ),
            role="htm_worker",
        )()

    def _store(
        self,
        tenant: str,
        group: Sequence[ClaimedJob],
        vectors: Mapping[UUID, Sequence[float]],
        *,
        incomplete: set[UUID],
    ) -> None:
        finished = [job for job in group if job.node_id not in incomplete]

        def store(connection: Connection) -> None:
            """Queue all of it with the beginning of the transaction."""
            nodes.insert_vectors(connection, vectors, model=self.model)
            jobs.queue_finish(connection, finished)
            if self._database.settings.supersession is not None:  # of an import nothing is compared
                jobs.enqueue_supersede(
                    connection, _nodes([job for job in finished if not job.bulk])
                )
            if incomplete:
                jobs.release(connection, [job for job in group if job.node_id in incomplete])

        self._database.in_one_message(tenant, store, role="htm_worker", followed=True)
        self._fresh_nodes.done(tenant, _nodes(finished))


class TagHandler:
    """Gives nodes the tags that a tagger finds; the tags that users gave stay."""

    kind, slow, together, batch = "tag", True, False, SLOW_BATCH

    def __init__(self, database: Database, tagger: CheckedTagger) -> None:
        self._database = database
        self._tagger = tagger

    @property
    def model(self) -> str:
        """The tagger's name."""
        return self._tagger.name

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Send each text to the tagger, except texts that were hidden in the meantime."""
        for tenant, job in _each(claimed):
            [node] = _nodes([job])
            with self._database.transaction(tenant, role="htm_worker") as connection:
                text_and_tags = tags.for_tagging(connection, node, limit=KNOWN_TAGS)
            made = (
                ()
                if text_and_tags is None
                else self._tagger.tags(text_and_tags[0], known=text_and_tags[1])
            )
            with self._database.transaction(tenant, role="htm_worker") as connection:
                # Lock the node first, then the job: erasing locks them in this order, so that
                # neither waits for the other.
                if tags.lock_existing(connection, node) and jobs.finish(connection, [job]):
                    tags.add_from_model(connection, node, made)

    def answers(self) -> bool:
        """Send a short text to the tagger, and say whether it answered."""
        return self._tagger.answers()


class ProposeHandler:
    """Gives nodes the facts that a propositioner finds in them.

    Each fact is a node of its own with a mention in the source's session; it is hidden and erased
    with its source.
    """

    kind, slow, together, batch = "propose", True, False, SLOW_BATCH

    def __init__(
        self,
        database: Database,
        propositioner: CheckedPropositioner,
        *,
        count: TokenCounter,
        tagger: str | None,
    ) -> None:
        self._database = database
        self._propositioner = propositioner
        self._count = count
        self._tagger = tagger

    @property
    def model(self) -> str:
        """The propositioner's name."""
        return self._propositioner.name

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Send each text to the propositioner, except facts and texts that were hidden in the
        meantime.
        """
        for tenant, job in _each(claimed):
            [node] = _nodes([job])
            with self._database.transaction(tenant, role="htm_worker") as connection:
                source = relations.source(connection, node)
            entries = [] if source is None or source.source_id else self._entries(node, source)
            with self._database.transaction(tenant, role="htm_worker") as connection:
                # Lock the node first, then the job: erasing locks them in this order, so that
                # neither waits for the other.
                live = relations.lock_source(connection, node)
                if jobs.finish(connection, [job]) and live and source is not None and entries:
                    self._store(connection, node, source, entries)

    def answers(self) -> bool:
        """Send a short text to the propositioner, and say whether it answered."""
        return self._propositioner.answers()

    def _entries(self, node: UUID, source: FactSource) -> list[Entry]:
        preparer = Preparer(
            owner=source.owner,
            session=source.session,
            settings=self._database.settings,
            count=self._count,
            new_id=new_id,
        )
        metadata = {PROPOSITION_OF: str(node)}
        at = _local(source.at, self._database.settings.timezone)  # "yesterday" is a day of theirs
        facts = self._propositioner.facts(
            source.content, speaker=own_name(source.name) or source.role, at=at
        )
        # What it came from and until when it is kept is as with the text that it was taken from.
        drafts = [
            Draft(
                content=fact,
                name=source.name,
                at=source.at,
                metadata=metadata,
                expires_at=source.expires_at,
                source=source_of(source.source, source.role),
                trust=source.trust,
            )
            for fact in facts
        ]
        return [preparer.entry(draft, now=source.at) for draft in drafts]

    def _store(
        self, connection: Connection, node: UUID, source: FactSource, entries: Sequence[Entry]
    ) -> None:
        written = write.write(
            connection, entries, owner=source.owner, robot=source.robot, model=""
        ).written
        relations.add_derived(
            connection, node, [each.mention for each in written], owner=source.owner
        )
        if self._tagger is not None:
            new = [each.node for each in written if each.is_new and each.node is not None]
            jobs.enqueue(connection, new, kind="tag", model=self._tagger)


class CountHandler:
    """Counts a tenant's words, and builds the indexes that are due."""

    kind, slow, together, batch, model = "count", False, False, FIRST_BATCH, ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Count the words of each tenant once, however many jobs there are."""
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                search.count_words(connection)
                jobs.finish(connection, group)
        for cell in {self._database.of(tenant) for tenant in claimed}:
            indexes.build_due(cell)

    def answers(self) -> bool:
        """Say yes: no model is needed."""
        return True


class RelateHandler:
    """Relates nodes that share tags."""

    kind, slow, together, batch, model = "relate", False, False, FIRST_BATCH, ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Update the relations of the nodes whose tags changed."""
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                relations.renew_tag_edges(connection, _nodes(group))
                jobs.finish(connection, group)

    def answers(self) -> bool:
        """Say yes: no model is needed."""
        return True


class SupersedeHandler:
    """Has the reader compare nodes with what the same person said about the same, and notes what a
    newer saying replaces.
    """

    kind, slow, together, batch, model = "supersede", False, False, None, ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Compare each node with its nearest; no transaction is open meanwhile. An edge that is
        there already is not made again.
        """
        for tenant, group in claimed.items():
            for start in range(0, len(group), COMPARED_AT_ONCE):
                self._compare(tenant, group[start : start + COMPARED_AT_ONCE])

    def _compare(self, tenant: str, group: Sequence[ClaimedJob]) -> None:
        ids = _nodes(group)
        read = self._database.in_one_message(
            tenant,
            lambda connection: supersession.queue_subjects(connection, ids),
            role="htm_worker",
        )
        subjects = {node.id: node for node in read() if _is_compared(node)}
        edges = self._new_edges(tenant, list(subjects.values()))

        def finish(connection: Connection) -> Callable[[], set[UUID]]:
            """Queue the end of the jobs."""
            supersession.make_judge_due(connection, ids)
            return jobs.queue_finish(connection, group)

        if not edges:
            self._database.in_one_message(tenant, finish, role="htm_worker")
            return
        with self._database.transaction(tenant, role="htm_worker") as connection:
            finished = finish(connection)()
            for job in group:
                if job.id in finished and job.node_id in edges:
                    supersession.insert(
                        connection, edges[job.node_id], owner=job.owner, judge=BY_READER
                    )
        self._database.superseding.learn(tenant, there=True)

    def _new_edges(
        self, tenant: str, subjects: Sequence[ComparedNode]
    ) -> dict[UUID, list[NewEdge]]:
        """The new edges of each node that gets some."""
        if not subjects:
            return {}
        reads = self._database.in_one_message(
            tenant,
            lambda connection: [_queue_nearest(connection, node) for node in subjects],
            role="htm_worker",
        )
        made = {node.id: _edges(node, read()) for node, read in zip(subjects, reads, strict=True)}
        return {id: edges for id, edges in made.items() if edges}

    def answers(self) -> bool:
        """Say yes: where the reader is not installed, nothing is compared."""
        return True


class JudgeHandler:
    """Asks a chat model what a new saying changes of the earlier ones, and any judge about what the
    reader is not sure of.
    """

    kind, slow, together, batch = "judge", True, False, SLOW_BATCH

    def __init__(self, database: Database, judge: CheckedJudge) -> None:
        self._database = database
        self._judge = judge

    @property
    def model(self) -> str:
        """The judge's name."""
        return self._judge.name

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Decide the edges of a node, and make those that a chat model finds; put the job off while
        the reader has not compared it.

        A chat model is asked once, in the job of the newer saying. Of an import, which nobody waits
        for, it reads nothing.
        """
        threshold = self._database.settings.supersession or 1.0
        for tenant, job in _each(claimed):
            [node] = _nodes([job])
            with self._database.transaction(tenant, role="htm_worker") as connection:
                if not supersession.is_compared(connection, node):
                    jobs.postpone(
                        connection, [job], error=NOT_COMPARED, seconds=JUDGE_WAIT, tried=False
                    )
                    continue
                edges = supersession.undecided(connection, node, threshold=threshold)
                reads = self._judge.reads_many and not job.bulk
                subject = supersession.subject(connection, node) if reads else None
                near = (
                    []
                    if subject is None or not _is_compared(subject)
                    else _queue_nearest(connection, subject, limit=LOOKED_AT)()
                )
            if self._judge.reads_many:
                decided, new_edges = self._read(node, edges, subject=subject, near=near)
            else:
                decided, new_edges = [(edge.id, *self._pair(edge)) for edge in edges], []
            with self._database.transaction(tenant, role="htm_worker") as connection:
                if not jobs.finish(connection, [job]):
                    continue
                for id, relation, reason in decided:
                    supersession.decide(
                        connection, id, relation=relation, reason=reason, judge=self.model
                    )
                if subject is not None and new_edges:
                    supersession.insert(
                        connection,
                        new_edges,
                        owner=subject.owner,
                        judge=self.model,
                        state="confirmed",
                    )
                    self._database.superseding.learn(tenant, there=True)

    def _pair(self, edge: UndecidedEdge) -> tuple[str, str]:
        """Ask the judge about an edge; return its answer and the reason."""
        return self._judge.judge(
            edge.older, edge.newer, seconds=self._database.settings.judge_timeout
        )

    def _read(
        self,
        node: UUID,
        edges: Sequence[UndecidedEdge],
        *,
        subject: ComparedNode | None,
        near: Sequence[ComparedNode],
    ) -> tuple[list[tuple[UUID, str, str]], list[NewEdge]]:
        """Have a model read a saying beside the nearest earlier ones; return its decisions on
        edges, and the edge it finds.
        """
        earlier = (
            []
            if subject is None
            else [each for each in _earlier(subject, near) if each.trust <= subject.trust][
                :COMPARED
            ]
        )
        if subject is None or not earlier:
            return [], []
        from ..models.judges import DatedSaying  # most memories have no judge

        zone = self._database.settings.timezone
        now, *before = (
            DatedSaying(each.content, _local(each.at, zone)) for each in (subject, *earlier)
        )
        place = self._judge.no_longer(now, before, seconds=self._database.settings.judge_timeout)
        replaced = None if place is None else earlier[place].id
        shown = {each.id for each in earlier}
        known = {
            edge.older_id: edge
            for edge in edges
            if edge.newer_id == node and edge.older_id in shown
        }
        decided = [
            (
                edge.id,
                "supersedes" if older == replaced else "none",
                READ if older == replaced else "",
            )
            for older, edge in known.items()
            if older == replaced or edge.relation == "supersedes"
        ]
        if replaced is None or replaced in known:
            return decided, []
        return decided, [NewEdge(new_id(), node, replaced, "supersedes", 1.0, READ, subject.at)]

    def answers(self) -> bool:
        """Send two short sayings to the judge, and say whether it answered."""
        return self._judge.answers()


def _is_heard(node: ComparedNode) -> bool:
    return node.role not in UNHEARD and node.trust > TRUST["tool"]


def _local(at: datetime, zone: str | None) -> datetime:
    """A time in a zone, or in the machine's."""
    return at.astimezone(ZoneInfo(zone) if zone else None)


def _said_at(node: ComparedNode) -> tuple[datetime, UUID]:
    return node.at, node.mention_id


def _is_compared(node: ComparedNode) -> bool:
    return _is_heard(node) and node.role in SPEAKING


def _queue_nearest(
    connection: Connection, node: ComparedNode, *, limit: int = COMPARED
) -> Callable[[], list[ComparedNode]]:
    """The nodes that a node is compared with, read with what is sent next."""
    words = lexical_query(node.content[:COMPARED_LENGTH])
    read = supersession.queue_candidates(
        connection, node.id, words=words, limit=limit, owner=node.owner
    )
    return lambda: [other for other in read() if _is_heard(other)]


def _edges(node: ComparedNode, near: Sequence[ComparedNode]) -> list[NewEdge]:
    """Return the new edges between a node and those nearest to it, whichever of the two was said
    first.

    Nothing replaces what is trusted more.
    """
    in_time = (
        sorted((node, other), key=_said_at) for other in near if _is_same_speaker(node, other)
    )
    pairs = [(older, newer) for older, newer in in_time if newer.trust >= older.trust]
    if not pairs or not readers.is_here():
        return []
    judged = readers.embedded_reader().replaced(
        [(newer.content, older.content) for older, newer in pairs]
    )
    return [
        NewEdge(new_id(), newer.id, older.id, "supersedes", confidence, REPLACED, newer.at)
        for (older, newer), confidence in zip(pairs, judged, strict=True)
        if confidence >= LEAST
    ]


def _earlier(node: ComparedNode, near: Sequence[ComparedNode]) -> list[ComparedNode]:
    """Those of the nearest that the same speaker has said before; none for what no user says."""
    return [
        other
        for other in near
        if _is_same_speaker(node, other) and _said_at(other) < _said_at(node)
    ]


def _is_same_speaker(one: ComparedNode, other: ComparedNode) -> bool:
    return one.role in SPEAKING and other.role in SPEAKING and _speaker(one) == _speaker(other)


def _speaker(node: ComparedNode) -> str:
    return own_name(node.name) or node.role or "user"


def _each(claimed: Mapping[str, Sequence[ClaimedJob]]) -> Iterator[tuple[str, ClaimedJob]]:
    return ((tenant, job) for tenant, group in claimed.items() for job in group)


def _nodes(claimed: Sequence[ClaimedJob]) -> list[UUID]:
    return [job.node_id for job in claimed if job.node_id is not None]
