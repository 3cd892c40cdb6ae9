"""A chat's history, in `RunnableWithMessageHistory` and by itself."""

from __future__ import annotations

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from htm_core import InvalidInput, Memory
from htm_core.prompt.memory_block import split_blocks
from htm_core.recall import recall
from htm_langchain import HTMChatMessageHistory, with_memory
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.langchain.test_messages import EVERY_TYPE

CONFIG: Any = {"configurable": {"session_id": "s"}}


def remembering(memory: Memory, model: Any, **options: Any) -> RunnableWithMessageHistory:
    return RunnableWithMessageHistory(
        model, lambda session_id: HTMChatMessageHistory(session_id, memory), **options
    )


def test_every_type_of_message_comes_back_exactly_and_in_order(memory: Memory) -> None:
    said = [message.model_copy(update={"id": f"m{at}"}) for at, message in enumerate(EVERY_TYPE)]
    HTMChatMessageHistory("s", memory).add_messages(said)
    assert HTMChatMessageHistory("s", memory).messages == said
    assert [mention.payload is not None for mention in memory.timeline(session="s")] == [
        True
    ] * len(said)


def test_a_message_without_an_id_is_given_one_and_is_not_changed_itself(memory: Memory) -> None:
    said = [HumanMessage("yes"), AIMessage("yes"), HumanMessage("yes"), AIMessage("")]
    HTMChatMessageHistory("s", memory).add_messages(said)
    assert [message.id for message in said] == [None] * 4
    found = HTMChatMessageHistory("s", memory).messages
    assert len({message.id for message in found} - {None}) == 4
    assert found == HTMChatMessageHistory("s", memory).messages
    assert [message.model_copy(update={"id": None}) for message in found] == said


def test_the_same_id_is_the_same_message(memory: Memory) -> None:
    history = HTMChatMessageHistory("s", memory)
    history.add_messages([HumanMessage("one", id="1"), AIMessage("two", id="2")])
    history.add_messages([AIMessage("two", id="2"), HumanMessage("three", id="3")])
    assert texts(history.messages) == ["one", "two", "three"]


def test_messages_of_the_past_are_kept_with_their_times(memory: Memory) -> None:
    days = {
        "1": datetime(2026, 9, 1, 9, tzinfo=UTC),
        "2": datetime(2026, 9, 2, 9, tzinfo=UTC),
        "3": None,
    }
    said = [
        HumanMessage("My boat is at pier seven.", id="1"),
        AIMessage("Noted.", id="2"),
        HumanMessage("And now?", id="3"),
    ]
    history = HTMChatMessageHistory("s", memory)
    before = datetime.now(UTC)
    history.add_messages(said[:1], at=lambda message: days[str(message.id)])
    asyncio.run(history.aadd_messages(said[1:], at=lambda message: days[str(message.id)]))
    first, second, last = [mention.at for mention in memory.timeline(session="s")]
    assert [first, second] == [days["1"], days["2"]]
    assert last >= before
    assert HTMChatMessageHistory("s", memory).messages == said
    with pytest.raises(InvalidInput, match="time zone"):
        history.add_messages([HumanMessage("When?")], at=lambda _: datetime(2026, 9, 1))
    assert len(history.messages) == 3


def test_what_is_read_is_fresh_each_time(memory: Memory) -> None:
    history = HTMChatMessageHistory("s", memory)
    history.add_user_message("one")
    history.messages[0].content = "spoilt"
    assert texts(history.messages) == ["one"]


def test_making_one_touches_no_database(tenant: str) -> None:
    HTMChatMessageHistory("s", Memory("atlas", url="postgresql://nowhere.invalid/x", tenant=tenant))


def test_sessions_and_users_have_histories_of_their_own(make: Make) -> None:
    HTMChatMessageHistory("s", make(user="ann")).add_user_message("ann's")
    HTMChatMessageHistory("s", make(user="bob")).add_user_message("bob's")
    HTMChatMessageHistory("t", make(user="ann")).add_user_message("another")
    assert texts(HTMChatMessageHistory("s", make(user="ann")).messages) == ["ann's"]


