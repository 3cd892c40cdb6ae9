"""When a statement holds by its own words: what is read, and what must not be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.timeframes.calendar import Calendar
from htm_core.timeframes.validity import find_validity, read_validity

NOW = datetime(2026, 11, 25, 10, tzinfo=UTC)  # a Wednesday
CALENDAR = Calendar(now=NOW, zone=UTC)

# What is said on 25 November 2026, the words that say when it holds, and the day on which that begins and ends.
SPANS = [
    ("I am on leave until Friday.", "until Friday", None, "2026-11-28"),
    ("I lived in Rome from 2021 to 2023.", "from 2021 to 2023", "2021-01-01", "2024-01-01"),
    ("Starting next week I work from home.", "Starting next week", "2026-11-30", None),
    ("Since 2019 she has been vegetarian.", "Since 2019", "2019-01-01", None),
    ("We rent the flat until the end of 2027.", "until the end of 2027", None, "2028-01-01"),
    ("From Monday on I take the bus.", "From Monday on", "2026-11-30", None),
    ("From now on I take the bus.", "From now on", "2026-11-25", None),
    ("From tomorrow on the office is closed.", "From tomorrow on", "2026-11-26", None),
    ("I worked at Globex until 2019.", "until 2019", None, "2020-01-01"),
    ("For the next two weeks I am in Oslo.", "For the next two weeks", "2026-11-25", "2026-12-09"),
    (
        "I am in Oslo for the rest of the week.",
        "for the rest of the week",
        "2026-11-25",
        "2026-11-30",
    ),
    (
        "The bridge is closed from 1 December 2026 until 15 January 2027.",
        "from 1 December 2026 until 15 January 2027",
        "2026-12-01",
        "2027-01-16",
    ),
    (
        "Effective 1 January 2027 the price is 12 euros.",
        "Effective 1 January 2027",
        "2027-01-01",
        None,
    ),
    ("The visa is valid through 30 June 2027.", "through 30 June 2027", None, "2027-07-01"),
    ("Until Friday I am out of office. Ask Tom instead.", "Until Friday", None, "2026-11-28"),
    ("Since yesterday the heating is off.", "Since yesterday", "2026-11-24", None),
    ("Ann has been the manager since last week.", "since last week", "2026-11-16", None),
    ("The code is 1234 until tomorrow.", "until tomorrow", None, "2026-11-27"),
    ("They lived there from 1998 until 2004.", "from 1998 until 2004", "1998-01-01", "2005-01-01"),
    ("I am vegan since January 2020, and happy.", "since January 2020", "2020-01-01", None),
    ("Ever since 2020 Tom has worked remotely.", "Ever since 2020", "2020-01-01", None),
    ("My phone number is 555 as of today.", "as of today", "2026-11-25", None),
    ("He taught physics till 2015.", "till 2015", None, "2016-01-01"),
    ("I'm off sick until Monday.", "until Monday", None, "2026-12-01"),
    (
        "I'll be in Berlin until the end of next month.",
        "until the end of next month",
        None,
        "2027-01-01",
    ),
    (
        "The discount runs through the end of the month.",
        "through the end of the month",
        None,
        "2026-12-01",
    ),
    ("Ann is on parental leave until March 2027.", "until March 2027", None, "2027-04-01"),
    ("The password is valid until 1 July 2027.", "until 1 July 2027", None, "2027-07-02"),
    ("I have been a nurse since 2015.", "since 2015", "2015-01-01", None),
    ("My new number, as of tomorrow, is 555 0199.", "as of tomorrow", "2026-11-26", None),
    ("From 2010 to 2014 she studied law.", "From 2010 to 2014", "2010-01-01", "2015-01-01"),
    ("The museum is closed until next Friday.", "until next Friday", None, "2026-11-28"),
    ("I was the captain from 2018 until 2020.", "from 2018 until 2020", "2018-01-01", "2021-01-01"),
    ("The pool is closed through Friday.", "through Friday", None, "2026-11-28"),
    ("Starting 1 March 2027, I live in Lisbon.", "Starting 1 March 2027", "2027-03-01", None),
    ("I worked nights until last week.", "until last week", None, "2026-11-23"),
    ("Since last year we have had two cars.", "Since last year", "2025-01-01", None),
    ("I was a vegetarian until now.", "until now", None, "2026-11-25"),
    (
        "They are in Peru for the next three weeks.",
        "for the next three weeks",
        "2026-11-25",
        "2026-12-16",
    ),
    ("The offer is valid until 12 May 2027.", "until 12 May 2027", None, "2027-05-13"),
    ("We are in Rome until Christmas next year.", "until Christmas next year", None, "2027-12-27"),
    ("I live in Graz until next May.", "until next May", None, "2027-06-01"),
    (
        "She was in Paris from 3 May to 10 June 2026.",
        "from 3 May to 10 June 2026",
        "2026-05-03",
        "2026-06-11",
    ),
    (
        "The bridge is closed from 1 December 2026 until 15 January.",
        "from 1 December 2026 until 15 January",
        "2026-12-01",
        "2027-01-16",
    ),
    ("Every year since 2019 we have met in Graz.", "since 2019", "2019-01-01", None),
]

# Dates that come every year, without one: a statement says nothing of when it holds. Words given to `valid` mean the next one,
# or of a beginning the latest.
WITHOUT_A_YEAR = [
    ("I work at Acme since May.", "since May", "2026-05-01", None),
    ("As of June I work from home.", "As of June", "2027-06-01", None),
    ("The shop is closed till the end of March.", "till the end of March", None, "2027-04-01"),
    ("The offer is valid until 12 May.", "until 12 May", None, "2027-05-13"),
    (
        "She was in Paris from 3 May to 10 June.",
        "from 3 May to 10 June",
        "2027-05-03",
        "2027-06-11",
    ),
    (
        "I have lived in Graz since the beginning of May.",
        "since the beginning of May",
        "2026-05-01",
        None,
    ),
    ("I lived in Graz until May.", "until May", None, "2027-06-01"),
    ("I live in Graz until May.", "until May", None, "2027-06-01"),
    ("We are in Rome until Christmas.", "until Christmas", None, "2026-12-26"),
    ("We are in Rome until Christmas Day.", "until Christmas Day", None, "2026-12-26"),
    ("We are in Rome until Boxing Day.", "until Boxing Day", None, "2026-12-27"),
    ("The heating is off until Easter.", "until Easter", None, "2027-03-29"),
    (
        "I have been on leave since Monday until Christmas.",
        "since Monday until Christmas",
        "2026-11-23",
        "2026-12-26",
    ),
    ("The road is closed up until 5 December.", "up until 5 December", None, "2026-12-06"),
    ("Beginning in March the rent is 900.", "Beginning in March", "2027-03-01", None),
    ("Tom has had a dog since January.", "since January", "2026-01-01", None),
    (
        "We booked the flat from 25 July to 8 August.",
        "from 25 July to 8 August",
        "2027-07-25",
        "2027-08-09",
    ),
    ("They extended the lease until May.", "until May", None, "2027-06-01"),
    ("We had booked the flat until May.", "until May", None, "2027-06-01"),
]

# What says nothing of when it holds, or not surely: nothing is read from it.
NO_SPANS = [
    "I'm happy since you came.",
    "Since Monday is a holiday, we meet on Tuesday.",
    "I will love you until I die.",
    "I work from 9 to 5.",
    "I work from Monday to Friday.",
    "Are you away until Friday?",
    "What changed since May?",
    "Send the report by Friday.",
    "The meeting is not until Friday.",
    "Only three days until Friday.",
    "Two weeks until Christmas!",
    "The launch was postponed until May.",
    "Please wait until Friday.",
    "I walked from Rome to Paris.",
    "Sales grew from 2000 to 2021 units.",
    "The park is closed from November to March.",
    "Since 2000 people came, we ran out of food.",
    "Since June left me I am sad.",
    "Since Friday's meeting nobody called.",
    "The film is from 2019.",
    "The letter from May arrived.",
    "She came from Oslo on Monday.",
    "I am starting Monday.",
    "Call me until you get an answer.",
    "Read chapters from 3 to 5.",
    "It was fun until the end.",
    "From time to time I swim.",
    "I have not slept since the baby came.",
    "Until then, take care.",
    "Halfway through May it snowed.",
    "I read it through on Monday.",
    "We drove through March in Cambridgeshire.",
    "See you until Monday.",
    "May I stay until Friday?",
    "If it rains until Friday we stay.",
    "Back from Oslo since it was too cold.",
    "The train from May Street is late.",
    "Cook it until 5 minutes have passed.",
    "The store is open until 5 pm.",
    "He left long since.",
    "The 2019 from 2021 is good.",
    "Open from 8 am until noon.",
    "As of version 2021 the API is stable.",
    "I was born in May.",
    "We have earned 450 euros until now.",
    "It has held up until now.",
    "The conference is from 3 to 5 people.",
    "Since 5 of us are ill, we cancel.",
    "Since may be we can go.",
    "My address until 3 January 2027 is Hill Road 4.",
    "The gym is closed until mid January.",
    "Not since Monday have I seen him.",
    "The exam is in two days, until when are you here?",
    "How long have you lived here since May?",
    "I counted the days until Christmas.",
    "He postponed the move until June.",
    "Tom pushed the launch until Monday.",
    "The price went from 2019 to 2021 dollars.",
    "Push it back until Monday.",
    "Data from 2019 to 2021 shows growth.",
    "Would you stay until Sunday?",
    "Between 9 and 5 I work.",
    "Until the end of the year parking is free.",
]


def day(moment: datetime | None) -> str | None:
    return None if moment is None else moment.date().isoformat()


@pytest.mark.parametrize(("text", "words", "start", "stop"), SPANS)
def test_a_span_is_read_from_a_statement(
    text: str, words: str, start: str | None, stop: str | None
) -> None:
    found = find_validity(text, lambda: CALENDAR)
    assert found is not None
    assert (found.words, day(found.window.start), day(found.window.stop)) == (words, start, stop)


@pytest.mark.parametrize("text", NO_SPANS)
def test_what_is_no_span_of_validity_is_left_alone(text: str) -> None:
    assert find_validity(text, lambda: CALENDAR) is None


@pytest.mark.parametrize(("text", "words", "start", "stop"), SPANS)
def test_the_words_of_a_span_alone_mean_the_same_to_valid(
    text: str, words: str, start: str | None, stop: str | None
) -> None:
    found, alone = find_validity(text, lambda: CALENDAR), read_validity(words, CALENDAR)
    assert found is not None
    if (
        found.window.stop is None or found.window.stop > NOW
    ):  # of the past only the sentence says which one is meant
        assert alone == found.window


def test_two_spans_or_many_sentences_say_nothing_of_the_whole() -> None:
    assert (
        find_validity(
            "I lived in Rome until 2019. I have lived in Oslo since 2019.", lambda: CALENDAR
        )
        is None
    )
    assert find_validity("Hi. So. Well. I am away until Friday.", lambda: CALENDAR) is None
    assert find_validity("I am away until Friday. " + "x" * 600, lambda: CALENDAR) is None


def test_days_begin_at_midnight_where_the_user_lives() -> None:
    tokyo = Calendar(now=NOW, zone=ZoneInfo("Asia/Tokyo"))
    found = find_validity("I am in Kyoto until tomorrow.", lambda: tokyo)
    assert found is not None
    assert found.window.stop == datetime(2026, 11, 26, 15, tzinfo=UTC)


def test_a_text_without_an_opening_word_asks_for_no_calendar() -> None:
    def never() -> Calendar:
        raise AssertionError("no calendar is needed")

    assert find_validity("The kettle is broken on Friday.", never) is None


TIMES = st.sampled_from(
    [
        "Friday",
        "May",
        "12 May",
        "2027",
        "next week",
        "tomorrow",
        "the end of March",
        "Christmas",
        "3 January 2028",
        "summer",
    ]
)
SUBJECTS = st.sampled_from(
    ["I am on leave", "The shop is closed", "We rent the flat", "Ann works at Acme"]
)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))


@given(SUBJECTS, TIMES, MOMENTS)
def test_what_is_true_until_a_time_without_a_year_has_not_ended_when_it_is_said(
    subject: str, time: str, now: datetime
) -> None:
    found = find_validity(f"{subject} until {time}.", lambda: Calendar(now=now, zone=UTC))
    if (
        found is not None
        and found.window.stop is not None
        and not any(letter.isdigit() for letter in time)
    ):
        assert found.window.start is None
        assert found.window.stop > now


@given(SUBJECTS, TIMES, MOMENTS)
def test_what_is_true_since_a_time_began_before_it_is_said(
    subject: str, time: str, now: datetime
) -> None:
    found = find_validity(f"{subject} since {time}.", lambda: Calendar(now=now, zone=UTC))
    if found is not None:
        assert found.window.start is not None
        assert found.window.start <= now
        assert found.window.stop is None


@given(SUBJECTS, TIMES, MOMENTS)
def test_a_question_has_no_validity(subject: str, time: str, now: datetime) -> None:
    assert find_validity(f"{subject} until {time}?", lambda: Calendar(now=now, zone=UTC)) is None


WORDS = st.sampled_from(
    [
        "since",
        "until",
        "till",
        "from",
        "to",
        "as",
        "of",
        "starting",
        "the",
        "end",
        "May",
        "Friday",
        "2021",
        "2023",
        "next",
        "week",
        "I",
        "was",
        "am",
        "at",
        ",",
        ".",
        "?",
        "'",
        "on",
        "12",
        "5",
        "pm",
        "may",
    ]
)


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=120), MOMENTS)
def test_whatever_is_said_a_span_is_in_order_and_its_words_are_in_the_text(
    text: str, now: datetime
) -> None:
    found = find_validity(text, lambda: Calendar(now=now, zone=UTC))
    if found is None:
        return
    window = found.window
    assert found.words in text
    assert window.start is not None or window.stop is not None
    if window.start is not None and window.stop is not None:
        assert window.start < window.stop


def test_a_long_text_costs_next_to_nothing() -> None:
    begun = datetime.now(UTC)
    for _ in range(100):
        find_validity("until Friday since May " * 40_000, lambda: CALENDAR)
    assert datetime.now(UTC) - begun < timedelta(seconds=5)


def test_a_weekday_that_is_today_is_not_sure_and_any_other_is() -> None:
    """Said on a Friday, "until Friday" ends in some hours, or in a week."""
    friday = Calendar(now=datetime(2026, 11, 6, 19, tzinfo=UTC), zone=UTC)
    assert find_validity("The car is at the garage until Friday.", lambda: friday) is None
    found = find_validity("The car is at the garage until Saturday.", lambda: friday)
    assert found is not None
    assert found.window.stop == datetime(2026, 11, 8, tzinfo=UTC)
    assert find_validity("The car is at the garage until next Friday.", lambda: friday) is not None


@pytest.mark.parametrize(
    "text",
    [
        *[text for text, *_ in WITHOUT_A_YEAR],
        "Flu shots are given from 1 October on, without an appointment.",
        "Every year from 1 March on the ferry runs daily.",
        "Each year the pass is closed until 12 May.",
        "Every winter the road is closed until 30 April.",
        "Dogs are allowed on the beach from October until March.",
        "The lift runs from December through April.",
        "The outdoor pool is open until 31 March.",
        "The reading room opens at seven since 1 June.",
        "Starting 1 April the boats go every hour.",
        "Winter tyres are required from 1 November to 15 April.",
        "The rink is open through 28 February.",
        "Strawberries are in season until the end of July.",
        "The orchard may be visited since mid May.",
        "The tax office takes forms by 3 May.",
        "We grill on the roof every 4 July.",
        "Tulips go into the ground before 12 October.",
        "Ice is sold from summer on.",
        "The market is closed until 10/25.",
    ],
)
def test_a_date_without_a_year_gets_none(text: str) -> None:
    assert find_validity(text, lambda: CALENDAR) is None


@pytest.mark.parametrize(("text", "words", "start", "stop"), WITHOUT_A_YEAR)
def test_words_given_as_valid_mean_the_next_date_or_the_latest_beginning(
    text: str, words: str, start: str | None, stop: str | None
) -> None:
    assert words in text
    found = read_validity(words, CALENDAR)
    assert found is not None
    assert (day(found.start), day(found.stop)) == (start, stop)
