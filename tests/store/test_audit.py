"""The audit: entries are added and never changed, and whatever is done to them behind its back shows."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg import errors as pg

from htm_core.base.errors import HTMError
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY, claim_of
from htm_core.forgetting import store_audit

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def write(
    database: Database, tenant: str, *, owner: str = "ann", kind: str = "erase", **more: Any
) -> store_audit.Recorded:
    with database.transaction(tenant, claim=claim_of(owner)) as connection:
        return store_audit.record(
            connection, id=uuid.uuid4(), kind=kind, owner=owner, robot="atlas", at=NOW, **more
        )


def problems(database: Database, tenant: str) -> list[tuple[int, str]]:
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        return [(row["seq"], row["problem"]) for row in store_audit.problems(connection)]


def test_a_digest_is_that_of_the_one_before_and_of_the_body(
    database: Database, tenant: str
) -> None:
    first = write(database, tenant, about={"session": "chat"}, facts={"nodes": 3})
    second = write(database, tenant)
    with database.owner() as connection:
        rows = connection.execute(
            "select chain, body, encode(digest, 'hex') as digest from audit where tenant = %s order by seq",
            [tenant],
        ).fetchall()
    before = str(rows[0]["chain"])
    for row, recorded in zip(rows, (first, second), strict=True):
        before = hashlib.sha256(f"{before}\n{row['body']}".encode()).hexdigest()
        assert before == row["digest"] == recorded.digest
    assert problems(database, tenant) == []


def test_names_are_digests_by_a_key_of_the_tenant(database: Database, tenant: str) -> None:
    write(database, tenant, owner="ann@example.com", about={"session": "ann's secret chat"})
    write(database, f"{tenant}-2", owner="ann@example.com")
    with database.owner() as connection:
        rows = connection.execute(
            "select a::text as row, body from audit a where tenant like %s order by tenant",
            [tenant + "%"],
        ).fetchall()
    assert not any(word in row["row"] for row in rows for word in ("ann@", "secret"))
    plain = hashlib.sha256(b"ann@example.com").hexdigest()
    digests = [json.loads(row["body"])["user"] for row in rows]
    assert len(set(digests)) == 2, "another tenant has another key"
    assert plain not in digests
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        assert digests[0] in store_audit.digests_of(connection, "user", "ann@example.com")
        assert digests[0] not in store_audit.digests_of(connection, "session", "ann@example.com")


@pytest.mark.parametrize(
    ("harm", "shown"),
    [
        ("update audit set body = replace(body, '\"nodes\":2', '\"nodes\":7') where tenant = %s and seq = 2", [(2, "changed")]),
        ("update audit set kind = 'purge' where tenant = %s and seq = 2", [(2, "changed")]),
        ("update audit set at = at - interval '1 day' where tenant = %s and seq = 2", [(2, "changed")]),
        ("update audit set owner = '' where tenant = %s and seq = 2", [(2, "changed")]),
        ("update audit set body = 'no json' where tenant = %s and seq = 2", [(2, "changed")]),
        ("update audit set digest = sha256('x') where tenant = %s and seq = 2", [(2, "changed"), (3, "changed")]),
        ("delete from audit where tenant = %s and seq = 1", [(2, "missing")]),
        ("delete from audit where tenant = %s and seq = 2", [(3, "missing")]),
        ("delete from audit where tenant = %s and seq = 3", [(3, "cut")]),
        ("delete from audit where tenant = %s", [(3, "cut")]),
    ],
)  # fmt: skip
def test_what_was_changed_or_taken_away_shows(
    database: Database, tenant: str, harm: Any, shown: list[tuple[int, str]]
) -> None:
    for number in (1, 2, 3):
        write(database, tenant, facts={"nodes": number})
    assert problems(database, tenant) == []
    with database.owner() as connection:
        assert connection.execute(harm, [tenant]).rowcount
    assert problems(database, tenant) == shown


@pytest.mark.parametrize(
    "harm",
    [
        "insert into audit (tenant, chain, seq, id, owner, kind, at, body, digest) select tenant, chain, 9, "
        "gen_random_uuid(), owner, kind, at, body, digest from audit",
        "update audit set kind = 'none'",
        "delete from audit",
        "truncate audit",
        "select * from audit_chains",
        "update audit_chains set entries = 0",
        "delete from audit_chains",
    ],
)
@pytest.mark.parametrize("role", ["app", "worker"])
def test_who_serves_verbs_can_add_entries_and_nothing_else(
    database: Database, tenant: str, harm: Any, role: str
) -> None:
    write(database, tenant)
    before = contents(database, tenant)
    with (
        pytest.raises((HTMError, pg.InsufficientPrivilege)),
        entered(database, tenant, role) as connection,
    ):
        connection.execute(harm)
    assert contents(database, tenant) == before


def test_entries_written_at_the_same_time_have_one_order(database: Database, tenant: str) -> None:
    threads = [
        threading.Thread(target=lambda: [write(database, tenant) for _ in range(5)])
        for _ in range(6)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert problems(database, tenant) == []
    assert len(contents(database, tenant)) == 30


def test_a_transaction_that_fails_leaves_no_entry_and_no_gap(
    database: Database, tenant: str
) -> None:
    write(database, tenant)

    def fail() -> None:
        with database.transaction(tenant, claim=claim_of("ann")) as connection:
            store_audit.record(
                connection, id=uuid.uuid4(), kind="erase", owner="ann", robot="atlas", at=NOW
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    write(database, tenant)
    assert problems(database, tenant) == []
    assert len(contents(database, tenant)) == 2


def contents(database: Database, tenant: str) -> list[Any]:
    with database.owner() as connection:
        return connection.execute(
            "select * from audit where tenant = %s order by seq", [tenant]
        ).fetchall()


def entered(database: Database, tenant: str, role: str) -> Any:
    if role == "app":
        return database.transaction(tenant, claim=EVERYBODY)
    return database.transaction(tenant, role="htm_worker")
