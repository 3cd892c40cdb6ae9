"""Conversations as they are in the wild, through real chat engines, agents and workflows."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import Memory as TheirMemory
from llama_index.core.tools import FunctionTool
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.core.workflow import Context, JsonSerializer
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import BaseEventHandler

from htm_core import InvalidInput, Log, Memory, Settings, StorageError
from htm_core.prompt.deadline import MemorySkipped
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock, HTMRetriever
from htm_llamaindex import memory as memory_module
from htm_llamaindex.log import TurnLog
from tests.llamaindex.models import Scripted, calls, memory_in, result, said

FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"
SECRET = "The production key of Clara is seagull-42."
HUGE = "BEGIN " + "lorem ipsum " * 100_000 + "END"


def texts(messages: list[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


def mentions(memory: Memory, session: str = "s1") -> list[str]:
    return [each.content for each in memory.timeline(session=session)]


@pytest.fixture
def ann(memory: Memory) -> Memory:
    return memory.of(user="ann")


def opened(memory: Memory, session: str = "s1", **options: Any) -> HTMMemory:
    return HTMMemory.from_defaults(session, memory, **options)


# -- messages that come again -----------------------------------------------------------------------------------------


def test_a_client_that_sends_the_history_with_each_question_multiplies_nothing(ann: Memory) -> None:
    history: list[ChatMessage] = []
    for at in range(4):
        model = Scripted(f"Answer {at}.")
        engine = SimpleChatEngine.from_defaults(llm=model.llm, memory=opened(ann))
        engine.chat(
            f"Question {at}?", chat_history=[ChatMessage(**each.model_dump()) for each in history]
        )
        history += [said(f"Question {at}?", "user"), said(f"Answer {at}.")]
    assert texts(opened(ann).get_all()) == texts(history)
    assert mentions(ann) == texts(history)


def test_a_client_that_sends_only_the_words_loses_no_call_and_no_result(ann: Memory) -> None:
    """A browser keeps what people see. The log keeps what the model was told besides."""
    weather = FunctionTool.from_defaults(
        lambda city: f"It rains in {city}.", name="weather", description="The weather."
    )

    async def ask(model: Scripted, **given: Any) -> None:
        agent = FunctionAgent(tools=[weather], llm=model.llm, streaming=False)
        await agent.run(memory=opened(ann), **given)

    asyncio.run(
        ask(Scripted(calls("weather", city="Bergen"), "It rains."), user_msg="How is it in Bergen?")
    )
    before = [each.id for each in ann.timeline(session="s1")]
    visible = [said("How is it in Bergen?", "user"), said("It rains.")]
    asyncio.run(ask(Scripted("Yes."), user_msg="Really?", chat_history=visible))
    after = [each.id for each in ann.timeline(session="s1")]
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2


def test_a_whole_conversation_put_again_adds_only_what_is_new(ann: Memory) -> None:
    chat, turns = (
        opened(ann),
        [said("Hi.", "user"), said("Hello."), said("Yes.", "user"), said("Fine.")],
    )
    for end in (2, 4, 4):
        chat.put_messages(turns[:end])
    assert texts(chat.get_all()) == texts(turns)
    chat.put(said("Yes.", "user"))
    chat.put(said("Yes.", "user"))
    assert texts(chat.get_all()) == [*texts(turns), "Yes.", "Yes."]


def test_a_history_of_words_alone_adds_only_what_is_new_to_a_conversation_with_calls_of_tools(
    ann: Memory,
) -> None:
    """Calls and results are not in what a browser sends, be they many, and be there words with a call."""
    chat = opened(ann)
    checking = calls("weather", city="Bergen").model_copy(deep=True)
    checking.blocks[0] = TextBlock(text="Let me look.")
    many = [
        message
        for at in range(20)
        for message in (calls("weather", id=str(at)), result("Rain.", id=str(at)))
    ]
    told = [said("How is it?", "user"), checking, result("It rains."), *many, said("It rains.")]
    for message in told:
        chat.put(message)
    seen = [
        said("How is it?", "user"),
        said("Let me look."),
        said("It rains."),
        said("And tomorrow?", "user"),
    ]
    chat.put_messages(seen)
    assert chat.get_all() == [*told, seen[-1]]
    chat.put_messages([seen[0], *seen[2:], said("Sun.")])
    assert chat.get_all() == [*told, seen[-1], said("Sun.")]


def test_what_may_have_been_said_twice_is_kept_twice(ann: Memory) -> None:
    greeting = [said("Hi.", "user"), said("Hello.")]
    chat = opened(ann)
    for _ in range(2):
        chat.put_messages(greeting)
    assert chat.get_all() == greeting * 2
    other = opened(ann, "s2")
    other.put(said("next", "user"))
    other.put_messages([said("next", "user"), said("Chapter 2")])
    assert texts(other.get_all()) == ["next", "next", "Chapter 2"]
    other.put_messages([said("next", "user"), said("Chapter 3"), said("next", "user")])
    assert len(other.get_all()) == 6


def test_what_was_taken_out_of_a_conversation_stays_out(ann: Memory) -> None:
    model = Scripted("Fine.")
    chat = opened(ann)
    chat.put_messages(
        [said(FACT, "user"), said("Noted."), said("Something else.", "user"), said("Yes?")]
    )
    chat.set(chat.get_all()[2:])
    SimpleChatEngine.from_defaults(llm=model.llm, memory=opened(ann)).chat("And then?")
    assert texts(model.requests[0][:2]) == ["Something else.", "Yes?"]
    assert texts(opened(ann).get_all())[:2] == ["Something else.", "Yes?"]


def test_an_edit_can_forget_what_it_replaces(ann: Memory) -> None:
    chat = opened(ann)
    chat.put_messages([said("My sister Clara is allergic to walnuts.", "user"), said("Noted.")])
    chat.set([said(FACT, "user"), said("Noted.")], forget=True)
    assert ann.flush()
    found = [hit.content for hit in ann.recall(QUESTION)]
    assert FACT in found
    assert not any("walnuts" in text for text in found)
    chat.set([said("Clara eats everything.", "user")])
    assert FACT in [hit.content for hit in ann.recall(QUESTION)]


# -- people -----------------------------------------------------------------------------------------------------------


def test_in_a_room_of_several_people_each_word_is_its_speakers(ann: Memory) -> None:
    chat = opened(ann, "room")
    for name, text in (("ann", FACT), ("bob", "My cat is called Tuna.")):
        chat.put(ChatMessage(role="user", content=text, additional_kwargs={"name": name}))
    assert [each.name for each in ann.timeline(session="room")] == ["ann", "bob"]
    assert ann.flush()
    shown = opened(ann, "another").get("What is the cat called?")
    assert "bob, user] My cat is called Tuna." in memory_in(shown)


def test_two_people_in_one_session_have_each_their_own_memory(memory: Memory) -> None:
    ann, bob = opened(memory, "room", user="ann"), opened(memory, "room", user="bob")
    SimpleChatEngine.from_defaults(llm=Scripted("Noted.").llm, memory=ann).chat(FACT)
    model = Scripted("I do not know.")
    SimpleChatEngine.from_defaults(llm=model.llm, memory=bob).chat(QUESTION)
    assert FACT not in model.last
    assert [each.content for each in memory.of(user="ann").timeline()] == [FACT, "Noted."]
    assert [each.content for each in memory.of(user="bob").timeline()] == [
        QUESTION,
        "I do not know.",
    ]


def test_a_hand_off_between_agents_adds_no_words_of_the_user(ann: Memory) -> None:
    model = Scripted(calls("handoff", to_agent="second", reason="It knows allergies."), "Peanuts.")
    agents = [
        FunctionAgent(
            name=name,
            description=name,
            llm=model.llm,
            streaming=False,
            can_handoff_to=to,
            system_prompt="Be brief.",
        )
        for name, to in (("first", ["second"]), ("second", []))
    ]

    async def run() -> str:
        return str(
            await AgentWorkflow(agents=agents, root_agent="first").run(
                user_msg=QUESTION, memory=opened(ann)
            )
        )

    assert asyncio.run(run()) == "Peanuts."
    assert [each.content for each in ann.timeline() if each.role == "user"] == [QUESTION]
    told = [message for message in opened(ann).get_all() if message.role == "tool"]
    assert "second is now handling the request" in (told[0].content or "")
    found = ann.recall(
        "Which agent is now handling the request, and due to what reason?", hold=False
    )
    assert not any("handling the request" in hit.content for hit in found), "nobody said that"


def test_a_conversation_without_a_user_or_a_name_says_so_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(memory_module, "_warned", set())
    with caplog.at_level(logging.WARNING, "htm.llamaindex"):
        for _ in range(2):
            HTMMemory.from_defaults(memory=memory)
        HTMMemory.from_defaults("s1", memory, user="ann")
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "no session_id",
        "no user",
    ]
    with pytest.raises(InvalidInput, match="expected user to be a text, got int 5"):
        HTMMemory.from_defaults("s1", memory, user=5)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidInput, match="expected session_id to be a text, got int 5; write session_id='5'"
    ):
        HTMMemory.from_defaults(5, memory)  # type: ignore[arg-type]


# -- a database that does not answer ----------------------------------------------------------------------------------


class Heard(BaseEventHandler):
    names: list[str]

    @classmethod
    def class_name(cls) -> str:
        return "Heard"

    def handle(self, event: Any, **_: Any) -> None:
        self.names.append(type(event).__name__)


@pytest.fixture
def hung() -> Iterator[Memory]:
    """A memory whose server accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        settings = Settings(worker="off", statement_timeout=30, pool_timeout=30)
        yield Memory(
            "atlas", url=f"postgresql://htm@127.0.0.1:{port}/htm", user="ann", settings=settings
        )


