"""The order of jobs: tenants and their owners take turns, the newest comes first, and nobody waits behind an import."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from htm_core import Memory, Settings
from htm_core.db import jobs
from htm_core.db.connection import Connection
from htm_core.db.database import Database
from htm_core.db.jobs import ClaimedJob
from htm_core.engine.fresh_nodes import NODES, OWNERS, FreshNodes
from htm_core.jobs import handlers
from htm_core.jobs.claims import Pace
from htm_core.jobs.turns import BULK_EVERY, Turns
from htm_core.jobs.worker import FRESH_BATCH, Worker
from htm_core.memory.process import Runtime, runtime
from htm_core.models.embedders import resolve
from htm_core.recall import complete_query
from htm_core.writing.write import FEW
from tests.conftest import SETTINGS, Make
from tests.jobs.backlog import add_backlog, insert_backlog
from tests.stand_ins import HashEmbedder

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
ALONE = IDLE.model_copy(
    update={"migrate_url": None}
)  # in a database of a test's own, whose login is its owner


class Recording(HashEmbedder):
    """A stand-in for a model that keeps the texts of each call."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(list(texts))
        return super().embed_documents(texts)


@pytest.fixture
def model() -> str:
    return f"model-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def embedder(model: str) -> Recording:  # type: ignore[override]  # as its own, so that no other worker knows it
    return Recording(model)


@pytest.fixture
def idle(url: str | None) -> Runtime:
    found = runtime(url, IDLE)
    found.database.open()
    return found


@pytest.fixture
def worker(idle: Runtime, embedder: Recording) -> Worker:
    """A worker without threads, which does a batch when it is told to."""
    made = Worker(idle.database, idle.fresh_nodes)
    made.add_embedder(resolve(embedder))
    return made


def claim(database: Database, model: str, turns: Turns, *, limit: int = 64) -> list[ClaimedJob]:
    with database.transaction("", role="htm_worker") as connection:
        claimed = jobs.claim(
            connection,
            ("embed", model),
            limit=limit,
            lease=600,
            classes=turns.classes(),
            after_tenants=turns.after_tenants(),
            after_owners=turns.after_owners(),
        )
    turns.took(claimed)
    return claimed


# -- claims in turns ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Queue:
    """A database in which many jobs of one tenant wait beside one job each of many others. No table is analyzed."""

    name: str
    small: list[str]
    busy: str


@pytest.fixture(scope="module")
def queue(database_url: str) -> Iterator[Queue]:
    """Twenty thousand jobs of one tenant, and three hundred of others: made once, and copied."""
    name = f"htm_queue_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
        found = runtime(make_conninfo(database_url, dbname=name), ALONE).database
        found.open()
        with found.owner() as owner:
            owner.execute("alter table jobs set (autovacuum_enabled = off)")
            small = [
                insert_backlog(owner, 1, model="m" if n % 2 else f"m{n}", passages=0)
                for n in range(300)
            ]
            busy = insert_backlog(owner, 20_000, model="m", passages=0)
        found.close()
        yield Queue(name, small, busy)
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def copied(database_url: str, queue: Queue) -> Iterator[Database]:
    """A copy of that database."""
    name = f"{queue.name}_copy"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"create database {name} template {queue.name}")
        found = runtime(make_conninfo(database_url, dbname=name), ALONE).database
        found.open()
        yield found
        found.close()
        connection.execute(f"drop database {name} with (force)")


