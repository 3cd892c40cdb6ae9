"""Messages that a client sends again are known by their ids, or by what was said and where."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from htm_core.prompt.resent import Line, Recognised, recognise


def lines(text: str, ids: str = "") -> list[Line]:
    """Words such as "h:hi a:hello t:21": h is a person's, a an answer, t the result of a tool."""
    names = ids.split() or [None] * len(text.split())
    return [
        Line(word, by_person=word.startswith("h"), is_spoken=not word.startswith("t"), id=name)
        for word, name in zip(text.split(), names, strict=True)
    ]


def known(sent: str, log: str) -> Recognised:
    return recognise(lines(sent), lines(log))


@pytest.mark.parametrize(
    ("sent", "log", "places", "left"),
    [
        ("h:1 a:1 h:2", "h:1 a:1", (0, 1, None), ()),
        ("h:1 a:1 h:2", "", (None, None, None), ()),
        ("h:ok a:Noted h:ok", "h:ok a:Noted", (0, 1, None), ()),
        ("h:ok a:Noted h:ok a:Noted h:ok", "h:ok a:Noted h:ok a:Noted", (0, 1, 2, 3, None), ()),
        ("h:ok", "h:ok a:Noted", (None,), ()),
        ("h:ok", "h:ok", (None,), ()),
        ("h:1 h:2", "h:1", (0, None), ()),
        ("h:hi h:2", "h:hi a:hello", (None, None), ()),
        ("h:3 a:3 h:4", "h:1 a:1 h:2 a:2 h:3 a:3", (4, 5, None), ()),
        ("h:new a:new h:ok", "h:1 a:1 h:ok a:ok", (None, None, None), ()),
        ("h:today a:ok h:1 a:1 h:2", "h:1 a:1", (None, None, 0, 1, None), ()),
        ("h:1 a:1 h:2", "h:1 t:call t:result a:1", (0, 3, None), ()),
        ("h:1 t:call t:result a:1 h:2", "h:1 t:call t:result a:1", (0, 1, 2, 3, None), ()),
        ("h:1 t:call t:same t:call t:same a:1 h:2", "h:1 t:call t:same t:call t:same a:1", (0, 1, 2, 3, 4, 5, None), ()),
        ("h:1 t:call t:result", "h:1 t:call", (0, 1, None), ()),
    ],
)  # fmt: skip
def test_what_the_log_has_is_known_and_the_rest_is_new(
    sent: str, log: str, places: tuple[int | None, ...], left: tuple[int, ...]
) -> None:
    assert known(sent, log) == Recognised(places, left)


@pytest.mark.parametrize(
    ("sent", "log", "places", "left"),
    [
        ("h:1 a:1 h:other", "h:1 a:1 h:2 a:2", (0, 1, None), (2, 3)),
        ("h:1 a:edited h:2", "h:1 a:1 h:2 a:2", (0, None, None), (1, 2, 3)),
        ("h:1 a:1 h:other", "h:1 a:1 h:2 t:call t:result a:2", (0, 1, None), (2, 3, 4, 5)),
        ("h:1 a:1", "h:1 a:1 h:2 a:2", (0, 1), (2, 3)),
    ],
)  # fmt: skip
def test_where_it_differs_it_goes_another_way(
    sent: str, log: str, places: tuple[int | None, ...], left: tuple[int, ...]
) -> None:
    assert known(sent, log) == Recognised(places, left)


def test_ids_count_more_than_words() -> None:
    log = lines("h:1 a:1 h:2 a:2", "w x y z")
    assert recognise(lines("h:1", "w"), log) == Recognised((0,), (1, 2, 3))
    assert recognise(lines("h:1 a:1 h:2", "w x new"), log) == Recognised((0, 1, None), (2, 3))
    assert recognise(lines("h:edited a:3", "y new"), log) == Recognised((2, None), (3,))
    assert recognise(lines("h:2 a:2 h:3", "y z new"), log) == Recognised((2, 3, None), ())


TURNS = st.lists(
    st.tuples(st.sampled_from(["ok", "yes", "no"]), st.sampled_from(["Noted", "Fine"])), max_size=8
)


@given(TURNS, st.text("abc", max_size=3))
def test_a_client_that_sends_everything_again_says_only_the_last_message(
    turns: list[tuple[str, str]], last: str
) -> None:
    log = lines(" ".join(f"h:{question} a:{answer}" for question, answer in turns))
    sent = [*log, Line(f"h:{last}", by_person=True)]
    assert recognise(sent, log) == Recognised((*range(len(log)), None), ())


