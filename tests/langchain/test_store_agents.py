"""The store where LangGraph passes it on: to agents, graphs, tools, and LangMem."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from htm_core import Memory
from htm_langchain import HTMStore
from tests.langchain.models import scripted


@pytest.fixture
def store(memory: Memory) -> HTMStore:
    return HTMStore(memory=memory)


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Note something."""
    assert runtime.store is not None
    user = runtime.config["configurable"]["user"]
    runtime.store.put(("notes", user), text, {"text": text})
    return "noted"


@tool
async def anote(text: str, runtime: ToolRuntime) -> str:
    """Note something."""
    assert runtime.store is not None
    user = runtime.config["configurable"]["user"]
    await runtime.store.aput(("notes", user), text, {"text": text})
    return "noted"


@tool
def look_up(question: str, runtime: ToolRuntime) -> str:
    """Look something up."""
    assert runtime.store is not None
    user = runtime.config["configurable"]["user"]
    return "; ".join(
        item.value["text"]
        for item in runtime.store.search(("notes", user), query=question, limit=1)
    )


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def tool_texts(answer: dict[str, Any]) -> list[str]:
    return [str(message.text) for message in answer["messages"] if isinstance(message, ToolMessage)]


def of(user: str) -> Any:
    return {"configurable": {"user": user}}


def test_an_agent_notes_and_looks_up_through_its_runtime(store: HTMStore) -> None:
    model = scripted(
        call("note", text="The hens like rain."), "Noted.",
        call("note", text="The train leaves at nine."), "Noted.",
        call("look_up", question="When does the train leave?"), "At nine.",
        call("look_up", question="When does the train leave?"), "I do not know.",
    )  # fmt: skip
    agent = create_agent(model, tools=[note, look_up], store=store)
    for text in ("one", "two"):
        assert tool_texts(agent.invoke({"messages": [("user", text)]}, of("ann"))) == ["noted"]
    assert tool_texts(agent.invoke({"messages": [("user", "three")]}, of("ann"))) == [
        "The train leaves at nine."
    ]
    assert tool_texts(agent.invoke({"messages": [("user", "four")]}, of("bob"))) == [""]


def test_an_agent_awaits_the_store_on_any_loop(store: HTMStore) -> None:
    for text in ("The hens like rain.", "The train leaves at nine."):
        model = scripted(call("anote", text=text), "Noted.")
        agent = create_agent(model, tools=[anote], store=store)
        answer = asyncio.run(agent.ainvoke({"messages": [("user", "note it")]}, of("ann")))
        assert tool_texts(answer) == ["noted"]
    assert [item.key for item in store.search(("notes",))] == [
        "The train leaves at nine.",
        "The hens like rain.",
    ]


class State(TypedDict):
    said: str


def test_a_node_of_a_graph_is_given_the_store(store: HTMStore) -> None:
    def keep(state: State, *, store: BaseStore) -> State:
        store.put(("said",), "last", {"text": state["said"]})
        return state

    def read(state: State, runtime: Runtime) -> State:
        assert runtime.store is not None
        item = runtime.store.get(("said",), "last")
        assert item is not None
        return {"said": item.value["text"].upper()}

    graph = StateGraph(State).add_node("keep", keep).add_node("read", read)
    compiled = graph.add_edge(START, "keep").add_edge("keep", "read").compile(store=store)
    assert compiled.invoke({"said": "hens"}) == {"said": "HENS"}
    assert asyncio.run(compiled.ainvoke({"said": "ships"})) == {"said": "SHIPS"}


def test_langmems_tools_manage_and_search_memories(store: HTMStore) -> None:
    langmem = pytest.importorskip("langmem", reason="LangMem is not installed")
    manage = langmem.create_manage_memory_tool(("memories", "{user}"), store=store)
    search = langmem.create_search_memory_tool(("memories", "{user}"), store=store)
    said = manage.invoke({"content": "Ann likes hens.", "action": "create"}, of("ann"))
    manage.invoke({"content": "The train leaves at nine.", "action": "create"}, of("ann"))
    manage.invoke({"content": "Bob likes ships.", "action": "create"}, of("bob"))
    assert "Ann likes hens." in search.invoke({"query": "Who likes hens?", "limit": 1}, of("ann"))
    assert "ships" not in search.invoke({"query": "Who likes ships?"}, of("ann"))
    id = said.split()[-1]
    asyncio.run(
        manage.ainvoke({"content": "Ann likes geese.", "action": "update", "id": id}, of("ann"))
    )
    assert [item.value["content"] for item in store.search(("memories", "ann"))] == [
        "Ann likes geese.", "The train leaves at nine.",
    ]  # fmt: skip
    manage.invoke({"action": "delete", "id": id}, of("ann"))
    assert len(store.search(("memories",))) == 2
