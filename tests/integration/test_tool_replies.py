"""What tools reply when something fails: what a model can act on in full, everything else in general."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from htm_core import AppliedTimeframe, HTMError, InvalidInput, NotFound, Recall, StorageError
from htm_core.prompt.tool_replies import (
    NOTHING,
    allowed_limit,
    recalled,
    reply_to_errors,
    without_brackets,
)

replying = reply_to_errors(
    lambda reply, error: reply, log=logging.getLogger("htm.test"), unreachable="not now"
)


@replying
def use(error: HTMError | None) -> str:
    """Raise an error, or say that it went well."""
    if error is not None:
        raise error
    return "fine"


def test_a_tool_without_an_error_replies_as_it_does() -> None:
    assert use(None) == "fine"


@pytest.mark.parametrize(
    "error", [InvalidInput("expected words"), NotFound("no memory 7")], ids=["input", "id"]
)
def test_what_a_model_gave_wrong_is_explained_to_it(error: HTMError) -> None:
    assert use(error) == f"That did not work: {error}"


def test_any_other_error_is_logged_by_its_class_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="htm.test"):
        assert use(StorageError("could not reach db.example as ada")) == "not now"
    assert caplog.messages == ["use failed (StorageError)"]


def test_a_model_may_want_too_much_and_give_an_id_with_its_brackets() -> None:
    assert [allowed_limit(each) for each in (-3, 5, 1_000)] == [1, 5, 20]
    assert without_brackets(" [4711] ") == without_brackets("4711") == "4711"


def test_a_model_reads_that_the_memories_are_from_other_times_than_it_asked_for() -> None:
    applied = AppliedTimeframe(windows=(), words="last week", outside=True)
    assert recalled(Recall(query="?", timeframe=applied)) == f"{NOTHING}\n({applied.note})"
    strictly = recalled(Recall(query="?", timeframe=replace(applied, outside=False)))
    assert strictly.splitlines() == [
        NOTHING, "(Only \u201clast week\u201d was searched; leave out the timeframe to search all times.)"
    ]  # fmt: skip
    assert (
        recalled(Recall(query="?", timeframe=replace(applied, outside=False, words=None)))
        == NOTHING
    )
