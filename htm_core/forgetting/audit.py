"""The audit: what was erased and when, read and verified."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..base import validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import AuditEntry, AuditReport, Scope
from ..engine.engine import Engine
from . import store_audit as store

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PROBLEMS = {
    "changed": "entry {seq} of chain {chain} is not as it was written",
    "missing": "what stood before entry {seq} of chain {chain} is missing",
    "cut": "chain {chain} does not end with entry {seq}, as it should",
}


def entries(
    engine: Engine,
    *,
    kind: str | None,
    user: str | None,
    session: str | None,
    key: str | None,
    scope: Scope | None,
    limit: int,
    before: str | None,
) -> list[AuditEntry]:
    """Entries, newest first."""
    names = {"user": user, "session": session, "key": key}
    about = [
        (what, validation.normal_name(name, what=what))
        for what, name in names.items()
        if name is not None
    ]
    if len(about) > 1:
        raise InvalidInput(f"expected at most one of user, session and key, got {len(about)}")
    if scope not in (None, "user", "tenant"):
        raise InvalidInput(
            f'expected scope to be "user" or "tenant", got {scope!r}; entries belong to users'
        )
    everybody = scope == "tenant"
    after = None if before is None else validation.check_id(before, what="before")
    most = validation.check_limit(limit)
    with engine.looking(everybody=everybody) as connection:
        if after is not None and not store.exists(connection, after):
            raise NotFound(
                f"expected the id of an entry of the audit, got {before!r:.80}", advice="audit"
            )
        rows = store.entries(
            connection,
            owners=None if everybody else engine.owners,
            kind=kind,
            about=about[0] if about else None,
            before=after,
            limit=most,
        )
    return [_entry(row) for row in rows]


def verify(engine: Engine, digests: Sequence[str]) -> AuditReport:
    """Check that every entry of the tenant is as it was written, and those with these digests are
    still there.
    """
    if isinstance(digests, str) or not all(
        isinstance(each, str) and _DIGEST.fullmatch(each) for each in digests
    ):
        raise InvalidInput(
            "expected digests to be a list of texts of 64 hexadecimal digits, as Receipt.digest "
            "has them"
        )
    with engine.looking(everybody=True) as connection:
        problems = store.problems(connection)
        known = store.found(connection, digests)
        count = store.size(connection)
    messages = [
        _PROBLEMS[row["problem"]].format(seq=row["seq"], chain=row["chain"]) for row in problems
    ]
    messages += [f"no entry has the digest {each}" for each in digests if each not in known]
    return AuditReport(entries=count, problems=tuple(messages))


def _entry(row: dict[str, Any]) -> AuditEntry:
    """An entry from its row. One whose body somebody has spoiled is shown with what its columns
    say.
    """
    try:
        body = json.loads(row["body"])
        body = body if isinstance(body, dict) else {}
    except ValueError:
        body = {}
    about, facts = body.get("about"), body.get("facts")
    return AuditEntry(
        id=str(row["id"]),
        kind=row["kind"],
        at=row["at"],
        robot=str(body.get("robot", "")),
        user=row["owner"] or None,
        about=about if isinstance(about, dict) else {},
        facts=facts if isinstance(facts, dict) else {},
        digest=row["digest"],
        body=row["body"],
    )
