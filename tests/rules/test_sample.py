"""The sample conversation of the package can be remembered, and its questions can be answered from it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from itertools import pairwise

import pytest

from htm_core.cli import samples
from htm_core.importers.transcripts.read import read

TURNS = samples.conversation()
QUESTIONS = samples.questions()


def at(turn: dict[str, str]) -> datetime:
    return datetime.fromisoformat(turn["at"])


def said(phrase: str) -> list[dict[str, str]]:
    return [turn for turn in TURNS if phrase in turn["content"]]


def test_it_is_long_and_spans_half_a_year_in_many_sessions() -> None:
    assert len(TURNS) >= 320
    assert len({turn["session"] for turn in TURNS}) >= 36
    assert {at(turn).month for turn in TURNS} == {1, 2, 3, 4, 5, 6}
    assert (at(TURNS[-1]) - at(TURNS[0])).days >= 150


def test_two_people_and_an_assistant_speak_and_each_of_them_often() -> None:
    voices = Counter((turn["name"], turn["role"]) for turn in TURNS)
    assert sorted(role for _name, role in voices) == ["assistant", "user", "user"]
    assert min(voices.values()) >= 80


def test_every_turn_has_exactly_its_five_fields_and_is_of_a_readable_length() -> None:
    for turn in TURNS:
        assert set(turn) == {"session", "role", "name", "content", "at"}
        assert turn["content"] == turn["content"].strip() != ""
        assert len(turn["content"]) <= 600


def test_no_turn_says_what_another_said() -> None:
    assert len({turn["content"].lower() for turn in TURNS}) == len(TURNS)


def test_time_only_moves_forward_and_sessions_do_not_interleave() -> None:
    assert all(at(before) < at(after) for before, after in pairwise(TURNS))
    runs = [
        after["session"]
        for before, after in pairwise(TURNS)
        if before["session"] != after["session"]
    ]
    assert len(runs) == len(set(runs))


def test_it_is_read_by_the_importer_with_nothing_left_out() -> None:
    transcript = read("\n".join(json.dumps(turn) for turn in TURNS), name="sample")
    assert transcript.skipped == 0
    assert [draft.content for draft in transcript] == [turn["content"] for turn in TURNS]
    assert len({draft.id for draft in transcript}) == len(TURNS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.question)
def test_the_answer_to_each_question_was_said_within_its_timeframe(
    question: samples.Question,
) -> None:
    answers = said(question.expect)
    if question.timeframe:
        month = datetime.strptime(question.timeframe, "in %B %Y")
        answers = [
            turn for turn in answers if (at(turn).year, at(turn).month) == (month.year, month.month)
        ]
    assert answers
    assert len(answers) <= 12, "a phrase that is everywhere shows nothing"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Saturday 23 May", "Saturday 13 June"),
        ("Saturday 13 June", "Saturday 20 June"),
        ("14 Alma Vale Road", "3 Cumberland Row"),
        ("raising the phenobarbital to 45 mg", "30 mg of phenobarbital morning and evening"),
        ("rename her Marguerite", "we keep the old name"),
        ("the padlock code is 4471", "is now 9026"),
        ("bottle green", "Kingfisher blue"),
        ("Storage ashore is £185", "up to £210"),
        ("giving up coffee", "coffee is allowed again"),
        ("software for Parcelwright", "Archive technician, Harbour Museum"),
    ],
)
def test_facts_change_over_time(earlier: str, later: str) -> None:
    assert at(said(earlier)[0]) < at(said(later)[0])


def test_something_said_once_at_the_beginning_is_needed_near_the_end() -> None:
    allergy, cheesecake = said("allergic to cashews")[0], said("cashew cheesecake")[0]
    assert (at(cheesecake) - at(allergy)).days > 120
