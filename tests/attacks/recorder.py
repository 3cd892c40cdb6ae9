"""Clients of models that write down each text that they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from htm_core import Memory
from tests.stand_ins import HashEmbedder


class Recorder(HashEmbedder):
    """An embedder with a name that others have, too."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.seen: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Write the texts down, then embed or fail."""
        self.seen += texts
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Write the question down, then embed or fail."""
        self.seen.append(text)
        return super().embed_query(text)


class RecordingTagger:
    """A tagger with a name that others have, too."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.model = name
        self.seen = seen
        self.is_down = False

    def tag(self, text: str, known: Sequence[str]) -> list[str]:
        """Write the text down, and find a tag."""
        self.seen.append(text)
        if self.is_down:
            raise ConnectionError("down")
        return ["found"]


class RecordingPropositioner:
    """A propositioner with a name that others have, too."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.model = name
        self.seen = seen

    def propose(self, text: str) -> list[str]:
        """Write the text down, and find a fact in it."""
        self.seen.append(text)
        return [f"It is a fact that {text}"]


def recording_tagger(name: str, seen: list[str]) -> RecordingTagger:
    """A tagger that writes into a list."""
    return RecordingTagger(name, seen)


class Party:
    """A tenant with clients of its own and a memory of them; `seen` is all that these clients were sent."""

    def __init__(self, make: Any, tenant: str, name: str, **options: Any) -> None:
        self.tenant = tenant
        self.embedder, self.tagged = Recorder(name), list[str]()
        self.tagger = RecordingTagger(name, self.tagged)
        self.propositioner = RecordingPropositioner(name, self.tagged)
        self.memory: Memory = make(
            tenant=tenant,
            embedder=self.embedder,
            tagger=self.tagger,
            propositioner=self.propositioner,
            **options,
        )

    @property
    def seen(self) -> list[str]:
        """Every text that the clients of this tenant received."""
        return [*self.embedder.seen, *self.tagged]
