"""Questions with typing errors, by which benchmarks.typos measures recall: seeded, of the kinds that people make, in content words."""

from __future__ import annotations

import random

import pytest

from benchmarks import typos
from benchmarks.retrieval_sets import paraphrases
from benchmarks.typing_errors import content_words, misspelt, with_typing_errors


def test_only_names_and_what_a_question_is_about_are_misspelt() -> None:
    question = "What did Caroline say about the port 5432, api.example.com and her cat?"
    assert [word[0] for word in content_words(question)] == ["Caroline", "port"]


def test_a_question_is_misspelt_alike_in_every_run_and_otherwise_by_another_seed() -> None:
    question = "Where did Caroline go hiking last summer?"
    assert with_typing_errors(question, count=2, seed="1") == with_typing_errors(
        question, count=2, seed="1"
    )
    typed = {with_typing_errors(question, count=1, seed=str(seed)) for seed in range(30)}
    assert len(typed) > 15
    assert question not in typed


def test_a_question_with_too_few_content_words_is_left_out() -> None:
    assert with_typing_errors("Who was that with you?", count=1, seed="1") is None


@pytest.mark.parametrize("word", ["Caroline", "receipt", "NASA"])
def test_a_word_keeps_its_case_and_mostly_its_first_letter(word: str) -> None:
    typed = [misspelt(word, random.Random(seed)) for seed in range(400)]
    assert all(
        each != word and (each.isupper(), each[0].isupper()) == (word.isupper(), word[0].isupper())
        for each in typed
    )
    kept = sum(each[0] == word[0] for each in typed)
    assert 300 < kept < 400


def test_each_spelling_is_asked_for_in_one_half_among_the_facts_of_both() -> None:
    [facts] = paraphrases()
    looking, last = (typos.spellings(facts, half=half) for half in (typos.LOOKING, typos.LAST))
    assert looking.messages == last.messages
    ids = [question.id for case in (looking, last) for question in case.questions]
    assert len(set(ids)) == len(ids) == len(looking.messages) - len(facts.messages) == 60


def test_what_is_lost_is_counted_against_the_same_questions_clean() -> None:
    good, bad = (
        {"any@1": 1.0, "fraction@10": 1.0, "mrr": 1.0},
        {"any@1": 0.0, "fraction@10": 0.5, "mrr": 0.25},
    )
    answers = {"text, clean": {"a": good, "b": bad}, "text, one word misspelt": {"a": bad}}
    [shown] = list(typos.table("a set", answers).columns[3].cells)[1:]
    assert shown == "50.0 (50.0 to 50.0) [-50.0: -50.0 to -50.0]"
