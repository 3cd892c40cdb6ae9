"""A session's log is exact and in order; clearing or replacing it never touches long-term memory, unless it is told to forget."""

from __future__ import annotations

import asyncio

import pytest

from htm_core import InvalidInput, Memory, anonymous
from htm_core.models.minilm.model import MiniLM
from tests.conftest import Make


def talk(n: int) -> list[dict[str, object]]:
    return [{"content": f"message {i}", "role": "user", "id": f"m{i}"} for i in range(n)]


def test_messages_come_back_in_order_with_empty_ones_and_their_bytes(memory: Memory) -> None:
    log = memory.log("s")
    said = log.append(
        [
            {"content": "call it", "role": "user"},
            {"content": "", "role": "assistant", "payload": b"\x00{}"},
        ]
    )
    assert [(m.content, m.payload, m.node_id is None) for m in said] == [
        ("call it", None, False),
        ("", b"\x00{}", True),
    ]
    assert log.tail() == said
    assert log.tail(1) == said[1:]
    assert log.tail(0) == []


def test_a_log_takes_as_many_of_the_last_as_tokens_hold(memory: Memory) -> None:
    log = memory.log("s")
    log.append(talk(20))
    last = log.tail(tokens=12)
    assert 0 < len(last) < 20
    assert last[-1].content == "message 19"
    assert sum(memory._engine.tokens(m.content) for m in last) <= 12


def test_appending_known_ids_again_adds_nothing(memory: Memory) -> None:
    log = memory.log("s")
    log.append(talk(3))
    log.append(talk(4))
    assert [m.content for m in log.tail()] == ["message 0", "message 1", "message 2", "message 3"]


@pytest.mark.parametrize(
    ("again", "then"),
    [
        ([1], [0, 2, 3, 1]),
        ([2, 1], [0, 3, 2, 1]),
        ([5, 1, 4, 0], [0, 2, 3, 5, 1, 4]),
        ([1, 1], [0, 2, 3, 1]),
        ([0, 3], [0, 2, 3]),
        ([4, 5], [0, 2, 3, 4, 5]),
    ],
)
def test_a_message_that_left_the_log_comes_to_its_end_when_it_is_appended_again(
    memory: Memory, again: list[int], then: list[int]
) -> None:
    log, said = memory.log("s"), talk(7)
    memory.log("other").append(said)
    first = log.append(said[:4])
    log.remove(first[1:2])
    if 2 in again:
        log.remove(first[2:3])
    log.append([said[n] for n in again])
    assert [m.content for m in log.tail()] == [f"message {n}" for n in then]
    log.append(said[6:])
    assert [m.content for m in log.tail()] == [f"message {n}" for n in [*then, 6]]
    assert len(memory.log("other").tail()) == 7
    assert {m.id for m in first} <= {m.id for m in memory.timeline(session="s")}


def test_clearing_a_log_keeps_long_term_memory(memory: Memory) -> None:
    log = memory.log("s")
    log.append(talk(3))
    log.clear()
    assert log.tail() == []
    assert len(memory.timeline(session="s")) == 3
    assert memory.recall("message 1")[0].content == "message 1"
    log.append([{"content": "new", "role": "user"}])
    assert [m.content for m in log.tail()] == ["new"]


def test_replacing_a_log_keeps_what_stays_and_drops_the_rest_from_the_record_only(
    memory: Memory,
) -> None:
    log = memory.log("s")
    log.append(talk(4))
    log.replace([talk(4)[2], {"content": "fresh", "role": "assistant"}, talk(4)[0]])
    assert [m.content for m in log.tail()] == ["message 2", "fresh", "message 0"]
    log.append([{"content": "next", "role": "user"}])
    assert [m.content for m in log.tail()] == ["message 2", "fresh", "message 0", "next"]
    assert len(memory.timeline(session="s")) == 6


def test_replacing_with_the_same_unnamed_messages_says_nothing_twice(memory: Memory) -> None:
    log = memory.log("s")
    messages = [{"content": "a", "role": "user"}, {"content": "b", "role": "assistant"}]
    log.append(messages)
    log.replace(messages)
    assert len(memory.timeline(session="s")) == 2
    log.replace([])
    assert log.tail() == []