@pytest.mark.parametrize(
    "analyzed", ["never", "while each tenant had one job", "with one tenant's queue", "now"]
)
def test_a_claim_has_everybody_in_it_and_reads_few_rows_whatever_waits_and_whatever_the_statistics_say(
    queue: Queue, copied: Database, analyzed: str
) -> None:
    """Twenty thousand jobs of one tenant wait beside those of three hundred others."""
    found, small, busy = copied, queue.small, queue.busy

    def analyze(*when: str) -> None:
        if analyzed in when:
            with found.owner() as connection:
                connection.execute("analyze jobs")

    def read(connection: Connection) -> int:
        row = connection.execute(
            "select seq_tup_read, idx_tup_fetch from pg_stat_xact_user_tables where relname = 'jobs'"
        ).fetchone()
        assert row is not None
        assert row["seq_tup_read"] == 0
        return int(row["idx_tup_fetch"])

    if analyzed == "while each tenant had one job":
        with found.owner() as connection:
            connection.execute(
                "create temporary table queued as select * from jobs where tenant = %s", [busy]
            )
            connection.execute("delete from jobs where tenant = %s", [busy])
            connection.execute("vacuum analyze jobs")
            connection.execute("insert into jobs select * from queued")
    analyze("with one tenant's queue")
    waiting = set(small[1::2]) | {busy}
    others = {add_backlog(found, 2, model="m", passages=0) for _ in range(5)}
    analyze("now")
    lane = ("embed", "m")
    with found.transaction("", role="htm_worker") as connection:
        claimed = jobs.claim(connection, lane, limit=512, lease=60)
        assert Counter(job.tenant for job in claimed) == Counter(
            dict.fromkeys(waiting, 1) | dict.fromkeys(others, 2) | {busy: 352}
        )
        assert read(connection) < 10 * 512
    with found.transaction("", role="htm_worker") as connection:
        only = jobs.claim(connection, lane, limit=8, lease=60, only=[busy, small[0]])
        assert Counter(job.tenant for job in only) == {busy: 8}
        assert jobs.claim(connection, ("tag", ""), limit=8, lease=60, only=[busy]) == []
        assert read(connection) < 5 * 512  # those that are claimed already are stepped over
    nodes = [(job.tenant, job.node_id) for job in claimed if job.node_id is not None]
    with found.owner() as connection:
        connection.execute("update jobs set claimed_until = null where claimed_until is not null")
    with found.transaction("", role="htm_worker") as connection:
        again = jobs.claim_nodes(connection, lane, nodes, limit=100, lease=60)
        assert [job.node_id for job in again] == [node for _, node in nodes[:100]]
    with found.transaction("", role="htm_worker") as connection:
        assert jobs.claim_nodes(connection, lane, nodes[:100], limit=100, lease=60) == [], (
            "somebody has them"
        )
        assert read(connection) < 10 * 100


def test_what_waits_is_counted_up_to_a_bound_and_the_oldest_is_found_beyond_it(
    queue: Queue, copied: Database
) -> None:
    with copied.owner() as connection:
        connection.execute(
            "update jobs set created_at = now() - interval '2 hours', run_at = now() - interval '2 hours' where tenant = %s",
            [queue.small[-1]],
        )
        connection.execute(
            "update jobs set parked_at = now() where id in (select id from jobs where tenant = %s limit 5)",
            [queue.busy],
        )
    with copied.transaction("", role="htm_worker") as connection:
        lanes = {each.model: each for each in jobs.backlog(connection, most=1_000)}
        row = connection.execute(
            "select seq_tup_read, idx_tup_fetch from pg_stat_xact_user_tables where relname = 'jobs'"
        ).fetchone()
    assert row is not None
    assert row["seq_tup_read"] == 0
    assert row["idx_tup_fetch"] < 3_000, "of 20,300"
    busy = lanes["m"]
    assert (busy.pending, busy.parked, busy.more) == (1_000, 5, True)
    assert busy.oldest is not None
    assert busy.oldest >= 7_200, (
        "the job of the last tenant, which is not among those that were counted"
    )
    others = [each for model, each in lanes.items() if model != "m"]
    assert len(others) == 150
    assert all(
        (each.pending, each.parked, each.more) == (1, 0, False) and each.oldest is not None
        for each in others
    )


def test_of_one_owner_the_newest_job_comes_first(database: Database, model: str) -> None:
    tenant = add_backlog(database, 5, model=model, age=300)
    for age in (100, 0, 200):
        add_backlog(database, 1, model=model, tenant=tenant, owners=1, age=age)
    turns = Turns()
    ages = []
    with database.owner() as connection:
        for job in [job for _ in range(8) for job in claim(database, model, turns, limit=1)]:
            row = connection.execute(
                "select round(extract(epoch from now() - run_at) / 100) as age from jobs where id = %s",
                [job.id],
            ).fetchone()
            assert row is not None
            ages.append(int(row["age"]))
    assert ages == [0, 1, 2, 3, 3, 3, 3, 3]


def test_a_message_comes_before_an_import_and_an_import_goes_on_all_the_same(
    database: Database, model: str
) -> None:
    add_backlog(database, 1_000, model=model, bulk=True)
    add_backlog(database, 1_000, model=model, bulk=False)
    turns = Turns()
    bulk = [
        all(job.bulk for job in claim(database, model, turns, limit=8))
        for _ in range(2 * BULK_EVERY)
    ]
    assert bulk == ([False] * (BULK_EVERY - 1) + [True]) * 2


