"""A text that is too long for a request loses its middle, and says so."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from htm_core.prompt.shorten import (
    ATTACHMENTS_LEFT_OUT,
    Parts,
    Shortener,
    cut_middle,
    texts_within,
    with_texts_within,
)

OVERHEAD = 4
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def shortener() -> Shortener[str]:
    return Shortener(
        lambda text: OVERHEAD + len(text.split()),
        lambda text: Parts([text], lambda texts: texts[0], lambda plain: plain),
    )


@given(st.text(max_size=2_000), st.integers(0, 2_100))
def test_a_cut_text_is_never_longer_than_its_limit(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut) <= limit or cut == text
    assert (cut == text) == (len(text) <= limit)


def test_what_is_left_of_a_text_is_its_beginning_and_its_end_and_how_much_is_gone() -> None:
    text = "BEGIN " + "x" * 200_000 + " END"
    cut = cut_middle(text, 1_000)
    assert cut.startswith("BEGIN ")
    assert cut.endswith(" END")
    notice = next(line for line in cut.splitlines() if line.startswith("[…"))
    gone = int(notice.split()[1].replace(",", ""))
    assert len(text) - gone == len(cut) - len(notice) - 2
    assert (
        "The log of this conversation has the whole message, and recall finds passages of it"
        in notice
    )


def test_where_the_notice_would_take_most_of_the_room_a_short_one_stands() -> None:
    assert "999,9" in cut_middle("y" * 1_000_000, 100)
    assert "recall" not in cut_middle("y" * 1_000_000, 100)
    assert cut_middle("y" * 1_000_000, 10) == "y" * 10


@given(st.lists(st.integers(0, 400).map(lambda n: "word " * n), max_size=6), st.integers(0, 500))
def test_shortened_messages_fit_and_short_ones_stay_whole(messages: list[str], room: int) -> None:
    shown = shortener().shorten(messages, room=room)
    if shown is None:
        assert OVERHEAD * len(messages) > room
        return
    assert sum(OVERHEAD + len(each.split()) for each in shown) <= room
    whole = [len(was) for was, now in zip(messages, shown, strict=True) if was == now]
    cut = [len(now) for was, now in zip(messages, shown, strict=True) if was != now]
    assert not cut or max(cut) >= max(whole, default=0)


def test_most_of_the_room_is_used() -> None:
    (shown,) = shortener().shorten(["word " * 100_000], room=1_000) or [""]
    assert 800 < len(shown.split()) <= 1_000


def test_a_message_that_cannot_be_cut_is_shown_by_its_words_which_say_what_is_missing() -> None:
    made: Shortener[str] = Shortener(
        lambda text: 10_000 if text.startswith("picture") else len(text.split()),
        lambda text: Parts(
            ["what is this?"], lambda texts: f"picture {texts[0]}", lambda plain: plain
        ),
    )
    assert made.shorten(["picture what is this?"], room=100) is None
    assert (
        made.shorten_to_words("picture what is this?", room=100)
        == f"what is this?\n{ATTACHMENTS_LEFT_OUT}"
    )
    assert made.shorten_to_words("picture what is this?", room=0) == ""


@given(values)
def test_the_texts_within_a_value_are_found_and_put_back_in_their_places(value: object) -> None:
    texts = texts_within(value)
    assert json.dumps(with_texts_within(value, iter(texts))) == json.dumps(value)
    assert texts_within(with_texts_within(value, iter("z" for _ in texts))) == ["z"] * len(texts)
