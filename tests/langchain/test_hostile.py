"""What goes wrong around memory: odd input, wrong options, broken runs, many at once; nobody pays for it but who did it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, wrap_model_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from htm_core import InvalidInput, Memory, anonymous
from htm_langchain import (
    HTMChatMessageHistory,
    HTMMemoryMiddleware,
    HTMRetriever,
    HTMStore,
    HTMVectorStore,
    create_recall_tool,
    with_memory,
)
from htm_langchain.messages import decode
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.langchain.test_agents import is_valid
from tests.langchain.test_middleware import calls, said

PICTURE: list[str | dict[str, Any]] = [{"type": "image", "url": "https://example.com/cat.png"}]


def config(name: str = "t1", user: Any = "ann") -> Any:
    known = {"thread_id": name, "session_id": name}
    return {"configurable": known if user is None else known | {"user_id": user}}


def kept(make: Make, session: str = "t1") -> list[str]:
    return [mention.content for mention in make(user="ann").timeline(session=session, limit=1_000)]


# -- options that mean nothing ----------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[Memory], object]] = {
    "middleware: a memory that is none": lambda _: HTMMemoryMiddleware("postgresql://…"),  # type: ignore[arg-type]
    "middleware: a user that is no name": lambda m: HTMMemoryMiddleware(m, user=5),  # type: ignore[arg-type]
    "middleware: a session that is no name": lambda m: HTMMemoryMiddleware(m, session=5),  # type: ignore[arg-type]
    "middleware: no name": lambda m: HTMMemoryMiddleware(m, name=""),
    "middleware: a name of white space": lambda m: HTMMemoryMiddleware(m, name=" "),
    "middleware: a name that is none": lambda m: HTMMemoryMiddleware(m, name=None),  # type: ignore[arg-type]
    "chain: a memory that is none": lambda _: with_memory(RunnableLambda(str), None),  # type: ignore[arg-type]
    "chain: a user that is no name": lambda m: with_memory(RunnableLambda(str), m, user=5),  # type: ignore[arg-type]
    "chain: limit": lambda m: with_memory(RunnableLambda(str), m, recall_limit=-1),
    "chain: score": lambda m: with_memory(RunnableLambda(str), m, min_score=5),
    "chain: seconds": lambda m: with_memory(RunnableLambda(str), m, recall_timeout=0),
    "chain: budget": lambda m: with_memory(RunnableLambda(str), m, budget="9"),  # type: ignore[arg-type]
    "chain: recall's budget": lambda m: with_memory(RunnableLambda(str), m, recall_budget=-1),
    "history: a memory that is none": lambda _: HTMChatMessageHistory("s", None),  # type: ignore[arg-type]
    "history: a session that is no name": lambda m: HTMChatMessageHistory(5, m),  # type: ignore[arg-type]
    "history: no session": lambda m: HTMChatMessageHistory(" ", m),
    "history: a budget of nothing": lambda m: HTMChatMessageHistory("s", m, budget=0),
    "history: a budget that is a text": lambda m: HTMChatMessageHistory("s", m, budget="9"),  # type: ignore[arg-type]
    "tool: scope": lambda m: create_recall_tool(m, scope="all"),
    "tool: score": lambda m: create_recall_tool(m, min_score=9),
    "tool: a user that is no name": lambda m: create_recall_tool(m, user=5),  # type: ignore[arg-type]
    "vector store: one text": lambda m: HTMVectorStore(memory=m).add_texts("hello"),
    "vector store: a name that the store's items have": lambda m: HTMVectorStore(
        memory=m, collection="langgraph:store"
    ),
    "vector store: a name that is kept for items": lambda m: HTMVectorStore(
        memory=m, collection="langgraph:mine"
    ),
    "collection: a name that is kept for items": lambda m: m.collection("langgraph:store"),
    "awaited collection: a name that is kept for items": lambda m: m.aio.collection(
        "langgraph:store"
    ),
    "collection: a kind that nobody knows": lambda m: m.collection("store", kind="mine"),
    "vector store: fetch_k": lambda m: HTMVectorStore(memory=m).max_marginal_relevance_search(
        "x", fetch_k="9"
    ),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_option_that_means_nothing_is_refused_where_it_is_given(
    make: Make, wrong: Callable[[Memory], object]
) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        wrong(make())


def test_a_namespace_that_is_one_text_is_no_namespace(make: Make) -> None:
    """Its letters would be the labels, and so one user's name a prefix of another's."""
    store = HTMStore(memory=make())
    store.put(("users", "ann2"), "pin", {"is": 1234})
    asked: list[Callable[[], object]] = [
        lambda: store.search("users"),  # type: ignore[arg-type]
        lambda: store.get("users", "pin"),  # type: ignore[arg-type]
        lambda: store.put("users", "pin", {"is": 5}),  # type: ignore[arg-type]
        lambda: store.list_namespaces(prefix="users"),  # type: ignore[arg-type]
    ]
    for ask in asked:
        with pytest.raises(InvalidInput, match="a tuple of labels"):
            ask()


def test_names_with_a_colon_that_nobody_keeps_are_anybodys(make: Make) -> None:
    HTMStore(memory=make()).put(("users", "ann"), "pin", {"is": 1234})
    for name in ("docs:2025", "documents:store", "store", "Langgraph:store", "langgraph"):
        store = HTMVectorStore(memory=make(), collection=name)
        assert store.similarity_search("pin") == []
        assert store.client.name == name


def test_nobody_can_take_the_name_of_a_session_without_a_user(make: Make) -> None:
    create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())]).invoke(
        said("My pin is 1234."), config(user=None)
    )
    name = anonymous("t1")
    ways: list[Callable[[], object]] = [
        lambda: create_agent(
            scripted(), middleware=[HTMMemoryMiddleware(make(), user=lambda _: name)]
        ).invoke(said("My pin?"), config()),
        lambda: with_memory(scripted(), make(), user=lambda _: name).invoke("My pin?", config()),
        lambda: with_memory(scripted(), make()).invoke("My pin?", config(user=name)),
    ]
    for way in ways:
        with pytest.raises(InvalidInput, match="a user's own name"):
            way()
    reply = create_recall_tool(make(), user=lambda _: name).invoke({"query": "pin"}, config())
    assert "a user's own name" in reply
    assert "1234" not in reply


def test_a_user_whose_name_is_zero_is_a_user(make: Make) -> None:
    make(user="ann").remember("My pin is 1234.", session="long ago")
    model = scripted()
    with_memory(model, make()).invoke("What is my pin?", config("s", 0))
    assert "1234" not in str(model.seen)
    assert [each.content for each in make(user="0").timeline(session="s")] == [
        "What is my pin?",
        "Noted.",
    ]


# -- messages that nobody expects -------------------------------------------------------------------------------------


class Rude:
    """Cannot even say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def bottomless() -> list[Any]:
    found: list[Any] = []
    for _ in range(3_000):
        found = [found]
    return found


