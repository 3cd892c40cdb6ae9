"""Which questions ask for names alone, or for a time alone."""

from __future__ import annotations

from htm_core.rules.text.overview_questions import asks_about_names, names_only_a_time
from tests.rules.test_overview_questions import NOW


def test_which_questions_ask_for_a_name_alone() -> None:
    assert asks_about_names("What do you know about Olu Adeyemi?", {"olu", "adeyemi"})
    assert not asks_about_names("What do you know about Olu's car?", {"olu"})
    assert not asks_about_names("Where does Olu live?", {"olu"})


def test_which_questions_name_a_time_and_nothing_else() -> None:
    for question in ("what did i say yesterday?", "What did we talk about last week?", "Where was I on Friday?"):
        assert names_only_a_time(question, now=NOW)
    for question in ("What did I buy last week?", "What did I say about the boat yesterday?", "What did I say?"):
        assert not names_only_a_time(question, now=NOW)
