"""Jobs: the pending work for one owner's memories, to look at and to retry."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import get_args

from ..base import validation
from ..base.errors import InvalidInput
from ..base.types import Job, JobKind
from ..db import jobs
from ..db.errors import attempts
from ..db.verbs import verbs
from ..engine.engine import Engine

KINDS = get_args(JobKind)


@verbs("htm.jobs")
class Jobs:
    """The pending jobs of what one owner sees. Jobs that count words are the whole tenant's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self,
        *,
        kind: JobKind | None = None,
        parked: bool | None = None,
        node: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Job]:
        """Jobs, parked ones first, then the oldest. `parked=True` shows only those that were given
        up, False only the others.

        `node` is the id of a node: only the jobs for it.
        `kind` is "embed", "tag", "propose", "relate", "supersede", "judge", "count", "profile",
        "merge" or "summarize".
        Raises `InvalidInput`.
        """
        id = None if node is None else validation.check_id(node, what="node")
        with self._engine.transaction() as connection:
            return jobs.list_jobs(
                connection,
                owners=self._engine.owners,
                kind=_checked(kind),
                parked=parked,
                node=id,
                limit=validation.check_limit(limit),
            )

    def retry(self, ids: Sequence[str] | None = None, *, kind: JobKind | None = None) -> int:
        """Retry parked jobs as if they were new: all, those with these ids, or those of one kind.
        Answers how many there were.
        """
        if isinstance(ids, str):
            raise InvalidInput(
                f"expected ids to be a list of ids as in Job.id, got the string {ids!r}; write "
                f"[{ids!r}]"
            )
        wanted = None if ids is None else validation.check_ids(ids, what="ids")
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                again = jobs.retry(
                    connection, owners=self._engine.owners, ids=wanted, kind=_checked(kind)
                )
        self._engine.wake()
        return again


def _checked(kind: str | None) -> str | None:
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"expected kind to be one of {', '.join(KINDS)}, got {kind!r}")
    return kind
