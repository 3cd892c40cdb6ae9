"""The kinds of memory that are compared, each told and asked as its own documentation says."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from typing import Any, Protocol, Self
from unittest.mock import patch

from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

from benchmarks.reach_surfaces import Keeper
from benchmarks.retrieval_sets import Message
from benchmarks.retrieval_systems import CachedEmbedder, drafts
from htm_core import Memory, Settings
from htm_core.palace import Palace
from htm_core.prompt import memory_block, profile_block, recalled_block
from htm_langchain import HTMMemoryMiddleware, injection, with_memory
from htm_llamaindex import HTMMemory

from .cases import Asked, Case, line_of
from .judged import RIGHT, judge

BUDGET = 3_000  # tokens of a request that a memory without one of its own would fill
NEAREST = 8


class Arm(Protocol):
    """A kind of memory: it is told a case, and then asked its questions one by one, each in a fresh thread."""

    def tell(self, case: Case) -> None:
        """Keep what was said."""

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""


class Tools:
    """Shared tools of all arms: the model by each framework, and the vectors.

    Args:
        url: Where the model answers: Ollama's API.
        model: Its name there.
        embedder: Gives the vectors of all arms.
        dsn: A superuser's DSN of a server, for LangGraph's store and LlamaIndex's.
    """

    def __init__(
        self, *, url: str, model: str, embedder: CachedEmbedder, dsn: str, tokens: int = 80
    ) -> None:
        from langchain_ollama import ChatOllama
        from llama_index.llms.ollama import Ollama

        self.chat: BaseChatModel = ChatOllama(
            model=model, base_url=url, temperature=0, num_predict=tokens
        )
        self.llm: LLM = Ollama(
            model=model, base_url=url, temperature=0, request_timeout=900.0, context_window=8192,
            additional_kwargs={"num_predict": tokens}, is_function_calling_model=False,
        )  # fmt: skip
        self.embedder = embedder
        self.dsn = dsn
        self.stack = ExitStack()
        self._shared: dict[object, tuple[Memory, Clock, set[str]]] = {}

    def opened(self, arm: str) -> tuple[Memory, Clock]:
        """A memory of a tenant of its own, by a clock that can be set."""
        clock = Clock()
        memory = Memory(
            "answers", tenant=f"answers-{arm}-{secrets.token_hex(4)}", embedder=self.embedder, clock=clock,
            settings=Settings(max_drafts=1_000_000),
        )  # fmt: skip
        return memory, clock

    def shared(self, kind: object) -> tuple[Memory, Clock, set[str]]:
        """The memory that all arms of a kind are told together, with its clock, and the names of the cases that it was told."""
        if kind not in self._shared:
            self._shared[kind] = (*self.opened("middleware"), set())
        return self._shared[kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()


class Clock:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


def turns(case: Case) -> Iterator[tuple[str, list[Message], str]]:
    """The turns of a case: the thread, what the user said, and the answer, which some sets do not have."""
    silent, spoken = Keeper().reply, list[Message]()
    for message in [*case.messages, None]:
        ends = message is None or (spoken and message.session != spoken[0].session)
        if spoken and (ends or (message is not None and message.role == "assistant")):
            answers = message is not None and not ends
            yield (
                f"{case.name}-{spoken[0].session}",
                spoken,
                message.content if answers and message else silent,
            )
            spoken = []
        if message is not None and message.role != "assistant":
            spoken.append(message)


Talk = Callable[[str, str, str], None]  # a thread, what the user says, and what is answered


def told(case: Case, memory: Memory, clock: Clock, talk: Talk) -> None:
    """Talk, turn by turn, at the times of a case; what friends said to each other is imported."""
    if case.friends:
        clock.now = case.now
        memory.of(user=case.name).remember_many(drafts(case.messages))
    else:
        for thread, messages, reply in turns(case):
            clock.now = messages[0].at or case.now
            talk(thread, "\n".join(message.content for message in messages), reply)
    clock.now = case.now
    if not memory.flush():
        raise SystemExit(f"some memories of {case.name} could not be embedded: see the log")


# -- without a memory -------------------------------------------------------------------------------------------------


class Nothing:
    """The question alone."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    def tell(self, case: Case) -> None:
        """Forget it."""

    def ask(self, case: Case, question: Asked) -> str:  # noqa: ARG002 - it knows no case
        """The model's answer."""
        return str(self.tools.chat.invoke([("user", question.text)]).text)


