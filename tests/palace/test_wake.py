"""A wake-up is selective, within its budget in real tokens, and begins with what seldom changes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import InvalidInput
from htm_core.models.tokenizers import resolve_tokenizer
from htm_core.palace import Palace
from tests.palace.conftest import Build, Clock
from tests.stand_ins import HashEmbedder


def furnished(palace: Palace, *, facts: int) -> None:
    palace.identify("I am Atlas.\nI never guess.")
    for start in range(0, facts, 500):
        said = [
            f"Fact number {at} says where thing {at} is kept."
            for at in range(start, min(facts, start + 500))
        ]
        palace.file_many(said, room=f"room {start % 7}", drawer="facts")


@pytest.mark.parametrize("facts", [0, 10, 1_000])
def test_the_budget_is_kept_to_the_token(palace: Palace, facts: int) -> None:
    furnished(palace, facts=facts)
    for budget in (0, 12, 120, 900):
        woken = palace.wake_up(budget=budget)
        assert woken.tokens <= budget
        assert woken.tokens == (resolve_tokenizer(None)(woken.text) if woken.text else 0)


def test_what_seldom_changes_comes_first_and_notes_come_last(palace: Palace) -> None:
    furnished(palace, facts=3)
    palace.note("The build is red.")
    text = palace.wake_up().text
    heads = [line for line in text.splitlines() if line.startswith("# ")]
    assert heads == [
        "# Who I am",
        "# My palace",
        "# New since last time",
        "# Notes of this session",
    ]
    assert text.startswith("# Who I am\nI am Atlas.\nI never guess.")


def test_two_wake_ups_begin_alike_when_only_a_note_was_added(palace: Palace) -> None:
    furnished(palace, facts=3)
    palace.wake_up()
    first = palace.wake_up().text
    palace.note("The build is red.")
    beginning, _, closing = first.rpartition("\n")
    assert closing.startswith("</")
    assert palace.wake_up().text.startswith(beginning)


def test_what_was_filed_since_the_last_time_is_new_once(palace: Palace) -> None:
    palace.file("An old fact.", room="projects", drawer="a")
    palace.wake_up()
    note = palace.note("The build is red.")
    palace.promote(
        note,
        room="projects",
        drawer="ci",
        reason="To be known.",
        summary="The build of March was red.",
    )
    assert [each.content for each in palace.wake_up().new] == ["The build of March was red."]
    assert palace.wake_up().new == ()


def test_each_robot_wakes_up_by_itself(build: Build) -> None:
    atlas, borg = build("atlas"), build("borg")
    atlas.file("A fact.", room="projects", drawer="a")
    assert len(atlas.wake_up().new) == 1
    assert len(borg.wake_up().new) == 1


def test_surviving_notes_are_in_the_text_and_expired_promoted_or_foreign_ones_are_not(
    build: Build, clock: Clock
) -> None:
    palace = build()
    palace.note("Gone soon.", ttl=10)
    kept, done = palace.note("Still true."), palace.note("To be promoted.")
    build(session="tomorrow").note("Somebody else's.")
    palace.promote(done, room="projects", drawer="a", reason="Needed.", summary="It was promoted.")
    clock.passes(seconds=30)
    assert [each.id for each in palace.wake_up().notes] == [kept.id]


def test_never_the_whole_palace_and_it_says_how_much_was_left_out(palace: Palace) -> None:
    furnished(palace, facts=500)
    woken = palace.wake_up(budget=300)
    assert len(woken.new) < 30
    assert woken.left_out > 0


def test_a_note_is_in_the_text_even_when_the_palace_would_fill_the_budget(palace: Palace) -> None:
    furnished(palace, facts=500)
    note = palace.note("The build is red.")
    assert [each.id for each in palace.wake_up(budget=100).notes] == [note.id]


def topics(palace: Palace) -> None:
    for at in range(20):
        palace.file(f"Harbour crane {at} lifts {at} tons.", room="harbour", drawer=f"crane {at}")
    palace.file("The billing service listens on port 8080.", room="projects", drawer="billing")
    palace.file(
        "Invoices of the billing service are sent on Mondays.", room="projects", drawer="invoices"
    )
    for at in range(20):
        palace.file(f"Ferry {at} sails at {at} o'clock.", room="harbour", drawer=f"ferry {at}")


def test_a_second_wake_up_holds_facts_too_those_that_somebody_called_important(
    palace: Palace,
) -> None:
    topics(palace)
    palace.file("Nobody deploys on Fridays.", room="rules", drawer="deploys", importance=9)
    palace.file("Reviews take a day.", room="rules", drawer="reviews", importance=3)
    palace.wake_up()
    woken = palace.wake_up()
    assert woken.new == ()
    assert {each.content for each in woken.facts} == {
        "Nobody deploys on Fridays.",
        "Reviews take a day.",
    }
    assert "# What matters now\n" in woken.text
    assert "- Nobody deploys on Fridays. [rules/deploys]" in woken.text
    assert woken.tokens <= 900


@pytest.mark.parametrize("topic", [None, "Write a haiku about rain."])
def test_where_nothing_has_to_do_with_the_topic_the_drawers_are_named_and_no_fact_fills_the_room(
    build: Build, topic: str | None
) -> None:
    palace = build()
    topics(palace)
    palace.wake_up()
    woken = palace.wake_up(topic=topic)
    assert woken.facts == ()
    assert "# What matters now" not in woken.text
    assert "- projects: billing (1), invoices (1)" in woken.text
    assert "tons" not in woken.text


def test_what_lies_in_a_drawer_that_the_topic_names_matters_though_it_has_no_word_of_it(
    palace: Palace,
) -> None:
    fact = "Prefers short reports in the morning."
    palace.file(fact, room="people", drawer="alexander")
    palace.file_many(
        [f"Machine number {at} of the fleet has 4 disks." for at in range(60)],
        room="fleet",
        drawer="machines",
    )
    palace.wake_up()
    woken = palace.wake_up(topic="What does Alexander prefer?", budget=300)
    assert woken.facts[0].content == fact
    assert "- Prefers short reports in the morning. [people/alexander]" in woken.text


@pytest.mark.parametrize(
    ("drawers", "more"), [(12, ""), (13, " and 1 more drawer\n"), (14, " and 2 more drawers\n")]
)
def test_a_room_names_its_drawers_and_says_how_many_more_there_are(
    palace: Palace, drawers: int, more: str
) -> None:
    for at in range(drawers):
        palace.file(f"Fact {at}.", room="projects", drawer=f"drawer {at}")
    line = next(
        each
        for each in palace.wake_up().text.splitlines(keepends=True)
        if each.startswith("- projects: ")
    )
    assert line.count("(1)") == 12
    assert more in line
    assert ("more" in line) == bool(more)


def test_facts_have_to_do_with_what_the_session_talks_about(build: Build) -> None:
    palace = build()
    topics(palace)
    palace.wake_up()
    palace.memory.remember("The billing service does not answer on its port.", role="user")
    billing = {each.content for each in palace.wake_up().facts}
    assert {
        "The billing service listens on port 8080.",
        "Invoices of the billing service are sent on Mondays.",
    } <= billing
    elsewhere = build(session="tomorrow").wake_up()
    assert "The billing service listens on port 8080." not in {
        each.content for each in elsewhere.facts
    }


def test_notes_and_a_given_topic_say_what_a_session_is_about_as_well(build: Build) -> None:
    palace = build()
    topics(palace)
    palace.wake_up()
    fact = "The billing service listens on port 8080."
    assert fact in {
        each.content for each in palace.wake_up(topic="the port of the billing service").facts
    }
    palace.note("The billing service was restarted; its port is the same.")
    assert palace.wake_up().facts[0].content == fact
    with pytest.raises(InvalidInput, match="leave topic out"):
        palace.wake_up(topic=" ")


def test_what_is_new_is_not_said_twice_and_facts_stand_by_their_place(palace: Palace) -> None:
    palace.file_many(["Zinc is kept in B.", "Iron is kept in A."], room="store", drawer="metals")
    first = palace.wake_up()
    assert (len(first.new), first.facts) == (2, ())
    second = palace.wake_up(topic="Where is zinc kept?")
    assert second.facts[0].content.startswith("Zinc")
    assert second.text.index("Iron") < second.text.index("Zinc")
    assert second.text == palace.wake_up(topic="Where is iron kept?").text


def test_without_the_embedder_words_still_find_what_matters(
    build: Build, embedder: HashEmbedder
) -> None:
    palace = build()
    topics(palace)
    palace.wake_up()
    embedder.down = True
    assert "8080" in palace.wake_up(topic="billing service port").facts[0].content


@pytest.mark.parametrize("budget", [-1, 1.5, True, "900"])
def test_a_budget_is_a_whole_number_of_tokens(palace: Palace, budget: object) -> None:
    with pytest.raises(InvalidInput, match="budget"):
        palace.wake_up(budget=budget)  # type: ignore[arg-type]


@given(
    st.lists(st.text(min_size=1, max_size=200).filter(str.strip), max_size=6), st.integers(0, 200)
)
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_noted_the_budget_holds(palace: Palace, said: list[str], budget: int) -> None:
    for text in said:
        palace.note(text.replace("\x00", " ").encode("utf-8", "replace").decode() or "x", ttl=5)
    assert palace.wake_up(budget=budget).tokens <= budget
