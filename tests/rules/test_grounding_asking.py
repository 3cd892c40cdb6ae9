"""Whether a prompt may ask for something that a palace holds: by its form and by the names in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.detection.detect import Detection
from htm_core.rules.grounding.asking import asking, named_places

NO, YES = Detection(False, "a test"), Detection(True, "a test")
NAMES = [
    ("projects", "heron-config"), ("projects", "heron"), ("people", "alexander"), ("people", "Ines"), ("billing", "ports"),
    ("notes", "facts"),
]  # fmt: skip


@pytest.mark.parametrize("prompt", ["Write a poem.", "When does it ship?", "Thanks!", "heron"])
def test_what_a_detector_takes_for_a_question_about_the_past_asks(prompt: str) -> None:
    assert asking(prompt, YES, named=False) == "asks"


@pytest.mark.parametrize(
    "prompt",
    ["When does the heron ship?", "What does Alexander prefer?", "who owns this", "Please tell me the port", "status of heron",
     "I forgot which port billing has", "Could you remind me of the date?", "so, is it done"],
)  # fmt: skip
def test_what_has_the_form_of_a_question_may_ask(prompt: str) -> None:
    assert asking(prompt, NO, named=False) == "may ask"


@pytest.mark.parametrize("prompt", ["heron ship date", "alexander's preferences", "the heron"])
def test_a_few_words_may_ask_when_they_name_something_in_the_palace(prompt: str) -> None:
    named = not prompt.startswith("the")
    assert asking(prompt, NO, named=True) == ("may ask" if named else "does not ask")
    assert asking(prompt, NO, named=False) == "does not ask"


@pytest.mark.parametrize(
    "prompt",
    ["Write a poem about a heron.", "Please summarise the text below.", "Could you translate this for me?", "Fix the heron build.",
     "We moved the heron release to June because of the tests.", "Thanks a lot!", "Remember that heron ships in May."],
)  # fmt: skip
def test_what_wants_something_done_or_tells_something_does_not_ask_whatever_it_names(prompt: str) -> None:
    assert asking(prompt, NO, named=True) == "does not ask"


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


@given(st.text(max_size=60), st.booleans())
def test_any_text_has_an_answer(prompt: str, named: bool) -> None:
    assert asking(prompt, NO, named=named) in ("may ask", "does not ask")
    assert named_places(prompt, [("room", "drawer")]) in ([], [("room", "drawer")])


@given(st.lists(st.from_regex(r"[a-z]{3,9}", fullmatch=True), min_size=1, max_size=4))
def test_a_drawer_is_named_by_its_own_name_in_any_spelling(words: list[str]) -> None:
    drawer = "-".join([*words, "xylo"])
    prompt = f"status of {' '.join(words).upper()} Xylos"
    assert named_places(prompt, [("projects", drawer)]) == [("projects", drawer)]
