"""timeframe="auto" finds what the same question finds without it, however people word a time; and says what it did."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from htm_core import Memory, Window
from htm_core.models.minilm.model import MiniLM
from htm_core.recall import search, searches
from tests.conftest import Make

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday

# When it was said, and what.
SAID = [
    ("2025-11-20", "For my last birthday Mona gave me a telescope."),
    ("2026-03-10", "We repainted the kitchen in pale green."),
    ("2026-03-24", "The boiler broke and the plumber replaced the valve."),
    ("2026-04-02", "Jana's birthday is on May 7."),
    ("2026-05-07", "I bought a second-hand bicycle at the market."),
    ("2026-05-12", "My contract at the university ends in 2030."),
    ("2026-06-20", "Luigi's on Harbour Street is my favourite pizza place."),
    ("2026-07-15", "We spent a week on Crete and Tom lost his passport."),
    ("2026-08-01", "The allotment gate code is 4711."),
    ("2026-09-05", "The library closes at six on Mondays and is shut on Sundays."),
    ("2026-09-14", "I stopped eating meat because of my cholesterol."),
    ("2026-10-02", "My flight to Lisbon leaves on 28 December at 7:40 from terminal two."),
    ("2026-10-05", "The tax return has to be sent off by Friday 20 November."),
    ("2026-10-12", "Ruth recommended the novel The Overstory."),
    ("2026-10-20", "The dentist appointment is next week on Tuesday at nine."),
    ("2026-10-28", "Our team agreed to use PostgreSQL for the billing service."),
    ("2026-11-03", "Pavel called and asked for the invoice of the roof repair."),
    ("2026-11-06", "The car made a strange noise, so I drove it to the garage."),
    ("2026-11-10", "We decided to hire the designer from Brno."),
    ("2026-11-11", "I told Nora that I would lend her the projector."),
    ("2026-11-12", "The choir rehearsal was moved to the church hall."),
    ("2026-11-13", "On the way home I lost my grey scarf on the tram."),
    ("2026-11-14", "Hana and Petr came to dinner and brought plum dumplings."),
    ("2026-11-16", "I have to hand in the grant report by Friday."),
    ("2026-11-16", "Tomorrow week the choir sings at the town hall."),
    ("2026-11-17", "Simon called about the leak in the attic."),
    ("2026-11-17", "The vet said the cat needs to lose half a kilo."),
    ("2026-11-18", "The parcel from Vienna arrived this morning."),
]

# A question, a part of the memory that answers it, the words that limit the search, and whether all times were searched.
ASKED = [
    # A time that says when.
    ("Who called yesterday?", "Simon called", "yesterday", False),
    ("What did the vet say yesterday about the cat?", "half a kilo", "yesterday", False),
    ("What happened to the boiler in March?", "replaced the valve", "in March", False),
    ("Where did I lose my scarf on Friday?", "on the tram", "on Friday", False),
    ("who came to dinner last weekend?", "plum dumplings", "last weekend", False),
    ("What did I promise Nora last week?", "lend her the projector", "last week", False),
    ("What did we do on holiday in July?", "Crete", "in July", False),
    ("Which database did the team agree on last month?", "PostgreSQL", "last month", False),
    ("What has arrived today?", "parcel from Vienna", "today", False),
    ("Who called two weeks ago about an invoice?", "Pavel called", "two weeks ago", False),
    ("I have been so busy. What did I buy on 7 May?", "bicycle", "on 7 May", False),
    ("What did I stop eating, not last month but the month before?", "cholesterol", "not last month but the month before", False),
    # A time that is a part of the subject, or ahead.
    ("Which report do I have to hand in by Friday?", "grant report", None, False),
    ("When does the tax return have to be sent off, by Friday?", "tax return", None, False),
    ("Whose birthday is on May 7?", "Jana", None, False),
    ("What is planned for the choir next week?", "town hall", None, False),
    ("When is my flight in December?", "Lisbon", None, False),
    ("Is the library open on Sunday?", "library", None, False),
    ("What will end in 2030?", "contract", None, False),
    ("What did Ruth recommend more than a month ago?", "The Overstory", None, False),
    ("Which pizza place should we book for this Friday?", "Luigi's", None, False),
    ("What's the gate code I need tomorrow?", "4711", None, False),
    ("At least two months ago I told you why I eat no meat. Why was that?", "cholesterol", None, False),
    ("Do I lend anything to Nora next Monday?", "projector", None, False),
    ("When is the dentist appointment on Tuesday?", "dentist", None, False),
    ("I talked to Mona yesterday. What did she give me for my birthday?", "telescope", None, False),
    # A time that somebody remembers wrongly: the answer is from another one.
    ("What colour did we paint the kitchen last month?", "pale green", "last month", True),
    ("Who lost his passport last week?", "Tom", "last week", True),
    ("Which novel did Ruth recommend yesterday?", "The Overstory", "yesterday", True),
    ("What was wrong with the car on Monday?", "strange noise", "on Monday", True),
    ("Which pizza place did I say was my favourite in September?", "Luigi's", "in September", True),
]  # fmt: skip


@pytest.fixture
def diary(make: Make, real_embedder: MiniLM) -> Iterator[Memory]:
    """A year of small memories."""
    with make(clock=lambda: NOW, embedder=real_embedder) as memory:
        memory.remember_many(
            [
                {"content": text, "at": datetime.fromisoformat(f"{day}T12:00+00:00")}
                for day, text in SAID
            ]
        )
        memory.flush()
        yield memory


def test_times_as_people_word_them_hide_no_answer(diary: Memory) -> None:
    wrong = []
    for question, answer, words, outside in ASKED:
        found = diary.recall(question, timeframe="auto", limit=3, hold=False)
        applied = (
            (found.timeframe.words, found.timeframe.outside) if found.timeframe else (None, False)
        )
        if applied != (words, outside) or answer not in found[0].content:
            wrong.append((question, found[0].content if found else None, applied))
    assert wrong == []


def test_an_explicit_timeframe_is_strict_and_said(diary: Memory) -> None:
    found = diary.recall(
        "Which novel did Ruth recommend?", timeframe="last week", limit=3, hold=False
    )
    assert all(
        NOW.replace(day=9, hour=0, minute=0) <= hit.mentions[0].at < NOW.replace(day=16)
        for hit in found
    )
    assert found.timeframe is not None
    assert (found.timeframe.words, found.timeframe.outside, found.timeframe.note) == (
        "last week",
        False,
        None,
    )
    day = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    empty = diary.recall("Which novel did Ruth recommend?", timeframe=day, hold=False)
    assert len(empty) == 0
    assert empty.timeframe is not None
    assert (empty.timeframe.windows, empty.timeframe.words) == (
        (Window(start=day[0], stop=day[1]),),
        None,
    )
    assert diary.recall("Which novel did Ruth recommend?", hold=False).timeframe is None


def test_all_times_are_searched_only_when_the_named_ones_hold_no_answer(diary: Memory) -> None:
    asked = []

    def counted(read: search.Reader, query: search.RecallQuery) -> searches.SearchResult:
        asked.append(query)
        return whole_search(read, query)

    whole_search = searches.ranked_search
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "ranked_search", counted)
        diary.recall("Who called yesterday?", timeframe="auto", limit=3, hold=False)
        assert len(asked) == 1
        found = diary.recall(
            "Which novel did Ruth recommend yesterday?", timeframe="auto", limit=3, hold=False
        )
        assert len(asked) == 3
    assert found.timeframe is not None
    assert (
        found.timeframe.note
        == "Nothing from \u201cyesterday\u201d answers this; these memories are from all times."
    )
    again = diary.recall("Which novel did Ruth recommend?", limit=3, hold=False)
    assert found[0].node.id == again[0].node.id
    assert len(found) == len(again)


def test_what_is_nowhere_is_not_looked_for_outside_in_vain(make: Make) -> None:
    with make(clock=lambda: NOW) as memory:
        found = memory.recall("Who called yesterday?", timeframe="auto")
        assert found.timeframe is not None
        assert (len(found), found.timeframe.outside) == (0, False)


def test_only_what_is_answered_is_held(diary: Memory) -> None:
    diary.working.clear()
    found = diary.recall("Which novel did Ruth recommend yesterday?", timeframe="auto", limit=1)
    assert [item.id for item in diary.working.items] == [found[0].node.id]


@pytest.mark.parametrize("timeframe", [None, "auto"])
def test_a_question_may_name_a_time_long_before_everything_that_was_said(
    make: Make, timeframe: str | None
) -> None:
    with make(clock=lambda: NOW) as memory:
        memory.remember("The ferry was built in 1903.", at=NOW)
        assert memory.recall("Which ferry was built in 1903?", timeframe=timeframe)[
            0
        ].content.startswith("The ferry")


def test_a_memory_that_only_contains_the_time_is_not_offered_for_it(make: Make) -> None:
    with make(clock=lambda: NOW) as memory:
        memory.remember("I bought a new mast for the boat yesterday.", at=NOW - timedelta(days=5))
        memory.remember("The boat lies in berth 22.", at=NOW - timedelta(days=9))
        found = memory.recall(
            "what did i say yesterday?", timeframe="auto", mode="text", hold=False
        )
        assert [hit.content for hit in found] == []
        memory.remember("The fair opens in March 2024.", at=NOW - timedelta(days=3))
        found = memory.recall(
            "What happened in March 2024?", timeframe="auto", mode="text", hold=False
        )
        assert [hit.content for hit in found] == ["The fair opens in March 2024."]
