"""A memory's model as LangChain's, for chains and stores without a key or a server."""

from __future__ import annotations

from typing import Any, Self, cast

from langchain_core.embeddings import Embeddings

from htm_core import InvalidInput, Memory


class HTMEmbeddings(Embeddings):
    """Embed with the model that a memory uses, such as the embedded all-MiniLM-L6-v2 with its 384 dimensions.

    The other way round nothing is needed: `Memory(embedder=…)` takes any LangChain `Embeddings` as it is. Nothing is
    loaded before the first use. Raises `ModelError` when the model fails or answers something impossible.
    """

    def __init__(self, memory: Memory) -> None:
        if not isinstance(memory, Memory):
            raise InvalidInput(f"expected an htm_core.Memory, got {type(memory).__name__}; make one first: Memory()")
        self._memory = memory
        # Checked at every answer, and of the memory's own name, so that its vectors are known to be the same model's.
        self.embedder = cast(Any, memory.collection("default").embedder)
        self.model: str = self.embedder.name

    def __repr__(self) -> str:
        return f"HTMEmbeddings({self.model!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a model's weights are many, and its runtime cannot be copied

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text that is to be found, in order."""
        found: list[list[float]] = self.embedder.documents(texts)
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of the words that something is looked for with."""
        found: list[float] = self.embedder.query(text)
        return found

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, on the memory's own threads."""
        return await self._memory.aio.run(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, on the memory's own threads."""
        return await self._memory.aio.run(self.embed_query, text)
