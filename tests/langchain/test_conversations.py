"""Conversations as they are in the wild: resent, forked, shared, restarted, deleted, and led by graphs."""

from __future__ import annotations

import asyncio
import copy
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Send

from htm_core import Memory, anonymous
from htm_core.prompt.memory_block import split_blocks
from htm_langchain import HTMMemoryMiddleware, run_inputs, with_memory
from htm_langchain.conversation import Conversation
from htm_langchain.messages import encode
from tests.conftest import Make
from tests.langchain.models import scripted, texts


def config(thread: str = "t1", user: str | None = "ann") -> Any:
    return {"configurable": {"thread_id": thread} | ({"user_id": user} if user else {})}


def middleware(make: Make, **options: Any) -> HTMMemoryMiddleware:
    """One that recalls nothing, so that a request holds the conversation alone."""
    return HTMMemoryMiddleware(make(), **{"recall_limit": 0} | options)


def said(memory: Memory, session: str = "t1") -> list[str]:
    """All that was ever said in a session."""
    return [mention.content for mention in memory.timeline(session=session, limit=1_000)]


def log(memory: Memory, session: str = "t1") -> list[str]:
    """What a session's window is made of."""
    return [mention.content for mention in memory.log(session).tail()]


def ask(agent: Any, words: str, config: Any, *, awaited: bool = False) -> list[str]:
    state = {"messages": [HumanMessage(words)]}
    done = asyncio.run(agent.ainvoke(state, config)) if awaited else agent.invoke(state, config)
    return texts(done["messages"])


# -- resent history -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_client_that_sends_its_history_again_says_each_message_once(
    make: Make, awaited: bool
) -> None:
    """No checkpointer, no ids, and a new process for each turn or the same one."""
    for same_process in (True, False):
        user = f"ann-{same_process}"
        agent = create_agent(scripted(), middleware=[middleware(make)])
        history: list[dict[str, str]] = []
        for turn in range(4):
            if not same_process:
                agent = create_agent(scripted(), middleware=[middleware(make)])
            history.append({"role": "user", "content": f"Message {turn}."})
            state = {"messages": [dict(each) for each in history]}
            if awaited:
                asyncio.run(agent.ainvoke(state, config(user=user)))
            else:
                agent.invoke(state, config(user=user))
            history.append({"role": "assistant", "content": "Noted."})
        assert said(make(user=user)) == [each["content"] for each in history]
        model = scripted()
        create_agent(model, middleware=[middleware(make)]).invoke(
            {"messages": [HumanMessage("And now?")]}, config(user=user)
        )
        assert texts(model.seen[0]) == [*(each["content"] for each in history), "And now?"]


def test_the_same_short_message_said_twice_stays_two(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    for _ in range(3):
        ask(agent, "ok", config())
    assert said(make(user="ann")) == ["ok", "Noted."] * 3
    resent: list[Any] = []
    for _ in range(3):
        resent.append(("user", "ok"))
        agent.invoke({"messages": list(resent)}, config("t2"))
        resent.append(("assistant", "Noted."))
    assert said(make(user="ann"), "t2") == ["ok", "Noted."] * 3


def test_a_client_that_sends_only_its_last_messages_again_says_each_once(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    history: list[Any] = []
    for turn in range(6):
        history.append(("user", f"Message {turn}."))
        agent.invoke({"messages": history[-5:]}, config())
        history.append(("assistant", "Noted."))
    assert said(make(user="ann")) == [words for _, words in history]


def test_calls_of_tools_that_a_client_leaves_out_stay_in_the_log(make: Make) -> None:

    @tool
    def look() -> str:
        """Look."""
        return "21 degrees"

    model = scripted(
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}]), "It is warm.", "Yes."
    )
    agent = create_agent(model, [look], middleware=[middleware(make)])
    agent.invoke({"messages": [("user", "How warm?")]}, config())
    agent.invoke(
        {"messages": [("user", "How warm?"), ("assistant", "It is warm."), ("user", "Sure?")]},
        config(),
    )
    assert log(make(user="ann")) == ["How warm?", "", "21 degrees", "It is warm.", "Sure?", "Yes."]