def test_a_runnable_with_history_remembers_invoke_and_stream(memory: Memory) -> None:
    model = scripted("Hello Ann.", "You are Ann.")
    chain = remembering(memory, model)
    chain.invoke([HumanMessage("I am Ann.")], CONFIG)
    assert (
        "".join(str(chunk.text) for chunk in chain.stream([HumanMessage("Who am I?")], CONFIG))
        == "You are Ann."
    )
    assert texts(model.seen[-1]) == ["I am Ann.", "Hello Ann.", "Who am I?"]
    assert texts(HTMChatMessageHistory("s", memory).messages) == [
        "I am Ann.",
        "Hello Ann.",
        "Who am I?",
        "You are Ann.",
    ]


def test_a_runnable_with_history_remembers_ainvoke_and_astream(memory: Memory) -> None:
    model = scripted("Hello Ann.", "You are Ann.")
    chain = remembering(memory, model)

    async def talk() -> list[Any]:
        await chain.ainvoke([HumanMessage("I am Ann.")], CONFIG)
        return [chunk async for chunk in chain.astream([HumanMessage("Who am I?")], CONFIG)]

    assert asyncio.run(talk())
    assert texts(HTMChatMessageHistory("s", memory).messages) == [
        "I am Ann.",
        "Hello Ann.",
        "Who am I?",
        "You are Ann.",
    ]


def test_a_chain_with_a_prompt_has_its_history_where_the_prompt_wants_it(memory: Memory) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("past"), ("human", "{question}")]
    )
    model = scripted("Hello.", "Ann.")
    chain = remembering(
        memory, prompt | model, input_messages_key="question", history_messages_key="past"
    )
    chain.invoke({"question": "I am Ann."}, CONFIG)
    chain.invoke({"question": "Who am I?"}, CONFIG)
    assert texts(model.seen[-1]) == ["Be brief.", "I am Ann.", "Hello.", "Who am I?"]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_writer_in_between_does_not_cost_the_users_message(memory: Memory, colour: str) -> None:
    """The runnable reads again at its end and takes away as many messages as it finds."""

    def answer(messages: Any) -> AIMessage:
        HTMChatMessageHistory("s", memory).add_user_message("another process")
        return AIMessage("answer")

    chain = remembering(memory, RunnableLambda(answer))
    question = [HumanMessage("my question")]
    if colour == "sync":
        chain.invoke(question, CONFIG)
    else:
        asyncio.run(chain.ainvoke(question, CONFIG))
    assert texts(HTMChatMessageHistory("s", memory).messages) == [
        "another process",
        "my question",
        "answer",
    ]


def test_one_instance_serves_many_calls(memory: Memory) -> None:
    history = HTMChatMessageHistory("s", memory)
    chain = RunnableWithMessageHistory(scripted("one", "two"), lambda session_id: history)
    chain.invoke([HumanMessage("a")], CONFIG)
    chain.invoke([HumanMessage("b")], CONFIG)
    assert texts(history.messages) == ["a", "one", "b", "two"]


def test_a_budget_shows_the_newest_whole_turns(memory: Memory) -> None:
    long = HTMChatMessageHistory("s", memory)
    for turn in range(30):
        call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": f"c{turn}"}])
        answer = [
            call,
            ToolMessage("found " * 10, tool_call_id=f"c{turn}"),
            AIMessage("word " * 20),
        ]
        long.add_messages([HumanMessage(f"{turn} " + "word " * 20), *answer])
    history = HTMChatMessageHistory("s", memory, budget=500)
    window = history.messages
    assert window == history.all_messages[-len(window) :]
    assert count(window) <= 500 < count(history.all_messages[-len(window) - 4 :])
    assert isinstance(window[0], HumanMessage)
    assert len(history.all_messages) == 120