class Evidence(Nothing):
    """The messages that answer, and nothing else, before the question: the most that a memory can reach."""

    def lines(self, case: Case, question: Asked) -> Sequence[str]:  # noqa: ARG002 - a subclass reads the case
        """Return the lines that are shown."""
        return question.evidence

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        lines = "\n".join(self.lines(case, question))
        context = (
            f"Today is {case.now:%a %Y-%m-%d}.\nFrom earlier conversations:\n{lines}\n\n"
            if lines
            else ""
        )
        return str(self.tools.chat.invoke([("user", context + question.text)]).text)


class EvidenceAndFormer(Evidence):
    """The same after the messages with a value that held before: the most that a memory can reach which shows both."""

    def lines(self, case: Case, question: Asked) -> Sequence[str]:
        """Return the lines that are shown, oldest first."""
        spoken = [line_of(each) for each in case.messages if each.role == "user"]
        former = [
            line
            for line in spoken
            if judge(line, question.former) == RIGHT and line not in question.evidence
        ]
        return [*former, *question.evidence]


# -- htm-memory by each adapter ---------------------------------------------------------------------------------------


class Middleware:
    """An agent of LangChain with `HTMMemoryMiddleware` and its defaults, told in the set's threads."""

    options: dict[str, Any] = {}  # noqa: RUF012 - a subclass has its own

    def __init__(self, tools: Tools) -> None:
        self.memory, self.clock, self._known = tools.shared(type(self).runnable)
        self._keeper = Keeper()
        self._told = self.runnable(self._keeper, self.memory)
        # Answers to other questions of the set are no memories: each question is asked as if it were the first.
        self._asked = self.runnable(tools.chat, self.memory, keep=lambda _: False, **self.options)

    def runnable(
        self, model: BaseChatModel, memory: Memory, **options: Any
    ) -> Callable[[str, Any], str]:
        """Answers a question, with a configuration."""
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory, **options)])
        return lambda question, config: str(
            agent.invoke({"messages": [HumanMessage(question)]}, config)["messages"][-1].text
        )

    def tell(self, case: Case) -> None:
        """Tell it, unless another arm of its kind was told."""
        if case.name not in self._known:
            self._known.add(case.name)
            told(case, self.memory, self.clock, lambda *turn: self._talk(case, *turn))

    def _talk(self, case: Case, thread: str, question: str, reply: str) -> None:
        self._keeper.reply = reply
        self._told(question, config_of(case, thread))

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        self.clock.now = case.now
        return self._asked(question.text, config_of(case, f"asked-{secrets.token_hex(8)}"))


class Chain(Middleware):
    """A chain with `with_memory`."""

    def runnable(
        self, model: BaseChatModel, memory: Memory, **options: Any
    ) -> Callable[[str, Any], str]:
        """Answers a question, with a configuration."""
        prompt = ChatPromptTemplate.from_messages(
            [MessagesPlaceholder("history"), ("human", "{question}")]
        )
        chain = with_memory(
            prompt | model, memory, input_key="question", history_key="history", **options
        )
        return lambda question, config: str(chain.invoke({"question": question}, config).text)


class Strict(Middleware):
    """The middleware with a palace, where what the user said is filed, and which must have evidence before the model answers."""

    def __init__(self, tools: Tools) -> None:
        self.memory, self.clock = tools.opened("palace")
        palace = Palace(self.memory, reader=self.reader(tools))
        self._asked = self.runnable(
            tools.chat, self.memory, keep=lambda _: False, palace=palace, enforce="strict"
        )

    def reader(self, tools: Tools) -> BaseChatModel | None:  # noqa: ARG002 - a subclass has one
        """Says of evidence that is not certain whether it answers."""
        return None

    def tell(self, case: Case) -> None:
        """File what the user said, or all of what friends said to each other."""
        palace = Palace(self.memory.of(user=case.name))
        for message in case.messages:
            if case.friends or message.role == "user":
                self.clock.now = message.at or case.now
                palace.file(text_of(message), room="conversations", drawer=str(message.session))
        self.clock.now = case.now
        if not self.memory.flush():
            raise SystemExit(f"some texts of {case.name} could not be embedded: see the log")


class StrictReader(Strict):
    """The same, where the model itself reads first whether the evidence answers."""

    def reader(self, tools: Tools) -> BaseChatModel | None:
        """The model that answers."""
        return tools.chat


