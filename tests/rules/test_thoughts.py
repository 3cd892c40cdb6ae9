"""A model's thoughts are nobody's words, however they are marked; what was said around them stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.thoughts import is_thought, without_thought_fields, without_thoughts

SECRET, ANSWER = "zebra pondering", "The boat is blue."
MARKED = (
    "<think>{0}</think>{1}", "<think>\n{0}\n</think>\n\n{1}", "<THINKING>{0}</THINKING> {1}", "<thought>{0}</thought>{1}",
    "<reasoning>{0}</reasoning>{1}", "<seed:think>{0}</seed:think>{1}", "<antThinking>{0}</antThinking>{1}",
    "<think duration='3' done=true>{0}</think>{1}", "\u25c1think\u25b7{0}\u25c1/think\u25b7{1}", "[THINK]{0}[/THINK]{1}",
    "<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}<|return|>",
    "<|channel|>analysis<|message|>{0}<|channel|>final<|message|>{1}", "analysis{0}.assistantfinal{1}",
    "<|begin_of_thought|>{0}<|end_of_thought|>{1}", "<|START_THINKING|>{0}<|END_THINKING|>{1}",
    '<details type="reasoning" done="true"><summary>Thought for 3 s</summary>{0}</details>{1}', "<|channel>thought\n{0}<channel|>{1}",
    "&lt;think&gt;{0}&lt;/think&gt;{1}", "{0}</think>{1}", "{0}</think>\n{1}", "<think>{0}<think>{0}</think>{0}</think>{1}",
    "<think>{0}<think>{0}</think>{1}", "<think>```py\n{0}\n</think>{1}", "<think>{0}</think><think>{0}</think>{1}", "{1}<think>{0}",
    "{1}\n<thinking>{0}</thinking>", "<think></think>{1}", "<think>{0} `</think>` {0}</think>{1}",
)  # fmt: skip
QUOTED = (
    "Write `<think>` before and `</think>` after.", "```xml\n<think>like this</think>\n```\nSo it goes.", "~~~\n</think>\n~~~",
    "a < b and c > d", "<details><summary>Logs</summary>all</details> of it", "[think] about it", "the <thinker> tag",
    "Thought: it is nice. I like it.", "analysis of the data, and the final one", "if (a<think && b>c)", "<reasonable>x</reasonable>",
)  # fmt: skip


@pytest.mark.parametrize("form", MARKED)
def test_marked_thoughts_leave_the_answer_alone(form: str) -> None:
    said = without_thoughts(form.format(SECRET.capitalize(), ANSWER))
    assert said == ANSWER


@pytest.mark.parametrize(
    "form", ["<think>{0}", "{0}</think>", "[THINK]{0}", "<|channel|>analysis<|message|>{0}"]
)
def test_thoughts_without_an_answer_leave_nothing(form: str) -> None:
    assert without_thoughts(form.format(SECRET)) == ""


@pytest.mark.parametrize("text", QUOTED)
def test_a_mark_that_is_quoted_in_code_or_is_none_changes_nothing(text: str) -> None:
    assert without_thoughts(text) == text


def test_what_an_agent_thinks_aloud_before_it_answers_is_left_out() -> None:
    assert without_thoughts(f"Thought: {SECRET}\n{SECRET}\nAnswer: {ANSWER}") == f"Answer: {ANSWER}"


@given(
    st.lists(
        st.sampled_from(
            (
                "<think>",
                "</think>",
                "`",
                "```\n",
                "q ",
                "\n",
                "<|channel|>analysis<|message|>",
                "<|end|>",
            )
        )
    )
)
def test_what_is_left_has_no_more_thoughts_than_was_there(parts: list[str]) -> None:
    said = without_thoughts("".join(parts))
    assert len(said) <= len("".join(parts))
    assert said.count("q") <= parts.count("q ")


def test_blocks_and_fields_of_thoughts_are_known() -> None:
    blocks = [{"type": each} for each in ("thinking", "redacted_thinking", "reasoning", "thought")]
    blocks += [
        {"text": "x", "thought": True},
        {"type": "text", "text": "x", "thought": True},
        {"block_type": "thinking"},
        {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "x"}},
    ]
    assert all(map(is_thought, blocks))
    assert not any(
        map(
            is_thought,
            (
                {"type": "text", "text": "x"},
                "thinking",
                {"type": "text", "thought": False},
                None,
                {"type": "non_standard"},
            ),
        )
    )
    message = {
        "a": {"reasoning_content": "x", "b": 1},
        "content": [{"type": "thinking", "thinking": "x"}, {"type": "text"}],
    }
    assert without_thought_fields(message) == {"a": {"b": 1}, "content": [{"type": "text"}]}
