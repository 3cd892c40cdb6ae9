"""What a database or a role sets for its sessions changes no answer: each verb is served under hostile settings, through a pooler too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from htm_core import HTMError, StorageError, shutdown
from htm_core.db.migrate import migrate
from tests.servers.cluster import ADMIN, APP, Cluster
from tests.servers.conftest import Open
from tests.servers.pooler import Pooler
from tests.servers.verbs import every_verb

HOSTILE = {
    "datestyle": "German, DMY", "intervalstyle": "sql_standard", "timezone": "Asia/Kathmandu", "standard_conforming_strings": "off",
    "backslash_quote": "off", "array_nulls": "off", "transform_null_equals": "on", "bytea_output": "escape", "extra_float_digits": "-10",
    "xmlbinary": "hex", "row_security": "off", "quote_all_identifiers": "on", "search_path": "pg_catalog",
    "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on", "client_encoding": "latin1",
    "enable_indexscan": "off", "escape_string_warning": "on", "gin_fuzzy_search_limit": "1",
}  # fmt: skip


@contextmanager
def set_for(cluster: Cluster, of: str, settings: dict[str, str]) -> Iterator[None]:
    """Settings of the database, or of a role, for every session that begins within."""
    with cluster.admin() as admin:
        admin.autocommit = True
        for name, value in settings.items():
            admin.execute(f"alter {of} set {name} = {psycopg.sql.Literal(value).as_string(admin)}")
    _end_sessions(cluster)
    try:
        yield
    finally:
        shutdown()
        with psycopg.connect(
            cluster.dsn(ADMIN), autocommit=True, options="-c default_transaction_read_only=off"
        ) as admin:
            admin.execute(f"alter {of} reset all")  # type: ignore[arg-type]
        _end_sessions(cluster)


def _end_sessions(cluster: Cluster) -> None:
    shutdown()
    with cluster.admin() as admin:
        admin.autocommit = True
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null"
        )


@pytest.mark.parametrize("of", ["database htm", f"role {APP}"])
@pytest.mark.parametrize("pooled", [False, True])
def test_every_verb_is_served_under_all_hostile_settings(
    oldest: Cluster, pooler: Pooler, memory_at: Open, of: str, pooled: bool
) -> None:
    with (
        set_for(oldest, of, HOSTILE),
        memory_at(pooler.dsn() if pooled else oldest.dsn()) as memory,
    ):
        every_verb(memory)
        memory.remember("It is kept.", tags=["a:b"])
        assert memory.timeline()[0].at.tzinfo is not None
        memory.profile()
        memory.tidy()
        memory.jobs.list()


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_each_hostile_setting_changes_nothing(oldest: Cluster, memory_at: Open, name: str) -> None:
    with set_for(oldest, "database htm", {name: HOSTILE[name]}), memory_at(oldest.dsn()) as memory:
        every_verb(memory)


def test_a_schema_is_made_under_hostile_settings(oldest: Cluster) -> None:
    oldest.create("hostile")
    try:
        with set_for(oldest, "database hostile", HOSTILE):
            assert migrate(oldest.dsn(ADMIN, database="hostile")).names
    finally:
        oldest.drop("hostile")


def test_a_read_only_database_is_called_what_it_is(oldest: Cluster, memory_at: Open) -> None:
    with (
        set_for(oldest, "database htm", {"default_transaction_read_only": "on"}),
        memory_at(oldest.dsn()) as memory,
        pytest.raises(StorageError, match="default_transaction_read_only") as refused,
    ):
        memory.remember("It cannot be kept.")
    assert "got a standby" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
def test_a_database_that_is_not_in_utf8_is_refused_in_words(
    oldest: Cluster, memory_at: Open, encoding: str
) -> None:
    with oldest.admin() as admin:
        admin.autocommit = True
        admin.execute(f"create database other encoding '{encoding}' locale 'C' template template0")
    try:
        for attempt in (
            lambda: migrate(oldest.dsn(ADMIN, database="other")),
            lambda: memory_at(oldest.dsn(database="other")).remember("Gr\u00fc\u00dfe"),
        ):
            with pytest.raises(HTMError, match=f"UTF8, got one in {encoding}"):
                attempt()
    finally:
        shutdown()
        oldest.drop("other")
