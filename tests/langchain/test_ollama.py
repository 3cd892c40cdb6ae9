"""LangChain's client for Ollama with a memory: what a model has answered over HTTP, played back, and a model that runs.

See tests/cassettes/README.md.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import tool

from htm_core.models.minilm.model import MiniLM
from htm_langchain import HTMMemoryMiddleware, LangChainTagger, with_memory
from htm_langchain.messages import decode
from tests.cassettes.ollama import PATIENCE, Ollama, needs_a_running_model, remembering
from tests.conftest import Make
from tests.langchain.test_middleware import FACT, QUESTION, config, said

pytest.importorskip("langchain_ollama")
from langchain_ollama import ChatOllama


def chat(server: Ollama) -> ChatOllama:
    return ChatOllama(
        model=server.model, base_url=server.address, client_kwargs={"timeout": PATIENCE}
    )


# A small model calls a tool again and again, unless it is told what is to follow.
ERRAND = (
    "Read the thermometer in the kitchen. Then tell me in a sentence of plain words how warm it is."
)


@tool
def thermometer(room: str) -> str:
    """Read how warm it is in a room of the house now."""
    return f"{room}: 21 degrees"


def test_an_agent_remembers_from_one_thread_to_another(make: Make, ollama: Ollama) -> None:
    memory = remembering(make)
    agent = create_agent(
        chat(ollama), middleware=[HTMMemoryMiddleware(memory, recall_timeout=None)]
    )
    agent.invoke(said(FACT), config("monday"))
    done = agent.invoke(said(QUESTION), config("friday"))
    assert "peanuts" in done["messages"][-1].text.lower()
    [question] = ollama.chats[-1]["messages"]
    assert FACT in question["content"]
    assert question["content"].endswith(QUESTION)
    kept = memory.timeline(session="friday")
    assert [(mention.role, mention.content) for mention in kept] == [
        ("user", QUESTION), ("assistant", done["messages"][-1].text),
    ]  # fmt: skip


def test_an_agent_uses_a_tool_and_all_of_it_is_kept(make: Make, ollama: Ollama) -> None:
    memory = remembering(make)
    agent = create_agent(
        chat(ollama), [thermometer], middleware=[HTMMemoryMiddleware(memory, recall_timeout=None)]
    )
    done = asyncio.run(agent.ainvoke(said(ERRAND), config()))
    kept = memory.timeline(session="t1")
    assert [mention.role for mention in kept] == ["user", "assistant", "tool", "assistant"]
    assert (kept[0].content, kept[2].content) == (ERRAND, "kitchen: 21 degrees")
    call = decode(kept[1].payload or b"")
    assert isinstance(call, AIMessage)
    assert [(each["name"], each["args"]) for each in call.tool_calls] == [
        ("thermometer", {"room": "kitchen"})
    ]
    assert "21" in kept[3].content
    assert kept[3].content == done["messages"][-1].text


def test_a_chain_streams_and_remembers(make: Make, ollama: Ollama) -> None:
    memory = remembering(make)
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{question}")]
    )
    model = prompt | chat(ollama) | StrOutputParser()

    def streamed(question: str, session: str) -> list[str]:
        return list(
            with_memory(model, memory, session=session, recall_timeout=None).stream(
                {"question": question}
            )
        )

    streamed(FACT, "monday")
    pieces = streamed(QUESTION, "friday")
    assert len(pieces) > 1
    assert "peanuts" in "".join(pieces).lower()
    assert ollama.chats[-1]["stream"]
    assert FACT in ollama.shown()
    kept = memory.timeline(session="friday")
    assert [(mention.role, mention.content) for mention in kept] == [
        ("user", QUESTION),
        ("assistant", "".join(pieces)),
    ]


def test_a_tagger_files_a_text(make: Make, ollama: Ollama) -> None:
    memory = remembering(make, tagger=LangChainTagger(chat(ollama)))
    node = memory.remember(FACT)
    assert memory.flush(timeout=PATIENCE)
    assert any(word in tag for tag in memory.get(node.id).tags for word in ("peanut", "allerg"))
    [asked] = ollama.chats
    assert FACT in asked["messages"][-1]["content"]
    assert asked["format"]["properties"].keys() == {"tags"}


def test_an_answer_keeps_what_the_server_said_of_it(make: Make, ollama: Ollama) -> None:
    memory = remembering(make)
    agent = create_agent(
        chat(ollama), middleware=[HTMMemoryMiddleware(memory, recall_timeout=None)]
    )
    answer: Any = list(agent.stream(said("hello"), config(), stream_mode="values"))[-1]["messages"][
        -1
    ]
    assert answer.response_metadata["done_reason"] == "stop"
    assert answer.usage_metadata["output_tokens"] > 0
    kept = json.loads(memory.timeline(session="t1")[-1].payload or b"")["data"]
    assert kept["response_metadata"] == answer.response_metadata
    assert kept["usage_metadata"] == answer.usage_metadata


@needs_a_running_model
def test_a_model_that_runs_answers_from_what_another_thread_was_told(
    make: Make, running_ollama: Ollama, real_embedder: MiniLM
) -> None:
    with make(embedder=real_embedder) as memory:
        agent = create_agent(chat(running_ollama), middleware=[HTMMemoryMiddleware(memory)])
        agent.invoke(said(FACT), config("monday"))
        done = agent.invoke(said(QUESTION), config("friday"))
        assert FACT in running_ollama.shown()
        assert "peanuts" in done["messages"][-1].text.lower()
