"""A plain chain with a memory: what it is shown, what it keeps, and what happens when it breaks."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langchain_core.tracers import BaseTracer
from pydantic import BaseModel

from htm_core import InvalidInput, Log, Memory, Settings, StorageError
from htm_core.prompt.memory_block import is_memory_block, split_blocks
from htm_core.prompt.recalled_block import WARNING
from htm_langchain import with_memory
from htm_langchain.messages import decode
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.stand_ins import HashEmbedder

FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{question}")]
)


def config(session: str = "s", user: str | None = "ann") -> Any:
    return {"configurable": {"session_id": session} | ({"user_id": user} if user else {})}


def call(chain: Any, colour: str, given: Any, config: Any) -> Any:
    """What a chain answers, in one of its colours; pieces are put together."""

    async def pieces() -> list[Any]:
        return [each async for each in chain.astream(given, config)]

    if colour == "invoke":
        return chain.invoke(given, config)
    if colour == "ainvoke":
        return asyncio.run(chain.ainvoke(given, config))
    if colour == "batch":
        return chain.batch([given], [config])[0]
    if colour == "abatch":
        return asyncio.run(chain.abatch([given], [config]))[0]
    parts = list(chain.stream(given, config)) if colour == "stream" else asyncio.run(pieces())
    assert len(parts) > 1
    return "".join(str(getattr(part, "text", part)) for part in parts)


COLOURS = ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"]


@pytest.mark.parametrize("colour", COLOURS)
def test_a_prompt_has_its_history_and_what_is_recalled_for_this_very_question(
    make: Make, colour: str
) -> None:
    model = scripted("Hello Ann.", "Peanuts, I fear.")
    chain = with_memory(PROMPT | model | StrOutputParser(), make())
    make(user="ann").remember(FACT, session="long ago")
    call(chain, colour, {"question": "I am Ann."}, config())
    assert call(chain, colour, {"question": QUESTION}, config()) == "Peanuts, I fear."
    system, first, answer, note, understood, question = model.seen[-1]
    assert texts([system, first, answer, question]) == [
        "Be brief.",
        "I am Ann.",
        "Hello Ann.",
        QUESTION,
    ]
    assert (note.type, understood.type, understood.text) == ("human", "ai", "Understood.")
    assert is_memory_block(str(note.text))
    assert WARNING in str(note.text)
    assert FACT in str(note.text)
    kept = make(user="ann").timeline(session="s")
    assert [(mention.role, mention.content) for mention in kept] == [
        ("user", "I am Ann."), ("assistant", "Hello Ann."), ("user", QUESTION), ("assistant", "Peanuts, I fear."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given",
    ["hello", HumanMessage("hello"), [SystemMessage("Be kind."), HumanMessage("hello")],
     ChatPromptTemplate.from_messages([("human", "hello")]).invoke({})],
    ids=["text", "message", "messages", "prompt"],
)  # fmt: skip
def test_without_a_mapping_the_history_stands_before_the_input(make: Make, given: Any) -> None:
    model = scripted()
    chain = with_memory(model, make(user="ann"), session="s")
    chain.invoke("first")
    chain.invoke(given)
    led = ["Be kind."] if isinstance(given, list) else []
    assert texts(model.seen[-1]) == [*led, "first", "Noted.", "hello"]
    kept = [mention.content for mention in make(user="ann").timeline(session="s")]
    assert kept == ["first", "Noted.", "hello", "Noted."]


def test_the_keys_say_where_things_stand(make: Make) -> None:
    model = scripted()
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("past"), ("human", "{q} ({lang})")]
    )
    answered = (prompt | model).pipe(lambda answer: {"reply": answer, "n": 1})
    chain = with_memory(
        answered,
        make(user="ann"),
        input_key="q",
        history_key="past",
        output_key="reply",
        session=lambda config: "s",
    )
    for question in ("one", "two"):
        assert chain.invoke({"q": question, "lang": "en"})["n"] == 1
    assert texts(model.seen[-1]) == ["one", "Noted.", "two (en)"]
    assert [each.content for each in make(user="ann").timeline(session="s")] == [
        "one",
        "Noted.",
        "two",
        "Noted.",
    ]
    merged = with_memory(RunnableLambda(lambda given: model.invoke(given["messages"])), make(user="ann"), history_key=None,
                         session="s")  # fmt: skip
    merged.invoke({"messages": [HumanMessage("three")]})
    assert texts(model.seen[-1]) == ["one", "Noted.", "two", "Noted.", "three"]


@pytest.mark.parametrize("given", [{"a": "x", "b": "y"}, {"input": 5}, 5, [], {}], ids=str)
def test_an_input_without_a_question_is_refused(memory: Memory, given: Any) -> None:
    with pytest.raises(InvalidInput, match="input_key"):
        with_memory(scripted(), memory, session="s").invoke(given)


def test_a_budget_of_nothing_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="budget"):
        with_memory(scripted(), memory, budget=0)


class Weather(BaseModel):
    degrees: int


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("21", "21"), (AIMessage("21"), "21"), ({"output": "21", "steps": []}, "21"), (Weather(degrees=21), '{"degrees": 21}'),
     ({"degrees": 21, "sky": "clear"}, '{"degrees": 21, "sky": "clear"}'), ([AIMessage("2"), AIMessage("1")], "1")],
    ids=str,
)  # fmt: skip
def test_whatever_a_chain_answers_is_kept_as_words(make: Make, answer: Any, kept: str) -> None:
    chain = with_memory(RunnableLambda(lambda given: answer), make(user="ann"), session="s")
    assert chain.invoke("How warm is it?") == answer
    said = make(user="ann").timeline(session="s")
    assert (said[-1].role, said[-1].content) == ("assistant", kept)


def breaking(pieces: int) -> Any:
    def answer(inputs: Iterator[Any]) -> Iterator[str]:
        for _ in inputs:
            for n in range(pieces):
                yield f"part {n} "
            raise ConnectionError("the model went away")

    async def aanswer(inputs: AsyncIterator[Any]) -> AsyncIterator[str]:
        async for _ in inputs:
            for n in range(pieces):
                yield f"part {n} "
            raise ConnectionError("the model went away")

    return RunnableGenerator(answer, aanswer)


@pytest.mark.parametrize("colour", ["stream", "astream"])
@pytest.mark.parametrize("pieces", [2, 0])
def test_of_a_stream_that_breaks_the_question_is_kept_and_the_answer_so_far_is_marked(
    make: Make, colour: str, pieces: int
) -> None:
    chain = with_memory(breaking(pieces), make(user="ann"), session="s")
    with pytest.raises(ConnectionError, match="went away"):
        call(chain, colour, "Tell me a story.", None)
    kept = make(user="ann").timeline(session="s")
    assert [mention.content for mention in kept] == ["Tell me a story."] + [
        "part 0 part 1 "
    ] * bool(pieces)
    assert kept[0].metadata == {}
    if pieces:
        assert kept[1].metadata == {"interrupted": True}
        assert decode(kept[1].payload or b"").response_metadata["interrupted"] is True


def test_of_a_stream_that_its_reader_leaves_the_answer_so_far_is_marked(make: Make) -> None:
    chain = with_memory(scripted("one two three four"), make(user="ann"), session="s")
    pieces = chain.stream("Count!")
    assert str(next(pieces).text) == "one"
    pieces.close()  # type: ignore[attr-defined]

    async def leave() -> None:
        async for _ in chain.astream("Once more!"):
            break

    asyncio.run(leave())
    kept = make(user="ann").timeline(session="s")
    assert [mention.content for mention in kept][:3] == ["Count!", "one", "Once more!"]
    assert kept[1].metadata == {"interrupted": True}


def test_a_cancelled_answer_keeps_the_question(make: Make) -> None:
    async def slow(given: Any) -> str:
        await asyncio.sleep(60)
        return "never"

    async def cancelled() -> None:
        task = asyncio.create_task(
            with_memory(RunnableLambda(slow), make(user="ann"), session="s").ainvoke("Hurry!")
        )
        while not await make(user="ann").aio.timeline(session="s"):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [mention.content for mention in make(user="ann").timeline(session="s")] == ["Hurry!"]


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_a_failing_model_costs_no_question(make: Make, colour: str) -> None:
    chain = with_memory(scripted(ValueError("overloaded")), make(user="ann"), session="s")
    with pytest.raises(ValueError, match="overloaded"):
        call(chain, colour, "hello", None)
    assert [mention.content for mention in make(user="ann").timeline(session="s")] == ["hello"]


def test_an_unreachable_database_stops_no_chain(caplog: pytest.LogCaptureFixture) -> None:
    away = Memory("atlas", url="postgresql://127.0.0.1:1/x", embedder=HashEmbedder(),
                  settings=Settings(pool_timeout=0.2, worker="off"))  # fmt: skip
    with caplog.at_level(logging.WARNING, "htm"):
        assert str(with_memory(scripted("fine"), away, session="s").invoke("hello").text) == "fine"
    assert any("could not be kept" in record.message for record in caplog.records)
    # Recall may fail first, or be left out since the log did.
    assert any("the database does not answer" in record.message for record in caplog.records)


def test_a_question_that_could_not_be_kept_is_kept_with_its_answer(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = Log.append, [StorageError("down")]

    def append(log: Log, messages: Any, **more: Any) -> Any:
        if failures:
            raise failures.pop()
        return real(log, messages, **more)

    monkeypatch.setattr(Log, "append", append)
    with_memory(scripted("fine"), make(user="ann"), session="s").invoke("hello")
    assert [mention.content for mention in make(user="ann").timeline(session="s")] == [
        "hello",
        "fine",
    ]


def test_users_and_sessions_of_one_chain_stay_apart(make: Make) -> None:
    model = scripted()
    chain = with_memory(model, make(), min_score=0.0)
    speakers = [  # in words: a block of memories has digits of its own
        ("ann", "t1", "opal"),
        ("ann", "t2", "onyx"),
        ("bob", "t1", "jade"),
        (None, "t1", "ruby"),
        (None, "t2", "topaz"),
    ]
    make().remember("The office pin pad is by the door.")
    for user, session, pin in speakers:
        chain.invoke(f"My pin is {pin}.", config(session, user))
    for user, session, pin in speakers:
        chain.invoke("What is my pin?", config(session, user))
        shown = " ".join(texts(model.seen[-1]))
        theirs = {each for who, _, each in speakers if who == user and user} or {pin}
        assert {each for _, _, each in speakers if each in shown} == theirs
        assert "office pin pad" in shown  # what the tenant shares is everybody's


def test_a_batch_keeps_each_session_its_own(make: Make) -> None:
    chain = with_memory(scripted(), make(user="ann"))
    configs = [{"configurable": {"thread_id": f"t{n}"}} for n in range(6)]
    assert len(chain.batch([f"message {n}" for n in range(6)], configs)) == 6  # type: ignore[arg-type]
    for n in range(6):
        kept = make(user="ann").timeline(session=f"t{n}")
        assert [mention.content for mention in kept] == [f"message {n}", "Noted."]


def test_a_call_without_a_session_is_one_of_its_own_and_says_so(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    chain = with_memory(scripted(), make())
    with caplog.at_level(logging.WARNING, "htm"):
        chain.invoke("hello")
        chain.invoke("hello again")
    assert len({mention.session for mention in make().timeline()}) == 2
    assert any("no session" in record.message for record in caplog.records)


class Names(BaseTracer):
    """The runs of a trace, each with the names of those above it."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def _persist_run(self, run: Any) -> None:
        def walk(run: Any, above: str) -> None:
            self.paths.append(f"{above}/{run.name}")
            for child in run.child_runs:
                walk(child, f"{above}/{run.name}")

        walk(run, "")


