"""A process whose worker does the jobs of one kind with slow stand-ins for models, until it is killed or nothing is due."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence

from htm_core import Settings
from htm_core.memory.open import model_handlers
from htm_core.memory.process import runtime
from htm_core.models.embedders import resolve
from htm_core.models.propositioners import resolve_propositioner
from htm_core.models.taggers import resolve_tagger
from htm_core.writing import relations
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder

PACE = 0.03  # seconds that a model takes, in the process that is to be killed
pace = 0.0


class Embedder(HashEmbedder):
    """A stand-in for a model, as slow as `pace` says."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(pace)
        return super().embed_documents(texts)


class Tagger:
    """A stand-in for a model that files a text under its first word and number."""

    model = "killable"

    def tag(self, text: str, known: Sequence[str]) -> list[str]:
        time.sleep(pace)
        return [first_tag(text)]


class Proposer:
    """A stand-in for a model: the sentences of a text are its facts."""

    model = "killable"

    def propose(self, text: str) -> list[str]:
        time.sleep(pace)
        parts = [f"{part.strip()}." for part in text.split(".") if part.strip()]
        return parts if len(parts) > 1 else []


def first_tag(text: str) -> str:
    """What `Tagger` files a text under."""
    found = re.search(r"([A-Za-z]+) (\d+)", text)
    assert found is not None
    return f"{found[1].lower()}:n{found[2]}"


EMBEDDER = Embedder(name="killable")
TAGGER = Tagger()
PROPOSER = Proposer()


def main(url: str | None, kind: str) -> None:
    """Do the jobs of a kind, and say so when at one."""
    global pace
    pace = PACE
    settings = Settings(
        **SETTINGS.model_dump(by_alias=True)
        | {"worker": "off", "worker_lease": 0.4, "worker_batch": 2}
    )
    home = runtime(url, settings)
    worker = home.worker
    worker.add_embedder(resolve(EMBEDDER))
    tagger, propositioner = resolve_tagger(TAGGER), resolve_propositioner(PROPOSER)
    for handler, client in model_handlers(
        home.database, tagger=tagger, propositioner=propositioner, count=len
    ):
        worker.clients.add(handler, client)
    for lane in worker.lanes:
        if lane[0] != kind:
            worker.remove_handler(*lane)
    slow_down_relating()
    worker._chores._counts_checked = time.monotonic()  # it is not to count words
    say("at it")
    while not worker.drain():
        time.sleep(0.05)  # what another left is free when its lease is over
    say("nothing is due")


def say(words: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def slow_down_relating() -> None:
    """Relating asks no model: a pause in its transaction stands for a database that is busy."""
    relate = relations.renew_tag_edges

    def slowly(*arguments: object) -> None:
        relate(*arguments)  # type: ignore[arg-type]
        time.sleep(PACE)

    relations.renew_tag_edges = slowly  # type: ignore[assignment]


if __name__ == "__main__":
    main(sys.argv[1] or None, sys.argv[2])