def test_a_history_that_was_edited_is_another_way_from_there_and_nothing_is_deleted(
    make: Make,
) -> None:
    agent = create_agent(scripted("Blue.", "Cold.", "Red.", "Hot."), middleware=[middleware(make)])
    ask_ = [("user", "My colour?"), ("assistant", "Blue."), ("user", "My drink?")]
    agent.invoke({"messages": ask_[:1]}, config())
    agent.invoke({"messages": ask_}, config())
    agent.invoke({"messages": [*ask_[:2], ("user", "My car?")]}, config())
    assert said(make(user="ann")) == [
        "My colour?",
        "Blue.",
        "My drink?",
        "Cold.",
        "My car?",
        "Red.",
    ]
    assert log(make(user="ann")) == ["My colour?", "Blue.", "My car?", "Red."]
    agent.invoke({"messages": [*ask_, ("assistant", "Cold."), ("user", "My tea?")]}, config())
    assert log(make(user="ann")) == ["My colour?", "Blue.", "My drink?", "Cold.", "My tea?", "Hot."]


def test_a_chain_that_is_sent_its_history_again_keeps_each_message_once(make: Make) -> None:
    chain = with_memory(scripted(), make(user="ann"), session="t1", recall_limit=0)
    history: list[Any] = []
    for turn in range(3):
        history.append(HumanMessage(f"Message {turn}."))
        chain.invoke(list(history))
        history.append(AIMessage("Noted."))
    assert said(make(user="ann")) == texts(history)


# -- messages of any shape ------------------------------------------------------------------------------------------------

SHAPES = {
    "tuples": [("user", "I moved to Lisbon.")],
    "texts": ["I moved to Lisbon."],
    "dicts": [{"role": "user", "content": "I moved to Lisbon."}],
    "a text": "I moved to Lisbon.",
    "messages": [HumanMessage("I moved to Lisbon.")],
}


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_deep_agent_keeps_messages_of_any_shape(make: Make, shape: str, saver: bool) -> None:
    deepagents = pytest.importorskip("deepagents")
    agent = deepagents.create_deep_agent(
        scripted(), middleware=[middleware(make)], checkpointer=InMemorySaver() if saver else None
    )
    for _ in range(2):
        agent.invoke(
            {"messages": copy.deepcopy(SHAPES[shape])}, config()
        )  # LangGraph gives the object itself an id
    assert said(make(user="ann")) == ["I moved to Lisbon.", "Noted."] * 2


@pytest.mark.parametrize("shape", SHAPES)
def test_an_agent_keeps_messages_of_any_shape(make: Make, shape: str) -> None:
    create_agent(scripted(), middleware=[middleware(make)]).invoke(
        {"messages": copy.deepcopy(SHAPES[shape])}, config()
    )
    assert said(make(user="ann")) == ["I moved to Lisbon.", "Noted."]


# -- users ----------------------------------------------------------------------------------------------------------------


