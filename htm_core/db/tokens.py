"""Tokens: who may do what over HTTP. A secret is shown once, and only its digest is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from .database import Connection, Database, Row
from .owner_claims import EVERYBODY
from .queries import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A row of the table. `user` is None for what everyone in the tenant shares; `robot` is None
    where the request names it.
    """

    id: str
    tenant: str
    name: str
    user: str | None
    robot: str | None
    scopes: tuple[str, ...]
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


def digest_of(secret: str) -> bytes:
    """Return the digest stored of a secret. One without enough randomness would need a slow hash;
    ours have 256 random bits.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def find(database: Database, secret: str) -> ApiToken | None:
    """The valid token of a secret, of whatever tenant; None for one that is unknown, expired or
    revoked.

    The primary says so: a replica would not know yet what was created or revoked just now.
    """
    rows = database.read("", load("db/tokens")["find"], {"digest": digest_of(secret)}, primary=True)
    return _token(rows[0]) if rows else None


def exists(database: Database) -> bool:
    """True if there is a valid token of any tenant."""
    return bool(database.read("", load("db/tokens")["any"], {}, primary=True)[0]["found"])


def create(database: Database, token: ApiToken, *, secret: str) -> bool:
    """Store a token by the digest of its secret; False when a valid one of its tenant has the name
    already.
    """
    with database.transaction(token.tenant, claim=EVERYBODY, at_home=True) as connection:
        values = {
            "id": UUID(token.id), "digest": digest_of(secret), "name": token.name,
            "owner": token.user or "", "robot": token.robot, "scopes": list(token.scopes),
            "created_at": token.created_at, "expires_at": token.expires_at,
        }  # fmt: skip
        return connection.execute(load("db/tokens")["create"], values).fetchone() is not None


def listed(database: Database, tenant: str, *, revoked: bool = False) -> list[ApiToken]:
    """The tokens of a tenant, the oldest first, with expired ones; with `revoked` also those."""
    with database.transaction(tenant, claim=EVERYBODY, at_home=True) as connection:
        return _tokens(connection, "list", {"revoked": revoked})


def revoke(database: Database, tenant: str, name_or_id: str, *, at: datetime) -> ApiToken | None:
    """End a token for good; None when the tenant has no such one."""
    with database.transaction(tenant, claim=EVERYBODY, at_home=True) as connection:
        revoked = _tokens(connection, "revoke", {"name": name_or_id, "at": at})
    return revoked[0] if revoked else None


def _tokens(connection: Connection, statement: str, values: dict[str, object]) -> list[ApiToken]:
    return [_token(row) for row in connection.execute(load("db/tokens")[statement], values)]


def _token(row: Row) -> ApiToken:
    scopes: Sequence[str] = row["scopes"]
    return ApiToken(
        id=str(row["id"]),
        tenant=row["tenant"],
        name=row["name"],
        user=row["owner"] or None,
        robot=row["robot"],
        scopes=tuple(scopes),
        created_at=row.get("created_at"),
        expires_at=row["expires_at"],
        revoked_at=row.get("revoked_at"),
    )
