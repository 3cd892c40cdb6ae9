"""The default detector says whether a prompt asks a question, by its mark and by the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shares import wilson
from htm_core.base.errors import ModelError
from htm_core.palace import Detection, detect
from htm_core.palace.grounding.detection import TASKS, detection
from htm_core.reading.readers import EmbeddedReader

KINDS = dict.fromkeys((*TASKS, "asks"), 0.0)


@given(st.text(max_size=300))
def test_without_a_reader_the_question_mark_decides_and_the_reason_says_so(prompt: str) -> None:
    found = detect(prompt)
    assert (found.recall, found.probability) == ("?" in prompt, None)
    assert "no reader is here" in found.rule


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_asks_for_nothing_remembered_whatever_its_mark(kind: str) -> None:
    assert detection("Could you do it?", KINDS | {kind: 0.6, "asks": 0.9}) == Detection(
        False, TASKS[kind]
    )


def test_a_question_is_known_by_its_mark_or_by_the_reader() -> None:
    assert detection("Where is it?", KINDS).recall
    assert detection("where is it", KINDS | {"asks": 0.5}).recall
    assert not detection("It is there.", KINDS | {"asks": 0.4}).recall


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize(
    ("prompt", "recall"),
    [
        ("When does the heron ship?", True), ("where did I say the vaccination book was", True), ("Write a poem about the sea.", False),
        ("Could you draft a polite email to the school?", False), ("Thanks a lot!", False),
    ],
)  # fmt: skip
def test_the_reader_tells_questions_from_tasks(prompt: str, recall: bool) -> None:
    assert detect(prompt).recall is recall


@pytest.mark.usefixtures("real_embedder")
def test_a_reader_that_fails_leaves_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: EmbeddedReader, texts: list[str]) -> list[dict[str, float]]:
        raise ModelError("it is broken")

    monkeypatch.setattr(EmbeddedReader, "kinds", fails)
    assert detect("Where is it?") == Detection(
        True, "has a question mark; no reader is here to read it"
    )


def test_the_wilson_interval_is_that_of_the_tables() -> None:
    low, high = wilson(9, 10)
    assert (round(low, 4), round(high, 4)) == (0.5958, 0.9821)
    assert wilson(0, 0) == (0.0, 1.0)
