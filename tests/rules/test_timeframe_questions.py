"""Which time in a question limits the search: one that says when something was said or happened, and no other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import InvalidInput, Window
from htm_core.timeframes.parse import parse
from htm_core.timeframes.questions import extract_filter

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday

SAYS_WHEN = [
    ("What did I say last week about the flight?", "last week"),
    ("What did we decide on Tuesday?", "on Tuesday"),
    ("What happened in March?", "in March"),
    ("who called yesterday", "yesterday"),
    ("Who was at the meeting on Tuesday?", "on Tuesday"),
    ("What have we decided in March?", "in March"),
    ("What did Ann do on Monday?", "on Monday"),
    ("What did you have for lunch on Monday?", "on Monday"),
    ("Was I in Rome in May?", "in May"),
    ("On Monday, what did we decide?", "On Monday"),
    ("Tell me what I said on Monday", "on Monday"),
    ("Show me the notes from Monday", "from Monday"),
    ("what's new since Monday?", "since Monday"),
    ("What did I say today?", "today"),
    ("rent paid yesterday", "yesterday"),
    ("What do you remember from last week?", "from last week"),
    ("What did we do at the office this morning?", "this morning"),
    ("I feel sick. What did the doctor say last week?", "last week"),
    ("What did I tell you on 7 May 2026 about my job?", "on 7 May 2026"),
    ("Which restaurant did we try two weeks ago?", "two weeks ago"),
    ("What did I say not last week but the week before?", "not last week but the week before"),
    ("meeting notes 2026-01-15", "2026-01-15"),
    ("show notes from Jan 1 to Jan 15", "from Jan 1 to Jan 15"),
    ("summarize what we discussed in October", "in October"),
    ("Could you tell me what I said on Monday?", "on Monday"),
    ("where did we eat in summer", "in summer"),
    ("Did anyone email me between Monday and yesterday?", "between Monday and yesterday"),
    ("what was said before Friday?", "before Friday"),
    ("last week?", "last week"),
    ("yesterday", "yesterday"),
    ("what has changed since Monday", "since Monday"),
    ("Do you remember what I told you on Monday?", "on Monday"),
    ("What did Bob say yesterday at 5pm?", "yesterday"),
    ("What did we talk about yesterday?", "yesterday"),
    ("What did we talk about two weeks ago?", "two weeks ago"),
    ("What did we agree on last week?", "last week"),
    ("What have I told you since 9am?", "since 9am"),
    ("What did we talk about between 2pm and 4pm today?", "between 2pm and 4pm today"),
    ("What did Ann say on Tuesday of last week?", "on Tuesday of last week"),
    ("What happened in the first week of November?", "in the first week of November"),
    ("Which songs did we sing at Christmas?", "at Christmas"),
    ("What did I tell you the other day?", "the other day"),
    ("What did I mention just now?", "just now"),
    ("Who wrote to me a fortnight ago?", "a fortnight ago"),
    ("What did we say this week so far?", "this week so far"),
    ("Whom did I meet in week 45?", "in week 45"),
    ("What did I pay on 25/10/2026?", "on 25/10/2026"),
    ("what did i say on tue?", "on tue"),
    ("Did Carla mention the roof a couple of weeks ago?", "a couple of weeks ago"),
    ("Who has been ill recently?", "recently"),
    ("And last month, who paid?", "last month"),
    ("What was the name of the wine we drank on Saturday?", "on Saturday"),
    ("Did Peter reply to my mail last Thursday?", "last Thursday"),
    ("Which film did I say I watched two nights ago?", "two nights ago"),
    ("what was i worried about last month", "last month"),
    ("How much did I spend on groceries in October?", "in October"),
    ("Have I taken my pills this morning?", "this morning"),
    ("Remind me what the plumber said the day before yesterday.", "the day before yesterday"),
    ("Where was I on the evening of 3 November?", "on the evening of 3 November"),
    ("Who did I have lunch with a week ago?", "a week ago"),
    (
        "Do you recall what we discussed at the beginning of the month?",
        "at the beginning of the month",
    ),
    ("I can't find my keys. Where did I say I put them earlier today?", "earlier today"),
    ("Last summer we stayed somewhere nice, what was it called?", "Last summer"),
    ("What have you learned about me over the past three weeks?", "over the past three weeks"),
    ("Which books has Anna finished since September?", "since September"),
    ("What did the mechanic tell me after the inspection on 6 November?", "on 6 November"),
    ("Between Monday and Wednesday, who visited?", "Between Monday and Wednesday"),
    ("In 2025, which conferences did I attend?", "In 2025"),
    ("Can you list what I ate yesterday?", "yesterday"),
    ("What was my weight at the end of September?", "at the end of September"),
    ("Did it rain on Sunday?", "on Sunday"),
    ("Hey, what restaurant did I mention on Sunday?", "on Sunday"),
    ("so what did the boss say yesterday afternoon", "yesterday afternoon"),
    ("Who told me about the concert two days ago?", "two days ago"),
    ("What was the password I gave you this morning?", "this morning"),
    ("Which of my friends got married in June?", "in June"),
    ("When did we talk about Lisbon, in September?", "in September"),
    ("Any news since last Friday?", "since last Friday"),
    ("notes from yesterday", "from yesterday"),
    ("list my expenses of last week", "of last week"),
    ("How did I sleep last night?", "last night"),
    ("What did I weigh on the 1st?", "on the 1st"),
    ("In the last hour, did anybody ring?", "In the last hour"),
    ("Why was I angry on Thursday?", "on Thursday"),
    ("What was the first thing I asked you today?", "today"),
    ("Who has visited us this month?", "this month"),
]

SAYS_SOMETHING_ELSE = [
    "What is planned for next week?",
    "When is my flight in May?",
    "what do I have to do by Friday",
    "what's on Monday",
    "Is the shop open on Sundays?",
    "When did I last see Bob more than a month ago?",
    "What happened more than a month ago?",
    "Whose birthday is on May 7?",
    "Whose birthday was on May 7?",
    "what do I have to do tomorrow?",
    "What did we plan for Friday?",
    "What did I promise to do on Monday?",
    "What will happen in 2030?",
    "Is it maybe last week?",
    "What did we do, maybe last week or so?",
    "How does this week compare with last week?",
    'Who said "see you yesterday"?',
    "Do you like Last Week Tonight?",
    "I started a new job last week. What gifts does my sister like?",
    "I met Bob yesterday.",
    "What is scheduled on Monday",
    "What did I say about the flight on Monday?",
    "What do I usually do on Monday?",
    "Which shop is open on Sunday?",
    "What is my plan for today?",
    "What's happening this week?",
    "less than a week ago what did I say",
    "at least two weeks ago I said something, what was it?",
    "What did we discuss other than last week?",
    "What are my appointments on Tuesday?",
    "Remind me on Monday to call Bob",
    "What are we doing this Friday?",
    "What did we decide this Friday?",
    "When do I have to be at the airport on Saturday?",
    "What did I say about 03/04/2026?",
    "Is the heating on in the morning?",
    "How many days ago did I buy the smoker?",
    "How long ago was her birthday?",
    "What do I do these days?",
    "What was due on Monday?",
    "Who will pay in March?",
    "What can we see in Rome in October?",
    "What did Tim suggest for the trip next month?",
    "What did I say about last week?",
    "Unlike last week, who is here?",
    "I wrote it down on Monday; where is it?",
    "What did I say about my appointment on Thursday?",
    "When does the lease expire, in March?",
    "Did I ever go out every Friday?",
    "What is the address of the hotel in May?",
    "Are the shops closed at Christmas?",
    "less than two days ago",
    "Does Bob work on Saturday?",
    "Do we have anything on this weekend?",
    "Which days was I not ill except last Monday?",
    "When is Anna's birthday, is it on 3 June?",
    "What time does the train leave tomorrow morning?",
    "Do I have anything on next Tuesday?",
    "Which vaccinations do I need before my trip in January?",
    "How old will Max be in 2027?",
    "What is due this Friday?",
    "Is the concert on Saturday?",
    "Remind me to call mum on Sunday",
    "What should I wear to the wedding in June?",
    "Am I free on Thursday afternoon?",
    "What's the deadline, end of November?",
    "What was I supposed to do on Monday?",
    "Which shops open at 9am on Saturdays?",
    "I went to the dentist last week. What toothpaste do I use?",
    "What have I promised to finish by the end of the month?",
    "Was the meeting moved to Thursday?",
    "Which medicine do I take every morning?",
    "Was it not yesterday that Tom came?",
    "Who plays on Friday night?",
    "If I leave on Monday, when do I arrive?",
    "Who complained over a year ago?",
    "When will the parcel arrive, tomorrow?",
    "What's my schedule for Monday?",
    "Does the pharmacy close early on Wednesday?",
    "How long is the drive on Saturday going to take?",
    "What should I cook on Friday?",
    "I'm tired since yesterday. Which tea do I like?",
    "Who is older than 30 years?",
    "What are we celebrating in December?",
    "What is the best time to visit Japan in April?",
    "Is my passport valid until March 2027?",
    "Which bills are due at the end of the month?",
    "Can I return the shoes within 30 days?",
    "What did Anna say she would do on Friday?",
    "Will Bob be there this weekend?",
    "Book a table for Saturday",
    "Which day did you say is the deadline, Monday or Tuesday?",
    "Who wants to go to the cinema tonight?",
]


@pytest.mark.parametrize(("question", "words"), SAYS_WHEN, ids=[row[0] for row in SAYS_WHEN])
def test_a_time_at_which_something_was_said_or_happened_limits_the_search(
    question: str, words: str
) -> None:
    rest, windows, found = extract_filter(question, now=NOW)
    assert found == words
    assert all(window.start is None or window.start < NOW for window in windows)
    assert windows
    assert rest == question or words not in rest


@pytest.mark.parametrize("question", SAYS_SOMETHING_ELSE)
def test_any_other_time_stays_words(question: str) -> None:
    assert extract_filter(question, now=NOW) == (question, (), None)


def test_the_time_that_is_meant_instead_of_another_is_taken() -> None:
    _, windows, _ = extract_filter("What did I say not last week but the week before?", now=NOW)
    assert windows == parse("2026-11-02/2026-11-08", now=NOW)
    _, windows, _ = extract_filter("What did I say, not in May but in June, about Rome?", now=NOW)
    assert windows == parse("June 2026", now=NOW)
    assert extract_filter("What did I say if not yesterday?", now=NOW)[1] == ()


@pytest.mark.parametrize("written", ["1,000", "1 000", "1\u00a0000", "1000"])
def test_thousands_are_read_with_a_comma_or_a_space(written: str) -> None:
    asked = extract_filter(f"What did I say {written} days ago?", now=NOW)
    assert asked[1] == parse("1000 days ago", now=NOW) == parse(f"{written} days ago", now=NOW)
    assert asked[2] == f"{written} days ago"


@pytest.mark.parametrize(
    "written",
    [
        "1,5 weeks", "-2 days", "+2 days", "99999999999 years", "1e9 days", "x days", "\u0663 days", "1, 000 days", "1.25 days",
        "999999999999 seconds", "0,500 days", "1,23,456 days", "1_000 days", "1'000 days", "1234,567 days", "1/2 days",
        "three thousand five hundred days", "two point five days", "minus two days", "2 million days", "\u00bd days",
        "1,000,000,000 days",
    ],
)  # fmt: skip
def test_the_end_of_an_amount_that_is_not_read_limits_nothing(written: str) -> None:
    """ "5 weeks ago" is not what "1,5 weeks ago" says, and bare "days ago" is not what "1e9 days ago" says."""
    question = f"What did I say {written} ago?"
    assert extract_filter(question, now=NOW) == (question, (), None)
    with pytest.raises(InvalidInput, match="timeframe must name a time"):
        parse(f"{written} ago", now=NOW)


@given(
    groups=st.lists(st.from_regex("[0-9]{1,4}", fullmatch=True), min_size=1, max_size=5),
    sign=st.sampled_from(", '_"),
)
def test_any_digits_and_signs_before_days_ago_are_read_right_or_not_at_all(
    groups: list[str], sign: str
) -> None:
    written = sign.join(groups)
    windows = extract_filter(f"What did I say {written} days ago?", now=NOW)[1]
    assert windows in ((), _days_ago("".join(groups)))
    try:
        explicit = parse(f"{written} days ago", now=NOW)
    except InvalidInput:
        explicit = ()
    assert explicit in ((), _days_ago("".join(groups)))


def _days_ago(digits: str) -> tuple[Window, ...]:
    try:
        start = datetime(NOW.year, NOW.month, NOW.day, tzinfo=UTC) - timedelta(days=int(digits))
    except OverflowError:
        return ()
    return (Window(start=start, stop=start + timedelta(days=1)),)
