"""What the tests of LangChain's adapter do differently."""

from __future__ import annotations

import inspect
import uuid

import pytest

from tests.cassettes.ollama import ollama, running_ollama
from tests.stand_ins import HashEmbedder

__all__ = ["embedder", "ollama", "running_ollama"]


@pytest.fixture
def embedder(request: pytest.FixtureRequest) -> HashEmbedder:
    """The stand-in for a model, of a name of its own where a test looks at it.

    A model's jobs are done by whoever knows a model of that name, and its failures are everybody's: what other tests left
    to be done would be counted here, and what fails here would keep theirs waiting.
    """
    looked_at = "embedder" in inspect.signature(request.function).parameters
    return HashEmbedder(name=f"hash-{uuid.uuid4().hex[:8]}") if looked_at else HashEmbedder()
