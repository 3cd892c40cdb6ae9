"""A model is not shown its thoughts of earlier turns; within the turn that is going on its provider gets everything back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from htm_langchain.messages import draft_of, words_of
from htm_langchain.thoughts import without_earlier_thoughts

SECRET, ANSWER = "zebra", "It is blue."
CALL = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
THINKING: dict[str, AIMessage] = {
    "block": AIMessage([{"type": "thinking", "thinking": SECRET, "signature": "s"}, {"type": "text", "text": ANSWER}]),
    "redacted": AIMessage([{"type": "redacted_thinking", "data": SECRET}, {"type": "text", "text": ANSWER}]),
    "item": AIMessage([{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": SECRET}]},
                       {"type": "text", "text": ANSWER, "id": "msg_1"}]),
    "part": AIMessage([{"type": "text", "text": SECRET, "thought": True}, {"type": "text", "text": ANSWER}]),
    "mark": AIMessage(f"<think>{SECRET}</think>{ANSWER}"),
    "field": AIMessage(ANSWER, additional_kwargs={"reasoning_content": SECRET}),
    "details": AIMessage(ANSWER, additional_kwargs={"reasoning_details": [{"text": SECRET}]}),
}  # fmt: skip


@pytest.mark.parametrize("way", sorted(THINKING))
def test_thoughts_are_no_words_and_later_turns_do_not_show_them(way: str) -> None:
    message = THINKING[way]
    assert words_of(message) == ANSWER
    assert SECRET.encode() in (draft_of(message, id="1").payload or b"")
    earlier: list[AnyMessage] = [HumanMessage("Which colour?"), message, HumanMessage("Sure?")]
    shown = without_earlier_thoughts(earlier)
    assert SECRET not in str(shown)
    assert "msg_1" not in str(shown)
    assert str(shown[1].text) == ANSWER
    now: list[Any] = [
        HumanMessage("Which colour?"),
        message.model_copy(update={"tool_calls": [CALL]}),
        ToolMessage("x", tool_call_id="1"),
    ]
    assert without_earlier_thoughts(now) == now


def test_a_turn_that_was_nothing_but_thoughts_is_left_out() -> None:
    shown = without_earlier_thoughts(
        [HumanMessage("a"), AIMessage(f"<think>{SECRET}"), HumanMessage("b")]
    )
    assert [each.text for each in shown] == ["a", "b"]


def test_a_users_own_words_stay_whatever_they_look_like() -> None:
    said = HumanMessage("<think>what do you mean?</think> I mean it.")
    assert words_of(said) == said.text
    assert without_earlier_thoughts([said, AIMessage("x"), HumanMessage("b")])[0] is said