@pytest.mark.parametrize("make_artifact", [endless, bottomless, Rude])
def test_an_artifact_that_cannot_be_written_down_costs_no_message(
    make: Make, make_artifact: Callable[[], Any]
) -> None:
    @tool(response_format="content_and_artifact")
    def find() -> tuple[str, Any]:
        """Find it."""
        return "under the stairs", make_artifact()

    asked = AIMessage("", tool_calls=[{"name": "find", "args": {}, "id": "c"}])
    agent = create_agent(scripted(asked), [find], middleware=[HTMMemoryMiddleware(make())])
    agent.invoke(said("Where is it?"), config())
    assert kept(make) == ["Where is it?", "", "under the stairs", "Noted."]
    found = decode(make(user="ann").timeline(session="t1")[2].payload or b"")
    assert isinstance(found, ToolMessage)
    assert (found.content, found.tool_call_id) == ("under the stairs", "c")
    assert isinstance(found.artifact, str)


def test_questions_without_words_are_shown_all_that_was_said_before(make: Make) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make())])
    for turn in ("My cat is Tom.", PICTURE, PICTURE, PICTURE):
        agent.invoke({"messages": [HumanMessage(turn)]}, config())
    assert [len(request) for request in model.seen] == [1, 3, 5, 7]


def test_half_a_character_in_a_question_takes_nothing_from_the_agent(make: Make) -> None:
    """A client that cuts a text with an emoji at a length sends just this, while the newest memories have no vector yet."""
    model = scripted()
    with make(user="ann") as memory:
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        agent.invoke({"messages": [("user", "My boat is the Nixe.")]}, config("told"))
        agent.invoke({"messages": [("user", "What is my boat called? \ud83d")]}, config("asked"))
    assert any("My boat is the Nixe." in text for text in texts(model.seen[-1]))


