"""Which words of a question may be misspelt, and what was meant by them."""

from __future__ import annotations

import pytest

from htm_core.recall.spelling import (
    Doubtful,
    Similar,
    doubtful,
    is_compound,
    is_english,
    mended,
    ranks,
    unlikeliness,
    without_marks,
)


def meant(question: str, language: str = "english", **similar: Similar) -> dict[str, str]:
    asked = doubtful(question, language=language)
    found = mended(
        question, {word: {} for word in asked.words} | similar, asked=asked, language=language
    )
    return dict(found.corrections) if found else {}


def test_only_words_that_english_has_not_are_doubtful() -> None:
    assert doubtful("where did I put the recipt for the hobbies", language="english").words == (
        "recipt",
    )


@pytest.mark.parametrize(
    "question",
    ["what is in ticket AB1234x", "port 5432q", "where is user_nmae", "mail to jhon@exmaple.org", "see htpps://exmaple.org/pathh",
     'who said "Blue Harbuor"', "what is a ktn", "is XKCDQ there", "use camlCase", "v1.2.3-betaa", "#hashtagg", "src/mian.py"],
)  # fmt: skip
def test_numbers_ids_paths_quotations_and_short_words_are_right(question: str) -> None:
    assert doubtful(question, language="english").words == ()


def test_a_long_text_is_searched_for_as_it_is() -> None:
    assert doubtful("recipt " * 65, language="english") == Doubtful()


def test_neighbours_may_be_one_word_unless_one_says_nothing() -> None:
    asked = doubtful("is the wi-fi of the test server on", language="english")
    assert asked.joined == ("wi fi", "test server")


def test_in_another_language_every_longer_word_may_be_misspelt() -> None:
    assert doubtful("wo ist die Rechnung", language="german").words == ("rechnung",)


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("recipt", "receipt"),
        ("vaccum", "vacuum"),
        ("datahase", "database"),
        ("thier", "their"),
        ("gaurantee", "guarantee"),
    ],
)
def test_a_misspelt_english_word_is_mended_though_no_memory_has_it(typed: str, right: str) -> None:
    assert meant(f"what about the {typed} then") == {typed: right}


def test_what_memories_have_comes_before_what_english_has() -> None:
    assert meant("what did the fenture cost") != {"fenture": "venture"}
    assert meant("what did the fenture cost", fenture={"venture": (3, 1)}) == {"fenture": "venture"}


def test_the_likelier_error_and_the_commoner_word_are_taken() -> None:
    assert meant("where is the potery", potery={"pottery": (30, 1), "poetry": (1, 1)}) == {
        "potery": "pottery"
    }
    assert meant("where is the potery", potery={"pottery": (1, 1), "poetry": (30, 1)}) == {
        "potery": "poetry"
    }


def test_what_a_stemmer_makes_of_no_word_is_none() -> None:
    assert meant("what does Sollveig want", sollveig={"sollveing": (9, 3)}) == {}


def test_a_word_that_english_has_not_is_no_form_of_one_that_it_has() -> None:
    assert (
        meant("what does he resonnate with", resonnate={"reasonnate": (1, 4), "reasonate": (1, 3)})
        == {}
    )
    assert meant("where are the snflowers", snflowers={"sunflowers": (3, 3)}) == {
        "snflowers": "sunflowers"
    }


def test_another_form_of_a_known_word_is_not_misspelt() -> None:
    assert (
        meant("what are their entrepreneurial plans", entrepreneurial={"entrepreneureal": (2, 3)})
        == {}
    )


@pytest.mark.parametrize(
    ("typed", "known", "expected"),
    [
        ("Katarina", {"katharina": (5, 0)}, "Katharina"), ("Mueller", {"muller": (2, 0)}, "Muller"), ("Goetz", {"gotz": (1, 0)}, "Gotz"),
        ("Götz", {"goetz": (1, 0), "got": (9, 0)}, "Goetz"), ("Marta", {"maria": (9, 0)}, None), ("Lena", {"elena": (9, 0)}, None),
        ("Steven", {"stephen": (4, 0)}, "Stephen"), ("Tomasz", {"tomas": (4, 0)}, None),
    ],
)  # fmt: skip
def test_a_name_is_taken_for_one_that_looks_or_sounds_like_it(
    typed: str, known: Similar, expected: str | None
) -> None:
    asked = doubtful(f"what does {typed} want", language="english")
    found = mended(
        f"what does {typed} want",
        {without_marks(typed.lower()): known, typed.lower(): known},
        asked=asked,
        language="english",
    )
    assert (None if found is None else found.corrections[typed]) == expected


def test_a_name_that_english_has_is_searched_for_beside_what_was_typed() -> None:
    asked = doubtful("what does Steven teach", language="english")
    found = mended(
        "what does Steven teach", {"steven": {"stephen": (4, 0)}}, asked=asked, language="english"
    )
    assert found is not None
    assert (found.text, found.added) == ("what does Steven teach", ("Stephen",))


def test_words_that_memories_write_as_one_or_as_two_are_searched_for_beside_them() -> None:
    asked = doubtful("is the dropdown on the test server", language="english")
    found = mended(
        "is the dropdown on the test server",
        {"dropdown": {"drop down": (1, 0)}, "test server": {}},
        asked=asked,
        language="english",
    )
    assert found is not None
    assert found.text == "is the dropdown on the test server"
    assert set(found.added) == {"drop down", "testserver"}
    assert found.corrections == {"dropdown": "drop down", "test server": "testserver"}


def test_case_and_everything_else_of_a_question_stays() -> None:
    asked = doubtful("So, WHERE is the  recipt (the old one)?", language="english")
    found = mended(
        "So, WHERE is the  recipt (the old one)?",
        {"recipt": {"receipt": (1, 0)}},
        asked=asked,
        language="english",
    )
    assert found is not None
    assert found.text == "So, WHERE is the  receipt (the old one)?"


def test_the_first_word_of_a_sentence_is_no_name_for_its_capital() -> None:
    assert meant("Wheree is it?") == {"Wheree": "Where"}
    assert meant("Tomes wants it?") == {}


def test_a_word_of_very_many_letters_is_right() -> None:
    assert doubtful("x" * 25, language="english") == Doubtful()


def test_corrections_are_in_the_order_of_the_question() -> None:
    assert list(meant("where is the recipt for the vaccum then")) == ["recipt", "vaccum"]


def test_a_month_with_a_typing_error_is_no_name() -> None:
    assert meant("what happened in Octboer to us") == {"Octboer": "October"}
    assert meant("what did Mrs Cooklng say") == {}


def test_slips_of_a_finger_are_likelier_than_any_letter_and_the_first_letter_is_seldom_wrong() -> (
    None
):
    assert unlikeliness("same", "same") == 0
    assert unlikeliness("recieve", "receive") < unlikeliness("recxive", "receive")
    assert unlikeliness("commitee", "committee") < unlikeliness("vaccuym", "vaccum")
    assert unlikeliness("faroline", "caroline") > unlikeliness("carolune", "caroline")


@pytest.mark.parametrize(
    "word", ["hobbies", "revise", "criticise", "slowest", "reuse", "running", "injure", "happily"]
)
def test_forms_of_english_words_are_english(word: str) -> None:
    assert is_english(word)


def test_the_list_of_words_is_in_the_order_of_frequency_and_has_no_common_errors() -> None:
    known = ranks()
    assert known["the"] == 1 < known["house"] < known["papyrus"]
    assert not [
        word for word in ("recieve", "teh", "definately", "seperate", "wich") if is_english(word)
    ]
    assert is_compound("bookshelf")
    assert not is_compound("shelf")