def test_a_claim_that_messages_do_not_fill_takes_a_part_of_an_import_too(
    database: Database, model: str
) -> None:
    add_backlog(database, 100, model=model, bulk=True)
    add_backlog(database, 3, model=model)
    assert Counter(job.bulk for job in claim(database, model, Turns())) == {False: 3, True: 61}


def test_each_of_many_tenants_and_each_of_many_owners_has_its_turn(
    database: Database, model: str
) -> None:
    crowd = add_backlog(database, 400, model=model, owners=100)
    tenants = {crowd, *(add_backlog(database, 40, model=model, passages=0) for _ in range(19))}
    turns = Turns()
    claims = [claim(database, model, turns, limit=8) for _ in range(5)]
    assert {job.tenant for job in claims[0] + claims[1] + claims[2]} == tenants, (
        "8 tenants in each claim, in a circle"
    )
    owners = Counter[str]()
    for _ in range(200):
        owners.update(
            job.owner for job in claim(database, model, turns, limit=8) if job.tenant == crowd
        )
        if len(owners) == 100:
            break
    assert len(owners) == 100
    assert max(owners.values()) <= 2, "no owner has many turns before another has one"


queues = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 3), st.booleans(), st.integers(1, 12)),
    min_size=1,
    max_size=8,
)


@examples(max_examples=13, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queue=queues, limit=st.integers(1, 20))
def test_whatever_waits_is_claimed_once_in_full_batches_with_every_tenant_in_them(
    database: Database, queue: list[tuple[int, int, bool, int]], limit: int
) -> None:
    model = f"model-{uuid.uuid4().hex[:8]}"
    waiting = Counter[tuple[str, bool]]()
    for number, owners, bulk, count in queue:
        tenant = add_backlog(
            database,
            count,
            model=model,
            tenant=f"{model}-{number}",
            owners=owners,
            bulk=bulk,
            passages=0,
        )
        waiting[tenant, bulk] += count
    turns, claimed = Turns(), set[uuid.UUID]()
    while +waiting:
        first = turns.classes()[0]
        batch = claim(database, model, turns, limit=limit)
        assert len(batch) == min(limit, waiting.total())
        assert not claimed & {job.id for job in batch}
        claimed |= {job.id for job in batch}
        urgent = {tenant for (tenant, bulk), count in waiting.items() if bulk is first and count}
        seen = {job.tenant for job in batch if job.bulk is first}
        assert seen == urgent if len(urgent) <= limit else len(seen) == limit
        waiting -= Counter((job.tenant, job.bulk) for job in batch)


# -- batches --------------------------------------------------------------------------------------------------------------


def test_a_long_text_is_embedded_a_part_at_a_time_and_hides_nobody(
    make: Make, worker: Worker, embedder: Recording, tenant: str
) -> None:
    long = " ".join(f"Sentence number {n} tells of the harbour." for n in range(6_000))
    with (
        make(settings=IDLE, user="ann") as ann,
        make(settings=IDLE, user="bob", tenant=f"{tenant}-b") as bob,
    ):
        ann.remember(long)
        bob.remember("Bob keeps bees.")
        worker._do_batch(Pace.QUICK, lambda: False)
        assert bob.recall("Who keeps bees?")[0].vector_rank is not None
        assert ann.stats().pending_jobs == 1, "a part of it has vectors, and the job goes on"
        assert 0 < ann.stats().vectors < ann.stats().passages
        ann.remember("Ann has a boat.")
        worker._do_batch(Pace.QUICK, lambda: False)
        assert "Ann has a boat." in embedder.batches[1]
        worker.drain()
        assert ann.stats().vectors == ann.stats().passages
        assert ann.stats().pending_jobs == 0
    texts = [text for batch in embedder.batches for text in batch]
    assert max(map(len, embedder.batches)) <= IDLE.worker_batch
    assert len(texts) == len(set(texts)) == ann.stats().passages + 1


def test_jobs_of_several_tenants_are_one_call_of_the_model(
    make: Make, worker: Worker, embedder: Recording, tenant: str
) -> None:
    memories = [make(settings=IDLE, tenant=f"{tenant}-{number}") for number in range(6)]
    for memory in memories:
        memory.remember(f"What {memory.tenant} says.")
    worker._do_batch(Pace.QUICK, lambda: False)
    assert list(map(len, embedder.batches)) == [6]
    assert [memory.stats().vectors for memory in memories] == [1] * 6


