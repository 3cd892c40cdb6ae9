"""LangChain's own fake chat model, which keeps here the requests that it gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from htm_core.prompt.memory_block import split_blocks


class Scripted(GenericFakeChatModel):
    """Gives the answers that it was made with, raises the exceptions among it, and keeps each request in `seen`."""

    messages: Any
    profile: Any = None
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.seen.append(list(messages))
        answers = iter([next(self.messages)])
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return GenericFakeChatModel(messages=iter([answer]))._generate(messages, *args, **kwargs)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def scripted(
    *answers: str | AIMessage | Exception, then: str = "Noted.", **options: Any
) -> Scripted:
    """A model that gives these answers, and afterwards always the same."""

    def script() -> Iterable[Any]:
        yield from answers
        yield from repeat(then)

    return Scripted(messages=iter(script()), **options)


def memory_in(messages: Sequence[BaseMessage]) -> str:
    """Memory's block in a request, wherever it stands before the words of a message; empty without one."""
    blocks = [split_blocks(str(message.text))[0] for message in messages]
    return next(filter(None, reversed(blocks)), "")


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages]
