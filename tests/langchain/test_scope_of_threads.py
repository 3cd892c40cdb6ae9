"""Whose memory a thread's run is about where the run itself does not say so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from htm_core import InvalidInput, Memory, anonymous
from htm_langchain import HTMMemoryMiddleware, with_memory
from tests.conftest import Make
from tests.langchain.models import scripted, texts

NOTE = AIMessage(
    "", tool_calls=[{"name": "remember", "args": {"content": "The vault is blue."}, "id": "c1"}]
)


def config(user: str | None = "ann", thread: str = "t1", **choices: Any) -> Any:
    return {"configurable": {"thread_id": thread, **({"user_id": user} if user else {}), **choices}}


def say(words: str) -> Any:
    return {"messages": [HumanMessage(words)]}


def kept(memory: Memory) -> list[str]:
    return [mention.content for mention in memory.timeline(limit=99)]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_a_run_that_failed_has_not_answered_is_not_the_next_speakers(
    make: Make, awaited: bool
) -> None:
    model = scripted(
        RuntimeError("the model is down"), RuntimeError("still"), "Hello both.", "Fine."
    )
    agent: Any = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), limit=0)], checkpointer=InMemorySaver()
    )

    def run(user: str, *words: str) -> None:
        given = {"messages": [HumanMessage(each) for each in words]}
        if awaited:
            asyncio.run(agent.ainvoke(given, config(user)))
        else:
            agent.invoke(given, config(user))

    for words in (["I am ann.", "My code is blue."], ["Are you there?"]):
        with pytest.raises(RuntimeError):
            run("ann", *words)
    run("ben", "I am ben.", "My code is red.")
    run("ann", "Thanks.")
    assert kept(make(user="ben")) == ["I am ben.", "My code is red.", "Hello both."]
    assert kept(make(user="ann")) == [
        "I am ann.",
        "My code is blue.",
        "Are you there?",
        "Thanks.",
        "Fine.",
    ]


@pytest.fixture
def other(make: Make, tenant: str) -> Memory:
    """Ann's memory in another tenant."""
    return make(user="ann", tenant=f"{tenant}-other")


# -- the middleware's tools -------------------------------------------------------------------------------------------


def test_the_middlewares_tools_work_in_the_tenant_in_which_the_thread_began(
    make: Make, other: Memory
) -> None:
    memory = HTMMemoryMiddleware(
        make(), tenant=[make().tenant, other.tenant], tools=["remember"], recall_limit=0
    )
    agent = create_agent(
        scripted("Hello.", NOTE, "Done."), middleware=[memory], checkpointer=InMemorySaver()
    )
    agent.invoke(say("hello"), config(tenant=other.tenant))
    agent.invoke(say("Note the vault."), config())
    assert "The vault is blue." in kept(other)
    assert kept(make(user="ann")) == []


def test_the_middlewares_tools_are_the_users_whose_turn_is_taken_up_again(make: Make) -> None:
    memory = HTMMemoryMiddleware(make(), tools=["remember"], recall_limit=0)
    agent = create_agent(
        scripted("Hello.", then="Done."), middleware=[memory], checkpointer=InMemorySaver()
    )
    agent.invoke(say("Note the vault."), config())
    start = next(each for each in agent.get_state_history(config()) if each.next == ("model",))
    again = create_agent(
        scripted(NOTE, "Done."), middleware=[memory], checkpointer=agent.checkpointer
    )
    again.invoke(None, start.config)
    assert "The vault is blue." in kept(make(user="ann"))
    assert kept(make(user=anonymous("t1"))) == []


# -- a tenant that runs may choose ------------------------------------------------------------------------------------


