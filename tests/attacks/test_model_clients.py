"""Tenants with model clients of one name: each tenant's texts go to that tenant's clients, and to no other."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict, PrivateAttr

from htm_core import InvalidInput, Memory, Settings
from htm_core.jobs import rate_limits
from htm_core.models.embedders import resolve
from htm_core.models.taggers import resolve_tagger
from tests.attacks.recorder import Party, Recorder, RecordingTagger
from tests.conftest import SETTINGS, Make

ROOT = Path(__file__).parents[2]


def with_settings(**changed: Any) -> Settings:
    return Settings(**SETTINGS.model_dump(by_alias=True) | changed)


@pytest.fixture
def name() -> str:
    """The name that all clients of a test have."""
    return f"model-{uuid4().hex[:10]}"


@pytest.fixture(params=["thread", "off"])
def parties(request: pytest.FixtureRequest, make: Make, tenant: str, name: str) -> list[Party]:
    """Two tenants in one process, with clients of equal names; the jobs are done in the background, or by flush."""
    chosen = with_settings(worker=request.param)
    return [Party(make, f"{tenant}-{each}", name, settings=chosen) for each in ("a", "b")]


def strangers(party: Party, others: list[Party]) -> list[str]:
    """What a tenant's clients were sent of others."""
    return [
        text
        for text in party.seen
        for other in others
        if other is not party and other.tenant in text
    ]


def eventually(said: Any, timeout: float = 15.0) -> None:
    end = time.monotonic() + timeout
    while not said():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_each_tenants_texts_questions_and_facts_go_to_its_own_clients(parties: list[Party]) -> None:
    for party in parties:
        party.memory.remember_many([{"content": f"text {n} of {party.tenant}"} for n in range(20)])
    for party in parties:
        party.memory.recall(f"a question of {party.tenant}")
        assert party.memory.flush(30)
    for party in parties:
        assert strangers(party, parties) == []
        assert sum(f"of {party.tenant}" in text for text in party.embedder.seen) >= 20
        assert (
            sum(f"of {party.tenant}" in text for text in party.tagged) >= 40
        )  # by the tagger and by the propositioner
        assert party.memory.stats().vectors >= 20


def test_a_flush_of_one_tenant_sends_its_client_nothing_of_another(
    make: Make, tenant: str, name: str
) -> None:
    resting = with_settings(worker="off")
    a = Party(make, f"{tenant}-a", name, settings=resting)
    b = Party(make, f"{tenant}-b", name, settings=resting)
    b.memory.remember(f"text of {b.tenant}")
    a.memory.remember(f"text of {a.tenant}")
    assert a.memory.flush(20)  # it does the jobs of all tenants whose clients are here
    assert strangers(a, [a, b]) == strangers(b, [a, b]) == []


def test_what_failed_is_tried_again_with_the_same_tenants_client(parties: list[Party]) -> None:
    a, b = parties
    a.embedder.down = a.tagger.is_down = True
    for party in parties:
        party.memory.remember_many([{"content": f"text {n} of {party.tenant}"} for n in range(5)])
    assert b.memory.flush(20)
    assert not a.memory.flush(2)
    assert strangers(b, parties) == []
    a.embedder.down = a.tagger.is_down = False
    eventually(lambda: a.memory.flush(10))
    assert strangers(a, parties) == strangers(b, parties) == []
    assert a.memory.stats().vectors >= 5


def test_the_breaker_of_one_tenants_client_stops_no_other(parties: list[Party]) -> None:
    a, b = parties
    a.embedder.down = True
    for n in range(rate_limits.FAILURES + 1):
        a.memory.remember(f"text {n} of {a.tenant}")
        a.memory.flush(1)
    eventually(
        lambda: (
            not a.memory.flush(1)
            and a.memory.stats().breakers[resolve(a.embedder).name] != "closed"
        )
    )
    b.memory.remember(f"text of {b.tenant}")
    assert b.memory.flush(10)
    assert b.memory.stats().breakers[resolve(b.embedder).name] == "closed"


def test_the_rate_of_one_tenants_client_is_not_used_up_by_another(
    make: Make, tenant: str, name: str
) -> None:
    model = resolve(Recorder(name)).name
    slow = with_settings(worker="off", model_rates=((model, 1.0),))
    a, b = (Party(make, f"{tenant}-{each}", name, settings=slow) for each in "ab")
    a.memory.remember(f"text of {a.tenant}")
    a.memory._runtime.worker.drain()
    b.memory.remember(f"text of {b.tenant}")
    b.memory._runtime.worker.drain()
    assert f"text of {a.tenant}" in a.embedder.seen
    assert f"text of {b.tenant}" in b.embedder.seen


