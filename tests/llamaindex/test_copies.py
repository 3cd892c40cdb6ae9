"""Copies of what holds a memory: workflows copy their state, and all copies mean the same memory."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import QueryBundle

from htm_core import InvalidInput, Memory
from htm_core.palace import Palace
from htm_llamaindex import (
    HTMChatStore,
    HTMEmbedding,
    HTMMemory,
    HTMMemoryBlock,
    HTMPalaceToolSpec,
    HTMRetriever,
    HTMToolSpec,
    HTMVectorStore,
)
from tests.llamaindex.models import said

FACT = "My daughter Ada plays the cello on Thursdays."

# What holds a memory as it is; the others are configuration, and come back from it.
HOLDERS: dict[str, Callable[[Memory], Any]] = {
    "retriever": HTMRetriever,
    "tool spec": HTMToolSpec,
    "recall tool": lambda memory: HTMToolSpec(memory).to_tool_list()[0],
    "remember tool": lambda memory: HTMToolSpec(memory).to_tool_list()[1],
    "palace's tool spec": lambda memory: HTMPalaceToolSpec(Palace(memory)),
    "palace's tool": lambda memory: HTMPalaceToolSpec(Palace(memory)).to_tool_list()[0],
    "embedding": HTMEmbedding,
}
CONFIGURED: dict[str, Callable[[Memory], Any]] = {
    "memory": lambda memory: HTMMemory.from_defaults("s", memory=memory),
    "chat store": HTMChatStore,
    "block": HTMMemoryBlock,
    "vector store": lambda memory: HTMVectorStore(memory=memory),
}


# The same, made without memory= and url=.
BY_ENVIRONMENT: dict[str, Callable[[], Any]] = {
    "memory": lambda: HTMMemory.from_defaults("s", user="ann"),
    "chat store": HTMChatStore,
    "block": HTMMemoryBlock,
    "vector store": HTMVectorStore,
}


def opened(held: Any) -> Any:
    """What a holder works with; nothing is read or written."""
    return held.client if isinstance(held, HTMVectorStore) else held.memory


@pytest.mark.parametrize("hold", (HOLDERS | CONFIGURED).values(), ids=(HOLDERS | CONFIGURED))
def test_what_holds_a_memory_can_be_copied_deeply_and_shallowly(
    memory: Memory, hold: Callable[[Memory], Any]
) -> None:
    held = hold(memory)
    for same in (copy.deepcopy(held), copy.copy(held), copy.deepcopy({"state": [held]})):
        assert same is not None


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_pickling_what_holds_a_memory_says_what_to_do_instead(
    tenant: str, hold: Callable[[Memory], Any]
) -> None:
    held = hold(Memory("atlas", url="postgresql://ann:sesame@db.example/x", tenant=tenant))
    with pytest.raises(TypeError, match=r"cannot pickle .*: it holds") as refused:
        pickle.dumps(held)
    assert "Memory(…)" in str(refused.value)
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("hold", CONFIGURED.values(), ids=CONFIGURED)
def test_pickling_what_is_configuration_keeps_no_address(
    tenant: str, hold: Callable[[Memory], Any]
) -> None:
    held = hold(Memory("atlas", url="postgresql://ann:sesame@db.example/x", tenant=tenant))
    pickled = pickle.dumps(held)
    assert b"sesame" not in pickled
    assert type(pickle.loads(pickled)) is type(held)


@pytest.mark.skipif("HTM_TEST_URL" in os.environ, reason="the private server is tested")
@pytest.mark.parametrize("make", BY_ENVIRONMENT.values(), ids=BY_ENVIRONMENT)
def test_what_the_environment_led_to_is_not_taken_for_another_place(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HTM_DATABASE_URL", raising=False)
    monkeypatch.setenv("HTM_HOME", str(tmp_path / "one"))
    held, served = pickle.dumps(make()), make().model_dump()
    assert opened(pickle.loads(held)) is not None
    assert pickle.loads(held).model_dump() == served
    monkeypatch.setenv("HTM_HOME", str(tmp_path / "two"))
    with pytest.raises(InvalidInput, match="this process has another HTM_HOME"):
        opened(pickle.loads(held))
    monkeypatch.setenv("HTM_DATABASE_URL", "postgresql://ann:sesame@db.example/x")
    by_url = pickle.dumps(make())
    assert b"sesame" not in by_url
    monkeypatch.delenv("HTM_DATABASE_URL")
    with pytest.raises(InvalidInput, match="set HTM_DATABASE_URL"):
        opened(pickle.loads(by_url))


def test_deep_copies_know_what_the_originals_know(memory: Memory) -> None:
    own = memory.of(user="ada")
    recall, remember, _ = copy.deepcopy(HTMToolSpec(own).to_tool_list())
    retriever, chat = (
        copy.deepcopy(HTMRetriever(own)),
        copy.deepcopy(HTMMemory.from_defaults("s", memory=own)),
    )
    remember(content=FACT)
    chat.put(said("hello", "user"))
    assert FACT in str(recall(query="What does Ada play?"))
    assert FACT in [
        found.get_content() for found in retriever.retrieve(QueryBundle("What does Ada play?"))
    ]
    assert [mention.content for mention in own.timeline(session="s")] == ["hello"]
    assert copy.deepcopy(HTMEmbedding(own)).get_query_embedding("x") == HTMEmbedding(
        own
    ).get_query_embedding("x")


@pytest.mark.parametrize("name", ["langgraph:store", "langgraph:mine"])
def test_a_vector_store_cannot_open_what_an_adapter_keeps_for_itself(
    memory: Memory, name: str
) -> None:
    """LangGraph's store keeps every user's items in a collection too."""
    with pytest.raises(InvalidInput, match="does not begin with 'langgraph:'"):
        HTMVectorStore(memory=memory, collection=name)
    configured = HTMVectorStore(memory=memory).to_dict() | {"collection": name}
    with pytest.raises(InvalidInput, match="does not begin with 'langgraph:'"):
        HTMVectorStore.from_dict(configured)
    changed = HTMVectorStore(memory=memory)
    changed.collection = name
    with pytest.raises(InvalidInput, match="does not begin with 'langgraph:'"):
        changed.get_nodes()
    assert HTMVectorStore(memory=memory, collection="docs:2025").get_nodes() == []
