"""A conversation that comes with its history, without ids and times, says nothing anew of what was said elsewhere."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.llms import ChatMessage

from htm_core import InvalidInput, Memory
from htm_langchain import HTMMemoryMiddleware
from htm_llamaindex import HTMChatStore, HTMMemory
from tests.conftest import Make
from tests.langchain.models import scripted

TEXT = "My alarm code is zqx seven."
TOLD = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "Noted."}]
NEXT = {"role": "user", "content": "Which plants like shade?"}


def forget_told(memory: Memory) -> None:
    memory.forget(
        next(each.node_id for each in memory.timeline() if each.content == TEXT and each.node_id)
    )


def shown(memory: Memory) -> list[str]:
    return [each.content for each in memory.timeline() if each.content == TEXT]


def chat(
    memory: Memory, messages: list[dict[str, str]], thread: str, saver: InMemorySaver | None = None
) -> None:
    agent = create_agent(
        scripted("Noted."), middleware=[HTMMemoryMiddleware(memory)], checkpointer=saver
    )
    agent.invoke({"messages": messages}, {"configurable": {"thread_id": thread}})  # type: ignore[arg-type]  # plain dicts, as clients send them


@pytest.mark.parametrize("keeps", [False, True])
def test_a_history_in_a_new_thread_revives_nothing(make: Make, keeps: bool) -> None:
    """A client forks a conversation: the new thread's first request brings all that was said, as plain messages."""
    with make(user="ann") as memory:
        chat(memory, TOLD[:1], "one")
        forget_told(memory)
        chat(memory, [*TOLD, NEXT], "two", InMemorySaver() if keeps else None)
        assert shown(memory) == []
        chat(memory, TOLD[:1], "three")
        assert shown(memory) == [TEXT], "who says it again says it anew"


def test_a_forked_history_counts_once_and_leaves_the_conversation_whole(make: Make) -> None:
    with make(user="ann") as memory:
        chat(memory, TOLD[:1], "one")
        chat(memory, [*TOLD, NEXT], "two")
        assert memory.recall("alarm code")[0].node.times_said == 1
        assert [each.content for each in memory.log("two").tail()][:3] == [
            TEXT,
            "Noted.",
            NEXT["content"],
        ]


def test_a_copied_chat_of_llamaindex_revives_nothing(make: Make) -> None:
    with make() as memory:
        first = HTMMemory.from_defaults("one", memory=memory, user="ann")
        first.put_messages(
            [ChatMessage(TEXT, role="user"), ChatMessage("Noted.", role="assistant")]
        )
        copied = [
            ChatMessage.model_validate_json(each.model_dump_json()) for each in first.get_all()
        ]
        forget_told(memory.of(user="ann"))
        HTMMemory.from_defaults("two", memory=memory, user="ann", chat_history=copied)
        later = HTMMemory.from_defaults("three", memory=memory, user="ann")
        later.set([*copied, ChatMessage(NEXT["content"], role="user")])
        store = HTMChatStore(memory, user="ann")
        asyncio.run(store.set_messages("four", copied))
        assert shown(memory.of(user="ann")) == []
        assert [each.content for each in later.get_all()] == ["Noted.", NEXT["content"]]
        later.put(ChatMessage(TEXT, role="user"))
        assert shown(memory.of(user="ann")) == [TEXT]


def test_words_that_are_told_twice_in_one_history_are_two_sayings(make: Make) -> None:
    with make(user="ann") as memory:
        memory.log("one").append([*TOLD, *TOLD], retold=4)
        assert memory.recall("alarm code")[0].node.times_said == 2


def test_a_wrong_number_of_retold_messages_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="retold"):
        memory.log("one").append(TOLD, retold=-1)
