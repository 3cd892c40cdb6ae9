"""Jobs: listed, parked with their error, tried again; and never lost, even when their worker is killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, Settings
from htm_core.db.database import Database
from htm_core.jobs.attempts import MOST_TRIES
from htm_core.text.tags import closure
from tests.conftest import SETTINGS, Make
from tests.jobs import killable
from tests.stand_ins import HashEmbedder

ROOT = Path(__file__).parents[2]
IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
BRIEF = Settings(
    **SETTINGS.model_dump(by_alias=True) | {"worker": "off", "worker_lease": 0.4, "worker_batch": 8}
)


class Picky(HashEmbedder):
    """A stand-in for a model that cannot take certain texts, until it is fixed."""

    fixed = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self.fixed and any("poison" in text for text in texts):
            raise ValueError("cannot embed this one")
        return super().embed_documents(texts)


@pytest.fixture
def picky() -> Picky:
    return Picky(name=f"picky-{uuid.uuid4().hex[:8]}")


def give_up(memory: Memory) -> None:
    for _ in range(MOST_TRIES):
        memory.flush(timeout=30)


def test_pending_jobs_are_listed_with_kind_model_node_and_state(
    alone: None, make: Make, picky: Picky
) -> None:
    with make(embedder=picky, settings=IDLE, tagger="keywords") as memory:
        node = memory.remember("text", tags=["a"])
        assert len(memory.jobs.list()) == len(pending := memory.jobs.list(node=node.id))
        assert memory.jobs.list(node=str(uuid.uuid4())) == []
        with pytest.raises(InvalidInput, match="node"):
            memory.jobs.list(node="no id")
        assert {(job.kind, job.model) for job in pending} == {
            ("embed", memory._engine.embedder.name), ("tag", "keywords"), ("relate", ""),
        }  # fmt: skip
        assert {(job.node_id, job.state, job.attempts, job.error) for job in pending} == {
            (node.id, "waiting", 0, None)
        }
        assert [job.kind for job in memory.jobs.list(kind="tag")] == ["tag"]
        assert memory.flush(timeout=30)
        assert memory.jobs.list() == []


def test_a_parked_job_has_its_error_and_may_be_retried(make: Make, picky: Picky) -> None:
    with make(embedder=picky, settings=IDLE) as memory:
        memory.remember_many(
            [{"content": "poison one"}, {"content": "poison two"}, {"content": "fine"}]
        )
        give_up(memory)
        parked = memory.jobs.list(parked=True)
        assert [(job.state, job.attempts) for job in parked] == [("parked", MOST_TRIES)] * 2
        assert all("cannot embed this one" in str(job.error) for job in parked)
        assert memory.jobs.list(parked=False) == []
        picky.fixed = True
        assert memory.jobs.retry([parked[0].id]) == 1
        assert memory.flush(timeout=30)
        assert [job.id for job in memory.jobs.list()] == [parked[1].id]
        assert memory.jobs.retry(kind="tag") == 0
        assert memory.jobs.retry() == 1
        assert memory.flush(timeout=30)
        assert (memory.jobs.list(), memory.stats().vectors) == ([], 3)


def test_a_job_that_fails_by_its_own_fault_waits_twice_as_long_each_time_and_never_with_the_others(
    make: Make, picky: Picky
) -> None:
    with make(embedder=picky, settings=IDLE) as memory:
        memory.remember_many([{"content": f"poison {n}"} for n in range(6)])
        for failures in range(1, MOST_TRIES):
            begun = datetime.now(UTC)
            memory._runtime.worker.drain()
            ended = datetime.now(UTC)
            pending = memory.jobs.list()
            assert {(job.state, job.attempts) for job in pending} == {("waiting", failures)}
            wait = timedelta(seconds=2.0 ** (failures - 1))
            assert all(begun + 0.5 * wait <= job.run_at <= ended + 1.5 * wait for job in pending)
            assert len({job.run_at for job in pending}) == len(pending)
            with memory._engine.transaction() as connection:
                connection.execute("update jobs set run_at = now()")


def test_jobs_of_other_users_are_not_seen_and_not_retried(make: Make, picky: Picky) -> None:
    with (
        make(user="ann", embedder=picky, settings=IDLE) as ann,
        make(user="ben", embedder=picky, settings=IDLE) as ben,
    ):
        ann.remember("poison")
        give_up(ann)
        assert len(ann.jobs.list()) == 1
        assert ben.jobs.list() == []
        assert ben.jobs.retry() == ben.jobs.retry([ann.jobs.list()[0].id]) == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.jobs.list(kind="dance"),
        lambda m: m.jobs.list(limit=0),
        lambda m: m.jobs.retry("id"),
        lambda m: m.jobs.retry(["x"]),
    ],
)
def test_what_cannot_be_meant_is_refused(memory: Memory, ask: Callable[[Memory], Any]) -> None:
    with pytest.raises(InvalidInput):
        ask(memory)


def test_a_tag_that_changes_while_it_is_being_related_is_related_again(
    alone: None, make: Make, database: Database, tenant: str
) -> None:
    """What a worker is at may have been read before the change: its job is not taken for the new one's."""
    from htm_core.db import jobs

    with make(settings=IDLE) as memory:
        node = memory.remember("text", tags=["a"])
        with database.transaction(
            "", role="htm_worker"
        ) as connection:  # and what others have left behind
            claimed = [
                job
                for job in jobs.claim(connection, ("relate", ""), limit=1_000, lease=30)
                if job.tenant == tenant
            ]
        assert len(claimed) == 1
        memory.tags.add(node.id, ["b"])
        with database.transaction(tenant, role="htm_worker") as connection:
            assert jobs.finish(connection, claimed) == set()
        assert [(job.kind, job.state) for job in memory.jobs.list(kind="relate")] == [
            ("relate", "waiting")
        ]


