"""Recall to a budget: whole hits first, then what makes them readable, and never a token more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import InvalidInput, Memory
from tests.conftest import Make

SAID = (
    "Shall we talk about lunch?",
    "Which colour is it?",
    "The bicycle is blue.",
    "Fine.",
    "Who feeds the cat?",
    "Bo does.",
)


def talk(memory: Memory) -> None:
    memory.remember_many([{"content": text, "session": "s1", "role": "user"} for text in SAID])
    memory.flush()


def test_what_is_left_of_a_budget_goes_to_the_message_before(make: Make) -> None:
    with make() as memory:
        talk(memory)
        [hit] = memory.recall("bicycle", limit=1, budget=1_000)
        assert hit.before is not None
        assert (hit.content, hit.before.content) == ("The bicycle is blue.", "Which colour is it?")
        [alone] = memory.recall("bicycle", limit=1, budget=hit.node.tokens)
        assert alone.before is None
        assert memory.recall("bicycle", limit=1)[0].before is None


def test_a_message_that_is_a_hit_itself_is_paid_for_once(make: Make) -> None:
    with make() as memory:
        talk(memory)
        hits = memory.recall("which colour is the bicycle", budget=1_000)
        shown = [hit.content for hit in hits] + [hit.before.content for hit in hits if hit.before]
        assert len(shown) == len(set(shown))


def test_what_was_forgotten_or_said_elsewhere_is_not_shown_before(make: Make) -> None:
    with make() as memory:
        talk(memory)
        question = next(
            hit for hit in memory.recall("which colour") if hit.content == "Which colour is it?"
        )
        memory.forget(question.node.id)
        [hit] = memory.recall("bicycle", limit=1, budget=1_000)
        assert hit.before is not None
        assert hit.before.content == "Shall we talk about lunch?"
        memory.remember("A kite is a toy.", session="s2", role="user")
        assert memory.recall("kite", limit=1, budget=1_000)[0].before is None


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8, deadline=None
)
@given(budget=st.integers(0, 60))
def test_a_budget_is_never_overspent(make: Make, budget: int) -> None:
    with make() as memory:
        talk(memory)
        hits = memory.recall("Who feeds the blue bicycle?", budget=budget, hold=False)
        count = memory._engine.tokens
        spent = sum(hit.node.tokens for hit in hits) + sum(
            count(hit.before.content) for hit in hits if hit.before
        )
        assert spent <= budget


def test_a_budget_that_cannot_be_meant_is_refused(memory: Memory) -> None:
    memory.remember("A kite is a toy.")
    with pytest.raises(InvalidInput, match="budget"):
        memory.recall("kite", budget=-1)
