"""What a text says of its user, and the profile that many of them make."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.profile import is_meant, profile_of, read_chats
from benchmarks.profile_changes import KINDS, Kind, is_right, read_pairs
from htm_core.rules.profile.due import due_day
from htm_core.rules.profile.facts import SECTIONS, facts_of
from htm_core.rules.profile.profile import Stated, lines_of, profile_text
from htm_core.types import ProfileLine, ProfileSource

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)  # a Wednesday
ALLOWED: dict[Kind, float] = {"taken back": 0.2, "stays": 0.04, "instruction": 0.2, "no instruction": 0.08}
NOBODYS = (
    "What if I lived in Rome?", "She said that her name is Carla.", "I wish I lived in Rome.", "Imagine I'm a pirate called Redbeard.",
    'Translate "my name is Pierre" into Italian.', '"I live in a castle", said the king.', "If my name was Bob, would you laugh?",
    "I'm happy with the answer.", "I like how you explained that.", "I love it.", "I love you!", "I'm sorry, I'm tired.", "Never mind.",
    "I work at home.", "Thanks!", "def f(x): return x", "I'm in Madrid this week.", "I moved to Python 3.12.", "I prefer not to say.",
    "Call me later.", "I need to pay attention.", "> I live in Oslo", "I used to live in Rome.", "I might move to Spain.",
)  # fmt: skip


def lines(*said: tuple[str, datetime], now: datetime = NOW) -> tuple[ProfileLine, ...]:
    stated = [
        Stated(
            fact=fact, source=ProfileSource(mention_id=str(place), node_id=str(place), session="s", at=at, seq=place)
        )
        for place, (text, at) in enumerate(said)
        for fact in facts_of(text, at=at)
    ]
    return lines_of(stated, now=now)


def shown(*said: str) -> list[str]:
    return [line.text for line in lines(*((text, NOW + timedelta(minutes=place)) for place, text in enumerate(said)))]


@pytest.mark.parametrize("text", NOBODYS)
def test_what_says_nothing_of_its_user_gives_nothing(text: str) -> None:
    assert shown(text) == []


@pytest.mark.parametrize("half", ["test", "develop", "change"])
def test_the_chats_give_the_lines_that_they_should_and_no_others(half: str) -> None:
    made = wrong = missing = 0
    for chat in (chat for chat in read_chats() if chat.half == half):
        found = profile_of(chat)
        made += len(found)
        wrong += sum(not any(is_meant(each, *one) for one in [*chat.expected, *chat.allowed]) for each in found)
        missing += sum(not any(is_meant(each, *one) for each in found) for one in chat.expected)
    assert made > 15
    assert wrong <= 0.05 * made
    assert missing <= 0.2 * made


@pytest.mark.parametrize(
    "said",
    [
        "Who is my landlord?", "My dentist: When is it?", "My doctor, Should I call?", "My colleague Are there trains?",
        "Is my brother What?", "My boss: Why me?", "My vet: Please write to her.", "My lawyer The letter is late.",
    ],
)  # fmt: skip
def test_a_word_that_begins_a_question_or_a_request_is_nobodys_name(said: str) -> None:
    assert [fact.line for fact in facts_of(said, at=NOW)] == []


@pytest.mark.parametrize(
    "said",
    [
        "The boxes are unpacked, Turin feels like home.", "We've settled in Turin.", "I have relocated from Graz to Turin.",
        "Since moving to Turin I sleep better.", "Our new flat is in Turin.", "We're living in Turin now.", "Turin is my home now.",
        "I've been living in Turin since May.", "We moved into a small house in Turin.", "My new address is 4 Quay Street in Turin.",
    ],
)  # fmt: skip
def test_a_move_in_other_words_takes_the_place_of_the_former_home(said: str) -> None:
    found = lines(("I live in Graz.", NOW), (said, NOW + timedelta(days=9)), now=NOW + timedelta(days=10))
    assert [(line.text, [each.text for each in line.former]) for line in found] == [
        ("Lives in Turin", ["Lives in Graz"])
    ]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("I live in Graz.", "We have left Graz for good."),
        ("I live in Graz.", "I'm no longer in Graz."),
        ("I live in Graz.", "We moved out of Graz last week."),
        ("I work at Olmo.", "I'm not at Olmo any more."),
        ("I work at Olmo.", "I resigned from Olmo."),
        ("My girlfriend is Ana.", "Ana and I broke up in June."),
        ("I'm a vegetarian.", "I'm not a vegetarian any more."),
    ],
)
def test_what_somebody_says_is_over_is_no_line_any_more(before: str, said: str) -> None:
    assert shown(before) != []
    assert shown(before, said) == []


@pytest.mark.parametrize(
    "said",
    [
        "My friend Tom moved to Turin.", "Should I move to Turin?", "I might settle in Turin.", "My aunt's new flat is in Turin.",
        "Is Turin a home for artists?", "I left the keys behind.", "If Turin feels like home, stay.", "I'm not in the mood.",
    ],
)  # fmt: skip
def test_what_is_no_move_of_the_user_leaves_the_home_alone(said: str) -> None:
    assert [text for text in shown("I live in Graz.", said) if "Lives" in text] == ["Lives in Graz"]


def test_the_newest_value_holds_and_the_former_is_kept() -> None:
    [line] = lines(("I live in Lisbon.", NOW), ("I live in Porto now.", NOW + timedelta(days=3)))
    assert line.text == "Lives in Porto"
    assert [former.text for former in line.former] == ["Lives in Lisbon"]
    assert line.key == "profile:places:home"


def test_what_is_said_again_is_one_line_with_all_its_sources_the_newest_first() -> None:
    [line] = lines(("I love jazz.", NOW), ("I really love jazz!", NOW + timedelta(days=1)))
    assert line.times_said == 2
    assert line.said_at == NOW + timedelta(days=1)


def test_a_liking_that_turned_is_the_new_one() -> None:
    assert shown("I love jazz.", "I hate jazz.") == ["Dislikes jazz"]


def test_what_is_taken_back_is_no_line() -> None:
    assert shown("I work for Siemens.", "I don't work for Siemens any more.") == []
    assert shown("My girlfriend is Nora.", "I broke up with Nora.") == []


def test_a_plan_is_open_until_it_is_done() -> None:
    said = [("I'll buy the tickets on Saturday.", NOW)]
    [line] = lines(*said)
    assert line.due == date(2026, 5, 9)
    assert lines(*said, ("I bought the tickets.", NOW + timedelta(days=1))) == ()
    assert lines(*said, ("I bought the bread.", NOW + timedelta(days=1))) != ()


def test_a_plan_is_open_until_its_day_is_over_for_a_week_and_one_without_a_day_for_two_months() -> None:
    dated, undated = ("I'll call Ann tomorrow.", NOW), ("I need to renew my passport.", NOW)
    assert len(lines(dated, undated, now=NOW + timedelta(days=8))) == 2
    assert len(lines(dated, undated, now=NOW + timedelta(days=9))) == 1
    assert lines(dated, undated, now=NOW + timedelta(days=61)) == ()


@pytest.mark.parametrize(
    ("plan", "day"),
    [("call on Friday", date(2026, 5, 8)), ("pay in two weeks", date(2026, 5, 20)), ("order before Monday", date(2026, 5, 10)),
     ("pay by 30 June", date(2026, 6, 30)), ("pay on the 1st", date(2026, 6, 1)), ("pay the rent", None)],
)  # fmt: skip
def test_a_day_in_a_plan_lies_ahead(plan: str, day: date | None) -> None:
    assert due_day(plan, at=NOW)[0] == day


def test_a_text_keeps_to_its_budget_and_every_section_has_its_first_line_before_any_has_its_second() -> None:
    known = lines(
        ("I love jazz.", NOW),
        ("I love opera.", NOW),
        ("I love rain.", NOW),
        ("My sister Clara is here.", NOW),
        ("I live in Oslo.", NOW),
    )
    for budget in range(0, 80, 4):
        text, chosen = profile_text(known, budget=budget, count=lambda text: len(text.split()), today=NOW.date())
        assert len(text.split()) <= budget
        assert all(line.text in text for line in chosen)
    _, chosen = profile_text(known, budget=22, count=lambda text: len(text.split()), today=NOW.date())
    assert {"people", "places"} <= {line.section for line in chosen}


def text_of(*said: tuple[str, datetime], **options: tzinfo) -> str:
    text, _ = profile_text(lines(*said), budget=1_000, count=len, today=NOW.date(), **options)
    return text


def test_what_can_change_has_the_day_on_which_it_was_said_last() -> None:
    assert text_of(("I'm vegetarian.", NOW - timedelta(days=90)), ("I was born in Graz.", NOW)) == (
        "Preferences: Is vegetarian (said 5 Feb)\nPlaces: Born in Graz"
    )
    assert text_of(("I love jazz.", NOW), ("I love opera.", NOW)) == "Preferences (said 6 May): Likes jazz; Likes opera"
    assert text_of(("I love jazz.", NOW), ("I love opera.", NOW - timedelta(days=1))) == (
        "Preferences: Likes jazz (said 6 May); Likes opera (said 5 May)"
    )
    often = [("I'm vegetarian.", NOW - timedelta(days=days)) for days in (9, 8, 4)]
    assert text_of(*often) == "Preferences: Is vegetarian (said 3 times, last 2 May)"
    assert text_of(("I must finish the slides by Friday.", NOW)) == "Open plans: To do: finish the slides (due 8 May)"


def test_the_day_is_that_of_the_users_timezone() -> None:
    late = datetime(2026, 5, 3, 23, 30, tzinfo=UTC)
    assert text_of(("I'm vegetarian.", late), timezone=ZoneInfo("Europe/Oslo")).endswith("(said 4 May)")


@pytest.mark.parametrize("half", ["develop", "test", "later"])
@pytest.mark.parametrize("kind", KINDS.values())
def test_a_profile_follows_what_is_taken_back_and_nothing_that_only_looks_like_it(kind: Kind, half: str) -> None:
    pairs = [pair for pair in read_pairs() if (pair.kind, pair.half) == (kind, half)]
    wrong = [pair.said for pair in pairs if not is_right(pair)]
    assert len(pairs) > 15
    assert len(wrong) <= (2 if half == "later" else 1) * ALLOWED[kind] * len(pairs), wrong


@pytest.mark.parametrize(
    ("said", "shown_then"),
    [
        ("I'm not only vegetarian, I'm strict.", ["Is vegetarian"]),
        ("If they find no reason, I'm not vegetarian any more.", ["Is vegetarian"]),
        ("I'm not vegetarian any more, Tom said.", ["Is vegetarian"]),
        ("I'm not vegetarian any more, I'm vegan.", ["Is vegan"]),
    ],
)
def test_a_denial_counts_only_where_it_is_the_users_own_and_of_the_whole(said: str, shown_then: list[str]) -> None:
    assert shown("I'm vegetarian.", said) == shown_then


def test_what_is_taken_back_and_stated_in_one_message_leaves_the_former_value_in_its_history() -> None:
    [line] = lines(
        ("I live in Ghent.", NOW), ("I don't live in Ghent any more. I live in Bruges now.", NOW + timedelta(days=1))
    )
    assert line.text == "Lives in Bruges"
    assert [each.text for each in line.former] == ["Lives in Ghent"]


def test_of_two_dogs_nobody_knows_which_one_died_without_its_name() -> None:
    dogs = ("My dog Pickle is old.", "My dog Bella is young.")
    assert shown(*dogs, "My dog died.") == shown(*dogs)
    assert shown(*dogs, "Bella died on Sunday.") == ["Dog: Pickle"]
    assert shown(dogs[0], "My dog died.") == []


def test_whoever_is_a_wife_now_is_no_girlfriend_any_more() -> None:
    assert shown("My girlfriend is Ada.", "My wife Ada is here.") == ["Wife: Ada"]
    assert shown("My wife is Ada.", "My ex-wife Ada has moved.") == ["Ex-wife: Ada"]


def test_a_prohibition_ends_its_opposite_and_is_a_line_where_there_is_none() -> None:
    assert shown("Always use emojis.", "Please stop using emojis.") == []
    assert shown("Please stop using emojis.") == ["Don't use emojis"]
    assert shown("Never use emojis.", "Please stop using emojis.") == ["Don't use emojis"]
    assert shown("Never use emojis.", "You can use emojis again.") == []


def test_what_is_never_to_be_done_again_is_a_standing_instruction_whatever_its_reason() -> None:
    said = "Please don't suggest digital printing to me ever again, I know it's cheaper."
    assert shown(said) == ["Don't suggest digital printing to me"]
    assert shown("Don't leave me ever again.") == []
    assert shown("Should I say don't suggest printing ever again?") == []


def test_the_form_of_a_text_that_is_asked_for_beside_it_is_no_standing_instruction() -> None:
    assert shown("No bullet points please.") == ["No bullet points"]
    assert shown("List the capitals of Asia. No bullet points please.") == []
    assert shown("List the capitals of Asia. And never use bullet points.") == ["Never use bullet points"]


@pytest.mark.parametrize(
    ("said", "plan"),
    [
        ("My passport runs out in May, I have to renew it before Edinburgh.", "To do: renew my passport before Edinburgh"),
        ("I borrowed a drill from Ann and I have to return it.", "To do: return the drill"),
        ("My brother Tom is ill, so I have to call him.", "To do: call my brother Tom"),
        ("I have to renew my passport before it expires.", "To do: renew my passport before it expires"),
        ("I have to return it.", None), ("I'll check out those websites.", None), ("I'll send her a note.", None),
        ("Good point, I'll ask him about the keys.", None), ("Nice shoes, I have to ask him where he got them.", None),
        ("Joris left, I'll ask him for the key.", "To do: ask Joris for the key"),
        ("Anna wants the keys, I have to send her the code.", "To do: send Anna the code"),
        ("Ann and Bob met, I have to call him.", None), ("My keys are gone, I have to order it.", None),
    ],
)  # fmt: skip
def test_a_plan_says_what_its_pronouns_mean_or_is_no_line(said: str, plan: str | None) -> None:
    assert [text for text in shown(said) if text.startswith("To do")] == ([plan] if plan else [])


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    for fact in facts_of(text, at=NOW):
        assert fact.section in SECTIONS
        assert fact.value


@given(
    st.permutations(
        ["I live in Oslo.", "I love jazz.", "My sister Clara is here.", "I work for Siemens.", "My name is Ann."]
    )
)
def test_the_order_of_facts_that_have_nothing_to_do_with_each_other_does_not_matter(said: list[str]) -> None:
    assert sorted(shown(*said)) == sorted(
        ["Lives in Oslo", "Likes jazz", "Sister: Clara", "Works for Siemens", "Name: Ann"]
    )
