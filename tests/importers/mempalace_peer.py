"""Fill a database by MemPalace's own pgvector backend: `python -m tests.importers.mempalace_peer DSN`, where it is installed.

MemPalace is not installed beside this package; `record` runs this file with the Python that `MEMPALACE_PYTHON` names. Nothing here
imports more than the standard library and MemPalace.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.importers.model import RECORDED, Corpus, topic


def fill(dsn: str, corpus: Corpus = RECORDED) -> dict[str, Any]:
    """Drawers in two wings as MemPalace mines them, its closets beside them, and what it finds."""
    from mempalace.backends.base import PalaceRef
    from mempalace.backends.pgvector import PgVectorBackend

    model, backend = corpus.model, PgVectorBackend()
    with tempfile.TemporaryDirectory() as folder:
        palace = PalaceRef(id="town", local_path=folder)
        options = {"dsn": dsn}
        drawers, closets = (
            backend.get_collection(
                palace=palace, collection_name=name, create=True, options=options
            )
            for name in ("mempalace_drawers", "mempalace_closets")
        )
        metadatas = [
            {
                "wing": "town" if at % 2 else "My: wing",
                "room": topic(at),
                "source_file": f"/notes/{topic(at)}.md",
                "chunk_index": at % 10,
                "added_by": "mempalace",
                "filed_at": f"2026-03-{at % 28 + 1:02}T10:00:00",
            }
            for at in range(len(corpus.texts))
        ]
        ids = [f"drawer_town_{at:02}" for at in range(len(corpus.texts))]
        texts = list(corpus.texts)
        drawers.upsert(
            documents=texts, ids=ids, metadatas=metadatas, embeddings=model.embed_documents(texts)
        )
        closets.upsert(
            documents=["harbour|north"],
            ids=["closet"],
            metadatas=[{"wing": "town", "room": "harbour"}],
            embeddings=model.embed_documents(["harbour|north"]),
        )
        found = {
            query: drawers.query(
                query_embeddings=[model.embed_query(query)], n_results=10
            ).documents[0]
            for query in corpus.queries
        }
        backend.close()
    return {
        "drawers": dict(zip(ids, zip(corpus.texts, metadatas, strict=True), strict=True)),
        "found": found,
    }


def fill_folder(folder: Path, corpus: Corpus) -> dict[str, Any]:
    """A palace in files, as MemPalace keeps one by default, with drawers that its own function adds; and what it finds there."""
    import chromadb
    import numpy
    from mempalace.backends.base import PalaceRef
    from mempalace.backends.chroma import ChromaBackend
    from mempalace.miner import add_drawer

    class StandInFunction(chromadb.EmbeddingFunction[list[str]]):
        """In the place of Chroma's own model, the weights of which are downloaded from a server of its makers."""

        def __init__(self) -> None:
            pass

        def __call__(self, input: list[str]) -> Any:
            return [
                numpy.asarray(vector, dtype=numpy.float32)
                for vector in corpus.model.embed_documents(list(input))
            ]

    ChromaBackend._resolve_embedding_function = staticmethod(lambda **_: StandInFunction())
    backend = ChromaBackend()
    drawers = backend.get_collection(
        palace=PalaceRef(id="town", local_path=str(folder)),
        collection_name="mempalace_drawers",
        create=True,
    )
    for at, text in enumerate(corpus.texts):
        add_drawer(drawers, "town", topic(at), text, f"/notes/{topic(at)}.md", at, "tests")
    (folder / "identity.txt").write_text("I am the town's memory.\n")
    kept = drawers.get(include=["documents", "metadatas"])
    found = {
        query: drawers.query(query_texts=[query], n_results=10).documents[0]
        for query in corpus.queries
    }
    backend.close()
    return {
        "drawers": {
            id: [text, about]
            for id, text, about in zip(kept.ids, kept.documents, kept.metadatas, strict=True)
        },
        "found": found,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fill(sys.argv[1])) + "\n")
