"""A text that only asks is recognised, and it still counts when a prompt is about what somebody asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.grounding.questions import about_questions, knows_nothing, only_asks, says_unknown


@pytest.mark.parametrize(
    "text",
    [
        "Is the port 9090?",
        "Caroline: Wow! What got you into running?",
        "Ann: That's awesome, Bob! How did you do it?",
        "What does it mean to you? Is it a gift?",
    ],
)
def test_a_question_with_a_mere_remark_says_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "The port is 9090.",
        "It runs on port 9090. Is that right?",
        "It is broken. Who repairs it?",  # a note, in which nobody talks to anybody
        "Ann: That was in Ghent. Did you know?",
        "Ann: I run to clear my mind. What about you?",
        "Anna moved to Ghent! Nice, isn't it?",
        "Q: How do I restart it? A: Run the script.",
        "Ann: Great!",
        "",
    ],
)
def test_a_text_that_says_something_beside_its_question_is_kept(text: str) -> None:
    assert not only_asks(text)


@pytest.mark.parametrize(
    "text",
    ["I don't know, you haven't told me.", "Sorry, I can't find that.", "I have no information about your boat.",
     "Unfortunately, I don't have that in my notes.", "I\u2019m sorry, but I don\u2019t remember."],
)  # fmt: skip
def test_a_reply_may_say_only_that_nothing_is_known(text: str) -> None:
    assert knows_nothing(text)


@pytest.mark.parametrize(
    "text",
    ["I don't know the street, but it was near the station.", "I don't remember, maybe 2019.", "I'm not sure, it was in Ghent.",
     "I don't know anybody in Paris.", "Let me know when you are there.", "The boat is called Nixe."],
)  # fmt: skip
def test_a_reply_that_does_not_know_and_says_something_else_is_kept(text: str) -> None:
    assert not knows_nothing(text)


def test_a_prompt_about_what_was_asked_may_be_answered_by_a_question() -> None:
    assert about_questions("What did Ann ask about the port?")
    assert about_questions("Which questions are unresolved?")
    assert not about_questions("Which port does billing listen on?")


@given(st.text(max_size=200))
def test_a_text_without_a_question_mark_only_asks_where_it_begins_like_a_question(text: str) -> None:
    assert not only_asks("Bram " + text.replace("?", "."))


@pytest.mark.parametrize(
    "text",
    ["what kind of dog do I have", "tell me everything you know about Bram", "so how old is my sister now", "who is Lotte",
     "is Pickle still on medication", "did I ever tell you where I work", "what's my favourite restaurant", "remind me what we agreed on",
     "What's for dinner? Suggest something for Tom and me", "which race am I running in spring.", "who moved the freeze",
     "how many times did redis page me", "what broke in september", "what happend last week", "since when is senta with us",
     "list all incidents", "which day can't i work", "what was inc-2290 about", "what wood is the staircase made of",
     "wann muss ich abgeben", "wie viele messpunkte habe ich", "wo wohne ich ab dezember", "Wie heißt mein Hund",
     "quién es la profesora de Mateo", "a qué hora es la cita", "cuándo es el cumpleaños de Inés", "où est ma clé"],
)  # fmt: skip
def test_a_question_may_be_written_without_its_mark(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    ["What I love most is hiking", "How he does it is a mystery", "When I was in Paris I met Ann", "Which is the reason I left",
     "Remind me to call mum on Friday", "Remind me that the rent is due", "Do the dishes tomorrow", "Have the report ready by noon",
     "Tell Ann that I moved to Ghent", "can you convert 350 F for me: it's an American recipe", "What is done is done",
     "Is it raining there. I left my umbrella in Ghent", "Where is my wallet! I had it at the Otomat on Monday.",
     "What helped was the melatonin", "what annoys me is the noise", "what is important to me is honesty", "who told me was Ann",
     "so what happened was that the boiler exploded", "With what is left I bought shoes", "how often we laughed about it",
     "list of groceries: eggs and milk", "was in Rome last week", "wie gesagt komme ich am Montag", "was mir hilft ist Schlaf",
     "wie viel Arbeit das war", "wo ich wohne gibt es keine Busse", "qué bien que vienes", "cuando era niño vivía en Málaga"],
)  # fmt: skip
def test_a_statement_that_begins_like_a_question_is_none(text: str) -> None:
    assert not only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't know, sorry.",
        "Sorry, but I can\u2019t find that.",
        "You haven't told me yet where you live.",
        "I'm not sure, you never mentioned it.",
        "Let me check.",
    ],
)
def test_a_reply_that_knows_nothing_is_told_from_an_answer(text: str) -> None:
    assert says_unknown(text)


@pytest.mark.parametrize(
    "text",
    [
        "You live in Ghent.",
        "The port is 9090, I don't know why.",
        "I don't know who built it, but the mill stands in Arden behind the church, at the end of a lane that is called Weir Street, "
        "number four, and the key hangs beside the door.",
        "",
    ],
)
def test_what_tells_something_is_an_answer(text: str) -> None:
    assert not says_unknown(text)
