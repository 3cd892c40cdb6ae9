"""`htm audit` shows what was erased, and `htm audit verify` whether all of it is still there as it was written."""

from __future__ import annotations

import pytest

from htm_core.db.database import Database
from tests.cli.conftest import Htm


def test_what_was_erased_is_listed_and_verified(htm: Htm, database: Database, tenant: str) -> None:
    assert "no such entries" in htm("audit").err
    htm("remember", "The door code is lily.", "--key", "door", "--no-wait")
    erased = htm("erase", "--key", "door", "--yes", "--json").json
    [entry] = htm("audit", "--json").json
    assert (entry["id"], entry["digest"], entry["kind"]) == (
        erased["receipt"],
        erased["digest"],
        "erase",
    )
    assert htm("audit", "--key", "door", "--json").json == [entry]
    assert htm("audit", "--user", "door", "--json").json == []
    assert "erase" in htm("audit").out
    assert "All 1 entries" in htm("audit", "verify", erased["digest"]).out
    assert htm("audit", "verify", "--json").json == {"entries": 1, "ok": True, "problems": []}
    with database.owner() as connection:
        connection.execute("update audit set kind = 'purge' where tenant = %s", [tenant])
    answer = htm("audit", "verify")
    assert answer.code == 1
    assert "is not as it was written" in answer.err


def test_the_text_of_an_erasure_has_its_receipt(htm: Htm) -> None:
    htm("remember", "x", "--session", "s", "--no-wait")
    answer = htm("erase", "--session", "s", "--yes")
    assert "digest" in answer.out


def test_digests_are_for_verifying(htm: Htm) -> None:
    assert htm("audit", "list", "0" * 64).code == 2


def test_commands_redact_where_the_environment_says_so(
    htm: Htm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTM_REDACTOR", "default")
    assert (
        htm("remember", "pay by 4111 1111 1111 1111", "--no-wait", "--json").json["content"]
        == "pay by [redacted:card]"
    )
    monkeypatch.setenv("HTM_REDACTOR", "on")
    refused = htm("remember", "x", "--no-wait")
    assert refused.code != 0
    assert "HTM_REDACTOR" in refused.err


def test_a_whole_tenant_is_erased_by_its_name_alone(
    htm: Htm, database: Database, tenant: str
) -> None:
    assert htm("remember", "The door code is 4711.", "--user", "ann").code == 0
    for refused in (("--whole-tenant", tenant), ("--whole-tenant", tenant, "--user", "ann", "--yes"),
                    ("--whole-tenant", "another", "--yes"), ("--yes",)):  # fmt: skip
        assert htm("erase", *refused).code == 2
    assert len(htm("list", "--user", "ann", "--json").json) == 1
    erased = htm("erase", "--whole-tenant", tenant, "--yes", "--json").json
    assert erased["erased"]["nodes"] == 1
    assert htm("list", "--user", "ann", "--json").json == []
    assert "All 2 entries" in htm("audit", "verify", erased["digest"]).out
