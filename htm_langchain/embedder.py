"""A memory's embedding model as LangChain's `Embeddings`, for chains and stores without a key or a
server.
"""

from __future__ import annotations

from typing import Any, Self, cast

from langchain_core.embeddings import Embeddings

from htm_core import Memory
from htm_core.prompt.scope import check_memory


class HTMEmbeddings(Embeddings):
    """Embed with the model that a memory uses, such as the embedded all-MiniLM-L6-v2 with its 384
    dimensions.

    The other direction needs no class: `Memory(embedder=…)` takes any LangChain `Embeddings` as it
    is. Nothing is loaded before the first use.

    Args:
        memory: The memory whose model it is.

    Raises `InvalidInput` for what is no memory. The methods raise `ModelError` when the model fails
    or answers with something impossible.

        embeddings = HTMEmbeddings(Memory("atlas"))
        vector = embeddings.embed_query("Which port does the API use?")    # 384 floats
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = check_memory(memory)
        # The memory's own wrapper: it checks every answer, and carries the name under which vectors
        # are known to be equal.
        self.embedder = cast(Any, memory.collection("default").embedder)
        self.model: str = self.embedder.name

    def __repr__(self) -> str:
        return f"HTMEmbeddings({self.model!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a model's weights are large, and its runtime cannot be copied

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text that is to be found, in order.

        Args:
            texts: The texts; none gives no vectors.
        """
        return cast(list[list[float]], self.embedder.documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query.

        Args:
            text: The query.
        """
        return cast(list[float], self.embedder.query(text))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, on the memory's own threads."""
        return await self._memory.aio.run(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, on the memory's own threads."""
        return await self._memory.aio.run(self.embed_query, text)