def test_a_run_without_a_user_says_so_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    agent = create_agent(scripted(), middleware=[middleware(make)])
    chain = with_memory(scripted(), make(), recall_limit=0)
    with caplog.at_level(logging.WARNING, "htm"):
        for _ in range(2):
            ask(agent, "hello", config(user=None))
            chain.invoke("hello", {"configurable": {"session_id": "s1"}})
        told = [record.message for record in caplog.records if record.name == "htm.langchain"]
        assert [("user_id" in message) for message in told] == [True, True]
        caplog.clear()
        ask(agent, "hello", config())
        ask(
            create_agent(scripted(), middleware=[HTMMemoryMiddleware(make(user="ann"))]),
            "hello",
            config(user=None),
        )
        chain.invoke("hello", {"configurable": {"session_id": "s1", "user_id": "ann"}})
        assert not [record for record in caplog.records if record.name.startswith("htm")]


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_in_a_thread_of_several_people_each_message_belongs_to_who_said_it(
    make: Make, awaited: bool
) -> None:
    saver = InMemorySaver()
    model = scripted("Hello Ann.", "Hello Bob.", "Bye Ann.")
    shared = create_agent(model, middleware=[middleware(make)], checkpointer=saver)
    ask(shared, "I am Ann, my pin is 1111.", config(user="ann"), awaited=awaited)
    ask(shared, "I am Bob.", config(user="bob"), awaited=awaited)
    # A new process has only what the checkpointer knows.
    shared = create_agent(scripted("Bye Ann."), middleware=[middleware(make)], checkpointer=saver)
    ask(shared, "Good bye.", config(user="ann"), awaited=awaited)
    assert said(make(user="ann")) == [
        "I am Ann, my pin is 1111.",
        "Hello Ann.",
        "Good bye.",
        "Bye Ann.",
    ]
    assert said(make(user="bob")) == ["I am Bob.", "Hello Bob."]
    private = scripted()
    ask(
        create_agent(private, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)]),
        "Pin?",
        config("t2", "bob"),
    )
    assert "1111" not in str(texts(private.seen[0]))


# -- time travel ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_process", [True, False], ids=["same process", "new process"])
@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_run_from_an_earlier_checkpoint_is_its_users(
    make: Make, awaited: bool, same_process: bool
) -> None:
    saver = InMemorySaver()
    agent = create_agent(
        scripted("One.", "Two.", "Other."), middleware=[middleware(make)], checkpointer=saver
    )
    for words in ("first", "second"):
        ask(agent, words, config())
    history = list(agent.get_state_history({"configurable": {"thread_id": "t1"}}))
    for snapshot in [each for each in history if each.next]:
        if not same_process:
            agent = create_agent(
                scripted("Other."), middleware=[middleware(make)], checkpointer=saver
            )
        if awaited:
            asyncio.run(agent.ainvoke(None, snapshot.config))
        else:
            agent.invoke(None, snapshot.config)
    assert said(make(user=anonymous("t1"))) == []
    assert set(said(make(user="ann"))) >= {"first", "One.", "second", "Two.", "Other."}


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_run_from_an_earlier_checkpoint_is_its_users_also_when_only_the_context_named_them(
    make: Make, awaited: bool
) -> None:
    saver = InMemorySaver()
    thread: Any = {"configurable": {"thread_id": "t1"}}

    def run(given: Any, config: Any, **more: Any) -> None:
        agent = create_agent(
            scripted(),
            middleware=[middleware(make)],
            checkpointer=saver,
            context_schema=dict[str, Any],
        )
        if awaited:
            asyncio.run(agent.ainvoke(given, config, **more))
        else:
            agent.invoke(given, config, **more)

    for words, user in (("A one", "ann"), ("B one", "bob"), ("B two", "bob"), ("A two", "ann")):
        run({"messages": [HumanMessage(words)]}, thread, context={"user_id": user})
    before = {user: said(make(user=user)) for user in ("ann", "bob")}
    agent = create_agent(scripted(), middleware=[middleware(make)], checkpointer=saver)
    for snapshot in [each for each in agent.get_state_history(thread) if each.next]:
        run(None, snapshot.config)
    assert said(make(user=anonymous("t1"))) == []
    for user in ("ann", "bob"):
        now = said(make(user=user))
        assert {each for each in now if each != "Noted."} == {
            each for each in before[user] if each != "Noted."
        }
        assert len(now) > len(before[user])
    run({"messages": [HumanMessage("Who am I?")]}, thread)  # a new turn that names nobody
    assert said(make(user=anonymous("t1")))[0] == "Who am I?"