class ChatEngine:
    """A chat engine of LlamaIndex with `HTMMemory`."""

    def __init__(self, tools: Tools) -> None:
        self.llm = tools.llm
        self.memory, self.clock = tools.opened("llamaindex")

    def _engine(self, case: Case, thread: str, llm: LLM, **options: Any) -> SimpleChatEngine:
        memory = HTMMemory.from_defaults(thread, self.memory, user=case.name, **options)
        return SimpleChatEngine.from_defaults(llm=llm, memory=memory)

    def tell(self, case: Case) -> None:
        """Tell it."""
        told(case, self.memory, self.clock, lambda *turn: self._talk(case, *turn))

    def _talk(self, case: Case, thread: str, question: str, reply: str) -> None:
        llm = MockFunctionCallingLLM(
            response_generator=lambda *_, **__: ChatMessage(reply, role="assistant")
        )
        self._engine(case, thread, llm).chat(question)

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        engine = self._engine(case, f"asked-{secrets.token_hex(8)}", self.llm, keep=lambda _: False)
        return str(engine.chat(question.text))


class McpClient:
    """A client of `htm mcp`, whose model is shown what the tool `recall` answers. It is told now, so only facts are."""

    def __init__(self, tools: Tools) -> None:
        self.chat = tools.chat
        self.tenant = f"answers-mcp-{secrets.token_hex(4)}"

    def _call(self, tool: str, calls: Sequence[dict[str, Any]]) -> list[str]:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters

        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "htm_core.cli", "mcp", "--tenant", self.tenant],
            env=dict(os.environ),
        )

        async def run() -> list[str]:
            async with Client(server) as client:
                results = [await client.call_tool(tool, call) for call in calls]
                return [
                    "\n".join(getattr(part, "text", "") for part in result.content)
                    for result in results
                ]

        return asyncio.run(run())

    def tell(self, case: Case) -> None:
        """Remember what the user said."""
        self._call(
            "remember", [{"content": each.content} for each in case.messages if each.role == "user"]
        )

    def ask(self, case: Case, question: Asked) -> str:  # noqa: ARG002 - it knows no case
        """The model's answer."""
        [reply] = self._call("recall", [{"query": question.text}])
        call = {
            "name": "recall",
            "args": {"query": question.text},
            "id": "call_1",
            "type": "tool_call",
        }
        messages = [
            HumanMessage(question.text), AIMessage("", tool_calls=[call]), ToolMessage(reply, tool_call_id="call_1"),
        ]  # fmt: skip
        return str(self.chat.invoke(messages).text)


# -- others -----------------------------------------------------------------------------------------------------------


class Vectors(Embeddings, Nothing):
    """A plain vector store: the eight nearest messages before the question, as LangChain's retrieval chains do it."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._stores: dict[str, InMemoryVectorStore] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of texts."""
        return self.tools.embedder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.tools.embedder.embed_query(text)

    def tell(self, case: Case) -> None:
        """Keep each message."""
        self._stores[case.name] = store = InMemoryVectorStore(self)
        store.add_texts([text_of(message) for message in case.messages])

    def found(self, case: Case, question: Asked) -> list[str]:
        """Return the texts nearest to a question."""
        return [
            each.page_content
            for each in self._stores[case.name].similarity_search(question.text, k=NEAREST)
        ]

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        context = "\n\n".join(self.found(case, question))
        system = f"Use the following pieces of context to answer the question.\n\n{context}"
        return str(self.tools.chat.invoke([("system", system), ("user", question.text)]).text)


class LangGraphStore(Vectors):
    """LangGraph's PostgresStore with its index, searched by the question, as LangGraph's page on memory does."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        from langgraph.store.postgres import PostgresStore

        index: Any = {"dims": 384, "embed": self}
        opened: AbstractContextManager[Any] = PostgresStore.from_conn_string(tools.dsn, index=index)
        self._store = tools.stack.enter_context(opened)
        self._store.setup()

    def tell(self, case: Case) -> None:
        """Put each message under the user's namespace."""
        for message in case.messages:
            self._store.put(("memories", case.name), str(uuid.uuid4()), {"data": text_of(message)})

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        items = self._store.search(("memories", case.name), query=question.text)
        info = "\n".join(each.value["data"] for each in items)
        system = f"You are a helpful assistant talking to the user. User info: {info}"
        return str(self.tools.chat.invoke([("system", system), ("user", question.text)]).text)