def test_a_text_that_the_model_cannot_take_costs_no_other_tenant_its_vector(
    make: Make, worker: Worker, embedder: Recording, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = embedder.embed_documents

    def picky(texts: list[str]) -> list[list[float]]:
        if "poison" in texts:
            raise ValueError("cannot embed this one")
        return embed(texts)

    monkeypatch.setattr(embedder, "embed_documents", picky)
    with make(settings=IDLE) as memory, make(settings=IDLE, tenant=f"{tenant}-b") as other:
        memory.remember_many([{"content": "fine"}, {"content": "poison"}])
        other.remember("fine as well")
        worker._do_batch(Pace.QUICK, lambda: False)
        assert (memory.stats().vectors, other.stats().vectors) == (1, 1)
        assert memory.jobs.list()[0].attempts == 1


def test_flush_does_not_wait_for_the_jobs_of_other_tenants(
    make: Make, idle: Runtime, embedder: Recording, model: str
) -> None:
    busy = add_backlog(idle.database, 2_000, model=resolve(embedder).name)
    with make(settings=IDLE) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(100)])
        assert memory.flush()
        assert memory.stats().vectors == 100
    with idle.database.transaction(busy) as connection:
        row = connection.execute("select count(*) as waiting from jobs").fetchone()
    assert row is not None
    assert row["waiting"] > 1_000


# -- what was just written ------------------------------------------------------------------------------------------------


def test_what_this_process_has_just_written_is_embedded_before_all_that_waits(
    make: Make, idle: Runtime, worker: Worker, embedder: Recording
) -> None:
    for _ in range(100):
        add_backlog(idle.database, 20, model=resolve(embedder).name)
    with make(settings=IDLE) as memory:
        memory.remember("Clara keeps bees on the roof.")
        worker._do_batch(Pace.FRESH, lambda: False)
        assert embedder.batches == [["Clara keeps bees on the roof."]]
        assert memory.recall("Who keeps bees?")[0].vector_rank == 1
        assert not memory.jobs.list(kind="embed")


def test_an_import_is_bulk_and_a_turn_is_not(make: Make, idle: Runtime, tenant: str) -> None:
    long = "All about the harbour, again and again. " * 30 * FEW
    with make(settings=IDLE) as memory:
        memory.remember_many([{"content": f"imported {n}"} for n in range(FEW + 1)])
        memory.remember_many(
            [{"content": "a question", "role": "user"}, {"content": "an answer"}, {"content": long}]
        )
    with idle.database.transaction(tenant) as connection:
        rows = connection.execute(
            "select n.content, j.bulk from jobs j join nodes n using (tenant) where n.id = j.node_id and j.kind = 'embed'"
        ).fetchall()
    assert {row["content"] for row in rows if not row["bulk"]} == {"a question", "an answer"}
    assert len(rows) == FEW + 4


def test_a_fresh_node_that_another_worker_has_is_left_to_that_worker(
    make: Make, idle: Runtime, worker: Worker, embedder: Recording
) -> None:
    with make(settings=IDLE) as memory:
        memory.remember("claimed elsewhere")
        with idle.database.transaction("", role="htm_worker") as connection:
            assert jobs.claim(connection, ("embed", resolve(embedder).name), limit=10, lease=60)
        assert worker._do_batch(Pace.FRESH, lambda: False) == 0
        assert embedder.batches == []


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["", "ann", "bob"]), st.integers(1, 5)),
        max_size=30,
    ),
    st.integers(1, 20),
)
def test_fresh_nodes_are_taken_once_newest_first_and_their_owners_take_turns(
    writes: list[tuple[str, str, int]], limit: int
) -> None:
    fresh = FreshNodes()
    order: dict[tuple[str, str], list[uuid.UUID]] = {}
    for tenant, owner, count in writes:
        ids = [uuid.uuid4() for _ in range(count)]
        fresh.add(tenant, owner, ids, model="m")
        order[tenant, owner] = (order.get((tenant, owner), []) + ids)[-NODES:]
    taken = []
    while batch := fresh.take(limit):
        assert len(batch) <= limit
        taken += batch
    assert not fresh
    for (tenant, owner), ids in order.items():
        mine = [node.id for node in taken if (node.tenant, node.owner) == (tenant, owner)]
        assert mine == ids[::-1]
        assert (
            fresh.visible(tenant, [owner], model="m", limit=3)
            == [node for node in taken if (node.tenant, node.owner) == (tenant, owner)][:3]
        )
    turns = [(node.tenant, node.owner) for node in taken]
    for place in range(len(order)):
        assert len(set(turns[: place + 1])) == place + 1, (
            "each owner once, before any has a second turn"
        )
    for tenant in "ab":
        fresh.done(tenant, [node.id for node in taken])
        assert fresh.visible(tenant, None, model="m", limit=100) == []


