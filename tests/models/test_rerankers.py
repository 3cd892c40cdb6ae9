"""A reranker puts texts in order, whatever kind it is of; what is no order is a model error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models.chat import ChatReranker, RankAnswer
from htm_core.models.rerankers import CheckedReranker, resolve_reranker
from tests.stand_ins import StandInChat

TEXTS = ["a boat", "the harbour of Ghent", "a crane", "Ghent"]
SCORES = [0.9, 0.8, 0.7, 0.6]


def resolved(spec: object) -> CheckedReranker:
    made = resolve_reranker(spec)
    assert made is not None
    return made


def order(spec: object, query: str = "Ghent", *, seconds: float = 5.0) -> list[int]:
    return resolved(spec).order(query, TEXTS, SCORES, seconds=seconds)


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    return [float(query in text) for text in texts]


class OwnReranker:
    """What the protocol asks for."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return shared_words(query, texts)


class PairModel:
    """The form of a cross-encoder of sentence-transformers; `column` gives each number in a list of its own."""

    def __init__(self, *, column: bool = False) -> None:
        self.column = column

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        numbers = [float(query in text) for query, text in pairs]
        return SimpleNamespace(
            tolist=lambda: [[number] for number in numbers] if self.column else numbers
        )


class LangChainPairs:
    """The form of LangChain's `BaseCrossEncoder`."""

    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [float(query in text) for query, text in pairs]


@pytest.mark.parametrize(
    "spec", [shared_words, OwnReranker(), PairModel(), PairModel(column=True), LangChainPairs()]
)
def test_a_model_that_gives_numbers_puts_the_highest_first_and_keeps_the_order_of_equal_ones(
    spec: object,
) -> None:
    assert order(spec) == [1, 3, 0, 2]


def test_a_chat_model_names_the_numbers_of_those_that_help_and_the_others_follow_in_their_order() -> (
    None
):
    chat = StandInChat(RankAnswer(numbers=[4, 2, 4]))
    assert order(chat) == [3, 1, 0, 2]
    assert "1. a boat\n2. the harbour of Ghent\n" in chat.asked[0][1][1]


@pytest.mark.parametrize("numbers", [[0], [5], [1, -1]])
def test_a_chat_model_that_names_what_it_was_not_shown_is_a_model_error(numbers: list[int]) -> None:
    with pytest.raises(ModelError, match="numbers of entries from 1 to 4"):
        order(StandInChat(RankAnswer(numbers=numbers)))


def test_an_entry_of_a_chat_model_stays_in_its_line() -> None:
    chat = StandInChat(RankAnswer(numbers=[]))
    ChatReranker(chat).rerank("q", ["one\n2. two", "x" * 5_000])
    first, second = chat.asked[0][1][1].split("The entries:\n")[1].splitlines()[1:3]
    assert first == "1. one 2. two"
    assert len(second) == len("2. ") + 1_000


@pytest.mark.parametrize(
    "answer",
    [None, 7, "high", [1.0], [1.0] * 5, [1.0, 2.0, 3.0, float("nan")], [1.0, 2.0, 3.0, float("inf")], [1, 2, 3, "x"], [1, 2, 3, None]],
)  # fmt: skip
def test_what_is_no_finite_number_for_each_text_is_a_model_error(answer: Any) -> None:
    with pytest.raises(ModelError, match="expected 4"):
        order(lambda query, texts: answer)


def test_a_model_that_raises_is_a_model_error_that_says_what_becomes_of_the_hits() -> None:
    def broken(query: str, texts: Sequence[str]) -> list[float]:
        raise ConnectionError("no route")

    with pytest.raises(
        ModelError,
        match=r"reranker .*broken failed: ConnectionError: no route.*keep the order of the search",
    ):
        order(broken)


def test_a_model_that_hangs_is_left_after_its_time_and_ends_by_itself() -> None:
    over = threading.Event()

    def slow(query: str, texts: Sequence[str]) -> list[float]:
        over.wait(30)
        return [0.0] * len(texts)

    with pytest.raises(ModelError, match=r"to answer within 0\.05 s.*Settings\.reranker_timeout"):
        order(slow, seconds=0.05)
    over.set()


def test_texts_and_questions_with_lone_surrogates_reach_the_model_well_formed() -> None:
    seen: list[str] = []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        seen.extend([query, *texts])
        "".join(seen).encode()
        return [0.0] * len(texts)

    assert resolved(rate).order("\ud800?", ["a\udfff", "b"], [0.5, 0.4], seconds=5) == [0, 1]
    assert len(seen) == 3


def test_none_is_none_and_what_cannot_be_one_is_refused() -> None:
    assert resolve_reranker(None) is None
    for spec in ("minilm", "cross-encoder:", "ollama: ", 7, object(), OwnReranker):
        with pytest.raises(InvalidInput, match='reranker: expected None, "cross-encoder:MODEL"'):
            resolve_reranker(spec)


def test_a_named_model_is_one_for_all_memories_and_loaded_at_its_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []

    class CrossEncoder(PairModel):
        """A stand-in for sentence-transformers' own, which downloads its model."""

        def __init__(self, name: str) -> None:
            super().__init__()
            loaded.append(name)

    monkeypatch.setitem(
        sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=CrossEncoder)
    )
    name = "cross-encoder:stand-in/of-this-test"
    one, other = resolved(name), resolved(name)
    assert one is other
    assert loaded == []
    assert order(one) == order(other) == [1, 3, 0, 2]
    assert loaded == ["stand-in/of-this-test"]


def test_a_cross_encoder_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match="pip install sentence-transformers"):
        order("cross-encoder:stand-in/not-installed")


@given(
    answer=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4),
)
def test_every_text_is_in_the_order_exactly_once(answer: list[float]) -> None:
    found = order(lambda query, texts: answer)
    assert sorted(found) == [0, 1, 2, 3]
    assert [answer[place] for place in found] == sorted(answer, reverse=True)
