"""`htm import postgresql://…`: one command moves a database in, and says what it did, what it did not, and no password."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from htm_core.cli import importing_databases
from htm_core.models.embedders import resolve
from tests.cli.conftest import Htm
from tests.importers import peers
from tests.importers.conftest import address_of, drop_database, new_database, recorded

ROWS = len(peers.TEXTS) + 1
SECRET = "hunter2secret"


@pytest.fixture(scope="module")
def dsn(database_url: str) -> Iterator[str]:
    """A database of langchain-postgres, with a table of somebody else's."""
    made = new_database(database_url)
    recorded("langchain_postgres", made)
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("create table invoices (number integer primary key)")
    yield made
    drop_database(database_url, made)


@pytest.fixture(autouse=True)
def real_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """--embedder names real models here, of which none is loaded."""
    monkeypatch.setattr(importing_databases, "make_embedder", resolve)


@pytest.fixture(scope="module")
def stranger(dsn: str) -> Iterator[str]:
    """The address of a login with a password that may read nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"create role stranger login password '{SECRET}'")
        yield address_of(make_conninfo(dsn, user="stranger", password=SECRET))
        connection.execute("drop role stranger")


def test_one_command_moves_it_in_and_twice_changes_nothing(htm: Htm, dsn: str) -> None:
    words = ("import", address_of(dsn), "--embedder", "Model:hash", "--no-wait")
    first, then = htm(*words, "--dry-run", "--json"), htm(*words)
    assert (first.code, then.code) == (0, 0), first.err + then.err
    assert first.json["dry_run"] is True
    assert [(each["table"], each["imported"]) for each in first.json["tables"]] == [
        ("guide", ROWS), ("langchain_pg_embedding", 30), ("langchain_pg_embedding", 30), ("chat_history", 14)
    ]  # fmt: skip
    assert first.json["others"] == ["invoices"]
    assert f"{ROWS} new, 0 changed, 0 known, 0 skipped" in then.out
    assert "invoices" in then.err
    again = htm(*words).out
    assert f"0 new, 0 changed, {ROWS} known, 0 skipped" in again
    assert "0 new, 0 changed, 14 known, 0 skipped" in again


def test_one_table_goes_where_it_is_told_to(htm: Htm, dsn: str) -> None:
    words = (
        "import",
        address_of(dsn),
        "--table",
        "guide",
        "--collection",
        "town",
        "--embedder",
        "Model:hash",
        "--json",
    )
    [table] = htm(*words).json["tables"]
    assert (table["into"], table["model"], table["imported"]) == (
        "collection town",
        "Model:hash",
        ROWS,
    )
    assert "got guide, langchain_pg_embedding" in htm(*words[:2], "--collection", "town").err


def test_what_was_said_gets_its_vectors_before_the_command_ends(htm: Htm, dsn: str) -> None:
    answer = htm("import", address_of(dsn), "--table", "chat_history", "--user", "ines")
    assert "14 new" in answer.out, answer.err
    stats = htm("stats", "--user", "ines", "--json").json
    assert (stats["mentions"], stats["pending_jobs"]) == (14, 0)
    assert stats["vectors"] == stats["nodes"] > 0


def test_its_report_fits_a_narrow_terminal(
    htm: Htm, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = htm("import", address_of(dsn), "--embedder", "Model:hash", "--dry-run").out
    assert "langchain-pgvectorstore" in out
    assert max(map(len, out.splitlines())) <= 60


def test_a_database_with_nothing_known_says_which_tables_it_has(htm: Htm, dsn: str) -> None:
    answer = htm("import", address_of(dsn), "--table", "invoices")
    assert answer.code == 2
    assert "number int4" in answer.err
    none = htm("import", address_of(dsn), "--kind", "langchain-pgvectorstor")
    assert none.code == 2
    assert "expected a kind of" in none.err
    assert htm("import", address_of(dsn), "--table", "guides").code == 3


def test_without_rights_it_says_which_and_shows_no_password(
    htm: Htm, stranger: str, dsn: str
) -> None:
    answer = htm("import", stranger, "--embedder", "Model:hash")
    assert answer.code == 1
    assert "grant select on guide" in answer.err
    wrong = [
        htm("import", stranger.replace("foreign_", "no_such_")),
        htm("import", f"postgresql://ann:{SECRET}@127.0.0.1:9/none"),
        htm("import", f"postgresql://ann:{SECRET}@x@y/none"),
        htm("import", f"postgresql+asyncpg://ann:{SECRET}@127.0.0.1:9/none?{SECRET}"),
    ]
    assert [each.code for each in wrong] == [1, 1, 2, 2]
    assert all("expected" in each.err for each in wrong)
    assert not any(SECRET in each.out + each.err for each in (answer, *wrong))


def test_files_and_databases_do_not_mix(htm: Htm, dsn: str) -> None:
    assert "got both" in htm("import", address_of(dsn), "talk.jsonl").err
    assert "got files" in htm("import", "talk.jsonl", "--table", "guide").err
