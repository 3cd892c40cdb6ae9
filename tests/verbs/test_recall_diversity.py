"""Copies do not crowd a limit: what repeats a better hit stands behind everything that does not."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import Memory, Settings, Signals
from htm_core.recall.near_duplicates import copies
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

EMBEDDER = HashEmbedder(name="diversity")
FACT = "The boiler was serviced by Ann"
COPIES = (f"{FACT}.", f"{FACT}!", f"{FACT.lower()}", f"“{FACT}”", f"{FACT}…")
OTHER = "A boiler hums in the cellar all through the night."


def weighing(diversity: float) -> Settings:
    return SETTINGS.model_copy(update={"signals": Signals(diversity=diversity)})


def filled(memory: Memory, *texts: str) -> Memory:
    memory.remember_many([{"content": text} for text in texts])
    memory.flush()
    return memory


def test_copies_leave_room_for_what_differs(make: Make) -> None:
    with make() as memory:
        hits = filled(memory, *COPIES, OTHER).recall("Ann serviced the boiler", limit=2)
        assert hits[0].content in COPIES
        assert hits[1].content == OTHER
    with make(settings=weighing(0)) as memory:
        assert {hit.content for hit in memory.recall("Ann serviced the boiler", limit=2)} < set(
            COPIES
        )


def test_copies_fill_a_limit_that_nothing_else_does(make: Make) -> None:
    with make() as memory:
        hits = filled(memory, *COPIES, OTHER).recall(
            "Ann serviced the boiler", limit=20, explain=True
        )
        assert len(hits) == len(COPIES) + 1
        assert {hit.content for hit in hits[2:]} < set(COPIES)
        assert [hit.score for hit in hits[2:]] == [0.0] * 4


def test_copies_are_not_above_a_threshold(make: Make) -> None:
    with make() as memory:
        hits = filled(memory, *COPIES, OTHER).recall("Ann serviced the boiler", min_score=0.01)
        assert sum(hit.content in COPIES for hit in hits) == 1


@pytest.mark.parametrize("diversity", [0.0, 0.4, 1.0])
def test_what_a_copy_loses_is_explained(make: Make, diversity: float) -> None:
    with make(settings=weighing(diversity)) as memory:
        hits = filled(memory, *COPIES, OTHER).recall("Ann serviced the boiler", explain=True)
        for hit in hits:
            assert sum(hit.signals.values()) == pytest.approx(hit.score)
            whole = hit.score - hit.signals["diversity"]
            assert hit.signals["diversity"] in (0.0, pytest.approx(-diversity * whole))
        assert sum(hit.signals["diversity"] < 0 for hit in hits) == (4 if diversity else 0)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_two_speakers_with_the_same_words_both_count(make: Make) -> None:
    with make() as memory:
        memory.remember("I go swimming on Mondays.", session="s1", name="Ann")
        memory.remember("I go swimming on mondays!", session="s1", name="Bo")
        memory.flush()
        assert all(hit.score > 0 for hit in memory.recall("Who goes swimming on Mondays?"))


WORDS = st.lists(st.sampled_from(["boiler", "ann", "lake", "the"]), min_size=1, max_size=5)
MARKS = st.sampled_from(["", "!", ".", " …", "?"])


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(said=st.lists(st.tuples(WORDS, MARKS), min_size=1, max_size=25), limit=st.integers(1, 6))
def test_no_copy_is_a_hit_while_something_else_is_not(
    url: str | None, said: list[tuple[list[str], str]], limit: int
) -> None:
    tenant = f"diversity-{uuid.uuid4().hex[:10]}"
    with Memory("atlas", url=url, tenant=tenant, embedder=EMBEDDER, settings=SETTINGS) as memory:
        filled(memory, *{" ".join(words) + mark for words, mark in said})
        every = memory.recall("Ann and the boiler", limit=1_000, hold=False)
        hits = memory.recall("Ann and the boiler", limit=limit, hold=False)
        texts = [hit.content for hit in hits]
        repeated = sum(place is not None for place in copies(texts, voices=[None] * len(texts)))
        different = sum(hit.score > 0 for hit in every)
        assert repeated == max(0, len(texts) - different)
        assert len(hits) == min(limit, len(every))
        assert all(0 <= hit.score <= 1 for hit in every)
