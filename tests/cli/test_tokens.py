"""`htm tokens` shows a secret once, and what is stored of it opens nothing."""

from __future__ import annotations

import hashlib

from htm_core.db.database import Database
from tests.cli.conftest import Htm


def test_a_token_is_made_shown_once_listed_and_revoked(
    htm: Htm, database: Database, tenant: str
) -> None:
    made = htm(
        "tokens",
        "create",
        "laptop",
        "--user",
        "ann",
        "--scope",
        "read,admin",
        "--expires-in",
        "90",
        "--json",
    ).json
    assert made["secret"].startswith("htm_")
    assert made["token"]["scopes"] == ["read", "admin"]
    assert made["token"]["user"] == "ann"
    [listed] = htm("tokens", "list", "--json").json
    assert listed["name"] == "laptop"
    assert made["secret"] not in str(listed)
    with database.transaction(tenant) as connection:
        rows = connection.execute("select t::text as row, digest from tokens t").fetchall()
    assert made["secret"] not in str(rows)
    assert bytes(rows[0]["digest"]) == hashlib.sha256(made["secret"].encode()).digest()
    assert "laptop" in htm("tokens").out
    again = htm("tokens", "create", "laptop")
    assert again.code == 2
    assert "no token of the tenant has" in again.err
    assert htm("tokens", "revoke", listed["id"][:8]).code == 0
    assert htm("tokens", "list", "--json").json == []
    assert len(htm("tokens", "list", "--revoked", "--json").json) == 1
    assert htm("tokens", "revoke", "laptop").code == 3


def test_scopes_and_lengths_that_make_no_sense_are_refused(htm: Htm) -> None:
    assert htm("tokens", "create").code == 2
    assert htm("tokens", "create", "x", "--scope", "root").code == 2
    assert htm("tokens", "create", "x", "--expires-in", "1e15").code == 2


def test_a_server_for_everybody_without_tokens_does_not_start(htm: Htm) -> None:
    refused = htm("serve", "--no-auth", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "127.0.0.1" in refused.err
