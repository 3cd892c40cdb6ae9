"""A question that is about what was said just before it is searched for with that; any other one as it is."""

from __future__ import annotations

import pytest

from htm_core.rules.text.follow_ups import MOST_LETTERS, refers_back, with_what_it_is_about

FOLLOW_UPS = [
    "and where is it?",
    "what did we send him for it?",
    "when's he in the office?",
    "and how much would that be for my boat?",
    "what did he say about next winter",
    "why?",
    "how much?",
    "when exactly?",
    "what about Oskar?",
    "and oskar?",
    "who else?",
    "did he keep it",
    "When does Tomas sell it?",
    "who goes there with us?",
    "Why is that?",
    "is it expensive?",
    "which one?",
    "How old is she",
    "since when?",
    "Who told you that?",
    "do i still need it?",
]
WHOLE = [
    "can i give my mother ibuprofen for her headache?",
    "What did Mila say about the telescope when she got it?",
    "does Jakob know when he comes?",
    "how many kids do i have and how old are they",
    "Who is the plumber that came in March?",
    "What did I say about that restaurant in Lyon?",
    "What is the plan for this week?",
    "what did I tell you last week",
    "who has our spare key?",
    "what time is it?",
    "is it raining?",
    "Why is it so hard to see through the panes?",
    "is there a pool?",
    "how are you?",
    "what?",
    "I told him yesterday.",
    "ok",
    "",
]


@pytest.mark.parametrize("question", FOLLOW_UPS)
def test_a_follow_up_is_known(question: str) -> None:
    assert refers_back(question)


@pytest.mark.parametrize("question", WHOLE)
def test_what_says_itself_what_it_is_about_is_searched_for_as_it_is(question: str) -> None:
    assert with_what_it_is_about(question, ["Who repaired the boiler?"]) == question


def test_a_follow_up_is_searched_for_with_the_message_before_it_and_no_older_one() -> None:
    before = ["Who has our key?", "When is the recital?"]
    assert with_what_it_is_about("and where is it?", before) == "When is the recital? and where is it?"
    assert with_what_it_is_about("and where is it?", []) == "and where is it?"


def test_several_follow_ups_go_back_to_what_all_of_them_are_about() -> None:
    before = ["Who has our key?", "When is the recital?", "and where is it?"]
    assert with_what_it_is_about("who plays there?", before) == "When is the recital? and where is it? who plays there?"


def test_of_a_long_message_before_it_the_end_counts() -> None:
    asked = with_what_it_is_about("why?", ["word " * 400 + "and then the boiler broke."])
    assert asked.endswith("word and then the boiler broke. why?")
    assert len(asked) <= MOST_LETTERS + len(" why?")
