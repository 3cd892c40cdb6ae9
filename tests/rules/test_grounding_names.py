"""The names in a prompt: of drawers and rooms, and of persons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.palace.grounding.names import capitalised, has_a_name, named_places

NAMES = [
    ("projects", "heron-config"), ("projects", "heron"), ("people", "alexander"), ("people", "Ines"), ("billing", "ports"),
    ("notes", "facts"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("status of the heron config", [("projects", "heron-config"), ("projects", "heron")]),
        ("When do the Herons ship?", [("projects", "heron")]),
        ("What is ALEXANDER\u2019s plan?", [("people", "alexander")]),
        ("Where is Ines?", [("people", "Ines")]),
        ("anything about billing", [("billing", "ports")]),
        ("Which facts do people note?", []),
        ("The heronry is closed.", []),
        ("", []),
    ],
)
def test_drawers_are_named_by_their_words_and_rooms_where_no_drawer_is(
    prompt: str, named: list[tuple[str, str]]
) -> None:
    assert named_places(prompt, NAMES) == named


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does Melanie's necklace mean?", ["Melanie"]), ("Who covers for Tomas, Ines or Élodie Roth?", ["Tomas", "Ines", "Roth"]),
        ("Which port is billing on?", []), ("Where do I find the API and the PDF?", []), ("Can I ship this on Friday?", ["Friday"]),
    ],
)  # fmt: skip
def test_a_name_is_a_word_with_a_capital_within_a_sentence(question: str, names: list[str]) -> None:
    assert capitalised(question) == names


def test_a_text_has_a_name_in_any_letter_case_and_every_text_has_one_where_none_is_asked_for() -> (
    None
):
    assert has_a_name("nobody deploys on fridays", ["Friday"])
    assert not has_a_name("Caroline: I wear it for luck.", ["Melanie"])
    assert has_a_name("", [])


@given(st.text(max_size=60))
def test_any_text_has_an_answer(prompt: str) -> None:
    assert named_places(prompt, [("room", "drawer")]) in ([], [("room", "drawer")])
    assert all(has_a_name(prompt, [name]) for name in capitalised(prompt))


@given(st.lists(st.from_regex(r"[a-z]{3,9}", fullmatch=True), min_size=1, max_size=4))
def test_a_drawer_is_named_by_its_own_name_in_any_spelling(words: list[str]) -> None:
    drawer = "-".join([*words, "xylo"])
    prompt = f"status of {' '.join(words).upper()} Xylos"
    assert named_places(prompt, [("projects", drawer)]) == [("projects", drawer)]
