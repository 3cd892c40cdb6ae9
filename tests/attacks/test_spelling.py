"""Questions that are typed to harm: words without end, and spellings by which one user would learn what another has."""

from __future__ import annotations

import time

import pytest

from htm_core import Memory
from htm_core.db.database import Database
from htm_core.recall import spelling
from tests.conftest import Make

ENDLESS = [
    "xq" * 150,
    "x" * 7_900,
    " ".join(letter * 60 for letter in "xqzjkv"),
    " ".join(letter * 32 for letter in "щэъыжф"),
    "xqzp-" * 1_500 + "c",
    "Aaaab," * 1_300,
]


@pytest.mark.parametrize("words", ENDLESS)
def test_a_word_without_end_is_searched_for_like_any_other_and_soon(
    memory: Memory, words: str
) -> None:
    memory.remember("The parrot sits in the kitchen.")
    asked = f"where is the parot {words}"
    begun = time.process_time()
    listed = spelling.doubtful(asked, language="english")
    assert time.process_time() - begun < 1
    assert all(len(word) <= spelling.LONGEST for word in listed.words)
    assert all(len(word) <= 2 * spelling.LONGEST for word in listed.joined)
    found = memory.recall(asked, hold=False)
    assert found.corrections["parot"] == "parrot"
    assert found[0].content == "The parrot sits in the kitchen."


def test_what_another_user_often_has_changes_no_correction(
    make: Make, database: Database, tenant: str
) -> None:
    """In a large tenant the commoner words are counted for all of its users together."""
    with make(user="ann") as ann, make(user="bob") as bob:
        ann.remember("The quokka was seen on the pier.")
        bob.remember("What a nice quoka.")
        with database.owner() as connection:
            connection.execute("update lexicon set documents = 5000 where tenant = %s", [tenant])
            connection.execute(
                "insert into lexeme_counts (tenant, lexeme, documents) values (%s, 'quoka', 4000) on conflict do nothing",
                [tenant],
            )
        assert ann.recall("the quoka", mode="text", hold=False).corrections == {"quoka": "quokka"}
        assert bob.recall("the quoka there", mode="text", hold=False).corrections == {}
