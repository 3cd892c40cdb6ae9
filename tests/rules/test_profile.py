"""The profile that a user's sentences make, and the sentences that the reader keeps for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import recalled
from benchmarks.profile import is_meant, profile_of, read_chats
from benchmarks.reader.lists import HERE
from htm_core.base.types import ProfileLine, ProfileSource
from htm_core.change.facts import KINDS, LONGEST, MOST, Fact, Stated, section_of, sentences, slug
from htm_core.change.profile import PLANNED, lines_of, profile_text
from htm_core.reading.readers import embedded_reader

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)  # a Wednesday


def stated(section: str, text: str, day: int = 0, *, instead_of: str | None = None) -> list[Stated]:
    """A sentence that was said so many days before now, and what it replaces."""
    at = NOW - timedelta(days=day)
    facts = [Fact(section=section, slot=slug(text), value=text, line=text)]
    if instead_of is not None:
        facts.append(
            Fact(section=section, slot=slug(instead_of), value=slug(text), line="", retracts=True)
        )
    source = ProfileSource(mention_id=f"{text}{day}", node_id=text, session="s", at=at)
    return [Stated(fact=fact, source=source) for fact in facts]


def lines(*said: list[Stated]) -> tuple[ProfileLine, ...]:
    return lines_of([each for one in said for each in one], now=NOW)


def words(text: str) -> int:
    return len(text.split())


def test_the_newest_of_a_section_comes_first_and_what_is_said_again_is_one_line() -> None:
    found = lines(
        stated("places", "I live in Bergen.", 9), stated("places", "I'm from Oslo.", 5), stated("about", "I'm Ann.", 7),
        stated("places", "i live in bergen!", 2),
    )  # fmt: skip
    assert [(line.section, line.text) for line in found] == [
        ("about", "I'm Ann."), ("places", "i live in bergen!"), ("places", "I'm from Oslo."),
    ]  # fmt: skip
    assert [line.times_said for line in found] == [1, 2, 1]


def test_what_is_replaced_is_in_the_history_of_what_replaced_it_until_it_is_said_again() -> None:
    first, second = (
        stated("places", "I live in Ulm.", 9),
        stated("places", "I live in Kiel.", 5, instead_of="I live in Ulm."),
    )
    third = stated("places", "I live in Graz.", 3, instead_of="I live in Kiel.")
    [line] = lines(third, first, second)
    assert (line.text, [each.text for each in line.former]) == (
        "I live in Graz.",
        ["I live in Kiel.", "I live in Ulm."],
    )
    again = lines(first, second, stated("places", "I live in Ulm.", 1))
    assert [each.text for each in again] == ["I live in Ulm.", "I live in Kiel."]


def test_a_plan_is_open_for_two_months() -> None:
    days = PLANNED.days
    assert [
        line.text
        for line in lines(
            stated("plans", "I'll go.", days), stated("plans", "I'll stay.", days + 1)
        )
    ] == ["I'll go."]


@pytest.mark.parametrize("budget", [0, 5, 20, 60])
def test_a_text_keeps_within_its_budget_and_says_a_common_day_once(budget: int) -> None:
    found = lines(
        stated("about", "I'm Ann.", 2), stated("places", "I live in Bergen.", 2), stated("places", "I'm from Oslo.", 2),
        stated("work", "I'm a vet.", 2), stated("work", "I work for Lund.", 400),
    )  # fmt: skip
    text, shown = profile_text(found, budget=budget, count=words, today=NOW.date())
    assert words(text) <= budget
    assert bool(text) == bool(shown)
    if budget == 60:
        assert text.splitlines() == [
            'About: "I\'m Ann." (said 4 May)', 'Places (said 4 May): "I live in Bergen."; "I\'m from Oslo."',
            'Work: "I\'m a vet." (said 4 May); "I work for Lund." (said 1 Apr 2025)',
        ]  # fmt: skip


def test_the_day_is_that_of_the_time_zone() -> None:
    late = [Stated(fact=each.fact, source=each.source) for each in stated("about", "I'm Ann.")]
    text, _ = profile_text(
        lines(late),
        budget=50,
        count=words,
        today=NOW.date(),
        timezone=ZoneInfo("Pacific/Kiritimati"),
    )
    assert text == 'About: "I\'m Ann." (said 7 May)'


def test_sentences_end_where_sentences_end() -> None:
    assert sentences("Hi!  I see Dr. Kim at\nSt. Mary's. Do you? " + "x" * 200) == [
        "Hi!", "I see Dr. Kim at", "St. Mary's.", "Do you?",
    ]  # fmt: skip


@given(st.text(max_size=400))
def test_any_text_has_short_sentences_each_with_a_slot(text: str) -> None:
    found = sentences(text)
    assert len(found) <= MOST
    assert all(slug(each) and len(each) <= LONGEST for each in found)


def test_a_sentence_is_in_the_section_of_its_likeliest_kind_if_it_is_likely_at_all() -> None:
    kinds = dict.fromkeys(KINDS, 0.2) | {"asks": 0.9}
    assert section_of(kinds) is None
    assert section_of(kinds | {"prefers": 0.6, "plans": 0.9}) == "plans"
    assert section_of(kinds | {"instructs": 0.6}) == "instructions"


@pytest.mark.usefixtures("real_embedder")
def test_the_chats_give_most_of_the_lines_that_they_should_and_few_others() -> None:
    made = wrong = expected = missing = 0
    for chat in (chat for chat in read_chats() if chat.half == "test"):
        found, meant = profile_of(chat), [*chat.expected, *chat.allowed]
        made, expected = made + len(found), expected + len(chat.expected)
        wrong += sum(
            not any(is_meant(each, *one, anywhere=True) for one in meant) for each in found
        )
        missing += sum(
            not any(is_meant(each, *one, anywhere=True) for each in found) for one in chat.expected
        )
    assert wrong <= 0.25 * made
    assert missing <= 0.3 * expected


@pytest.mark.usefixtures("real_embedder")
def test_among_small_talk_nearly_all_lines_tell_what_lasts() -> None:
    rows = recalled.rows(HERE / "profile-held-out.jsonl")
    sections = [
        section_of(kinds) for kinds in embedded_reader().kinds([row["text"] for row in rows])
    ]
    right = [
        bool(row["kinds"])
        for row, section in zip(rows, sections, strict=True)
        if section is not None
    ]
    assert sum(right) >= 0.85 * len(right)
    assert sum(right) >= 0.65 * sum(bool(row["kinds"]) for row in rows)


@pytest.mark.usefixtures("real_embedder")
def test_what_asks_for_a_fact_states_none() -> None:
    questions = [
        question["text"]
        for row in recalled.rows(HERE / "near-unseen.jsonl")
        for question in row["asked"]
    ]
    sections = [
        section_of(kinds) for kinds in embedded_reader().kinds([*questions, "where do I live now?"])
    ]
    assert len(questions) > 100
    assert sections[-1] is None
    assert sum(section is not None for section in sections) <= 0.03 * len(questions)


@pytest.mark.usefixtures("real_embedder")
def test_kinds_are_probabilities() -> None:
    reader = embedded_reader()
    [asks, prefers] = reader.kinds(["What does it cost?", "I love jazz."])
    assert asks["asks"] > 0.5 > prefers["asks"]
    assert prefers["prefers"] > 0.5
    assert reader.kinds([]) == []
