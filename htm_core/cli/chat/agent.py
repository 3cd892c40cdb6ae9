"""An agent with a memory, and what memory did for each of its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from htm_langchain import HTMMemoryMiddleware
from htm_langchain.messages import is_inserted
from htm_langchain.tokens import Counters

from ...base.types import Eviction
from ...memory.memory import Memory
from ...prompt.hit_metadata import KEY
from ...prompt.memory_block import split_blocks
from ...prompt.recalled_block import items_of
from ...text.fence import indented
from .stand_in import ExtractiveChatModel

SYSTEM = (
    "You are a helpful assistant in a terminal. You have a permanent memory: what the user tells "
    "you is kept, and what is relevant "
    "of earlier conversations is quoted to you. Answer briefly, in plain text."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """A memory that was found for a question. `shown` says whether the model was shown it."""

    id: str
    content: str
    at: datetime | None
    who: str | None
    session: str | None
    relevance: float
    score: float
    vector_rank: int | None
    text_rank: int | None
    shown: bool


@dataclass(slots=True, kw_only=True)
class ChatTurn:
    """One question with its answer: what was recalled for it, what left working memory, and the
    request's size in tokens.

    `messages` is how many messages of the conversation the model was shown; `ended` is "complete",
    "stopped" or "failed".
    """

    question: str
    answer: str = ""
    recalled: tuple[RecalledMemory, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    messages: int = 0
    tokens: int = 0
    recalled_tokens: int = 0
    ended: str = "failed"


@dataclass(slots=True)
class _Seen(BaseCallbackHandler):
    """Keeps what the recall of a turn has found."""

    documents: list[Document] = field(default_factory=list)
    run_inline = True  # in the task of the run, so that nothing comes after its end

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002
        """Take the documents of a recall."""
        self.documents.extend(each for each in documents if KEY in each.metadata)


class _LastRequest(AgentMiddleware[Any, Any, Any]):
    """Keeps the last request as the model gets it. It stands behind the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[BaseMessage] = []

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Note the request, and call the model."""
        system = [request.system_message] if request.system_message else []
        self.messages = [*system, *request.messages]
        return await handler(request)


class ChatAgent:
    """An agent over a memory, with a `budget` of tokens for each request to the `model` of this
    `name`.

    `evictions` is the list that the memory's `on_evict` fills.
    """

    def __init__(
        self,
        model: BaseChatModel,
        memory: Memory,
        evictions: list[Eviction],
        *,
        name: str,
        budget: int,
        system: str = SYSTEM,
    ) -> None:
        self.model, self.name, self.memory, self.budget = model, name, memory, budget
        self._evictions, self._system = evictions, system
        self._request = _LastRequest()
        self._counts = Counters().of(model)
        self.last: ChatTurn | None = None
        self._agent = self._made()

    def _made(self) -> Any:
        # What the stand-in says is quoted from memory: recalled again it would crowd out what it
        # quotes.
        keep = ("user",) if isinstance(self.model, ExtractiveChatModel) else ("user", "assistant")
        middleware = HTMMemoryMiddleware(self.memory, budget=self.budget, keep=keep)
        # a model of Ollama, which cuts a request at a window of its own
        if "num_ctx" in type(self.model).model_fields:
            self.model = self.model.model_copy(
                update={"num_ctx": self.budget + self.budget // 4}
            )  # room for the answer
        return create_agent(
            self.model, tools=[], system_prompt=self._system, middleware=[middleware, self._request]
        )

    def with_budget(self, budget: int) -> None:
        """Give each request from now on so many tokens."""
        self.budget = budget
        self._agent = self._made()

    async def answer(self, text: str, *, session: str) -> AsyncIterator[str]:
        """Answer, piece by piece; afterwards `last` says what memory did. What was said is kept
        before the model is asked.

        Raises whatever the model raises. When it is cancelled, what came of the answer is kept,
        marked as interrupted.
        """
        self.last = turn = ChatTurn(question=text)
        seen, self._request.messages = _Seen(), []
        self._evictions.clear()
        config: Any = {"configurable": {"thread_id": session}, "callbacks": [seen]}
        inputs = {"messages": [HumanMessage(text, id=str(uuid4()))]}
        try:
            async for message, _ in self._agent.astream(inputs, config, stream_mode="messages"):
                if isinstance(message, AIMessage) and (piece := str(message.text)):
                    turn.answer += piece
                    yield piece
            turn.ended = "complete"
        finally:
            self._note(turn, seen.documents)

    def _note(self, turn: ChatTurn, documents: Sequence[Document]) -> None:
        request = self._request.messages
        blocks = [block for each in request if (block := split_blocks(str(each.text))[0])]
        items = [text for each in blocks for _, text in items_of(each)]
        turn.recalled = tuple(
            _recalled(each, items) for each in {each.id: each for each in documents}.values()
        )
        turn.evicted = tuple(self._evictions)
        turn.messages = sum(not is_inserted(each) and each.type != "system" for each in request)
        turn.tokens, turn.recalled_tokens = (
            self._counts(request),
            sum(self._counts([HumanMessage(each)]) for each in blocks),
        )


def _recalled(document: Document, items: Sequence[str]) -> RecalledMemory:
    hit = document.metadata[KEY]
    whole = _plain(indented(document.page_content))
    return RecalledMemory(
        id=str(document.id),
        content=document.page_content,
        at=datetime.fromisoformat(hit["at"]) if hit["at"] else None,
        who=hit["name"] or hit["role"],
        session=hit["session"],
        relevance=hit["relevance"],
        score=hit["score"],
        vector_rank=hit["vector_rank"],
        text_rank=hit["text_rank"],
        shown=any((part := _plain(each)) and part in whole for each in items),
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).strip("\u2026 ")
