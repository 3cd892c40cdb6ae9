"""Copies of what holds a memory: frameworks copy tools, configurations and states, and all of them mean the same memory."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from htm_core import Memory
from htm_core.palace import Palace
from htm_langchain import (
    HTMChatMessageHistory,
    HTMEmbeddings,
    HTMMemoryMiddleware,
    HTMRetriever,
    HTMStore,
    HTMVectorStore,
    create_forget_tool,
    create_palace_tools,
    create_recall_tool,
    create_remember_tool,
    with_memory,
)
from tests.conftest import Make
from tests.langchain.models import scripted, texts
from tests.langchain.test_middleware import FACT, QUESTION, config, said

HOLDERS: dict[str, Callable[[Memory], Any]] = {
    "memory": lambda memory: memory,
    "awaited memory": lambda memory: memory.aio,
    "log": lambda memory: memory.log("s"),
    "collection": lambda memory: memory.collection("library"),
    "palace": Palace,
    "embeddings": HTMEmbeddings,
    "vector store": lambda memory: HTMVectorStore(memory=memory),
    "vector store's retriever": lambda memory: HTMVectorStore(memory=memory).as_retriever(),
    "store": lambda memory: HTMStore(memory=memory, index={"embed": ones}),  # type: ignore[typeddict-item]
    "retriever": lambda memory: HTMRetriever(memory=memory, only=lambda hit: True),
    "middleware": lambda memory: HTMMemoryMiddleware(
        memory, user=lambda runtime: "ann", tools=("recall",)
    ),
    "history": lambda memory: HTMChatMessageHistory("s", memory),
    "chain": lambda memory: with_memory(RunnableLambda(str), memory),
    "recall tool": create_recall_tool,
    "remember tool": create_remember_tool,
    "forget tool": create_forget_tool,
    "palace's tool": lambda memory: create_palace_tools(Palace(memory))[0],
}
each_holder = pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)


def ones(texts: list[str]) -> list[list[float]]:
    return [[1.0]] * len(texts)


@each_holder
def test_what_holds_a_memory_can_be_copied_deeply_and_shallowly(
    make: Make, hold: Callable[[Memory], Any]
) -> None:
    held = hold(make())
    for same in (
        copy.deepcopy(held),
        copy.copy(held),
        copy.deepcopy({"configurable": {"it": [held]}}),
    ):
        assert same is not None


@each_holder
def test_pickling_what_holds_a_memory_says_what_to_do_instead(
    tenant: str, hold: Callable[[Memory], Any]
) -> None:
    held = hold(Memory("atlas", url="postgresql://ann:sesame@db.example/x", tenant=tenant))
    with pytest.raises(TypeError, match=r"cannot pickle .*: it holds .* in .* process") as refused:
        pickle.dumps(held)
    assert "Memory(…)" in str(refused.value)
    assert "sesame" not in str(refused.value)


def test_a_deep_copy_of_a_memory_is_the_same_memory(make: Make) -> None:
    memory = make(user="ann", session="s")
    assert copy.deepcopy(memory) is copy.copy(memory) is memory
    assert copy.deepcopy([memory, memory.aio])[0] is memory
    memory.remember(FACT)
    assert (
        len(copy.deepcopy(memory).working) == len(memory.working) == 1
    )  # one working memory, not two


def test_deep_copies_know_what_the_originals_know(make: Make) -> None:
    memory = make(user="ann")
    store, documents = (
        copy.deepcopy(HTMStore(memory=memory)),
        copy.deepcopy(HTMVectorStore(memory=memory)),
    )
    remember, recall = copy.deepcopy([create_remember_tool(memory), create_recall_tool(memory)])
    retriever = copy.deepcopy(HTMRetriever(memory=memory))
    chain = copy.deepcopy(with_memory(RunnableLambda(lambda given: "Noted."), memory))
    history = copy.deepcopy(HTMChatMessageHistory("s", memory))
    remember.invoke({"content": FACT})
    history.add_messages([HumanMessage("My boat is called Nixe.")])
    store.put(("ann",), "1", {"text": "hens"})
    documents.add_texts(["word"], ids=["x"])
    chain.invoke("Which boat?", config())
    assert FACT in recall.invoke({"query": QUESTION})
    assert FACT in [document.page_content for document in retriever.invoke(QUESTION)]
    assert texts(HTMChatMessageHistory("s", memory).messages) == ["My boat is called Nixe."]
    assert HTMStore(memory=memory).get(("ann",), "1") is not None
    assert HTMVectorStore(memory=memory).get_by_ids(["x"]) != []
    assert [mention.content for mention in memory.timeline(session="t1")] == [
        "Which boat?",
        "Noted.",
    ]


def test_an_agent_with_a_copied_middleware_remembers(make: Make) -> None:
    model = scripted()
    middleware = HTMMemoryMiddleware(make(), recall_limit=0)
    for text in ("one", "two"):
        create_agent(model, middleware=[copy.deepcopy(middleware)]).invoke(said(text), config())
    assert texts(model.seen[-1]) == ["one", "Noted.", "two"]
