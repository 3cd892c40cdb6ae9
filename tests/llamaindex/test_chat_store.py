"""HTMChatStore: LlamaIndex's own Memory on our log."""

from __future__ import annotations

import asyncio
import copy
import pickle
import time
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock
from llama_index.core.memory import Memory as TheirMemory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from htm_core import InvalidInput, Log, Memory, StorageError
from htm_core.prompt.deadline import forget_failures
from htm_llamaindex import HTMChatStore
from tests.conftest import SETTINGS, Make
from tests.llamaindex.models import calls, result, said

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
EVERY_KIND = [
    said("look\x00 at this \ud83d!", "user"),
    ChatMessage(
        role="user", blocks=[TextBlock(text="an image"), ImageBlock(image=b"\x89PNG\r\n\x1a\n1234")]
    ),
    ChatMessage(
        role="assistant",
        blocks=[ThinkingBlock(content="hm", additional_information={"signature": "x"})],
    ),
    calls("look", port=7),
    result("open"),
    ChatMessage(role="developer", content="", additional_kwargs={"n": float("inf")}),
]


@pytest.fixture
def store(memory: Memory) -> HTMChatStore:
    return HTMChatStore(memory)


def lines(first: int, stop: int) -> list[ChatMessage]:
    return [said(f"line {at}", "user" if at % 2 == 0 else "assistant") for at in range(first, stop)]


async def story(store: HTMChatStore | SQLAlchemyChatStore) -> list[object]:
    """Everything that LlamaIndex does with a chat store, and what each step answers."""
    seen: list[object] = []

    async def look(key: str = "k") -> None:
        for status in (ACTIVE, ARCHIVED, None):
            seen.append([each.content for each in await store.get_messages(key, status=status)])
            seen.append(await store.count_messages(key, status=status))

    await look()
    await store.add_message("k", lines(0, 1)[0])
    await store.add_messages("k", lines(1, 8))
    await store.add_messages("other", lines(0, 2))
    seen.append(await store.get_messages("k", limit=3, offset=2))
    seen.append(await store.archive_oldest_messages("k", 3))
    await look()
    seen.append(await store.delete_oldest_messages("k", 2))
    seen.append(await store.archive_oldest_messages("k", 1))
    await look()
    await store.add_message("k", said("archived at once"), status=ARCHIVED)
    await store.delete_messages("k", status=ARCHIVED)
    await look()
    await store.set_messages("k", [*lines(6, 8), *lines(20, 22)])
    await look()
    await store.set_messages("k", lines(7, 8), status=ARCHIVED)
    await look()
    await store.set_messages("k", lines(7, 8))
    await look()
    await store.delete_messages("k")
    await look()
    await look("other")
    seen.append(await store.get_keys())
    seen.append(await store.archive_oldest_messages("gone", 2))
    return seen


def test_each_step_answers_what_llamaindexs_own_store_answers(store: HTMChatStore) -> None:
    reference = SQLAlchemyChatStore(table_name="reference")
    assert asyncio.run(story(store)) == asyncio.run(story(reference))


def test_what_is_deleted_stays_in_long_term_memory(store: HTMChatStore, memory: Memory) -> None:
    async def gone() -> None:
        await store.add_messages("k", lines(0, 3))
        await store.delete_message("k", 0)
        await store.delete_messages("k")
        assert await store.get_messages("k", status=None) == []

    asyncio.run(gone())
    assert [mention.content for mention in memory.timeline(session="k")] == [
        "line 0",
        "line 1",
        "line 2",
    ]
    memory.erase(session="k", confirm="confirmed")
    assert memory.timeline(session="k") == []


def test_a_message_is_deleted_by_its_place(store: HTMChatStore) -> None:
    async def by_place() -> None:
        await store.add_messages("k", lines(0, 4))
        await store.archive_oldest_messages("k", 1)
        gone = await store.delete_message("k", 2)
        assert gone == lines(2, 3)[0]
        assert await store.delete_message("k", 3) is None
        assert await store.delete_message("k", -1) is None
        left = await store.get_messages("k", status=None)
        assert [each.content for each in left] == ["line 0", "line 1", "line 3"]

    asyncio.run(by_place())


def test_messages_of_every_kind_come_back_equal_and_belong_to_the_caller(
    store: HTMChatStore,
) -> None:
    async def there_and_back() -> None:
        await store.add_messages("k", EVERY_KIND)
        found = await store.get_messages("k")
        assert found == EVERY_KIND
        for message in found:
            message.blocks = []
        assert await store.get_messages("k") == EVERY_KIND

    asyncio.run(there_and_back())


def test_messages_are_added_all_or_none(make: Make) -> None:
    """A call of a tool is never kept without its result because the result was refused."""
    store = HTMChatStore(make(settings=SETTINGS.model_copy(update={"max_content": 50})))

    async def add() -> None:
        with pytest.raises(InvalidInput, match="at most 50 characters"):
            await store.add_messages("k", [said("look", "user"), calls("look"), result("x" * 60)])
        assert await store.get_messages("k", status=None) == []

    asyncio.run(add())


def test_set_keeps_the_messages_that_were_there(store: HTMChatStore, memory: Memory) -> None:
    async def set_twice() -> None:
        await store.add_messages("k", lines(0, 3))
        await store.set_messages("k", [*lines(1, 3), *lines(9, 10)])

    asyncio.run(set_twice())
    assert [mention.content for mention in memory.timeline(session="k")] == [
        "line 0",
        "line 1",
        "line 2",
        "line 9",
    ]


