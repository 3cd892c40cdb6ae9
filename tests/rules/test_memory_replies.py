"""What memory itself has told a model is known by its form, so that it becomes no memory. tests/integration/test_keep.py has all replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.fence import Fence, escape, new_token
from htm_core.text.memory_replies import is_memory_reply


@given(words=st.text(max_size=60), tag=st.sampled_from(["memory", "profile", "palace", "evidence"]))
def test_what_quotes_memory_in_a_fence_is_a_reply_of_it_whatever_stands_around_it(
    words: str, tag: str
) -> None:
    quoted = f"The files say:\n{Fence(tag, new_token()).enclose(escape(words))}\n(incomplete)"
    assert is_memory_reply(quoted, "tool")
    assert is_memory_reply(quoted, "assistant")
    assert not is_memory_reply(quoted, "user")


@pytest.mark.parametrize(
    "result",
    ["Remembered by everybody who was there.", "Forgotten passwords are sent by mail.", "21 degrees in Ghent", "<memory>one</memory>",
     "Error invoking tool 'weather'", ""],
)  # fmt: skip
def test_what_another_tool_says_is_none(result: str) -> None:
    assert not is_memory_reply(result, "tool")
