"""Recall with a reranker and an expander: what they change, what stays, and that it goes on without them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from htm_core import Draft, Memory, Settings
from htm_core.palace import Enforcer, Palace
from tests.conftest import SETTINGS, Make

TALK = [
    "We painted the crane in the harbour green.",
    "The crane in the harbour was sold to Bruges.",
    "A crane in the harbour broke down in May.",
    "The cook in the harbour makes soup.",
    "Clara moved to Ghent.",
    "Tom keeps bees on his roof.",
]
ASKED = "What about the crane in the harbour?"

# The rules would take what was sold for what replaced what was painted.
NO_CHANGES = Settings(**SETTINGS.model_dump(by_alias=True) | {"supersession": None})


def talk(memory: Memory) -> None:
    memory.remember_many(
        [Draft(content=text, session="talk", role="user", name="Ann") for text in TALK]
    )
    memory.flush()


def about(word: str) -> object:
    def rate(query: str, texts: Sequence[str]) -> list[float]:
        return [float(word in text) for text in texts]

    return rate


def test_the_order_is_the_rerankers_and_the_scores_of_the_places_stay(make: Make) -> None:
    with make(settings=NO_CHANGES) as plain:
        talk(plain)
        before = plain.recall(ASKED, hold=False)
    with make(settings=NO_CHANGES, reranker=about("soup")) as memory:
        after = memory.recall(ASKED, hold=False, explain=True)
    assert after[0].content == TALK[3]
    assert before[0].content != TALK[3]
    rest = [hit.content for hit in before if hit.content != TALK[3]]
    assert [hit.content for hit in after][1:] == rest, "what it rates alike keeps its order"
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])
    assert after[0].relevance == pytest.approx(max(hit.relevance for hit in before))
    assert after[0].signals["reranker"] > 0
    for hit in after:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)
    assert (after.fallback, after.degraded) == (None, None)
    assert after.timings.reranker > 0


def test_more_hits_are_put_in_order_than_are_asked_for(make: Make) -> None:
    shown: list[str] = []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        shown.extend(texts)
        return [float("soup" in text) for text in texts]

    with make(settings=NO_CHANGES, reranker=rate) as memory:
        talk(memory)
        [hit] = memory.recall(ASKED, limit=1, hold=False)
    assert hit.content == TALK[3]
    assert len(shown) > 1
    assert all(text.startswith("Ann: ") for text in shown), "it reads who said it"


def test_it_is_asked_for_no_more_candidates_than_the_settings_say_or_the_limit(make: Make) -> None:
    counts: list[int] = []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        counts.append(len(texts))
        return [0.0] * len(texts)

    with make(
        reranker=rate, settings=SETTINGS.model_copy(update={"reranker_candidates": 2})
    ) as memory:
        talk(memory)
        memory.recall(ASKED, limit=1, hold=False)
        memory.recall(ASKED, limit=3, hold=False)
        assert not memory.recall(ASKED, min_score=1.0, hold=False)
    assert counts == [2, 3]


def fails(query: str, texts: Sequence[str]) -> list[float]:
    raise ConnectionError("no route")


def test_a_reranker_that_fails_leaves_the_order_of_the_search_and_the_recall_says_so(
    make: Make,
) -> None:
    with make(settings=NO_CHANGES, reranker=fails) as memory:
        talk(memory)
        found = memory.recall(ASKED, hold=False)
    with make(settings=NO_CHANGES) as plain:
        expected = plain.recall(ASKED, hold=False)
    assert [(hit.content, hit.score) for hit in found] == [
        (hit.content, hit.score) for hit in expected
    ]
    assert found.fallback is not None
    assert found.fallback.startswith("Hits are in the order of the search: ")
    assert "no route" in found.fallback
    assert found.degraded is None, "nothing is missing"


def test_a_model_that_hangs_costs_a_recall_its_time_and_no_more(make: Make) -> None:
    over = threading.Event()

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        over.wait(60)
        return [0.0] * len(texts)

    def expand(question: str) -> list[str]:
        over.wait(60)
        return []

    brief = SETTINGS.model_copy(update={"reranker_timeout": 0.1, "expander_timeout": 0.1})
    with make(reranker=rate, expander=expand, settings=brief) as memory:
        talk(memory)
        began = time.monotonic()
        found = memory.recall(ASKED, hold=False)
        assert time.monotonic() - began < 20
    over.set()
    assert found.hits
    assert found.fallback is not None
    assert "expander" in found.fallback
    assert "reranker" in found.fallback
    assert found.timings.expander >= 100
    assert found.timings.reranker >= 100


def test_what_an_expander_writes_is_searched_for_too(make: Make) -> None:
    with make(settings=NO_CHANGES) as plain:
        talk(plain)
        assert TALK[4] not in [
            hit.content for hit in plain.recall("Whose home is where?", limit=2, hold=False)
        ]
    with make(expander=lambda question: ["Who moved to Ghent?", "Who keeps bees?"]) as memory:
        found = memory.recall("Whose home is where?", limit=2, hold=False, explain=True)
    assert {hit.content for hit in found} == {TALK[4], TALK[5]}
    assert found.query == "Whose home is where?"
    assert found.timings.expander > 0
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    for hit in found:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)


def test_more_questions_are_searched_for_under_the_same_conditions(make: Make) -> None:
    with make(expander=lambda question: ["Who moved to Ghent?"]) as memory:
        talk(memory)
        memory.remember("Clara moved to Ghent, says Bob.", session="other", name="Bob")
        memory.flush()
        found = memory.recall("Whose home is where?", session="other", hold=False)
    assert {hit.mentions[0].session for hit in found} == {"other"}


def test_an_expander_that_fails_leaves_the_question_as_it_is(make: Make) -> None:
    def fails(question: str) -> list[str]:
        raise ConnectionError("no route")

    with make(expander=fails) as memory:
        talk(memory)
        found = memory.recall(ASKED, hold=False)
        assert found.hits
        assert found.fallback is not None
        assert found.fallback.startswith("Only the question itself was searched for: ")


def test_a_memory_of_another_user_has_the_same_plugs_and_awaited_recall_too(make: Make) -> None:
    with make(settings=NO_CHANGES, reranker=about("soup")) as memory:
        other = memory.of(user="bea")
        talk(other)
        assert other.recall(ASKED, limit=1, hold=False)[0].content == TALK[3]


def test_the_awaited_recall_is_reranked_too(make: Make) -> None:
    with make(settings=NO_CHANGES, reranker=about("soup")) as memory:
        talk(memory)
        found = asyncio.run(memory.aio.recall(ASKED, limit=1, hold=False))
        assert found[0].content == TALK[3]


def test_a_palace_goes_by_its_own_evidence(make: Make) -> None:
    asked: list[str] = []

    def expand(question: str) -> list[str]:
        asked.append(question)
        return []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(query)
        return [0.0] * len(texts)

    with make(settings=NO_CHANGES, reranker=rate, expander=expand, session="today") as memory:
        palace = Palace(memory)
        palace.file("The crane in the harbour is green.", room="harbour", drawer="cranes")
        memory.flush()
        assert Enforcer(palace).consult("Which colour has the crane in the harbour?").evidence
        assert asked == []
        memory.recall("crane", hold=False)
        assert len(asked) == 2