@pytest.mark.parametrize("colour", ["invoke", "ainvoke", "stream", "astream"])
def test_recall_and_keeping_are_runs_within_the_chains(make: Make, colour: str) -> None:
    trace = Names()
    call(
        with_memory(scripted("one two"), make(user="ann"), session="s"),
        colour,
        "hello",
        {"callbacks": [trace]},
    )
    assert "/ChainWithMemory/htm_recall" in trace.paths
    assert trace.paths.count("/ChainWithMemory/htm_persist") == 2
    assert "/ChainWithMemory/Scripted" in trace.paths


words = st.integers(1, 60).map(lambda n: "word " * n)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(said=st.lists(words, min_size=1, max_size=8), budget=st.integers(200, 900))
def test_history_and_recall_hold_their_budget_and_nothing_said_is_lost(
    make: Make, said: list[str], budget: int
) -> None:
    model = scripted(then="Noted " * 20)
    session = f"s-{id(said)}-{budget}"
    chain = with_memory(model, make(user="ann"), session=session, budget=budget, min_score=0.0)
    for text in said:
        chain.invoke(text)
        assert split_blocks(str(model.seen[-1][-1].text))[1] == text
        assert isinstance(model.seen[-1][0], HumanMessage)
        assert count(model.seen[-1]) <= budget
    kept = make(user="ann").timeline(session=session)
    assert [mention.content for mention in kept if mention.role == "user"] == said
    make(user="ann").erase(session=session, confirm="confirmed")


def test_it_needs_nothing_but_langchains_core() -> None:
    code = """
import sys
sys.modules["langchain"] = sys.modules["langgraph"] = None
from htm_core import Memory
from htm_langchain import with_memory
from langchain_core.language_models import GenericFakeChatModel
with_memory(GenericFakeChatModel(messages=iter([])), Memory("atlas", url="postgresql://nowhere.invalid/x"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_follow_up_recalls_what_the_question_before_it_is_about(memory: Memory) -> None:
    ann = memory.of(user="ann")
    ann.remember("Mila has a recital in the music school in July.", session="before", role="user")
    for at in range(12):
        ann.remember(f"It is where it was, number {at} said.", session="before", role="user")
    ann.flush()
    model = scripted("In July.", "There.")
    chain = with_memory(PROMPT | model, memory, recall_limit=2)
    chain.invoke({"question": "When is Mila's recital?"}, config("now"))
    chain.invoke({"question": "and where is it?"}, config("now"))
    assert "music school" in "".join(texts(model.seen[-1]))
