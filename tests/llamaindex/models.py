"""Stand-ins for LlamaIndex's models: scripted, offline, and with a record of their requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from htm_core.prompt.memory_block import split_blocks


class Scripted:
    """Answer with the next line of a script, and keep a copy of each question; the last line is said again and again."""

    def __init__(self, *script: ChatMessage | str) -> None:
        self.script = [said(line) if isinstance(line, str) else line for line in script] or [
            said("Noted.")
        ]
        self.requests: list[list[ChatMessage]] = []
        self.llm = MockFunctionCallingLLM(response_generator=self._answer, is_chat_model=True)

    def _answer(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.requests.append([message.model_copy(deep=True) for message in messages])
        line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return line.model_copy(deep=True)

    @property
    def last(self) -> str:
        """All the text of the last question."""
        return "\n".join(message.content or "" for message in self.requests[-1])


def memory_in(messages: list[ChatMessage]) -> str:
    """Memory's block in a request, wherever it stands before the words of a message; empty without one."""
    return next(
        filter(None, (split_blocks(message.content or "")[0] for message in reversed(messages))), ""
    )


def said(text: str, role: str = "assistant") -> ChatMessage:
    """A message of one text."""
    return ChatMessage(role=role, content=text)


def calls(name: str, *, id: str | None = "call-1", **arguments: Any) -> ChatMessage:
    """An assistant's message that calls a tool, in the newer encoding."""
    block = ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[TextBlock(text=""), block])


def calls_legacy(name: str, *, id: str = "call-1", **arguments: Any) -> ChatMessage:
    """The same in the older encoding."""
    call = {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]})


def result(text: str, *, id: str | None = "call-1") -> ChatMessage:
    """A tool's result."""
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": id})
