"""Requests that may be sent twice: their answers are kept in the database for a while, so that the
second one gets the first's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from ..db.database import Database
from ..db.owner_claims import claim_of
from ..db.queries import load

# seconds that a request may take beyond its verb's time until others may do it again
LEASE_GRACE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """A request as it is known by its key: whose it is, and what distinguishes it from another one
    with the same key.
    """

    tenant: str
    user: str | None
    token: UUID
    key: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """State of a request with this key. `status` is None while it is being worked on, and `body`
    once it was dropped.
    """

    is_same: bool
    status: int | None
    headers: Mapping[str, str]
    body: bytes | None


def begin(
    database: Database, request: KeptRequest, *, lease: float, keep: float
) -> datetime | KeptAnswer:
    """Note that a request is being worked on, for `lease` seconds at most; its answer is kept for
    `keep` seconds.

    Answers with the end of the lease, which `finish` wants, or with what is known of the key
    already.
    """
    values = {
        "owner": request.user or "",
        "fingerprint": request.fingerprint,
        "lease": lease,
        "keep": keep,
    }
    with database.transaction(request.tenant, claim=claim_of(request.user or "")) as connection:
        connection.execute(load("serve/idempotency")["forget_expired"])
        begun = connection.execute(
            load("serve/idempotency")["begin"], values | _name(request)
        ).fetchone()
        if begun is not None:
            locked_until: datetime = begun["locked_until"]
            return locked_until
        row = connection.execute(load("serve/idempotency")["read"], _name(request)).fetchone()
    if row is None:  # it was abandoned this very moment; the next look begins it
        return KeptAnswer(is_same=True, status=None, headers={}, body=None)
    return KeptAnswer(
        is_same=bytes(row["fingerprint"]) == request.fingerprint,
        status=row["status"],
        headers=row["headers"] or {},
        body=None if row["answer"] is None else bytes(row["answer"]),
    )


def finish(
    database: Database,
    request: KeptRequest,
    locked_until: datetime,
    *,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """Keep the answer of a request that was begun."""
    values = {
        "locked_until": locked_until,
        "status": status,
        "headers": Jsonb(dict(headers)),
        "answer": body,
    }
    with database.transaction(request.tenant, claim=claim_of(request.user or "")) as connection:
        connection.execute(load("serve/idempotency")["finish"], values | _name(request))


def abandon(database: Database, request: KeptRequest, locked_until: datetime) -> None:
    """Forget a request that had no lasting answer, so that it can be done again at once."""
    with database.transaction(request.tenant, claim=claim_of(request.user or "")) as connection:
        connection.execute(
            load("serve/idempotency")["abandon"], {"locked_until": locked_until} | _name(request)
        )


def _name(request: KeptRequest) -> dict[str, object]:
    return {"token": request.token, "key": request.key}