def test_messages_that_repeat_each_other_keep_their_number(memory: Memory) -> None:
    log = memory.log("s")
    yes, why = {"content": "yes", "role": "user"}, {"content": "why?", "role": "assistant"}
    log.replace([yes, why, yes])
    assert [m.content for m in log.tail()] == ["yes", "why?", "yes"]
    log.replace([yes, why, yes, yes])
    assert [m.content for m in log.tail()] == ["yes", "why?", "yes", "yes"]
    assert len(memory.timeline(session="s")) == 4


def test_a_message_of_another_session_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="session"):
        memory.log("s").append([{"content": "x", "session": "t"}])


def test_the_awaited_log_is_the_same_log(memory: Memory) -> None:
    async def talked() -> list[str]:
        await memory.aio.log("s").append(talk(2))
        return [m.content for m in await memory.aio.log("s").tail()]

    assert asyncio.run(talked()) == ["message 0", "message 1"]
    assert len(memory.log("s").tail()) == 2


def test_archived_messages_stay_in_the_log_and_each_is_archived_once(memory: Memory) -> None:
    log = memory.log("s")
    said = log.append(talk(4))
    assert log.archive(said[:2]) == said[:2]
    assert log.archive(said[:3]) == said[2:3]
    assert [mention for _, mention in log.entries(archived=True)] == said[:3]
    assert [mention for _, mention in log.entries(archived=False)] == said[3:]
    assert [mention for _, mention in log.entries(2)] == said[2:]
    assert log.tail() == said


def test_removed_messages_leave_the_log_and_stay_in_long_term_memory(memory: Memory) -> None:
    log = memory.log("s")
    said = log.append(talk(3))
    log.archive(said[:1])
    assert log.remove(said[:2]) == said[:2]
    assert log.remove(said[:3]) == said[2:]
    assert log.archive(said) == log.entries() == []
    assert memory.timeline(session="s") == said


def test_an_edit_can_forget_what_it_replaces_in_the_same_transaction(memory: Memory) -> None:
    log = memory.log("s")
    log.append(
        [
            {"content": "The code is 1234.", "role": "user"},
            {"content": "Noted.", "role": "assistant"},
        ]
    )
    log.replace(
        [
            {"content": "The code is 9876.", "role": "user"},
            {"content": "Noted.", "role": "assistant"},
        ],
        forget=True,
    )
    assert [m.content for m in log.tail()] == ["The code is 9876.", "Noted."]
    assert "The code is 1234." not in [hit.content for hit in memory.recall("what is the code?")]
    assert memory.who_said("1234") == []
    assert "1234" not in memory.context().text
    assert [m.content for m in memory.timeline(session="s", forgotten=True)].count(
        "The code is 1234."
    ) == 1
    old = next(m for m in memory.timeline(session="s", forgotten=True) if "1234" in m.content)
    memory.restore(str(old.node_id))
    assert memory.who_said("1234") == [old]


def test_words_that_an_edit_forgets_stay_where_they_were_said_elsewhere(memory: Memory) -> None:
    memory.log("other").append([{"content": "yes, the blue one", "role": "user"}])
    log = memory.log("s")
    log.append(
        [{"content": "yes, the blue one", "role": "user"}, {"content": "ok", "role": "assistant"}]
    )
    log.replace([{"content": "no, the red one", "role": "user"}], forget=True)
    assert [m.session for m in memory.who_said("blue one")] == ["other"]
    assert memory.timeline(session="s", forgotten=False)[-1].content == "no, the red one"


def test_a_message_can_be_removed_and_forgotten_at_once_and_only_ones_own(
    memory: Memory, make: Make
) -> None:
    log = memory.log("s")
    said = log.append(talk(3))
    assert make("robot", user="bob").log("s").remove(said, forget=True) == []
    assert log.remove(said[:1], forget=True) == said[:1]
    assert [m.content for m in memory.timeline(session="s")] == ["message 1", "message 2"]
    assert len(memory.working) == 2


def test_an_awaited_edit_forgets_too(memory: Memory) -> None:
    async def edit() -> None:
        log = memory.aio.log("s")
        await log.append([{"content": "I drink tea.", "role": "user", "id": "1"}])
        await log.replace([{"content": "I drink coffee.", "role": "user", "id": "2"}], forget=True)

    asyncio.run(edit())
    assert [m.content for m in memory.timeline(session="s")] == ["I drink coffee."]


