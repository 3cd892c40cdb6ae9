"""`mode="text"` finds what has the words that were given, and nothing else, so that what it finds may be deleted."""

from __future__ import annotations

import uuid
from datetime import timedelta

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from htm_core import Memory
from tests.conftest import Make

NAMES = ("Katharina", "Katarina", "Lena", "Lana", "Sunniva", "Suniva", "Okafor", "Okafr")
REMARKS = ("The printer is broken.", "My train leaves at nine.", "The budget is 4,000 euros.", "Yes, do that.", "{} has moved to Oslo.",
           "{} is my new colleague.", "I saw {} in the harbour.")  # fmt: skip
lines = st.builds(
    lambda remark, name: remark.format(name), st.sampled_from(REMARKS), st.sampled_from(NAMES)
)
conversations = st.lists(st.lists(lines, min_size=1, max_size=6), min_size=1, max_size=3)


@examples(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(said=conversations, name=st.sampled_from(NAMES))
def test_only_what_has_the_name_is_found_whatever_stands_beside_it(
    make: Make, said: list[list[str]], name: str
) -> None:
    with make(tenant=f"words-{uuid.uuid4()}") as memory:
        for number, conversation in enumerate(said):
            each = memory.of(user="bob", session=f"s{number}")
            each.remember_many([{"content": line, "role": "user"} for line in conversation])
        memory.flush()
        found = memory.recall(name, scope="tenant", mode="text", limit=100, hold=False)
        assert {hit.content for hit in found} == {
            line for each in said for line in each if name in line
        }


def test_a_name_that_is_gone_finds_nothing_however_often_it_is_looked_for(make: Make) -> None:
    with make() as memory:
        bob = memory.of(user="bob", session="tuesday")
        for text in (
            "The printer is broken.",
            "Katharina has moved to Oslo.",
            "My train leaves at nine tomorrow.",
        ):
            bob.remember(text, role="user")
        memory.flush()
        for _ in range(2):
            found = memory.recall("Katarina", scope="tenant", mode="text", limit=100)
            assert len(found) == 0
            assert found.corrections == {"Katarina": "Katharina"}, "the correction is said"
        assert len(bob.timeline()) == 3


def test_a_word_of_a_sentence_is_enough_and_a_neighbour_is_not(make: Make) -> None:
    with make() as memory:
        chat = memory.of(session="one")
        for text in (
            "What about the boat?",
            "It lies at pier seven.",
            "And the mast?",
            "I have ordered a new mast.",
        ):
            chat.remember(text, role="user")
        memory.flush()
        assert {hit.content for hit in chat.recall("mast", mode="text", hold=False)} == {
            "And the mast?",
            "I have ordered a new mast.",
        }
        assert len(chat.recall("mast", hold=False)) >= 2  # hybrid may bring neighbours


def test_the_recipe_deletes_what_was_chosen_and_nothing_beside_it(make: Make) -> None:
    with make() as memory:
        bob = memory.of(user="bob", session="tuesday")
        texts = [
            "The printer is broken.",
            "Lena has moved to Oslo.",
            "My train leaves at nine.",
            "Lana is my new colleague.",
        ]
        for text in texts:
            bob.remember(text, role="user")
        memory.flush()
        _forget_about(memory, "Lena")
        assert [said.content for said in bob.timeline()] == [
            text for text in texts if "Lena" not in text
        ]
        _forget_about(memory, "Lena")
        assert len(bob.timeline()) == 3


def _forget_about(memory: Memory, name: str) -> None:
    for hit in memory.recall(name, scope="tenant", mode="text", limit=100):
        owner = memory.of(user=hit.user)
        owner.forget(hit.node.id)
        owner.purge(timedelta(0), confirm="confirmed")
