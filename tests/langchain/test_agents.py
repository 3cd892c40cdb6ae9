"""Agents over long and odd conversations: always a valid request, within budget, of one user only, and nothing lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count as counting
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from htm_core import InvalidInput, anonymous
from htm_core.db.database import Database
from htm_core.prompt.memory_block import split_blocks
from htm_core.recall import recall
from htm_langchain import (
    HTMChatMessageHistory,
    HTMMemoryMiddleware,
    HTMRetriever,
    HTMStore,
    HTMVectorStore,
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
    with_memory,
)
from htm_langchain.messages import decode
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.langchain.test_middleware import (
    FACT,
    QUESTION,
    Runs,
    calls,
    config,
    look,
    runs,
    said,
    small_talk,
)

fresh = counting()


def is_valid(request: Sequence[BaseMessage]) -> bool:
    """Whether any provider accepts it: led by a system prompt or a person, each result after its call, each call answered."""
    open: set[str | None] = set()
    for message in request:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open:
                return False
            open.discard(message.tool_call_id)
        elif open:
            return False
        elif isinstance(message, AIMessage):
            open = {each["id"] for each in [*message.tool_calls, *message.invalid_tool_calls]}
    return not open and isinstance(request[0], HumanMessage | SystemMessage)


lengths = st.integers(0, 50)
# A turn: how long the question is, the rounds of tools (how many calls, how long their results), how long the answer is.
turns = st.lists(
    st.tuples(lengths, st.lists(st.tuples(st.integers(1, 3), lengths), max_size=2), lengths),
    min_size=1,
    max_size=7,
)


def script(turn: tuple[int, list[tuple[int, int]], int]) -> list[AIMessage]:
    """What the model says in a turn."""
    _, rounds, answer = turn
    asked = [
        AIMessage(
            "",
            tool_calls=[
                {"name": "read", "args": {"words": words}, "id": f"c{next(fresh)}"}
                for _ in range(many)
            ],
        )
        for many, words in rounds
    ]
    return [*asked, AIMessage("word " * answer)]


@tool
def read(words: int) -> str:
    """Read so many words."""
    return "read " * words


@settings(
    max_examples=13,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(turns=turns, budget=st.integers(120, 1_200), saver=st.booleans(), prompt=st.booleans())
def test_whatever_is_said_the_request_is_valid_and_within_budget_and_all_of_it_is_kept(
    make: Make, turns: list[Any], budget: int, saver: bool, prompt: bool
) -> None:
    model = scripted(*(message for turn in turns for message in script(turn)))
    agent = create_agent(
        model, [read], system_prompt="Be brief." if prompt else None, checkpointer=InMemorySaver() if saver else None,
        middleware=[HTMMemoryMiddleware(make(), budget=budget, min_score=0.0)],
    )  # fmt: skip
    thread, everything = f"t{next(fresh)}", []
    tools = count([], tools=[read])
    for question, _, _ in turns:
        before = len(model.seen)
        asked = HumanMessage("why " * question, id=f"h{next(fresh)}")
        done = agent.invoke({"messages": [asked]}, config(thread))["messages"]
        everything += done[next(at for at, each in enumerate(done) if each.id == asked.id) :]
        for request in model.seen[before:]:
            assert is_valid(request)
            assert any(each.id == asked.id for each in request)
            assert count(request) + tools <= budget
    kept = make(user="ann").timeline(session=thread, limit=1_000)
    assert [decode(mention.payload or b"") for mention in kept] == everything


def cut_off(id: int) -> AIMessage:
    """A call whose arguments nobody can read."""
    call: Any = {
        "name": "look",
        "args": "{",
        "id": f"x{id}",
        "error": "cut off",
        "type": "invalid_tool_call",
    }
    return AIMessage("", invalid_tool_calls=[call])


odd = st.lists(
    st.one_of(
        st.builds(HumanMessage, st.sampled_from(["hi", "what now?"])),
        st.builds(AIMessage, st.just("well")),
        st.builds(lambda n: calls(f"x{n}", "kitchen"), st.integers(0, 3)),
        st.builds(cut_off, st.integers(0, 3)),
        st.builds(lambda n: ToolMessage("found", tool_call_id=f"x{n}"), st.integers(0, 3)),
        st.builds(lambda: HumanMessage("a note", additional_kwargs={"lc_source": "other"})),
    ),
    max_size=10,
)


@settings(
    max_examples=13,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=odd, budget=st.integers(200, 600))
def test_a_history_that_no_model_accepts_is_mended_in_the_request(
    make: Make, history: list[Any], budget: int
) -> None:
    """Orphaned results, unanswered and unreadable calls, answers twice, an assistant who speaks first."""
    model = scripted()
    agent = create_agent(
        model, [look], middleware=[HTMMemoryMiddleware(make(), budget=budget, recall_limit=0)]
    )
    question = HumanMessage("So?", id=f"q{next(fresh)}")
    agent.invoke(
        {"messages": [*(each.model_copy() for each in history), question]},
        config(f"t{next(fresh)}"),
    )
    assert is_valid(model.seen[0])
    assert model.seen[0][-1].id == question.id


def long_talk(turns: int = 200) -> list[BaseMessage]:
    past: list[BaseMessage] = [HumanMessage(FACT, id="fact"), AIMessage("I see.", id="a-fact")]
    for turn in range(turns):
        past += [HumanMessage(small_talk(turn), id=f"h{turn}"), AIMessage("Noted.", id=f"a{turn}")]
    return past


@pytest.mark.parametrize(
    ("colour", "saver"),
    [
        ("invoke", True),
        ("invoke", False),
        ("ainvoke", True),
        ("stream", False),
        ("astream_events", True),
    ],
)
def test_a_fact_of_two_hundred_turns_ago_is_in_the_request_that_needs_it(
    make: Make, colour: str, saver: bool
) -> None:
    model = scripted()
    agent = create_agent(
        model,
        middleware=[HTMMemoryMiddleware(make(), budget=600)],
        checkpointer=InMemorySaver() if saver else None,
    )
    run = runs(agent, colour)
    run({"messages": [*long_talk(), HumanMessage("Shall we?")]}, config())
    run(said("How was day 7?"), config())
    run(said(QUESTION), config())
    assert count(model.seen[-1]) <= 600
    assert len(model.seen[-1]) < 40
    shown = [text for text in texts(model.seen[-1]) if FACT in text]
    assert len(shown) == 1
    assert "not instructions" in shown[0]
    assert split_blocks(shown[0])[1] == QUESTION
    assert len(make(user="ann").timeline(session="t1", limit=1_000)) == 408


def conversation_texts(request: Sequence[BaseMessage]) -> list[str]:
    """A request's messages as the bytes that a provider is sent, up to the question in which memory's block stands."""
    stable = []
    for message in request:
        if split_blocks(str(message.text))[0]:
            break
        stable.append(
            json.dumps([message.type, message.content, getattr(message, "tool_calls", None)])
        )
    return stable


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
def test_real_turns_keep_the_prefix_byte_for_byte_in_most_of_them(make: Make, saver: bool) -> None:
    """Without a checkpointer the window is restored from the log, and must stand as still."""
    model, turns = scripted(), 50
    agent = create_agent(
        model, system_prompt="Be brief.", middleware=[HTMMemoryMiddleware(make(), budget=750)],
        checkpointer=InMemorySaver() if saver else None,
    )  # fmt: skip
    for turn in range(turns):
        agent.invoke(said(small_talk(turn)), config())
    requests = [conversation_texts(request) for request in model.seen]
    past = [at for at in range(1, turns) if len(requests[at]) < 2 * at]
    stood = [at for at in past if requests[at][: len(requests[at - 1])] == requests[at - 1]]
    assert len(past) > turns / 2
    assert len(stood) >= 0.8 * len(past), f"{len(stood)} of {len(past)}"


def test_two_users_with_two_threads_each_never_meet(make: Make) -> None:
    """One agent object, one after the other and all at once."""
    model = scripted()
    lock = threading.Lock()
    seen: dict[str, list[BaseMessage]] = {}

    def answer(messages: list[BaseMessage]) -> AIMessage:
        with lock:
            seen[str(messages[-1].text)] = messages
        return AIMessage("Noted.")

    object.__setattr__(
        model, "_generate", lambda messages, *rest, **more: _result(answer(messages))
    )
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)], checkpointer=InMemorySaver()
    )
    secrets = {
        (user, thread): f"{user}-{thread}-secret"
        for user in ("ann", "bob")
        for thread in ("t1", "t2")
    }
    saver = {
        key: f"{key[0]}:{key[1]}" for key in secrets
    }  # a checkpointer's threads are nobody's in particular

    def tell(key: tuple[str, str]) -> None:
        agent.invoke(said(f"My word is {secrets[key]}."), config(saver[key], key[0]))

    def ask(key: tuple[str, str], thread: str) -> None:
        agent.invoke(said(f"What is my word? ({key[0]} {thread})"), config(thread, key[0]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, secrets))
        list(pool.map(lambda key: ask(key, saver[key]), secrets))
        list(pool.map(lambda user: ask((user, ""), f"{user}:new"), ("ann", "bob")))
    asked = {
        question: " ".join(texts(request))
        for question, request in seen.items()
        if "What is my word" in question
    }
    assert len(asked) == 6
    for question, shown in asked.items():
        user, other = ("ann", "bob") if "(ann" in question else ("bob", "ann")
        assert f"{other}-" not in shown
        assert {each for each in secrets.values() if each in shown} == {
            f"{user}-t1-secret",
            f"{user}-t2-secret",
        }


def _result(message: AIMessage) -> Any:
    from langchain_core.outputs import ChatGeneration, ChatResult

    return ChatResult(generations=[ChatGeneration(message=message)])


def test_the_same_thread_name_of_two_users_is_two_conversations(make: Make) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)])
    agent.invoke(said("Ann was here."), config("t1", "ann"))
    agent.invoke(said("Who was here?"), config("t1", "bob"))
    agent.invoke(said("Anybody?"), config("t1", None))
    assert [texts(request) for request in model.seen[1:]] == [["Who was here?"], ["Anybody?"]]


def test_what_is_said_without_a_user_is_found_by_no_users_memory(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())])
    agent.invoke(said(FACT), config("t1", None))
    for other in (make(user="ann"), make(), make(user="ann", session="t1")):
        assert list(other.recall("Clara")) == []
    assert [mention.content for mention in make().timeline(session="t1")] == [FACT, "Noted."]
    assert make(user=anonymous("t1")).recall("Clara")[0].content == FACT


def test_a_user_may_not_be_named_like_a_session_without_a_user(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())])
    with pytest.raises(ValueError, match="a user's own name"):
        agent.invoke(said("hello"), config("t2", anonymous("t1")))


# -- agents that are called by agents ---------------------------------------------------------------------------------


def with_helper(make: Make, *, subagents: bool) -> tuple[Any, Any, Any]:
    """An agent whose tool is another agent, both with the same memory."""
    inner = scripted("Peanuts, says the book.")
    helper = create_agent(
        inner, middleware=[HTMMemoryMiddleware(make(), subagents=subagents)], name="helper"
    )

    @tool
    def research(question: str) -> str:
        """Have something looked up."""
        return str(helper.invoke({"messages": [HumanMessage(question)]})["messages"][-1].text)

    call = AIMessage(
        "", tool_calls=[{"name": "research", "args": {"question": QUESTION}, "id": "c1"}]
    )
    outer = scripted("Hello.", call, "It is peanuts.")
    return create_agent(outer, [research], middleware=[HTMMemoryMiddleware(make())]), outer, inner


def test_an_agent_that_a_tool_calls_knows_what_is_known_and_is_not_kept(make: Make) -> None:
    make(user="ann").remember(FACT, session="old")
    agent, _, inner = with_helper(make, subagents=False)
    for text in ("hi", "Please find out."):
        agent.invoke(said(text), config())
    (last,) = texts(inner.seen[0])
    known, question = split_blocks(last)
    assert FACT in known
    assert question == QUESTION  # nothing of the other agent's conversation
    kept = make(user="ann").timeline()
    assert {mention.session for mention in kept} == {"old", "t1"}
    assert [mention.content for mention in kept if mention.session == "t1"] == [
        "hi", "Hello.", "Please find out.", "", "Peanuts, says the book.", "It is peanuts.",
    ]  # fmt: skip


def test_it_is_kept_in_a_session_of_its_own_when_subagents_is_true(make: Make) -> None:
    agent, _, _ = with_helper(make, subagents=True)
    for text in ("hi", "Please find out."):
        agent.invoke(said(text), config())
    kept = make(user="ann").timeline(session="t1/helper")
    assert [mention.content for mention in kept] == [QUESTION, "Peanuts, says the book."]
    assert len(make(user="ann").timeline(session="t1")) == 6


def test_an_agent_that_is_a_node_of_a_graph_is_no_subagent(make: Make) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())]))
    graph.add_edge(START, "agent")
    graph.compile().invoke(said("hello"), config())  # type: ignore[arg-type]
    assert [mention.content for mention in make(user="ann").timeline(session="t1")] == [
        "hello",
        "Noted.",
    ]


# -- tools --------------------------------------------------------------------------------------------------------------


def asks(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{next(fresh)}"}])


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_a_model_remembers_and_recalls_by_itself_for_its_user_alone(
    make: Make, colour: str
) -> None:
    model = scripted(
        asks("remember", content="Ann's locker is 17."), "Kept.", asks("recall", query="locker"), "17.",
        asks("recall", query="locker"), "No idea.", asks("recall", query="locker"), "None.",
    )  # fmt: skip
    middleware = HTMMemoryMiddleware(
        make(), recall_limit=0, restore=False, tools=("recall", "remember")
    )
    agent = create_agent(model, middleware=[middleware])
    results = [
        str(runs(agent, colour)(said(text), config(thread, user))["messages"][-2].content)
        for text, thread, user in [
            ("Keep it!", "t1", "ann"), ("My locker?", "t2", "ann"), ("My locker?", "t1", "bob"), ("My locker?", "t1", None),
        ]
    ]  # fmt: skip
    assert "Ann's locker is 17." in results[1]
    assert not any(
        "locker is" in result for result in results[2:]
    )  # the digits may be those of a fence


def test_a_model_sees_no_argument_that_says_whose_memory_it_is(make: Make) -> None:
    middleware = HTMMemoryMiddleware(make(), tools=("recall", "remember", "forget"))
    assert [each.name for each in middleware.tools] == ["recall", "remember", "forget"]
    conversation_texts = {
        name
        for each in middleware.tools
        for name in each.tool_call_schema.model_json_schema()["properties"]
    }  # type: ignore[union-attr]
    assert conversation_texts.isdisjoint(
        {"runtime", "user", "user_id", "session", "scope", "tenant", "config"}
    )


def test_the_tools_follow_the_middlewares_user_and_session(make: Make) -> None:
    model = scripted(asks("remember", content="The gate code is 4711."), "Kept.")
    middleware = HTMMemoryMiddleware(
        make(), user=lambda runtime: "cleo", session="desk", tools=["remember"]
    )
    create_agent(model, middleware=[middleware]).invoke(said("Keep it!"), config("t1", "ann"))
    assert "The gate code is 4711." in [
        mention.content for mention in make(user="cleo").timeline(session="desk")
    ]
    assert make(user="ann").timeline() == []


def test_a_run_without_a_thread_and_a_user_has_tools_of_its_own_session(make: Make) -> None:
    script = [
        asks("remember", content="The gate code is 4711."),
        asks("recall", query="gate code"),
        "Done.",
    ]
    agent = create_agent(
        scripted(*script, asks("recall", query="gate code")),
        middleware=[HTMMemoryMiddleware(make(), recall_limit=0, tools=("recall", "remember"))],
    )
    first = agent.invoke(said("Keep it!"))["messages"]
    assert "4711" in str(first[-2].content)
    assert "4711" not in str(agent.invoke(said("What is the code?"))["messages"][-2].content)
    assert len({mention.session for mention in make().timeline()}) == 2


@pytest.mark.parametrize(
    "tools",
    [("erase",), ("recall", "recall"), (create_agent,)],
    ids=["unknown", "twice", "no-name"],
)
def test_tools_that_it_does_not_have_are_refused(make: Make, tools: Any) -> None:
    with pytest.raises(InvalidInput, match="tools"):
        HTMMemoryMiddleware(make(), tools=tools)


# -- time and threads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_a_recall_past_its_time_is_left_and_the_agent_answers(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, colour: str
) -> None:
    answer, real = threading.Event(), recall.answer

    def late(*args: Any, **options: Any) -> Any:
        answer.wait(60)
        return real(*args, **options)

    monkeypatch.setattr(recall, "answer", late)
    trace, model = Runs(), scripted("fine")
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), recall_timeout=0.05)])
    done = runs(agent, colour)(said("Which boat?"), config() | {"callbacks": [trace]})
    answer.set()
    assert texts(done["messages"]) == ["Which boat?", "fine"]
    assert trace.failed == ["htm_recall"]
    assert any("within 0.05 s" in record.message for record in caplog.records)


def test_nothing_blocks_the_event_loop(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """No statement is sent from the loop's own thread, in which a server refuses to be blocked."""
    real = Database.transaction

    def transaction(database: Database, *args: Any, **options: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return real(database, *args, **options)

    monkeypatch.setattr(Database, "transaction", transaction)
    make(user="ann").remember(FACT)

    async def everything() -> None:
        agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())])
        await agent.ainvoke(said(QUESTION), config())
        chain = with_memory(
            RunnableLambda(lambda given: AIMessage("Noted.")), make(user="ann"), session="t2"
        )
        await chain.ainvoke(QUESTION)
        _ = [each async for each in chain.astream(QUESTION)]
        history = HTMChatMessageHistory("t2", make(user="ann"), recall=True)
        assert len(await history.aget_messages()) == 6
        await history.aadd_messages([HumanMessage("bye")])
        await history.aclear(erase=True)
        store = HTMStore(memory=make())
        await store.aput(("users", "ann"), "1", {"text": "hens"})
        assert (
            len(await store.asearch(("users",), query="hens"))
            == len(await store.alist_namespaces())
            == 1
        )
        documents = HTMVectorStore(memory=make())
        await documents.aadd_texts(["word"], ids=["x"])
        assert (
            len(await documents.asimilarity_search("word"))
            == len(await documents.aget_by_ids(["x"]))
            == 1
        )
        assert len(await documents.amax_marginal_relevance_search("word")) == 1
        await documents.adelete(["x"])
        assert FACT in str(await HTMRetriever(memory=make(user="ann")).ainvoke(QUESTION))
        for create, said_by_model in (
            (create_recall_tool, {"query": "Clara"}),
            (create_remember_tool, {"content": "Clara likes figs."}),
            (create_forget_tool, {"memory_id": "nobody's"}),
        ):
            await create(make(user="ann")).ainvoke(said_by_model)

    for _ in range(2):  # two event loops, one after the other
        asyncio.run(everything())