@given(TURNS, st.integers(0, 6))
def test_a_client_that_sends_the_last_turns_again_says_only_the_last_message(
    turns: list[tuple[str, str]], dropped: int
) -> None:
    log = lines(
        " ".join(f"h:{at}{question} a:{answer}" for at, (question, answer) in enumerate(turns))
    )
    part = log[2 * min(dropped, max(0, len(turns) - 1)) :]
    places = recognise([*part, Line("h:new", by_person=True)], log).places
    assert places == (*range(len(log) - len(part), len(log)), None)


@given(st.lists(st.sampled_from(["h:a", "h:b", "a:a", "a:b", "t:a"]), max_size=8),
       st.lists(st.sampled_from(["h:a", "h:b", "a:a", "a:b", "t:a"]), max_size=8))  # fmt: skip
def test_no_message_is_taken_for_another_and_none_of_the_log_for_two(
    sent: list[str], log: list[str]
) -> None:
    ours, theirs = lines(" ".join(sent)), lines(" ".join(log))
    found = recognise(ours, theirs)
    taken = [place for place in found.places if place is not None]
    assert len(found.places) == len(ours)
    assert len(taken) == len(set(taken))
    assert not set(taken) & set(found.left)
    assert all(
        place is None or ours[at].words == theirs[place].words
        for at, place in enumerate(found.places)
    )


@pytest.mark.parametrize(
    ("sent", "ids", "log", "places", "left"),
    [
        ("h:1 a:1 h:2 a:2 h:3", "w - y - new", "h:1 a:1 h:2 a:2", (0, 1, 2, 3, None), ()),
        ("a:1 h:2 a:2 h:3", "- y - new", "h:1 a:1 h:2 a:2", (1, 2, 3, None), ()),
        ("h:1 a:1 h:ok", "w - new", "h:1 a:1 h:ok a:2", (0, 1, None), (2, 3)),
        ("h:1 a:edited h:2", "w - y", "h:1 a:1 h:2 a:2", (0, None, 2), (1, 3)),
        ("h:1 a:1 h:2 a:2", "- - q r", "h:1 a:1 h:x a:x h:2 a:2", (0, 1, 4, 5), (2, 3)),
        ("h:1 a:1 h:3", "w - new", "h:1 t:1 a:1", (0, 2, None), ()),
    ],
)  # fmt: skip
def test_among_known_ids_the_others_are_known_by_their_words(
    sent: str, ids: str, log: str, places: tuple[int | None, ...], left: tuple[int, ...]
) -> None:
    names = "w x y z q r"[: 2 * len(log.split()) - 1]
    given = [
        Line(each.words, each.by_person, each.is_spoken, None if each.id == "-" else each.id)
        for each in lines(sent, ids)
    ]
    assert recognise(given, lines(log, names)) == Recognised(places, left)


def test_the_last_answer_is_known_when_a_person_speaks_after_it() -> None:
    assert known("a:2 h:new", "h:1 a:1 h:2 a:2") == Recognised((3, None), ())
    assert known("a:1 h:new", "h:1 a:1 h:2 a:2") == Recognised((None, None), ())
    assert known("a:2 a:new", "h:1 a:1 h:2 a:2") == Recognised((None, None), ())


@given(st.lists(st.tuples(st.sampled_from(["h:a", "h:b", "a:a", "a:b", "t:a"]), st.integers(0, 9)), max_size=8),
       st.lists(st.sampled_from(["h:a", "h:b", "a:a", "a:b", "t:a"]), max_size=8))  # fmt: skip
@example([("a:a", 0), ("h:a", 3), ("h:a", 0), ("h:a", 1)], ["a:a", "h:a", "h:a", "h:a"])
@example([("a:a", 0), ("h:a", 3), ("h:a", 1)], ["a:a", "h:a", "h:a", "h:a"])
def test_with_ids_on_some_no_message_of_the_log_is_taken_for_two(
    sent: list[tuple[str, int]], log: list[str]
) -> None:
    numbers = list(dict.fromkeys(number for _, number in sent))
    ours = [
        Line(words, words.startswith("h"), not words.startswith("t"), str(number) if numbers.pop(0) % 2 else None)
        for words, number in sent if numbers
    ]  # fmt: skip
    theirs = lines(" ".join(log), " ".join(map(str, range(len(log)))))
    found = recognise(ours, theirs)
    taken = [place for place in found.places if place is not None]
    assert len(found.places) == len(ours)
    if len({each.id for each in ours if each.id}) == sum(each.id is not None for each in ours):
        assert len(taken) == len(set(taken))
    assert not set(taken) & set(found.left)
    assert len(found.left) == len(set(found.left))
