"""Runs at once in one thread: the log has what was said in the order in which it was said."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from htm_core.prompt.memory_block import split_blocks
from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import Scripted
from tests.langchain.test_middleware import config


class Echo(Scripted):
    """Answers each question with the question, after a while that lets other runs come between."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        question = split_blocks(str(messages[-1].text))[1]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"re: {question}"))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        await asyncio.sleep(0.2)
        return self._generate(messages)


def at_once(agent: Any, colour: str, inputs: list[BaseMessage]) -> None:
    """Run an agent for each of the inputs, all at the same time."""
    at_once_apart([agent] * len(inputs), colour, inputs)


def at_once_apart(agents: list[Any], colour: str, inputs: list[BaseMessage]) -> None:
    """Run each agent for its input, all at the same time."""
    if colour == "threads":
        with ThreadPoolExecutor(len(inputs)) as threads:
            list(
                threads.map(
                    lambda run, each: run.invoke({"messages": [each]}, config()), agents, inputs
                )
            )
        return

    async def runs() -> None:
        pairs = zip(agents, inputs, strict=True)
        await asyncio.gather(
            *(agent.ainvoke({"messages": [each]}, config()) for agent, each in pairs)
        )

    asyncio.run(runs())


def log_of(make: Make) -> list[str]:
    return [mention.content for _, mention in make(user="ann").log("t1").entries()]


@pytest.mark.parametrize("colour", ["threads", "tasks"])
@pytest.mark.parametrize("runs", [2, 4])
@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
def test_no_answer_comes_before_its_question(
    make: Make, saver: bool, runs: int, colour: str
) -> None:
    agent: Any = create_agent(
        Echo(messages=iter([])),
        middleware=[HTMMemoryMiddleware(make())],
        checkpointer=InMemorySaver() if saver else None,
    )
    agent.invoke({"messages": [("user", "hello")]}, config())
    at_once(agent, colour, [HumanMessage(f"message {n}") for n in range(runs)])
    agent.invoke({"messages": [("user", "after")]}, config())
    log = log_of(make)
    assert log[0] == "hello"
    for at, words in enumerate(log):
        assert not words.startswith("re: ") or words.removeprefix("re: ") in log[:at]
    if saver:
        assert log == [message.text for message in agent.get_state(config()).values["messages"]]
    said = [mention.content for mention in make(user="ann").timeline(session="t1")]
    assert {f"message {n}" for n in range(runs)} <= set(said)


@pytest.mark.parametrize("colour", ["threads", "tasks"])
@pytest.mark.parametrize("apart", [False, True], ids=["one agent", "an agent each"])
@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
def test_a_thread_that_begins_with_four_runs_at_once_has_each_message_once_and_in_order(
    make: Make, saver: bool, apart: bool, colour: str
) -> None:
    """A checkpointer keeps the last run that ends, with what it had read of the thread: the log follows it, and loses nothing."""
    kept = InMemorySaver() if saver else None

    def new() -> Any:
        return create_agent(
            Echo(messages=iter([])), middleware=[HTMMemoryMiddleware(make())], checkpointer=kept
        )

    agent: Any = new()
    agents = [new() for _ in range(4)] if apart else [agent] * 4
    at_once_apart(agents, colour, [HumanMessage(f"message {n}") for n in range(4)])
    agent.invoke({"messages": [("user", "after")]}, config())
    said = [mention.content for mention in make(user="ann").timeline(session="t1")]
    questions = ["message 0", "message 1", "message 2", "message 3"]
    assert sorted(said[:-2]) == sorted([*questions, *(f"re: {each}" for each in questions)])
    assert all(said.index(each) < said.index(f"re: {each}") for each in questions)
    log = log_of(make)
    assert log[-2:] == ["after", "re: after"]
    if saver:
        thread = [message.text for message in agent.get_state(config()).values["messages"]]
        assert [words for words in log if words in thread] == thread
        others = [words for words in log if words not in thread]
        assert others == [words for words in said if words in others]
    else:
        assert log == said


@pytest.mark.parametrize("colour", ["threads", "tasks"])
def test_a_request_that_is_delivered_twice_is_one_question(make: Make, colour: str) -> None:
    agent: Any = create_agent(Echo(messages=iter([])), middleware=[HTMMemoryMiddleware(make())])
    at_once(agent, colour, [HumanMessage("My dog is Rex", id="event-1") for _ in range(2)])
    assert log_of(make).count("My dog is Rex") == 1
    assert log_of(make)[0] == "My dog is Rex"