class LlamaIndexMemory:
    """LlamaIndex's `Memory` with its vector block over a store on PostgreSQL, in one session for each user."""

    def __init__(self, tools: Tools) -> None:
        from llama_index.core.memory import Memory as Session
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.vector_stores.postgres import PGVectorStore
        from sqlalchemy.engine import make_url

        url, embedder = make_url(tools.dsn), tools.embedder

        class Embedding(BaseEmbedding):
            def _get_query_embedding(self, query: str) -> list[float]:
                return embedder.embed_query(query)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return embedder.embed_query(query)

            def _get_text_embedding(self, text: str) -> list[float]:
                return embedder.embed_documents([text])[0]

        store = PGVectorStore.from_params(
            host=url.host, port=str(url.port), database=url.database, user=url.username, password=url.password,
            table_name="answers", embed_dim=384,
        )  # fmt: skip

        def session(name: str) -> Session:
            block = VectorMemoryBlock(vector_store=store, embed_model=Embedding())
            return Session.from_defaults(
                session_id=name,
                token_limit=BUDGET,
                token_flush_size=BUDGET // 10,
                memory_blocks=[block],
            )

        self.tools, self._session, self._sessions = tools, session, dict[str, Session]()
        self._loop = tools.stack.enter_context(asyncio.Runner())  # its store knows one loop

    def tell(self, case: Case) -> None:
        """Put each message."""
        self._sessions[case.name] = memory = self._session(case.name)
        self._loop.run(
            memory.aput_messages(
                [
                    ChatMessage(role=each.role or "user", content=text_of(each))
                    for each in case.messages
                ]
            )
        )

    def ask(self, case: Case, question: Asked) -> str:
        """The model's answer."""
        asked = ChatMessage(role="user", content=question.text)
        shown = self._loop.run(self._sessions[case.name].aget(input=question.text))
        return str(self.tools.llm.chat([*shown, asked]).message.content)


def text_of(message: Message) -> str:
    """Return the words of a message, with its speaker where friends talk: others have no place for one."""
    return f"{message.name}: {message.content}" if message.name else message.content


def config_of(case: Case, thread: str) -> Any:
    """A configuration of LangChain for a user and a thread."""
    return {"configurable": {"user_id": case.name, "thread_id": thread, "session_id": thread}}


# -- what stands in a request -----------------------------------------------------------------------------------------


def choice(options: dict[str, Any] | None = None, **patches: Any) -> Callable[[Tools], Arm]:
    """The middleware with other options, and with other constants in the modules that make its block."""

    places = {name: [module for module in BLOCK if hasattr(module, name)] for name in patches}
    if missing := [name for name, modules in places.items() if not modules]:
        raise ValueError(
            f"expected constants of the modules that make the block, got {', '.join(missing)}"
        )

    class Chosen(Middleware):
        def ask(self, case: Case, question: Asked) -> str:
            """The model's answer."""
            with ExitStack() as stack:
                for name, modules in places.items():
                    for module in modules:
                        stack.enter_context(patch.object(module, name, patches[name]))
                return super().ask(case, question)

    Chosen.options = options or {}
    return Chosen


# The modules that make the block of the middleware.
BLOCK = (memory_block, recalled_block, profile_block, injection)
HONEST = f"{recalled_block.WARNING} If it does not answer the question, say that you do not know."
NEWEST = f"{recalled_block.WARNING} Where they differ, the newest holds."
CHOICES: dict[str, Callable[[Tools], Arm]] = {
    "in a message before the question": choice({"inject": "message"}),
    "in the system prompt": choice({"inject": "system"}),
    "without the profile": choice({"profile_budget": 0}),
    "no lines that are maybe related": choice({"min_score": 0.2}),
    "nothing marked": choice(MAYBE=""),
    "marked lines cut to 100 characters": choice(EXCERPT=100, NEVER_CUT=0),
    "asked to say when it does not know": choice(WARNING=HONEST),
    "without today": choice(today_line=lambda _: "Known."),
    "days in ISO form": choice(short_day=lambda day, **_: day.isoformat()),
    "two marked lines": choice(MOST_MAYBE=2),
    "eight marked lines": choice(MOST_MAYBE=8),
    "told that the newest holds": choice(WARNING=NEWEST),
    "timeframe auto": choice({"timeframe": "auto"}),
}

NOTHING_ARM, EVIDENCE, HTM = "nothing", "the evidence alone", "htm-memory, middleware"
ARMS: dict[str, Callable[[Tools], Arm]] = {
    NOTHING_ARM: Nothing,
    EVIDENCE: Evidence,
    "the evidence and what held before": EvidenceAndFormer,
    HTM: Middleware,
    "htm-memory, with_memory": Chain,
    "htm-memory, LlamaIndex": ChatEngine,
    "htm-memory, MCP": McpClient,
    "htm-memory, palace strict": Strict,
    "htm-memory, palace strict with a reader": StrictReader,
    "LangGraph's PostgresStore": LangGraphStore,
    "LlamaIndex's Memory": LlamaIndexMemory,
    "plain vectors, k = 8": Vectors,
}
ALL = ARMS | CHOICES
