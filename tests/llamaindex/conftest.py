"""What the tests of LlamaIndex's adapter do differently."""

from tests.langchain.conftest import embedder, ollama, running_ollama

__all__ = ["embedder", "ollama", "running_ollama"]
