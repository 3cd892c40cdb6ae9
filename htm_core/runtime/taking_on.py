"""What a memory with a tagger or a propositioner asks of its worker, and of every saying."""

from __future__ import annotations

from collections.abc import Sequence

from ..jobs.handlers import ProposeHandler, TagHandler
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
    handlers: list[TagHandler | ProposeHandler] = []
    if tagger is not None:
        handlers.append(TagHandler(database, tagger))
    if propositioner is not None:
        name, longest = None if tagger is None else tagger.name, database.settings.max_content
        handlers.append(ProposeHandler(database, propositioner, count=count, tagger=name, longest=longest))
    for handler in handlers:
        worker.add_handler(handler)
    return [(handler.kind, handler.model) for handler in handlers]
