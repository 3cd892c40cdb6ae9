"""What a trace and an event stream show of memory: recall as a run of its own, within the run that it is for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda

from htm_langchain import HTMChatMessageHistory, HTMMemoryMiddleware, with_memory
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_chains import Names
from tests.langchain.test_middleware import FACT, QUESTION, calls, config, look, runs, said


def an_agent(make: Make, *script: Any, **options: Any) -> Any:
    return create_agent(
        scripted(*script), [look], middleware=[HTMMemoryMiddleware(make(), **options)]
    )


# LangChain's fake model streams no calls of tools.
@pytest.mark.parametrize(
    ("colour", "calling"), [("invoke", 1), ("ainvoke", 1), ("stream", 0), ("astream_events", 0)]
)
def test_in_an_agents_trace_recall_is_a_run_below_the_models_node(
    make: Make, colour: str, calling: int
) -> None:
    trace = Names()
    agent = an_agent(make, *[calls("c1", "kitchen")] * calling)
    runs(agent, colour)(said("How warm is it?"), config() | {"callbacks": [trace]})
    # Once for the question, however often the model is called.
    assert trace.paths.count("/LangGraph/model/htm_recall") == 1
    assert trace.paths.count("/LangGraph/model/Scripted") == 1 + calling
    assert [path for path in trace.paths if path.endswith("htm_recall")] == [
        "/LangGraph/model/htm_recall"
    ]
    assert "/LangGraph/model/htm_persist" in trace.paths


def events_of(runnable: Any, given: Any, config: Any) -> list[Any]:
    async def gathered() -> list[Any]:
        return [event async for event in runnable.astream_events(given, config, version="v2")]

    return asyncio.run(gathered())


def test_an_agents_event_stream_tells_of_recall_with_its_question_and_what_was_found(
    make: Make,
) -> None:
    make(user="ann").remember(FACT, session="long ago")
    events = events_of(an_agent(make), said(QUESTION), config())
    began, ended = (
        [each for each in events if each["name"] == "htm_recall" and each["event"] == event]
        for event in ("on_retriever_start", "on_retriever_end")
    )
    assert len(began) == len(ended) == 1
    assert began[0]["data"]["input"]["query"] == QUESTION
    assert FACT in [document.page_content for document in ended[0]["data"]["output"]]
    node = next(
        each for each in events if each["name"] == "model" and each["event"] == "on_chain_start"
    )
    assert began[0]["parent_ids"][-1] == node["run_id"]
    order = [
        each["event"]
        for each in events
        if each["event"] in ("on_retriever_end", "on_chat_model_start")
    ]
    assert order[0] == "on_retriever_end"


def test_a_chains_event_stream_tells_of_recall_below_the_chain(make: Make) -> None:
    events = events_of(with_memory(scripted("one two"), make(user="ann"), session="s"), "hello", {})
    began = next(each for each in events if each["name"] == "htm_recall")
    assert (began["event"], began["parent_ids"]) == ("on_retriever_start", [events[0]["run_id"]])


def test_where_recall_is_switched_off_there_is_no_such_run(make: Make) -> None:
    events = events_of(an_agent(make, recall_limit=0), said(QUESTION), config())
    assert not [each for each in events if each["name"] == "htm_recall"]


def test_a_historys_recall_is_a_run_too(make: Make) -> None:
    make(user="ann").remember(FACT)
    history = HTMChatMessageHistory("s", make(user="ann"), recall=True)
    history.add_user_message(QUESTION)
    trace = Names()
    RunnableLambda(lambda _: history.messages, name="reading").invoke("", {"callbacks": [trace]})
    assert "/reading/htm_recall" in trace.paths