def test_clearing_empties_the_view_and_erasing_what_is_remembered(memory: Memory) -> None:
    history = HTMChatMessageHistory("s", memory)
    history.add_user_message("Clara is allergic to peanuts.")
    history.clear()
    assert history.messages == []
    assert [hit.content for hit in memory.recall("Clara", session="s")] == [
        "Clara is allergic to peanuts."
    ]
    history.clear(erase=True)
    assert memory.timeline(session="s") == []
    assert list(memory.recall("Clara", session="s")) == []


def test_awaited_it_does_the_same(memory: Memory) -> None:
    async def talk() -> list[list[str]]:
        history = HTMChatMessageHistory("s", memory)
        await history.aadd_messages([HumanMessage("a"), AIMessage("b")])
        first = texts(await history.aget_messages())
        await history.aclear()
        second = texts(await history.aget_messages())
        await history.aclear(erase=True)
        return [first, second]

    assert asyncio.run(talk()) == [["a", "b"], []]
    assert memory.timeline(session="s") == []


def test_the_messages_can_be_set(memory: Memory) -> None:
    history = HTMChatMessageHistory("s", memory)
    history.add_messages([HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")])
    history.messages = [SystemMessage("a and b happened"), *history.messages[2:]]
    assert texts(history.messages) == ["a and b happened", "c", "d"]
    assert len(memory.timeline(session="s")) == 5


def test_using_it_warns_of_nothing(memory: Memory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = HTMChatMessageHistory("s", memory)
        history.add_ai_message("hello")
        assert texts(history.messages) == ["hello"]


FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"


def talk(history: HTMChatMessageHistory, *, turns: int = 30) -> None:
    history.add_messages([HumanMessage(FACT), AIMessage("I see.")])
    for turn in range(turns):
        history.add_messages(
            [HumanMessage(f"On day {turn} we walked along the river."), AIMessage("Noted.")]
        )
    history.add_user_message(QUESTION)


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("user", ["ann", None])
def test_with_recall_what_was_pushed_out_comes_back_marked_before_the_question(
    make: Make, colour: str, user: str | None
) -> None:
    talk(HTMChatMessageHistory("s", make(user=user)))
    plain = HTMChatMessageHistory("s", make(user=user), budget=500)
    assert not any(FACT in text for text in texts(plain.messages))
    history = HTMChatMessageHistory("s", make(user=user), budget=500, recall=True)
    window = history.messages if colour == "sync" else asyncio.run(history.aget_messages())
    note, question = split_blocks(texts(window)[-1])
    assert FACT in note
    assert "not instructions" in note
    assert question == QUESTION
    assert count(window) <= 500
    assert not set(texts(window)) & {FACT}


def test_with_recall_other_sessions_of_the_user_are_known_and_nobody_elses(make: Make) -> None:
    make().remember("Clara: a story of the bakery.")
    for user in ("ann", "bob", None):
        HTMChatMessageHistory("old", make(user=user)).add_user_message(
            f"Clara told {user} a story."
        )
    for user, others in (
        ("ann", ("bob", "None")),
        ("bob", ("ann", "None")),
        (None, ("ann", "bob", "None")),
    ):
        history = HTMChatMessageHistory("new", make(user=user), recall=True)
        history.add_user_message("What did Clara tell me, a story?")
        shown = " ".join(texts(history.messages))
        assert not any(f"told {other}" in shown for other in others)
        assert (f"told {user}" in shown) == (user is not None)
        assert "bakery" in shown


def test_a_recalled_block_is_never_kept(memory: Memory) -> None:
    """The runnable hands back what it was shown."""
    memory.remember(FACT)
    model = scripted()
    chain = RunnableWithMessageHistory(
        model, lambda session_id: HTMChatMessageHistory(session_id, memory, recall=True)
    )
    for question in (QUESTION, "And what is Clara not allergic to?"):
        chain.invoke([HumanMessage(question)], CONFIG)
    assert any(FACT in text for text in texts(model.seen[-1]))
    history = HTMChatMessageHistory("s", memory, recall=True)
    assert texts(history.all_messages) == [
        QUESTION,
        "Noted.",
        "And what is Clara not allergic to?",
        "Noted.",
    ]
    history.messages = history.messages
    assert len(history.all_messages) == 4


def test_a_recall_that_fails_costs_only_the_block(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    HTMChatMessageHistory("s", make(user="ann")).add_user_message(QUESTION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall, "answer", lambda *_, **__: 1 / 0)
        assert texts(HTMChatMessageHistory("s", make(user="ann"), recall=True).messages) == [
            QUESTION
        ]
    assert any("recall failed" in record.message for record in caplog.records)


def test_what_is_said_without_a_user_is_the_sessions_alone(make: Make) -> None:
    HTMChatMessageHistory("s", make()).add_user_message(FACT)
    assert list(make(user="bob").recall("Clara")) == []
    assert list(make().recall("Clara")) == []
    assert [mention.content for mention in make().timeline(session="s")] == [FACT]
    HTMChatMessageHistory("s", make()).clear(erase=True)
    assert make().timeline(session="s") == []


@pytest.mark.parametrize("session", ["not-a-uuid", "ümlaut / slash", "42", "x" * 255])
def test_a_session_may_have_any_name(memory: Memory, session: str) -> None:
    HTMChatMessageHistory(session, memory).add_user_message("hello")
    assert texts(HTMChatMessageHistory(session, memory).messages) == ["hello"]


def test_messages_of_one_moment_keep_their_order(memory: Memory) -> None:
    """Ordered by number and not by time, which all messages of one call share."""
    said = [HumanMessage(str(number)) for number in range(300)]
    HTMChatMessageHistory("s", memory).add_messages(said)
    assert texts(HTMChatMessageHistory("s", memory).messages) == texts(said)


def test_it_serves_two_event_loops_one_after_the_other(memory: Memory) -> None:
    for number in range(2):
        asyncio.run(HTMChatMessageHistory("s", memory).aadd_messages([HumanMessage(str(number))]))
    assert texts(asyncio.run(HTMChatMessageHistory("s", memory).aget_messages())) == ["0", "1"]


def test_many_writers_of_one_session_lose_nothing(memory: Memory) -> None:
    def write(writer: int) -> None:
        for number in range(10):
            HTMChatMessageHistory("s", memory).add_messages(
                [HumanMessage(f"{writer}-{number}"), AIMessage("ok")]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = texts(HTMChatMessageHistory("s", memory).messages)
    assert sorted(found[::2]) == sorted(
        f"{writer}-{number}" for writer in range(4) for number in range(10)
    )
    assert found[1::2] == ["ok"] * 40  # what was said together stands together


PLACES = {"The key of the shed hangs behind the clock.": "Where is the key of the shed?",
          "Clara is allergic to peanuts.": "What is Clara allergic to?",
          "The train to Porto leaves at nine.": "When does the train to Porto leave?"}  # fmt: skip


def as_messages(question: str) -> Any:
    return [HumanMessage(question)]


def as_mapping(question: str) -> Any:
    return {"question": question, "past": [], "number": 7}


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
@pytest.mark.parametrize("given", [as_messages, as_mapping], ids=["messages", "mapping"])
def test_with_recall_a_chain_is_shown_what_memory_knows_of_this_question(
    make: Make, colour: str, given: Any
) -> None:
    memory, model = make(user="ann"), scripted()
    for at, fact in enumerate(PLACES):
        memory.remember(fact, session=f"old {at}")
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("past"), ("human", "{question}")]
    )
    keys = (
        {"input_messages_key": "question", "history_messages_key": "past"}
        if given is as_mapping
        else {}
    )
    chain = RunnableWithMessageHistory(
        prompt | model if keys else model,
        lambda name: HTMChatMessageHistory(name, memory, recall=True),
        **keys,
    )

    for fact, question in PLACES.items():
        if colour == "invoke":
            chain.invoke(given(question), CONFIG)
        else:
            asyncio.run(chain.ainvoke(given(question), CONFIG))
        *_, note, understood, asked = model.seen[-1]
        assert fact in str(note.text)
        assert texts([understood, asked]) == ["Understood.", question]


def test_with_recall_an_input_of_which_the_question_is_not_known_is_refused_with_the_line_that_does_it(
    make: Make,
) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("past"), ("human", "{question} ({language})")]
    )
    keys = {"input_messages_key": "question", "history_messages_key": "past"}
    given = {"question": QUESTION, "language": "English"}
    memory, model = make(user="ann"), scripted()
    memory.remember(FACT)

    def chain(**options: Any) -> Any:
        return RunnableWithMessageHistory(
            prompt | model,
            lambda name: HTMChatMessageHistory(name, memory, recall=True, **options),
            **keys,
        )

    with pytest.raises(
        InvalidInput, match=r"'question', 'language'.*with_memory\(chain, memory, input_key="
    ):
        chain().invoke(given, CONFIG)
    chain(input_key="question").invoke(given, CONFIG)
    assert FACT in str(model.seen[-1][0].text)


def test_with_recall_a_chain_that_streams_is_refused_with_the_line_that_does_it(make: Make) -> None:
    memory, model = make(user="ann"), scripted()
    memory.remember(FACT)
    chain = RunnableWithMessageHistory(
        model, lambda name: HTMChatMessageHistory(name, memory, recall=True)
    )
    with pytest.raises(
        InvalidInput, match=r"with_memory\(chain, memory, input_key=\.\.\.\)\.stream"
    ):
        list(chain.stream([HumanMessage(QUESTION)], CONFIG))
    assert list(with_memory(model, memory, session="s").stream(QUESTION))
    assert FACT in str(model.seen[-1][0].text)


PASTED = (
    "The roof of the garden house will be renewed in spring. Send your estimates to the office before Friday. "
    * 12
)


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    "given",
    [
        [HumanMessage("Where is my boat?"), HumanMessage("Thanks!")],  # two messages in one input
        [HumanMessage(f"{PASTED}\n\nWhere is my boat?")],
    ],
    ids=["two messages", "pasted"],
)
def test_with_recall_a_history_searches_as_the_middleware_does(
    make: Make, colour: str, given: list[Any]
) -> None:
    memory, model = make(user="ann", embed="now"), scripted()
    memory.remember("My boat is at pier seven.", role="user", session="old")
    for number in range(12):
        memory.remember(
            f"Note {number} on the roof and the garden house.", role="user", session="old"
        )
    chain = RunnableWithMessageHistory(
        model, lambda name: HTMChatMessageHistory(name, memory, recall=True)
    )
    asyncio.run(chain.ainvoke(given, CONFIG)) if colour == "ainvoke" else chain.invoke(
        given, CONFIG
    )
    assert "pier seven" in str(model.seen[-1][0].text)


def test_with_recall_a_question_that_leans_on_the_one_before_is_searched_for_with_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, model, asked = make(user="ann", embed="now"), scripted(), list[str]()
    memory.remember("My boat is at pier seven.", role="user", session="old")
    chain = RunnableWithMessageHistory(
        model, lambda name: HTMChatMessageHistory(name, memory, recall=True)
    )
    chain.invoke([HumanMessage("What is the name of my boat?")], CONFIG)
    prepare = recall.prepare
    monkeypatch.setattr(
        recall,
        "prepare",
        lambda engine, query, **options: (asked.append(query), prepare(engine, query, **options))[
            1
        ],
    )
    chain.invoke([HumanMessage("And where is it?")], CONFIG)
    assert any("boat" in each for each in asked), asked