def test_a_database_that_hangs_costs_a_turn_its_deadline_once_and_then_nothing(
    hung: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Heard(names=[])
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    chat = opened(hung, timeout=1.0)
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "htm"):
        assert chat.get(QUESTION) == []
    first, began = time.monotonic() - began, time.monotonic()
    assert chat.get("And now?") == []
    with pytest.raises(StorageError, match="Nothing was written; put the messages again later"):
        chat.put(said("hello", "user"))
    block = HTMMemoryBlock(hung, timeout=1.0)
    assert asyncio.run(block.aget([said(QUESTION, "user")], session_id="s1")) == ""
    with pytest.raises(StorageError):
        asyncio.run(HTMChatStore(hung, timeout=1.0).get_messages("s1"))
    assert 0.9 < first < 3.0
    assert time.monotonic() - began < 1.0
    assert "reading the log failed" in caplog.text
    assert "HTMMemoryDegraded" in handler.names
    dispatcher.event_handlers.remove(handler)


def test_a_memory_that_is_only_read_gives_each_question_time_of_its_own(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.remember(FACT, session="other")
    assert ann.flush()
    chat, recall = opened(ann, timeout=2.0), Memory.recall

    def slow(self: Memory, *given: Any, **more: Any) -> Any:
        time.sleep(0.5)
        return recall(self, *given, **more)

    monkeypatch.setattr(Memory, "recall", slow)
    for at in range(6):
        assert FACT in str(texts(chat.get(f"{QUESTION} {at}")))


def test_what_others_say_in_a_conversation_begins_a_turn_of_whoever_reads_it(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = opened(ann, timeout=2.0, recall_limit=0), opened(ann)
    entries = Log.entries

    def slow(self: Log, *given: Any, **more: Any) -> Any:
        time.sleep(0.4)
        return entries(self, *given, **more)

    monkeypatch.setattr(Log, "entries", slow)
    for at in range(7):
        writer.put(said(f"Line {at}.", "user"))
        assert texts(reader.get())[-1] == f"Line {at}."


def test_a_turn_has_its_time_once_and_again_after_a_pause(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = TurnLog(ann, timeout=1.0)
    turn.begin(spent=1.0)
    for _ in range(2):
        with pytest.raises(MemorySkipped, match="they are used up"):
            turn.run(lambda: "recalled", step="recall")
    monkeypatch.setattr("htm_llamaindex.log.PAUSE", 0.0)
    assert turn.run(lambda: "recalled", step="recall") == "recalled"


def test_a_chat_engine_over_a_database_that_hangs_says_in_time_that_nothing_is_kept(
    hung: Memory,
) -> None:
    model = Scripted("Peanuts.")
    engine = ContextChatEngine.from_defaults(
        HTMRetriever(hung), llm=model.llm, memory=opened(hung, timeout=1.0)
    )
    simple = SimpleChatEngine.from_defaults(llm=model.llm, memory=opened(hung, timeout=1.0))
    assert engine is not None
    began = time.monotonic()
    with pytest.raises(StorageError):
        simple.chat(QUESTION)
    assert time.monotonic() - began < 3.0


def test_while_the_database_hangs_a_model_is_shown_what_this_process_knows(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = opened(ann, timeout=0.5)
    chat.put_messages([said(FACT, "user"), said("Noted.")])
    chat.get()
    chat.put(said("And what else?", "user"))
    monkeypatch.setattr("htm_core.engine.log.Log.entries", lambda *_, **__: time.sleep(5))
    assert texts(chat.get())[-3:] == [FACT, "Noted.", "And what else?"]


# -- a message that is too long ---------------------------------------------------------------------------------------


def test_a_tools_huge_result_stays_within_the_limit_of_an_agents_memory(ann: Memory) -> None:
    """In the run that called the tool, LlamaIndex's agent adds the result to what memory returns; after that it comes from memory."""
    read = FunctionTool.from_defaults(lambda path: HUGE, name="read", description="Read a file.")
    model = Scripted(calls("read", path="a.txt"), "It is long.")
    chat = opened(ann, token_limit=1_000, recall_limit=0)

    async def run(question: str) -> None:
        await FunctionAgent(tools=[read], llm=model.llm, streaming=False).run(
            user_msg=question, memory=chat
        )

    for question in ("What is in it?", "And what else?"):
        asyncio.run(run(question))
    shown = model.requests[-1]
    assert [message.role.value for message in shown] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert len(shown[2].content or "") < 6_000
    assert "characters are left out of this request" in (shown[2].content or "")
    assert sum(len(chat.tokenizer_fn(message.content or "")) for message in shown) <= 1_000
    assert chat.get_all()[2].content == HUGE


def test_a_huge_question_to_a_chat_engine_stays_within_the_limit(ann: Memory) -> None:
    model = Scripted("It is long.")
    chat = opened(ann, token_limit=1_000)
    chat.put_messages([said(HUGE, "user"), said("It is long.")])
    SimpleChatEngine.from_defaults(llm=model.llm, memory=chat).chat("Say it again?")
    assert (
        sum(len(chat.tokenizer_fn(message.content or "")) for message in model.requests[0]) <= 1_000
    )
    assert "BEGIN" in model.last
    assert "END" in model.last


# -- what a user chooses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep",
    [["user", "assistant"], lambda message: message.role != "tool"],
    ids=["roles", "function"],
)
def test_a_tools_result_can_be_kept_out_of_recall_and_stays_in_the_conversation(
    ann: Memory, keep: Any
) -> None:
    vault = FunctionTool.from_defaults(
        lambda key: SECRET, name="vault", description="Look up a key."
    )
    model = Scripted(calls("vault", key="one"), "You have it.")

    async def run(chat: Any) -> None:
        await FunctionAgent(tools=[vault], llm=model.llm, streaming=False).run(
            user_msg="Look up the key.", memory=chat
        )

    asyncio.run(run(opened(ann, keep=keep)))
    assert SECRET in [message.content for message in model.requests[-1]]
    assert SECRET in texts(opened(ann).get_all())
    assert ann.flush()
    assert not any(
        SECRET in (each.content or "")
        for each in opened(ann, "s2").get("What is the production key of Clara?")
    )
    asyncio.run(run(TheirMemory.from_defaults("s3", chat_store=HTMChatStore(ann, keep=keep))))
    assert not any(
        SECRET in hit.content for hit in ann.recall("What is the production key of Clara?")
    )


def test_recall_is_narrowed_by_the_memory_and_by_one_call(ann: Memory) -> None:
    ann.remember(FACT, metadata={"kind": "fact"}, tags=["family"])
    ann.remember("Clara from the office is allergic to work.", metadata={"kind": "joke"})
    assert ann.flush()
    everything = "".join(map(str, texts(opened(ann).get(QUESTION))))
    assert "peanuts" in everything
    assert "work" in everything
    for chat, given in (
        (opened(ann, where={"kind": "fact"}), {}),
        (opened(ann, tags=["family"]), {}),
        (opened(ann), {"where": {"kind": "fact"}}),
        (opened(ann), {"tags": ["family"]}),
    ):
        shown = "".join(map(str, texts(chat.get(QUESTION, **given))))
        assert "peanuts" in shown
        assert "allergic to work" not in shown
    assert (
        opened(ann, timeframe="last year").get(QUESTION) == opened(ann).get(QUESTION, limit=0) == []
    )
    with pytest.raises(InvalidInput, match="limit"):
        opened(ann, recall_limit=-1)


def test_a_question_can_be_rewritten_before_it_is_recalled(
    ann: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    ann.remember(FACT)
    assert ann.flush()
    asked: list[str] = []

    def rewrite(question: str) -> str:
        asked.append(question)
        return QUESTION

    chat = opened(ann, rewrite=rewrite)
    assert FACT in memory_in(chat.get("And she?"))
    assert asked == ["And she?"]
    with caplog.at_level(logging.WARNING, "htm.llamaindex"):
        assert FACT in memory_in(opened(ann, rewrite=lambda _: str(1 / 0)).get(QUESTION))
    assert "rewriting the question failed (ZeroDivisionError)" in caplog.text


def test_a_retriever_is_narrowed_where_it_is_made_and_for_one_run_and_writes_nothing(
    ann: Memory,
) -> None:
    ann.remember(FACT, metadata={"kind": "fact"}, tags=["family"])
    ann.remember("Clara from the office is allergic to work.", metadata={"kind": "joke"})
    assert ann.flush()
    ann.working.clear()
    filters = MetadataFilters(filters=[MetadataFilter(key="kind", value="fact")])
    for retriever in (
        HTMRetriever(ann, where={"kind": "fact"}),
        HTMRetriever(ann, filters=filters),
        HTMRetriever(ann).narrowed(filters=filters),
        HTMRetriever(ann).narrowed(tags=["family"]),
        HTMRetriever(ann).narrowed(limit=1, where={"kind": "fact"}),
    ):
        assert [node.text for node in retriever.retrieve(QUESTION)] == [FACT]
        assert [node.text for node in asyncio.run(retriever.aretrieve(QUESTION))] == [FACT]
    assert (
        HTMRetriever(ann, where={"kind": "fact"})
        .narrowed(where={"kind": "joke"})
        .retrieve(QUESTION)
        == []
    )
    assert HTMRetriever(ann, user="bob").retrieve(QUESTION) == []
    assert len(HTMRetriever(ann, limit=1).retrieve(QUESTION)) == 1
    assert not ann.working.items
    HTMRetriever(ann, hold=True).retrieve(QUESTION)
    assert ann.working.items


# -- another process --------------------------------------------------------------------------------------------------

RESUME = """
import asyncio, json, sys
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, JsonSerializer
from tests.llamaindex.models import Scripted

async def main():
    model = Scripted("Tuesday.")
    agent = FunctionAgent(tools=[], llm=model.llm, streaming=False)
    ctx = Context.from_dict(agent, json.load(sys.stdin), serializer=JsonSerializer())
    print(await agent.run(user_msg="And on which day?", ctx=ctx))
    print(model.last)

asyncio.run(main())
"""


@pytest.mark.skipif("HTM_TEST_URL" in os.environ, reason="the private server is tested")
def test_a_serialised_context_goes_on_in_another_process_on_the_private_server(tenant: str) -> None:
    settings = Settings(worker="off")
    with Memory("atlas", tenant=tenant, user="ann", settings=settings) as memory:
        model = Scripted("The cello.")
        agent = FunctionAgent(tools=[], llm=model.llm, streaming=False)

        async def run() -> str:
            context: Context = Context(agent)
            await agent.run(
                user_msg="What does Ada play?", memory=opened(memory, recall_limit=0), ctx=context
            )
            return json.dumps(context.to_dict(serializer=JsonSerializer()))

        written = asyncio.run(run())
        environment = {
            name: value for name, value in os.environ.items() if name != "HTM_DATABASE_URL"
        }
        done = subprocess.run(
            [sys.executable, "-c", RESUME],
            input=written,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            "Tuesday.",
            "What does Ada play?",
            "The cello.",
            "And on which day?",
        ]
        assert [each.content for each in memory.timeline(session="s1")][-1] == "Tuesday."
        other = {**environment, "HTM_HOME": "/nowhere/at/all"}
        refused = subprocess.run(
            [sys.executable, "-c", RESUME],
            input=written,
            capture_output=True,
            text=True,
            timeout=120,
            env=other,
        )
        assert "this process has another HTM_HOME" in refused.stderr