def test_a_message_with_an_id_that_is_kept_as_its_hash_is_not_shown_twice(make: Make) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make())])
    agent.invoke({"messages": [HumanMessage("Hello.", id="x" * 300)]}, config())
    assert texts(model.seen[0]) == ["Hello."]


def brought_to_an_agent(model: Any, memory: Memory) -> Callable[[Any], object]:
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
    return lambda message: agent.invoke({"messages": [message]}, config())


def brought_to_a_chain(model: Any, memory: Memory) -> Callable[[Any], object]:
    chain = with_memory(model, memory)
    return lambda message: chain.invoke([message], config())


@pytest.mark.parametrize("brought_to", [brought_to_an_agent, brought_to_a_chain])
def test_a_tools_result_that_is_brought_alone_goes_on_with_the_turn_that_called_it(
    make: Make, brought_to: Callable[[Any, Memory], Callable[[Any], object]]
) -> None:
    """As where the tool runs in the user's browser, and nothing but memory holds the conversation."""
    model = scripted()
    log = make(user="ann", session="t1").log()
    history = HTMChatMessageHistory("t1", make(user="ann"))
    history.add_messages([HumanMessage("Where is the key?"), calls("c", "kitchen")])
    brought_to(model, make())(ToolMessage("under the stairs", tool_call_id="c"))
    assert [each.type for each in model.seen[0]] == ["human", "ai", "tool"]
    assert [mention.role for mention in log.tail(10)] == ["user", "assistant", "tool", "assistant"]


def test_calls_that_nobody_could_read_are_not_shown_without_their_results(make: Make) -> None:
    """Providers are sent them like other calls, and refuse a request that does not answer them."""
    cut: Any = {"name": "look", "args": "{", "id": "c", "error": "cut", "type": "invalid_tool_call"}
    model = scripted(AIMessage("", invalid_tool_calls=[cut]))
    chain = with_memory(model, make())
    for question in ("Look!", "And now?"):
        chain.invoke(question, config())
    assert texts(model.seen[-1]) == ["Look!", "And now?"]
    assert kept(make) == ["Look!", "", "And now?", "Noted."]


def test_half_a_call_of_a_broken_stream_is_kept_and_not_shown(make: Make) -> None:
    def half(_: Iterator[Any]) -> Iterator[Any]:
        part = {
            "name": "look",
            "args": '{"room": ',
            "id": "c",
            "index": 0,
            "type": "tool_call_chunk",
        }
        yield AIMessageChunk(content="Let me look", tool_call_chunks=[part])  # type: ignore[list-item]
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        list(with_memory(RunnableGenerator(half), make()).stream("Look!", config()))
    model = scripted()
    with_memory(model, make()).invoke("And now?", config())
    assert texts(model.seen[0]) == ["Look!", "And now?"]
    assert kept(make) == ["Look!", "Let me look", "And now?", "Noted."]


class Weather(BaseModel):
    """What the sky does."""

    sky: str


