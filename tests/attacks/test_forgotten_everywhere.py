"""What is forgotten is shown and sent nowhere, by whichever entrance it came and was quoted; purged, it is in no column of any table."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.memory import Memory as TheirMemory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from htm_core import Memory
from htm_core.client import Client
from htm_core.palace import Enforcer, Palace, PalaceToolReplies
from htm_core.prompt.function_tools import call_tool
from htm_core.serve.mcp.tools import TOOLS
from htm_langchain import HTMMemoryMiddleware, HTMRetriever, create_palace_tools, with_memory
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock, HTMPalaceToolSpec, HTMToolSpec
from htm_llamaindex import HTMRetriever as HTMNodes
from tests.attacks.words_in_tables import tables_with
from tests.conftest import Make
from tests.langchain.models import Scripted, scripted
from tests.llamaindex import models
from tests.server.conftest import Issue, Running

QUESTION = "What is my alarm code at home?"
Sent = Callable[[], str]  # goes on with a conversation, and gives all that the model is sent


def secret(word: str) -> str:
    return f"My alarm code at home is {word} seventy."


@pytest.fixture
def word() -> str:
    return f"zqx{uuid.uuid4().hex[:10].translate(str.maketrans('0123456789', 'ghijklmnop'))}"


def told(memory: Memory, word: str) -> str:
    """The secret as a user says it in an earlier conversation; the id of its memory."""
    memory.of(session="c1").log().append(
        [{"content": secret(word), "role": "user", "id": str(uuid.uuid4())}]
    )
    memory.of(session="c1").log().append(
        [{"content": f"Noted: {secret(word)}", "role": "assistant"}]
    )
    assert memory.flush(30)
    return next(
        each.node_id or "" for each in memory.who_said(secret(word)) if each.content == secret(word)
    )


# -- entrances, each of which quotes the secret ---------------------------------------------------------------------------


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}-{uuid.uuid4().hex[:4]}"}],
    )


def sent_to(model: Scripted) -> str:
    return "\n".join(str(message.model_dump()) for message in model.seen[-1])


def langchain_agent(memory: Memory, *, saver: Any, palace: bool = False) -> Sent:
    model = scripted(
        call("recall", query=QUESTION),
        *(
            [] if saver else [call("documents", query=QUESTION)]
        ),  # a thread's state is the checkpointer's
        *([call("look_palace")] if palace else []),
        then="Well.",
    )
    tools = [create_retriever_tool(HTMRetriever(memory=memory), "documents", "Documents.")]
    place = Palace(memory)
    middleware = HTMMemoryMiddleware(
        memory, tools=("recall", "remember", "forget"), **({"palace": place} if palace else {})
    )
    agent = create_agent(
        model,
        tools=[*tools, *(create_palace_tools(place) if palace else [])],
        middleware=[middleware],
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": "c2"}}

    def goes_on() -> str:
        agent.invoke({"messages": [("user", QUESTION)]}, config)
        return sent_to(model)

    goes_on()
    goes_on()
    return goes_on


def chain(memory: Memory) -> Sent:
    model = scripted()
    runnable = with_memory(model, memory)

    def goes_on() -> str:
        runnable.invoke(QUESTION, {"configurable": {"session_id": "c2"}})
        return sent_to(model)

    goes_on()
    return goes_on


def llamaindex_agent(
    memory: Memory, word: str, *, react: bool = False, theirs: bool = False
) -> Sent:
    engine = RetrieverQueryEngine.from_args(HTMNodes(memory), llm=models.Scripted(secret(word)).llm)
    tools = [
        *HTMToolSpec(memory).to_tool_list(),
        QueryEngineTool.from_defaults(engine, name="ask"),
        RetrieverTool.from_defaults(HTMNodes(memory), name="documents"),
        *HTMPalaceToolSpec(Palace(memory)).to_tool_list(),
    ]
    action = 'Thought: I look.\nAction: recall\nAction Input: {"query": "alarm code"}'
    lines = (
        [action, "Thought: I know.\nAnswer: Well."]
        if react
        else [
            models.calls("recall", query=QUESTION),
            *(models.calls(each, input=QUESTION) for each in ("documents", "ask")),
            "Well.",
        ]
    )
    model = models.Scripted(*lines)
    agent = (ReActAgent if react else FunctionAgent)(tools=tools, llm=model.llm)
    chat: Any = (
        TheirMemory.from_defaults(
            session_id="c2", memory_blocks=[HTMMemoryBlock(memory)], chat_store=HTMChatStore(memory)
        )
        if theirs
        else HTMMemory.from_defaults("c2", memory)
    )

    async def ask() -> None:
        await agent.run(QUESTION, memory=chat)

    def goes_on() -> str:
        asyncio.run(ask())
        return "\n".join(message.model_dump_json() for message in model.requests[-1])

    goes_on()
    goes_on()
    return goes_on


def a_log_of_the_programs_own(memory: Memory) -> Sent:
    """A program that keeps what tools have answered: those of MCP, of OpenAI's functions, of the palace."""
    log = memory.log("c2")
    given: dict[str, dict[str, Any]] = {
        "recall": {"query": QUESTION}, "search": {"query": QUESTION}, "timeline": {}, "context": {},
        "palace_consult": {"question": QUESTION},
    }  # fmt: skip
    replies = [
        TOOLS[name].answer(memory, arguments, budget=4_000) for name, arguments in given.items()
    ]
    replies += [
        call_tool(memory, "recall", {"query": QUESTION}),
        PalaceToolReplies(Palace(memory)).look(),
    ]
    for at, reply in enumerate(replies):
        log.append(
            [
                {
                    "content": str(reply),
                    "role": "tool",
                    "payload": json.dumps({"data": reply}).encode(),
                    "id": f"t{at}",
                }
            ]
        )
    return lambda: " ".join(f"{each.content} {each.payload!r}" for each in log.tail())


