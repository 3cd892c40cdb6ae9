"""A login without rights: whatever it locks, and whatever it notifies, no worker, verb or migration stands still for it."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from htm_core import Draft, HTMError
from htm_core.base.types import Eviction
from htm_core.db import indexes
from htm_core.db.listening import ListenConnection
from htm_core.db.migrate import migrate
from htm_core.db.transactions import take_locks
from htm_core.engine.groups.listener import POLL_SECONDS, Hints
from tests.attacks.installations import Installation, installed
from tests.servers.cluster import OUTSIDER, Cluster
from tests.servers.conftest import Open
from tests.servers.verbs import every_verb

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prod(modern: Cluster) -> Installation:
    return installed(modern, name="prod")


@pytest.fixture(scope="module")
def neighbour(modern: Cluster) -> Installation:
    return installed(modern, name="staging")


@pytest.fixture(params=["outsider", "worker of another installation"])
def stranger(request: pytest.FixtureRequest, prod: Installation, neighbour: Installation) -> str:
    """A login that may connect to prod and is no member of its roles."""
    return OUTSIDER if request.param == "outsider" else neighbour.login(*neighbour.roles.names)


# All keys that the advisory locks of 0.1.0 had in a tenant, which anybody can compute.
EVERY_OLD_LOCK = """
select pg_advisory_lock(hashtextextended('htm relate ' || %(tenant)s::text, 0)),
       pg_advisory_lock(hashtextextended(%(tenant)s::text || chr(31) || '' || chr(31) || 'ferry', 0)),
       pg_advisory_lock(hashtextextended(%(tenant)s::text || chr(31) || '' || chr(31) || 'file:' || %(path)s::text, 0)),
       pg_advisory_lock(hashtextextended('htm drawer ' || %(tenant)s::text || chr(31) || '' || chr(31) || 'law' || chr(31) || 'd', 0)),
       pg_advisory_lock(hashtext('htm-memory migrations'), hashtext('htm')),
       pg_advisory_lock(hashtext('htm-memory indexes'), hashtext('htm'))
