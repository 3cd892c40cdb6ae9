"""Histories that clients send again: with ids on one side, through a graph, after a failure, and only the last of them."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import patch

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph

from htm_core import DatabaseUnavailable, Memory
from htm_core.prompt import deadline
from htm_langchain import HTMMemoryMiddleware, with_memory
from htm_langchain.conversation import Conversation
from tests.conftest import Make
from tests.langchain.models import scripted

CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


def middleware(make: Make) -> HTMMemoryMiddleware:
    return HTMMemoryMiddleware(make(), recall_limit=0)


def said(memory: Memory) -> list[str]:
    return [mention.content for mention in memory.timeline(session="t1", limit=1_000)]


def log(memory: Memory) -> list[str]:
    return [mention.content for mention in memory.log("t1").tail()]


def turns(*questions: str) -> list[str]:
    return [words for question in questions for words in (question, "Noted.")]


def assert_kept_once(make: Make, *questions: str) -> None:
    memory = make(user="ann")
    assert said(memory) == turns(*questions)
    assert log(memory) == turns(*questions)


@pytest.mark.parametrize("same_process", [True, False], ids=["same process", "new process"])
def test_a_client_whose_answers_have_no_ids_is_known_by_its_own_messages(
    make: Make, same_process: bool
) -> None:
    """LangGraph writes ids into the very objects that a client sends, so that its own messages keep theirs."""
    agent = create_agent(scripted(), middleware=[middleware(make)])
    history: list[Any] = []
    for at in range(3):
        if not same_process:
            agent = create_agent(scripted(), middleware=[middleware(make)])
        history.append(HumanMessage(f"Q{at}"))
        agent.invoke({"messages": list(history)}, CONFIG)
        history.append(AIMessage("Noted."))
    assert history[0].id is not None
    assert_kept_once(make, "Q0", "Q1", "Q2")


def test_a_client_that_gives_ids_of_its_own_to_both_sides_says_each_message_once(
    make: Make,
) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    history: list[dict[str, str]] = []
    for at in range(3):
        history.append({"role": "user", "content": "ok", "id": f"u{at}"})
        agent.invoke({"messages": [dict(each) for each in history]}, CONFIG)
        history.append({"role": "assistant", "content": "Noted.", "id": f"a{at}"})
    assert_kept_once(make, "ok", "ok", "ok")


def test_an_agent_that_is_a_graphs_node_keeps_a_history_that_is_sent_again_once(make: Make) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", create_agent(scripted(), middleware=[middleware(make)]))
    graph.add_edge(START, "agent")
    program: Any = graph.compile()
    history: list[tuple[str, str]] = []
    for at in range(3):
        history.append(("user", f"Q{at}"))
        program.invoke({"messages": list(history)}, CONFIG)
        history.append(("assistant", "Noted."))
    assert_kept_once(make, "Q0", "Q1", "Q2")


def test_a_client_that_sends_the_last_answer_and_its_question_says_each_once(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    history: list[tuple[str, str]] = []
    for at in range(4):
        history.append(("user", f"Q{at}"))
        agent.invoke({"messages": history[-2:]}, CONFIG)
        history.append(("assistant", "Noted."))
    assert_kept_once(make, "Q0", "Q1", "Q2", "Q3")


class Failing:
    """Lets so many saves fail, as a database does that is away for a while."""

    def __init__(self, times: int) -> None:
        self.left = times

    def patched(self) -> Any:
        save = Conversation.save

        def failing(conversation: Conversation, *given: Any) -> None:
            self.left -= 1
            if self.left >= 0:
                raise DatabaseUnavailable("down")
            save(conversation, *given)

        return patch.object(Conversation, "save", failing)


FAILURES = pytest.mark.parametrize(
    "times", [1, 2, 99], ids=["first save", "first two saves", "all saves"]
)


@FAILURES
@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_history_that_is_sent_again_while_the_database_fails_is_kept_once_and_in_order(
    make: Make, times: int, awaited: bool
) -> None:
    agent: Any = create_agent(scripted(), middleware=[middleware(make)])
    history: list[tuple[str, str]] = []

    def ask(question: str) -> None:
        history.append(("user", question))
        state = {"messages": list(history)}
        asyncio.run(agent.ainvoke(state, CONFIG)) if awaited else agent.invoke(state, CONFIG)
        history.append(("assistant", "Noted."))

    ask("Q0")
    ask("ok")
    with Failing(times).patched(), patch.object(deadline.Breaker, "check", lambda _: None):
        ask("ok")
    deadline.forget_failures()
    ask("Q3")
    assert_kept_once(make, "Q0", "ok", "ok", "Q3")


@FAILURES
@pytest.mark.parametrize("streams", [False, True], ids=["invoke", "stream"])
def test_a_chain_keeps_its_history_once_and_in_order_while_the_database_fails(
    make: Make, times: int, streams: bool
) -> None:
    chain = with_memory(scripted(), make(), recall_limit=0)
    history: list[Any] = []

    def ask(question: str) -> None:
        history.append(HumanMessage(question))
        given = [each.model_copy(update={"id": None}) for each in history]
        list(chain.stream(given, CONFIG)) if streams else chain.invoke(given, CONFIG)
        history.append(AIMessage("Noted."))

    ask("Q0")
    ask("ok")
    with Failing(times).patched(), patch.object(deadline.Breaker, "check", lambda _: None):
        ask("ok")
    deadline.forget_failures()
    ask("Q3")
    assert_kept_once(make, "Q0", "ok", "ok", "Q3")


def test_a_client_that_edits_its_history_while_the_database_fails_goes_another_way_afterwards(
    make: Make,
) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    agent.invoke({"messages": [("user", "Q0")]}, CONFIG)
    agent.invoke({"messages": [("user", "Q0"), ("assistant", "Noted."), ("user", "Q1")]}, CONFIG)
    with Failing(1).patched(), patch.object(deadline.Breaker, "check", lambda _: None):
        agent.invoke(
            {"messages": [("user", "Q0"), ("assistant", "Noted."), ("user", "Q2")]}, CONFIG
        )
    assert log(make(user="ann")) == turns("Q0", "Q2")
    assert said(make(user="ann")) == turns("Q0", "Q1", "Q2")


def test_a_short_turn_that_is_said_again_while_the_database_fails_is_kept(make: Make) -> None:
    """It looks like the last turn of the log, but its words are new."""
    agent = create_agent(scripted(), middleware=[middleware(make)])
    agent.invoke({"messages": [("user", "ok")]}, CONFIG)
    with Failing(1).patched(), patch.object(deadline.Breaker, "check", lambda _: None):
        agent.invoke({"messages": [("user", "ok")]}, CONFIG)
    assert_kept_once(make, "ok", "ok")


def test_a_system_message_with_an_id_does_not_hide_where_a_part_of_the_history_belongs(
    make: Make,
) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    history: list[Any] = []
    for at in range(4):
        history.append(("user", f"Q{at}"))
        agent.invoke({"messages": [SystemMessage("Be brief.", id="s1"), *history[-3:]]}, CONFIG)
        history.append(("assistant", "Noted."))
    assert log(make(user="ann")) == ["Be brief.", *turns("Q0", "Q1", "Q2", "Q3")]


@pytest.mark.parametrize("edits", [False, True], ids=["goes on", "goes another way"])
@pytest.mark.parametrize(
    "forgotten", ["My PIN is 4711.", "My boat is blue."], ids=["first", "in the middle"]
)
def test_a_forgotten_message_stays_forgotten_when_a_client_sends_it_again(
    make: Make, forgotten: str, edits: bool
) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    memory, history = make(user="ann"), list[tuple[str, str]]()

    def ask(question: str) -> None:
        history.append(("user", question))
        agent.invoke({"messages": list(history)}, CONFIG)
        history.append(("assistant", "Noted."))

    questions = ["My PIN is 4711.", "My boat is blue.", "I sail."]
    for question in questions:
        ask(question)
    found = next(
        each for each in memory.timeline(session="t1", limit=100) if each.content == forgotten
    )
    memory.forget(str(found.node_id))
    if edits:
        del history[-2:]
    ask("I ski.")
    ask("I swim.")
    left = [
        each
        for each in turns(*questions[: 2 if edits else 3], "I ski.", "I swim.")
        if each != forgotten
    ]
    assert log(memory) == left
    assert forgotten not in said(memory)
    assert forgotten not in [hit.content for hit in memory.recall(forgotten)]