def test_fresh_nodes_are_bounded_and_know_their_model() -> None:
    fresh = FreshNodes()
    for number in range(OWNERS + 10):
        fresh.add("t", f"owner {number}", [uuid.uuid4() for _ in range(3)], model="m")
    assert len(fresh.visible("t", None, model="m", limit=10**6)) == 3 * OWNERS
    assert fresh.visible("t", ["owner 0"], model="m", limit=10) == []
    assert fresh.visible("t", None, model="another", limit=10) == []
    fresh.add("t", "one", [uuid.uuid4() for _ in range(10 * NODES)], model="m")
    assert len(fresh.visible("t", ["one"], model="m", limit=10**6)) == NODES
    assert len(fresh.take(FRESH_BATCH)) == FRESH_BATCH


def test_a_memory_that_another_process_wrote_is_found_by_its_words(
    make: Make, idle: Runtime
) -> None:
    memory: Memory = make(settings=IDLE)
    memory.remember("Clara keeps bees on the roof.")
    idle.fresh_nodes.renew()  # as in another process, which has not written it
    assert memory.recall("Who keeps bees?")[0].content == "Clara keeps bees on the roof."


# -- recall, in the first minute ------------------------------------------------------------------------------------------


def test_what_was_just_said_is_found_by_its_vector_while_twenty_thousand_jobs_of_others_wait(
    make: Make, embedder: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the worker of this process at work: it does the jobs of all tenants of the model."""
    monkeypatch.setattr(
        complete_query, "LONGEST_WAIT", 10.0
    )  # on a busy machine a batch takes longer than two seconds
    with make(user="quiet") as memory:
        add_backlog(memory._engine.database, 20_000, model=resolve(embedder).name)
        memory._runtime.worker.wake()
        for number in range(5):
            memory.remember(f"Harbour number {number} has a lighthouse.")
            found = memory.recall(f"lighthouse of harbour {number}")
            hit = next(
                hit for hit in found if hit.content == f"Harbour number {number} has a lighthouse."
            )
            assert hit.vector_rank is not None
            assert found.degraded is None
        memory._runtime.worker.stop()
        assert not memory.jobs.list(kind="embed")


def test_a_recall_makes_a_few_missing_vectors_itself_where_no_worker_runs(
    make: Make, embedder: Recording
) -> None:
    with make(settings=IDLE) as memory:
        memory.remember("Clara keeps bees on the roof.")
        found = memory.recall("Who keeps bees?")
        assert (found[0].vector_rank, found.degraded) == (1, None)
        assert not memory.jobs.list(kind="embed")
        assert len(embedder.batches) == 1
        memory.recall("Who keeps bees?")
        assert len(embedder.batches) == 1, (
            "nothing is pending any more, so that nothing is embedded"
        )


def test_a_recall_makes_no_vectors_where_there_are_many_or_where_they_are_of_others(
    make: Make, embedder: Recording, tenant: str
) -> None:
    with make(settings=IDLE, user="ann") as ann, make(settings=IDLE, user="bob") as bob:
        ann.remember("Ann keeps bees.")
        ann.remember_many([{"content": f"bee number {n}"} for n in range(FEW + 1)])
        bob.recall("bees")
        assert embedder.batches == []
        ann.recall("bees")
        assert embedder.batches == [["Ann keeps bees."]]


def test_a_long_fresh_text_gets_its_first_vectors_and_keeps_its_job(
    make: Make, embedder: Recording
) -> None:
    with make(settings=IDLE) as memory:
        memory.remember(" ".join(f"Sentence number {n} tells of the harbour." for n in range(200)))
        passages = memory.stats().passages
        assert 8 < passages <= FEW
        found = memory.recall("harbour")
        assert found[0].vector_rank is not None
        assert len(memory.jobs.list(kind="embed")) == 1
        memory.recall("harbour")
        assert memory.stats().vectors == passages
        assert not memory.jobs.list(kind="embed")
        assert sorted(map(len, embedder.batches)) == [passages - 8, 8]


def test_the_question_that_was_just_said_is_not_embedded_twice(
    make: Make, embedder: Recording
) -> None:
    with make(settings=IDLE) as memory:
        memory.remember("Who keeps bees?", role="user")
        found = memory.recall("Who keeps bees?")
        assert embedder.batches == []
        assert found.degraded is None


def test_degraded_says_how_many_memories_were_found_by_their_words_alone(
    make: Make, worker: Worker
) -> None:
    with make(settings=IDLE) as memory:
        memory.remember_many(
            [{"content": f"Bee number {n} is in the garden."} for n in range(FEW + 1)]
        )
        found = memory.recall("bee in the garden", limit=5)
        assert (
            found.degraded
            == "5 memories were found by their words alone: their vectors are not made yet"
        )
        assert memory.recall("bee in the garden", limit=1).degraded == (
            "1 memory was found by its words alone: its vector is not made yet"
        )
        assert memory.recall("bee in the garden", mode="text").degraded is None, (
            "no vector was wanted"
        )
        worker.drain()
        assert memory.recall("bee in the garden").degraded is None


def test_a_text_that_the_model_cannot_take_is_tried_by_one_recall_and_not_by_each(
    make: Make, embedder: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def refuse(texts: list[str]) -> list[list[float]]:
        tried.append(texts)
        raise ValueError("cannot embed this one")

    with make(settings=IDLE) as memory:
        monkeypatch.setattr(embedder, "embed_documents", refuse)
        memory.remember("Clara keeps bees on the roof.")
        for _ in range(3):
            found = memory.recall("Who keeps bees?")
            assert found[0].content == "Clara keeps bees on the roof."
            assert "words alone" in str(found.degraded)
        assert len(tried) == 1
        assert len(memory.jobs.list(kind="embed")) == 1


def test_a_slow_model_gets_batches_of_about_a_second(
    make: Make, worker: Worker, embedder: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what others say meanwhile does not wait long; where calls are limited, they stay as full as they can be."""
    now = 0.0
    embed = embedder.embed_documents

    def slow(texts: list[str]) -> list[list[float]]:
        nonlocal now
        now += len(texts) / 20
        return embed(texts)

    monkeypatch.setattr(embedder, "embed_documents", slow)
    monkeypatch.setattr(
        handlers, "time", SimpleNamespace(monotonic=lambda: now)
    )  # and nobody else's clock
    with make(settings=IDLE) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(110)])
        worker.drain()
        assert list(map(len, embedder.batches)) == [64, 20, 20, 6]
        monkeypatch.setattr(worker._rate_limits, "is_limited", lambda model: True)
        memory.remember_many([{"content": f"more {n}"} for n in range(300)])
        worker.drain()
        assert list(map(len, embedder.batches[4:])) == [IDLE.worker_batch, 300 - IDLE.worker_batch]


