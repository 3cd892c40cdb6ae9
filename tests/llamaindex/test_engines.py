"""Memory where LlamaIndex uses it: chat engines, function agents and agent workflows, with a scripted model.

Each with `HTMMemory`, and with LlamaIndex's own `Memory` on `HTMChatStore` and `HTMMemoryBlock`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory as TheirMemory
from llama_index.core.memory.types import BaseMemory
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from htm_core import Memory
from htm_core.prompt.recalled_block import WARNING
from htm_llamaindex import (
    HTMChatStore,
    HTMEmbedding,
    HTMMemory,
    HTMMemoryBlock,
    HTMRetriever,
    HTMToolSpec,
    HTMVectorStore,
)
from tests.conftest import SETTINGS
from tests.llamaindex.models import Scripted, calls, result, said
from tests.llamaindex.test_memory import FACT, cost, turn
from tests.llamaindex.ways import WAYS, Way
from tests.stand_ins import HashEmbedder

QUESTION = "Which instrument does my daughter Ada play on Thursdays?"
SECOND = "And on which day of the week is the cello lesson of Ada?"
TURNS = 200
LIMIT = 500
Engine = Callable[[BaseMemory, Scripted, Memory], Any]
Opened = Callable[[Memory, int], BaseMemory]


def ours(memory: Memory, limit: int) -> BaseMemory:
    return HTMMemory.from_defaults("s1", memory=memory, token_limit=limit)


def theirs(memory: Memory, limit: int) -> BaseMemory:
    block = HTMMemoryBlock(memory, recall_tokens=limit // 3)
    return TheirMemory.from_defaults(
        "s1", chat_store=HTMChatStore(memory), memory_blocks=[block], token_limit=limit
    )


def conversation(turns: int) -> list[ChatMessage]:
    """Many turns about other things, and a fact in the third."""
    told = [said(FACT, "user"), said("How lovely.")]
    return [message for at in range(turns) for message in (told if at == 2 else turn(at))]


@pytest.fixture(scope="module", params=[ours, theirs])
def talked(request: pytest.FixtureRequest, url: str | None) -> Iterator[tuple[BaseMemory, Memory]]:
    """A conversation of 200 turns, far longer than its limit, with a fact from the third turn, and the memory behind it.

    One for the whole module: each test goes on with it.
    """
    tenant = f"tenant-{uuid.uuid4().hex[:12]}"
    with Memory(
        "atlas", url=url, tenant=tenant, embedder=HashEmbedder(), settings=SETTINGS
    ) as memory:
        opened: BaseMemory = request.param(memory, LIMIT)
        opened.put_messages(conversation(TURNS))
        assert memory.flush(120)
        yield opened, memory


@pytest.fixture
def chat(talked: tuple[BaseMemory, Memory]) -> BaseMemory:
    return talked[0]


def simple(chat: BaseMemory, model: Scripted, memory: Memory) -> Any:
    return SimpleChatEngine.from_defaults(llm=model.llm, memory=chat, system_prompt="Be brief.")


def context(chat: BaseMemory, model: Scripted, memory: Memory) -> Any:
    return ContextChatEngine.from_defaults(
        HTMRetriever(library(memory)), llm=model.llm, memory=chat
    )


def condense(chat: BaseMemory, model: Scripted, memory: Memory) -> Any:
    return CondensePlusContextChatEngine.from_defaults(
        HTMRetriever(library(memory)), llm=model.llm, memory=chat
    )


def library(memory: Memory) -> Memory:
    """A memory in which there is nothing of the chat, for engines that want a retriever as well."""
    other = memory.of(user="library")
    other.remember(
        "On Thursdays no instrument may be played in the library, on which day ever Ada comes."
    )
    return other


ENGINES = (simple, context, condense)
# Each engine in four of the six ways, streamed and awaited ones among them, and each way with two engines.
PAIRS = [
    (build, ask)
    for at, ask in enumerate(WAYS.values())
    for of, build in enumerate(ENGINES)
    if (at + of) % 3
]


def heard(model: Scripted) -> str:
    """Everything the model was shown in all of its calls."""
    return "\n".join(message.content or "" for messages in model.requests for message in messages)


def texts(messages: list[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


@pytest.mark.parametrize(("build", "ask"), PAIRS)
def test_a_chat_engine_is_shown_the_early_fact_and_what_is_said_is_kept(
    build: Engine, ask: Way, talked: tuple[BaseMemory, Memory]
) -> None:
    chat, memory = talked
    before = len(chat.get_all())
    model = Scripted("The cello.")
    engine = build(chat, model, memory)
    assert ask(engine, QUESTION) == "The cello."
    assert FACT in heard(model)
    assert "Question 5 about" not in heard(model)
    model.requests.clear()
    assert ask(engine, SECOND) == "The cello."
    assert FACT in heard(model)
    assert texts(chat.get_all()[before:]) == [QUESTION, "The cello.", SECOND, "The cello."]
    assert texts(chat.get_all()[4:6]) == [FACT, "How lovely."]


def test_a_chat_engine_that_talks_two_hundred_turns_is_shown_a_fact_of_the_third(
    memory: Memory,
) -> None:
    """The first of them are brought along; the others it talks."""
    chat, runs, model = ours(memory, LIMIT), 40, Scripted("Noted.")
    chat.put_messages(conversation(TURNS - runs))
    engine = SimpleChatEngine.from_defaults(llm=model.llm, memory=chat)
    for at in range(TURNS - runs, TURNS):
        engine.chat(f"Question {at} about tariffs and ports?")
    assert memory.flush()
    engine.chat(QUESTION)
    assert FACT in model.last
    assert len(model.requests) == runs + 1
    assert all(cost(request) <= LIMIT for request in model.requests)
    assert len(engine.chat_history) == 2 * (TURNS + 1)


def test_llamaindexs_own_mock_model_gets_through_two_hundred_turns_within_the_limit(
    memory: Memory,
) -> None:
    chat = HTMMemory.from_defaults("s1", memory=memory, token_limit=200)
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=8), memory=chat)
    engine.chat(FACT)
    chat.put_messages(
        [message for at in range(200) for message in (said(f"Turn {at}.", "user"), said("Noted."))]
    )
    engine.chat(QUESTION)
    assert len(chat.get_all()) == 404
    assert FACT in "".join(message.content or "" for message in chat.get(QUESTION))


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


def agent_of(model: Scripted) -> FunctionAgent:
    return FunctionAgent(
        tools=[FunctionTool.from_defaults(weather)],
        llm=model.llm,
        system_prompt="Help.",
        streaming=False,
    )


def alone(agent: FunctionAgent) -> Any:
    return agent


def in_a_workflow(agent: FunctionAgent) -> Any:
    return AgentWorkflow(agents=[agent])


WRAPS = pytest.mark.parametrize("wrap", [alone, in_a_workflow])
Wrap = Callable[[FunctionAgent], Any]


@WRAPS
def test_an_agent_with_a_tool_is_shown_the_early_fact_and_its_calls_are_kept_with_their_results(
    wrap: Wrap, chat: BaseMemory
) -> None:
    before = len(chat.get_all())
    model = Scripted(calls("weather", city="Bergen"), "It rains, take the cello case.")

    async def run(question: str) -> str:
        return str(await wrap(agent_of(model)).run(user_msg=question, memory=chat))

    assert asyncio.run(run(QUESTION)) == "It rains, take the cello case."
    assert all(
        FACT in "".join(message.content or "" for message in request) for request in model.requests
    )
    assert [request[-1].role.value for request in model.requests] == ["user", "tool"]
    question, call, result, answer = chat.get_all()[-4:]
    assert (question.content, result.content, answer.content) == (
        QUESTION, "It rains in Bergen.", "It rains, take the cello case."
    )  # fmt: skip
    assert isinstance(call.blocks[-1], ToolCallBlock)
    assert result.additional_kwargs == {"tool_call_id": "call-1"}
    model.requests.clear()
    assert asyncio.run(run(SECOND)) == "It rains, take the cello case."  # in a second event loop
    assert FACT in heard(model)
    assert len(chat.get_all()) == before + 6


def test_an_agent_that_uses_a_tool_in_each_of_two_hundred_turns_is_shown_a_fact_of_the_third(
    memory: Memory,
) -> None:
    chat, runs = ours(memory, LIMIT), 15
    told = [FACT if at == 2 else f"How is the weather in port {at}?" for at in range(TURNS)]
    before = [
        [
            said(text, "user"),
            calls("weather", id=f"c{at}", city="Bergen"),
            result("It rains.", id=f"c{at}"),
            said("Rain."),
        ]
        for at, text in enumerate(told[: TURNS - runs])
    ]
    chat.put_messages([message for turn in before for message in turn])
    lines = [
        [calls("weather", id=f"r{at}", city="Bergen"), said(f"Answer {at}.")] for at in range(runs)
    ]
    model = Scripted(*[message for turn in lines for message in turn], "The cello.")
    agent = agent_of(model)

    async def talk() -> str:
        for question in told[TURNS - runs :]:
            await agent.run(user_msg=question, memory=chat)
        assert await memory.aio.flush()
        return str(await agent.run(user_msg=QUESTION, memory=chat))

    assert asyncio.run(talk()) == "The cello."
    assert FACT in model.last
    assert all(len(request) < 60 for request in model.requests)
    assert len(chat.get_all()) == 4 * TURNS + 2


def test_an_agent_remembers_recalls_and_forgets_with_its_own_tools(memory: Memory) -> None:
    own = memory.of(user="ada")
    tools = HTMToolSpec(own).to_tool_list()
    model = Scripted(
        calls(
            "remember", id="c1", content="Ada's boat is called Nixe.", importance=7, tags=["boat"]
        ),
        calls("recall", id="c2", query="the boat's name"),
        "It is the Nixe.",
    )
    agent = FunctionAgent(tools=tools, llm=model.llm, streaming=False)

    async def run(question: str, chat: BaseMemory) -> str:
        return str(await agent.run(user_msg=question, memory=chat))

    assert asyncio.run(run("Keep my boat's name: Nixe.", ours(own, LIMIT))) == "It is the Nixe."
    assert "Ada's boat is called Nixe." in model.last
    node = own.list(tags=["boat"])[0]
    forgetful = Scripted(calls("forget", id="c3", memory_id=node.id), "Forgotten.")
    agent = FunctionAgent(tools=tools, llm=forgetful.llm, streaming=False)
    asyncio.run(run("Forget that.", ours(own, LIMIT)))
    assert own.list(tags=["boat"]) == []


def test_an_agent_that_formats_its_question_changes_nothing_that_is_stored(
    chat: BaseMemory,
) -> None:
    model = Scripted("The cello.")
    agent = AgentWorkflow(agents=[agent_of(model)], initial_state={"mood": "good"})

    async def run() -> None:
        await agent.run(user_msg=QUESTION, memory=chat)

    asyncio.run(run())
    assert "mood" in (model.requests[0][-1].content or "")
    assert texts(chat.get_all()[-2:]) == [QUESTION, "The cello."]


def test_an_agents_conversation_goes_on_from_a_serialised_context(memory: Memory) -> None:
    model = Scripted("The cello.")
    agent, chat = agent_of(model), ours(memory, LIMIT)

    async def twice() -> None:
        context: Context = Context(agent)
        await agent.run(user_msg=QUESTION, memory=chat, ctx=context)
        restored: Context = Context.from_dict(agent, context.to_dict())
        await agent.run(user_msg="And on which day?", ctx=restored)

    asyncio.run(twice())
    assert texts(chat.get_all()) == [QUESTION, "The cello.", "And on which day?", "The cello."]
    assert QUESTION in heard(model)


def test_a_chat_engine_over_an_index_uses_the_memory_and_the_documents(memory: Memory) -> None:
    store = HTMVectorStore(collection="docs", memory=memory)
    index = VectorStoreIndex.from_vector_store(store, embed_model=HTMEmbedding(memory))
    index.insert_nodes(
        [TextNode(text="The harbour opens at six."), TextNode(text="Parking costs two coins.")]
    )
    chat = HTMMemory.from_defaults("s1", memory=memory)
    model = Scripted("At six.")
    engine = index.as_chat_engine(
        chat_mode=ChatMode.CONDENSE_PLUS_CONTEXT, llm=model.llm, memory=chat, similarity_top_k=1
    )
    assert engine.chat("When does the harbour open?").response == "At six."
    assert "The harbour opens at six." in heard(model)
    assert not any(WARNING in message.content for message in chat.get_all() if message.content)


def test_messages_that_an_engine_hands_back_are_not_the_stored_ones(
    talked: tuple[BaseMemory, Memory],
) -> None:
    engine = simple(talked[0], Scripted(), talked[1])
    for message in engine.chat_history:
        message.blocks = []
    assert engine.chat_history[4].content == FACT


def test_asking_again_and_again_does_not_pile_up_what_is_recalled(chat: BaseMemory) -> None:
    """LlamaIndex writes its blocks into the messages that it gets: a store that shares its objects collects them."""
    for _ in range(3):
        shown = "".join(message.content or "" for message in chat.get(QUESTION))
        assert shown.count(WARNING) == shown.count(FACT) == 1
    assert not any(WARNING in (message.content or "") for message in chat.get_all())