def palace(memory: Memory, word: str) -> Sent:
    place = Palace(memory.of(session="c2"))
    note = place.note(f"Carla says: {secret(word)}", ttl=timedelta(days=1))
    where = {"room": "home", "drawer": "alarm"}
    place.promote(
        note, reason=f"Because {secret(word)}", summary=f"As said, {secret(word)}", **where
    )
    place.submit(f"As said, {secret(word)}", reason="Once more.", **where)
    PalaceToolReplies(place).note(f"It is so: {secret(word)}")
    Enforcer(place).consult(f"Is it true? {secret(word)}")

    def shown() -> str:
        consulted = Enforcer(place).consult(QUESTION)
        return " ".join(
            map(str, [place.notes(), place.look(), place.decisions(), place.consultations(), place.wake_up().text,
                      consulted.text, PalaceToolReplies(place).look()])
        )  # fmt: skip

    assert word in shown()
    return shown


ENTRANCES: dict[str, Callable[[Memory, str], Sent]] = {
    "an agent without a checkpointer": lambda memory, _: langchain_agent(memory, saver=None),
    "an agent with a checkpointer": lambda memory, _: langchain_agent(
        memory, saver=InMemorySaver()
    ),
    "an agent with a palace": lambda memory, _: langchain_agent(memory, saver=None, palace=True),
    "a chain": lambda memory, _: chain(memory),
    "LlamaIndex's function agent": llamaindex_agent,
    "LlamaIndex's ReAct agent": lambda memory, word: llamaindex_agent(memory, word, react=True),
    "LlamaIndex's own memory over our store": lambda memory, word: llamaindex_agent(
        memory, word, theirs=True
    ),
    "a log of tools' answers": lambda memory, _: a_log_of_the_programs_own(memory),
    "the palace": palace,
}


def shown(memory: Memory, word: str) -> list[str]:
    """The verbs and tools that show a word, whoever asks for whatever a memory has of its user."""
    asked: dict[str, Callable[[], object]] = {
        "timeline": lambda: memory.timeline(limit=1_000),
        "recall": lambda: [memory.recall(QUESTION), memory.recall(QUESTION, mode="text")],
        "context": memory.context, "profile": memory.profile, "summaries": memory.summaries,
        "list": lambda: memory.list(limit=1_000), "changes": memory.changes.list, "merges": memory.merges,
        "working": lambda: memory.working.items, "audit": memory.audit, "sessions": memory.sessions,
        "tags": memory.tags.popular, "jobs": memory.jobs.list,
        "logs": lambda: [memory.log(session).tail() for session in memory.sessions()],
        "tool: recall": lambda: call_tool(memory, "recall", {"query": "What do you know about me?"}),
        "tool: profile": lambda: call_tool(memory, "profile", {}),
        "wake-up": lambda: Palace(memory).wake_up(),
    }  # fmt: skip
    over_mcp = {
        "recall": {"query": QUESTION},
        "search": {"query": QUESTION},
        "timeline": {},
        "context": {},
    }
    for name, arguments in over_mcp.items():
        asked[f"mcp: {name}"] = partial(TOOLS[name].answer, memory, arguments, budget=4_000)
    return [name for name, ask in asked.items() if word in repr(ask())]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_what_was_recalled_and_quoted_is_gone_with_what_is_forgotten(
    make: Make, database_url: str, word: str, entrance: str
) -> None:
    with make(user="carla", session="c2") as memory:
        node = told(memory, word)
        memory.tidy()
        sends = ENTRANCES[entrance](memory, word)
        assert shown(memory, word)
        assert tables_with(database_url, word)
        memory.forget(node)
        assert shown(memory, word) == []
        assert word not in sends()
        assert shown(memory, word) == []
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        assert tables_with(database_url, word) == []
        assert word not in sends()


def test_what_came_back_is_shown_again_and_what_quotes_it_too(make: Make, word: str) -> None:
    with make(user="carla", session="c2") as memory:
        node = told(memory, word)
        sends = palace(memory, word)
        memory.forget(node)
        assert word not in sends()
        memory.restore(node)
        assert word in sends()
        assert word in str(Palace(memory.of(session="c2")).decisions())


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_that_a_conversation_has_begun_with_loses_what_is_forgotten(
    make: Make, word: str
) -> None:
    """In both adapters, whoever forgets it in this process, while the conversation goes on."""
    with make(user="carla", session="c2") as memory:
        name = word.capitalize()
        said = memory.remember(f"My name is {name}.", role="user", session="c1")
        assert name in memory.profile().text
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        config: Any = {"configurable": {"thread_id": "c2"}}
        chat = HTMMemory.from_defaults("c3", memory)
        for times in range(2):
            agent.invoke({"messages": [("user", "Write a poem about the sea.")]}, config)
            block = str(chat.get("Write a poem about the sea."))
            assert (name in sent_to(model), name in block) == (times == 0, times == 0)
            if times == 0:
                memory.forget(said.id)


