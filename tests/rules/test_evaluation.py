"""Files of questions whose answers are known, and the figures that come of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.prompt.evaluation import (
    LabelledQuestion,
    mean_and_margin,
    measured,
    read_questions,
    sign_test,
)


def read(*lines: str) -> list[LabelledQuestion]:
    return list(read_questions(lines, name="mine.jsonl"))


def test_each_line_is_a_question_with_one_or_several_memories() -> None:
    one, two = read(
        '{"question": "Where?", "expected": "in Oslo"}', "", '{"question": "Who?", "expected": ["Ann", "Bob", "Ann"], "kind": "people", "timeframe": "last week"}'
    )  # fmt: skip
    assert one == LabelledQuestion(question="Where?", expected=("in Oslo",))
    assert two == LabelledQuestion(
        question="Who?", expected=("Ann", "Bob"), kind="people", timeframe="last week"
    )


@pytest.mark.parametrize(
    "line",
    [
        "no json", "[]", "7", '"text"', "[" * 100_000,
        '{"question": "", "expected": "x"}', '{"question": 7, "expected": "x"}', '{"expected": "x"}',
        '{"question": "q"}', '{"question": "q", "expected": []}', '{"question": "q", "expected": [" "]}',
        '{"question": "q", "expected": [7]}', '{"question": "q", "expected": {"id": 1}}',
        '{"question": "q", "expected": "x", "kind": 7}', '{"question": "q", "expected": "x", "timeframe": ["x"]}',
        '{"question": "q", "expected": "x", "answer": "y"}',
    ],
)  # fmt: skip
def test_a_line_of_another_form_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(InvalidInput, match=r"^mine\.jsonl, line 2: expected .*got"):
        read('{"question": "q", "expected": "x"}', line)


@given(st.text(), st.lists(st.text().filter(str.strip), min_size=1))
def test_any_question_that_is_written_as_json_is_read_back(text: str, expected: list[str]) -> None:
    line = json.dumps({"question": f"q{text}", "expected": expected})
    assert read(line) == [
        LabelledQuestion(question=f"q{text}", expected=tuple(dict.fromkeys(expected)))
    ]


def test_measures_are_cut_where_they_are_asked_to_be() -> None:
    values = measured(frozenset("ab"), [["x"], ["a"], ["b"]], cuts=(1, 3))
    assert (values["any@1"], values["fraction@3"], values["all@3"], values["mrr"]) == (
        0.0,
        1.0,
        1.0,
        0.5,
    )


def test_the_margin_is_that_of_the_textbook() -> None:
    mean, margin = mean_and_margin([0.0, 1.0, 1.0, 1.0])
    assert mean == 0.75
    assert margin == pytest.approx(1.96 * 0.5 / 2)
    assert mean_and_margin([0.4]) == (0.4, 0.0)


def test_an_even_count_says_nothing_and_a_lopsided_one_much() -> None:
    assert sign_test(0, 0) == sign_test(5, 5) == 1.0
    assert sign_test(5, 0) == sign_test(0, 5) == pytest.approx(2 / 32)
    assert sign_test(20, 2) < 0.001
    assert 0 < sign_test(1_000, 500) < 1e-9