def test_a_worker_without_a_tenants_client_leaves_its_jobs_and_flush_says_so(
    make: Make, tenant: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    resting = with_settings(worker="off")
    a = Party(make, f"{tenant}-a", name, settings=resting)
    plain: Memory = make(tenant=f"{tenant}-b", embedder=Recorder(name), settings=resting)
    plain.remember(f"text of {plain.tenant}")
    worker, model = plain._runtime.worker, plain._engine.embedder.name
    worker.remove_handler("embed", model)  # as in a process that was started again
    worker.add_embedder(resolve(a.embedder), tenant=a.tenant)
    worker.drain()
    with caplog.at_level(logging.WARNING, "htm.worker"):
        assert not plain.flush(1)
    [job] = [each for each in plain.jobs.list() if each.kind == "embed"]
    assert (job.state, job.attempts, job.error) == ("waiting", 0, None)
    assert "1 embed jobs" in caplog.text
    assert model in caplog.text
    assert plain.tenant in caplog.text
    assert strangers(a, [a]) == []
    assert not any(plain.tenant in text for text in a.seen)
    again: Memory = make(tenant=plain.tenant, embedder=Recorder(name), settings=resting)
    assert again.flush(10)


def test_each_of_two_processes_works_for_its_own_tenant(
    make: Make, url: str | None, tenant: str, name: str
) -> None:
    resting = with_settings(worker="off")
    a = Party(make, f"{tenant}-a", name, settings=resting)
    a.memory.remember_many([{"content": f"text {n} of {a.tenant}"} for n in range(10)])
    other = f"{tenant}-b"
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.other_process", url or "", other, name],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=120,
    )  # fmt: skip
    received = json.loads(done.stdout)
    assert any(other in text for text in received)
    assert not any(a.tenant in text for text in received)
    assert a.memory.flush(20)
    assert not any(other in text for text in a.seen)
    assert sum(f"of {a.tenant}" in text for text in a.embedder.seen) >= 10


def test_a_second_client_of_one_name_in_a_tenant_is_refused_and_the_first_one_goes_on(
    make: Make, name: str
) -> None:
    first, second = Recorder(name), Recorder(name)
    memory = make(embedder=first)
    with pytest.raises(
        InvalidInput, match=r"got two: Recorder at 0x\w+, .* and Recorder at 0x"
    ) as refused:
        make(embedder=second)
    assert f"{id(first):#x}" in str(refused.value)
    assert f"{id(second):#x}" in str(refused.value)
    memory.remember("still mine")
    assert memory.flush(10)
    assert "still mine" in first.seen
    assert second.seen == []
    tagged: list[str] = []
    tagging = make(embedder=first, tagger=RecordingTagger(name, tagged))
    with pytest.raises(InvalidInput, match="the tag jobs"):
        make(embedder=first, tagger=RecordingTagger(name, []))
    tagging.remember("tag me")
    assert tagging.flush(10)
    assert tagged == ["tag me"]


@pytest.mark.parametrize("way", ["closed", "given up"])
def test_another_client_follows_when_no_memory_has_the_first_one_any_more(
    make: Make, name: str, way: str
) -> None:
    first, second = Recorder(name), Recorder(name)
    memory: Memory | None = make(embedder=first)
    assert memory is not None
    if way == "closed":
        memory.close()
    memory = None
    following = make(embedder=second)
    gc.collect()
    following.remember("for the second")
    assert following.flush(10)
    assert "for the second" in second.seen
    assert first.seen == []


def test_jobs_of_a_closed_memory_are_still_done_by_its_client(make: Make, name: str) -> None:
    embedder = Recorder(name)
    with make(embedder=embedder) as memory:
        memory.remember("said before closing")
    eventually(lambda: "said before closing" in embedder.seen)


class Hosted(BaseModel, Embeddings):
    """A client as LangChain's are made: with settings, and with a connection that it makes of them."""

    model_config = ConfigDict(protected_namespaces=())
    model: str
    base_url: str
    _connection: Any = PrivateAttr(default_factory=object)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_clients_that_are_made_anew_with_the_same_settings_are_one_and_with_others_two(
    make: Make, name: str
) -> None:
    kept = [make(embedder=Hosted(model=name, base_url="https://one.example")) for _ in range(3)]
    with pytest.raises(InvalidInput, match="expected one client"):
        make(embedder=Hosted(model=name, base_url="https://two.example"))
    assert len(kept) == 3


def test_of_another_tenant_shares_the_clients_and_only_those(
    make: Make, tenant: str, name: str
) -> None:
    a = Party(make, f"{tenant}-a", name)
    c = a.memory.of(tenant=f"{tenant}-c")
    c.remember(f"text of {c.tenant}")
    assert c.flush(20)
    assert any(c.tenant in text for text in a.embedder.seen)
    with pytest.raises(InvalidInput, match="expected one client"):
        make(tenant=c.tenant, embedder=Recorder(name))


def test_shared_models_serve_all_tenants_and_suffer_no_second_client(
    make: Make, tenant: str, name: str
) -> None:
    model = resolve(Recorder(name)).name
    sharing = with_settings(worker="off", shared_models=(model,))
    plain: Memory = make(
        tenant=f"{tenant}-b", embedder=Recorder(name), settings=with_settings(worker="off")
    )
    plain.remember(f"text of {plain.tenant}")
    operators = Recorder(name)
    shared: Memory = make(tenant=f"{tenant}-a", embedder=operators, settings=sharing)
    shared._runtime.worker.drain()
    assert f"text of {plain.tenant}" in operators.seen
    with pytest.raises(InvalidInput, match="expected one client"):
        make(tenant=f"{tenant}-c", embedder=Recorder(name), settings=sharing)


