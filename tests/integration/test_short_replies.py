"""A short reply is recalled with the question that it answers."""

from __future__ import annotations

import pytest

from htm_core import Memory
from htm_core.prompt.choices import check_choices
from htm_core.prompt.origin import trusted
from htm_core.prompt.overview import recall_or_overview
from htm_core.prompt.recalled_block import passage_of
from htm_core.prompt.scope import scope_of
from tests.conftest import Make

ASKED = "Welcome, Annika! When will she join the rotation?"


@pytest.fixture
def memory(make: Make) -> Memory:
    memory = make(user="sam")
    talk = memory.of(session="monday")
    for role, text in [
        ("user", "Annika from payments starts on Monday."),
        ("assistant", ASKED),
        ("user", "in january"),
    ]:
        talk.remember(text, role=role)
    return memory


def answered(
    memory: Memory, query: str = "january", *, min_trust: int = 0, **narrowed: object
) -> dict[str, str | None]:
    """The hits for a query, each with the question that it answers."""
    choices = check_choices(limit=8, **narrowed)  # type: ignore[arg-type]
    found = recall_or_overview(
        memory, query, choices=choices, scope=scope_of(memory), limit=8, min_score=0.0
    )
    return {hit.content: passage_of(hit).answers for hit in trusted(found, min_trust)}


def test_a_short_reply_comes_with_the_question_before_it_and_nothing_else_does(
    memory: Memory,
) -> None:
    found = answered(memory, "january annika payments rotation")
    assert found["in january"] == "When will she join the rotation?"
    assert set(found.values()) == {None, "When will she join the rotation?"}


@pytest.mark.parametrize(
    ("before", "reply"),
    [
        ("I have noted it.", "in january"),  # no question
        ("When will she join? Anyway, welcome.", "in january"),  # not at the end
        (ASKED, "She joins in January, as far as anybody can say today."),  # says what it is about
        (ASKED, "when in january?"),  # asks itself
    ],
)
def test_what_is_no_short_reply_to_a_question_stands_alone(
    make: Make, before: str, reply: str
) -> None:
    memory = make(user="sam")
    talk = memory.of(session="monday")
    talk.remember(before, role="assistant")
    talk.remember(reply, role="user")
    assert answered(memory)[reply] is None


def test_a_question_that_recall_is_not_asked_for_is_not_shown(memory: Memory) -> None:
    assert answered(memory, timeframe="today")["in january"] is None
    assert answered(memory, min_trust=4) == {"in january": None}
    memory.forget(next(hit for hit in memory.recall(ASKED) if hit.content == ASKED).node.id)
    assert answered(memory)["in january"] is None


def test_what_was_asked_before_something_that_was_forgotten_is_not_what_was_answered(
    make: Make,
) -> None:
    memory = make(user="sam").of(session="monday")
    said = [("assistant", "Do you smoke?"), ("user", "I never have, not once in all my life, nor did my parents ever."),
            ("assistant", "Do you like jazz?"), ("user", "Yes, every day.")]  # fmt: skip
    log = memory.log()
    mentions = log.append([{"content": text, "role": role} for role, text in said])
    assert answered(memory, "every day")["Yes, every day."] == "Do you like jazz?"
    log.remove(mentions[1:3], forget=True)
    assert answered(memory, "every day")["Yes, every day."] is None


def test_a_question_to_somebody_else_is_not_shown(memory: Memory) -> None:
    memory.of(user="bob", session="monday").remember("in march", role="user")
    assert answered(memory.of(user="bob", session="friday"), "march") == {"in march": None}


MONEY = [
    ("user", "Sigrid can't come in October, she has a new job. I cancelled Madeira."),
    ("assistant", "I'm sorry. Did you get the money back?"),
    (
        "user",
        "80 percent of it. I'm going alone to São Miguel instead, 5 to 14 October, staying at Casa Teófilo near Furnas.",
    ),
]


def test_a_message_that_begins_with_a_short_reply_comes_with_the_question_too(make: Make) -> None:
    talk = make(user="nora").of(session="trip")
    for role, text in MONEY:
        talk.remember(text, role=role)
    assert answered(talk, "Casa Teófilo")[MONEY[2][1]] == "Did you get the money back?"


@pytest.mark.parametrize(
    "reply",
    [
        "Why do you ask? I am going alone to São Miguel instead, and I am staying at Casa Teófilo near Furnas.",
        "Sure. " + "I am going alone to São Miguel. " * 12,
    ],
)  # fmt: skip
def test_what_begins_with_a_question_or_is_long_says_itself_what_it_is_about(
    make: Make, reply: str
) -> None:
    talk = make(user="nora").of(session="trip")
    for role, text in [*MONEY[:2], ("user", reply)]:
        talk.remember(text, role=role)
    assert answered(talk, "alone São Miguel")[reply] is None
