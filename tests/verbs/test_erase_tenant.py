"""A whole tenant is erased: nothing of it is left but its audit, it may be interrupted, and others of it start empty."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping

import pytest

from htm_core import InvalidInput, Memory, NotFound, Settings, StorageError
from htm_core.db.database import Database
from htm_core.forgetting import forget, tenant_erasure
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

ERASER = """
import sys
from htm_core import Memory, Settings
from htm_core.forgetting import tenant_erasure
tenant_erasure.BATCH = 40

def progress(rows):
    print(rows, flush=True)
    sys.stdin.readline()

with Memory("eraser", url=sys.argv[1] or None, tenant=sys.argv[2], settings=Settings(worker="off")) as memory:
    memory.erase_tenant(confirm=sys.argv[2], progress=progress)
"""


class Stopped(Exception):
    """The erasure ends here."""


# What workers of other tests, which serve all tenants, change meanwhile.
CHANGING = ("jobs", "supersessions", "supersession_audit", "lexeme_counts")


def steady(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of what workers do not change meanwhile."""
    return {name: rows for name, rows in counts.items() if name not in CHANGING}


def rows_of(database: Database, tenant: str) -> dict[str, int]:
    """How many rows every table with a column for tenants has of one."""
    found = {}
    with database.owner() as connection:
        tables = connection.execute(
            "select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant' "
            "where c.relnamespace = current_schema()::regnamespace and not c.relispartition "
            "and (c.relkind in ('r', 'p') or c.relname = any(%s))",
            [
                list(connection.shards)
            ],  # where Citus distributes the schema, its tables are views of these names
        ).fetchall()
        for table in tables:
            row = connection.execute(
                f"select count(*) as rows from {table['name']} where tenant = %s",  # type: ignore[arg-type]
                [tenant],
            ).fetchone()
            assert row is not None
            if row["rows"]:
                found[table["name"]] = row["rows"]
    return found


def say_much(memory: Memory, *, count: int = 60) -> None:
    memory.remember_many(
        [{"content": f"Message number {number} of {memory.tenant}."} for number in range(count)]
    )
    memory.of(user="ann").remember("Ann's own.", key="own", tags=["some:tag"])
    memory.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
    memory.log("chat").append([{"role": "user", "content": "hello"}])
    assert memory.flush(timeout=30)


def stopping_after(rows: int) -> Callable[[int], None]:
    def progress(done: int) -> None:
        if done >= rows:
            raise Stopped

    return progress


@pytest.fixture
def in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_erasure, "BATCH", 40)


def test_everything_of_all_users_goes_and_a_receipt_stays(
    make: Make, database: Database, tenant: str
) -> None:
    neighbour = f"{tenant}-neighbour"
    with make() as memory, make(tenant=neighbour) as other:
        say_much(memory)
        say_much(other, count=3)
        there = rows_of(database, tenant)
        kept = rows_of(database, neighbour)
        receipt = memory.erase_tenant(confirm=tenant)
        assert rows_of(database, tenant) == {"audit": 2, "audit_chains": 1}
        assert steady(receipt.counts) == steady(there)
        assert steady(rows_of(database, neighbour)) == steady(kept)
        assert memory.verify_audit([receipt.digest]).ok
        done, begun = memory.audit()
        assert (begun.kind, done.kind, done.digest) == (forget.BEGUN, "erase", receipt.digest)
        assert steady(begun.counts) == steady(done.counts) == steady(there)
        assert tenant not in done.body
        assert rows_of(database, tenant) == {"audit": 2, "audit_chains": 1}, "looking makes no rows"
        assert memory.working.items == ()
        assert len(other.recall("message number 1", mode="text")) > 0


