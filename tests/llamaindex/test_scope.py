"""Whose memory each component works on: two users and sessions without a user in one process, and nothing crosses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory as TheirMemory
from llama_index.core.memory.types import BaseMemory

from htm_core import InvalidInput, Memory, anonymous
from htm_core.prompt.scope import scope_of
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock, HTMToolSpec
from htm_llamaindex.scope import memory_for
from tests.llamaindex.models import Scripted
from tests.llamaindex.ways import WAYS, Way

USERS = ("ada", "bob", None)
SESSIONS = (1, 2)
Opened = Callable[[Memory, str, str | None], BaseMemory]


def ours(memory: Memory, session: str, user: str | None) -> BaseMemory:
    return HTMMemory.from_defaults(session, memory=memory, user=user)


def theirs(memory: Memory, session: str, user: str | None) -> BaseMemory:
    return TheirMemory.from_defaults(
        session,
        chat_store=HTMChatStore(memory, user=user),
        memory_blocks=[HTMMemoryBlock(memory, user=user, min_score=0.05)],
    )


def talks() -> Iterator[tuple[str | None, int, str]]:
    """Every user with each of two sessions, and the same without a user."""
    for user in USERS:
        for session in SESSIONS:
            yield user, session, f"{user or 'unnamed'}-{session}"


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("opened", [ours, theirs])
def test_users_recall_both_of_their_sessions_and_without_a_user_only_the_session_is_recalled(
    opened: Opened, ask: Way, memory: Memory
) -> None:
    for user, _, session in talks():
        engine = SimpleChatEngine.from_defaults(
            llm=Scripted().llm, memory=opened(memory, session, user)
        )
        ask(engine, f"The code of door {session} is {session}-code.")
    assert memory.flush()
    for user, number, session in talks():
        model = Scripted()
        engine = SimpleChatEngine.from_defaults(llm=model.llm, memory=opened(memory, session, user))
        ask(engine, "What is the code of each door?")
        heard = {each for _, _, each in talks() if f"{each}-code" in model.last}
        wanted = {f"{user}-{each}" for each in SESSIONS} if user else {f"unnamed-{number}"}
        assert heard == wanted, session


def test_one_session_name_of_two_users_and_of_nobody_is_three_conversations(memory: Memory) -> None:
    chats = [ours(memory, "s", user) for user in USERS]
    for at, chat in enumerate(chats):
        chat.put(Scripted(f"line {at}").script[0])
    assert [[message.content for message in chat.get_all()] for chat in chats] == [
        ["line 0"],
        ["line 1"],
        ["line 2"],
    ]
    assert [mention.content for mention in memory.timeline(session="s")] == ["line 2"]
    assert memory.of(user="ada").timeline(session="s")[0].content == "line 0"


@pytest.mark.parametrize("name", [anonymous("s1"), "", " "])
def test_a_user_that_is_none_or_named_like_a_session_is_refused(memory: Memory, name: str) -> None:
    for make in (
        lambda: HTMMemory.from_defaults("s2", memory=memory, user=name),
        lambda: HTMChatStore(memory, user=name),
        lambda: HTMMemoryBlock(memory, user=name),
    ):
        with pytest.raises(InvalidInput, match="a user's own name"):
            make()
    with pytest.raises(ValueError, match="a user's own name"):
        HTMMemory.from_dict({"session_id": "s2", "user": name})


def test_a_memory_of_a_session_without_a_user_serves_that_session_and_no_other(
    memory: Memory,
) -> None:
    strange = memory.of(user=anonymous("s1"), session="s1")
    strange.remember("The unnamed's code is 4711.")
    assert memory_for(strange, user=None, session="s1").user == anonymous("s1")
    assert memory_for(strange, user=None, session="s2").user == anonymous("s2")
    assert memory_for(strange, user="ada", session="s1").user == "ada"
    assert scope_of(strange) == "session"
    assert HTMMemory.from_defaults("s2", memory=strange).get("What is the unnamed's code?") == []
    assert HTMMemory.from_defaults("s1", memory=strange).get("What is the unnamed's code?") != []


def test_a_memory_with_a_user_or_of_neither_stays_what_it_was_given_as(memory: Memory) -> None:
    ada = memory.of(user="ada")
    assert memory_for(ada, user=None, session="s").user == "ada"
    assert memory_for(memory, user=None, session=None) is memory
    assert scope_of(ada) is scope_of(memory) is None
    memory.remember("Lunch is at noon for everyone.")
    recall = HTMToolSpec(ada).to_tool_list()[0]
    assert "noon" in str(asyncio.run(recall.acall(query="When is lunch?")))
