"""A question about one person is not answered by what was said of another; when this is not clear, nothing is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.grounding.persons import FoundText, person_without_evidence

NECKLACE = "Caroline: This necklace is a gift from my grandma, it stands for love and strength."
SWIMMING = "Melanie: I take the kids swimming."


def person(question: str, *texts: str) -> str | None:
    return person_without_evidence(question, [FoundText(text) for text in texts])


def test_what_was_said_of_one_person_answers_no_question_about_another() -> None:
    question = "What does the necklace that grandma gave Melanie stand for?"
    assert person(question, NECKLACE, SWIMMING) == "Melanie"
    assert person(question.replace("Melanie", "Caroline"), NECKLACE, SWIMMING) is None


def test_the_third_person_names_as_the_speaker_does() -> None:
    facts = ("The red bicycle in the shed belongs to Ann since May.", "Everybody knows Bob, who likes olives.")
    assert person("Since when does the red bicycle in the shed belong to Bob?", *facts) == "Bob"
    assert person("Since when does the red bicycle in the shed belong to Ann?", *facts) is None


@pytest.mark.parametrize(
    ("why", "question", "texts"),
    [
        ("nobody is named", "What does the necklace from grandma stand for?", (NECKLACE, SWIMMING)),
        ("two are named", "Did Melanie see the necklace that grandma gave Caroline?", (NECKLACE, SWIMMING)),
        ("she is not spoken of here", "What does the necklace that grandma gave Zoe stand for?", (NECKLACE, SWIMMING)),
        ("the question is too short to compare", "Has Melanie a necklace?", (NECKLACE, SWIMMING)),
        ("the other text names nobody", "What does the necklace that grandma gave Melanie stand for?",
         ("The necklace from grandma stands for love.", SWIMMING)),
        ("both fit alike", "What does the necklace that grandma gave Melanie stand for?",
         (NECKLACE, "Melanie: My necklace from grandma stands for luck.")),
        ("a day is no person", "Which bicycle in the red shed belongs to whom since Monday?",
         ("Ann has a bicycle in the red shed that belongs to Bob.", "We met on Monday.")),
        ("a place the world knows is no person", "Which red bicycle in the shed was bought in Berlin?",
         ("He told Ann which red bicycle in the shed was bought.", "They live in Berlin.")),
        ("a place is no person", "Which red bicycle in the shed was bought by him in Sezana?",
         ("He told Ann which red bicycle in the shed he bought.", "They met in Sezana.")),
        ("nothing was found", "What does the necklace that grandma gave Melanie stand for?", ()),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_nothing_is_refused_when_it_is_not_clear(why: str, question: str, texts: tuple[str, ...]) -> None:
    assert person(question, *texts) is None


def test_a_question_in_a_conversation_is_about_the_listener() -> None:
    asks = "Caroline: I love that. Your running by the river at dawn sounds great."
    assert person("Where does Caroline go running at dawn by the river?", asks, SWIMMING) == "Caroline"
    assert person("Where does Melanie go running at dawn by the river?", asks, SWIMMING) is None


def test_a_sentence_is_not_about_the_person_that_it_only_addresses() -> None:
    called = "Caroline: Thanks, Melanie! I bought a purple kite at the market."
    assert person("Where did Melanie buy the purple kite at the market?", called, SWIMMING) == "Melanie"
    told = "Caroline: Melanie bought a purple kite at the market."
    assert person("Where did Melanie buy the purple kite at the market?", told, SWIMMING) is None


def test_among_three_speakers_the_listener_is_not_known() -> None:
    asks = "Caroline: Your running by the river at dawn sounds great."
    three = (asks, SWIMMING, "Ann: I take the bus.")
    assert person("Where does Melanie go running at dawn by the river?", *three) == "Melanie"
    assert (
        person(
            "Where does Melanie go running at dawn by the river?", asks.replace("great", "great, Melanie"), *three[1:]
        )
        is None
    )


def test_a_label_that_names_nobody_is_no_speaker() -> None:
    note = "Note: the purple kite came from the market in May."
    assert person("When did the purple kite of Melanie come from the market?", note, SWIMMING) is None


def test_the_names_of_the_drawer_and_the_robot_count_too() -> None:
    question = "What does the necklace that grandma gave Melanie stand for?"
    other = FoundText(SWIMMING)
    bare = "It was Caroline who saw the necklace from grandma; it stands for love."
    assert person_without_evidence(question, [FoundText(bare, "people caroline atlas"), other]) == "Melanie"
    assert person_without_evidence(question, [FoundText(bare, "people melanie atlas"), other]) is None


@given(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=4))
def test_any_texts_can_be_compared_and_the_result_is_named_in_the_question(question: str, texts: list[str]) -> None:
    found = person(question, *texts)
    assert found is None or found.lower() in question.lower()


@given(st.permutations([NECKLACE, SWIMMING, "Ann: Hello there.", "The door is blue."]))
def test_the_order_of_what_was_found_does_not_matter(texts: list[str]) -> None:
    assert person("What does the necklace that grandma gave Melanie stand for?", *texts) == "Melanie"
