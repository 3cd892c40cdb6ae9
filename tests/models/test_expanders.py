"""An expander writes more questions to search for; what is no list of questions is a model error."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models.chat import QuestionAnswer
from htm_core.models.expanders import LONGEST, MOST, CheckedExpander, resolve_expander
from tests.stand_ins import StandInChat

ASKED = "Where do Ann and Bob live?"


def questions(spec: object, *, seconds: float = 5.0) -> list[str]:
    made = resolve_expander(spec)
    assert isinstance(made, CheckedExpander)
    return made.questions(ASKED, seconds=seconds)


class OwnExpander:
    """What the protocol asks for."""

    def expand(self, question: str) -> list[str]:
        return ["Where does Ann live?", "Where does Bob live?"]


@pytest.mark.parametrize(
    "spec",
    [
        OwnExpander(),
        OwnExpander().expand,
        StandInChat(QuestionAnswer(questions=OwnExpander().expand(""))),
    ],
)
def test_questions_come_from_an_object_a_callable_or_a_chat_model(spec: object) -> None:
    assert questions(spec) == ["Where does Ann live?", "Where does Bob live?"]


def test_the_question_itself_empty_ones_repeated_ones_and_very_long_ones_are_left_out() -> None:
    written = [
        ASKED.upper(),
        " ",
        "Ann's\n home?",
        "Ann's home?",
        "x" * (LONGEST + 1),
        "with \x00 in it",
        "\ud800",
    ]
    assert questions(lambda question: written) == ["Ann's home?", "with in it", "\ufffd"]


def test_there_are_at_most_a_few() -> None:
    assert questions(lambda question: [f"question {n}" for n in range(100)]) == [
        f"question {n}" for n in range(MOST)
    ]


@pytest.mark.parametrize("lie", ["one question", None, 7, [1], {"questions": []}])
def test_an_answer_that_is_no_list_of_texts_is_a_model_error(lie: Any) -> None:
    with pytest.raises(ModelError, match="expected a list of questions"):
        questions(lambda question: lie)


def test_a_model_that_raises_or_hangs_is_a_model_error_that_says_what_is_searched_for() -> None:
    over = threading.Event()

    def broken(question: str) -> list[str]:
        raise ConnectionError("no route")

    with pytest.raises(ModelError, match=r"expander .*broken failed.*searched for as they are"):
        questions(broken)
    with pytest.raises(
        ModelError, match=r"within 0\.05 s.*Settings\.expander_timeout.*searched for as they are"
    ):
        questions(lambda question: [str(over.wait(30))], seconds=0.05)
    over.set()


def test_none_is_none_and_what_cannot_be_one_is_refused() -> None:
    assert resolve_expander(None) is None
    for spec in ("keywords", "ollama:", 7, object(), OwnExpander):
        with pytest.raises(InvalidInput, match='expander: expected None, "ollama:MODEL"'):
            resolve_expander(spec)
