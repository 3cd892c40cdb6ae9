"""What a question names besides its subject: speakers and times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.types import Window
from htm_core.text.questions import in_first_person, name_forms, named
from htm_core.timeframes.questions import times_in

NOW = datetime(2026, 5, 14, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "name", "written"),
    [
        ("What does Ann like?", "Ann", "Ann"),
        ("What does Ann like?", "ann", "Ann"),
        ("what does ann like?", "Ann", "ann"),
        ("Where did Mary Ann Evans live?", "Mary Ann Evans", "Mary Ann Evans"),
        ("What is Ann's cat called?", "Ann", "Ann"),
        ("Wann hat Jürgen angerufen?", "Jürgen", "Jürgen"),
    ],
)
def test_a_name_is_known_as_it_is_written_or_with_other_capitals(
    question: str, name: str, written: str
) -> None:
    assert name_forms(question)[name] == written


def test_names_across_a_comma_or_of_one_letter_are_none() -> None:
    forms = name_forms("Did Ann, Evans or I call?")
    assert "Ann Evans" not in forms
    assert "I" not in forms


def test_of_a_name_in_a_longer_one_the_longer_counts() -> None:
    forms = name_forms("When did Mary Ann call?")
    assert named(forms, ["Mary Ann", "Ann", "Mary"]) == {"Mary Ann": "Mary Ann"}


@pytest.mark.parametrize(
    ("question", "written", "language", "asked"),
    [
        ("What is Ann's cat called?", ["Ann"], "english", "What is my cat called?"),
        ("When did Ann meet Anna?", ["Ann"], "english", "When did I meet Anna?"),
        ("Wann hat Jürgen angerufen?", ["Jürgen"], "german", "Wann hat angerufen?"),
        ("Ann?", ["Ann"], "german", "Ann?"),
        ("Nobody is named here", [], "english", "Nobody is named here"),
    ],
)
def test_who_is_asked_about_speaks_of_themselves(
    question: str, written: list[str], language: str, asked: str
) -> None:
    assert in_first_person(question, written, language=language) == asked


def test_every_time_that_a_question_names_counts() -> None:
    windows = times_in(
        "Was it in March 2026 or in April 2025?", now=NOW, week_start="monday", timezone=UTC
    )
    march = Window(start=datetime(2026, 3, 1, tzinfo=UTC), stop=datetime(2026, 4, 1, tzinfo=UTC))
    april = Window(start=datetime(2025, 4, 1, tzinfo=UTC), stop=datetime(2025, 5, 1, tzinfo=UTC))
    assert set(windows) == {march, april}
    assert times_in("Who was it?", now=NOW, week_start="monday", timezone=UTC) == ()


@given(st.text(max_size=80))
def test_any_question_can_be_looked_through(question: str) -> None:
    forms = name_forms(question)
    assert all(written in question for written in forms.values())
    found = named(forms, list(forms)[:3])
    assert (
        in_first_person(question, found.values(), language="english").strip()
        or not question.strip()
    )
    assert len(times_in(question, now=NOW, week_start="monday", timezone=UTC)) <= 40
