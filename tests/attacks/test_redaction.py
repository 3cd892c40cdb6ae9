"""With a redactor, a secret is in no file of the database, whichever way it came: verbs, files, the palace, and both frameworks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.llms import ChatMessage, MessageRole

from htm_core import Draft, InvalidInput, Memory, RedactionError, Redactor
from htm_core.palace import Enforcer, Palace
from htm_langchain import HTMChatMessageHistory, HTMMemoryMiddleware, HTMStore, HTMVectorStore
from htm_llamaindex import HTMChatStore, HTMMemory
from tests.attacks.raw_files import SETTINGS, RawServer, raw_server
from tests.conftest import SETTINGS as SHARED
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.stand_ins import HashEmbedder

CARD, KEY, MAIL, WORD = (
    "4111111111111111",
    "AKIA" + "ZQXVORBENAMJKLP7",
    "zelda.quxvorb@example.com",
    "hunter2vorb",
)
SECRETS = (CARD, KEY, MAIL, WORD, "quxvorb")
SAID = f"My card is {CARD}, the key {KEY}, write to {MAIL}, password={WORD}"
KEPT = "the ferry keptvorb leaves"
EMBEDDER = HashEmbedder()


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with raw_server() as found:
        yield found


@pytest.fixture
def memory(server: RawServer, url: str | None) -> Memory:
    if url is not None:
        pytest.skip("reads the files of a server of its own")
    return Memory(
        "atlas",
        tenant="acme",
        session="s",
        embedder=EMBEDDER,
        settings=SETTINGS,
        redactor="default",
    )


def assert_no_secret(server: RawServer) -> None:
    server.execute("checkpoint")
    found = server.files_with(*(each.encode() for each in SECRETS), b"keptvorb")
    assert any("base" in path for path in found.pop(repr(b"keptvorb"))), (
        "what was no secret is there"
    )
    assert {needle: paths for needle, paths in found.items() if paths} == {}, (
        "also not in the write-ahead log"
    )


def test_the_verbs_store_no_secret(
    server: RawServer, memory: Memory, tmp_path: Path, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    events: list[str] = []
    seen = Memory(
        "bella",
        tenant="acme",
        embedder=EMBEDDER,
        settings=SETTINGS,
        redactor="default",
        on_event=lambda e: events.append(repr(e)),
    )
    seen.remember(
        SAID,
        tags=[f"mail:{MAIL}"],
        name=MAIL,
        metadata={"deep": [{"x": SAID}], "password": WORD},
        payload=SAID.encode(),
    )
    node = (
        memory.remember(f"{KEPT} {SAID}", key="ferry", vector=None)
        if False
        else memory.remember(f"{KEPT} {SAID}", key="ferry")
    )
    memory.revise("ferry", f"new: {SAID}")
    memory.remember_many(
        [Draft(content=f"{SAID} {n}", vector=EMBEDDER.embed_query(SAID)) for n in range(3)]
    )
    memory.log("chat").append(
        [
            {"role": "user", "content": SAID},
            {"role": "tool", "content": "", "payload": SAID.encode()},
        ]
    )
    memory.log("chat").replace([{"role": "user", "content": SAID}])
    memory.tags.add(node.id, [f"mail:{MAIL}"])
    (tmp_path / "a.md").write_text(
        f"---\nmail: {MAIL}\ntags: [x]\n---\n# About {CARD}\n\n{KEPT}\n\n{SAID}\n"
    )
    [loaded] = memory.load(tmp_path / "a.md")
    assert loaded.error is None
    memory.collection("docs").put(
        [
            {
                "id": "a",
                "content": SAID,
                "metadata": {"m": SAID},
                "value": {"v": [SAID]},
                "payload": SAID.encode(),
            },
            {"id": "b", "content": SAID, "vector": EMBEDDER.embed_query(SAID)},
            {"id": "c", "texts": [SAID, KEPT]},
        ],
        model="HashEmbedder:hash",
    )
    palace = Palace(memory)
    note = palace.note(SAID)
    palace.promote(note.id, room="r", drawer="d", reason=f"since {SAID}", summary=f"it is {SAID}")
    palace.file(SAID, room="r", drawer="d")
    palace.procedure("how", [SAID], triggers=[SAID])
    palace.identify(SAID)
    Enforcer(palace).consult(f"What is my card? {SAID}")
    memory.recall(SAID)
    assert memory.flush(timeout=60)
    assert memory.timeline(limit=1_000)
    assert "[redacted:card]" in memory.context().text
    for secret in SECRETS:
        assert secret not in caplog.text
        assert secret not in "".join(events)
        assert secret not in memory.context().text
        assert not any(
            secret in repr(item) for item in [*memory.working.items, *memory.list(limit=1_000)]
        )
    assert_no_secret(server)


def test_a_mention_says_what_was_redacted(memory: Memory) -> None:
    memory.remember(SAID, session="counted")
    [mention] = memory.timeline(session="counted")
    assert mention.metadata["htm_redacted"] == {"api_key": 1, "card": 1, "email": 1, "password": 1}
    assert (
        mention.content
        == "My card is [redacted:card], the key [redacted:api_key], write to [redacted:email], password=[redacted:password]"
    )
    found = memory.recall("my card", where={"htm_redacted.card": {"$gte": 1}}, mode="text")
    assert any(hit.mention is not None and hit.mention.id == mention.id for hit in found)


def test_an_agent_of_langchain_stores_no_secret(
    server: RawServer, memory: Memory, caplog: Any
) -> None:
    """Nor do its tool calls and their results. The model itself still sees what the user has said."""
    caplog.set_level(logging.DEBUG, logger="htm")

    @tool
    def pay(note: str, card: str) -> str:
        """Pay."""
        return f"paid with {card}: {note}"

    call = AIMessage(
        "", tool_calls=[{"name": "pay", "id": "c1", "args": {"note": SAID, "card": CARD}}]
    )
    model = scripted(call, f"Done: {SAID}")
    agent = create_agent(
        model, [pay], middleware=[HTMMemoryMiddleware(memory)], checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "t-lc", "user_id": "ann"}}
    agent.invoke({"messages": [HumanMessage(f"{KEPT}. {SAID}")]}, config)
    agent.invoke({"messages": [HumanMessage("thanks")]}, config)
    ann = memory.of(user="ann", session="t-lc")
    kept = ann.timeline(session="t-lc", limit=100)
    assert [each.role for each in kept] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert all(b"[redacted:card]" in (each.payload or b"") for each in kept[:4])
    assert any(SAID in str(message.text) for message in model.seen[0])
    assert not any(secret in caplog.text for secret in SECRETS)
    ann.flush(timeout=60)
    assert_no_secret(server)


def test_a_client_of_langchain_that_sends_its_history_again_adds_nothing(
    server: RawServer, memory: Memory
) -> None:
    """What is sent again is compared as it is stored, so that it is known again without its secrets."""
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(memory)])
    config: Any = {"configurable": {"thread_id": "t-again", "user_id": "ann"}}
    history: list[Any] = []
    for turn in range(4):
        history.append(HumanMessage(f"{turn}: {SAID}"))
        history.append(
            agent.invoke(
                {
                    "messages": [
                        HumanMessage(str(each.content))
                        if each.type == "human"
                        else AIMessage(str(each.content))
                        for each in history
                    ]
                },
                config,
            )["messages"][-1]
        )
    kept = memory.of(user="ann", session="t-again").log().tail()
    assert [each.role for each in kept] == ["user", "assistant"] * 4
    assert_no_secret(server)


def test_histories_stores_and_vector_stores_of_langchain_store_no_secret(
    server: RawServer, memory: Memory
) -> None:
    history = HTMChatMessageHistory("t-hist", memory)
    history.add_messages([HumanMessage(SAID), AIMessage(SAID), ToolMessage(SAID, tool_call_id="x")])
    history.messages = [HumanMessage(SAID, name=None), HumanMessage(KEPT)]
    assert str(history.messages[0].content).startswith("My card is [redacted:card]")
    store = HTMStore(memory=memory)
    store.put(("users", "1"), "facts", {"text": SAID, "deep": {"password": WORD}})
    found = store.get(("users", "1"), "facts")
    assert found is not None
    assert found.value["deep"] == {"password": "[redacted:password]"}
    vectors = HTMVectorStore(memory=memory, collection="pages")
    vectors.add_texts([SAID, KEPT], metadatas=[{"from": MAIL}, {}])
    assert vectors.similarity_search("my card", k=1)[0].page_content.startswith(
        "My card is [redacted:card]"
    )
    assert_no_secret(server)


def test_memories_of_llamaindex_store_no_secret(server: RawServer, memory: Memory) -> None:
    chat = HTMMemory.from_defaults("t-li", memory, user="ann")
    call = ChatMessage(
        role=MessageRole.ASSISTANT,
        content="",
        additional_kwargs={"tool_calls": [{"id": "c", "args": SAID}]},
    )
    messages = [
        ChatMessage(role="user", content=f"{KEPT} {SAID}", additional_kwargs={"name": MAIL}), call,
        ChatMessage(role="tool", content=SAID, additional_kwargs={"tool_call_id": "c"}), ChatMessage(role="assistant", content=SAID),
    ]  # fmt: skip
    for each in messages:
        chat.put(each)
    before = len(chat.get_all())
    chat.put_messages([*messages, ChatMessage(role="user", content="and now?")])
    assert len(chat.get_all()) == before + 1, "what is put again is known again"
    chat.set(messages)
    assert len(chat.get_all()) == before
    assert not any(secret in str(chat.get()) for secret in SECRETS)
    store = HTMChatStore(memory, user="ann")
    asyncio.run(store.add_messages("t-cs", messages))
    asyncio.run(store.set_messages("t-cs", messages))
    assert len(asyncio.run(store.get_messages("t-cs"))) == 4
    memory.of(user="ann", session="t-li").flush(timeout=60)
    assert_no_secret(server)


# -- options and failures, on the server that all tests share ------------------------------------------------------------


class Broken(Exception):
    pass


def broken(text: str) -> str:
    raise Broken(f"could not read {text}")


def test_when_a_redactor_fails_nothing_is_stored(make: Make) -> None:
    with make(redactor=broken, session="s") as memory:
        for act in (
            lambda: memory.remember("zq words"),
            lambda: memory.log().append([{"content": "zq words"}]),
            lambda: memory.revise("k", "zq words"),
            lambda: memory.collection("c").put([{"content": "zq words"}]),
            lambda: Palace(memory).note("zq words"),
        ):
            with pytest.raises(RedactionError, match="Broken at broken") as caught:
                act()  # type: ignore[no-untyped-call]
            assert "zq words" not in str(caught.value)
        assert memory.timeline() == []
        assert memory.collection("c").count() == 0


def test_a_file_that_cannot_be_redacted_is_not_loaded(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("zq words")
    with make(redactor=broken) as memory:
        [loaded] = memory.load(tmp_path / "a.md")
        assert loaded.status == "failed"
        assert "zq words" not in str(loaded.error)
        assert memory.files() == []


def test_an_agent_whose_redactor_fails_answers_and_stores_nothing(make: Make, caplog: Any) -> None:
    with make(redactor=broken) as memory:
        agent = create_agent(scripted("Hello."), middleware=[HTMMemoryMiddleware(memory)])
        config: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
        answer = agent.invoke({"messages": [HumanMessage("zq words")]}, config)
        assert answer["messages"][-1].content == "Hello."
        assert memory.of(user="ann", session="t").timeline() == []
        assert "zq words" not in caplog.text
        assert "RedactionError" in caplog.text


def test_settings_give_a_redactor_to_every_memory_of_a_process(make: Make) -> None:
    with make(
        settings=SHARED.model_copy(update={"redactor": "default", "worker": "off"})
    ) as memory:
        assert memory.remember(CARD).content == "[redacted:card]"
        assert memory.of(user="ann").remember(CARD).content == "[redacted:card]"


def test_a_memory_without_a_redactor_stores_what_it_is_told(make: Make) -> None:
    with make() as memory:
        assert memory.redactor is None
        assert memory.remember(CARD).content == CARD


def test_own_kinds_and_patterns_reach_the_store(make: Make) -> None:
    with make(redactor=Redactor(kinds=("card",), patterns={"employee": r"E-\d{6}"})) as memory:
        node = memory.remember(f"{MAIL} E-123456 {CARD}")
        assert node.content == f"{MAIL} [redacted:employee] [redacted:card]"
        assert memory.recall("redacted employee", mode="text")[0].node.id == node.id


@pytest.mark.parametrize(
    "act",
    [
        lambda memory: memory.remember("x", key=MAIL),
        lambda memory: memory.revise(MAIL, "x"),
        lambda memory: Palace(memory).file("x", room="r", drawer=MAIL),
        lambda memory: Palace(memory).artifact(
            f"https://ann:{WORD}@example.com", fetch=lambda _: None
        ),
    ],
    ids=["remember", "revise", "file", "artifact"],
)
def test_a_key_or_a_place_with_a_secret_is_refused(
    make: Make, act: Callable[[Memory], object]
) -> None:
    with make(redactor="default") as memory, pytest.raises(InvalidInput):
        act(memory)


def test_a_vector_of_the_words_before_is_not_stored(make: Make, embedder: HashEmbedder) -> None:
    with make(redactor="default") as memory:
        memory.remember_many(
            [
                Draft(
                    content=f"card {CARD}",
                    vector=[1.0] + [0.0] * (len(embedder.embed_query("x")) - 1),
                )
            ]
        )
        memory.flush()
        hit = memory.recall("card [redacted:card]", mode="vector")[0]
        assert hit.match.cosine is not None
        assert hit.match.cosine > 0.99, "it was made anew, of what is stored"
        shelf = memory.collection("shelf")
        shelf.put(
            [
                {"id": "a", "content": f"card {CARD}", "vector": [1.0, 0.0]},
                {"id": "b", "content": "kept", "vector": [0.0, 1.0]},
            ]
        )
        assert [hit.item.id for hit in shelf.query(vector=[1.0, 0.0], mode="vector")] == ["b"]
        assert [hit.item.id for hit in shelf.query("card", mode="text")] == ["a"]


def test_the_file_is_loaded_again_once_there_is_a_redactor(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# Card\n\nIt is {CARD}.\n")
    with make() as plain, make(redactor="default") as careful:
        plain.load(tmp_path / "a.md")
        assert [each.status for each in careful.load(tmp_path / "a.md")] == ["loaded"]
        assert [each.status for each in careful.load(tmp_path / "a.md")] == ["known"]
        assert not any(CARD in mention.content for mention in careful.timeline())
