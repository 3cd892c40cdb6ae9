"""An agent consults its palace before it answers, and its answer carries what it rests on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent

from htm_core import InvalidInput, Ungrounded
from htm_core.palace import MISS, Palace
from htm_core.prompt.deadline import breaker_of
from htm_langchain import HTMMemoryMiddleware
from tests.langchain.models import scripted
from tests.palace.conftest import Build
from tests.stand_ins import slow_reader

FACT = "The heron project ships in May."
QUESTION = "When does our heron project ship?"


def said(agent: Any, text: str, thread: str = "t") -> Any:
    config = {"configurable": {"thread_id": thread, "user_id": "ann"}}
    return agent.invoke({"messages": [{"role": "user", "content": text}]}, config)["messages"][-1]


def agent(palace: Palace, model: Any, **options: Any) -> Any:
    return create_agent(
        model, middleware=[HTMMemoryMiddleware(palace.memory, palace=palace, **options)]
    )


@pytest.mark.parametrize("enforce", ["strict", "advise"])
def test_the_model_is_told_the_evidence_and_the_answer_carries_it(
    palace: Palace, enforce: str
) -> None:
    palace.identify("I am Atlas.")
    placed = palace.file(FACT, room="projects", drawer="heron")
    model = scripted("In May [1].")
    answer = said(agent(palace, model, enforce=enforce), QUESTION)
    system = str(model.seen[0][0].text)
    assert FACT in system
    assert system.count("I am Atlas.") == 1
    grounding = answer.response_metadata["htm_grounding"]
    assert (grounding["verdict"], grounding["stopped"]) == ("grounded", "L1")
    assert grounding["evidence"][0]["id"] == placed.id


def test_strict_answers_a_miss_honestly_without_the_model(palace: Palace) -> None:
    model = scripted("In November, I guess.")
    answer = said(agent(palace, model, enforce="strict"), QUESTION)
    assert answer.text == MISS
    assert answer.response_metadata["htm_grounding"]["verdict"] == "miss"
    assert model.seen == []


def test_advise_tells_the_model_of_a_miss_and_lets_it_answer(palace: Palace) -> None:
    model = scripted("I do not know.")
    assert said(agent(palace, model), QUESTION).text == "I do not know."
    assert MISS in str(model.seen[0][0].text)


@pytest.mark.parametrize("enforce", ["strict", "advise"])
def test_a_reader_may_take_longer_than_a_turn_waits_for_memory(
    palace: Palace, enforce: str
) -> None:
    """A small model on a laptop reads for ten seconds: that says nothing of the database, and no recall is left out for it."""

    reading = Palace(palace.memory, reader=slow_reader)
    reading.file(FACT, room="projects", drawer="heron")
    answering = agent(reading, scripted("In May [1]."), enforce=enforce, timeout=1.0)
    assert said(answering, QUESTION).response_metadata["htm_grounding"]["verdict"] == "grounded"
    breaker_of(palace.memory, "recall").check()


def test_what_asks_for_nothing_remembered_goes_the_normal_way(palace: Palace) -> None:
    model = scripted("Waves.")
    assert (
        said(agent(palace, model, enforce="strict"), "Write a poem about the sea.").text == "Waves."
    )


def test_a_layer_that_fails_raises_when_strict(palace: Palace) -> None:
    def broken(uri: str) -> str:
        raise ConnectionError("tracker is down")

    palace.artifact("tracker://issues/42", fetch=broken)
    with pytest.raises(Ungrounded, match="tracker is down"):
        said(agent(palace, scripted(), enforce="strict"), "What is the status of issue 42?")


def test_a_thread_begins_with_what_the_palace_wakes_up_to(palace: Palace) -> None:
    palace.of(user="ann").file("Ann has a dog.", room="people", drawer="ann")
    model = scripted()
    made = agent(palace, model)
    said(made, "Hello!")
    assert "Ann has a dog." in str(model.seen[0][0].text)
    assert "# My palace" in str(model.seen[0][0].text)


@pytest.mark.parametrize("ask", [QUESTION, "Where did we go on holiday last year?"])
def test_nothing_that_the_palace_keeps_stands_beside_its_word(palace: Palace, ask: str) -> None:
    """Neither beside evidence, from which alone a model is to answer, nor beside a miss."""
    mine = palace.of(user="ann", session="t")
    mine.wake_up()
    for drawer, fact in (
        ("heron", FACT),
        ("ibis", "Our ibis project ship is blue."),
        ("otter", "We go on with the otter."),
    ):
        mine.file(fact, room="projects", drawer=drawer)
    mine.wake_up()
    mine.memory.of(session="before").remember("On holiday I read about our heron.", role="user")
    model = scripted("So.")
    said(agent(palace, model), ask)
    system, *others = (str(message.text) for message in model.seen[0])
    assert (FACT in system) == (ask == QUESTION)
    assert not any(fact in other for other in others for fact in (FACT, "blue", "otter"))
    assert "I read about our heron" in "".join(others)


def test_an_awaited_agent_consults_as_well(palace: Palace) -> None:
    model = scripted("Guess.")
    made = agent(palace, model, enforce="strict")
    config = {"configurable": {"thread_id": "t", "user_id": "ann"}}
    done = asyncio.run(made.ainvoke({"messages": [{"role": "user", "content": QUESTION}]}, config))
    assert done["messages"][-1].text == MISS
    assert model.seen == []


def test_another_users_palace_is_not_consulted(palace: Palace, build: Build) -> None:
    palace.of(user="bob").file(FACT, room="projects", drawer="heron")
    assert said(agent(palace, scripted(), enforce="strict"), QUESTION).text == MISS


@pytest.mark.parametrize("options", [{"palace": "palace"}, {"enforce": "maybe"}])
def test_invalid_options_are_refused(palace: Palace, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        HTMMemoryMiddleware(palace.memory, **({"palace": palace} | options))
