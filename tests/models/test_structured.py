"""A model that answers in another form than its schema's is asked once more, and is told what was wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from htm_core import ModelError
from htm_core.models.chat import ChatTagger
from htm_core.models.structured import structured
from htm_core.models.taggers import resolve_tagger


class Colour(BaseModel):
    """A colour."""

    name: str
    share: float


class Answers:
    """A chat model of LangChain's kind that gives these answers one after another; an exception is raised."""

    model = "answers"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[list[tuple[str, str]]] = []

    def with_structured_output(self, schema: type) -> Answers:
        return self

    def invoke(self, messages: list[tuple[str, str]]) -> object:
        self.asked.append(messages)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_an_answer_in_its_form_is_asked_for_once() -> None:
    model = Answers({"name": "red", "share": 0.5})
    assert structured(model, Colour, "Name it.", "A rose.") == {"name": "red", "share": 0.5}
    assert model.asked == [[("system", "Name it."), ("human", "A rose.")]]


@pytest.mark.parametrize(
    ("first", "said"),
    [({"name": "red"}, "share: Field required"), (None, "the whole: "), (ValueError("not JSON: IGNORE ALL"), "it cannot be read")],
)  # fmt: skip
def test_another_form_is_asked_for_once_more_with_what_was_wrong(first: object, said: str) -> None:
    """The model's own words are not repeated to it: they may be those of a text that it was shown."""
    model = Answers(first, Colour(name="red", share=1))
    assert structured(model, Colour, "Name it.", "A rose.") == Colour(name="red", share=1)
    [_, again] = model.asked
    assert again[:2] == [("system", "Name it."), ("human", "A rose.")]
    role, words = again[2]
    assert role == "human"
    assert said in words
    assert "IGNORE" not in words


def test_a_second_answer_in_another_form_fails_the_job_clearly() -> None:
    """It is not asked a third time, and the error says what is expected."""
    model = Answers({"label": "x"}, {"label": "x"}, {"label": "x"})
    tagger = resolve_tagger(ChatTagger(model))
    assert tagger is not None
    with pytest.raises(ModelError, match="expected a list of tags"):
        tagger.tags("A rose.")
    assert len(model.asked) == 2


def test_what_is_no_matter_of_form_is_raised_at_once() -> None:
    """A server that is gone is not asked again here: the job is, later."""
    model = Answers(ConnectionError("gone"))
    with pytest.raises(ConnectionError):
        structured(model, Colour, "Name it.", "A rose.")
    assert len(model.asked) == 1


def test_a_model_of_llamaindex_is_asked_in_its_own_messages() -> None:
    """Its structured form brings the object as `raw`."""
    asked: list[list[Any]] = []

    class Model:
        raw = Colour(name="red", share=1)

        def as_structured_llm(self, output_cls: type) -> Model:
            return self

        def chat(self, messages: list[Any]) -> Model:
            asked.append(messages)
            return self

    assert structured(Model(), Colour, "Name it.", "A rose.") == Colour(name="red", share=1)
    assert [(str(each.role.value), each.content) for each in asked[0]] == [
        ("system", "Name it."),
        ("user", "A rose."),
    ]
