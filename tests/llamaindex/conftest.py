"""What the tests of LlamaIndex's adapter do differently."""

from tests.langchain.conftest import embedder

__all__ = ["embedder"]
