"""The embedded reader in recall: what it puts first, what stands as said earlier, and what happens where it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from htm_core import Draft, InvalidInput, Memory
from htm_core.base.errors import ModelError
from htm_core.models.minilm import weights
from htm_core.reading import readers
from htm_core.reading.reader import OUTPUTS
from tests.conftest import SETTINGS, Make

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
FORMER, ASKED, PRESENT = SAID = (
    "I drive a car, a blue Honda Civic.",
    "Does a car that I drive need winter tyres?",
    "I sold it, the new car is a Tesla.",
)
QUESTION = "Which car do I drive?"
STATED = {
    FORMER: 3.0,
    PRESENT: 8.0,
}  # logits, which make up for what the search says of the two; the others have little
SETTINGS_ALONE = SETTINGS.model_copy(update={"supersession": None})  # no edges

Stand = Callable[[dict[str, float]], list[int]]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """A reader with known logits, by the words of a passage; it keeps how many passages it was given each time."""

    def put(logits: dict[str, float]) -> list[int]:
        counts: list[int] = []

        def questions(_: object, question: str, passages: Sequence[str], *, seconds: float) -> Any:
            counts.append(len(passages))
            rows = np.full((len(passages), OUTPUTS), -20.0, np.float32)
            for row, passage in enumerate(passages):
                rows[row] = next(
                    (each for text, each in logits.items() if passage.endswith(text)), -20.0
                )
            return rows

        monkeypatch.setattr(readers.EmbeddedReader, "questions", questions)
        monkeypatch.setattr(readers.EmbeddedReader, "readable", lambda _, text: 1.0)
        return counts

    return put


def talk(memory: Memory, *texts: str, role: str | None = "user", name: str | None = None) -> None:
    memory.remember_many([
        Draft(content=text, session=f"s{n}", role=role, name=name, at=BEGIN + timedelta(days=20 * n))
        for n, text in enumerate(texts or SAID)
    ])  # fmt: skip
    memory.flush()


def marks(memory: Memory, question: str = QUESTION) -> dict[str, str | None]:
    return {hit.content: hit.said_when for hit in memory.recall(question, hold=False, reader=True)}


def test_the_newest_of_what_states_the_matter_comes_first_and_the_others_were_said_earlier(
    make: Make, stand_in: Stand
) -> None:
    counts = stand_in(STATED)
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory)
        plain = memory.recall(QUESTION, hold=False, explain=True)
        assert counts == []
        hits = memory.recall(QUESTION, hold=False, reader=True, explain=True)
    assert counts == [len(SAID)]
    assert [hit.content for hit in hits[:2]] == [PRESENT, FORMER]
    assert {hit.content: hit.said_when for hit in hits} == {
        PRESENT: "last",
        FORMER: "earlier",
        ASKED: None,
    }
    assert [hit.score for hit in hits] == [hit.score for hit in plain], (
        "places keep what they are worth"
    )
    assert hits.steps[-1] == "reader"
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)


@pytest.mark.parametrize(
    "logits",
    [{FORMER: 3.0, PRESENT: -1.0}, {FORMER: -2.0, PRESENT: 2.0}, {FORMER: -6.0, PRESENT: -1.0}],
)
def test_nothing_is_called_earlier_unless_both_probably_state_the_matter(
    make: Make, stand_in: Stand, logits: dict[str, float]
) -> None:
    stand_in(logits)
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory)
        assert set(marks(memory).values()) == {None}


def test_what_the_reader_is_surer_of_comes_first_and_is_more_relevant(
    make: Make, stand_in: Stand
) -> None:
    stand_in({ASKED: 0.0, FORMER: 6.0, PRESENT: -1.0})
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory)
        hits = memory.recall("car tyres or wheels?", hold=False, reader=True)
        assert hits[0].content == FORMER
        assert hits[-1].content == ASKED, "what only asks states nothing"
        assert hits[0].relevance == max(hit.relevance for hit in hits)
        assert hits.timings.reranker > 0


def test_more_hits_are_read_than_are_asked_for(make: Make, stand_in: Stand) -> None:
    counts = stand_in(STATED)
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory)
        [hit] = memory.recall(QUESTION, limit=1, hold=False, reader=True)
    assert hit.content == PRESENT
    assert counts == [len(SAID)]


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which car did I drive before?", {}),
        ("cars to drive", {}),
        (QUESTION, {"as_of": BEGIN + timedelta(days=90)}),
        (QUESTION, {"valid_at": BEGIN + timedelta(days=90)}),
        (QUESTION, {"timeframe": "2026"}),
    ],
)
def test_the_newest_is_not_preferred_where_the_question_or_an_option_means_another_time(
    make: Make, stand_in: Stand, question: str, options: dict[str, Any]
) -> None:
    counts = stand_in(STATED)
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory)
        hits = memory.recall(question, hold=False, reader=True, **options)
    assert counts
    assert {hit.said_when for hit in hits} == {None}


@pytest.mark.parametrize("mode", ["text", "vector"])
def test_nearest_neighbours_and_words_alone_are_not_read(
    make: Make, stand_in: Stand, mode: Any
) -> None:
    counts = stand_in(STATED)
    with make() as memory:
        talk(memory)
        assert len(memory.recall(QUESTION, hold=False, reader=True, mode=mode)) >= 2
    assert counts == []


@pytest.mark.parametrize(("role", "name"), [("assistant", None), (None, None), ("user", "Ann Lee")])
def test_the_newest_is_not_preferred_without_a_user_and_where_the_question_names_who_speaks(
    make: Make, stand_in: Stand, role: str | None, name: str | None
) -> None:
    stand_in(STATED)
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory, role=role, name=name)
        assert set(marks(memory, "Which car does Ann drive?").values()) == {None}


def test_what_is_trusted_less_or_has_ended_is_never_preferred_for_being_newer(
    make: Make, stand_in: Stand
) -> None:
    stand_in(STATED)
    for options in (
        {"role": "assistant"},
        {"source": "web"},
        {"valid": (BEGIN, BEGIN + timedelta(days=50))},
    ):
        with make(user=str(options), settings=SETTINGS_ALONE) as memory:
            memory.remember(FORMER, role="user", session="s1", at=BEGIN)
            memory.remember(
                PRESENT, session="s2", at=BEGIN + timedelta(days=40), **{"role": "user", **options}
            )
            memory.flush()
            assert set(marks(memory).values()) == {None}, options


def test_a_question_that_was_logged_before_it_is_asked_states_nothing(
    make: Make, stand_in: Stand
) -> None:
    logged = "which car do I drive"
    stand_in({**STATED, logged: 9.0})
    with make(settings=SETTINGS_ALONE) as memory:
        talk(memory, *SAID, logged)
        assert marks(memory) == {PRESENT: "last", FORMER: "earlier", ASKED: None, logged: None}


def test_users_are_not_compared_with_each_other_where_everybody_is_searched(
    make: Make, stand_in: Stand
) -> None:
    stand_in(STATED)
    with (
        make(user="ann", settings=SETTINGS_ALONE) as ann,
        make(user="bob", settings=SETTINGS_ALONE) as bob,
    ):
        ann.remember(FORMER, role="user", session="s1", at=BEGIN)
        bob.remember(PRESENT, role="user", session="s2", at=BEGIN + timedelta(days=40))
        ann.flush()
        hits = ann.recall(QUESTION, scope="tenant", hold=False, reader=True)
        assert {hit.said_when for hit in hits} == {None}


def test_a_reader_that_fails_leaves_the_order_of_the_search_and_says_so(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ModelError("no memory left")

    with make() as memory:
        talk(memory)
        plain = memory.recall(QUESTION, hold=False)
        monkeypatch.setattr(readers.EmbeddedReader, "questions", fails)
        monkeypatch.setattr(readers.EmbeddedReader, "readable", lambda _, text: 1.0)
        found = memory.recall(QUESTION, hold=False, reader=True)
    assert [hit.content for hit in found] == [hit.content for hit in plain]
    assert found.fallback == "Hits are in the order of the search: no memory left"


def test_without_the_files_of_the_model_recall_says_how_to_get_them_and_prompts_are_not_read(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find", lambda: None)
    readers.embedded_reader().renew()
    try:
        with make() as memory:
            talk(memory)
            found = memory.recall(QUESTION, hold=False, reader=True)
        assert "htm setup" in (found.fallback or "")
        assert not readers.reads_prompts(None)
    finally:
        readers.embedded_reader().renew()


def test_a_memory_may_be_opened_with_a_reader_for_every_recall_or_with_one_of_its_own(
    make: Make, stand_in: Stand
) -> None:
    counts = stand_in(STATED)

    class Backwards:
        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            return [float(place) for place in range(len(texts))]

    with make(reader=True, settings=SETTINGS_ALONE) as always, make(reader=Backwards()) as own:
        talk(always)
        plain = always.recall(QUESTION, hold=False, reader=False)
        assert counts == []
        assert always.recall(QUESTION, hold=False)[0].content == PRESENT
        backwards = own.recall(QUESTION, hold=False)
        assert [hit.content for hit in backwards] == [hit.content for hit in reversed(plain.hits)]
    with pytest.raises(InvalidInput, match="one option by two names"):
        make(reader=Backwards(), reranker=Backwards())


def test_the_embedded_reader_finds_the_answer_among_words_alike(
    make: Make, real_embedder: object
) -> None:
    said = (
        "My brother Tom moved to Leeds last spring.",
        "I have never been to Leeds, though I would love to see it.",
        "We have lived in Bristol since the summer, near the harbour.",
        "Where should I live when I am old?",
    )
    with make(embedder=real_embedder) as memory:
        talk(memory, *said)
        found = memory.recall("Which city do I live in?", hold=False, reader=True)
        assert found.fallback is None
        assert found[0].content == said[2]
        assert found[0].relevance > found[1].relevance