def test_vectors_that_somebody_is_making_are_waited_for_and_made_by_nobody_else() -> None:
    fresh, ids = FreshNodes(), [uuid.uuid4() for _ in range(3)]
    fresh.add("t", "", ids, model="m")
    assert fresh.claim("t", ids[:2]) == ids[:2]
    assert fresh.claim("t", ids) == ids[2:]
    assert fresh.claim("other", ids) == []
    assert fresh.take(10) == [], "the worker leaves them to whoever is at work"
    assert not fresh.wait("t", ids, seconds=0.01)
    fresh.done("t", ids[:1])
    fresh.let_go(("t", id) for id in ids)
    assert fresh.wait("t", ids, seconds=0)
    assert fresh.claim("t", ids) == ids[1:], (
        "what failed is free, what has its vectors is not asked for again"
    )


def test_what_the_worker_has_taken_is_free_again_after_it() -> None:
    fresh, ids = FreshNodes(), [uuid.uuid4() for _ in range(2)]
    fresh.add("t", "", ids, model="m")
    taken = fresh.take(10)
    assert fresh.claim("t", ids) == []
    waited = threading.Thread(target=lambda: fresh.wait("t", ids, seconds=10))
    waited.start()
    fresh.let_go((node.tenant, node.id) for node in taken)
    waited.join(5)
    assert not waited.is_alive()
    assert fresh.claim("t", ids) == ids
