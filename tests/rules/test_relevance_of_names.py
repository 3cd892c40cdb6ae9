"""A passage with the very name that is asked for is not taken for one about something else."""

from __future__ import annotations

import pytest

from htm_core.rules.relevance import CERTAIN, DOUBTFUL, relevance
from htm_core.types import Match

OLU = "The mechanic Olu says the repair costs 640 pounds."
FAR = {"cosine": 0.22, "word_coverage": 0.2}  # as far as texts that only share a name


def likely(
    question: str, passage: str = OLU, *, words: tuple[int, int] = (1, 2), speakers: tuple[str, ...] = ()
) -> float:
    match = Match(**FAR, matched_words=words[0], query_words=words[1])
    return relevance(question, match, passage, speakers=speakers)


def test_a_passage_with_every_word_that_is_searched_for_and_the_name_answers() -> None:
    assert likely("What did Olu say?", words=(2, 2)) >= CERTAIN
    assert likely("Who is Olu?", words=(1, 1)) >= CERTAIN
    assert likely("Who is Olu Adeyemi?", words=(1, 2)) < DOUBTFUL, "one of two names may be somebody else's"


@pytest.mark.parametrize("question", ["Where does Olu work?", "How old is Olu?", "Which car does Olu drive?"])
def test_what_else_is_asked_of_a_name_is_maybe_related(question: str) -> None:
    assert DOUBTFUL <= likely(question) < CERTAIN


@pytest.mark.parametrize(
    ("question", "passage", "speakers"),
    [
        ("Tell me about Olu", "Our daughter Ada started school.", ()),  # another name
        ("Tell me about Ann", "We planned the annual meeting.", ()),  # a part of other words
        ("Tell me about Olu", "Who is Olu?", ()),  # only asks
        ("Tell me about Olu", OLU, ("Olu",)),  # who speaks is found by other means
        ("tell me about the repair", "The mechanic says nothing.", ()),  # no name
    ],
)
def test_no_other_passage_is_lifted(question: str, passage: str, speakers: tuple[str, ...]) -> None:
    assert likely(question, passage, speakers=speakers) < DOUBTFUL