@pytest.mark.parametrize("same_process", [True, False], ids=["same process", "new process"])
def test_a_branch_that_was_left_is_remembered_but_not_in_the_window(
    make: Make, same_process: bool
) -> None:
    saver = InMemorySaver()
    agent = create_agent(
        scripted("One.", "Two.", "Other."), middleware=[middleware(make)], checkpointer=saver
    )
    for words in ("first", "second"):
        ask(agent, words, config())
    history = agent.get_state_history({"configurable": {"thread_id": "t1"}})
    snapshot = next(
        each for each in history if each.next == ("model",) and len(each.values["messages"]) == 3
    )
    if not same_process:
        agent = create_agent(scripted("Other."), middleware=[middleware(make)], checkpointer=saver)
    agent.invoke(None, snapshot.config)
    assert said(make(user="ann")) == ["first", "One.", "second", "Two.", "Other."]
    assert log(make(user="ann")) == ["first", "One.", "second", "Other."]


def test_an_updated_state_replaces_the_words_and_leaves_what_was_answered_to_the_others(
    make: Make,
) -> None:
    agent = create_agent(
        scripted("One.", "Two.", "Other."),
        middleware=[middleware(make)],
        checkpointer=InMemorySaver(),
    )
    for words in ("first", "second"):
        ask(agent, words, config())
    history = agent.get_state_history({"configurable": {"thread_id": "t1"}})
    snapshot = next(
        each for each in history if each.next == ("model",) and len(each.values["messages"]) == 3
    )
    edited = HumanMessage("edited", id=snapshot.values["messages"][-1].id)
    agent.invoke(None, agent.update_state(snapshot.config, {"messages": [edited]}))
    assert log(make(user="ann")) == ["first", "One.", "edited", "Other."]
    assert "Two." in said(make(user="ann"))


# -- removing and restoring ---------------------------------------------------------------------------------------------------


def test_what_the_log_has_is_shown_for_the_whole_conversation_after_a_restart(make: Make) -> None:
    ask(
        create_agent(
            scripted("Blue."), middleware=[middleware(make)], checkpointer=InMemorySaver()
        ),
        "Which?",
        config(),
    )
    model = scripted()
    agent = create_agent(model, middleware=[middleware(make)], checkpointer=InMemorySaver())
    for words in ("one", "two", "three"):
        ask(agent, words, config())
    assert texts(model.seen[-1]) == ["Which?", "Blue.", "one", "Noted.", "two", "Noted.", "three"]
    assert said(make(user="ann")) == [
        "Which?",
        "Blue.",
        "one",
        "Noted.",
        "two",
        "Noted.",
        "three",
        "Noted.",
    ]


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "after a restart"])
def test_messages_that_were_removed_are_not_shown_again(make: Make, restarted: bool) -> None:
    saver, memory = InMemorySaver(), middleware(make)
    agent = create_agent(scripted(), middleware=[memory], checkpointer=saver)
    for words in ("one", "two"):
        ask(agent, words, config())
    second = agent.get_state(config()).values["messages"][2:]
    agent.update_state(config(), {"messages": [RemoveMessage(id=each.id) for each in second]})
    model = scripted()
    agent = create_agent(
        model, middleware=[middleware(make) if restarted else memory], checkpointer=saver
    )
    ask(agent, "three", config())
    assert texts(model.seen[-1]) == ["one", "Noted.", "three"]
    assert log(make(user="ann")) == ["one", "Noted.", "three", "Noted."]
    assert said(make(user="ann"))[2:4] == ["two", "Noted."]


