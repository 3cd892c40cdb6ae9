"""A propositioner takes texts apart into facts; what is none by its form is left out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models.chat import FactAnswer
from htm_core.models.propositioners import (
    LONGEST,
    MOST,
    CheckedPropositioner,
    is_fact,
    resolve_propositioner,
)
from tests.stand_ins import StandInChat


def answering(answer: Any) -> CheckedPropositioner:
    made = resolve_propositioner(lambda text: answer)
    assert made is not None
    return made


def test_facts_come_in_order_once_each_without_the_marks_of_a_list() -> None:
    said = [
        "- Ann lives in Oslo.",
        "2. Ann likes\n coffee.",
        "Ann lives in Oslo.",
        "no fact",
        "* The dog is Biscuit.",
    ]
    assert answering(said).facts("…") == (
        "Ann lives in Oslo.",
        "Ann likes coffee.",
        "The dog is Biscuit.",
    )


def test_the_whole_text_over_again_is_no_fact_of_it() -> None:
    assert answering(["Ann lives  in Oslo."]).facts(" Ann lives in\nOslo. ") == ()


@pytest.mark.parametrize(
    "remark",
    [
        "Please provide the text you want me to take apart.",
        "There are no facts in this text.",
        "As an AI I have no text to work with.",
        "Here are the facts:",
        "I cannot see any text here.",
        "Waiting for the text to be given.",
        "ok", "1 2 3 4 5 6", "", "x" * (LONGEST + 1),
    ],
)  # fmt: skip
def test_remarks_of_a_model_are_no_facts(remark: str) -> None:
    assert not is_fact(remark)


@pytest.mark.parametrize(
    "fact", ["Ann lives in Oslo.", "太郎は東京に住んでいます。", "Anna wohnt in Köln."]
)
def test_a_sentence_is_a_fact_in_any_language(fact: str) -> None:
    assert is_fact(fact)


@pytest.mark.parametrize("lie", ["one fact", None, 7, [1], {"facts": []}])
def test_an_answer_that_is_no_list_of_texts_is_a_model_error(lie: Any) -> None:
    with pytest.raises(ModelError, match="expected a list of facts"):
        answering(lie).facts("text")


def test_none_is_none_and_what_cannot_be_one_is_refused() -> None:
    assert resolve_propositioner(None) is None
    for spec in ("keywords", 7, object()):
        with pytest.raises(InvalidInput, match='propositioner: expected None, "ollama:MODEL"'):
            resolve_propositioner(spec)


def test_a_chat_model_is_asked_for_facts() -> None:
    chat = StandInChat(FactAnswer(facts=["Ann lives in Oslo.", "Ann likes coffee."]))
    made = resolve_propositioner(chat)
    assert made is not None
    assert made.facts("Ann lives in Oslo and likes coffee.") == (
        "Ann lives in Oslo.",
        "Ann likes coffee.",
    )
    assert re.search(
        r"<text-([a-z]{11})>\nAnn lives in Oslo and likes coffee.\n</text-\1>", chat.asked[0][1][1]
    )


def test_a_chat_model_is_told_who_said_a_text_and_when() -> None:
    chat = StandInChat(FactAnswer(facts=["Ann moved to Oslo on 2026-11-19."]))
    made = resolve_propositioner(chat)
    assert made is not None
    made.facts(
        "I moved to Oslo yesterday.", speaker="Ann\nLee", at=datetime(2026, 11, 20, 9, tzinfo=UTC)
    )
    made.facts("I moved to Oslo yesterday.", at=datetime(2026, 11, 20, 9, tzinfo=UTC))
    made.facts("I moved to Oslo yesterday.")
    assert re.match(
        r"Speaker: <name-([a-z]{11})>Ann Lee</name-\1>\nDay: Friday, 2026-11-20\n",
        chat.asked[0][1][1],
    )
    assert re.search(
        r"The text:\n<text-([a-z]{11})>\nI moved to Oslo yesterday.\n</text-\1>$",
        chat.asked[0][1][1],
    )
    assert chat.asked[1][1][1].startswith("Day: Friday, 2026-11-20\n")
    assert chat.asked[2][1][1].startswith("The text:")


@pytest.mark.parametrize(
    "written", ["{opening}", "{opening}Ann Lee{closing}", "{opening}Ann Lee", "Ann Lee"]
)
def test_the_tag_around_the_name_stands_in_no_fact(written: str) -> None:
    class Copies:
        """A small model, which copies the tag of the speaker's name."""

        model = "copies"

        def with_structured_output(self, schema: type) -> Copies:
            return self

        def invoke(self, messages: list[tuple[str, str]]) -> FactAnswer:
            found = re.search(r"(<name-[a-z]+>)Ann Lee(</name-[a-z]+>)", messages[-1][1])
            assert found is not None
            return FactAnswer(
                facts=[
                    f"{written.format(opening=found[1], closing=found[2])}'s mother lives in Fez."
                ]
            )

    made = resolve_propositioner(Copies())
    assert made is not None
    assert made.facts("My mother lives in Fez, by the way.", speaker="Ann Lee") == (
        "Ann Lee's mother lives in Fez.",
    )


def test_a_propositioner_of_ones_own_is_told_what_it_takes() -> None:
    told: list[tuple[object, ...]] = []

    class Own:
        model = "own"

        def propose(self, text: str, speaker: str | None = None) -> list[str]:
            told.append((text, speaker))
            return []

    def function(text: str, *, at: datetime | None = None) -> list[str]:
        told.append((text, at))
        return []

    at = datetime(2026, 11, 20, 9, tzinfo=UTC)
    for spec in (Own(), function, lambda text: told.append((text,)) or []):
        made = resolve_propositioner(spec)
        assert made is not None
        assert made.facts("x", speaker="ann", at=at) == ()
    assert told == [("x", "ann"), ("x", at), ("x",)]


@given(st.lists(st.text(max_size=60), max_size=60))
def test_whatever_a_model_says_only_facts_that_can_be_stored_come_through(said: list[str]) -> None:
    facts = answering(said).facts("the text")
    assert len(facts) == len(set(facts)) <= MOST
    for fact in facts:
        assert is_fact(fact)
        assert "\x00" not in fact
        fact.encode()