def test_answers_that_are_bound_to_a_schema_make_valid_turns(make: Make) -> None:
    answers = [
        AIMessage("", tool_calls=[{"name": "Weather", "args": {"sky": "blue"}, "id": f"c{n}"}])
        for n in (1, 2)
    ]
    model = scripted(*answers)
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make())], response_format=ToolStrategy(Weather)
    )
    for question in ("The sky?", "The sky now?"):
        agent.invoke(said(question), config())
    assert is_valid(model.seen[-1])
    assert [each.type for each in model.seen[-1]] == ["human", "ai", "tool", "human"]
    assert len(kept(make)) == 6


# -- a chat's history -------------------------------------------------------------------------------------------------


def test_what_is_recalled_stands_in_the_question_with_which_a_history_ends(make: Make) -> None:
    memory = make(user="ann")
    memory.remember("My pin is 1234.", session="long ago")
    history = HTMChatMessageHistory("s", memory, recall=True)
    history.add_messages([SystemMessage("Be brief."), HumanMessage("What is my pin?")])
    assert [each.type for each in history.messages] == ["system", "human"]
    assert "My pin is 1234." in str(history.messages[1].text)
    assert [str(each.text) for each in history.all_messages] == ["Be brief.", "What is my pin?"]


@pytest.mark.parametrize("words", [200, 300, 340, 380])
def test_history_and_recall_hold_their_budget_however_long_the_question_is(
    make: Make, words: int
) -> None:
    memory = make(user="ann")
    for year in range(20):
        memory.remember(
            f"In the year {1990 + year} my pin was {year}{year}{year}, which I liked a lot.",
            session="old",
        )
    history = HTMChatMessageHistory("s", memory, budget=400, recall=True)
    history.add_messages([HumanMessage("pin " * words)])
    assert count(history.messages) <= 400


def test_a_history_outlives_a_failing_model_and_serves_batches(make: Make) -> None:
    memory = make(user="ann")
    model = scripted("One.", RuntimeError("down"))
    chain = RunnableWithMessageHistory(
        model, lambda session_id: HTMChatMessageHistory(session_id, memory)
    )
    chain.invoke([HumanMessage("a")], config())
    with pytest.raises(RuntimeError):
        chain.invoke([HumanMessage("b")], config())
    asyncio.run(chain.ainvoke([HumanMessage("c")], config()))
    assert kept(make) == ["a", "One.", "c", "Noted."]
    asyncio.run(
        chain.abatch([[HumanMessage("d")], [HumanMessage("e")]], [config("t2"), config("t3")])
    )
    assert (kept(make, "t2"), kept(make, "t3")) == (["d", "Noted."], ["e", "Noted."])


# -- runs that end otherwise than they should -------------------------------------------------------------------------


def with_memory_before(make: Make, other: Any) -> list[Any]:
    return [HTMMemoryMiddleware(make()), other]


def test_a_run_that_is_stopped_by_hand_has_kept_the_question(make: Make) -> None:
    @wrap_model_call
    def stop(request: Any, handler: Any) -> Any:
        raise KeyboardInterrupt

    def stopped(_: object) -> str:
        raise KeyboardInterrupt

    agent = create_agent(scripted(), middleware=with_memory_before(make, stop))
    with pytest.raises(KeyboardInterrupt):
        agent.invoke(said("Keep this."), config())
    with pytest.raises(KeyboardInterrupt):
        with_memory(RunnableLambda(stopped), make()).invoke("Keep this too.", config())
    assert kept(make) == ["Keep this.", "Keep this too."]


