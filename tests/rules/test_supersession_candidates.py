"""A new saying is judged beside all its candidates: which one it replaces, and that most things replace nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.supersession.candidates import Candidate, confidence_of, judge_candidates
from htm_core.rules.supersession.judge import THRESHOLD, Saying
from htm_core.rules.supersession.sayings import whole

ORDERS = 0.85
OTHERS = (
    ("The bakery round the corner has the best rolls.", 0.1),
    ("My sister Jess is married to Dan.", 0.12),
    ("I run by the canal on Sundays.", 0.15),
)
TEXTS = st.text(max_size=200)


def confidences(newer: str, *earlier: tuple[str, float]) -> list[float]:
    """How sure it is that a saying supersedes each of some earlier ones, which have these cosines, and three others."""
    judged = judge_candidates(Saying(newer), [Candidate(Saying(text), near) for text, near in (*earlier, *OTHERS)])
    return [each.confidence if each.relation == "supersedes" else 0.0 for each in judged]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("our meetings are wednesdays at 7", "meetings have been pushed to thursdays, same room"),
        ("our coffee machine is a Nespresso", "binned the Nespresso, there is a Sage on the counter now"),
        ("my phone plan is 10 GB", "upgraded the phone plan last night, 40 GB from here on"),
    ],
)
def test_a_change_as_people_tell_it_replaces_the_one_saying_that_it_means(older: str, newer: str) -> None:
    first, *others = confidences(newer, (older, 0.6))
    assert first >= ORDERS, "so sure that it counts for the order of hits about the present"
    assert max(others) == 0


@pytest.mark.parametrize(
    "newer",
    [
        "should I sell the Berlingo and get a cargo bike?",
        "I'd like to sell the Berlingo one day",
        "if I had the money I'd have sold the Berlingo",
        "my sister's neighbour sold her van",
        "went for a walk in the rain",
    ],
)
def test_questions_wishes_and_other_peoples_changes_replace_nothing(newer: str) -> None:
    assert max(confidences(newer, ("deliveries go out in the Berlingo at six", 0.5))) < THRESHOLD


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("my phone plan is 10 GB", "I would have upgraded the phone plan last night, 40 GB from here on"),
        ("the meetings are on tuesdays", "Maybe the meetings have been pushed to thursdays"),
        ("the meetings are on tuesdays", "have the meetings been pushed to thursdays, same room?"),
        ("I have a gym membership", "I might have cancelled the gym membership already"),
        ("I live in Bergen", "I could have moved to Oslo"),
    ],
)
def test_what_is_only_asked_supposed_or_imagined_replaces_nothing_whatever_it_announces(older: str, newer: str) -> None:
    assert confidences(newer, (older, 0.7))[0] < 0.85, "from here on it would count for the order of hits"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ticket 88 is fixed", "Ticket 91 is fixed"),
        ("Pier 3 was repaired by Henrik.", "Pier 4 was repaired by Henrik."),
        ("Chapter 3 is done, 4200 words", "Chapter 4 is done, 3900 words"),
        ("Room 12 is booked for Monday", "Room 14 is booked for Monday"),
        ("Clara fact 2 and so on and so on", "Clara fact 3 and so on and so on"),
        ("I ran 5 km this morning", "I ran 7 km this morning"),
        ("We went to the lake, 75.", "We went to the lake, 10."),
        ("We met Anna at the park on Monday", "We met Anna at the park on Thursday"),
    ],
)
def test_one_more_of_a_series_replaces_none_of_it(older: str, newer: str) -> None:
    assert confidences(newer, (older, 0.9))[0] < 0.85


def test_a_value_with_a_number_is_no_series() -> None:
    assert confidences("The rent costs 900 now, they raised it", ("The rent costs 850", 0.8))[0] >= 0.85
    assert confidences("we upgraded to PostgreSQL 17 now", ("we run PostgreSQL 16", 0.7))[0] > 0.5


def test_of_two_sayings_about_different_things_only_the_likelier_is_replaced() -> None:
    found = confidences(
        "sold the Berlingo to a plumber, a cargo bike does the deliveries",
        ("deliveries go out in the Berlingo at six", 0.6),
        ("I cycle to the bakery at four", 0.45),
    )
    assert found[0] > 0
    assert found[1] == 0


def test_two_earlier_sayings_of_the_same_are_both_replaced() -> None:
    first, second, *_ = confidences(
        "sold the Berlingo to a plumber, a cargo bike does the deliveries",
        ("deliveries go out in the Berlingo at six", 0.6),
        ("the deliveries go out with the Berlingo again", 0.58),
    )
    assert min(first, second) >= 0.5


def test_a_rival_that_is_as_near_makes_it_less_sure() -> None:
    newer, older = "the deadline is the 26th now", ("the audit report has a deadline on the 12th", 0.5)
    alone = confidences(newer, older)[0]
    beside = confidences(newer, older, ("the tax return has a deadline on the 31st", 0.5))[0]
    assert beside < alone


def test_without_candidates_nothing_is_judged_and_without_vectors_it_still_is() -> None:
    assert judge_candidates(Saying("I sold the car."), []) == []
    [found] = judge_candidates(Saying("I sold the car."), [Candidate(Saying("My car is a blue Volvo."))])
    assert 0 <= found.confidence <= 1


def test_a_confidence_never_falls_with_more_evidence_and_stays_below_one() -> None:
    found = [confidence_of(at / 4) for at in range(-40, 40)]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] < 1


def test_a_stem_is_known_by_its_beginning() -> None:
    said = whole("The timeout is set.", speaker="user")
    assert said.has("timeout")
    assert said.has("time")
    assert not said.has("tim")


@given(newer=TEXTS, older=TEXTS)
def test_any_two_texts_are_judged(newer: str, older: str) -> None:
    [found] = judge_candidates(Saying(newer), [Candidate(Saying(older), 0.5)])
    assert 0 <= found.confidence <= 1


def test_each_judgement_but_none_says_why_by_its_own_pair() -> None:
    said = ["My car is a blue Volvo.", "I drive the Volvo to work.", "Otto lives in Linz."]
    sold, drives, lives = judge_candidates(Saying("I sold the blue Volvo."), [Candidate(Saying(each)) for each in said])
    assert sold.relation == "supersedes"
    assert "both speak of" in sold.reason
    assert "\u201csold\u201d" in sold.reason
    assert (lives.relation, lives.reason) == ("none", "")
    assert bool(drives.reason) == (drives.relation != "none")


def test_long_texts_take_no_longer_than_their_first_sentences_do() -> None:
    long = " ".join(f"word{at} moved to place{at} and sold thing{at}." for at in range(3_000))
    begun = time.process_time()
    judge_candidates(Saying(long), [Candidate(Saying(f"{long} {at}"), 0.5) for at in range(10)])
    assert time.process_time() - begun < 5
