"""Which messages ask about a conversation as a whole or about the user, and which ask nothing."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.overview_questions import counted, kind, questions
from htm_core.rules.summaries.extract import Spoken, by_worth
from htm_core.rules.text.overview_questions import LONGEST, asked_time, asks_nothing, overview_question

NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)


def test_questions_about_a_whole_are_told_from_those_about_a_thing() -> None:
    """Of at least 190 labelled questions, of which those of the first half were in view when the rule was written."""
    rows = questions()
    hits, false, missed = counted(rows)
    assert len(rows) >= 190
    assert hits / (hits + false) >= 0.98
    assert hits / (hits + missed) >= 0.9


@pytest.mark.parametrize(
    "question",
    [
        "What did we say about the roof last time?",
        "What did we talk about with Anna?",
        "Summarise our last conversation about the loan.",
        "Summarise this conversation.",
        "What do you know about me and Tom?",
        "Who am I meeting?",
        "What did I tell the plumber yesterday?",
        "What happened?",
        "What happened yesterday?",
        "Where are we?",
        "Continue.",
        "What did we talk about last time? And what time is my flight?",
        "What do you know about me? " * 10,
    ],
)
def test_a_question_that_names_anything_else_is_a_search(question: str) -> None:
    assert kind(question) == "none"


@pytest.mark.parametrize(
    ("question", "asks_about"),
    [
        ("what did I work on on Monday?", "time"),
        ("What were we working on yesterday?", "time"),
        ("what have I been working on this week", "time"),
        ("what did we work on last time?", "last"),
        ("What was my last question to you about?", "last"),
        ("what was the last thing I told you?", "last"),
        ("what were my last messages", "last"),
        ("What was the last question on the exam?", "none"),
        ("what did Tomasz work on on Monday?", "none"),
        ("what did I work on at Integra?", "none"),
        ("what was the last thing I told Joe?", "none"),
        ("Which bike was I working on yesterday?", "none"),
    ],
)
def test_what_was_worked_on_at_a_time_and_what_was_asked_last_are_questions_about_conversations(
    question: str, asks_about: str
) -> None:
    assert kind(question) == asks_about


def test_a_time_says_which_conversations_are_meant() -> None:
    asked = overview_question("What did we discuss on November 16?", now=NOW)
    assert asked is not None
    assert [(window.start, window.stop) for window in asked.windows] == [
        (datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 17, tzinfo=UTC))
    ]
    last = overview_question("What did we discuss last time?", now=NOW)
    assert last is not None
    assert last.windows == ()


@pytest.mark.parametrize(
    "question",
    ["What happened last week?", "anything new last week", "Was there anything interesting this month?", "what happend last week",
     "summarise the last month", "Give me a summary of November, please", "catch me up on last week", "What's new since Monday?",
     "Recap of this week?", "what was going on in October"],
)  # fmt: skip
def test_a_question_that_names_a_time_alone_is_about_what_was_said_then(question: str) -> None:
    assert kind(question) == "time"


@pytest.mark.parametrize(
    "question",
    ["What happened in Paris last week?", "What happened to the boiler last month?", "Summarise the report of last week.",
     "What happened last night?", "What will be new next week?", "What happened next week?", "Is there anything new from Anna this week?",
     "Summarise the paper from 2019", "What changed in the schema last week?", "Write up last week"],
)  # fmt: skip
def test_a_time_beside_something_else_is_a_search(question: str) -> None:
    assert kind(question) == "none"


@pytest.mark.parametrize("greeting", ["Hi! ", "Hello again, ", "ok so ", "Thanks!\n"])
def test_a_greeting_before_the_question_changes_nothing(greeting: str) -> None:
    assert kind(f"{greeting}what do you know about me?") == "me"


@pytest.mark.parametrize("message", ["ok", "?", "\U0001f44d", "Thanks!", "sounds good", "haha", "go on"])
def test_a_message_without_a_topic_asks_nothing(message: str) -> None:
    assert asks_nothing(message)


@pytest.mark.parametrize("message", ["yes", "no", "42", "the blue one", "why?", "and Tom?", "Lisbon", "\u4f60\u597d"])
def test_an_answer_or_a_short_question_asks_something(message: str) -> None:
    assert not asks_nothing(message)


@pytest.mark.parametrize(
    "part", ["so ", "tell me ", "tell me about ", "what all ", "of ", "do you know ", "what we ", "last time "]
)
def test_repeated_words_take_no_long_time(part: str) -> None:
    """Twenty of the longest texts take less than a second of CPU time; milliseconds where nothing is tried twice."""
    began = time.process_time()
    for _ in range(20):
        overview_question(f"{(part * LONGEST)[: LONGEST - 1]}x", now=NOW)
    assert time.process_time() - began < 1.0


@given(st.text(max_size=2 * LONGEST))
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = overview_question(text, now=NOW)
    assert found is None or len(text) <= LONGEST


@given(
    st.lists(
        st.sampled_from(["I sold the red boat", "thanks", "the boat is red", "", "Oslo is cold in May"]), max_size=12
    )
)
def test_every_message_has_one_place_by_worth_and_what_says_nothing_comes_last(said: list[str]) -> None:
    order = by_worth([Spoken(each) for each in said])
    assert sorted(order) == list(range(len(said)))
    empty = [said[place] in ("thanks", "") for place in order]
    assert empty == sorted(empty)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("words", ["recap of ", "please again ", "tell me about ", "what all else ", "so well now "])
def test_words_that_are_repeated_without_end_are_read_at_once(words: str) -> None:
    """Patterns that try each way to read a repetition took half a minute for these."""
    assert overview_question((words * 40)[:159] + "?", now=datetime(2026, 11, 26, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "question", ["How did my last talk go?", "What was my talk about on Friday?", "The last session."]
)
def test_a_talk_or_a_session_that_is_not_ours_is_no_conversation(question: str) -> None:
    assert overview_question(question, now=datetime(2026, 11, 26, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what did I do on 9 may?", "2026-05-09", "2026-05-09"),
        ("What happened on Valentine's day", "2026-02-14", "2026-02-14"),
        ("where was i on saturday?", "2026-06-27", "2026-06-27"),
        ("What did we do last weekend?", "2026-06-27", "2026-06-28"),
        ("who did i meet on 3 may", "2026-05-03", "2026-05-03"),
    ],
)
def test_what_was_done_at_a_time_may_have_been_told_then(question: str, first: str, last: str) -> None:
    now = datetime(2026, 6, 30, 18, tzinfo=UTC)
    [window] = asked_time(question, now=now, timezone=UTC)
    assert window.start is not None
    assert window.stop is not None
    assert (window.start.date().isoformat(), (window.stop - timedelta(days=1)).date().isoformat()) == (first, last)
    assert overview_question(question, now=now, timezone=UTC) is None


@pytest.mark.parametrize(
    "question",
    [
        "What did I do about the roof on Monday?",
        "What happened with Mr Fenwick in May?",
        "What happened last week?",  # a conversation as a whole
        "What will I do on 9 July?",
        "What did we do?",
        "What did I do tomorrow?",
        "ok",
    ],
)
def test_what_names_more_or_no_past_time_asks_for_no_time_alone(question: str) -> None:
    assert asked_time(question, now=datetime(2026, 6, 30, 18, tzinfo=UTC), timezone=UTC) == ()
