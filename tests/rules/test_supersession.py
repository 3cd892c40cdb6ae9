"""The judge of what a newer saying does to an older one: what it finds, what it leaves alone, and that it takes any text."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.supersession import judge as module
from htm_core.rules.supersession.judge import LEAST, THRESHOLD, ChangeJudgement, Saying, judge, why_at_odds

HALVES = Path(__file__).parents[2] / "benchmarks" / "supersession"
TEXTS = st.text(max_size=300)


def said(older: str, newer: str, *, by: str = "user", then_by: str = "user") -> ChangeJudgement:
    return judge(Saying(older, by), Saying(newer, then_by))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I drive a Honda Civic.", "I sold the Honda Civic, I drive a Tesla now."),
        ("We deploy with Jenkins.", "We switched from Jenkins to GitHub Actions."),
        ("The team meeting is at 10 on Mondays.", "The team meeting has been moved to 9 on Mondays."),
        ("I have a Netflix subscription.", "I cancelled my Netflix subscription."),
        ("My favourite colour is green.", "My favourite colour is blue now."),
    ],
)
def test_another_value_with_words_of_a_change_supersedes(older: str, newer: str) -> None:
    found = said(older, newer)
    assert found.relation == "supersedes"
    assert found.confidence >= LEAST
    assert found.reason


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I drive a Honda Civic.", "Should I sell the Honda Civic?"),
        ("I drive a Honda Civic.", "I might sell the Honda Civic one day."),
        ("I drive a Honda Civic.", "I still drive the Honda Civic."),
        ("I have a dog.", "We got a second dog too."),
        ("The Tuesday class is full.", "The Thursday class is no longer full."),
        ("My Netflix subscription costs 12 euros.", "My newspaper subscription went up to 20 euros."),
        ("We moved from AWS to Hetzner.", "We moved from AWS to Hetzner."),
        ("The weather is awful today.", "My laptop is a ThinkPad."),
    ],
)
def test_questions_wishes_additions_and_other_things_replace_nothing(older: str, newer: str) -> None:
    assert said(older, newer).relation == "none"


def test_what_one_person_says_of_themselves_replaces_nothing_of_anothers() -> None:
    assert (
        said("I live in Kiel.", "I no longer live in Kiel, I moved to Bremen.", by="Ann", then_by="Ben").relation
        == "none"
    )


def test_two_people_who_disagree_contradict_each_other() -> None:
    found = said("The office has parking.", "The office has no parking.", by="Ann", then_by="Ben")
    assert found.relation == "contradicts"
    assert "nothing says which of them holds" in found.reason


def test_names_of_speakers_are_compared_in_any_letter_case() -> None:
    older, newer = "I have a Netflix subscription.", "I cancelled my Netflix subscription."
    assert said(older, newer, by="Ann", then_by=" ann ") == said(older, newer, by="ann", then_by="ann")


@given(TEXTS, TEXTS, st.sampled_from(["user", "assistant", "", "Ann\n"]), st.one_of(st.none(), st.floats(-1, 1)))
def test_any_two_texts_get_a_judgement(older: str, newer: str, speaker: str, cosine: float | None) -> None:
    found = judge(Saying(older, speaker), Saying(newer), cosine=cosine)
    assert found.relation in ("supersedes", "contradicts", "none")
    assert 0 <= found.confidence <= 1
    assert found.relation == "none" or found.reason


@given(TEXTS)
def test_no_text_replaces_itself(text: str) -> None:
    assert judge(Saying(text), Saying(text)) == ChangeJudgement("none", 1.0)


@given(TEXTS, TEXTS)
def test_whether_two_texts_are_at_odds_does_not_depend_on_which_comes_first(one: str, other: str) -> None:
    assert (why_at_odds(one, other) is None) == (why_at_odds(other, one) is None)


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "?" * 50_000, "I moved to " * 20_000, "a" * 1_000_000, "\ud800", "my " * 5_000]
)
def test_empty_odd_and_huge_texts_are_judged_soon(text: str) -> None:
    begun = time.perf_counter()
    for older, newer in ((text, "I sold the car."), ("I have a car.", text), (text, text + "x")):
        judge(Saying(older), Saying(newer))
    assert time.perf_counter() - begun < 5


def test_the_weights_are_those_of_the_signals_and_the_thresholds_are_in_order() -> None:
    [pair] = module.pairs(Saying("I have a car."), Saying("I sold the car."), cosine=None)
    assert set(module._weights()["conflict"]) == {"", *pair.values}
    assert 0.5 <= LEAST < THRESHOLD < 1


@pytest.mark.parametrize(("half", "least", "share"), [("development", 500, 0.5), ("test", 240, 0.5)])
def test_the_labelled_halves_are_whole_and_share_no_pair(half: str, least: int, share: float) -> None:
    rows = [json.loads(line) for line in (HALVES / f"{half}.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) >= least
    assert {row["label"] for row in rows} == {"supersedes", "contradicts", "none"}
    assert sum(row["label"] != "supersedes" for row in rows) >= share * len(rows)
    pairs = {(row["older"], row["newer"]) for row in rows}
    other = HALVES / ("test.jsonl" if half == "development" else "development.jsonl")
    assert not pairs & {(row["older"], row["newer"]) for row in map(json.loads, other.read_text("utf-8").splitlines())}


def test_at_the_threshold_the_words_alone_are_hardly_ever_wrong_about_the_development_half() -> None:
    """These pairs were learned from, and without the cosine of vectors; `python -m benchmarks.supersession` measures."""
    rows = [json.loads(line) for line in (HALVES / "development.jsonl").read_text("utf-8").splitlines()]
    sure = [
        row["label"]
        for row in rows
        if (found := said(row["older"], row["newer"], by=row["older_speaker"], then_by=row["newer_speaker"])).relation
        == "supersedes"
        and found.confidence >= THRESHOLD
    ]
    assert sure
    assert sure.count("supersedes") >= 0.97 * len(sure)
