"""Fill a database and a folder by the packages themselves: `python -m tests.importers.fill DSN FOLDER`, where they are installed.

That is the environment that `.ci/peers` makes. Of this package it needs the embedded model alone, which stands in for the models
that users of the others have; no chat model is asked anything. Prints as JSON what each package says is there, and what its own
search by vector finds.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM
from tests.importers.model import Corpus

DIMENSION = 384
PEOPLE = (
    "harbour master", "baker", "librarian", "station guard", "lighthouse keeper", "watchmaker", "ferry captain",
    "schoolteacher", "beekeeper", "postwoman", "organist", "vet", "glass blower",
)  # fmt: skip
DOINGS = (
    "repairs clocks in the evening", "grows tomatoes behind the mill", "sings in the choir on Fridays",
    "has two grown daughters in Oslo", "is afraid of thunder", "collects maps of old railways",
    "swims in the sea before dawn", "lends money to nobody", "paints boats in the winter", "speaks four languages",
)  # fmt: skip
QUERIES = [
    "Who looks after the bees?", "Whose children live in Norway?", "Who gets up early to go swimming?",
    "A collector of railway maps", "Which of them makes music?", "Who knows about animals?", "Does anybody mend watches?",
    "Who is scared of storms?", "Where do the vegetables grow?", "Who can speak foreign languages?",
]  # fmt: skip
TEXTS = [f"The {who} {does}." for who in PEOPLE for does in DOINGS]
MEM0_TEXTS = [
    f"My neighbour, the {who}, {does}." for who in PEOPLE for does in DOINGS
]  # of one user, beside what all share
TURNS = 120


class Remembered:
    """A model that embeds no text twice, since all packages are given the same ones."""

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._made: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        if new:
            self._made.update(zip(new, map(_floats, self._model.embed_documents(new)), strict=True))
        return [self._made[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _floats(vector: Any) -> list[float]:
    return [float(number) for number in vector]


def fill(dsn: str, folder: Path) -> dict[str, Any]:
    """Have each package fill its tables in one database, and its files in one folder."""
    from tests.importers import mem0_peer, mempalace_peer, peers

    found = weights.find()
    assert found is not None, "expected the weights of the embedded model where HTM_MODEL_DIR says"
    corpus = Corpus(TEXTS, QUERIES, DIMENSION, Remembered(MiniLM(found)), TURNS)
    palace = folder / "palace"
    palace.mkdir()
    said = {
        "langchain_postgres": peers.langchain_postgres(dsn, corpus),
        "llama_index": peers.llama_index(dsn, corpus),
        "langgraph": peers.langgraph(dsn, corpus),
        "mem0": mem0_peer.fill(dsn, replace(corpus, texts=MEM0_TEXTS)),
        "mempalace": mempalace_peer.fill(dsn, corpus),
        "chat_store": peers.simple_chat_store(folder / "chat_store.json", TURNS),
        "mempalace_folder": mempalace_peer.fill_folder(palace, corpus),
    }
    (folder / "mem0.json").write_text(json.dumps(said["mem0"].pop("all_of_eve")))
    return said


if __name__ == "__main__":
    os.environ |= {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}
    os.environ["MEM0_DIR"] = os.environ["HOME"] = sys.argv[
        2
    ]  # where some of them keep what they know of their user
    sys.stdout.write(json.dumps(fill(sys.argv[1], Path(sys.argv[2])), default=str) + "\n")