def test_a_chat_that_was_cleared_is_not_shown_again(make: Make) -> None:
    saver, memory, model = InMemorySaver(), middleware(make), scripted()
    agent = create_agent(model, middleware=[memory], checkpointer=saver)
    for words in ("one", "two"):
        ask(agent, words, config())
    agent.update_state(config(), {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    for words in ("three", "four"):
        ask(agent, words, config())
    assert texts(model.seen[-1]) == ["three", "Noted.", "four"]
    assert log(make(user="ann")) == ["three", "Noted.", "four", "Noted."]
    assert said(make(user="ann"))[:2] == ["one", "Noted."]


def test_a_thread_that_was_deleted_is_not_shown_again(make: Make) -> None:
    saver, model = InMemorySaver(), scripted()
    agent = create_agent(model, middleware=[middleware(make)], checkpointer=saver)
    for words in ("one", "two"):
        ask(agent, words, config())
    saver.delete_thread("t1")
    for words in ("three", "four"):
        ask(agent, words, config())
    assert texts(model.seen[-1]) == ["three", "Noted.", "four"]
    model = scripted()
    ask(
        create_agent(model, middleware=[middleware(make)], checkpointer=InMemorySaver()),
        "five",
        config(),
    )
    assert texts(model.seen[-1]) == ["three", "Noted.", "four", "Noted.", "five"]
    assert said(make(user="ann"))[:2] == ["one", "Noted."]


# -- graphs -------------------------------------------------------------------------------------------------------------------


class Report(TypedDict):
    question: str
    topics: list[str]
    sections: Annotated[list[str], operator.add]


def report(worker: Any, **options: Any) -> Any:
    """A graph that sends each topic to a worker, with a prompt of its own."""

    def write(state: Any) -> Any:
        done = worker.invoke({"messages": [("user", f"Write a section about {state['topic']}.")]})
        return {"sections": texts(done["messages"])[-1:]}

    graph = StateGraph(Report)
    graph.add_node("write", write)
    graph.add_conditional_edges(
        START,
        lambda state: [Send("write", {"topic": topic}) for topic in state["topics"]],
        ["write"],
    )
    return graph.compile(**options)


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
def test_workers_of_a_fan_out_do_not_see_each_other_and_their_prompts_are_nobodys_words(
    make: Make, saver: bool
) -> None:
    make(user="ann").remember(
        "A section about sails, keels and masts: Ann's boat is a sloop.", session="old"
    )
    model = scripted("About sails.", "About keels.", "About masts.")
    worker = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)], name="writer"
    )
    graph = report(worker, checkpointer=InMemorySaver() if saver else None)
    for thread in ("t1", "t1", "t2"):
        graph.invoke(
            {"question": "", "topics": ["sails", "keels", "masts"], "sections": []}, config(thread)
        )
    for request in model.seen:
        (shown,) = texts(request)
        note, prompt = split_blocks(shown)
        assert prompt.startswith("Write a section about")
        assert "sloop" in note
        assert "Write a section" not in note
        assert "About" not in note
    assert said(make(user="ann")) == []


def test_what_workers_say_is_kept_apart_when_subagents_is_true(make: Make) -> None:
    worker = create_agent(scripted(), middleware=[middleware(make, subagents=True)], name="writer")
    report(worker).invoke({"question": "", "topics": ["sails"], "sections": []}, config())
    assert said(make(user="ann")) == []
    assert said(make(user="ann"), "t1/writer") == ["Write a section about sails.", "Noted."]


def as_node(agent: Any) -> Any:
    return agent


def called_in_node(agent: Any) -> Any:
    return lambda state: {"messages": agent.invoke({"messages": state["messages"]})["messages"]}


def called_with_the_words(agent: Any) -> Any:
    return lambda state: {
        "messages": agent.invoke({"messages": [("user", state["messages"][-1].text)]})["messages"]
    }


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize(
    "way", [as_node, called_in_node, called_with_the_words], ids=lambda way: way.__name__
)
def test_what_a_graph_passes_on_are_the_users_words(make: Make, way: Any, saver: bool) -> None:
    model = scripted()
    graph = StateGraph(MessagesState)
    graph.add_node("answer", way(create_agent(model, middleware=[middleware(make)])))
    graph.add_edge(START, "answer")
    app = graph.compile(checkpointer=InMemorySaver() if saver else None)
    for words in ("hello", "My boat is a sloop."):
        app.invoke({"messages": [("user", words)]}, config())  # type: ignore[arg-type]
    assert said(make(user="ann")) == ["hello", "Noted.", "My boat is a sloop.", "Noted."]


