"""A memory's embedding model as LlamaIndex's, for indexes without a key or a server."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from htm_core import Memory
from htm_core.prompt.scope import check_memory


class HTMEmbedding(BaseEmbedding):
    """Embed with the model that a memory uses, such as the embedded all-MiniLM-L6-v2 with its 384
    dimensions.

    So an index needs no key and no server.

    Args:
        memory: The memory.
        embed_batch_size: How many texts are embedded at a time, 64 by default.

    Nothing is loaded before the first use. Raises `InvalidInput` for what is no memory; its methods
    raise `ModelError`.

        Settings.embed_model = HTMEmbedding(Memory("atlas"))
    """

    _model: Any = PrivateAttr()

    def __init__(self, memory: Memory, *, embed_batch_size: int = 64) -> None:
        model = check_memory(memory).collection("default").embedder
        super().__init__(
            model_name=model.name if model else "none", embed_batch_size=embed_batch_size
        )
        self._model = model

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "HTMEmbedding"

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        # LlamaIndex would leave the model out, and the copy could embed nothing.
        raise TypeError(
            "cannot pickle an HTMEmbedding: it holds a model that is loaded in this process; make "
            "it anew in the other one, "
            "HTMEmbedding(Memory(…)), or embed in this process (num_workers=None)"
        )

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._model.query(query)
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.documents(texts)
        return vectors

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
