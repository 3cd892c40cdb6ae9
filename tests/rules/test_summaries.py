"""The most telling messages of a conversation: few, in order, the same ones each time, from all of its parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from htm_core.change.extract import FEWEST, LONGEST, MOST, Spoken, line_of, most_telling

CHAT = [
    "Hi!", "Hello, what can I do?", "We are planning the move of our bakery to a bigger shop in Ghent.", "When?", "Which oven do you use?",
    "The deck oven from Miwe, it weighs 900 kilos and needs three-phase power.", "ok", "thanks",
    "The landlord of the new shop wants a deposit of 12,000 euros by June.", "Can you summarise that?", "Sure.",
    "Wim will ask the bank in Ghent for a loan of 40,000 euros.", "Yes.", "The bakery opens again on 3 September with a party.",
]  # fmt: skip


def test_a_short_chat_is_its_own_summary() -> None:
    assert most_telling([Spoken(text) for text in CHAT[:4]]) == []
    assert most_telling([]) == []


def test_facts_are_chosen_before_questions_and_acknowledgements_and_from_all_parts() -> None:
    chosen = most_telling([Spoken(text) for text in CHAT])
    assert chosen == sorted(chosen)
    assert not {CHAT[place] for place in chosen} & {"Hi!", "ok", "thanks", "Yes.", "Sure.", "When?"}
    assert any(place < 7 for place in chosen)
    assert any(place >= 7 for place in chosen)


def test_vectors_of_different_lengths_do_no_harm() -> None:
    spoken = [Spoken(text, vector=[1.0] * (2 + place % 2)) for place, text in enumerate(CHAT)]
    assert most_telling(spoken)


def test_a_line_is_short_and_in_one_line() -> None:
    line = line_of(Spoken("word\n" * 300), speaker="Ann")
    assert "\n" not in line
    assert len(line) <= LONGEST + len("Ann: ")


@given(st.lists(st.builds(Spoken, st.text(max_size=60), st.booleans()), max_size=40))
def test_any_conversation_gives_few_places_in_order_and_the_same_again(
    spoken: list[Spoken],
) -> None:
    chosen = most_telling(spoken)
    assert chosen == most_telling(spoken)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= MOST
    assert chosen == [] or len(spoken) >= FEWEST