def test_what_is_recalled_for_a_question_is_recalled_anew_once_something_is_forgotten(
    make: Make, word: str
) -> None:
    with make(user="carla", session="c2") as memory:
        node = told(memory, word)
        chat = HTMMemory.from_defaults("c3", memory)
        chat.put(models.said(QUESTION, role="user"))
        assert word in str(chat.get())
        memory.forget(node)
        assert word not in str(chat.get())


@pytest.mark.parametrize("how", ["purge", "erase"])
def test_files_of_claudes_memory_tool_leave_nothing(
    make: Make, database_url: str, word: str, how: str
) -> None:
    pytest.importorskip("anthropic")
    from htm_core.anthropic_tool import HTMMemoryTool

    with make(user="carla", session="c2") as memory:
        tool = HTMMemoryTool(memory)
        path = "/memories/alarm.md"
        tool.call({"command": "create", "path": path, "file_text": secret(word)})
        tool.call(
            {"command": "str_replace", "path": path, "old_str": "seventy", "new_str": "eighty"}
        )
        reply = call_tool(memory, "recall", {"query": QUESTION})
        assert word in reply
        memory.log().append([{"content": reply, "role": "tool"}])
        [node] = [each for each in memory.list() if each.keys]
        if how == "erase":
            memory.erase(key=node.keys[0], confirm="confirmed")
        else:
            for version in memory.history(node.keys[0]):
                memory.forget(version.id)
            assert shown(memory, word) == []
            memory.purge(timedelta(seconds=-1), confirm="confirmed")
        assert shown(memory, word) == []
        assert tables_with(database_url, word) == []


def test_an_answer_with_evidence_of_the_palace_keeps_where_it_is_from_and_none_of_its_words(
    make: Make, word: str
) -> None:
    with make(user="carla", session="c2") as memory:
        place = Palace(memory)
        filed = place.file(secret(word), room="home", drawer="alarm")
        agent = create_agent(
            scripted("It is known."), middleware=[HTMMemoryMiddleware(memory, palace=place)]
        )
        config: Any = {"configurable": {"thread_id": "c2"}}
        answer = agent.invoke({"messages": [("user", QUESTION)]}, config)["messages"][-1]
        assert word in str(answer.response_metadata)
        kept = memory.log("c2").tail()[-1].payload or b""
        assert filed.id.encode() in kept
        assert word.encode() not in kept
        memory.forget(filed.node_id)
        assert memory.log("c2").tail()[-1].content == "It is known."


def test_a_note_of_a_session_that_was_forgotten_is_purged_with_the_rest(
    make: Make, database_url: str, word: str
) -> None:
    with make(user="carla", session="c2") as memory:
        place = Palace(memory)
        place.forget(place.note(secret(word)))
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        assert tables_with(database_url, word) == []


def test_what_is_taken_out_of_the_palace_takes_its_quotations_along(make: Make, word: str) -> None:
    with make(user="carla", session="c2") as memory:
        filed = Palace(memory).file(secret(word), room="home", drawer="alarm")
        memory.log().append(
            [{"content": call_tool(memory, "recall", {"query": QUESTION}), "role": "tool"}]
        )
        assert shown(memory, word)
        Palace(memory).forget(filed)
        assert shown(memory, word) == []


def test_an_answer_that_is_kept_for_a_retry_goes_with_what_it_says(
    running: Running, issue: Issue, database_url: str, word: str
) -> None:
    token = issue("read", "write", "admin", user="carla")
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid.uuid4())}
    with (
        Client(running.url, token, session="s", retries=0) as carla,
        httpx.Client(base_url=running.url) as http,
    ):
        body = {"content": secret(word), "session": "s"}
        told = http.post("/v1/remember", json=body, headers=headers)
        assert word in told.text
        carla.forget(told.json()["id"])
        assert word not in http.post("/v1/remember", json=body, headers=headers).text
        assert carla.timeline() == []
        carla.purge(timedelta(seconds=-1), confirm="confirmed")
        assert tables_with(database_url, word) == []


def test_a_collection_keeps_nothing_of_what_is_deleted_there(
    make: Make, database_url: str, word: str
) -> None:
    """Documents are no memories: what a program has copied into a collection is deleted there."""
    with make(user="carla") as memory:
        node = told(memory, word)
        documents = memory.collection(f"copies-{word[:6]}", embedder=None)
        documents.put([{"id": "one", "content": secret(word)}])
        memory.forget(node)
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        assert {each.rpartition("_")[2] for each in tables_with(database_url, word)} != set()
        documents.delete(["one"])
        assert tables_with(database_url, word) == []