def test_of_two_that_archive_at_once_each_message_has_one(store: HTMChatStore) -> None:
    async def both() -> None:
        await store.add_messages("k", lines(0, 10))
        found = await asyncio.gather(*(store.archive_oldest_messages("k", 5) for _ in range(4)))
        taken = [message.content for part in found for message in part]
        assert len(taken) == len(set(taken))
        assert await store.count_messages("k", status=ARCHIVED) == len(taken) >= 5

    asyncio.run(both())


@pytest.mark.parametrize("status", [ACTIVE, ARCHIVED])
def test_messages_added_again_after_an_outcome_that_is_not_known_are_stored_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, status: MessageStatus
) -> None:
    store, append = HTMChatStore(memory, timeout=1.0), Log.append

    def slow(self: Log, *given: Any, **more: Any) -> Any:
        said = append(self, *given, **more)
        time.sleep(1.5)
        return said

    async def add() -> None:
        await store.add_messages("k", lines(0, 2), status)

    monkeypatch.setattr(Log, "append", slow)
    with pytest.raises(StorageError, match="put them again: each is stored once"):
        asyncio.run(add())
    monkeypatch.undo()
    forget_failures()
    asyncio.run(add())
    assert asyncio.run(store.get_messages("k", status=status)) == lines(0, 2)
    asyncio.run(add())
    assert [mention.content for mention in memory.timeline(session="k")] == ["line 0", "line 1"] * 2


def test_a_chat_store_keeps_track_of_a_bounded_number_of_sessions(store: HTMChatStore) -> None:
    store._turns.most = 2
    for key in ("a", "b", "a", "c"):
        asyncio.run(store.add_message(key, said("hello", "user")))
    assert list(store._turns) == ["a", "c"]


def opened(store: HTMChatStore, session: str) -> TheirMemory:
    return TheirMemory.from_defaults(
        session, chat_store=store, token_limit=200, token_flush_size=50
    )


def test_llamaindexs_memory_keeps_everything_and_shows_what_fits(store: HTMChatStore) -> None:
    chat = opened(store, "k")
    for message in lines(0, 100):
        chat.put(message)
    assert chat.get_all() == lines(0, 100)
    assert 0 < len(chat.get()) < 100
    assert chat.get()[-1].content == "line 99"
    assert len(chat.get_all(status=ARCHIVED)) + len(chat.get_all(status=ACTIVE)) == 100
    assert opened(store, "k").get() == chat.get()
    chat.reset()
    assert chat.get_all() == []


def test_it_works_through_sync_wrappers_in_a_running_loop_and_in_two_loops(
    store: HTMChatStore,
) -> None:
    chat = opened(store, "k")
    chat.put(said("one", "user"))

    async def within() -> None:
        chat.put(
            said("two")
        )  # a blocking call within a running loop: LlamaIndex makes another loop in a thread
        await chat.aput(said("three", "user"))
        assert [each.content for each in chat.get()][-1] == "three"

    asyncio.run(within())

    async def another() -> None:
        await asyncio.gather(*(chat.aput(said(f"more {at}")) for at in range(5)))

    asyncio.run(another())
    assert len(chat.get_all()) == 8


def test_two_users_and_nobody_share_no_conversation_of_the_same_name(memory: Memory) -> None:
    stores = [HTMChatStore(memory, user=user) for user in ("ada", "bob", None)]

    async def each_their_own() -> None:
        for at, store in enumerate(stores):
            await store.add_message("s", said(f"mine {at}", "user"))
            await store.add_message(f"only {at}", said("x", "user"))
        for at, store in enumerate(stores):
            assert [each.content for each in await store.get_messages("s")] == [f"mine {at}"]
            assert await store.get_keys() == [f"only {at}", "s"]

    asyncio.run(each_their_own())
    assert memory.recall("mine", hold=False).hits == ()


def test_a_copy_is_the_same_store_and_a_restored_one_has_the_same_messages(
    store: HTMChatStore,
) -> None:
    asyncio.run(store.add_messages("k", lines(0, 2)))
    assert copy.deepcopy(store) is store
    for restored in (
        HTMChatStore.model_validate(store.model_dump()),
        pickle.loads(pickle.dumps(store)),
    ):
        assert asyncio.run(restored.get_messages("k")) == lines(0, 2)


def test_what_is_serialised_is_configuration_and_never_an_address() -> None:
    store = HTMChatStore(url="postgresql://ada:s3cret@db.example/htm", tenant="t", user="ada")
    for form in (
        str(store.model_dump()),
        store.model_dump_json(),
        repr(store),
        repr(pickle.dumps(store)),
    ):
        assert "s3cret" not in form
        assert "db.example" not in form
    assert {"tenant": "t", "user": "ada"}.items() <= store.model_dump().items()


@pytest.mark.parametrize(
    "given", [{"robot": "r"}, {"tenant": "t"}, {"url": "postgresql://host/db"}]
)
def test_a_memory_and_what_would_make_another_are_refused_together(
    memory: Memory, given: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput, match=f"memory= alone, got {next(iter(given))}"):
        HTMChatStore(memory, **given)  # type: ignore[arg-type]
