"""What a memory with a tagger or a propositioner asks of its worker, and of every saying."""

from __future__ import annotations

from collections.abc import Sequence

from ..jobs.handlers import Tagging
from ..jobs.proposing import Proposing
from ..jobs.worker import Worker
from ..models.propositioners import CheckedPropositioner
from ..models.taggers import CheckedTagger
from ..store.database import Database
from ..store.jobs import Lane
from ..types import TokenCounter


def take_on(
    worker: Worker,
    database: Database,
    *,
    tagger: CheckedTagger | None,
    propositioner: CheckedPropositioner | None,
    count: TokenCounter,
) -> Sequence[Lane]:
    """Let a worker do the jobs of these models, and say what each new node is owed."""
    duties: list[Tagging | Proposing] = []
    if tagger is not None:
        duties.append(Tagging(database, tagger))
    if propositioner is not None:
        name, longest = None if tagger is None else tagger.name, database.settings.max_content
        duties.append(Proposing(database, propositioner, count=count, tagger=name, longest=longest))
    for duty in duties:
        worker.takes_on(duty)
    return [(duty.kind, duty.model) for duty in duties]
