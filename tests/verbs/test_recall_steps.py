"""With `explain=True` a recall names its steps after the search that changed something, and decides in one place to search again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from htm_core import Memory
from htm_core.base.settings import Settings
from htm_core.recall import recall, searches
from tests.conftest import Make

FACTS = (
    "The boat lies at pier seven.",
    "The mast was ordered in May.",
    "Ines paints the boat blue.",
)


@pytest.fixture
def memory(make: Make) -> Memory:
    memory = make()
    memory.remember_many([{"content": text, "role": "user", "name": "Ines"} for text in FACTS])
    memory.flush()
    return memory


def test_a_recall_that_nothing_changed_names_no_step(memory: Memory) -> None:
    assert memory.recall("Who likes chess?", explain=True).steps == ()


def test_steps_are_named_only_where_an_explanation_is_asked_for(memory: Memory) -> None:
    assert memory.recall("boat", limit=1).steps == ()
    assert memory.recall("boat", limit=1, budget=0, explain=True).steps == ("budget",)


@pytest.mark.parametrize(
    ("said", "asked", "step"),
    [
        ("The boat lies at Pier Seven!", {"query": "Where does the boat lie?"}, "copies last"),
        (
            "Where does the boat lie?",
            {"query": "Where does our boat lie?"},
            "answers before questions",
        ),
    ],
)
def test_a_step_that_moves_a_hit_or_leaves_it_out_is_named(
    memory: Memory, said: str, asked: dict[str, Any], step: str
) -> None:
    memory.remember(said, role="user", name="Ines")
    assert step in memory.recall(**asked, explain=True).steps


def test_no_name_stands_for_two_steps() -> None:
    names = [*searches.STAGES, *recall.STAGES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("asked", "searched"),
    [
        ({"query": "Where does the boat lie?"}, 1),
        ({"query": "Where does the baot lie?"}, 2),  # a word that no memory has
        ({"query": "What does Ines paint?"}, 2),  # a speaker of whom this process has not heard
        ({"query": "What does Ines paint on the baot?"}, 3),  # both
    ],
)
def test_the_database_is_searched_again_only_for_a_reason(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], searched: int
) -> None:
    calls, real = list[Any](), searches._search
    monkeypatch.setattr(
        searches,
        "_search",
        lambda *args, **options: (calls.append(args), real(*args, **options))[1],
    )
    first = memory.recall(**asked)
    assert len(calls) == searched
    assert first[0].content in FACTS


def test_copies_that_fill_up_a_limit_are_searched_past(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make() as memory:
        for number in range(12):
            memory.remember(f"The boat lies at pier seven{'!' * number}", role="user", name="Ines")
        memory.remember("Piers are made of wood.", role="user", name="Ines")
        memory.flush()
        limits = list[int]()
        real: Callable[..., Any] = searches._search
        monkeypatch.setattr(
            searches,
            "_search",
            lambda engine, query, **options: (
                limits.append(query.limit),
                real(engine, query, **options),
            )[1],
        )
        found = memory.recall("boats at the pier", limit=2)
        assert limits[0] == 2
        assert limits[-1] > 2
        assert [hit.content for hit in found][1] == "Piers are made of wood."


def test_each_reason_to_search_again_is_given_once_by_a_search_that_was_made_for_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(settings=Settings(spelling=True)) as memory:
        memory.remember("Katharina sells the boat.", role="user", name="Ines")
        memory.flush()
        reasons = list[str]()

        def counted(reason: Callable[..., Any]) -> Callable[..., Any]:
            def counting(engine: Any, searched: Any) -> Any:
                again = reason(engine, searched)
                reasons.extend([reason.__name__] * (again is not None))
                return again

            return counting

        monkeypatch.setattr(searches, "AGAIN", [counted(reason) for reason in searches.AGAIN])
        memory.recall("What did Ines say that Katarina sells?")
        assert sorted(reasons) == ["_as_meant", "_with_its_speakers"]
