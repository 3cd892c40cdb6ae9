"""Jobs: the work that is owed for one owner's memories, to look at, and to try again."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import get_args

from ..engine.engine import Engine
from ..errors import InvalidInput
from ..rules import validation
from ..store import jobs
from ..types import Job, JobKind

KINDS = get_args(JobKind)


class Jobs:
    """What is owed for what one owner sees; counting words is the whole tenant's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, *, kind: JobKind | None = None, parked: bool | None = None, limit: int = 100) -> builtins.list[Job]:
        """What is owed, what was given up first, then the oldest; `parked` is only that, or only the rest."""
        with self._engine.transaction() as connection:
            return jobs.list_jobs(
                connection,
                owners=self._engine.owners,
                kind=_checked(kind),
                parked=parked,
                limit=validation.check_limit(limit),
            )

    def retry(self, ids: Sequence[str] | None = None, *, kind: JobKind | None = None) -> int:
        """Try again what was given up, as if for the first time: all, some jobs or one kind; how many there were."""
        if isinstance(ids, str):
            raise InvalidInput(
                f"expected ids to be a list of ids as in Job.id, got the string {ids!r}; write [{ids!r}]"
            )
        wanted = None if ids is None else [validation.check_id(id, what="ids") for id in ids]
        with self._engine.transaction() as connection:
            again = jobs.retry(connection, owners=self._engine.owners, ids=wanted, kind=_checked(kind))
        self._engine.wake()
        return again


def _checked(kind: str | None) -> str | None:
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"expected kind to be one of {', '.join(KINDS)}, got {kind!r}")
    return kind
