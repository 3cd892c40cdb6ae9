"""The data of the reader say what they mean, and what it is measured with stands in nothing that it is trained on."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.reader import lists
from benchmarks.recalled import rows
from benchmarks.retrieval_sets import TURN

MEMORIES = ("near-a", "near-b", "near-unseen", "palace-held-out")
ANSWERED, UNANSWERED = {"answerable", "present", "past"}, {"near_miss", "other", "plan"}
PROFILE = {"about", "people", "places", "work", "prefers", "instructs", "plans"}
KINDS = PROFILE | {"asks", "acknowledges", "ended", "of_another", "requests", "raw", "unknown"}


def read(name: str) -> list[dict[str, Any]]:
    return rows(lists.HERE / f"{name}.jsonl")


@pytest.mark.parametrize("name", MEMORIES)
def test_a_question_is_answered_by_messages_that_are_there_or_by_none(name: str) -> None:
    for row in read(name):
        places = range(len(row["said"]))
        for asked in row["asked"]:
            assert asked["kind"] in ANSWERED | UNANSWERED, (row["id"], asked)
            assert bool(asked["answers"]) == (asked["kind"] in ANSWERED), (row["id"], asked)
            named = [*asked["answers"], *asked.get("formerly", ())]
            assert len(set(named)) == len(named), (row["id"], asked)
            assert all(place in places for place in named), (row["id"], asked)


@pytest.mark.parametrize("name", MEMORIES)
def test_days_ascend(name: str) -> None:
    for row in read(name):
        days = [said["at"] for said in row["said"]]
        assert days == sorted(days), row["id"]


def test_nothing_that_is_measured_with_is_trained_on() -> None:
    trained = {
        said["text"]
        for name in ("near-a", "near-b")
        for row in read(name)
        for said in row["said"]
        if len(said["text"]) > 30
    }
    measured = {
        said["text"]
        for name in ("near-unseen", "palace-held-out")
        for row in read(name)
        for said in row["said"]
    }
    assert not trained & measured
    for kind, text in (("pairs", "older"), ("kinds", "text")):
        trained, measured = (
            {row[text] for row in read(f"{kind}-{half}")} for half in ("train", "held-out")
        )
        assert not {each for each in trained & measured if len(each) > 30}


def test_messages_have_known_kinds_and_pairs_known_labels() -> None:
    for half in ("train", "held-out"):
        assert {kind for row in read(f"kinds-{half}") for kind in row["kinds"]} == KINDS
        assert {kind for row in read(f"profile-{half}") for kind in row["kinds"]} == PROFILE
        assert {row["label"] for row in read(f"pairs-{half}")} == {"replaces", "stays"}


def test_a_small_memory_becomes_a_case_whose_questions_know_the_former_value() -> None:
    [first, *_] = lists.near("near-unseen")
    assert first.messages[0].at is not None
    assert all(message.at is not None and message.at < first.now for message in first.messages)
    found = [
        question
        for case in lists.near("near-a", "near-b")
        for question in case.questions
        if question.kind == "present"
    ]
    assert any(question.gold[lists.FORMERLY] for question in found)
    assert all(question.gold[TURN].isdisjoint(question.gold[lists.FORMERLY]) for question in found)


def test_each_case_gets_questions_that_nothing_answers_and_always_the_same() -> None:
    case = next(lists.near("near-a", "near-b"))
    texts = lists.foreign(trained=True)
    twice = [lists.with_foreign(case, texts) for _ in range(2)]
    assert twice[0].questions == twice[1].questions
    assert [question.kind for question in twice[0].questions[len(case.questions) :]].count(
        lists.FOREIGN
    ) >= 2
    assert not set(texts) & set(lists.foreign(trained=False))
