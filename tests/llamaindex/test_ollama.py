"""LlamaIndex's client for Ollama with a memory: what a model has answered over HTTP, played back, and a model that runs.

See tests/cassettes/README.md.
"""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.tools import FunctionTool

from htm_core import Memory
from htm_core.models.minilm.model import MiniLM
from htm_llamaindex import HTMMemory
from tests.cassettes.ollama import PATIENCE, needs_a_running_model, remembering
from tests.cassettes.ollama import Ollama as Server
from tests.conftest import Make
from tests.llamaindex.test_memory import FACT
from tests.llamaindex.ways import chat, stream_chat

pytest.importorskip("llama_index.llms.ollama")
from llama_index.llms.ollama import Ollama

QUESTION = "Which instrument does my daughter Ada play?"
# A small model calls a tool again and again, unless it is told what is to follow.
ERRAND = (
    "Read the thermometer in the kitchen. Then tell me in a sentence of plain words how warm it is."
)


def model(server: Server) -> Ollama:
    return Ollama(model=server.model, base_url=server.address, request_timeout=PATIENCE)


def engine(server: Server, memory: Memory, session: str) -> SimpleChatEngine:
    return SimpleChatEngine.from_defaults(
        llm=model(server), memory=HTMMemory.from_defaults(session, memory)
    )


def thermometer(room: str) -> str:
    """Read how warm it is in a room of the house now."""
    return f"{room}: 21 degrees"


def test_a_chat_engine_remembers_from_one_session_to_another(make: Make, ollama: Server) -> None:
    memory = remembering(make)
    chat(engine(ollama, memory, "monday"), FACT)
    answer = chat(engine(ollama, memory, "friday"), QUESTION)
    assert "cello" in answer.lower()
    assert FACT in ollama.shown()
    kept = memory.timeline(session="friday")
    assert [(mention.role, mention.content) for mention in kept] == [
        ("user", QUESTION),
        ("assistant", answer),
    ]


def test_a_chat_engine_streams_and_remembers(make: Make, ollama: Server) -> None:
    memory = remembering(make)
    stream_chat(engine(ollama, memory, "monday"), FACT)
    answer = stream_chat(engine(ollama, memory, "friday"), QUESTION)
    assert "cello" in answer.lower()
    assert ollama.chats[-1]["stream"]
    assert FACT in ollama.shown()
    kept = memory.timeline(session="friday")
    assert [(mention.role, mention.content) for mention in kept] == [
        ("user", QUESTION),
        ("assistant", answer),
    ]


def test_an_agent_uses_a_tool_and_all_of_it_is_kept(make: Make, ollama: Server) -> None:
    memory = HTMMemory.from_defaults("s1", remembering(make))
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(thermometer)], llm=model(ollama))

    async def run() -> str:
        return str(await agent.run(user_msg=ERRAND, memory=memory))

    answer = asyncio.run(run())
    asked, call, result, said = memory.get_all()
    assert (asked.content, result.content, said.content) == (ERRAND, "kitchen: 21 degrees", answer)
    [block] = [block for block in call.blocks if isinstance(block, ToolCallBlock)]
    assert (block.tool_name, block.tool_kwargs) == ("thermometer", {"room": "kitchen"})
    assert "21" in answer


@needs_a_running_model
def test_a_model_that_runs_answers_from_what_another_session_was_told(
    make: Make, running_ollama: Server, real_embedder: MiniLM
) -> None:
    with make(user="ann", embedder=real_embedder) as memory:
        chat(engine(running_ollama, memory, "monday"), FACT)
        answer = chat(engine(running_ollama, memory, "friday"), QUESTION)
        assert FACT in running_ollama.shown()
        assert "cello" in answer.lower()
