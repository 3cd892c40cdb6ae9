"""Working memory holds the best hits of a recall, and a policy that fails loses no memory."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from htm_core import Item
from tests.conftest import Make


def tokens(text: str) -> int:
    """The number behind the mark."""
    return sum(map(int, re.findall(r"#(\d+)", text))) or 1


@examples(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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
        hits = [
            hit.content
            for hit in memory.recall(
                "harbour", mode="text", limit=len(sizes), signals={"context": 0}
            )
        ]
        held = {item.content for item in memory.working.items}
        assert hits[0] in held, "the best hit fits the budget, so it is held"
        assert held == set(hits[: len(held)]), "equally important hits are held by rank"
        recent = memory.context(
            order="recent", budget=budget + len(held)
        ).items  # what stands between them is counted, too
        assert [item.content for item in recent] == [content for content in hits if content in held]


def by_length(item: Item, now: float) -> float:
    """A caller's policy: the shortest leaves first."""
    return len(item.content)


@examples(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    facts=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10)), min_size=3, max_size=9),
    held_before=st.lists(st.integers(0, 8), max_size=9),
    others=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10), st.booleans()), max_size=6),
    policy=st.sampled_from(["importance", "lru", "lfu_lru", "fifo", by_length]),
    budget=st.integers(60, 200),
    group=st.booleans(),
)
def test_rank_decides_which_hits_are_held_whichever_were_held_before(
    make: Make,
    facts: list[tuple[int, int]],
    held_before: list[int],
    others: list[tuple[int, int, bool]],
    policy: Any,
    budget: int,
    group: bool,
) -> None:
    tenant = f"warm-{uuid.uuid4()}"
    with make(tenant=tenant, tokenizer=tokens, budget=1_000_000) as writer:
        for number, (size, importance) in enumerate(facts):
            text = f"fact{number} of the {'harbour ' * (10 - number)} #{size}"
            writer.remember(text, importance=importance)
    embed = "now" if group else "queue"
    with make(
        "reader", tenant=tenant, tokenizer=tokens, budget=budget, policy=policy, embed=embed
    ) as memory:
        for number, (size, importance, is_first) in enumerate(
            sorted(others, key=lambda other: not other[2])
        ):
            if not is_first:
                for fact in held_before:
                    memory.recall(f"fact{fact}", mode="text", limit=1, signals={"context": 0})
            memory.remember(f"note {number} of the office #{size}", importance=importance)
        before = {item.id: item.content for item in memory.working.items}
        hits = [
            hit.content
            for hit in memory.recall("harbour", mode="text", limit=9, signals={"context": 0})
        ]
        assert len(hits) == len(facts)
        after = [item.content for item in memory.working.items]
        held = [content for content in hits if content in after]
        assert held, "the best hit fits the budget"
        assert held == hits[: len(held)], (
            f"a worse hit is held in place of a better one; before: {before}"
        )
        assert memory.working.tokens <= budget
        recent = [
            item.content
            for item in memory.context(order="recent", budget=budget + len(after)).items
        ]
        assert recent[: len(held)] == held, "the hits are the most recent, by rank"
        room = sum(map(tokens, held[:-1])) + len(held)
        assert [item.content for item in memory.context(order="recent", budget=room).items][
            : len(held) - 1
        ] == held[:-1]


@pytest.mark.parametrize("answer", [AttributeError("no attribute 'node'"), None, float("nan")])
def test_a_policy_that_fails_loses_no_memory(
    make: Make, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(item: Any, now: float) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with make(tokenizer=tokens, budget=30, policy=broken) as memory:
        for number in range(4):
            memory.remember(f"Fact number {number} about the harbour #20")
        memory.remember_many(
            [{"content": f"Line {number} of the harbour #20"} for number in range(3)]
        )
        assert memory.stats().nodes == 7
        assert len(memory.recall("harbour", mode="text", limit=10)) == 7
        assert memory.working.tokens <= 30
        assert "stored and not held" in caplog.text