def test_a_log_that_is_replaced_has_nothing_archived(memory: Memory) -> None:
    log = memory.log("s")
    log.archive(log.append(talk(3)))
    log.replace(talk(2))
    assert log.entries(archived=True) == []
    assert len(log.entries(archived=False)) == 2


def test_marking_messages_of_another_session_or_owner_does_nothing(memory: Memory) -> None:
    said = memory.log("s").append(talk(1))
    for other in (memory.log("other"), memory.of(user="ada").log("s")):
        assert other.archive(said) == other.remove(said) == []
    assert memory.log("s").tail() == said


def test_the_conversations_with_a_log_are_listed_and_only_ones_own(memory: Memory) -> None:
    ada = memory.of(user="ada")
    for session in ("b", "a"):
        ada.log(session).append(talk(1))
    memory.log("everyones").append(talk(1))
    memory.of(user=anonymous("strangers")).log("strangers").append(talk(1))
    memory.remember("Said without a log.", session="no log")
    assert ada.sessions() == ["a", "b"]
    assert memory.sessions() == ["everyones", "strangers"]
    ada.log("a").clear()
    assert ada.sessions() == ["b"]


def test_an_edit_that_forgot_is_undone_by_the_same_messages_with_their_ids(memory: Memory) -> None:
    log = memory.log("s")
    first = [
        {"content": "The code is 1234.", "role": "user", "id": "1"},
        {"content": "Noted.", "role": "assistant", "id": "2"},
    ]
    said = log.replace(first)
    log.replace([{"content": "The code is 9876.", "role": "user", "id": "3"}], forget=True)
    assert log.replace(first, forget=True) == log.tail() == said
    assert memory.who_said("1234") == said[:1]
    assert memory.who_said("9876") == []
    log.replace([], forget=True)
    log.append(first)  # a message that is sent again is not said again
    assert log.tail() == []


@pytest.mark.parametrize(
    "given", [{"content": "call it", "role": "user"}, "call it"], ids=["one mapping", "one text"]
)
def test_one_message_where_a_list_is_meant_is_refused_with_what_to_write(
    memory: Memory, given: object
) -> None:
    for write in (memory.log("s").append, memory.log("s").replace, memory.remember_many):
        with pytest.raises(
            InvalidInput, match=r"expected a list of (messages|drafts), got one .*\[\{'content'"
        ):
            write(given)  # type: ignore[operator]
    with pytest.raises(InvalidInput, match=r"got the text 'call it'; write \{'content'"):
        memory.log("s").append(["call it"])  # type: ignore[list-item]
    assert memory.timeline() == []


def test_a_hit_has_the_id_by_which_it_is_forgotten(memory: Memory) -> None:
    memory.remember("The gate code is 4711.")
    memory.forget(memory.recall("gate", mode="text")[0].id)
    assert not memory.recall("gate", mode="text")


def test_what_is_appended_is_read_with_the_last_of_the_log_in_the_same_call(memory: Memory) -> None:
    log = memory.log("s")
    log.append(talk(3))
    read = log.append_and_read([{"content": "and now?", "role": "user", "id": "m9"}], 2)
    assert [(id, mention.content) for id, mention in read] == [
        ("m2", "message 2"),
        ("m9", "and now?"),
    ]
    assert read == log.entries(2) == log.append_and_read([], 2)
    with pytest.raises(InvalidInput, match="n"):
        log.append_and_read(talk(1), -1)


@pytest.mark.usefixtures("real_embedder")
def test_a_question_in_a_log_is_embedded_once_for_the_log_and_its_recall(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    run = MiniLM._run
    monkeypatch.setattr(MiniLM, "_run", lambda self, ids: runs.append(len(ids)) or run(self, ids))
    with make(embedder="minilm") as memory:
        memory.remember("She lies in Kiel.")
        memory.flush()  # loads the model
        runs.clear()
        memory.log("s").append([{"content": "Where does the Selene lie now?", "role": "user"}])
        memory.flush()
        memory.recall("Where does the Selene lie now?")
        assert runs == [1]
        assert memory.stats().vectors == memory.stats().passages == 2
