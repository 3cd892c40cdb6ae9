"""Databases that cannot be reached, are busy or end the connection: told as what they are, never with a password."""

from __future__ import annotations

import logging
import socket
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from htm_core import (
    DatabaseUnavailable,
    InvalidInput,
    Memory,
    QueryTimeout,
    SchemaOutdated,
    Settings,
)
from htm_core.db.database import Database
from htm_core.db.database import database as database_of
from htm_core.db.errors import redact
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

PASSWORD = "correct-horse-battery"
IMPATIENT = Settings(worker="off", pool_timeout=2.0, migrate_url=SETTINGS.migrate_url)


def at(url: str) -> Memory:
    return Memory(url=url, embedder=HashEmbedder(), settings=IMPATIENT)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def refused(url: str, caplog: pytest.LogCaptureFixture) -> str:
    """What is said of a database that cannot be reached; nowhere does its password stand."""
    caplog.set_level(logging.DEBUG)
    memory = at(url)
    with pytest.raises(DatabaseUnavailable) as caught:
        memory.remember("hello")
    told = [
        str(caught.value),
        repr(caught.value),
        caplog.text,
        repr(memory),
        repr(runtime(url, IMPATIENT).database),
    ]
    for text in [*told, "".join(traceback.format_exception(caught.value))]:
        assert PASSWORD not in text
    return str(caught.value)


def test_a_closed_port_is_told(closed: int, caplog: pytest.LogCaptureFixture) -> None:
    assert "refused" in refused(f"postgresql://me:{PASSWORD}@127.0.0.1:{closed}/htm", caplog)


def test_an_unknown_host_is_told(caplog: pytest.LogCaptureFixture) -> None:
    told = refused(f"host=no-such-host.invalid user=me password={PASSWORD}", caplog)
    assert (
        "no-such-host.invalid" in told or "[Errno" in told
    )  # the oldest drivers say what failed, but not of which host


@pytest.mark.timeout(60)
def test_a_server_that_never_answers_is_waited_for_no_longer_than_the_settings_say(
    silent: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert "timeout" in refused(f"postgresql://me:{PASSWORD}@127.0.0.1:{silent}/htm", caplog)


def test_the_message_says_where_to_look(closed: int, caplog: pytest.LogCaptureFixture) -> None:
    said = refused(f"postgresql://127.0.0.1:{closed}/htm", caplog)
    assert "HTM_DATABASE_URL" in said
    assert "htm doctor" in said


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        f"postgres+psycopg://me:{PASSWORD}@localhost/htm",
        f"postgresql://me:{PASSWORD}@more@localhost/htm",
        f"postgresql://me:{PASSWORD}/more@localhost/htm",
        f"postgresql://me:p/{PASSWORD}@localhost/htm",
        f"postgresql://me:{PASSWORD}%@localhost/htm",
        f"postgresql://me@localhost:{PASSWORD}/htm",
        f"host=localhost password='{PASSWORD}",
        f"host=localhost nonsense={PASSWORD}",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_at_once_without_being_shown(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        at(url)
    told = "".join(traceback.format_exception(caught.value))
    assert "postgresql://USER:PASSWORD@HOST" in told
    assert PASSWORD not in told


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("host=h password=secret user=me", "host=h password=*** user=me"),
        ("host=h password='se cr\\'et' user=me", "host=h password=*** user=me"),
        ("PASSWORD = secret", "PASSWORD = ***"),
        ("no secret here", "no secret here"),
    ],
)
def test_passwords_of_connection_strings_are_taken_out_of_messages(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_databases_whose_settings_differ_only_in_a_secret_are_two(
    url: str | None, home: object
) -> None:
    def of(secret: str) -> Database:
        return database_of(url="postgresql://h/d", home=home, settings=Settings(migrate_url=secret))  # type: ignore[arg-type]

    assert of("postgresql://a/b") is of("postgresql://a/b")
    assert of("postgresql://a/b") is not of("postgresql://c/d")


def test_a_missing_database_is_named(database: Database) -> None:
    words = psycopg.conninfo.conninfo_to_dict(database.dsn("htm_app").get_secret_value()) | {
        "dbname": "no_such_database"
    }
    with pytest.raises(DatabaseUnavailable, match="no_such_database"):
        at(psycopg.conninfo.make_conninfo(**words)).remember("x")


def test_a_schema_that_is_not_there_is_named_with_the_command(database: Database) -> None:
    settings = IMPATIENT.model_copy(update={"schema_": "not_here", "auto_migrate": False})
    other = Database(
        url=database.dsn("htm_app").get_secret_value(),
        home=database.address.home,
        settings=settings,
    )
    with pytest.raises(SchemaOutdated, match=r"none in the schema not_here.*htm migrate"):
        other.open()


def test_a_slow_statement_is_a_query_timeout(make: Make) -> None:
    memory = make(settings=IMPATIENT.model_copy(update={"statement_timeout": 0.3}))
    memory.remember("quick")
    with (
        pytest.raises(QueryTimeout, match="statement_timeout"),
        memory._engine.database.transaction("t") as connection,
    ):
        connection.execute("select pg_sleep(30)")
    assert memory.remember("quick again").content == "quick again"


@pytest.mark.timeout(60)
def test_a_lock_held_by_somebody_else_is_a_query_timeout_and_not_a_wait_for_ever(
    make: Make, database_url: str, tenant: str
) -> None:
    memory = make(settings=IMPATIENT.model_copy(update={"statement_timeout": 0.5}))
    memory.remember("held", session="s")
    with psycopg.connect(database_url) as other:
        other.execute("select * from htm.sessions where tenant = %s for update", [tenant])
        with pytest.raises(QueryTimeout, match="lock"):
            memory.remember("wants the same row", session="s")
    memory.remember("the row is free", session="s")
    assert [mention.content for mention in memory.timeline(session="s")] == [
        "held",
        "the row is free",
    ]


def test_after_its_sessions_were_ended_the_next_call_works(make: Make, database_url: str) -> None:
    """All of the pool at once, as a server's restart does; none of the dead ones is handed out or waited for."""
    memory = make(settings=IMPATIENT.model_copy(update={"pool_min": 4}))
    memory.remember("before")
    with memory._engine.database.transaction("t") as connection:
        row = connection.execute("select session_user::text as login").fetchone()
    with psycopg.connect(database_url, autocommit=True) as admin:
        ended = admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s and pid <> pg_backend_pid()",
            [(row or {})["login"]],
        ).fetchall()
    assert ended
    memory.remember("after")
    assert {node.content for node in memory.list()} == {"before", "after"}


