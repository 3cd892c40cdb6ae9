"""What the embedded reader reads, and what it has read already."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from htm_core.base.last_used import LastUsed
from htm_core.models.minilm import weights
from htm_core.reading import reader
from htm_core.reading.reader import OUTPUTS, Reader

QUESTION = "Where do I live?"
PASSAGES = ("user: I moved to Bristol.", "user: The soup was cold.", "user: I like cycling.")


@pytest.fixture
def counted(real_embedder: object, monkeypatch: pytest.MonkeyPatch) -> tuple[Reader, list[int]]:
    """A reader, and how many pairs it has read in each of its runs."""
    folder = weights.find()
    assert folder is not None
    made, read = Reader(folder), list[int]()
    session = made._session

    class Counting:
        def run(self, names: Any, inputs: Any, options: Any) -> Any:
            read.append(len(inputs["tokens"]))
            return session.run(names, inputs, options)

    monkeypatch.setattr(made, "_session", Counting())
    return made, read


def test_a_pair_that_was_read_is_not_read_again(counted: tuple[Reader, list[int]]) -> None:
    model, read = counted
    first = model.questions(QUESTION, PASSAGES)
    assert first.shape == (3, OUTPUTS)
    assert read == [3]
    assert np.array_equal(model.questions(QUESTION, PASSAGES[::-1]), first[::-1])
    assert read == [3]
    model.questions(QUESTION, (*PASSAGES, "user: My name is Ann."))
    model.questions("Where did I live?", PASSAGES[:1])
    assert read == [3, 1, 1]


def test_equal_passages_and_none_have_their_places(counted: tuple[Reader, list[int]]) -> None:
    model, read = counted
    twice = model.questions(QUESTION, (PASSAGES[0], PASSAGES[1], PASSAGES[0]))
    assert np.array_equal(twice[0], twice[2])
    assert not np.array_equal(twice[0], twice[1])
    assert read == [2]
    assert model.questions(QUESTION, ()).shape == (0, OUTPUTS)


def test_a_question_and_a_passage_that_divide_the_same_words_elsewhere_are_another_pair() -> None:
    assert reader.digest("Do I", "live here?") != reader.digest("Do I live", " here?")


def test_only_the_last_pairs_are_kept_by_any_number_of_threads(
    counted: tuple[Reader, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, kept = counted[0], LastUsed[bytes, reader.Floats](10)
    monkeypatch.setattr(model, "_kept", kept)
    monkeypatch.setattr(model, "_read", lambda pairs: np.zeros((len(pairs), OUTPUTS), np.float32))

    def work(worker: int) -> None:
        for number in range(200):
            model.questions(QUESTION, [f"{worker} {number}", f"{worker} {number - 1}"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(kept) == 10
