"""What is unrelated is unrelated by any model: cosines are calibrated by the tenant's own vectors."""

from __future__ import annotations

import math
from itertools import product

import pytest

from htm_core import Memory
from htm_core.writing import nodes
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

CONES = (0.0, 0.5, 0.75, 0.85)
FACTS = [
    "My dog is called Biscuit.",
    "I work as a nurse in Leeds.",
    "I am allergic to penicillin.",
    "My car is a red Fiat Panda.",
]
REMARKS = [
    f"{who} {did} {what} {when}."
    for who, did, what, when in product(
        ("Ann", "Carl"),
        ("painted", "sold", "found"),
        ("a fence", "two lamps", "my hat"),
        ("yesterday", "in rain", "alone"),
    )
]
QUESTIONS = [
    "What is my dog called?",
    "Which car do I drive, a Fiat Panda?",
    "What is the capital of Mongolia?",
]


class Cone:
    """An embedder whose unrelated texts have a cosine of about `narrow`, as some published models have."""

    def __init__(self, narrow: float) -> None:
        self.model, self._narrow, self._base = f"cone-{narrow:.2f}", narrow, HashEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._moved(vector) for vector in self._base.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self._moved(self._base.embed_query(text))

    def _moved(self, vector: list[float]) -> list[float]:
        length = math.hypot(*vector) or 1.0
        return [
            *(math.sqrt(1 - self._narrow) * each / length for each in vector),
            math.sqrt(self._narrow),
        ]


def filled(make: Make, narrow: float, *, texts: list[str] | None = None) -> Memory:
    memory = make(tenant=f"{make().tenant}-{narrow}", embedder=Cone(narrow), embed="now")
    memory.remember_many(
        [{"content": text, "role": "user"} for text in texts or [*FACTS, *REMARKS]]
    )
    return memory


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_hits_are_as_relevant_by_a_model_whose_unrelated_texts_are_near(
    make: Make, question: str
) -> None:
    found = [filled(make, narrow).recall(question, hold=False) for narrow in CONES]
    plain = {hit.content: hit for hit in found[0]}
    for other in found[1:]:
        assert [hit.content for hit in other][:3] == [hit.content for hit in found[0]][:3]
        for hit in other:
            if hit.content in plain:
                assert hit.relevance == pytest.approx(plain[hit.content].relevance, abs=0.05)
                assert hit.match.cosine == pytest.approx(plain[hit.content].match.cosine, abs=0.05)


@pytest.mark.parametrize("narrow", CONES[1:])
def test_what_nothing_is_known_about_is_not_taken_for_known(make: Make, narrow: float) -> None:
    memory = filled(make, narrow)
    assert all(
        hit.relevance < 0.3 for hit in memory.recall("What is the capital of Mongolia?", hold=False)
    )
    assert all(
        hit.score < 0.3 for hit in memory.recall("capital Mongolia", mode="vector", hold=False)
    )


def test_few_vectors_are_compared_as_they_are_and_more_are_measured_again(make: Make) -> None:
    memory = filled(make, 0.75, texts=FACTS)
    question = "What is the capital of Mongolia?"
    assert memory.recall(question, hold=False)[0].match.cosine == pytest.approx(0.75, abs=0.25)
    memory.remember_many([{"content": text, "role": "user"} for text in REMARKS])
    cosine = memory.recall(question, hold=False)[0].match.cosine
    assert cosine is not None
    assert cosine < 0.5


def test_texts_of_one_form_do_not_pass_for_unrelated(make: Make) -> None:
    memory = filled(
        make,
        0.0,
        texts=[f"The pump number {number} reports no fault today." for number in range(60)],
    )
    found = memory.recall("Which pump reports a fault today?", hold=False)
    plain = Cone(0.0)
    one, other = (
        plain.embed_query("Which pump reports a fault today?"),
        plain.embed_documents([found[0].content])[0],
    )
    assert found[0].match.cosine == pytest.approx(
        sum(a * b for a, b in zip(one, other, strict=True)), abs=0.01
    )


def test_the_model_that_relevance_was_fitted_on_is_not_calibrated(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However near the texts of a tenant are to each other."""
    monkeypatch.setattr(nodes, "FITTED_ON", "Cone")
    memory = filled(make, 0.75)
    cosines = [
        hit.match.cosine for hit in memory.recall("What is the capital of Mongolia?", hold=False)
    ]
    assert all(cosine is not None and cosine > 0.6 for cosine in cosines)