"""


@contextlib.contextmanager
def holding_everything_it_may(
    prod: Installation, stranger: str, tenant: str, path: str = ""
) -> Iterator[None]:
    """Advisory locks on all keys that were ever guessable, those that are held now, and each table that it may lock."""
    with psycopg.connect(prod.dsn(stranger)) as connection:
        connection.execute(EVERY_OLD_LOCK, {"tenant": tenant, "path": path})
        tables = connection.execute(
            "select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname in ('htm', 'public', 'pg_catalog') and c.relkind in ('r', 'v')"
        ).fetchall()
        locked = []
        for (table,) in tables:
            for mode in (
                "access exclusive",
                "share row exclusive",
                "row exclusive",
                "access share",
            ):
                try:
                    with connection.transaction():
                        connection.execute(f"lock table {table} in {mode} mode nowait".encode())
                except psycopg.Error:
                    continue
                locked.append((str(table), mode))
                break
        assert {table for table, mode in locked if mode != "access share"} <= {
            "pg_catalog.pg_settings"
        }
        assert not [table for table, _ in locked if table.startswith("htm.")], (
            "nor anything of ours at all"
        )
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("select * from htm.locks for update")
        yield


def test_no_lock_of_a_stranger_stops_a_verb_or_a_worker(
    prod: Installation, stranger: str, memory_at: Open, tenant: str, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n\nThe ferry leaves at nine.\n")
    serving = prod.dsn(prod.login(prod.roles.app, prod.roles.worker))
    with (
        holding_everything_it_may(prod, stranger, tenant, str(folder / "one.md")),
        memory_at(serving, statement_timeout=10.0) as memory,
    ):
        every_verb(memory)
        memory.load(folder)
        first, second = (
            memory.remember(f"a text about tea {n}", tags=["drink:tea"]) for n in range(2)
        )
        assert memory.flush(timeout=30), "edges between nodes are jobs, too"
        assert [each.node.id for each in memory.related(first.id)] == [second.id]


def test_no_lock_of_a_stranger_stops_a_migration_or_an_index(
    prod: Installation, stranger: str, memory_at: Open
) -> None:
    with holding_everything_it_may(prod, stranger, "t"):
        assert not migrate(prod.dsn())
        migrate(prod.dsn(), schema="second")  # and not where there is no table yet
        database = memory_at(prod.dsn(), statement_timeout=10.0)._engine.database
        with database.owner() as connection, indexes.sole_builder(connection) as alone:
            assert alone
    with prod.connect() as admin:
        admin.execute("drop schema second cascade")


def test_no_statement_takes_an_advisory_lock() -> None:
    """Their keys are seen by everybody in pg_locks while they are held: none is secret."""
    for path in (ROOT / "htm_core").rglob("*.sql"):
        assert "advisory" not in path.read_text("utf-8"), path


# -- what the locks are for ------------------------------------------------------------------------------------------------


def test_a_thing_is_locked_by_one_transaction_at_a_time_and_nothing_is_left(
    prod: Installation, memory_at: Open, tenant: str
) -> None:
    memory = memory_at(prod.dsn())
    database, inside, most = memory._engine.database, 0, 0

    def enter(n: int) -> None:
        nonlocal inside, most
        with database.transaction(tenant) as connection:
            take_locks(connection, "key", ("", "a"), ("", "b"))
            take_locks(
                connection, "key", ("", "b")
            )  # again, as a writer does that looked at a key before
            connection.execute("select 1")  # with what a writer does next, the locks are there
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(40)))
    assert most == 1
    with database.transaction(tenant) as connection:
        assert connection.execute("select * from locks").fetchall() == []


def test_locks_of_another_tenant_another_kind_and_another_name_are_others(
    prod: Installation, memory_at: Open, tenant: str
) -> None:
    database = memory_at(prod.dsn(), statement_timeout=5.0)._engine.database
    with database.transaction(tenant) as holder:
        take_locks(holder, "key", ("", "a"))
        with database.transaction(f"{tenant}-b") as other:
            take_locks(other, "key", ("", "a"))
        with database.transaction(tenant) as other:
            take_locks(other, "file", ("", "a"))
            take_locks(other, "key", ("", "b"), ("ann", "a"))


@pytest.mark.parametrize("ending", ["rollback", "killed"])
def test_a_lock_ends_with_its_holder(
    prod: Installation, memory_at: Open, tenant: str, ending: str
) -> None:
    memory = memory_at(prod.dsn(), statement_timeout=10.0)
    database = memory._engine.database
    with contextlib.suppress(Exception), database.transaction(tenant) as holder:
        take_locks(holder, "key", ("", "ferry"))
        if ending == "rollback":
            raise KeyError
        with prod.connect() as admin:
            admin.execute("select pg_terminate_backend(%s)", [holder.info.backend_pid])
    assert memory.remember("nine", key="ferry").version == 1


def test_keys_written_by_many_at_once_have_every_version_once(
    prod: Installation, memory_at: Open
) -> None:
    memory = memory_at(prod.dsn(), pool_max=8)
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: memory.remember_many(
                    [Draft(content=f"a {n}", key="a"), Draft(content=f"b {n}", key="b")][
                        :: 1 if n % 2 else -1
                    ]
                ),
                range(24),
            )
        )
    assert [node.version for node in memory.history("a")] == list(range(1, 25))
    assert [node.version for node in memory.history("b")] == list(range(1, 25))


def test_one_process_builds_indexes_and_one_that_died_keeps_nobody_from_it(
    prod: Installation, memory_at: Open
) -> None:
    database = memory_at(prod.dsn())._engine.database
    with database.owner() as first, indexes.sole_builder(first) as alone:
        assert alone
        assert indexes.build_due(database) == []
        with database.owner() as second, indexes.sole_builder(second) as also:
            assert not also
    with database.owner() as second, indexes.sole_builder(second) as alone:
        assert alone
    with (
        contextlib.suppress(HTMError),
        database.owner() as dying,
        indexes.sole_builder(dying) as alone,
    ):
        assert alone
        with prod.connect() as admin:
            admin.execute("select pg_terminate_backend(%s, 5000)", [dying.info.backend_pid])
            assert admin.execute("select pid is not null from htm.index_builder").fetchone() == (
                True,
            )
    with database.owner() as next_one, indexes.sole_builder(next_one) as alone:
        assert alone


# -- notifications -----------------------------------------------------------------------------------------------------------


def test_a_stranger_finds_no_channel_to_listen_to_or_to_notify(
    prod: Installation, stranger: str, memory_at: Open
) -> None:
    with prod.connect(stranger) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select name from htm.notification_channel")
        connection.execute("listen htm_htm")
        memory = memory_at(prod.dsn())
        with memory.group("team", lease=60):
            memory.remember("the ferry leaves at nine")
            assert list(connection.notifies(timeout=1.0)) == []


GARBAGE = [
    "",
    "x",
    "not-an-id",
    "'; drop table htm.nodes; --",
    "0" * 7000,
    "\u2028",
    str(uuid.uuid4()).upper(),
    "{}",
]


def test_a_flood_of_forged_payloads_does_no_work_and_a_true_one_still_arrives(
    prod: Installation, memory_at: Open
) -> None:
    """Sent by a login of the application, which knows the channel: garbage, ids of nobody, and true ids again and again."""
    with prod.connect() as admin:
        (channel,) = admin.execute("select name from htm.notification_channel").fetchone() or ("",)
    login = prod.login(prod.roles.app, prod.roles.worker)
    first, second = (
        memory_at(prod.dsn(login)),
        memory_at(prod.dsn(login) + "&keepalives_count=4"),
    )  # as of two processes
    calls = 0
    with first.group("team", lease=60), second.group("team", lease=60) as group:
        first.remember("said before the flood")
        working = second._engine.working
        _until(lambda: len(working.memory) == 1 and group.status().listening)
        look = working.catch_up

        def counted(*, now: float) -> tuple[Eviction, ...]:
            nonlocal calls
            calls += 1
            return look(now=now)

        working.catch_up = counted  # type: ignore[method-assign]
        stop = threading.Event()

        def flood() -> int:
            sent = 0
            with prod.connect(login) as forger:
                while not stop.is_set():
                    for payload in (*GARBAGE, str(uuid.uuid4()), str(working.id)):
                        forger.execute("select pg_notify(%s, %s)", [channel, payload])
                        sent += 1
            return sent

        with ThreadPoolExecutor(1) as pool:
            sending, begun = pool.submit(flood), time.monotonic()
            time.sleep(2.0)
            first.remember("said in the flood")
            _until(lambda: len(working.memory) == 2)
            stop.set()
            sent, lasted = sending.result(), time.monotonic() - begun
        assert group.status().listening, "garbage is no error"
    assert sent > 500, "it was a flood"
    assert calls <= 20 * lasted + 10, f"{calls} reads in {lasted:.1f} s for {sent} notifications"


def test_garbage_is_no_id_and_a_flood_is_read_to_its_end_without_being_kept(
    prod: Installation, memory_at: Open
) -> None:
    database = memory_at(prod.dsn())._engine.database
    connection = ListenConnection(database)
    with contextlib.closing(connection), prod.connect() as admin:
        (channel,) = admin.execute("select name from htm.notification_channel").fetchone() or ("",)
        wanted = str(uuid.uuid4())
        for payload in (*GARBAGE, wanted, *GARBAGE):
            admin.execute("select pg_notify(%s, %s)", [channel, payload])
        assert connection.hear(seconds=2.0) == {wanted}
        admin.execute(
            "select count(pg_notify(%s, gen_random_uuid()::text)) from generate_series(1, 30000)",
            [channel],
        )
        heard = [len(connection.hear(seconds=0.2)) for _ in range(50)]
        assert 0 < max(heard) <= 10_000
        assert heard[-1] == 0


def test_hints_are_followed_at_once_when_they_are_few_and_together_when_they_are_many() -> None:
    hints, mine, nobody = Hints(), "mine", "nobody"
    assert hints.due({mine}, known={mine}, now=0.0) == ({mine}, False)
    assert hints.due({mine}, known={mine}, now=0.01) == (set(), False)
    assert hints.waiting, "it is not lost"
    assert hints.due((), known={mine}, now=0.06) == ({mine}, False)
    assert not hints.waiting
    follows = [hints.due({mine, nobody}, known={mine}, now=1 + n / 1_000) for n in range(10_000)]
    assert sum(bool(ids) for ids, _ in follows) <= 200
    assert sum(unknown for _, unknown in follows) <= 10 / POLL_SECONDS + 1


def _until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
