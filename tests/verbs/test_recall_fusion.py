"""Fusion by ranks, where it is set: places count, scores and signals do not."""

from __future__ import annotations

import pytest

from htm_core import Settings
from htm_core.rules.fusion import reciprocal_rank
from tests.conftest import SETTINGS, Make

RANKS = SETTINGS.model_copy(update={"fusion": "ranks"})
SAID = ("The boiler hums at night.", "The boiler was serviced.", "Ann feeds the cat.", "A cat sleeps on the boiler.")


def test_a_score_is_what_the_ranks_make_of_it(make: Make) -> None:
    with make(settings=RANKS) as memory:
        memory.remember_many([{"content": text} for text in SAID])
        memory.flush()
        hits = memory.recall("Does the boiler hum at night?", explain=True)
        assert hits[0].content == "The boiler hums at night."
        for hit in hits:
            assert hit.score == pytest.approx(reciprocal_rank([hit.vector_rank, hit.text_rank]))
            assert sum(hit.signals.values()) == pytest.approx(hit.score)
            assert {name for name, part in hit.signals.items() if part} <= {"vector", "words"}
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("mode", ["vector", "text"])
def test_one_arm_alone_keeps_its_order(make: Make, mode: str) -> None:
    with make(settings=RANKS) as memory:
        memory.remember_many([{"content": text} for text in SAID])
        memory.flush()
        hits = memory.recall("the boiler hums", mode=mode)
        ranks = [hit.vector_rank if mode == "vector" else hit.text_rank for hit in hits]
        assert ranks == sorted(ranks, key=lambda rank: rank or 0)
        assert hits[0].score == 1.0


def test_limit_threshold_and_copies_count_as_ever(make: Make) -> None:
    with make(settings=RANKS) as memory:
        memory.remember_many([{"content": text} for text in (*SAID, "the boiler hums, at night")])
        memory.flush()
        first, second = memory.recall("Does the boiler hum at night?", limit=2)
        assert not {first.content, second.content} >= {"The boiler hums at night.", "the boiler hums, at night"}
        assert all(hit.score >= 0.5 for hit in memory.recall("boiler", min_score=0.5))


def test_another_fusion_is_refused() -> None:
    with pytest.raises(ValueError, match="fusion"):
        Settings(fusion="magic")  # type: ignore[arg-type]
