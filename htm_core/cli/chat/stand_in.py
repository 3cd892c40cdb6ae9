"""A chat model for when there is none: it answers with what the request quotes from memory, word
for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from ...prompt.memory_block import split_blocks
from ...prompt.recalled_block import MAYBE, items_of
from ...text.excerpts import excerpt, shared_words
from ...text.questions import only_asks

NAME = "stand-in"
QUOTED = 3  # sayings in an answer
LONGEST = 300  # characters of each
# share of a question's words that a saying has, to answer it and to answer it perhaps
LIKELY, POSSIBLE = 0.5, 0.25
NOTED = (
    "I have kept that. I am only a stand-in for a model: I answer questions with what memory finds."
)
NOTHING = "I find nothing in memory that answers this. (A stand-in for a model: I can only quote.)"
FOUND, UNSURE = (
    "From memory, as a stand-in for a model:",
    "Perhaps this, from memory, as a stand-in for a model:",
)
_ASKS = re.compile(
    r"\?|^\s*(?:who|what|when|where|which|why|how|whose|tell me|remind me|do|does|did|is|are|was|were|can|could|have|has)\b",
    re.I,
)
_PIECE = re.compile(r"\S+\s*|\s+")


class ExtractiveChatModel(BaseChatModel):
    """Answers a question with the sayings that its request recalls, or that the conversation in it
    has; invents nothing.
    """

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain passes it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - likewise
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer_from(messages)))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain passes it
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in _PIECE.findall(answer_from(messages)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager is not None:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk

    @property
    def _llm_type(self) -> str:
        return "htm-stand-in"


def answer_from(messages: Sequence[BaseMessage]) -> str:
    """The answer to the last thing that a person said, made of the other messages alone."""
    human_messages = [each for each in messages if isinstance(each, HumanMessage)]
    block, question = split_blocks(str(human_messages[-1].text)) if human_messages else ("", "")
    if not _ASKS.search(question):
        return NOTED
    items = items_of(block)
    sure = [each for each in items if not each[0].endswith(MAYBE)]
    quoted = [*_in_conversation(human_messages, question, share=LIKELY), *sure][:QUOTED]
    if quoted:
        return _quoting(FOUND, quoted, question)
    perhaps = [*_in_conversation(human_messages, question, share=POSSIBLE), *items][:QUOTED]
    return _quoting(UNSURE, perhaps, question) if perhaps else NOTHING


def _in_conversation(
    messages: Sequence[BaseMessage], question: str, *, share: float
) -> list[tuple[str, str]]:
    """Return what people said in the shown part of the conversation with this share of the
    question's words; newest first.

    Recall leaves it out, since a model sees it anyway.
    """
    before = [str(each.text) for each in messages if "lc_source" not in each.additional_kwargs][:-1]
    return [
        ("in this conversation", text)
        for text in dict.fromkeys(reversed(before))
        if not only_asks(text) and shared_words(text, question) >= share
    ]


def _quoting(opening: str, quoted: Sequence[tuple[str, str]], question: str) -> str:
    lines = (
        f"- {excerpt(' '.join(text.split()), question, longest=LONGEST)} ({about})"
        for about, text in quoted
    )
    return "\n".join([opening, *lines])
