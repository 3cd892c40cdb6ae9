"""A question beside a long paste finds what it finds alone."""

from __future__ import annotations

from itertools import product

import pytest

from htm_core import Memory
from htm_core.recall import searches
from htm_core.recall.asked import ends_of
from htm_core.recall.search import RecallQuery
from tests.conftest import Make

FACTS = {
    "Who is my dentist?": "My dentist is Dr Okafor.",
    "Which car do I drive?": "I drive a grey Volvo car from 2014.",
}
MAIL = "As discussed in the meeting the roof of the garden house will be renewed. Please send estimates to the office before Friday. "
FILL = [
    f"On {day} I {did} {what} {how}."
    for day, did, what, how in product(
        ("Monday", "Friday"),
        ("painted", "sold"),
        ("the garden house", "the invoice"),
        ("after the meeting", "in the office"),
    )
]


@pytest.fixture
def memory(make: Make) -> Memory:
    memory = make()
    memory.remember_many([{"content": text, "role": "user"} for text in (*FILL, *FACTS.values())])
    memory.flush()
    return memory


@pytest.mark.parametrize("size", [1_000, 4_000, 20_000])
@pytest.mark.parametrize(
    "form", ["{paste}\n\n{question}", "{question}\n\n{paste}", "```\n{paste}\n```\n{question}"]
)
def test_a_question_beside_a_paste_finds_what_it_finds_alone(
    memory: Memory, size: int, form: str
) -> None:
    for question, fact in FACTS.items():
        assert memory.recall(question, limit=4, hold=False)[0].content == fact
        text = form.format(paste=(MAIL * 200)[:size], question=question)
        found = memory.recall(text, limit=4, hold=False)
        assert found[0].content == fact
        assert found.query == ends_of(text)
        assert found.searched == (question,)
        assert found.searched_note == f"Searched for: {question}"
        assert len(found) == 4


def test_a_question_inside_of_one_long_paragraph_is_found(memory: Memory) -> None:
    asked = "Who is my dentist?"
    found = memory.recall(f"{MAIL * 6}{asked} {MAIL * 6}", limit=8, hold=False)
    assert FACTS["Who is my dentist?"] in [hit.content for hit in found]
    assert [part.lower().rstrip(".?") in asked.lower() for part in found.searched] == [True]


def test_what_is_surely_known_of_the_paste_is_found_behind_the_question(memory: Memory) -> None:
    told = memory.remember(MAIL, role="user")
    memory.flush()
    found = memory.recall(f"{MAIL * 5}\n\nWho is my dentist?", limit=8, hold=False)
    assert found[0].content == FACTS["Who is my dentist?"]
    assert told.id in {hit.node.id for hit in found}
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_a_time_in_the_paste_is_not_the_time_that_is_asked_for(memory: Memory) -> None:
    found = memory.recall(
        f"Last week: {MAIL * 9}\n\nWho is my dentist?", timeframe="auto", hold=False
    )
    assert found.timeframe is None


def test_an_ordinary_question_is_searched_for_as_before(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One search, of the whole text."""
    seen: list[RecallQuery] = []
    find = searches._search_for_one
    monkeypatch.setattr(
        searches,
        "_search_for_one",
        lambda engine, query: (seen.append(query), find(engine, query))[1],
    )
    question = "Who is my dentist? " + "x" * 300
    found = memory.recall(question, hold=False)
    assert found.searched == ()
    assert found.searched_note is None
    assert [(each.text, each.asked) for each in seen] == [(question, None)]


def test_words_alone_are_searched_for_as_they_are_given(memory: Memory) -> None:
    text = f"{MAIL * 9}\n\nWho is my dentist?"
    found = memory.recall(text, mode="text", hold=False)
    assert found.searched == ()
    assert found.query == text