def graph_of(agent: Any, **options: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", agent)
    graph.add_edge(START, "answer")
    return graph.compile(**options)


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_an_agent_in_a_graph_stays_in_the_tenant_in_which_the_graphs_thread_began(
    make: Make, other: Memory, awaited: bool
) -> None:
    memory = HTMMemoryMiddleware(make(), tenant=[make().tenant, other.tenant], recall_limit=0)
    app = graph_of(create_agent(scripted(), middleware=[memory]), checkpointer=InMemorySaver())

    def ask(words: str, config: Any) -> None:
        if awaited:
            asyncio.run(app.ainvoke(say(words), config))
        else:
            app.invoke(say(words), config)

    ask("Our pin is 4711.", config(tenant=other.tenant))
    for words in ("And our door is green.", "And our floor is red."):
        ask(words, config())
    assert kept(make(user="ann")) == []
    assert {"Our pin is 4711.", "And our door is green.", "And our floor is red."} <= set(
        kept(other)
    )
    with pytest.raises(InvalidInput, match="the tenant in which the thread began"):
        ask("Which pin?", config(tenant=make().tenant))
    assert kept(make(user="ann")) == []


def test_a_run_that_may_choose_a_tenant_names_it_where_nothing_tells_which_it_was(
    make: Make, other: Memory
) -> None:
    """In an agent without a checkpointer, in a graph whose thread begins, and in a chain."""
    tenants = [make().tenant, other.tenant]
    memory = HTMMemoryMiddleware(make(), tenant=tenants, recall_limit=0)
    agent = create_agent(scripted(), middleware=[memory])
    chain = with_memory(scripted(), make(), recall_limit=0, tenant=tenants)
    graphs = graph_of(agent), graph_of(agent, checkpointer=InMemorySaver())
    for ask in (
        chain.invoke,
        *(
            lambda words, config, app=app: app.invoke(say(words), config)
            for app in (agent, *graphs)
        ),
    ):
        with pytest.raises(InvalidInput, match="nothing tells in which one the conversation began"):
            ask("hello", config())
        ask("hello", config(tenant=make().tenant))
    own = create_agent(scripted(), middleware=[memory], checkpointer=InMemorySaver())
    own.invoke(say("I am new here."), config())  # its thread begins now
    assert "I am new here." in kept(make(user="ann"))
    assert kept(other) == []


# -- what has changed since -------------------------------------------------------------------------------------------


def test_words_that_were_forgotten_are_not_shown_in_the_next_turn(make: Make) -> None:
    """The log is read again in each turn, also where it is shown before a thread that goes on."""
    memory, ann = HTMMemoryMiddleware(make(), recall_limit=0), make(user="ann")
    create_agent(scripted(), middleware=[memory], checkpointer=InMemorySaver()).invoke(
        say("My pin is 4711."), config()
    )
    model = scripted()
    agent = create_agent(
        model,
        middleware=[HTMMemoryMiddleware(make(), recall_limit=0)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(say("hello"), config())
    assert "My pin is 4711." in texts(model.seen[-1])
    assert ann.flush()
    ann.forget(ann.recall("My pin is 4711.")[0].node.id)
    agent.invoke(say("And now?"), config())
    assert texts(model.seen[-1]) == [
        "hello",
        "Noted.",
        "And now?",
    ]  # a window begins with a person's message


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_who_rewrites_a_question_sees_what_was_said_before_it(make: Make, awaited: bool) -> None:
    """In a chain, and in an agent that is shown the log."""
    seen: list[list[str]] = []

    def rewrite(question: str, messages: Any) -> None:
        seen.append(texts(messages))

    chain = with_memory(scripted(), make(), rewrite=rewrite)
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make(), rewrite=rewrite)])
    for words in ("Clara likes figs.", "And dates?"):
        for runnable, given, thread in ((chain, words, "t1"), (agent, say(words), "t2")):
            if awaited:
                asyncio.run(runnable.ainvoke(given, config(thread=thread)))
            else:
                runnable.invoke(given, config(thread=thread))
    assert seen[2:] == [["Clara likes figs.", "Noted.", "And dates?"]] * 2
