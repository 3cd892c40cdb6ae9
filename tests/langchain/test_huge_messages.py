"""A message that is longer than the budget never leaves it: its middle is cut in the request, and the log has it whole."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from htm_langchain import HTMChatMessageHistory, HTMMemoryMiddleware, with_memory
from htm_langchain.messages import decode
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_chains import COLOURS, call
from tests.langchain.test_middleware import config

HUGE = "BEGIN " + "lorem ipsum " * 100_000 + "END"
CUT = "characters are left out of this request"


@tool
def read(path: str) -> str:
    """Read a file."""
    return HUGE


def reads() -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "read", "args": {"path": "a.txt"}, "id": "1"}])


def whole(make: Make, session: str = "t1") -> list[str]:
    entries = make(user="ann").log(session).entries()
    return [str(decode(mention.payload or b"").content) for _, mention in entries]


def assert_cut(requests: list[list[BaseMessage]], budget: int) -> None:
    for request in requests:
        assert count(request) <= budget
    last = "\n".join(str(each.content) for each in requests[-1])
    assert "BEGIN" in last
    assert "END" in last
    assert CUT in last


def test_a_tools_huge_result_stays_within_the_budget_of_an_agent(make: Make) -> None:
    model = scripted(reads(), "It is long.", "Longer than that.")
    agent = create_agent(model, [read], middleware=[HTMMemoryMiddleware(make(), budget=2_000)])
    agent.invoke({"messages": [HumanMessage("What is in the file?", id="q1")]}, config())
    assert_cut(model.seen, 2_000)
    assert [each.type for each in model.seen[-1]] == ["human", "ai", "tool"]
    assert whole(make)[2] == HUGE


@pytest.mark.parametrize(
    "content", [HUGE, [{"type": "text", "text": HUGE}, "And what else?"]], ids=["text", "blocks"]
)
def test_a_huge_question_stays_within_the_budget_of_an_agent(make: Make, content: Any) -> None:
    model = scripted("It is long.")
    agent = create_agent(
        model, system_prompt="Be brief.", middleware=[HTMMemoryMiddleware(make(), budget=2_000)]
    )
    agent.invoke({"messages": [HumanMessage(content, id="q1")]}, config())
    assert_cut(model.seen, 2_000)
    assert decode(make(user="ann").log("t1").tail()[0].payload or b"").content == content


def test_a_prompt_that_takes_the_whole_budget_leaves_the_question_a_little_room(make: Make) -> None:
    model = scripted("Fine.")
    agent = create_agent(
        model,
        system_prompt="Be brief. " * 500,
        middleware=[HTMMemoryMiddleware(make(), budget=300)],
    )
    agent.invoke({"messages": [HumanMessage("Which port is mine?", id="q1")]}, config())
    assert model.seen[0][-1].content == "Which port is mine?"


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("message", [False, True], ids=["text", "message"])
def test_a_huge_question_to_a_chain_stays_within_its_budget(
    make: Make, colour: str, message: bool
) -> None:
    model = scripted("It is long.")
    prompt = ChatPromptTemplate.from_messages(
        [
            MessagesPlaceholder("history"),
            MessagesPlaceholder("question") if message else ("human", "{question}"),
        ]
    )
    chain = with_memory(
        prompt | model | StrOutputParser(), make(), budget=2_000, input_key="question"
    )
    question: Any = [HumanMessage(HUGE)] if message else HUGE
    assert call(
        chain,
        colour,
        {"question": question},
        {"configurable": {"session_id": "t1", "user_id": "ann"}},
    )
    assert_cut(model.seen, 2_000)
    assert whole(make)[0] == HUGE


def test_a_chain_of_messages_alone_is_cut_too(make: Make) -> None:
    model = scripted("It is long.")
    chain = with_memory(
        RunnableLambda(lambda messages: model.invoke(messages)), make(), budget=2_000
    )
    chain.invoke(HUGE, {"configurable": {"session_id": "t1", "user_id": "ann"}})
    assert_cut(model.seen, 2_000)


def test_a_history_with_a_budget_cuts_what_is_too_long(make: Make) -> None:
    history = HTMChatMessageHistory("t1", make(user="ann"), budget=1_000)
    history.add_messages([HumanMessage(HUGE), AIMessage("It is long.")])
    shown = history.messages
    assert count(shown) <= 1_000
    assert CUT in str(shown[0].content)
    assert whole(make)[0] == HUGE
