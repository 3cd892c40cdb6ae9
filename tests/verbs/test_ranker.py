"""The ranker in recall: a part of the score like any other, of conversations alone."""

from __future__ import annotations

import pytest

from htm_core import Draft, Memory, Signals
from htm_core.recall import scoring
from htm_core.recall.scoring import ADDED_IN_FULL_TO
from tests.conftest import SETTINGS, Make

WEIGHTS = dict(scoring.WEIGHTS)

TALK = [
    "Shall we look at the old crane in the harbour?",
    "I painted the old crane in the harbour green in May.",
    "The crane in the harbour? Wow!",
    "Whenever I ask about the crane, please show the tide as well.",
    "My sister Clara works at the harbour of Ghent.",
]


def talk(memory: Memory) -> None:
    memory.remember_many([
        Draft(content=text, session="talk", role="assistant" if n % 2 else "user") for n, text in enumerate(TALK)
    ])  # fmt: skip
    memory.flush()


def test_what_the_ranker_adds_is_a_part_of_the_score_and_the_score_stays_in_its_range(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make() as memory:
        talk(memory)
        for scale in (1.0, 50.0, -50.0):
            for name, weight in WEIGHTS.items():
                monkeypatch.setitem(scoring.WEIGHTS, name, scale * weight)
            hits = memory.recall("Who painted the crane in the harbour?", explain=True, hold=False)
            assert hits
            assert any(hit.signals["ranker"] for hit in hits)
            for hit in hits:
                assert 0 < hit.score <= 1, "what was found is worth more than a copy, which has 0"
                assert sum(hit.signals.values()) == pytest.approx(hit.score)


def test_the_weight_of_the_ranker_scales_what_it_adds_and_nothing_switches_it_off(
    make: Make,
) -> None:
    """Up to a score of 0.9; towards 1 it adds less."""
    added, scores = {}, {}
    for weight in (0.0, 0.5, 1.0):
        signals = Signals(ranker=weight, echo=0, diversity=0)
        with make(settings=SETTINGS.model_copy(update={"signals": signals})) as memory:
            talk(memory)
            hits = memory.recall("What about the crane in the harbour?", explain=True, hold=False)
            added[weight] = {hit.content: hit.signals["ranker"] for hit in hits}
            scores[weight] = {hit.content: hit.score for hit in hits}
    assert set(added[0.0].values()) == {0.0}
    inside = [
        text for text, score in scores[1.0].items() if score < ADDED_IN_FULL_TO and added[0.5][text]
    ]
    assert inside
    for text in inside:
        assert added[1.0][text] == pytest.approx(2 * added[0.5][text], abs=1e-6)


def test_of_facts_that_were_said_in_no_conversation_the_ranker_says_nothing(make: Make) -> None:
    with make() as memory:
        memory.remember_many([{"content": text} for text in TALK])
        memory.flush()
        hits = memory.recall("Who painted the crane in the harbour?", explain=True, hold=False)
        assert {hit.signals["ranker"] for hit in hits} == {0.0}


@pytest.mark.parametrize("mode", ["vector", "text"])
def test_the_other_modes_are_left_as_they_are(make: Make, mode: str) -> None:
    with make() as memory:
        talk(memory)
        hits = memory.recall("crane in the harbour", mode=mode, explain=True, hold=False)  # type: ignore[arg-type]
        assert hits
        assert {hit.signals["ranker"] for hit in hits} == {0.0}
