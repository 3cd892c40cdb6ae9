"""Words of a question that no memory has are searched for as they were probably meant: whatever is misspelt, and whoever may see what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from htm_core import Memory
from htm_core.db.database import Database
from tests.conftest import SETTINGS, Make

FACTS = [
    "The receipt for the vacuum is in the kitchen drawer.",
    "Katharina is allergic to shellfish.",
    "Frau Müller from the bank called about the loan.",
    "The testserver is rebooted every Sunday night.",
    "The drop-down for countries shows Norway twice.",
    "The allotment society meets in the boathouse.",
    "Ticket AB1234 is about the lamp in the hall.",
    "A quokka was seen on the pier.",
]


@pytest.fixture
def filled(make: Make) -> Iterator[Memory]:
    with make() as memory:
        memory.remember_many([{"content": fact} for fact in FACTS])
        memory.flush()
        yield memory


@pytest.mark.parametrize(
    ("query", "fact", "corrections"),
    [
        ("where is the recipt for the vaccum", 0, {"recipt": "receipt", "vaccum": "vacuum"}),
        ("What is Katarina allergic to?", 1, {"Katarina": "Katharina"}),
        ("Why did Mrs Mueller phone?", 2, {"Mueller": "Muller"}),
        ("When does the test server restart?", 3, {"test server": "testserver"}),
        ("What is wrong with the dropdown?", 4, {"dropdown": "drop-down"}),
        ("who was the quoka", 7, {"quoka": "quokka"}),
    ],
)
def test_what_was_meant_is_found_and_said(
    filled: Memory, query: str, fact: int, corrections: dict[str, str]
) -> None:
    found = filled.recall(query, hold=False)
    assert FACTS[fact] in [hit.content for hit in found]
    assert found.corrections == corrections
    assert found.query == query
    assert found.corrections_note is not None
    assert all(
        f"{typed} → {meant}" in found.corrections_note for typed, meant in corrections.items()
    )


def test_what_memories_have_is_searched_for_as_it_is(filled: Memory) -> None:
    for query in (
        "the receipt for the vacuum",
        "quokka",
        "Katharina",
        "ticket AB1235",
        'who said "the recipt"',
        "meets",
    ):
        found = filled.recall(query, hold=False)
        assert (found.corrections, found.corrections_note) == ({}, None)


def test_words_that_memories_mostly_write_as_two_are_not_joined(filled: Memory) -> None:
    for words in ("The test server of Ines is new.", "Which test server has the licence?"):
        filled.remember(words)
    assert filled.recall("When does the test server restart?", hold=False).corrections == {}


def test_the_nearest_neighbours_of_a_vector_are_those_of_what_was_typed(filled: Memory) -> None:
    assert filled.recall("the recipt", mode="vector", hold=False).corrections == {}


def test_it_is_off_where_settings_say_so(make: Make, filled: Memory) -> None:
    with make(settings=SETTINGS.model_copy(update={"spelling": False})) as memory:
        assert memory.recall("where is the recipt", hold=False).corrections == {}


def test_a_word_that_only_the_question_itself_has_is_not_known(filled: Memory) -> None:
    asked = "where is the quoka"
    filled.remember(asked)
    filled.flush()
    assert filled.recall(asked, hold=False).corrections == {"quoka": "quokka"}
    filled.remember("My band is called Quoka.")
    assert filled.recall(asked, hold=False).corrections == {}


def test_what_was_forgotten_is_not_meant(filled: Memory) -> None:
    node = filled.remember("The wombatt sleeps in the shed.")
    assert filled.recall("the womhatt", hold=False).corrections == {"womhatt": "wombatt"}
    filled.forget(node.id)
    assert "wombatt" not in filled.recall("the womhatt", hold=False).corrections.values()


def test_a_speaker_whose_name_no_text_has_is_meant(make: Make) -> None:
    with make(session="s") as memory:
        memory.log().append(
            [
                {"role": "user", "name": "Sunniva", "content": "I keep bees behind the school."},
                {"role": "user", "name": "Dario", "content": "I keep goats behind the school."},
            ]
        )
        memory.flush()
        found = memory.recall("What does Suniva keep behind the school?", hold=False)
        assert found.corrections == {"Suniva": "Sunniva"}
        assert found[0].content == "I keep bees behind the school."
        assert memory.recall("What does Sunniva keep?", hold=False).corrections == {}


def test_names_of_other_users_and_words_of_theirs_are_never_meant(make: Make) -> None:
    with (
        make(user="ann") as ann,
        make(user="bob", session="b") as bob,
        make(tenant="elsewhere", user="bob") as other,
    ):
        bob.log().append(
            [
                {
                    "role": "user",
                    "name": "Zsuzsanna",
                    "content": "The zyzzyva eats palms, and the wifipass is safe.",
                }
            ]
        )
        other.remember("The axolotl eats worms.")
        ann.remember("The mailbox eats letters.")
        bob.flush()
        for query in (
            "what does the zyzyva eat",
            "what does Zsuzsana eat",
            "what does the axolotll eat",
            "the wifi pass",
        ):
            for scope in ("user", None):
                assert ann.recall(query, hold=False, scope=scope).corrections == {}  # type: ignore[arg-type]
        assert bob.recall("what does the zyzyva eat", hold=False).corrections == {
            "zyzyva": "zyzzyva"
        }
        assert bob.recall("what does Zsuzsana eat", hold=False).corrections == {
            "Zsuzsana": "Zsuzsanna"
        }
        assert ann.recall("what does the zyzyva eat", hold=False, scope="tenant").corrections == {
            "zyzyva": "zyzzyva"
        }


def test_what_others_have_misspelt_is_as_unknown_as_what_nobody_has(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        ann.remember("The quokka was seen on the pier.")
        before = ann.recall("the quoka", hold=False).corrections
        bob.remember("What a nice quoka.")
        assert ann.recall("the quoka", hold=False).corrections == before == {"quoka": "quokka"}


def test_words_of_another_session_are_not_meant_in_this_one(make: Make) -> None:
    with make(session="one") as one, make(session="two") as two:
        one.remember("The zyzzyva eats palms.", role="user")
        two.remember("The beetle eats palms.", role="user")
        assert two.recall("what does the zyzyva eat", hold=False, scope="session").corrections == {}
        assert one.recall("what does the zyzyva eat", hold=False, scope="session").corrections == {
            "zyzyva": "zyzzyva"
        }


def test_words_of_what_a_filter_leaves_out_are_not_meant(filled: Memory) -> None:
    filled.remember("The zyzzyva eats palms.", tags=["insects"])
    assert filled.recall("the zyzyva", hold=False, tags=["insects"]).corrections == {
        "zyzyva": "zyzzyva"
    }
    assert filled.recall("the quoka", hold=False, tags=["insects"]).corrections == {}


def test_a_question_whose_words_are_known_is_one_search_and_another_at_most_two(
    filled: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = list[str]()
    read = Database.read

    def counted(self: Database, tenant: str, statement: Any, *given: Any, **options: Any) -> Any:
        if "recall_candidates" in statement:
            statements.append(statement)
        return read(self, tenant, statement, *given, **options)

    monkeypatch.setattr(Database, "read", counted)
    for query, mode, count in (
        ("the receipt for Katharina", "hybrid", 1),
        ("the recipt for Katarina", "hybrid", 2),
        ("the recipt", "text", 1),
    ):
        statements.clear()
        filled.recall(query, mode=mode, hold=False)
        assert len(statements) == count


@pytest.mark.parametrize(
    "query",
    [
        "recipt " * 60,
        "a'b\\c recip't \\",
        "ﬁnn rec\u0131pt",
        "東京都 recipt",
        "recipt\x00vaccum",
        "%recipt_",
    ],
)
def test_whatever_is_typed_is_answered(filled: Memory, query: str) -> None:
    assert isinstance(filled.recall(query, hold=False).corrections, dict)


def test_a_tenant_without_memories_has_nothing_to_compare_with(make: Make) -> None:
    with make() as memory:
        assert not memory.recall("where is the recipt", hold=False)