def test_without_the_tenants_own_name_nothing_is_erased(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        say_much(memory, count=2)
        there = rows_of(database, tenant)
        for given in ("", "confirmed", tenant.upper()):
            with pytest.raises(InvalidInput, match=f"confirm='{tenant}'.*nothing was erased"):
                memory.erase_tenant(confirm=given)
        assert steady(rows_of(database, tenant)) == steady(there)


def test_a_name_that_never_had_anything_is_refused_and_one_that_was_erased_is_not(
    make: Make, tenant: str
) -> None:
    with (
        make(tenant=f"{tenant}-mistyped") as nobody,
        pytest.raises(NotFound, match="names are exact"),
    ):
        nobody.erase_tenant(confirm=nobody.tenant)
    with make() as memory:
        memory.remember("one")
        first = memory.erase_tenant(confirm=tenant)
        again = asyncio.run(memory.aio.erase_tenant(confirm=tenant))
        assert first.total > 0
        assert again.total == 0
        assert [entry.kind for entry in memory.audit()] == ["erase", "erase", forget.BEGUN]


@pytest.mark.usefixtures("in_small_batches")
def test_an_erasure_that_was_interrupted_goes_on(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        say_much(memory)
        there = rows_of(database, tenant)
        for rows in (1, 41, 81):
            with pytest.raises(Stopped):
                memory.erase_tenant(confirm=tenant, progress=stopping_after(rows))
        left = rows_of(database, tenant)
        assert left["nodes"] == there["nodes"] or left["nodes"] < 40
        assert 0 < sum(left.values()) < sum(there.values()) - 3 * 40 + 20
        receipt = memory.erase_tenant(confirm=tenant)
        assert rows_of(database, tenant) == {"audit": 2, "audit_chains": 1}
        done, begun = memory.audit()
        assert steady(begun.counts) == steady(there), (
            "how much there was at first is known, however often it was interrupted"
        )
        assert receipt.counts["sessions"] == there["sessions"]
        assert done.id == receipt.id


def test_a_process_that_is_killed_has_erased_a_part_and_another_one_goes_on(
    make: Make, database: Database, url: str | None, tenant: str
) -> None:
    with make() as memory:
        say_much(memory)
        there = rows_of(database, tenant)
        process = subprocess.Popen(
            [sys.executable, "-c", ERASER, url or "", tenant], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"HTM_DATABASE_URL": ""},
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        assert int(process.stdout.readline()) == 40
        process.stdin.write("\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == 80
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        left = rows_of(database, tenant)
        assert left["nodes"] == there["nodes"]
        assert sum(steady(left).values()) < sum(steady(there).values()) - 60
        assert [entry.kind for entry in memory.audit(scope="tenant")] == [forget.BEGUN]
        memory.erase_tenant(confirm=tenant)
        assert rows_of(database, tenant) == {"audit": 2, "audit_chains": 1}


@pytest.mark.usefixtures("in_small_batches")
def test_what_others_write_meanwhile_goes_too_and_later_they_start_empty(
    make: Make, database: Database, tenant: str
) -> None:
    """Writers of this process and of others: what they said before the receipt is gone, and what they say afterwards is found."""
    over, failed, said = threading.Event(), list[BaseException](), list[str]()

    def write(number: int) -> None:
        try:
            with make(settings=elsewhere(number)) as memory:
                for count in itertools.count():
                    if over.is_set():
                        return
                    text = f"Said by writer {number} as number {count}."
                    memory.remember(text, session=f"s{number}")
                    said.append(text)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    with make() as memory:
        say_much(memory)
        for writer in writers:
            writer.start()
        before: list[str] = []
        receipt = memory.erase_tenant(
            confirm=tenant, progress=lambda _: before.extend(said[len(before) :])
        )
        over.set()
        for writer in writers:
            writer.join(60)
        assert failed == []
        assert len(before) > 0
        assert receipt.total > 60
        kept = {node.content for node in memory.list(limit=1000)}
        assert kept.isdisjoint(before[:-3]), (
            "but for the last ones, which may be said after the receipt"
        )
        assert kept <= set(said)
        assert memory.verify_audit([receipt.digest]).ok
        # Each memory that is there is there as a whole.
        mentions = memory.timeline(limit=1000)
        assert {mention.content for mention in mentions} == kept
        memory.remember("Said by the eraser.")
        assert memory.recall("said by the eraser", mode="text")[0].content == "Said by the eraser."


def elsewhere(number: int) -> Settings:
    """Settings with which nothing is shared with the others, as in another process."""
    return SETTINGS.model_copy(update={"pool_max": 40 + number, "worker": "off"})


def test_another_process_that_holds_the_tenant_open_starts_empty(
    make: Make, database: Database, tenant: str, embedder: HashEmbedder
) -> None:
    with make() as memory, make("juno", settings=elsewhere(7), embedder=embedder) as other:
        other.remember("Before.", key="state")
        pages, log = other.collection("pages"), other.log("chat")
        pages.put([{"id": "one", "content": "A page about harbours."}])
        log.append([{"role": "user", "content": "hello"}])
        group = other.of(session="team").group("crew")
        assert other.recall("before", mode="text")
        memory.erase_tenant(confirm=tenant)
        assert (other.recall("before", mode="text").hits, other.list(), other.timeline()) == (
            (),
            [],
            [],
        )
        with pytest.raises(NotFound):
            other.get("state")
        assert log.tail(10) == []
        assert pages.query("harbours") == []
        assert other.context().items == ()
        other.remember("After.", key="state")
        pages.put([{"id": "two", "content": "A page about lighthouses."}])
        log.append([{"role": "user", "content": "again"}])
        assert [hit.content for hit in other.recall("after", mode="text")] == ["After."]
        assert [hit.item.id for hit in pages.query("lighthouses")] == ["two"]
        assert [entry.content for entry in log.tail(10)] == ["again"]
        assert other.get("state").version == 1
        assert rows_of(database, tenant)["tenants"] == rows_of(database, tenant)["lexicon"] == 1
        group.leave()


def test_a_writer_that_stays_in_its_transaction_is_waited_for_and_then_named(
    make: Make, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_erasure, "HOLD_PAUSES", ())
    with make() as memory, make(tenant=f"{tenant}-importing") as importing:
        memory.remember("one")
        importing.remember("two", session="s")
        with importing._engine.transaction() as connection:
            connection.execute("update robots set active_at = now() where tenant = this_tenant()")
            with pytest.raises(StorageError, match="there is no receipt yet"):
                memory.erase_tenant(confirm=tenant)
            assert memory.list() == []
        assert memory.erase_tenant(confirm=tenant).id == memory.audit()[0].id
        assert len(importing.list()) == 1
