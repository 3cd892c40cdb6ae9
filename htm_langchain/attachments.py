"""Files in LangChain's messages, as LangChain, OpenAI, Anthropic, Google and Bedrock write them."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import BaseMessage

from htm_core.prompt.attachments import FileBlock, files_in


def files_of(message: BaseMessage) -> Iterator[FileBlock]:
    """The files whose text or bytes a message has. What lies elsewhere, under an address or an id,
    is not fetched.
    """
    yield from files_in(message.content)
