"""The worker: each job is done once and never lost, and a model that is down is not the fault of its jobs."""

from __future__ import annotations

import importlib
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from htm_core import Settings
from htm_core.base.errors import DimensionMismatch, InvalidInput
from htm_core.db import jobs
from htm_core.db.database import Connection, Database
from htm_core.db.jobs import Lane
from htm_core.engine.fresh_nodes import FreshNodes
from htm_core.jobs.attempts import MOST_TRIES
from htm_core.jobs.claims import OWN_AT_ONCE
from htm_core.jobs.reembed import reembed
from htm_core.jobs.worker import Worker
from htm_core.models.embedders import resolve
from htm_core.models.stopping import native_parts
from htm_core.recall import search
from htm_core.writing import nodes
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

flush_module = importlib.import_module("htm_core.jobs.flush")
IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})


class Picky(HashEmbedder):
    """A stand-in for a model that cannot take certain texts."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("poison" in text for text in texts):
            raise ValueError("cannot embed this one")
        return super().embed_documents(texts)


class InParts(HashEmbedder):
    """A stand-in for a model that works in many parts, such as the embedded one, for as long as nobody stops it."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.at_work, self.is_released = threading.Event(), False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        while not self.is_released:
            with native_parts.part():
                self.at_work.wait(0.01)
                self.at_work.set()
        return super().embed_documents(texts)


@pytest.fixture
def model() -> str:
    return f"model-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def idle_database(url: str | None) -> Database:
    from htm_core.memory.process import runtime

    return runtime(url, IDLE).database


def worker_for(database: Database, *embedders: HashEmbedder) -> Worker:
    worker = Worker(database, FreshNodes())
    for embedder in embedders:
        worker.add_embedder(resolve(embedder))
    return worker


def test_several_workers_share_the_work_and_do_each_job_once(
    make: Make, idle_database: Database, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(300)])
        workers = [worker_for(idle_database, embedder) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(lambda worker: worker.drain(), workers))
        assert sum(taken) >= 300
        assert memory.stats().vectors == 300
        assert memory.stats().pending_jobs == 0


