"""The same questions through every surface, with a model that only keeps what it was sent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from rich.table import Table

from benchmarks.recalled import paraphrases
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Memory
from htm_core.palace import Enforcer, Palace
from htm_langchain import HTMMemoryMiddleware, with_memory
from htm_llamaindex import HTMMemory, HTMMemoryBlock

Ask = Callable[[str], str]


class Keeper(BaseChatModel):
    """Answers always the same, and keeps its last request."""

    reply: str = "Noted."
    sent: list[str] = []  # noqa: RUF012 - a pydantic field: each model has its own

    @property
    def _llm_type(self) -> str:
        return "keeper"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Keeper:  # noqa: ARG002 - it uses none
        """Use no tool."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain passes it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - LangChain passes it
        **kwargs: Any,  # noqa: ARG002 - LangChain passes them
    ) -> ChatResult:
        self.sent[:] = [str(message.text) for message in messages]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply))])


def surfaces(embedder: CachedEmbedder | None) -> Table:
    """Tell each fact in a thread of its own, ask each question in a fresh one, and read the requests."""
    made = Table(
        title="facts told in threads of their own, each asked for in a fresh one, with the defaults"
    )
    for column in ("surface", "questions", "in recall's first 8", "right fact in the request, %"):
        made.add_column(column)
    [case] = list(paraphrases(sessions=205))
    for name, surface in SURFACES.items():
        filled = CaseMemory(
            replace(case, name=f"{name}"), tenant=f"reach-{secrets.token_hex(4)}", embedder=embedder
        )
        if name == "palace":
            palace = Palace(filled.memory)
            for message in case.messages:
                palace.file(message.content, room="facts", drawer=f"fact-{message.unit}")
            filled.memory.flush()
        else:
            filled.fill()
        texts = {message.unit: message.content for message in case.messages}
        had = shown = 0
        ask = surface(filled.memory)
        for question in case.questions:
            [unit] = next(iter(question.gold.values()))
            result = filled.memory.recall(question.text, limit=8, hold=False)
            if any(hit.content == texts[unit] for hit in result):
                had += 1
                shown += texts[unit] in ask(question.text)
        made.add_row(name, str(len(case.questions)), str(had), f"{100 * shown / max(1, had):.1f}")
        filled.empty()
    return made


def _config(memory: Memory) -> Any:
    thread = secrets.token_hex(8)
    return {"configurable": {"user_id": memory.user, "thread_id": thread, "session_id": thread}}


def _middleware(memory: Memory) -> Ask:
    model = Keeper()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])

    def ask(question: str) -> str:
        agent.invoke({"messages": [{"role": "user", "content": question}]}, _config(memory))
        return "\n".join(model.sent)

    return ask


def _with_memory(memory: Memory) -> Ask:
    model = Keeper()
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{question}")]
    )
    chain = with_memory(prompt | model, memory, input_key="question", history_key="history")

    def ask(question: str) -> str:
        chain.invoke({"question": question}, _config(memory))
        return "\n".join(model.sent)

    return ask


def _llamaindex_memory(memory: Memory) -> Ask:
    def ask(question: str) -> str:
        chat = HTMMemory.from_defaults(secrets.token_hex(8), memory)
        chat.put(ChatMessage(role=MessageRole.USER, content=question))
        return "\n".join(message.content or "" for message in chat.get())

    return ask


def _llamaindex_block(memory: Memory) -> Ask:
    block = HTMMemoryBlock(memory)

    def ask(question: str) -> str:
        message = ChatMessage(role=MessageRole.USER, content=question)
        return asyncio.run(block.aget([message], session_id=secrets.token_hex(8)))

    return ask


def _palace(memory: Memory) -> Ask:
    enforcer = Enforcer(Palace(memory))
    return lambda question: enforcer.consult(question).text


SURFACES: dict[str, Callable[[Memory], Ask]] = {
    "middleware": _middleware,
    "with_memory": _with_memory,
    "LlamaIndex memory": _llamaindex_memory,
    "LlamaIndex block": _llamaindex_block,
    "palace": _palace,
}
