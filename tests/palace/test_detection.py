"""The detector decides which prompts ask for something remembered, measured on prompts that the rules were not made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.palace import detect
from tests.palace.labelled_prompts import PARTS, counted, prompts, share, wilson


@pytest.mark.parametrize("part", ["development", "test"])
def test_precision_and_recall_are_at_least_95_percent(part: str) -> None:
    hits, false, missed = counted(prompts(part))
    assert hits / (hits + false) >= 0.95
    assert hits / (hits + missed) >= 0.95


def test_precision_and_recall_hold_on_prompts_written_after_the_rules() -> None:
    hits, false, missed = counted(prompts("fresh"))
    assert hits / (hits + false) >= 0.95
    assert hits / (hits + missed) >= 0.94


@pytest.mark.parametrize("half", ["others a", "others b", "others c"])
def test_precision_and_recall_on_other_authors_prompts_whose_mistakes_were_fixed(half: str) -> None:
    hits, false, missed = counted(prompts(half))
    assert hits / (hits + false) >= 0.97
    assert hits / (hits + missed) >= 0.97


def test_precision_and_recall_on_other_authors_prompts_that_were_never_looked_at() -> None:
    # Whoever changes the rules does not look at d: it measures them on prompts by somebody new.
    hits, false, missed = counted(prompts("others d"))
    assert hits / (hits + false) >= 0.85
    assert hits / (hits + missed) >= 0.75


@pytest.mark.parametrize("part", PARTS)
def test_the_documented_shares_are_those_of_the_command(part: str) -> None:
    hits, false, missed = counted(prompts(part))
    page = (Path(__file__).parents[2] / "docs" / "why" / "palace.md").read_text(encoding="utf-8")
    for of in (hits + false, hits + missed):
        assert share(hits, of).rpartition(" (")[0] in page


def test_the_set_has_two_hundred_prompts_of_both_kinds_and_no_prompt_is_in_two_parts() -> None:
    parts = [prompts("development"), prompts("test"), prompts("fresh")]
    assert sum(map(len, parts)) >= 200
    for rows in parts:
        for level in ("easy", "adversarial"):
            for recall in (True, False):
                assert sum(row["level"] == level and row["recall"] is recall for row in rows) >= 25
    said = [row["prompt"].lower() for rows in parts for row in rows]
    assert len(set(said)) == len(said)
    assert all(set(row) == {"prompt", "recall", "level"} for rows in parts for row in rows)
    for half in ("others a", "others b", "others c", "others d"):
        assert len({row["prompt"].lower() for row in prompts(half)}) == len(prompts(half)) == 200
        assert sum(row["recall"] for row in prompts(half)) == 100


def test_the_wilson_interval_is_that_of_the_tables() -> None:
    low, high = wilson(9, 10)
    assert (round(low, 4), round(high, 4)) == (0.5958, 0.9821)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("cue", ["what did we agree on", "status of the migration", "last time we talked about cheese"])
def test_the_cues_of_the_design_are_known(cue: str) -> None:
    assert detect(f"{cue}?").recall


def test_a_question_between_quotation_marks_is_ignored() -> None:
    assert not detect('Translate "what did we decide last week?" into French.').recall
    assert not detect("Translate \u201cwhat did we decide last week?\u201d into French.").recall


def test_one_sentence_of_several_is_enough() -> None:
    found = detect("Thanks, that helps. What did I say about the garden?")
    assert found.recall
    assert found.rule
    assert found.words


def test_a_question_before_or_after_a_long_text_is_seen_and_one_inside_it_is_not() -> None:
    text = "Lorem ipsum dolor sit amet. " * 2_000
    assert detect(f"What did I say about the garden?\n{text}").recall
    assert detect(f"{text}\nWhat did I say about the garden?").recall
    assert not detect(f"Shorten this text.\n{text}What did I say?{text}").recall


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a ",
        "the ",
        "of my ",
        "what the ",
        "how is ",
        "Ann Bob ",
        "  ",
        "?! ",
        "\u2019",
        "Ann has 2 ",
        "how 5 ",
        "if a, ",
    ],
)
def test_repetitive_text_takes_no_longer(piece: str) -> None:
    assert isinstance(detect(f"my {piece * 50_000}").recall, bool)


@given(st.text(max_size=300))
def test_any_text_has_an_answer_and_always_the_same(text: str) -> None:
    assert detect(text) == detect(text)


@given(st.sampled_from(prompts("development")), st.sampled_from(["", " ", "\n", "  \t"]))
def test_white_space_around_a_prompt_changes_nothing(row: dict[str, object], space: str) -> None:
    prompt = str(row["prompt"])
    assert detect(f"{space}{prompt}{space}").recall == detect(prompt).recall


def test_the_parts_are_lines_of_json() -> None:
    for file in Path(__file__).parent.glob("prompts_*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert isinstance(json.loads(line)["prompt"], str)
