"""Receipts of what was erased, and whether the audit that holds them is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Receipt of an erasure, with its counts of deleted rows by kind: nodes, mentions, passages,
    vectors, keys, jobs.

    `id` is that of its entry in the audit. `digest`, 64 hexadecimal digits, stands for that entry
    and for all before it: keep it elsewhere, and `Memory.verify_audit` can say later whether the
    entry is still there as it was written. `at` is when.
    """

    counts: Mapping[str, int]
    id: str = ""
    digest: str = ""
    at: datetime | None = None

    @property
    def total(self) -> int:
        """Number of rows that were deleted in all."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Something that was done and has to be provable: `kind` is "erase", "purge" or another word.

    It holds no text of any memory, and no name of a user, session or key: `user` (whose memory did
    it; None without one) and `about` (what it concerned, such as {"session": …}) are digests by a
    key of the tenant; `Memory.audit(user=…)` finds by names. `facts` are numbers, times and ids; of
    an erasure its `counts`. `body` is the entry as it was hashed, and `digest` the SHA-256 of the
    digest before it, a line feed and `body`.
    """

    id: str
    kind: str
    at: datetime
    robot: str
    user: str | None
    about: Mapping[str, str]
    facts: Mapping[str, Any]
    digest: str
    body: str

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts of the rows that an erasure deleted, by kind; empty for anything else."""
        return dict(self.facts.get("counts") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Result of checking that a tenant's audit is as it was written. `problems` are sentences;
    there is none where all is well.
    """

    entries: int
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if nothing was changed, and nothing is missing."""
        return not self.problems
