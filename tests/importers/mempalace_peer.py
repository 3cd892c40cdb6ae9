"""Fill a database by MemPalace's own pgvector backend: `python -m tests.importers.mempalace_peer DSN`, where it is installed.

MemPalace is not installed beside this package; `record` runs this file with the Python that `MEMPALACE_PYTHON` names. Nothing here
imports more than the standard library and MemPalace.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

from tests.importers.model import DIMENSION, QUERIES, TEXTS, TOPICS, DenseEmbedder


def fill(dsn: str) -> dict[str, Any]:
    """Drawers in two wings as MemPalace mines them, its closets beside them, and what it finds."""
    from mempalace.backends.base import PalaceRef
    from mempalace.backends.pgvector import PgVectorBackend

    assert DIMENSION
    model, backend = DenseEmbedder(), PgVectorBackend()
    with tempfile.TemporaryDirectory() as folder:
        palace = PalaceRef(id="town", local_path=folder)
        options = {"dsn": dsn}
        drawers, closets = (
            backend.get_collection(palace=palace, collection_name=name, create=True, options=options)
            for name in ("mempalace_drawers", "mempalace_closets")
        )
        metadatas = [
            {
                "wing": "town" if at % 2 else "My: wing",
                "room": TOPICS[at // 10],
                "source_file": f"/notes/{TOPICS[at // 10]}.md",
                "chunk_index": at % 10,
                "added_by": "mempalace",
                "filed_at": f"2026-03-{at % 28 + 1:02}T10:00:00",
            }
            for at in range(len(TEXTS))
        ]
        ids = [f"drawer_town_{at:02}" for at in range(len(TEXTS))]
        drawers.upsert(documents=TEXTS, ids=ids, metadatas=metadatas, embeddings=model.embed_documents(TEXTS))
        closets.upsert(
            documents=["harbour|north"],
            ids=["closet"],
            metadatas=[{"wing": "town", "room": "harbour"}],
            embeddings=model.embed_documents(["harbour|north"]),
        )
        found = {
            query: drawers.query(query_embeddings=[model.embed_query(query)], n_results=10).documents[0]
            for query in QUERIES
        }
        backend.close()
    return {"drawers": dict(zip(ids, zip(TEXTS, metadatas, strict=True), strict=True)), "found": found}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fill(sys.argv[1])) + "\n")
