"""The context for a model: its order, and that it never has more tokens than the budget."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Context, Item
from htm_core.working.context import ORDERS, assemble

HOUR, DAY = 3600.0, 86_400.0
NOW = 100 * DAY


def words(text: str) -> int:
    """A tokenizer whose counts add up: words and line breaks."""
    return len(re.findall(r"\n|\S+", text))


def merging(text: str) -> int:
    """A tokenizer whose counts do not add up: up to seven characters of one kind are one token, also across a joint."""
    return len(re.findall(r"[a-z]{1,7}|[.\n]+|.", text, re.DOTALL))


def swelling(text: str) -> int:
    """A tokenizer that counts more for the whole than for the parts: each line costs the number of lines before it."""
    return len(text) + sum(range(len(text.splitlines())))


def framing(text: str) -> int:
    """A tokenizer that adds three tokens to every text, also to the empty one."""
    return 3 + len(text)


def item(id: str, content: str | None = None, *, tokens: int | None = None, **known: float) -> Item:
    """An item; `age` and `idle` are seconds since it was added and accessed."""
    content = id if content is None else content
    return Item(
        id=id,
        content=content,
        tokens=words(content) if tokens is None else tokens,
        importance=known.get("importance", 1.0),
        access_count=int(known.get("count", 0)),
        added_at=NOW - known.get("age", 0.0),
        accessed_at=NOW - known.get("idle", 0.0),
    )


def context(
    *items: Item, order: Any = "important", budget: Any = None, count: Any = words, **more: Any
) -> Context:
    return assemble(items, order=order, budget=budget, count=count, now=NOW, **more)


def ids(made: Context) -> list[str]:
    return [each.id for each in made.items]


def test_recent_puts_the_last_accessed_first() -> None:
    assert ids(
        context(item("a", idle=30), item("b", idle=10), item("c", idle=20), order="recent")
    ) == ["b", "c", "a"]


def test_important_puts_the_most_important_first() -> None:
    items = [item("a", importance=1), item("b", importance=9), item("c", importance=5)]
    assert ids(context(*items, order="important")) == ["b", "c", "a"]


def test_frequent_puts_the_most_accessed_first() -> None:
    assert ids(context(item("a", count=1), item("b", count=12), item("c"), order="frequent")) == [
        "b",
        "a",
        "c",
    ]


def test_balanced_weighs_importance_against_the_hours_since_it_was_added() -> None:
    """The example of the original design, by its own formula: 7 / (1 + 1/6) = 6, 6 / 2 = 3, 10 / 73 = 0.14."""
    debugging = item("debugging", importance=7, age=600)
    decision = item("decision", importance=10, age=3 * DAY)
    task = item("task", importance=6, age=HOUR)
    assert ids(context(decision, task, debugging, order="balanced")) == [
        "debugging",
        "task",
        "decision",
    ]
    scores = [ORDERS["balanced"](each, NOW) for each in (debugging, task, decision)]
    assert scores == pytest.approx([6.0, 3.0, 0.137], abs=0.001)


@pytest.mark.parametrize(("hours", "share"), [(0, 1.0), (1, 0.5), (3, 0.25), (24, 0.04)])
def test_balanced_decays_as_the_hyperbola_of_hours(hours: int, share: float) -> None:
    assert ORDERS["balanced"](item("a", importance=10, age=hours * HOUR), NOW) == pytest.approx(
        10 * share
    )


def test_balanced_by_access_weighs_uses_against_the_hours_since_the_last() -> None:
    items = [
        item("once", count=1),
        item("often", count=20, idle=DAY),
        item("some", count=4, idle=HOUR),
    ]
    assert ids(context(*items, order="balanced:access")) == ["some", "once", "often"]


def test_among_equals_the_last_accessed_comes_first_and_then_the_last_added() -> None:
    """Nothing was used yet, so every score of balanced:access is 0; the newest still come first."""
    items = [
        item("old", age=30, idle=30),
        item("b", age=9, idle=5),
        item("a", age=9, idle=5),
        item("c", age=8, idle=5),
    ]
    assert ids(context(*items, order="balanced:access")) == ["c", "a", "b", "old"]


def test_a_callable_is_an_order_whose_highest_score_comes_first() -> None:
    assert ids(
        context(item("a"), item("ccc"), item("bb"), order=lambda each, now: len(each.id))
    ) == ["ccc", "bb", "a"]


def test_what_does_not_fit_is_packed_past() -> None:
    """One large item at the top does not end, or empty, the context."""
    large = item("large", "word " * 50, importance=9)
    small = [item(f"small {n}", importance=8 - n) for n in range(3)]
    made = context(large, *small, budget=8)
    assert ids(made) == ["small 0", "small 1"]
    assert made.text == "small 0\n\nsmall 1"
    assert made.tokens == 6


def test_separators_count() -> None:
    items = [item("one"), item("two")]
    assert ids(context(*items, budget=4)) == ["one", "two"]
    assert ids(context(*items, budget=3)) == ["one"]
    assert context(*items, budget=2, separator=" ").text == "one two"


def test_without_a_budget_all_items_are_joined_and_counted() -> None:
    made = context(item("one two", importance=2), item("three"))
    assert (made.text, made.tokens) == ("one two\n\nthree", 5)


@pytest.mark.parametrize("budget", [0, 1, None])
def test_nothing_to_give_is_an_empty_context_of_no_tokens(budget: int | None) -> None:
    empty = Context(text="", items=(), tokens=0)
    assert context(budget=budget, count=framing) == empty
    if budget is not None:
        assert context(item("too much", tokens=2), budget=budget, count=framing) == empty


TEXTS = st.text("ab.\n x", max_size=25)
ITEMS = st.lists(
    st.builds(
        item, st.uuids().map(str), TEXTS, importance=st.integers(0, 3), age=st.integers(0, 9)
    ),
    max_size=12,
)


@pytest.mark.parametrize("count", [words, merging, swelling, framing, len])
@pytest.mark.parametrize("honest", [True, False])
@given(
    items=ITEMS, budget=st.integers(0, 90), separator=st.sampled_from(["\n\n", "", " ", ".\n--\n"])
)
def test_the_text_never_exceeds_its_budget_by_a_token_whatever_the_tokenizer(
    count: Any, honest: bool, items: list[Item], budget: int, separator: str
) -> None:
    """This also holds if items have the counts of another tokenizer; the joined text is counted as a whole."""
    if honest:
        items = [replace(each, tokens=count(each.content)) for each in items]
    made = context(*items, budget=budget, count=count, separator=separator)
    assert made.text == separator.join(each.content for each in made.items)
    assert made.tokens <= budget
    assert made.tokens == (count(made.text) if made.items else 0)


@given(items=ITEMS, budget=st.integers(0, 60))
def test_with_a_tokenizer_that_adds_up_it_is_the_greedy_packing_in_order(
    items: list[Item], budget: int
) -> None:
    items = [replace(each, tokens=len(each.content)) for each in items]
    greedy: list[Item] = []
    for each in sorted(
        items, key=lambda each: (-each.importance, -each.accessed_at, -each.added_at, each.id)
    ):
        if len("\n\n".join(each.content for each in [*greedy, each])) <= budget:
            greedy.append(each)
    assert list(context(*items, budget=budget, count=len).items) == greedy


def test_what_joining_saves_is_used() -> None:
    """A full stop and two line breaks are one token instead of two, so more fits than the sum of the sizes shows."""
    items = [item(f"{n}", "abc.", tokens=2, importance=9 - n) for n in range(10)]
    made = context(*items, budget=20, count=merging)
    assert len(made.items) == 10
    assert made.tokens == 20


@pytest.mark.parametrize("tokens", [0, 7])
def test_a_thousand_items_are_counted_a_few_times_and_not_one_by_one_over_a_growing_text(
    tokens: int,
) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return words(text)

    items = [
        item(f"n{n}", f"this is note number {n} of many", tokens=tokens or None)
        for n in range(1_000)
    ]
    made = context(*items, budget=4_500, count=count)
    assert len(made.items) == 500
    assert sum(counted) <= 5 * sum(len(each.content) + 2 for each in items)


@pytest.mark.parametrize("budget", [-1, math.nan, math.inf, 2.5, "8", True])
def test_a_budget_that_is_no_number_of_tokens_is_refused(budget: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"budget must be a whole number of tokens, 0 or more; got"
    ):
        context(item("a"), budget=budget)


@pytest.mark.parametrize("order", ["newest", "", None, 4])
def test_an_unknown_order_is_refused_and_the_known_ones_are_named(order: Any) -> None:
    known = '"recent", "important", "frequent", "balanced", "balanced:access", or a callable'
    with pytest.raises(InvalidInput, match=known):
        context(item("a"), order=order)


@pytest.mark.parametrize("answer", [math.nan, None, "high"])
def test_an_order_that_answers_no_number_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidInput, match="must return a number for every item"):
        context(item("a"), order=lambda each, now: answer)


@pytest.mark.parametrize("answer", [-1, 2.5, None, True])
def test_a_tokenizer_that_answers_no_number_of_tokens_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidInput, match="the tokenizer must return a whole number of tokens"):
        context(item("a"), budget=5, count=lambda text: answer)


def said(
    id: str,
    name: str | None,
    session: str | None,
    *,
    day: float = 0.0,
    seq: int = 0,
    **known: float,
) -> Item:
    """An item that was said on a day of January 1970."""
    return replace(item(id, **known), name=name, session=session, said_at=day * DAY, seq=seq)  # type: ignore[arg-type]


def test_a_transcript_says_who_and_when_once_per_change() -> None:
    made = context(
        said("I moved.", "ann", "a", seq=1, importance=1), said("To Oslo.", "ann", "a", seq=2, importance=3),
        said("Nice!", "ben", "a", seq=3, importance=2), said("Thanks.", "ann", "a", day=1, seq=4, importance=9),
        transcript=True, separator="\n",
    )  # fmt: skip
    assert made.text == "[1970-01-01 ann] I moved.\nTo Oslo.\n[ben] Nice!\n[1970-01-02 ann] Thanks."
    assert ids(made) == ["I moved.", "To Oslo.", "Nice!", "Thanks."]
    assert made.tokens == words(made.text)


def test_the_messages_of_a_session_stand_together_where_the_best_of_them_stands() -> None:
    items = [
        said("b2", "ann", "b", seq=2, importance=8), said("b1", "ann", "b", seq=1, importance=1),
        said("a1", "ann", "a", seq=1, importance=9), said("a2", "ann", "a", seq=2, importance=2),
        said("alone", "ann", None, importance=5),
    ]  # fmt: skip
    assert ids(context(*items, transcript=True)) == ["a1", "a2", "b1", "b2", "alone"]
    assert ids(context(*items, transcript=False)) == ["a1", "b2", "alone", "a2", "b1"]


def test_what_nobody_is_known_to_have_said_stands_as_it_is_and_is_not_taken_for_a_speakers_words() -> (
    None
):
    facts = [
        replace(item("fact one", importance=9), session="a"),
        replace(item("fact two", importance=8), session="a"),
    ]
    assert context(*facts, transcript=True).text == "fact one\n\nfact two"
    talk = [
        said("Hello.", "ann", "a", importance=5),
        replace(item("fact three", importance=4), said_at=0.0),
    ]
    text = context(*facts, *talk, transcript=True, separator="\n").text
    assert text == "fact one\nfact two\n[1970-01-01 ann] Hello.\n[1970-01-01] fact three"
    assert (
        context(talk[0], item("x", importance=4), transcript=True, separator="|").text
        == "[1970-01-01 ann] Hello.|[note] x"
    )


def test_a_role_stands_for_a_name_and_no_name_can_end_its_label() -> None:
    assert (
        context(replace(item("Hi."), role="user", said_at=0.0), transcript=True).text
        == "[1970-01-01 user] Hi."
    )
    assert context(said("Hi.", "a]\n[b", None), transcript=True).text == "[1970-01-01 a) (b] Hi."


def test_the_day_is_that_of_the_time_zone() -> None:
    late = replace(said("Hi.", "ann", None), said_at=23.5 * HOUR)
    assert (
        context(late, transcript=True, timezone=timezone(timedelta(hours=1))).text
        == "[1970-01-02 ann] Hi."
    )


TALK = st.lists(
    st.builds(
        said, st.text("ab. ", min_size=1, max_size=12), st.sampled_from([None, "ann", "b]"]),
        st.sampled_from([None, "s", "t"]), day=st.integers(0, 2), seq=st.integers(0, 5), importance=st.integers(0, 3),
    ),
    max_size=12,
)  # fmt: skip


@pytest.mark.parametrize("count", [words, merging, swelling, framing, len])
@given(items=TALK, budget=st.integers(0, 120), separator=st.sampled_from(["\n\n", "", " "]))
def test_a_transcript_never_exceeds_its_budget_and_its_count_is_exact(
    count: Any, items: list[Item], budget: int, separator: str
) -> None:
    items = [
        replace(each, id=str(place), tokens=count(each.content)) for place, each in enumerate(items)
    ]
    made = context(*items, budget=budget, count=count, separator=separator, transcript=True)
    assert made.tokens <= budget
    assert made.tokens == (count(made.text) if made.items else 0)
    assert len(set(ids(made))) == len(made.items)
    for session in ("s", "t"):
        talk = [each for each in made.items if each.name and each.session == session]
        assert talk == sorted(talk, key=lambda each: (each.said_at, each.seq))  # in order of time
        places = [place for place, each in enumerate(made.items) if each in talk]
        assert (
            places == list(range(places[0], places[0] + len(places))) if places else True
        )  # and together


@given(items=TALK)
def test_without_a_budget_a_transcript_has_all_items(items: list[Item]) -> None:
    items = [replace(each, id=str(place)) for place, each in enumerate(items)]
    assert sorted(ids(context(*items, transcript=True))) == sorted(each.id for each in items)


def test_room_that_labels_do_not_need_is_used() -> None:
    """A run by one speaker has one label, so about as many messages fit as without labels."""
    talk = [said(f"message number {n}", "ann", "s", seq=n, importance=50 - n) for n in range(50)]
    made = context(*talk, budget=102, count=words, transcript=True, separator="\n")
    assert len(made.items) == 25
    assert made.tokens == 101
