"""Remembering: once it returns, it is in PostgreSQL; the same words are one node with several mentions."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import Draft, InvalidInput, Memory, StorageError
from htm_core.db.connection import Connection
from tests.conftest import SETTINGS, Make

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_a_memory_has_its_exact_text_tags_importance_and_tokens(memory: Memory) -> None:
    said = memory.remember(
        "  The user prefers dark mode.\n",
        tags=["user:preference"],
        importance=8,
        metadata={"a": [1, None]},
    )
    again = memory.get(said.id)
    assert again.content == "  The user prefers dark mode.\n"
    assert (again.tags, again.importance, again.metadata) == (
        ("user:preference",),
        8.0,
        {"a": [1, None]},
    )
    assert said.is_new
    assert again.tokens > 0


def test_the_same_words_are_the_same_node_with_another_mention(memory: Memory) -> None:
    first = memory.remember(
        "Tea, please.", tags=["drink"], importance=3, metadata={"a": 1, "b": 1}, at=NOW
    )
    second = memory.remember(
        "Tea, please.", tags=["wish"], metadata={"b": 2}, at=NOW + timedelta(hours=1)
    )
    assert (first.is_new, second.is_new) == (True, False)
    assert second.id == first.id
    assert second.importance == 3.0
    assert second.tags == ("drink", "wish")
    assert second.metadata == {"a": 1, "b": 2}
    assert [mention.metadata for mention in memory.timeline()] == [{"a": 1, "b": 1}, {"b": 2}]


def test_metadata_of_the_latest_saying_wins_even_when_it_is_told_first(memory: Memory) -> None:
    memory.remember("The price", metadata={"is": "new"}, at=NOW)
    late = memory.remember(
        "The price", metadata={"is": "old", "was": 1}, at=NOW - timedelta(days=1)
    )
    assert late.metadata == {"is": "new", "was": 1}


def test_importance_changes_only_when_given(memory: Memory) -> None:
    memory.remember("Oslo", importance=7)
    assert memory.remember("Oslo").importance == 7.0
    assert memory.remember("Oslo", importance=2).importance == 2.0


def test_many_are_remembered_in_one_transaction_or_not_at_all(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="white space"):
        memory.remember_many([{"content": "kept?"}, {"content": "  "}])
    assert memory.timeline() == []
    nodes = memory.remember_many(
        [Draft(content=f"thing {n}") for n in range(50)] + [{"content": "thing 0"}]
    )
    assert len(nodes) == 51
    assert nodes[0].id == nodes[50].id
    assert [m.content for m in memory.timeline()][-1] == "thing 0"
    assert memory.stats().nodes == 50


def test_no_drafts_are_no_work(memory: Memory) -> None:
    assert memory.remember_many([]) == []


def test_an_id_said_again_in_its_session_is_the_same_mention(memory: Memory) -> None:
    memory.remember("hello", id="m1", session="s")
    memory.remember("hello", id="m1", session="s")
    memory.remember("hello", id="m1", session="other")
    assert [(m.session, m.seq) for m in memory.timeline()] == [("s", 1), ("other", 1)] or len(
        memory.timeline()
    ) == 2
    assert len(memory.timeline(session="s")) == 1


def test_the_same_id_with_new_words_replaces_what_the_mention_says(memory: Memory) -> None:
    memory.remember("goodbye", id="m1", session="s", role="user")
    memory.remember("hello", id="m1", session="s", role="user")
    assert [(m.content, m.seq) for m in memory.timeline(session="s")] == [("hello", 1)]
    assert [hit.content for hit in memory.recall("goodbye", mode="text")] == []


def test_a_forgotten_mention_is_not_revived_by_its_id(memory: Memory) -> None:
    node = memory.remember("my secret", id="m1", session="s", role="user")
    memory.forget(node.id)
    memory.remember_many([{"content": "my secret", "id": "m1", "session": "s", "role": "user"}])
    assert memory.timeline(session="s") == []


def test_an_id_twice_in_one_batch_is_one_mention_with_the_last_words(memory: Memory) -> None:
    nodes = memory.remember_many([{"content": "one", "id": "x"}, {"content": "two", "id": "x"}])
    assert [m.content for m in memory.timeline()] == ["two"]
    assert len(nodes) == 2


def test_sessions_number_their_mentions_without_gaps(memory: Memory) -> None:
    memory.remember_many([{"content": f"m{n}", "session": "ab"[n % 2]} for n in range(6)])
    with pytest.raises(InvalidInput):
        memory.remember_many([{"content": "x", "session": "a"}, {"content": ""}])
    memory.remember("last", session="a")
    assert [(m.seq, m.content) for m in memory.timeline(session="a")] == [
        (1, "m0"),
        (2, "m2"),
        (3, "m4"),
        (4, "last"),
    ]


def test_payload_bytes_come_back_exactly(memory: Memory) -> None:
    raw = bytes(range(256)) + b"\x00\xed\xa0\x80"
    memory.remember("with bytes", payload=raw)
    assert memory.timeline()[0].payload == raw
    hit = memory.recall("with bytes")[0]
    assert hit.mention is not None
    assert hit.mention.payload == raw


def test_robots_of_a_tenant_share_and_are_told_apart(make: Make) -> None:
    with make("a") as a, make("b") as b:
        a.remember("The gate code is 4711.")
        b.remember("The gate code is 4711.")
        assert b.recall("gate code")[0].content == "The gate code is 4711."
        assert sorted(m.robot for m in b.who_said("gate code")) == ["a", "b"]
        assert [h.content for h in a.recall("gate code", robot="nobody")] == []
        hit = a.recall("gate code", robot="b")[0]
        assert [m.robot for m in hit.mentions] == ["b"]


def test_users_do_not_see_each_other_and_both_see_what_is_shared(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob, make() as shared:
        ann.remember("Ann's pin is 1234", tags=["pin"])
        bob.remember("Bob's pin is 9876")
        shared.remember("The office pin is 5555")
        assert {h.content for h in ann.recall("pin")} == {
            "Ann's pin is 1234",
            "The office pin is 5555",
        }
        assert {h.content for h in bob.recall("pin")} == {
            "Bob's pin is 9876",
            "The office pin is 5555",
        }
        assert {h.content for h in shared.recall("pin")} == {"The office pin is 5555"}
        assert len(ann.recall("pin", scope="tenant")) == 3
        assert ann.stats().nodes == 2


def test_the_same_words_of_two_users_are_two_nodes(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        mine = ann.remember("I like tea", importance=9, tags=["drink"])
        theirs = bob.remember("I like tea")
        assert mine.id != theirs.id
        assert (theirs.importance, theirs.tags) == (1.0, ())
        ann.forget(mine.id)
        assert bob.get(theirs.id).content == "I like tea"


def test_sessions_and_ids_of_two_users_do_not_meet(make: Make) -> None:
    with make(user="ann", session="s") as ann, make(user="bob", session="s") as bob:
        ann.remember("one", id="1")
        bob.remember("two", id="1")
        assert [(m.content, m.seq) for m in ann.timeline(session="s")] == [("one", 1)]
        assert [(m.content, m.seq) for m in bob.timeline(session="s")] == [("two", 1)]


@pytest.fixture
def sent(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this thread sends to the server, by the first words of each message."""
    memory.remember("the first, after which the tenant's rows are there")
    sent: list[str] = []
    real_wait, real_exchange = Connection.wait, Connection._exchange

    def wait(self: Connection, *given: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            sent.append("statement")
        return real_wait(self, *given, **options)

    def exchange(self: Connection, statements: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            sent.append(" ".join(statements[-1][0].split()[:2]))
        return real_exchange(self, statements, **options)

    monkeypatch.setattr(Connection, "wait", wait)
    monkeypatch.setattr(Connection, "_exchange", exchange)
    return sent


@pytest.mark.parametrize("metadata", [None, {"source": "mail", "page": 7}])
@pytest.mark.parametrize("id", [None, "m1"])
def test_remembering_a_new_text_takes_two_messages_to_the_server(
    memory: Memory, sent: list[str], metadata: dict[str, object] | None, id: str | None
) -> None:
    """One that begins the transaction and writes, and one that writes what follows from that and commits."""
    memory.remember("a new text", id=id, session="s", role="user", metadata=metadata)
    assert sent == ["select new_nodes,", "commit"]


@pytest.mark.parametrize(("id", "messages"), [("m1", 5), ("m2", 2), (None, 2)])
@pytest.mark.parametrize("by", ["by this process", "by another"])
def test_the_same_words_take_a_message_more_for_each_step_that_goes_by_what_is_not_known_here(
    make: Make, memory: Memory, sent: list[str], id: str | None, messages: int, by: str
) -> None:
    (memory if by == "by this process" else make("another")).remember(
        "a new text", id="m1", session="s"
    )
    sent.clear()
    memory.remember("a new text", id=id, session="s")
    assert len(sent) == messages + (by == "by another" and id != "m1")
    assert [(said.content, said.seq) for said in memory.timeline(session="s")] == [
        ("a new text", n + 1) for n in range(1 if id == "m1" else 2)
    ]


def test_texts_with_a_hundred_keys_take_no_more_messages_than_with_one(
    memory: Memory, sent: list[str]
) -> None:
    took = []
    for count in (1, 2, 100):
        for word in ("first", "second"):
            before = len(sent)
            memory.remember_many(
                [
                    {"content": f"{word} {n} of {count}", "key": f"{n} of {count}"}
                    for n in range(count)
                ]
            )
            took.append(len(sent) - before)
    assert took[2:4] == took[4:]


def test_a_key_that_is_given_several_values_in_one_call_has_each_as_a_version(
    memory: Memory,
) -> None:
    memory.remember("blue", key="colour")
    values = ["red", "red", "green", "blue"]
    nodes = memory.remember_many(
        [{"content": value, "key": key} for value in values for key in ("colour", "wall")]
    )
    assert [(node.content, node.version) for node in memory.history("colour")] == [
        ("blue", 1), ("red", 2), ("green", 3), ("blue", 4),
    ]  # fmt: skip
    assert [node.content for node in memory.history("wall")] == ["red", "green", "blue"]
    assert nodes[-1].version == 4
    found = memory.get("colour")
    assert found is not None
    assert (found.content, found.version, found.keys) == ("blue", 4, ("colour", "wall"))


def test_messages_with_and_without_ids_are_numbered_without_gaps_also_after_a_failure(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember_many([{"content": "one", "session": "s"}, {"content": "two", "session": "s"}])
    memory.remember_many(
        [{"content": "three", "session": "s", "id": "3"}, {"content": "four", "session": "s"}]
    )
    memory.remember_many(
        [{"content": "three", "session": "s", "id": "3"}, {"content": "five", "session": "s"}]
    )
    with monkeypatch.context() as patch:
        patch.setattr(memory._engine.working, "write", failing)
        with pytest.raises(StorageError):
            memory.remember("lost", session="s")
    memory.remember("six", session="s")
    assert [(m.seq, m.content) for m in memory.timeline(session="s")] == list(
        enumerate(["one", "two", "three", "four", "five", "six"], start=1)
    )


def failing(*_: Any, **__: Any) -> None:
    raise StorageError("the server is out of room")


@given(
    importance=st.none() | st.floats(0, 10),
    tags=st.sets(st.sampled_from(["a", "b:c", "d"])),
    metadata=st.dictionaries(
        st.sampled_from("xyz"), st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    ),
    at=st.none()
    | st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.timezones()),
    key=st.none() | st.sampled_from(["k1", "k2"]),
    role=st.none() | st.just("user"),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_remember_answers_with_the_node_that_get_reads(
    memory: Memory, key: str | None, **options: Any
) -> None:
    node = memory.remember(
        f"a text {uuid4()}",
        key=key,
        **{name: value for name, value in options.items() if value is not None},
    )
    assert replace(node, is_new=False) == memory.get(node.id)


def test_a_new_text_among_many_known_ones_is_not_put_behind_imports(make: Make) -> None:
    memory = make(settings=SETTINGS.model_copy(update={"worker": "off"}))
    memory.remember_many([{"content": f"known text {n}"} for n in range(20)])
    memory.flush()
    memory.remember_many(
        [{"content": f"known text {n}"} for n in range(20)] + [{"content": "the new one"}]
    )
    with memory._engine.transaction() as connection:
        rows = connection.execute("select bulk from jobs where kind = 'embed'").fetchall()
    assert rows == [{"bulk": False}]
