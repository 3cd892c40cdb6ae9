"""The audit: entries that say what was erased, replaced or undone, when and by whom. None holds a
word of what it is about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ..db.database import Connection, Row
from ..db.queries import load

_KIND = re.compile(r"[a-z][a-z_]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An entry that was written: its id, and the digest that stands for it and for all
    before it.
    """

    id: str
    digest: str


def record(
    connection: Connection,
    *,
    id: UUID,
    kind: str,
    owner: str,
    robot: str,
    at: datetime,
    about: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Recorded:
    """Write an entry; the last thing that a transaction does, since others who write entries of
    this tenant wait for its end.

    `kind` is one word such as "erase" or "supersede"; `owner` and `robot` are those of the memory
    that acts. `about` are names of what it is about ("user", "session", "key"), which are stored as
    digests. `facts` are JSON values: numbers, ids, rules, times, and never words of a memory.
    """
    assert _KIND.fullmatch(kind), kind
    row = connection.execute(load("forgetting/store_audit")["open_chain"]).fetchone()
    assert row is not None  # a function that is no set has one row
    chain, named = row["chain"], dict(about or {})
    digests = _digests(connection, chain, [("user", owner), *named.items()])
    body = canonical(
        {
            "id": str(id),
            "kind": kind,
            "at": at.astimezone(UTC).isoformat(),
            "robot": robot,
            "user": digests[0] or None,
            "about": dict(zip(named, digests[1:], strict=True)),
            "facts": dict(facts or {}),
        }
    )
    values = {"chain": chain, "id": id, "owner": owner, "kind": kind, "at": at, "body": body}
    row = connection.execute(load("forgetting/store_audit")["record"], values).fetchone()
    assert row is not None  # a function that is no set has one row
    return Recorded(id=str(id), digest=row["digest"])


def canonical(body: Mapping[str, Any]) -> str:
    """JSON that is written in one way only: ASCII, keys in order, no spaces."""
    return json.dumps(
        body, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def _digests(connection: Connection, chain: UUID, named: Sequence[tuple[str, str]]) -> list[str]:
    values = {
        "chain": chain,
        "kinds": [kind for kind, _ in named],
        "names": [name for _, name in named],
    }
    row = connection.execute(load("forgetting/store_audit")["names"], values).fetchone()
    assert row is not None  # a function that is no set has one row
    return list(row["digests"])


def digests_of(connection: Connection, kind: str, name: str) -> list[str]:
    """Return the digests of a name in the tenant's entries, one for each chain."""
    row = connection.execute(
        load("forgetting/store_audit")["digests"], {"kind": kind, "name": name}
    ).fetchone()
    assert row is not None  # a function that is no set has one row
    return list(row["digests"])


def entries(
    connection: Connection,
    *,
    owners: Iterable[str] | None,
    kind: str | None,
    about: tuple[str, str] | None,
    before: UUID | None,
    limit: int,
) -> list[Row]:
    """Entries, newest first: of these owners or of everybody, of one kind, about one user, session
    or key.
    """
    values = {
        "owners": None if owners is None else sorted(_of_owners(connection, owners)),
        "kind": kind,
        "about": None if about is None else about[0],
        "subjects": [] if about is None else digests_of(connection, *about),
        "before": before,
        "limit": limit,
    }
    return connection.execute(load("forgetting/store_audit")["entries"], values).fetchall()


def _of_owners(connection: Connection, owners: Iterable[str]) -> set[str]:
    return {
        digest
        for owner in owners
        for digest in (digests_of(connection, "user", owner) if owner else [""])
    }


def problems(connection: Connection) -> list[Row]:
    """Return what is wrong with the tenant's entries, of all owners: `chain`, `seq`, and "changed",
    "missing" or "cut".
    """
    return connection.execute(load("forgetting/store_audit")["problems"]).fetchall()


def size(connection: Connection) -> int:
    """Return the number of the tenant's entries, of all owners."""
    row = connection.execute(load("forgetting/store_audit")["size"]).fetchone()
    assert row is not None  # a function that is no set has one row
    return int(row["entries"])


def found(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Those of some digests that entries have."""
    values = {"digests": [bytes.fromhex(digest) for digest in digests]}
    return {
        row["digest"]
        for row in connection.execute(load("forgetting/store_audit")["has_digests"], values)
    }


def exists(connection: Connection, id: UUID) -> bool:
    """True if an entry has this id."""
    return (
        connection.execute(load("forgetting/store_audit")["exists"], {"id": id}).fetchone()
        is not None
    )