def test_a_cancelled_agent_has_kept_the_question(make: Make) -> None:
    started = asyncio.Event()

    class Slow(AgentMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

    async def cancelled() -> None:
        agent = create_agent(scripted(), middleware=with_memory_before(make, Slow()))
        task = asyncio.create_task(agent.ainvoke(said("Keep this."), config()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert kept(make) == ["Keep this."]


def test_a_run_that_waits_for_a_person_and_goes_on_elsewhere_is_kept_once(make: Make) -> None:
    @tool
    def sure() -> str:
        """Ask a person."""
        return str(interrupt("Sure?"))

    model = scripted(AIMessage("", tool_calls=[{"name": "sure", "args": {}, "id": "c"}]), "Done.")
    saver = InMemorySaver()
    states: list[Any] = [said("Delete it."), Command(resume="yes")]
    for state in states:
        agent = create_agent(
            model, [sure], middleware=[HTMMemoryMiddleware(make())], checkpointer=saver
        )
        agent.invoke(state, config())
    assert kept(make) == ["Delete it.", "", "yes", "Done."]
    assert is_valid(model.seen[-1])


@pytest.mark.parametrize("taken_away", ["forgotten", "erased"])
def test_what_was_taken_away_does_not_come_back_with_the_thread(
    make: Make, taken_away: str
) -> None:
    """A checkpoint still has it: what was forgotten stays so, and of what was erased the thread is to be erased as well."""
    saver, memory = InMemorySaver(), make(user="ann")
    for words in ("My pin is 1234.", "Hello."):  # each in a process of its own
        agent = create_agent(
            scripted(), middleware=[HTMMemoryMiddleware(make())], checkpointer=saver
        )
        agent.invoke(said(words), config())
        if words == "Hello.":
            break
        if taken_away == "forgotten":
            memory.forget(next(iter(memory.timeline(session="t1"))).node_id or "")
        else:
            memory.erase(user="ann", confirm="confirmed")
            saver.delete_thread("t1")
    assert [words for words in kept(make) if "1234" in words] == []
    assert kept(make)[-2:] == ["Hello.", "Noted."]


def test_an_answer_that_other_middleware_gives_is_kept_too(make: Make) -> None:
    @wrap_model_call
    def short(request: Any, handler: Any) -> AIMessage:
        return AIMessage("In short: no.")

    create_agent(scripted(), middleware=with_memory_before(make, short)).invoke(
        said("May I?"), config()
    )
    assert kept(make) == ["May I?", "In short: no."]


# -- many at once -----------------------------------------------------------------------------------------------------


def test_batches_of_several_users_never_mix(make: Make) -> None:
    for user, pin in (("ann", "1111"), ("bob", "2222")):
        make(user=user).remember(f"The pin of {user} is {pin}.", session="long ago")
    assert make().flush()
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), tools=("recall",))])
    states = [said(f"What is the pin? asks {user}") for user in ("ann", "bob")] * 3
    agent.batch(states, [config("t1", user) for user in ("ann", "bob")] * 3)
    asyncio.run(agent.abatch(states, [config("t2", user) for user in ("ann", "bob")] * 3))
    assert len(model.seen) == 12
    for request in model.seen:
        shown = " ".join(texts(request))
        assert ("1111" in shown, "2222" in shown) == ("asks ann" in shown, "asks bob" in shown)
        assert ("asks ann" in shown) != ("asks bob" in shown)


def test_many_threads_in_one_conversation_lose_nothing(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())])
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda line: agent.invoke(said(f"line {line}"), config()), range(12)))
    assert sorted(kept(make)) == sorted([*(f"line {line}" for line in range(12)), *["Noted."] * 12])


def test_everything_awaited_serves_one_event_loop_after_another(make: Make) -> None:
    memory = make()
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(memory, tools=("recall",))])
    chain, store, documents = (
        with_memory(scripted(), memory),
        HTMStore(memory=memory),
        HTMVectorStore(memory=memory),
    )

    async def all_at_once(turn: int) -> None:
        await asyncio.gather(
            agent.ainvoke(said(f"agent {turn}"), config("t1")),
            chain.ainvoke(f"chain {turn}", config("t2")),
            store.aput(("ann",), f"{turn}", {"turn": turn}),
            documents.aadd_texts([f"document {turn}"]),
            HTMRetriever(memory=memory).ainvoke("agent"),
            create_recall_tool(memory).ainvoke({"query": "agent"}, config()),
        )

    for turn in range(3):
        asyncio.run(all_at_once(turn))
    assert (len(kept(make, "t1")), len(kept(make, "t2"))) == (6, 6)
    assert (len(store.search(("ann",))), len(documents.similarity_search("document"))) == (3, 3)