@pytest.mark.timeout(60)
def test_a_pool_that_is_used_up_is_told_as_that(make: Make) -> None:
    memory = make(
        settings=IMPATIENT.model_copy(update={"pool_min": 1, "pool_max": 1, "pool_timeout": 0.5})
    )
    memory.remember("there")
    holding, free = threading.Event(), threading.Event()

    def hold() -> None:
        with memory._engine.database.transaction("t"):
            holding.set()
            free.wait(30)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(hold)
        holding.wait(30)
        try:
            with pytest.raises(DatabaseUnavailable, match=r"Settings\.pool_max"):
                memory.remember("no connection for this")
        finally:
            free.set()
        held.result()
    memory.remember("now there is")


def test_a_tenant_is_the_same_whatever_encoding_the_environment_names(
    make: Make, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    settings = Settings(
        worker="off", pool_timeout=19.0, migrate_url=SETTINGS.migrate_url
    )  # a pool of its own
    named = f"{tenant}-jörg's \\ 100 %"
    with make(tenant=named) as memory, make(tenant=named, settings=settings) as elsewhere:
        elsewhere.remember("Der Hund heißt Keks.")
        assert [hit.content for hit in memory.recall("Keks", mode="text")] == [
            "Der Hund heißt Keks."
        ]


def test_a_closed_pool_wakes_no_server(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(worker="off", pool_timeout=18.0, migrate_url=SETTINGS.migrate_url)
    own = Database(url=database.address.url, home=database.address.home, settings=settings)
    with own.transaction("closed") as connection:
        connection.execute("select 1")
    own.pools.of("htm_app", own.address).close()
    monkeypatch.setattr(own.address, "dsn", lambda role: pytest.fail("the server was looked for"))
    with pytest.raises(DatabaseUnavailable), own.transaction("closed"):
        pass


def test_a_connection_on_which_no_transaction_can_begin_goes_back_unharmed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        worker="off", pool_min=1, pool_max=1, pool_timeout=17.0, migrate_url=SETTINGS.migrate_url
    )
    own = Database(url=database.address.url, home=database.address.home, settings=settings)
    try:
        with monkeypatch.context() as broken:
            broken.setattr(
                own.transactions, "_entering", lambda *_, **_options: [("select 1 / 0", {})]
            )
            for _ in range(3):
                with pytest.raises(InvalidInput, match="division by zero"), own.transaction("any"):
                    pass
        with own.transaction("any") as connection:
            assert connection.execute("select this_tenant() as tenant").fetchone() == {
                "tenant": "any"
            }
    finally:
        own.close()


def test_a_server_that_is_back_is_used_before_its_pool_looks_for_it_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a fail-over: the pool has failed to connect, and tries again at growing intervals."""
    memory = make()
    memory.remember("The heron nests by the river.", key="heron")
    database = memory._engine.database
    pool = database.pools.of("htm_app", database.address)
    failures, late, getconn, here = [3], [True], pool.getconn, threading.get_ident()

    def given(timeout: float | None = None) -> object:
        """No connection the first time."""
        if threading.get_ident() == here and (late.pop() if late else False):
            raise PoolTimeout("couldn't get a connection")
        return getconn(timeout)

    monkeypatch.setattr(pool, "getconn", given)
    monkeypatch.setattr(pool, "get_stats", lambda: {"connections_errors": failures[0]})
    assert memory.get("heron").content == "The heron nests by the river."
    failures[0], late[:] = 4, [True]
    assert memory.remember("The heron fishes at dawn.").is_new
    late[:] = [True]
    with pytest.raises(DatabaseUnavailable, match="all connections of this process are in use"):
        memory.remember("It has not failed since then: they are in use.")
