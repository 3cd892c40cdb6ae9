"""What memory itself has told a model is known by its form, so that it becomes no memory."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import NotFound, Recall
from htm_core.integration.tool_replies import forgotten, recalled, reply_to_errors
from htm_core.rules.text.fence import Fence, escape, new_token
from htm_core.rules.text.memory_replies import NOTHING, OPENING, is_memory_reply, without_quotes

ID = "bf98625c-6214-855b-9e59-8bc4d157e6a3"


@given(words=st.text(max_size=60), tag=st.sampled_from(["memory", "evidence", "note"]))
def test_a_result_that_quotes_memory_in_a_fence_is_a_reply_of_it(words: str, tag: str) -> None:
    quoted = Fence(tag, new_token()).enclose(escape(words))
    assert is_memory_reply(f"The files say:\n{quoted}\n(incomplete)")
    left = without_quotes(f"Thought: look.\nObservation: {quoted}\nAnswer: 7")
    assert left.split() == ["Thought:", "look.", "Observation:", "Answer:", "7"]


@pytest.mark.parametrize(
    "reply",
    [f"{OPENING}\n", NOTHING, f"Remembered [{ID}].", f"That was known already [{ID}].", forgotten(ID), "That did not work: expected an id",
     recalled(Recall(query="x")), "Error invoking tool 'recall' with kwargs {}"],
)  # fmt: skip
def test_what_a_tool_of_memory_says_is_a_reply_of_it(reply: str) -> None:
    assert is_memory_reply(reply)


@pytest.mark.parametrize(
    "result",
    ["Remembered by everybody who was there.", "Forgotten passwords are sent by mail.", "21 degrees in Ghent", "<memory>one</memory>",
     "<memory-593027461885102> was never closed", "Error invoking tool 'weather'", ""],
)  # fmt: skip
def test_what_another_tool_says_is_none(result: str) -> None:
    assert not is_memory_reply(result)
    assert without_quotes(result) == result


def test_an_error_that_a_model_reads_is_a_reply_too() -> None:
    @reply_to_errors(lambda reply, error: reply, log=logging.getLogger("htm.test"), unreachable="not now")
    def fails() -> str:
        """Say what was wrong."""
        raise NotFound("no such memory")

    assert is_memory_reply(fails())
