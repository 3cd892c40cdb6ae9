"""What tools reply when something fails: what a model can act on in full, everything else in general."""

from __future__ import annotations

import logging

import pytest

from htm_core import HTMError, InvalidInput, NotFound, StorageError
from htm_core.integration.tool_replies import allowed_limit, reply_to_errors, without_brackets

replying = reply_to_errors(lambda reply, error: reply, log=logging.getLogger("htm.test"), unreachable="not now")


@replying
def use(error: HTMError | None) -> str:
    """Raise an error, or say that it went well."""
    if error is not None:
        raise error
    return "fine"


def test_a_tool_without_an_error_replies_as_it_does() -> None:
    assert use(None) == "fine"


@pytest.mark.parametrize("error", [InvalidInput("expected words"), NotFound("no memory 7")], ids=["input", "id"])
def test_what_a_model_gave_wrong_is_explained_to_it(error: HTMError) -> None:
    assert use(error) == f"That did not work: {error}"


def test_any_other_error_is_logged_by_its_class_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="htm.test"):
        assert use(StorageError("could not reach db.example as ada")) == "not now"
    assert caplog.messages == ["use failed (StorageError)"]


def test_a_model_may_want_too_much_and_give_an_id_with_its_brackets() -> None:
    assert [allowed_limit(each) for each in (-3, 5, 1_000)] == [1, 5, 20]
    assert without_brackets(" [4711] ") == without_brackets("4711") == "4711"
