"""Sessions in which nobody is known: what is said there is nobody else's, and yet not lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from htm_core import anonymous, is_anonymous
from tests.conftest import Make

FACT = "The visitor's locker code is 4711."


def test_what_is_said_where_nobody_is_known_is_found_by_nobody_else(make: Make) -> None:
    make(user=anonymous("t1"), session="t1").remember(FACT)
    others = [
        make(),
        make(user="bob"),
        make(user=anonymous("t2"), session="t2"),
        make(user="bob", session="t1"),
    ]
    for other in others:
        assert list(other.recall("locker code")) == []
        assert other.who_said("locker code") == []
        assert other.list() == []
    assert list(make(user="bob", session="t1").recall("locker code", scope="session")) == []
    assert make(user="bob").timeline(session="t1") == []
    assert [hit.content for hit in make(user=anonymous("t1")).recall("locker code")] == [FACT]


def test_who_names_the_session_and_has_no_user_sees_it(make: Make) -> None:
    make(user=anonymous("t1"), session="t1").remember(FACT)
    make(session="t1").remember("Said for everyone in t1.")
    plain = make()
    assert {mention.content for mention in plain.timeline(session="t1")} == {
        FACT,
        "Said for everyone in t1.",
    }
    first = plain.timeline(session="t1", limit=1)
    assert {each.content for each in [*plain.timeline(session="t1", before=first[0]), *first]} == {
        FACT,
        "Said for everyone in t1.",
    }
    assert [hit.content for hit in plain.recall("locker code", session="t1")] == [FACT]
    assert [hit.content for hit in make(session="t1").recall("locker code", scope="session")] == [
        FACT
    ]
    assert plain.timeline(session="t2") == []
    assert [mention.content for mention in plain.timeline()] == [FACT, "Said for everyone in t1."]
    assert [mention.content for mention in make(user="bob").timeline()] == [
        "Said for everyone in t1."
    ]


def test_erasing_a_session_erases_it_there_too(make: Make) -> None:
    with make(user=anonymous("t1"), session="t1") as own:
        own.remember(FACT)
        receipt = make().erase(session="t1", confirm="confirmed")
        assert receipt.counts["mentions"] == 1
        assert list(own.recall("locker code")) == []
        assert own.working.tokens == 0
    make(user=anonymous("t1"), session="t1").remember(FACT)
    make(user="bob").erase(session="t1", confirm="confirmed")
    assert len(make().timeline(session="t1")) == 1


@given(st.text(min_size=1, max_size=255), st.text(min_size=1, max_size=255))
def test_each_session_has_a_user_of_its_own_that_is_a_name(one: str, other: str) -> None:
    assert (anonymous(one) == anonymous(other)) == (one == other)
    assert is_anonymous(anonymous(one))
    assert len(anonymous(one)) <= 255
    assert not is_anonymous("ann")
