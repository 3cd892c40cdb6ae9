"""Vectors are kept under the name of a model that makes the same ones, and under no other's."""

from __future__ import annotations

import math
import random

import pytest

from htm_core import DimensionMismatch, InvalidInput
from htm_core.importers.vectors import UNNAMED, model_of, similarity
from htm_core.models.embedders import resolve
from tests.importers import peers
from tests.stand_ins import HashEmbedder

TEXTS = peers.TEXTS[:3]
OWN = resolve(HashEmbedder())


def sample(noise: float) -> list[tuple[str, list[float]]]:
    """Texts with vectors that are a little beside those of the model."""
    chance = random.Random(7)
    return [
        (text, [n + chance.gauss(0, noise) for n in peers.embedder().embed_query(text)])
        for text in TEXTS
    ]


def test_vectors_that_were_rounded_to_halves_are_of_the_same_model() -> None:
    found = model_of(
        sample(1e-4), chosen=peers.embedder(), own=OWN, table="t", dimension=peers.DIMENSION
    )
    assert found.name == "Model:hash"


def test_a_model_whose_vectors_are_much_alike_is_another_model() -> None:
    """As the int8 form of a model is: its cosine with the exact one is about 0.99."""
    alike = sample(0.025)
    cosines = [similarity(vector, peers.embedder().embed_query(text)) for text, vector in alike]
    assert min(cosines) > 0.97
    with pytest.raises(DimensionMismatch, match="whose vectors of the same texts are others"):
        model_of(alike, chosen=peers.embedder(), own=OWN, table="t", dimension=peers.DIMENSION)


def test_without_a_text_to_try_no_model_is_assumed() -> None:
    with pytest.raises(InvalidInput, match="which model made the vectors of t"):
        model_of(
            [], chosen=None, own=resolve(peers.embedder()), table="t", dimension=peers.DIMENSION
        )
    assert model_of([], chosen=UNNAMED, own=OWN, table="t", dimension=peers.DIMENSION).name is None


def test_vectors_without_a_direction_are_like_each_other_alone() -> None:
    assert (similarity([0, 0], [0, 0]), similarity([0, 0], [1, 0])) == (1, 0)
    assert math.isclose(similarity([1, 1], [2, 2]), 1)
