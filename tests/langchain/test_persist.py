"""What an agent's memory keeps of a run: also of one that fails midway, is summarised, or is taken from by others."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from htm_core import InvalidInput, Settings
from htm_core.prompt.memory_block import split_blocks
from htm_langchain import HTMChatMessageHistory, HTMMemoryMiddleware, with_memory
from htm_langchain.messages import decode, encode
from htm_langchain.request import DEFAULT_BUDGET
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.langchain.test_agents import is_valid
from tests.langchain.test_middleware import calls, config, look, runs, said, small_talk


def kept(make: Make) -> list[str]:
    return [mention.content for mention in make(user="ann").timeline(session="t1", limit=1_000)]


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_of_a_turn_whose_model_fails_midway_question_call_and_result_are_kept(
    make: Make, colour: str, saver: bool
) -> None:
    model = scripted(calls("c1", "kitchen"), ConnectionError("gone"), "Fine now.")
    agent = create_agent(
        model,
        [look],
        middleware=[HTMMemoryMiddleware(make())],
        checkpointer=InMemorySaver() if saver else None,
    )
    with pytest.raises(ConnectionError):
        runs(agent, colour)(said("How warm is it?"), config())
    assert kept(make) == ["How warm is it?", "", "kitchen: 21 degrees"]
    runs(agent, colour)(said("And now?"), config())
    assert kept(make) == ["How warm is it?", "", "kitchen: 21 degrees", "And now?", "Fine now."]
    assert is_valid(model.seen[-1])


@pytest.mark.parametrize("colour", ["stream", "astream_events"])
def test_of_a_stream_whose_model_fails_midway_the_question_is_kept(make: Make, colour: str) -> None:
    agent = create_agent(
        scripted(ConnectionError("gone")), middleware=[HTMMemoryMiddleware(make())]
    )
    with pytest.raises(ConnectionError):
        runs(agent, colour)(said("How warm is it?"), config())
    assert kept(make) == ["How warm is it?"]


def test_what_a_summary_takes_out_of_the_state_stays_in_memory(make: Make) -> None:
    """LangChain's own summaries remove all messages and put a message in a person's place; nobody said that one."""
    model, summariser = scripted(), scripted(then="Much was said about boats.")
    summaries = SummarizationMiddleware(summariser, trigger=("messages", 6), keep=("messages", 2))
    agent = create_agent(
        model, middleware=[summaries, HTMMemoryMiddleware(make())], checkpointer=InMemorySaver()
    )
    for turn in range(8):
        state = agent.invoke(said(small_talk(turn)), config())
    assert len(state["messages"]) < 10
    assert kept(make) == [text for turn in range(8) for text in (small_talk(turn), "Noted.")]
    assert any("Much was said about boats." in text for text in texts(model.seen[-1]))
    assert all(is_valid(request) for request in model.seen)


def test_a_message_that_is_removed_from_the_state_stays_in_memory(make: Make) -> None:
    class Clean(AgentMiddleware):  # type: ignore[type-arg]
        def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {
                "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("kept", id="kept")]
            }

    agent = create_agent(
        scripted(), middleware=[Clean(), HTMMemoryMiddleware(make())], checkpointer=InMemorySaver()
    )
    agent.invoke(said("one"), config())
    agent.invoke(said("two"), config())
    assert kept(make)[:2] == ["one", "Noted."]
    assert {"two", "kept"} <= set(kept(make))


def test_the_messages_of_a_state_are_left_as_they_were(make: Make) -> None:
    """Neither recall nor the window shows in what the caller holds, or in a checkpoint."""
    saver = InMemorySaver()
    agent = create_agent(
        scripted(),
        middleware=[HTMMemoryMiddleware(make(), budget=200, min_score=0.0)],
        checkpointer=saver,
    )
    given = [HumanMessage(small_talk(turn), id=f"h{turn}") for turn in range(12)]
    before = [message.model_copy(deep=True) for message in given]
    done = agent.invoke({"messages": given}, config())
    assert given == before
    assert done["messages"][:-1] == before
    assert agent.get_state(config()).values["messages"] == done["messages"]
    question: dict[str, Any] = {"question": [HumanMessage("hi")], "more": 1}
    with_memory(
        RunnableLambda(lambda given: "Noted."), make(), session="s", input_key="question"
    ).invoke(question)
    assert question == {"question": [HumanMessage("hi")], "more": 1}


def test_what_was_evicted_is_in_the_timeline_byte_for_byte(make: Make) -> None:
    memory = make(user="ann")
    history = HTMChatMessageHistory("t1", memory, budget=300)
    everything: list[Any] = []
    for turn in range(40):
        call = AIMessage(
            "", tool_calls=[{"name": "look", "args": {"at": turn}, "id": f"c{turn}"}], id=f"a{turn}"
        )
        found = ToolMessage(
            "21",
            tool_call_id=f"c{turn}",
            artifact={"raw": b"\x00\xff", "n": (turn,)},
            id=f"t{turn}",
        )
        everything += [HumanMessage(small_talk(turn), id=f"h{turn}"), call, found]
        history.add_messages(everything[-3:])
    assert len(history.messages) < 30
    said_before = memory.timeline(session="t1", limit=1_000)
    assert [mention.payload for mention in said_before] == [
        encode(message) for message in everything
    ]
    assert (
        [decode(mention.payload or b"") for mention in said_before]
        == everything
        == history.all_messages
    )


def test_messages_are_added_all_or_none(make: Make) -> None:
    """A call of a tool is never kept without its result because the result was refused."""
    strict = make(
        user="ann", settings=Settings(max_content=50, statement_timeout=20.0, pool_timeout=20.0)
    )
    history = HTMChatMessageHistory("t1", strict)
    with pytest.raises(InvalidInput, match="at most 50 characters"):
        history.add_messages(
            [HumanMessage("look"), calls("c1", "kitchen"), ToolMessage("x" * 60, tool_call_id="c1")]
        )
    assert kept(make) == history.messages == []
    history.add_messages(
        [HumanMessage("look"), calls("c1", "kitchen"), ToolMessage("21", tool_call_id="c1")]
    )
    assert kept(make) == ["look", "", "21"]


@pytest.mark.parametrize("id", [None, "s1"], ids=["anew each time", "the same each time"])
def test_a_turn_that_brings_its_system_message_along_is_shown_what_the_log_has_before_it(
    make: Make, id: str | None
) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), recall_limit=0)])
    for text in ("one", "two", "three"):
        agent.invoke(
            {"messages": [SystemMessage("Be brief.", id=id), HumanMessage(text)]}, config()
        )
    assert texts(model.seen[-1]) == ["Be brief.", "one", "Noted.", "two", "Noted.", "three"]
    assert [message.type for message in model.seen[-1]].count("system") == 1


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_what_scores_below_the_least_is_not_shown(make: Make) -> None:
    memory = make(user="ann")
    memory.remember("The harbour opens at six.", session="old")
    assert memory.flush()
    score = memory.recall("Which harbour?", hold=False)[0].score
    shown = []
    for thread, least in enumerate((score / 2, (1 + score) / 2)):
        model = scripted()
        agent = create_agent(
            model, middleware=[HTMMemoryMiddleware(make(), min_score=least, restore=False)]
        )
        agent.invoke(said("Which harbour?"), config(f"t{thread}"))
        shown.append(any("opens at six" in text for text in texts(model.seen[0])))
    assert 0 < score < 1
    assert shown == [True, False]


@pytest.mark.parametrize("profile", [None, {}, {"max_input_tokens": None}], ids=str)
def test_without_a_profile_a_request_holds_the_documented_number_of_tokens(
    make: Make, profile: Any
) -> None:
    model = scripted(profile=profile)
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), recall_limit=0)])
    agent.invoke(said(*("word " * 100 for _ in range(200)), "So?"), config())
    assert DEFAULT_BUDGET == 16_000
    assert 7_000 < count(model.seen[0]) <= 16_000


def test_a_question_that_is_a_book_and_one_of_signs_alone_are_answered(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL's parser of queries takes neither 40,000 words nor none."""
    make(user="ann").remember("The harbour opens at six.", session="old")
    for question in (
        "harbour " + " ".join(f"word{n}" for n in range(40_000)),
        "?! … --",
        "'",
        "\x00",
    ):
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), budget=200_000)])
        assert texts(agent.invoke(said(question), config())["messages"])[-1] == "Noted."
        assert split_blocks(str(model.seen[0][-1].text))[1] == question
    assert not [record for record in caplog.records if record.name == "htm.langchain"]