def test_a_worker_of_the_operators_serves_all_tenants_but_those_with_a_client_there(
    make: Make, tenant: str, name: str
) -> None:
    resting = with_settings(worker="off", pool_timeout=9.5)  # a runtime of this test's own
    plain: Memory = make(
        tenant=f"{tenant}-b", embedder=Recorder(name), settings=with_settings(worker="off")
    )
    a = Party(make, f"{tenant}-a", name, settings=resting)
    plain.remember(f"text of {plain.tenant}")
    a.memory.remember(f"text of {a.tenant}")
    operators = Recorder(name)
    worker = a.memory._runtime.worker
    worker.add_embedder(resolve(operators))
    worker.drain()
    assert f"text of {plain.tenant}" in operators.seen
    assert not any(a.tenant in text for text in operators.seen)
    assert f"text of {a.tenant}" in a.embedder.seen


def test_models_in_the_process_serve_all_tenants(make: Make, tenant: str) -> None:
    keywords = resolve_tagger("keywords")
    assert keywords is not None
    resting = with_settings(worker="off")
    first: Memory = make(tenant=f"{tenant}-a", tagger="keywords", settings=resting)
    worker = first._runtime.worker
    assert ("tag", "keywords") in worker.lanes_of(f"{tenant}-never-opened")
    assert ("embed", first._engine.embedder.name) not in worker.lanes_of(f"{tenant}-never-opened")


def test_twenty_tenants_with_clients_of_one_name_are_all_served_by_their_own(
    make: Make, tenant: str, name: str
) -> None:
    resting = with_settings(worker="off")
    found = [Party(make, f"{tenant}-{n:02}-", name, settings=resting) for n in range(20)]
    for party in found:
        party.memory.remember(f"text of {party.tenant}")
    assert found[-1].memory.flush(60)
    found[0].memory._runtime.worker.drain()
    for party in found:
        assert strangers(party, found) == []
        assert f"text of {party.tenant}" in party.embedder.seen


VERBS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "many", "recall", "flush", "revise", "fail", "heal", "drain", "close", "of"]),
        st.integers(0, 2),
    ),
    min_size=20, max_size=40,
)  # fmt: skip


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(verbs=VERBS, worker=st.sampled_from(["thread", "off"]))
def test_whatever_is_done_in_whatever_order_no_client_sees_another_tenants_text(
    make: Make, tenant: str, verbs: list[tuple[str, int]], worker: str
) -> None:
    mark = uuid4().hex[:8]
    chosen = with_settings(worker=worker)
    found = [
        Party(make, f"{tenant}-{mark}-{each}", f"model-{mark}", settings=chosen) for each in "abc"
    ]
    closed: list[Memory] = []
    for at, (verb, which) in enumerate(verbs):
        party = found[which]
        memory = party.memory
        if verb == "remember":
            memory.remember(f"text {at} of {party.tenant}")
        elif verb == "many":
            memory.remember_many(
                [{"content": f"text {at}.{n} of {party.tenant}"} for n in range(9)]
            )
        elif verb == "recall":
            memory.recall(f"question {at} of {party.tenant}")
        elif verb == "revise":
            memory.revise("key", f"value {at} of {party.tenant}")
        elif verb == "flush":
            memory.flush(0.5)
        elif verb == "drain":
            memory._runtime.worker.drain()
        elif verb in ("fail", "heal"):
            party.embedder.down = party.tagger.is_down = verb == "fail"
        elif verb == "close":
            closed.append(memory)
            memory.close()
            party.memory = make(
                tenant=party.tenant, embedder=party.embedder, tagger=party.tagger, propositioner=party.propositioner,
                settings=chosen,
            )  # fmt: skip
        else:
            party.memory = memory.of(user="ann" if memory.user is None else "bob", session=f"s{at}")
    for party in found:
        party.embedder.down = party.tagger.is_down = False
    for party in found:
        eventually(lambda party=party: party.memory.flush(10), timeout=60)
        assert strangers(party, found) == []


def test_memories_that_are_made_and_closed_at_once_never_mix_their_clients(
    make: Make, tenant: str, name: str
) -> None:
    found = [Party(make, f"{tenant}-{n}-", name) for n in range(4)]
    errors: list[BaseException] = []

    def busy(party: Party) -> None:
        try:
            for n in range(25):
                with make(
                    tenant=party.tenant,
                    embedder=party.embedder,
                    tagger=party.tagger,
                    propositioner=party.propositioner,
                ) as memory:
                    memory.remember(f"text {n} of {party.tenant}")
                    memory.recall(f"question {n} of {party.tenant}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=busy, args=[party]) for party in found]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    for party in found:
        assert party.memory.flush(60)
        assert strangers(party, found) == []
        assert sum(f"of {party.tenant}" in text for text in party.seen) >= 50
