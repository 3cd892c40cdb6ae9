"""Fill a database by mem0's own `Memory`: `python -m tests.importers.mem0_peer DSN`, where mem0ai and psycopg are installed.

mem0 is not installed beside this package; `record` runs this file with the Python that `MEM0_PYTHON` names. Nothing here imports
more than the standard library and mem0.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.importers.model import RECORDED, Corpus


class StandInEmbedder:
    """The model of a corpus, as mem0 asks one."""

    config: Any = None

    def __init__(self, model: Any) -> None:
        self._model = model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        made: list[float] = self._model.embed_query(text)
        return made

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        made: list[list[float]] = self._model.embed_documents(texts)
        return made


def fill(dsn: str, corpus: Corpus = RECORDED) -> dict[str, Any]:
    """Memories of two users, one of them changed, one of an agent, many of a third user; and what mem0 says of them and finds."""
    from mem0 import Memory
    from mem0.configs.base import MemoryConfig
    from mem0.memory import main

    main.EmbedderFactory.create = staticmethod(lambda *_, **__: StandInEmbedder(corpus.model))
    main.LlmFactory.create = staticmethod(
        lambda *_, **__: None
    )  # with infer=False no model is asked to write
    config = {
        "connection_string": dsn,
        "collection_name": "mem0",
        "embedding_model_dims": corpus.dimension,
        "hnsw": False,
    }
    memory = Memory(
        MemoryConfig(
            vector_store={"provider": "pgvector", "config": config}, history_db_path=":memory:"
        )
    )
    said: dict[str, Any] = {}
    for user in ("ann", "ben"):
        for text in (
            "Likes green tea.",
            "Lives in Graz.",
            f"Is called {user}.",
            "Has a dog named Rex.",
        ):
            memory.add(
                text, user_id=user, infer=False, metadata={"topic": "person", "length": len(text)}
            )
    changed = memory.get_all(filters={"user_id": "ann"})["results"][0]
    memory.update(changed["id"], "Likes black coffee.")
    memory.add(
        [{"role": "user", "name": "cleo", "content": "We meet at noon."}],
        user_id="ann",
        run_id="june",
        infer=False,
    )
    memory.add("Answers in short sentences.", agent_id="wren", infer=False)
    memory.add(
        [{"role": "user", "content": text} for text in corpus.texts], user_id="eve", infer=False
    )
    said["found"] = {
        query: [
            each.payload["data"]
            for each in memory.vector_store.search(
                query=query,
                vectors=memory.embedding_model.embed(query),
                top_k=10,
                filters={"user_id": "eve"},
            )
        ]
        for query in corpus.queries
    }
    for owner in ({"user_id": "ann"}, {"user_id": "ben"}, {"agent_id": "wren"}):
        said[next(iter(owner.values()))] = memory.get_all(filters=owner)["results"]
    said["all_of_eve"] = memory.get_all(filters={"user_id": "eve"}, top_k=len(corpus.texts))
    return said


if __name__ == "__main__":
    os.environ["MEM0_TELEMETRY"] = "False"
    sys.stdout.write(json.dumps(fill(sys.argv[1])) + "\n")
