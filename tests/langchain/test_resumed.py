"""Runs that are taken up again: after an interrupt, and after an error."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from htm_core import Memory
from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted, texts

CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
CALL = AIMessage("", tool_calls=[{"name": "approve", "args": {}, "id": "c1"}])


@tool
def approve() -> str:
    """Ask a person."""
    return f"approved: {interrupt('May I?')}"


def said(memory: Memory) -> list[str]:
    return [mention.content for mention in memory.timeline(session="t1", limit=99)]


class Plan(TypedDict):
    topic: Any
    sections: Annotated[list[str], operator.add]


def graph_of_workers(worker: Any) -> Any:
    """A graph that writes its worker's prompt itself."""

    def write(state: Any) -> Any:
        done = worker.invoke({"messages": [HumanMessage(state["prompt"])]})
        return {"sections": texts(done["messages"])[-1:]}

    graph = StateGraph(Plan)
    graph.add_node("plan", lambda state: {"sections": []})
    graph.add_node("write", write)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda state: [Send("write", {"prompt": "Write about sails."})], ["write"]
    )
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("answer", [True, "yes"])
def test_a_graphs_prompt_is_nobodys_word_when_its_run_is_resumed(make: Make, answer: Any) -> None:
    worker = create_agent(
        scripted(CALL, "Done."), [approve], middleware=[HTMMemoryMiddleware(make(), recall_limit=0)]
    )
    app = graph_of_workers(worker)
    app.invoke({"topic": "Boats, please."}, CONFIG)
    assert app.invoke(Command(resume=answer), CONFIG)["sections"] == ["Done."]
    assert said(make(user="ann")) == []


def test_a_graphs_prompt_is_nobodys_word_when_its_run_goes_on_after_an_error(make: Make) -> None:
    worker = create_agent(
        scripted(ValueError("away"), "Done."),
        middleware=[HTMMemoryMiddleware(make(), recall_limit=0)],
    )
    app = graph_of_workers(worker)
    with pytest.raises(ValueError, match="away"):
        app.invoke({"topic": "Boats, please."}, CONFIG)
    assert app.invoke(None, CONFIG)["sections"] == ["Done."]
    assert said(make(user="ann")) == []


def test_a_graphs_prompt_is_nobodys_word_when_the_graph_is_given_no_text(make: Make) -> None:
    worker = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make(), recall_limit=0)])
    graph_of_workers(worker).invoke({"topic": 3}, CONFIG)
    assert said(make(user="ann")) == []


def test_the_users_words_stay_theirs_when_a_run_is_resumed(make: Make) -> None:
    """An agent that a node calls with the words of the state."""
    agent = create_agent(
        scripted(CALL, "Done."), [approve], middleware=[HTMMemoryMiddleware(make(), recall_limit=0)]
    )

    def answer(state: Any) -> Any:
        return {
            "messages": agent.invoke({"messages": [("user", state["messages"][-1].text)]})[
                "messages"
            ]
        }

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke({"messages": [HumanMessage("Paint my boat.")]}, CONFIG)
    app.invoke(Command(resume="yes"), CONFIG)
    assert set(said(make(user="ann"))) == {"Paint my boat.", "", "approved: yes", "Done."}
    assert said(make(user="ann"))[-1] == "Done."


def test_a_run_that_is_resumed_has_all_of_a_turns_time(make: Make) -> None:
    memory = HTMMemoryMiddleware(make(), recall_limit=0, timeout=2.0)
    agent = create_agent(
        scripted(CALL, "Done."), [approve], middleware=[memory], checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("Paint my boat.")]}, CONFIG)
    [conversation] = memory._conversations._open.values()
    conversation.deadline._spent = 2.5  # as after a slow first half
    agent.invoke(Command(resume="yes"), CONFIG)
    assert said(make(user="ann")) == ["Paint my boat.", "", "approved: yes", "Done."]
