"""Forgetting: hidden, brought back, purged, erased; and keys whose old values stay in history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from htm_core import Conflict, InvalidInput, Memory, Node, NotFound
from tests.conftest import Make


def test_what_is_forgotten_is_nowhere_until_it_is_restored(memory: Memory) -> None:
    node = memory.remember("The code is 1234", key="code", session="s", role="user")
    memory.forget(node.id)
    assert len(memory.recall("code 1234")) == 0
    assert memory.timeline() == []
    assert memory.who_said("code") == []
    assert memory.list() == []
    assert memory.log("s").tail() == []
    assert len(memory.working) == 0
    assert memory.context().text == ""
    with pytest.raises(NotFound):
        memory.get(node.id)
    assert len(memory.timeline(forgotten=True)) == 1
    memory.restore(node.id)
    assert memory.recall("code 1234")[0].node.id == node.id
    assert len(memory.timeline()) == 1


def test_forgetting_by_key_and_restoring_by_key(memory: Memory) -> None:
    memory.remember("blue", key="colour")
    memory.forget("colour")
    assert len(memory.recall("blue")) == 0
    assert memory.restore("colour").content == "blue"


def test_forgetting_twice_or_something_unknown_is_not_found(memory: Memory) -> None:
    node = memory.remember("x")
    memory.forget(node.id)
    with pytest.raises(NotFound):
        memory.forget(node.id)
    with pytest.raises(NotFound):
        memory.forget("no such key")
    with pytest.raises(NotFound):
        memory.restore("no such key")


def test_one_robots_mentions_are_withdrawn_and_the_node_goes_with_the_last(make: Make) -> None:
    with make("a") as a, make("b") as b:
        node = a.remember("It is so")
        b.remember("It is so")
        a.forget(node.id, robot="a")
        assert [m.robot for m in a.who_said("it is so")] == ["b"]
        b.forget(node.id, robot="b")
        assert len(b.recall("it is so")) == 0


def test_saying_forgotten_words_again_is_a_new_mention_and_revives_no_other(memory: Memory) -> None:
    node = memory.remember("again", session="s1")
    memory.forget(node.id)
    memory.remember("again", session="s2")
    assert [m.session for m in memory.timeline()] == ["s2"]
    assert memory.recall("again")[0].mentions[0].session == "s2"


def test_forgetting_reaches_every_working_memory_of_the_process(make: Make) -> None:
    with make("a") as a, make("b") as b:
        node = a.remember("shared thought")
        b.recall("shared thought")
        a.forget(node.id)
        assert len(b.working) == 0


def test_a_user_cannot_forget_what_is_shared_or_anothers(make: Make) -> None:
    with make() as shared, make(user="ann") as ann, make(user="bob") as bob:
        common = shared.remember("for all")
        mine = bob.remember("bob's own")
        for id in (common.id, mine.id):
            with pytest.raises(NotFound):
                ann.forget(id)
        assert shared.get(common.id)


def test_purge_erases_what_was_forgotten_longer_ago_and_keeps_the_sequence(make: Make) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    with make(clock=lambda: moment[0]) as memory:
        memory.remember("one", session="s")
        old = memory.remember("two", session="s", payload=b"secret", metadata={"a": 1}, tags=["t"])
        memory.forget(old.id)
        moment[0] += timedelta(days=40)
        recent = memory.remember("three", session="s")
        memory.forget(recent.id)
        with pytest.raises(InvalidInput, match="confirmed"):
            memory.purge(timedelta(days=30))
        assert memory.purge(timedelta(days=30), confirm="confirmed") == 1
        memory.restore(recent.id)
        with pytest.raises(NotFound):
            memory.restore(old.id)
        memory.remember("four", session="s")
        assert [(m.seq, m.content) for m in memory.timeline(session="s")] == [
            (1, "one"),
            (3, "three"),
            (4, "four"),
        ]
        assert memory.stats().passages == 3


def test_purged_words_can_be_said_again(memory: Memory) -> None:
    node = memory.remember("phoenix")
    memory.forget(node.id)
    assert memory.purge(timedelta(0), confirm="confirmed") == 1
    assert memory.remember("phoenix").is_new
    assert memory.recall("phoenix")[0].content == "phoenix"


def test_a_key_holds_its_newest_value_and_remembers_the_others(memory: Memory) -> None:
    first = memory.remember("lives in Paris", key="home")
    second = memory.revise("home", "lives in Rome", if_version=1)
    assert isinstance(second, Node)
    assert (first.version, second.version) == (1, 2)
    assert memory.get("home").content == "lives in Rome"
    assert [(node.version, node.content) for node in memory.history("home")] == [
        (1, "lives in Paris"),
        (2, "lives in Rome"),
    ]
    assert [hit.content for hit in memory.recall("lives in")] == ["lives in Rome"]


def test_a_lost_race_is_a_value_with_what_the_key_holds_now(memory: Memory) -> None:
    memory.remember("a", key="k")
    memory.revise("k", "b")
    lost = memory.revise("k", "c", if_version=1)
    assert isinstance(lost, Conflict)
    assert lost.current is not None
    assert lost.current.content == "b"
    assert memory.get("k").content == "b"
    assert len(memory.history("k")) == 2


def test_a_revision_can_forget_the_value_before_it_and_restore_brings_that_back(
    memory: Memory,
) -> None:
    first = memory.remember("I live in Oslo", key="home", session="s", role="user")
    assert isinstance(memory.revise("home", "I live in Rome", if_version=7, forget=True), Conflict)
    assert [node.id for node in memory.history("home")] == [first.id]
    memory.revise("home", "I live in Rome", forget=True)
    assert [node.content for node in memory.history("home")] == ["I live in Rome"]
    assert memory.who_said("Oslo") == []
    assert "Oslo" not in memory.context().text
    memory.revise("home", "I live in Rome", forget=True)  # the same value forgets nothing
    assert memory.get("home").content == "I live in Rome"
    memory.restore(first.id)
    assert [node.content for node in memory.history("home")] == ["I live in Oslo", "I live in Rome"]


def test_a_revision_forgets_only_what_its_own_key_said(memory: Memory) -> None:
    """Another key with the same value, and a chat in which the same words were said, lose nothing."""
    memory.remember("dark", key="theme")
    shared = memory.remember("dark", key="chocolate")
    chat = memory.log("chat")
    chat.append([{"content": "Porto", "role": "user"}, {"content": "Ok", "role": "assistant"}])
    memory.remember("Porto", key="home")
    memory.revise("theme", "light", forget=True)
    memory.revise("home", "Lisbon", forget=True)
    assert memory.get("chocolate").content == "dark"
    assert [node.content for node in memory.history("chocolate")] == ["dark"]
    assert [mention.content for mention in chat.tail()] == ["Porto", "Ok"]
    assert "dark" in memory.context().text
    assert [node.content for node in memory.history("theme")] == ["light"]
    assert [node.content for node in memory.history("home")] == ["Lisbon"]
    assert len(memory.timeline(forgotten=True)) == len(memory.timeline()) + 2
    memory.restore(shared.id)
    assert [node.content for node in memory.history("theme")] == ["dark", "light"]
    assert memory.get("theme").content == "light"
    assert memory.get("chocolate").content == "dark"


def test_a_key_that_holds_nothing_is_at_version_zero(memory: Memory) -> None:
    """Not yet, or not any more: who believes it at another version has lost a race to whoever forgot."""
    nothing = memory.revise("k", "a", if_version=3)
    assert isinstance(nothing, Conflict)
    assert nothing.current is None
    first = memory.revise("k", "a", if_version=0)
    assert isinstance(first, Node)
    assert isinstance(memory.revise("k", "b", if_version=0), Conflict)
    memory.forget("k")
    lost = memory.revise("k", "b", if_version=1)
    assert isinstance(lost, Conflict)
    assert lost.current is None
    again = memory.revise("k", "b", if_version=0)
    assert isinstance(again, Node)
    assert (again.version, memory.get("k").content) == (2, "b")


def test_words_that_were_also_said_without_the_key_leave_recall_with_its_value_and_come_back_with_it(
    memory: Memory,
) -> None:
    """Told in a chat, then kept under a key, then changed: what was said before the change is old, however it was said."""
    memory.remember("I don't eat meat", role="user", session="chat")
    memory.revise("diet", "I don't eat meat", source="assistant")
    memory.remember("I don't eat meat", role="user", session="chat")
    memory.revise("diet", "I eat chicken", source="assistant")
    assert [hit.content for hit in memory.recall("eat meat chicken")] == ["I eat chicken"]
    assert [item.content for item in memory.working.items] == ["I eat chicken"]
    assert [said.content for said in memory.timeline(session="chat")] == ["I don't eat meat"] * 2
    assert [node.content for node in memory.history("diet")] == [
        "I don't eat meat",
        "I eat chicken",
    ]
    memory.revise("diet", "I don't eat meat", source="assistant")
    [hit] = memory.recall("eat meat chicken")
    assert hit.content == "I don't eat meat"
    assert {said.source for said in hit.mentions} == {"user", "assistant"}


def test_words_that_are_said_again_after_their_key_has_another_value_are_recalled(
    memory: Memory,
) -> None:
    memory.remember("tea")
    memory.remember("tea", key="drink")
    memory.revise("drink", "coffee")
    assert {hit.content for hit in memory.recall("tea coffee")} == {"coffee"}
    memory.remember("tea")
    assert {hit.content for hit in memory.recall("tea coffee")} == {"tea", "coffee"}


def test_words_stay_while_another_key_has_them_and_when_their_key_is_erased(memory: Memory) -> None:
    memory.remember("dark")
    memory.remember("dark", key="theme")
    memory.remember("dark", key="chocolate")
    memory.revise("theme", "light")
    assert {hit.content for hit in memory.recall("dark light")} == {"dark", "light"}
    memory.revise("chocolate", "white")
    assert {hit.content for hit in memory.recall("dark light white")} == {"light", "white"}
    for key in ("theme", "chocolate"):
        memory.erase(key=key, confirm="confirmed")
    assert [hit.content for hit in memory.recall("dark light white")] == ["dark"]


def test_old_talk_that_is_imported_later_does_not_bring_back_a_former_value(memory: Memory) -> None:
    memory.remember("lives in Paris", key="home")
    memory.revise("home", "lives in Rome")
    memory.remember("lives in Paris", at=datetime.now(UTC) - timedelta(days=9))
    assert [hit.content for hit in memory.recall("lives in")] == ["lives in Rome"]
    assert len(memory.timeline()) == 3
    assert [item.content for item in memory.working.items] == ["lives in Rome"]


def test_a_key_can_return_to_an_old_value(memory: Memory) -> None:
    memory.remember("on", key="light")
    memory.revise("light", "off")
    memory.revise("light", "on")
    assert [(n.version, n.content) for n in memory.history("light")] == [
        (1, "on"),
        (2, "off"),
        (3, "on"),
    ]
    assert [h.content for h in memory.recall("on off")] == ["on"]


def test_keys_of_users_are_their_own_and_come_before_the_shared(make: Make) -> None:
    with make() as shared, make(user="ann") as ann, make(user="bob") as bob:
        shared.remember("english", key="language")
        ann.remember("norsk", key="language")
        assert ann.get("language").content == "norsk"
        assert bob.get("language").content == "english"


def test_a_key_that_looks_like_a_node_id_is_refused(memory: Memory) -> None:
    node = memory.remember("x")
    with pytest.raises(InvalidInput, match="node id"):
        memory.remember("y", key=node.id)


def test_erase_takes_everything_of_a_user_and_counts_it(make: Make) -> None:
    with make(user="ann", session="s") as ann, make() as admin:
        ann.remember("one", key="k")
        ann.remember("two", role="user")
        ann.flush()
        admin.remember("shared")
        with pytest.raises(InvalidInput):
            admin.erase(user="ann", session="s", confirm="confirmed")
        receipt = admin.erase(user="ann", confirm="confirmed")
        assert receipt.counts["nodes"] == 2
        assert receipt.counts["mentions"] == 2
        assert receipt.counts["vectors"] == 2
        assert ann.timeline(forgotten=True, session="s") == []
        assert len(ann.recall("one two", hold=False)) <= 1
        assert ann.working.tokens == 0
        assert admin.recall("shared")[0].content == "shared"


def test_erase_of_a_session_spares_what_others_mention(memory: Memory) -> None:
    memory.remember("both", session="a")
    memory.remember("both", session="b")
    memory.remember("only a", session="a")
    assert memory.erase(session="a", confirm="confirmed").counts["nodes"] == 1
    assert [m.content for m in memory.timeline()] == ["both"]


def test_erase_of_a_key_takes_every_version(memory: Memory) -> None:
    memory.remember("v1", key="k")
    memory.revise("k", "v2")
    memory.remember("other")
    memory.erase(key="k", confirm="confirmed")
    assert memory.history("k") == []
    assert [n.content for n in memory.list()] == ["other"]
