"""LangChain's own standard tests, as they are, against a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_tests")

from langchain_core.stores import BaseStore
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests, ToolsUnitTests

from htm_core import Memory
from htm_langchain import (
    HTMByteStore,
    HTMEmbeddings,
    HTMRetriever,
    HTMVectorStore,
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
)

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings(
        "ignore:The test .* is marked with '@pytest.mark.asyncio' but it is not an async"
    ),
]


class TestHTMVectorStore(VectorStoreIntegrationTests):
    """With LangChain's fake embeddings of six dimensions, hybrid as it is by default."""

    strategy = "hybrid"

    @pytest.fixture
    def vectorstore(self, memory: Memory) -> Iterator[VectorStore]:
        store = HTMVectorStore(
            self.get_embeddings(), collection="standard", memory=memory, strategy=self.strategy
        )
        yield store
        store.delete()


class TestHTMVectorStoreByVectorAlone(TestHTMVectorStore):
    strategy = "vector"


class TestHTMVectorStoreOfTheMemorysModel(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, memory: Memory) -> VectorStore:
        return HTMVectorStore(memory=memory)


class Seeded:
    """A memory of five days by the sea."""

    @pytest.fixture(autouse=True)
    def _seed(self, memory: Memory) -> None:
        self.nodes = memory.remember_many(
            [{"content": f"A memory of day {day} by the sea."} for day in range(5)]
        )
        self.memory = memory


class TestHTMRetriever(Seeded, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[HTMRetriever]:
        return HTMRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "a memory of the sea"


class RecallTool(Seeded):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_recall_tool(self.memory)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "the sea", "limit": 2, "timeframe": "today"}


class RememberTool(Seeded):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_remember_tool(self.memory)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": "The sea is blue.", "importance": 3, "tags": ["nature:sea"]}


class ForgetTool(Seeded):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_forget_tool(self.memory)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"memory_id": self.nodes[0].id}


class TestRecallToolUnit(RecallTool, ToolsUnitTests):
    pass


class TestRecallToolIntegration(RecallTool, ToolsIntegrationTests):
    pass


class TestRememberToolUnit(RememberTool, ToolsUnitTests):
    pass


class TestRememberToolIntegration(RememberTool, ToolsIntegrationTests):
    pass


class TestForgetToolUnit(ForgetTool, ToolsUnitTests):
    pass


class TestForgetToolIntegration(ForgetTool, ToolsIntegrationTests):
    pass


class Embeddings:
    @pytest.fixture(autouse=True)
    def _memory(self, memory: Memory) -> None:
        self.memory = memory

    @property
    def embeddings_class(self) -> type[HTMEmbeddings]:
        return HTMEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"memory": self.memory}


class TestHTMEmbeddingsUnit(Embeddings, EmbeddingsUnitTests):
    pass


class TestHTMEmbeddingsIntegration(Embeddings, EmbeddingsIntegrationTests):
    pass


class ByteStore:
    """The fixtures of the suites for key-value stores."""

    @pytest.fixture
    def kv_store(self, memory: Memory) -> BaseStore[str, bytes]:
        return HTMByteStore(memory=memory)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"foo", b"\x00\xff", b""


class TestHTMByteStore(ByteStore, BaseStoreSyncTests[bytes]):
    pass


class TestHTMByteStoreAwaited(ByteStore, BaseStoreAsyncTests[bytes]):
    pass


STANDARD = [
    each
    for each in list(globals().values())
    if isinstance(each, type) and each.__name__.startswith("Test")
]


@pytest.mark.parametrize("suite", STANDARD, ids=lambda suite: suite.__name__)
def test_none_of_the_standard_tests_is_changed_or_switched_off(suite: type) -> None:
    """A suite runs what LangChain wrote, in both colours: whatever would skip a test is as LangChain has it."""
    theirs = next(each for each in suite.__mro__ if each.__module__.startswith("langchain_tests"))
    names = {name for name in dir(theirs) if name.startswith(("test_", "has_"))}
    assert any(name.startswith("test_") for name in names)
    for name in names:
        assert getattr(suite, name) is getattr(theirs, name), name