def test_a_text_that_the_model_cannot_take_is_parked_with_the_error_in_view(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = Picky(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember_many([{"content": f"fine {n}"} for n in range(5)] + [{"content": "poison"}])
        worker = worker_for(idle_database, embedder)
        for _ in range(MOST_TRIES):
            with idle_database.transaction(tenant) as connection:
                jobs.make_all_due(connection)
            worker.drain()
        stats = memory.stats()
        assert (stats.vectors, stats.pending_jobs, stats.parked_jobs) == (5, 0, 1)
        with idle_database.transaction(tenant) as connection:
            row = connection.execute(
                "select error from jobs where parked_at is not null"
            ).fetchone()
        assert row is not None
        assert "cannot embed this one" in row["error"]
        assert memory.recall("poison", mode="text")[0].content == "poison"


def test_a_model_that_is_down_costs_no_job_its_tries(
    make: Make, idle_database: Database, tenant: str, embedder: HashEmbedder, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember("patient")
        embedder.down = True
        worker = worker_for(idle_database, embedder)
        for _ in range(2 * MOST_TRIES):
            with idle_database.transaction(tenant) as connection:
                jobs.make_all_due(connection)
            worker.drain()
        assert memory.stats().parked_jobs == 0
        embedder.down = False
        assert memory.flush(timeout=60)
        assert memory.stats().vectors == 1


def test_a_worker_takes_only_the_models_it_knows(
    make: Make, idle_database: Database, model: str
) -> None:
    with make(embedder=HashEmbedder(name=model), settings=IDLE) as memory:
        memory.remember("somebody else's")
        worker_for(idle_database, HashEmbedder(name=f"{model}-other")).drain()
        assert memory.stats().pending_jobs == 1


def test_a_worker_claims_only_of_lanes_that_have_due_jobs(
    alone: None,
    make: Make,
    idle_database: Database,
    tenant: str,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is one claim of all lanes; where many clients are for single tenants, one question says which of them have some."""
    embedder = HashEmbedder(name=model)
    memory = make(embedder=embedder, settings=IDLE)
    for_one, for_all = worker_for(idle_database), worker_for(idle_database, embedder)
    for_one.add_embedder(resolve(embedder), tenant=tenant)
    for_one.add_embedder(resolve(HashEmbedder(name=f"{model}-of-nobody")))
    for_many = worker_for(idle_database)
    for_many.add_embedder(resolve(embedder), tenant=tenant)
    for number in range(OWN_AT_ONCE):
        for_many.add_embedder(resolve(HashEmbedder(name=model)), tenant=f"{tenant}-{number}")
    really_claim, claim_all, claimed, claims = jobs.claim, jobs.queue_claims, [], []

    def claim(connection: Connection, lane: Lane, **options: Any) -> list[jobs.ClaimedJob]:
        found = really_claim(connection, lane, **options)
        claimed.append((lane, len(found)))
        return found

    def queue_claims(
        connection: Connection, wanted: Sequence[jobs.LaneClaim], **options: Any
    ) -> Callable[[], dict[int, list[jobs.ClaimedJob]]]:
        claims.append([each.of.lane for each in wanted])
        answer = claim_all(connection, wanted, **options)

        def found() -> dict[int, list[jobs.ClaimedJob]]:
            by_claim = answer()
            claimed.extend((wanted[place].of.lane, len(of)) for place, of in by_claim.items())
            return by_claim

        return found

    monkeypatch.setattr(jobs, "claim", claim)
    monkeypatch.setattr(jobs, "queue_claims", queue_claims)
    for worker in (for_one, for_many, for_all):
        memory.remember(f"The {id(worker)} is green.")
        claimed.clear()
        claims.clear()
        worker.drain()
        assert (("embed", resolve(embedder).name), 1) in claimed
        assert ("supersede", "") in [lane for lane, _ in claimed]
        assert [lane for lane, count in claimed if not count] == []
        assert len(claims) == (0 if worker is for_many else 3), (
            "embed, then supersede, then nothing"
        )


def test_flush_is_told_by_the_worker_of_its_process_and_asks_the_server_rarely(
    make: Make, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, may_answer = 0, threading.Event()
    are_waiting = jobs.are_waiting

    def counted(*given: Any) -> tuple[bool, bool]:
        nonlocal looks
        looks += 1
        may_answer.set()
        return are_waiting(*given)

    class Held(HashEmbedder):
        """A stand-in that answers when `flush` has looked for the first time."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            may_answer.wait(20)
            return super().embed_documents(texts)

    monkeypatch.setattr(jobs, "are_waiting", counted)
    monkeypatch.setattr(flush_module, "POLL_SECONDS", 30.0)
    monkeypatch.setattr(flush_module, "LONGEST_POLL", 30.0)
    with make(embedder=Held(name=model)) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(300)])
        begun = time.monotonic()
        assert memory.flush(timeout=60)
        assert memory.stats().vectors == 300
    assert time.monotonic() - begun < 30, "it waited for its own next look"
    assert (
        looks <= 6
    )  # one at first, and one each time that a thread of the worker has nothing more to do


def test_a_worker_that_is_to_end_leaves_a_model_that_works_in_parts_and_gives_its_jobs_back(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = InParts(model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember_many([{"content": f"text {n}"} for n in range(3)])
        worker = worker_for(idle_database, embedder)
        worker.wake()
        assert embedder.at_work.wait(30)
        begun = time.monotonic()
        worker.stop()
        assert time.monotonic() - begun < 5
        with idle_database.transaction("", role="htm_worker") as connection:
            free = jobs.claim(connection, ("embed", resolve(embedder).name), limit=10, lease=0.1)
        assert len([job for job in free if job.tenant == tenant]) == 3
        embedder.is_released = True  # the jobs are still there, and others' flush does them


def test_work_of_a_worker_that_vanished_is_taken_up_when_its_lease_is_over(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember("orphaned")
        with idle_database.transaction("", role="htm_worker") as connection:
            lane = ("embed", resolve(embedder).name)
            assert len(jobs.claim(connection, lane, limit=10, lease=0.3)) == 1
            assert jobs.claim(connection, lane, limit=10, lease=0.3) == []
        threading.Event().wait(0.4)
        assert worker_for(idle_database, embedder).drain() >= 1
        assert memory.stats().vectors == 1


def test_a_node_that_is_forgotten_before_its_vector_comes_stays_hidden(
    make: Make, idle_database: Database, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        node = memory.remember("hidden before it was embedded")
        memory.forget(node.id)
        worker_for(idle_database, embedder).drain()
        assert len(memory.recall("hidden embedded", mode="vector")) == 0


def test_hiding_and_embedding_at_once_never_leaves_a_vector_in_sight(make: Make) -> None:
    with make() as memory:
        for number in range(25):
            memory.remember(f"value {number}", key="k")
        memory.flush()
        assert [hit.content for hit in memory.recall("value", mode="vector", limit=50)] == [
            "value 24"
        ]


def test_words_are_counted_again_after_growth(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    with make(embedder=HashEmbedder(name=model), settings=IDLE) as memory:
        memory.remember_many([{"content": f"penguin number {n}"} for n in range(600)])
        assert memory.flush(timeout=60)
        with idle_database.transaction(tenant) as connection:
            row = connection.execute("select documents from lexicon").fetchone()
            terms = connection.execute(
                "select documents from lexeme_counts where lexeme = 'penguin'"
            ).fetchone()
        assert row == {"documents": 600}
        assert terms == {"documents": 600}


class Huge(HashEmbedder):
    """A stand-in for a model that answers a text with numbers beyond half precision."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows = super().embed_documents(texts)
        return [
            [1e6 * x for x in row] if "poison" in text else row
            for text, row in zip(texts, rows, strict=True)
        ]


def park_all(worker: Worker, database: Database, tenant: str) -> None:
    for _ in range(MOST_TRIES):
        with database.transaction(tenant) as connection:
            jobs.make_all_due(connection)
        worker.drain()


def test_a_vector_beyond_half_precision_is_parked_and_keeps_nobody_up(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = Huge(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember_many([{"content": f"fine {n}"} for n in range(5)] + [{"content": "poison"}])
        park_all(worker_for(idle_database, embedder), idle_database, tenant)
        stats = memory.stats()
        assert (stats.vectors, stats.pending_jobs, stats.parked_jobs) == (5, 0, 1)


@pytest.mark.parametrize("number", [1e6, -65505.0, 10**400])
def test_a_given_vector_beyond_half_precision_is_refused(make: Make, number: float) -> None:
    with make(settings=IDLE) as memory:
        with pytest.raises(InvalidInput, match="vector"):
            memory.remember_many([{"content": "big", "vector": [number] * 64}])
        assert memory.remember_many([{"content": "as big as may be", "vector": [-65504.0] * 64}])


def test_storage_that_refuses_vectors_costs_tries_until_the_jobs_are_parked(
    make: Make, idle_database: Database, tenant: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OverflowError("not these")

    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember_many([{"content": "one"}, {"content": "two"}])
        monkeypatch.setattr(nodes, "insert_vectors", refuse)
        park_all(worker_for(idle_database, embedder), idle_database, tenant)
        assert memory.stats().parked_jobs == 2


def test_a_count_that_fails_leaves_the_rest_of_the_batch_to_be_done(
    alone: None,
    make: Make,
    idle_database: Database,
    tenant: str,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("no count today")

    monkeypatch.setattr(search, "count_words", fail)
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember("words")
        with idle_database.transaction(tenant) as connection:
            jobs.enqueue_count(connection)
        worker_for(idle_database, embedder).drain()
        assert memory.stats().vectors == 1
        with idle_database.transaction(tenant) as connection:
            row = connection.execute("select attempts, claimed_until, error from jobs").fetchone()
        assert row == {
            "attempts": 1,
            "claimed_until": None,
            "error": "RuntimeError: no count today",
        }


def test_the_thread_outlives_any_error(
    make: Make, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_core.jobs.worker.IDLE_SECONDS", 0.05)
    failed = threading.Event()
    claim = jobs.queue_claims

    def once(*arguments: Any, **options: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("out of the blue")
        return claim(*arguments, **options)

    monkeypatch.setattr(jobs, "queue_claims", once)
    with make(embedder=HashEmbedder(name=model)) as memory:
        memory.remember("still embedded")
        assert failed.wait(10)
        assert memory.flush(timeout=60)


def test_flush_works_after_a_shutdown_and_ends_when_nobody_here_knows_the_model(
    make: Make, model: str
) -> None:
    memory = make(embedder=HashEmbedder(name=model), settings=IDLE)
    memory.remember("before")
    memory._runtime.worker.stop()
    assert memory.flush()
    memory.remember("for a model of another process")
    memory._runtime.worker.remove_handler("embed", memory._engine.embedder.name)
    assert not memory.flush()


def test_jobs_of_another_tenant_are_out_of_reach(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        memory.remember("mine")
        with idle_database.transaction("", role="htm_worker") as connection:
            mine = jobs.claim(connection, ("embed", resolve(embedder).name), limit=10, lease=0.1)
        with idle_database.transaction(f"{tenant}-other", role="htm_worker") as connection:
            jobs.finish(connection, mine)
            jobs.park(connection, mine, error="not yours")
            jobs.postpone(connection, mine, error="not yours", seconds=1e6, tried=True)
        assert memory.flush(timeout=60)
        assert memory.stats().vectors == 1


def test_what_a_process_stores_with_the_old_model_is_embedded_by_the_new_one(
    make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    old, new = HashEmbedder(name=model), HashEmbedder(name=f"{model}-new", dimension=48)
    stale = make(embedder=old, settings=IDLE)
    stale.remember("before")
    assert stale.flush()
    reembed(idle_database, tenant=tenant, embedder=resolve(new))
    stale.remember("after the change")
    with idle_database.transaction(tenant) as connection:
        late = connection.execute(
            "update jobs set model = %s returning id", [resolve(old).name]
        ).fetchall()
    assert len(late) == 1
    worker_for(idle_database, old).drain()
    with pytest.raises(DimensionMismatch), idle_database.transaction(tenant) as connection:
        nodes.insert_vectors(connection, {uuid.uuid4(): [1.0]}, model=resolve(old).name)
    worker_for(idle_database, new).drain()
    renewed = make(embedder=new, settings=IDLE)
    assert renewed.recall("after the change", mode="vector")[0].content == "after the change"
    assert renewed.stats().vectors == 2


def test_a_worker_counts_what_other_processes_added(
    alone: None, make: Make, idle_database: Database, tenant: str, model: str
) -> None:
    embedder = HashEmbedder(name=model)
    with make(embedder=embedder, settings=IDLE) as memory:
        for start in range(0, 600, 300):
            memory.remember_many([{"content": f"otter number {start + n}"} for n in range(300)])
        with idle_database.transaction(tenant) as connection:
            connection.execute(
                "delete from jobs where kind = 'count'"
            )  # as if each process had added only a few
        counted = None
        for _ in range(500):  # of many tenants a worker looks at some, drawn at random
            worker_for(idle_database, embedder).drain()
            with idle_database.transaction(tenant) as connection:
                counted = connection.execute("select documents from lexicon").fetchone()
            if counted == {"documents": 600}:
                break
        assert counted == {"documents": 600}
