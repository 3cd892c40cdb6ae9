"""`htm jobs` lists pending and failed jobs, `htm jobs retry` makes failed ones due again, `htm worker` does them."""

from __future__ import annotations

import uuid

import pytest

from htm_core.base.telemetry import PendingJobs
from htm_core.cli.admin import describe_backlog
from htm_core.db import jobs
from htm_core.db.database import Database
from htm_core.jobs.attempts import MOST_TRIES
from tests.cli.conftest import Htm
from tests.stand_ins import HashEmbedder


class Picky(HashEmbedder):
    """A stand-in for a model that cannot take certain texts, until it is repaired."""

    repaired = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self.repaired and any("poison" in text for text in texts):
            raise ValueError("cannot embed this one")
        return super().embed_documents(texts)


@pytest.fixture
def picky(models: dict[str, HashEmbedder]) -> Picky:
    model = Picky(name=f"picky-{uuid.uuid4().hex[:8]}")
    models[model.model] = model
    return model


def test_what_is_owed_is_listed_given_up_and_retried(
    alone: None, htm: Htm, picky: Picky, database: Database, tenant: str
) -> None:
    model = ("--embedder", picky.model)
    htm("remember", "poison", "--no-wait", "--tags", "a", *model)
    assert sorted(job["kind"] for job in htm("jobs", "--json", *model).json) == ["embed", "relate"]
    for _ in range(MOST_TRIES):
        with database.transaction(tenant) as connection:
            jobs.make_all_due(connection)
        htm("worker", "--once", *model)
    [parked] = htm("jobs", "--parked", "--json", *model).json
    assert (parked["kind"], parked["state"], parked["attempts"]) == ("embed", "parked", MOST_TRIES)
    assert "cannot embed this one" in parked["error"]
    shown = htm("jobs", *model).out
    assert parked["id"][:8] in shown
    assert "parked" in shown
    picky.repaired = True
    assert htm("jobs", "retry", parked["id"], "--kind", "tag", "--json", *model).json == {
        "retried": 0
    }
    assert "1 jobs are due again" in htm("jobs", "retry", *model).out
    htm("worker", "--once", *model)
    assert htm("jobs", "--json", *model).json == []
    assert "No jobs are pending" in htm("jobs", *model).err
    assert "No job was given up" in htm("jobs", "retry", *model).out


def test_ids_are_for_retry(htm: Htm) -> None:
    assert htm("jobs", "list", "some-id").code == 2
    assert htm("jobs", "dance").code == 2


def test_a_worker_does_the_jobs_of_the_taggers_it_is_given(
    htm: Htm, database: Database, tenant: str
) -> None:
    node = htm("remember", "Ann likes coffee.", "--no-wait", "--json").json["id"]
    with database.transaction(tenant) as connection:
        jobs.enqueue(connection, [node], kind="tag", model="keywords")
    done = htm(
        "worker", "--once", "--tagger", "keywords", "--propositioner", "ollama:gemma3", "--json"
    ).json
    assert "keywords" in done["models"]
    assert "ollama:gemma3" in done["models"]
    assert "coffee" in htm("tags").out
    assert htm("worker", "--once", "--tagger", "gpt").code == 2


def test_stats_tell_of_the_breakers(htm: Htm) -> None:
    apart = ("--embedder", "apart")  # a model that no other test has broken
    htm("remember", "text", *apart)
    assert htm("stats", "--json", *apart).json["breakers"]["HashEmbedder:apart"] == "closed"
    assert "HashEmbedder:apart: closed" in htm("stats", *apart).out


def test_what_waits_is_said_by_lane_without_lanes_that_are_done() -> None:
    backlog = [
        PendingJobs("embed", "minilm", bulk=False, pending=3, parked=0, oldest=12.4),
        PendingJobs("embed", "minilm", bulk=True, pending=20_000, parked=1, oldest=3_600.0),
        PendingJobs("relate", "", bulk=False, pending=0, parked=2, oldest=None),
    ]
    said = describe_backlog(backlog)
    assert (
        said
        == "embed minilm: 3, the oldest for 12 s; embed minilm (bulk): 20,000, the oldest for 3,600 s"
    )
    most = PendingJobs(
        "embed", "minilm", bulk=False, pending=100_000, parked=0, oldest=60.0, more=True
    )
    assert describe_backlog([most]) == "embed minilm: more than 100,000, the oldest for 60 s"
    assert describe_backlog([]) == ""
