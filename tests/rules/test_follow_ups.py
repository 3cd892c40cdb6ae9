"""A question that leans on what was said before it is known, and is searched for with what it leans on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.prompt.follow_ups import SaidBefore, fused, queries_of
from htm_core.prompt.leaning_questions import asks_further


@pytest.mark.parametrize(
    "question",
    [
        "and the other one?", "and how full?", "no, I meant by how much", "no I mean what does he review", "in which table?",
        "and who is her husband?", "why did she leave the company?", "since when?", "which one?", "what about Alma?", "why is that?",
        "and his wife", "did they answer?", "when was that", "sorry i meant the kitchen", "by whom?",
        "same for the bedroom?", "is it still there?", "not that one, the red one", "how old is she",
        "and where is it?", "what did we send him for it?", "when's he in the office?", "and how much would that be for my boat?",
        "what did he say about next winter", "why?", "how much?", "when exactly?", "what about Oskar?", "and oskar?", "did he keep it",
        "Why is that?", "is it expensive?", "How old is she", "Who told you that?",
        "do i still need it?",
    ],
)  # fmt: skip
def test_a_question_without_what_it_is_about_leans_on_what_was_said(question: str) -> None:
    assert asks_further(question)


@pytest.mark.parametrize(
    "question",
    [
        "whats my door code again", "is Jonas leaving the office?", "did the landlord say when he comes?", "where do I live?",
        "Does Hanna like her job?", "and what did Mariam Haddad say about the library?",
        "is there a pharmacy near my flat?", "is it true that the rent goes up in January?",         "What movies have both Joanna and Nate seen?", "What is one of Joanna's favorite movies?",
        "can i give my mother ibuprofen for her headache?", "What did Mila say about the telescope when she got it?",
        "does Jakob know when he comes?", "how many kids do i have and how old are they", "Who is the plumber that came in March?",
        "What is the plan for this week?", "what did I tell you last week",
        "who has our spare key?", "Why is it so hard to see through the panes?",         "I told him yesterday.", "ok",
        # what tells something asks nothing
        "and only after five pm", "No, thanks", "no", "ok deal", "and put milk on the list",         "and Wren wants pgbouncer in front, transaction mode", "and they changed the door code to 4086 because of the burglary", "thanks!", "",
    ],
)  # fmt: skip
def test_a_question_that_names_what_it_is_about_stands_by_itself(question: str) -> None:
    assert not asks_further(question)


def turns(*said: str) -> list[SaidBefore]:
    """What a person and an assistant said in turn."""
    return [SaidBefore(text, by_person=at % 2 == 0) for at, text in enumerate(said)]


def test_a_question_without_words_of_its_own_is_searched_for_with_the_one_before_and_its_answer() -> (
    None
):
    earlier = turns("When does my rent go up?", "In January 2027. Shall I remind you?")
    assert queries_of("by how much?", earlier) == (
        "When does my rent go up? In January 2027. by how much?",
    )


def test_a_question_with_words_of_its_own_is_searched_for_alone_as_well() -> None:
    earlier = turns("What did Hanna study?", "Law.")
    assert queries_of("why did she leave the company?", earlier) == (
        "why did she leave the company?",
        "What did Hanna study? Law. why did she leave the company?",
    )


def test_a_chain_of_such_questions_goes_back_to_the_one_that_stands_by_itself() -> None:
    earlier = turns(
        "Where is my bike?", "In the cellar.", "thanks!", "Gladly.", "since when?", "Since May."
    )
    assert queries_of("and why?", earlier) == ("Where is my bike? since when? Since May. and why?",)


def test_a_question_that_stands_by_itself_and_one_that_begins_a_conversation_stay_as_they_are() -> (
    None
):
    assert queries_of("Where is my bike?", turns("What did Hanna study?", "Law.")) == (
        "Where is my bike?",
    )
    assert queries_of("and why?", []) == ("and why?",)
    assert queries_of(
        "and why?",
        [SaidBefore("I am here.", by_person=False), SaidBefore("thanks", by_person=True)],
    ) == ("and why?",)


def test_a_long_answer_and_one_that_asks_back_are_no_part_of_the_query() -> None:
    assert queries_of("which one?", turns("A bike?", "Do you mean the red one?")) == (
        "A bike? which one?",
    )
    assert queries_of("which one?", turns("A bike?", "word " * 100)) == ("A bike? which one?",)
    assert len(queries_of("which one?", turns("bike " * 1_000, "Red."))[0]) < 400


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=4))
def test_any_words_are_searched_for_as_they_are_or_after_what_was_said(
    question: str, said: list[str]
) -> None:
    for query in queries_of(question, turns(*said)):
        assert query.strip().endswith(question.strip())


def test_what_several_queries_find_comes_by_place_and_not_by_how_well_it_answers_one_of_them() -> (
    None
):
    alone = [("own", 0.1), ("wanted", 0.2)]
    before = [("earlier topic", 0.9), ("wanted", 0.3)]
    found = fused([alone, before], id_of=lambda hit: hit[0], worth=lambda hit: (hit[1], 0.0))
    assert found == [("wanted", 0.3), ("own", 0.1), ("earlier topic", 0.9)]