def test_two_agents_of_a_graph_share_the_users_words_and_a_prompt_in_between_is_not_theirs(
    make: Make,
) -> None:
    first, second = (
        create_agent(scripted(words), middleware=[middleware(make)])
        for words in ("Draft.", "Better.")
    )
    graph = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("prompt", lambda state: {"messages": [HumanMessage("Now improve it.")]})
    graph.add_node("second", second)
    for before, after in ((START, "first"), ("first", "prompt"), ("prompt", "second")):
        graph.add_edge(before, after)
    graph.compile().invoke({"messages": [("user", "Write a letter.")]}, config())  # type: ignore[arg-type]
    assert said(make(user="ann")) == ["Write a letter.", "Draft.", "Better."]


def test_what_a_program_was_given_is_forgotten_with_its_run(make: Make) -> None:
    worker = create_agent(scripted(), middleware=[middleware(make)])
    report(worker).invoke({"question": "", "topics": ["sails", "keels"], "sections": []}, config())
    assert not run_inputs._inputs._known


def test_a_chain_around_a_graph_passes_the_users_words_on_when_it_streams(make: Make) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", create_agent(scripted(), middleware=[middleware(make)]))
    graph.add_edge(START, "answer")
    chain: Any = RunnableLambda(lambda words: {"messages": [("user", words)]}) | graph.compile()
    chain.invoke("hello", config())
    list(chain.stream("My boat is a sloop.", config()))
    assert said(make(user="ann")) == ["hello", "Noted.", "My boat is a sloop.", "Noted."]


# -- tools --------------------------------------------------------------------------------------------------------------------


def test_results_of_parallel_calls_that_share_an_id_are_all_shown(make: Make) -> None:

    @tool
    def look(at: str) -> str:
        """Look at something."""
        return f"{at}: 21 degrees"

    calls: list[Any] = [
        {"name": "look", "args": {"at": at}, "id": "same"} for at in ("kitchen", "garden")
    ]
    model = scripted(AIMessage("", tool_calls=calls), "Warm.")
    agent = create_agent(model, [look], middleware=[middleware(make)])
    ask(agent, "How warm is it?", config())
    assert texts(model.seen[-1]) == [
        "How warm is it?",
        "",
        "kitchen: 21 degrees",
        "garden: 21 degrees",
    ]
    assert said(make(user="ann")) == [
        "How warm is it?",
        "",
        "kitchen: 21 degrees",
        "garden: 21 degrees",
        "Warm.",
    ]


# -- readers that leave -------------------------------------------------------------------------------------------------------


def test_of_an_answer_whose_reader_leaves_the_part_so_far_is_kept(make: Make) -> None:
    class Slow(GenericFakeChatModel):
        async def _astream(self, *args: Any, **options: Any) -> Any:
            for word in ("It ", "is ", "a ", "long ", "story."):
                await asyncio.sleep(0.05)
                yield ChatGenerationChunk(message=AIMessageChunk(word))

    agent = create_agent(
        Slow(messages=iter([])), middleware=[middleware(make)], checkpointer=InMemorySaver()
    )

    async def leave() -> None:
        stream = agent.astream(
            {"messages": [("user", "Tell me.")]}, config(), stream_mode="messages"
        )
        seen = 0
        async for _ in stream:
            seen += 1
            if seen == 2:
                break
        await stream.aclose()

    asyncio.run(leave())
    question, answer = make(user="ann").timeline(session="t1")
    assert question.content == "Tell me."
    assert answer.content.startswith("It is")
    assert answer.content != "It is a long story."
    assert answer.metadata == {"interrupted": True}


def test_what_other_middleware_changes_in_a_restored_message_is_not_shown_again(make: Make) -> None:
    kept = make(user="ann", session="t1")
    human, ai = HumanMessage("Hello!", id="1"), AIMessage([{"type": "text", "text": "Hi."}], id="2")
    kept.log().append(
        [{"content": str(each.text), "payload": encode(each)} for each in (human, ai)]
    )
    conversation = Conversation(kept, "t1")
    for _ in range(3):
        conversation.begin_turn(None)
        shown, answer = conversation.earlier(frozenset({"none"}))
        assert (shown.content, answer.content) == (human.content, ai.content)
        shown.content = "changed"
        answer.content[0]["cache_control"] = {"type": "ephemeral"}  # type: ignore[index]  # it has blocks
