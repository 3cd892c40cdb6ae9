"""Working memory holds the best hits of a recall, and a policy that fails loses no memory."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.conftest import Make, many


def tokens(text: str) -> int:
    """The number behind the mark."""
    return sum(map(int, re.findall(r"#(\d+)", text))) or 1


@examples(max_examples=many(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(1, 60), min_size=4, max_size=9),
    importance=st.integers(0, 10),
    policy=st.sampled_from(["importance", "lru", "lfu_lru", "fifo"]),
    budget=st.integers(60, 160),
)
def test_no_hit_evicts_a_better_hit_of_the_same_recall(
    make: Make, sizes: list[int], importance: int, policy: str, budget: int
) -> None:
    tenant = f"held-{uuid.uuid4()}"
    with make(tenant=tenant, tokenizer=tokens, budget=1_000_000) as writer:
        for number, size in enumerate(sizes):
            text = f"fact {number} of the {'harbour ' * (10 - number)} #{size}"
            writer.remember(text, importance=importance)
    with make("reader", tenant=tenant, tokenizer=tokens, budget=budget, policy=policy) as memory:
        hits = [hit.content for hit in memory.recall("harbour", mode="text", limit=len(sizes), signals={"context": 0})]
        held = {item.content for item in memory.working.items}
        assert hits[0] in held, "the best hit fits the budget, so it is held"
        assert held == set(hits[: len(held)]), "equally important hits are held by rank"
        recent = memory.context(order="recent").items
        assert [item.content for item in recent] == [content for content in hits if content in held]


@pytest.mark.parametrize("answer", [AttributeError("no attribute 'node'"), None, float("nan")])
def test_a_policy_that_fails_loses_no_memory(make: Make, answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(item: Any, now: float) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with make(tokenizer=tokens, budget=30, policy=broken) as memory:
        for number in range(4):
            memory.remember(f"Fact number {number} about the harbour #20")
        memory.remember_many([{"content": f"Line {number} of the harbour #20"} for number in range(3)])
        assert memory.stats().nodes == 7
        assert len(memory.recall("harbour", mode="text", limit=10)) == 7
        assert memory.working.tokens <= 30
        assert "stored and not held" in caplog.text