def test_a_process_that_missed_a_change_of_model_recalls_by_words_and_leaves_its_vectors_to_jobs(
    make: Make,
) -> None:
    from htm_core.jobs.reembed import reembed
    from htm_core.models.embedders import resolve

    name = f"model-{uuid.uuid4().hex[:8]}"
    old, new = HashEmbedder(name=name), HashEmbedder(name=f"{name}-new", dimension=48)
    stale = make(embedder=old, embed="now", settings=IDLE)
    stale.remember("Ann likes coffee.")
    reembed(stale._engine.database, tenant=stale.tenant, embedder=resolve(new))
    found = stale.recall("coffee")
    assert [hit.content for hit in found] == ["Ann likes coffee."]
    assert f"{name}-new" in str(found.degraded)
    assert "htm reembed" in str(found.degraded)
    stale.remember("Ben likes tea.")
    stale.remember_many([{"content": "Given.", "vector": old.embed_query("Given.")}])
    renewed = make(embedder=new, settings=IDLE)
    assert len(renewed.jobs.list(kind="embed")) == 2
    assert renewed.flush(timeout=30)
    assert renewed.recall("tea", mode="vector")[0].content == "Ben likes tea."
    assert renewed.stats().vectors == 3


# -- kill -9 --------------------------------------------------------------------------------------------------------

# Every kind of job, killed so many times at random moments; HTM_TEST_KILLS=50 is the long run.
KILLS = int(os.environ.get("HTM_TEST_KILLS", "3"))
TEXTS = [f"Robot {n} lives in city {n % 5}. Robot {n} likes drink {n % 3}." for n in range(24)]


def doing(url: str | None, kind: str, home: str) -> subprocess.Popen[str]:
    """A process whose worker does the jobs of one kind; it says when it is at one."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.killable", url or "", kind],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), "HTM_HOME": home},
    )  # fmt: skip


def waiting(memory: Memory, kind: str) -> int:
    return len(memory.jobs.list(kind=kind, limit=1_000))


@pytest.mark.parametrize("kind", ["embed", "tag", "propose", "relate"])
def test_work_whose_worker_is_killed_at_any_moment_is_done_once(
    url: str | None, make: Make, kind: str
) -> None:
    rng = random.Random(kind)
    kills = 0
    with make(
        embedder=killable.EMBEDDER,
        tagger=killable.TAGGER,
        propositioner=killable.PROPOSER,
        settings=BRIEF,
    ) as memory:
        turn = 0
        while kills < KILLS:
            if waiting(memory, kind) < len(TEXTS) // 2:  # always enough to be killed at
                memory.remember_many(
                    [{"content": f"{turn}: {text}", "tags": [f"turn:{turn}"]} for text in TEXTS]
                )
                turn += 1
            process = doing(url, kind, os.environ["HTM_HOME"])
            assert process.stdout is not None
            assert process.stdout.readline() == "at it\n"
            time.sleep(rng.random() * 0.3)
            process.kill()
            process.wait()
            kills += 1
            if process.stdout.read().endswith("nothing is due\n"):
                kills -= 1  # it had ended before
        assert settled(memory), "what the dead had claimed is taken up"
        assert memory.jobs.list() == []
        check(memory, turns=turn)


def settled(memory: Memory) -> bool:
    """Wait until no job is pending; the leases of killed workers must end first."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if memory.flush(timeout=30):
            return True
    return False


def check(memory: Memory, *, turns: int) -> None:
    """The result of each job is there, once."""
    nodes = {node.id: node for node in everything(memory)}
    sources = [node for node in nodes.values() if "proposition_of" not in node.metadata]
    assert len(sources) == turns * len(TEXTS)
    stats = memory.stats()
    assert stats.vectors == stats.passages == len(nodes)
    assert all(killable.first_tag(node.content) in node.tags for node in nodes.values())
    facts = Counter(fact for node in sources for fact in killable.PROPOSER.propose(node.content))
    said = Counter(
        mention.content
        for mention in memory.timeline(limit=1_000)
        if "proposition_of" in mention.metadata
    )
    assert said == facts, "each fact is said once for each source"
    with memory._engine.transaction() as connection:
        rows = connection.execute(
            "select source, target, weight from relations where origin = 'tags'"
        ).fetchall()
        derived = connection.execute(
            "select count(*) as n from relations where kind = 'derived'"
        ).fetchone()
    assert derived == {"n": sum(facts.values())}
    assert len({frozenset((row["source"], row["target"])) for row in rows}) == len(rows)
    for row in rows:
        one, other = (
            closure(nodes[str(row["source"])].tags),
            closure(nodes[str(row["target"])].tags),
        )
        assert row["weight"] == pytest.approx(len(one & other) / len(one | other))
    assert_best_neighbours(nodes, rows)


def assert_best_neighbours(nodes: dict[str, Any], rows: list[Any]) -> None:
    """Nobody is without an edge who shares enough with somebody."""
    joined = {str(row[end]) for row in rows for end in ("source", "target")}
    for one, other in combinations(list(nodes.values())[:60], 2):
        if (
            len(closure(one.tags) & closure(other.tags))
            / len(closure(one.tags) | closure(other.tags))
            >= 0.5
        ):
            assert {one.id, other.id} <= joined


def everything(memory: Memory) -> list[Any]:
    found, after = [], None
    while page := memory.list(limit=1_000, after=after):
        found += page
        after = page[-1].id
    return found
