"""The window that a model is shown: within the room, whole, and moving seldom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from htm_langchain.tokens import count
from htm_langchain.window import calls_of, fit


def call(*ids: str, text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": "look", "args": {}, "id": id} for id in ids])


def result(id: str, text: str = "found") -> ToolMessage:
    return ToolMessage(text, tool_call_id=id)


words = st.one_of(st.integers(0, 60), st.integers(0, 6_000)).map(lambda n: "word " * n)
# What a message may hold beside a text: blocks, and pictures or files among them.
contents = words | st.lists(
    words
    | words.map(lambda text: {"type": "text", "text": text})
    | st.just({"type": "image", "url": "https://nowhere.invalid/x.png"})
    | words.map(lambda text: {"type": "file", "mime_type": "application/pdf", "base64": text}),
    max_size=4,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[AnyMessage]:
    """Anything that a state may hold, in any order: huge arguments, results without calls, several system messages."""
    made: list[AnyMessage] = []
    for at in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["human", "ai", "system", "calls", "broken", "result", "note"]))
        if kind == "human":
            made.append(HumanMessage(draw(contents)))
        elif kind == "note":
            made.append(HumanMessage(draw(words), additional_kwargs={"lc_source": "reminder"}))
        elif kind == "system":
            made.append(SystemMessage(draw(words)))
        elif kind == "ai":
            made.append(AIMessage(draw(contents)))
        elif kind == "broken":
            cut: Any = {
                "name": "f",
                "args": draw(words),
                "id": str(at),
                "error": "e",
                "type": "invalid_tool_call",
            }
            made += [AIMessage("", invalid_tool_calls=[cut]), result(str(at), draw(words))]
        elif kind == "calls":
            args = {"path": "x", "edits": [{"text": draw(words), "n": 1}]}
            made.append(AIMessage("", tool_calls=[{"name": "f", "args": args, "id": str(at)}]))
            made += [ToolMessage(draw(contents), tool_call_id=str(at))] * draw(st.integers(0, 2))
        else:
            made.append(result("nobody", draw(words)))
    return made


@st.composite
def turns(draw: st.DrawFn) -> list[AnyMessage]:
    """Turns of a person, rounds of tools with one or two calls each, and an answer; the last may be unanswered."""
    said: list[AnyMessage] = []
    for turn in range(draw(st.integers(1, 8))):
        said.append(HumanMessage(draw(words)))
        for round in range(draw(st.integers(0, 3))):
            ids = [f"{turn}-{round}-{i}" for i in range(draw(st.integers(1, 2)))]
            said += [call(*ids, text=draw(words)), *(result(id, draw(words)) for id in ids)]
        said.append(AIMessage(draw(words)))
    return said[:-1] if draw(st.booleans()) else said


def is_valid(messages: Sequence[AnyMessage]) -> bool:
    open: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open:
                return False
            open.discard(message.tool_call_id)
        elif open:
            return False
        elif isinstance(message, AIMessage):
            open = {each["id"] for each in calls_of(message)}
    return not open


@settings(max_examples=100, deadline=None)
@given(turns(), st.integers(20, 1500))
def test_a_window_is_valid_keeps_the_last_question_and_holds_its_room(
    said: list[AnyMessage], room: int
) -> None:
    window = fit(said, room=room)
    question = next(m for m in reversed(said) if isinstance(m, HumanMessage))
    assert is_valid(window)
    assert isinstance(window[0], HumanMessage)
    assert any(each is question for each in window) or count([question]) > room // 8
    assert count(window) <= room


@settings(max_examples=100, deadline=None)
@given(conversations(), st.integers(40, 3_000))
def test_no_request_exceeds_its_budget_whatever_was_said(said: list[AnyMessage], room: int) -> None:
    before = [each.model_copy(deep=True) for each in said]
    for low_water in (0.5, 1.0):
        window = fit(said, room=room, low_water=low_water)
        assert count(window) <= room
        assert is_valid(window[:-1] if window and calls_of(window[-1]) else window)
    assert said == before


@given(turns())
def test_what_fits_is_shown_whole(said: list[AnyMessage]) -> None:
    assert fit(said, room=100_000) == said


def test_the_window_stands_still_for_most_turns() -> None:
    said: list[AnyMessage] = []
    moved, past, before = 0, 0, None
    for turn in range(200):
        said += [HumanMessage(f"{turn} " + "word " * 30), AIMessage("word " * 20)]
        window = fit(said, room=2_000)
        assert count(window) <= 2_000
        if len(window) < len(said):
            past += 1
            moved += before is not None and window[0] is not before
        before = window[0]
    assert past > 100
    assert moved <= 0.2 * past


def test_a_turn_too_large_keeps_its_question_and_its_newest_results() -> None:
    question = HumanMessage("what is there?")
    rounds = [[call(str(i)), result(str(i), "word " * 200)] for i in range(10)]
    window = fit(
        [HumanMessage("before"), question, *(m for pair in rounds for m in pair)], room=700
    )
    assert window[0] is question
    assert window[-2:] == rounds[-1]
    assert count(window) <= 700
    shown = fit([question, *rounds[0]], room=200)
    assert [each.type for each in shown] == ["human", "ai", "tool"]
    assert count(shown) <= 200


def test_results_without_their_call_and_calls_without_all_results_are_left_out() -> None:
    first, last = HumanMessage("a"), HumanMessage("b")
    assert fit([result("0"), first, call("1", "2"), result("1"), last], room=1_000) == [first, last]


def test_a_call_that_nobody_can_read_needs_its_result_as_well() -> None:
    cut: Any = {
        "name": "look",
        "args": "{",
        "id": "a",
        "error": "cut off",
        "type": "invalid_tool_call",
    }
    broken = AIMessage("", invalid_tool_calls=[cut])
    assert fit([HumanMessage("hi"), broken, HumanMessage("so?")], room=1_000) == [
        HumanMessage("hi"), HumanMessage("so?"),
    ]  # fmt: skip
    answered: list[AnyMessage] = [HumanMessage("hi"), broken, result("a"), HumanMessage("so?")]
    assert fit(answered, room=1_000) == answered


def test_calls_at_the_very_end_stay() -> None:
    said: list[AnyMessage] = [HumanMessage("a"), call("1", "2"), result("1")]
    assert fit(said, room=1_000) == said


def test_leading_system_messages_stay_and_count() -> None:
    system = SystemMessage("word " * 100)
    said: list[AnyMessage] = [system, *(HumanMessage("word " * 20) for _ in range(20))]
    window = fit(said, room=400)
    assert window[0] is system
    assert 1 < len(window) < len(said)
    assert count(window) <= 400


def test_scripts_and_data_that_take_more_tokens_count_more_than_a_quarter_of_their_letters() -> (
    None
):
    for text in (
        "记忆" * 50,
        "QmFzZTY0IGlzIGRlbnNl" * 20,
        '{"id": "8f1c2d3e-77aa-4b0c-9d1e-0a1b2c3d4e5f"}' * 10,
    ):
        assert count([HumanMessage(text)]) > count_tokens_approximately([HumanMessage(text)])
    assert count([HumanMessage("plain")]) == 5


def test_what_stands_beside_the_content_counts_as_what_is_sent() -> None:
    thoughts = "Hmm, let me think about it again. " * 600
    for beside in ("reasoning_content", "thinking", "anything_new"):
        assert count([AIMessage("done", additional_kwargs={beside: thoughts})]) > 4_000
    assert count([AIMessage([{"type": "some_new_block", "text_of_it": thoughts}])]) > 4_000
    assert (
        count(
            [
                HumanMessage(
                    [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
                )
            ]
        )
        >= 1_600
    )


def test_of_two_results_of_one_call_the_last_is_shown() -> None:
    said: list[AnyMessage] = [
        HumanMessage("a"),
        call("1"),
        result("1", "first"),
        result("1", "second"),
        HumanMessage("b"),
    ]
    assert fit(said, room=1_000) == [said[0], said[1], said[3], said[4]]


def test_where_nothing_leads_a_person_speaks_first() -> None:
    said: list[AnyMessage] = [AIMessage("Welcome!"), HumanMessage("a"), AIMessage("b")]
    assert fit(said, room=1_000, has_system_prompt=False) == said[1:]
    assert fit(said, room=1_000, has_system_prompt=True) == said
    assert fit([SystemMessage("s"), *said], room=1_000, has_system_prompt=False) == [
        SystemMessage("s"),
        *said,
    ]


def test_a_note_in_a_persons_place_is_not_the_question() -> None:
    question = HumanMessage("what is there? " * 60)
    note = HumanMessage("mind the budget", additional_kwargs={"lc_source": "reminder"})
    window = fit(
        [HumanMessage("before"), question, note, call("1"), result("1", "word " * 400)], room=500
    )
    assert window[0] is question


def test_a_huge_message_of_each_kind_is_shown_by_its_beginning_and_its_end() -> None:
    huge = "BEGIN " + "word " * 200_000 + "END"
    blocks: list[Any] = [
        {"type": "text", "text": huge},
        {"type": "image", "url": "https://nowhere.invalid/x.png"},
    ]
    writes = AIMessage("", tool_calls=[{"name": "write", "args": {"text": huge}, "id": "1"}])
    conversations: list[list[AnyMessage]] = [
        [HumanMessage(huge)],
        [HumanMessage(blocks)],
        [HumanMessage("so?"), AIMessage(huge)],
        [HumanMessage("so?"), AIMessage(blocks)],
        [HumanMessage("so?"), call("1"), result("1", huge)],
        [HumanMessage("so?"), writes, result("1")],
        [SystemMessage(huge), HumanMessage("so?")],
        [HumanMessage(huge), AIMessage("fine"), HumanMessage("and then?")],
    ]
    for said in conversations:
        window = fit(said, room=2_000)
        assert [each.type for each in window] == [each.type for each in said]
        assert 500 < count(window) <= 2_000
        text = "\n".join(each.model_dump_json() for each in window)
        assert "BEGIN" in text
        assert "word END" in text
        assert "characters are left out of this request" in text


def test_a_call_that_lost_its_middle_is_not_said_whole_in_the_providers_own_form() -> None:
    huge = "word " * 100_000
    own = {
        "tool_calls": [{"id": "1", "function": {"name": "write", "arguments": huge}}],
        "other": "kept",
    }
    call = AIMessage(
        "", tool_calls=[{"name": "write", "args": {"text": huge}, "id": "1"}], additional_kwargs=own
    )
    window = fit([HumanMessage("so?"), call, result("1")], room=1_000)
    assert window[1].additional_kwargs == {"other": "kept"}
    assert call.additional_kwargs == own


def test_what_is_cut_is_cut_alike_in_every_request_of_a_growing_conversation() -> None:
    said: list[AnyMessage] = [
        HumanMessage("word " * 10_000),
        AIMessage("fine"),
        HumanMessage("and then?"),
    ]
    first = fit(said, room=2_000)[0].content
    for n in range(5):
        said += [AIMessage(f"answer {n}"), HumanMessage(f"question {n}")]
        assert fit(said, room=2_000)[0].content == first


def test_older_turns_do_not_cost_the_last_question_its_middle() -> None:
    said: list[AnyMessage] = [
        HumanMessage("word " * 500),
        AIMessage("word " * 500),
        HumanMessage("word " * 500),
    ]
    assert fit(said, room=1_000) == said[2:]


def test_a_file_counts_as_its_pages_do_and_not_as_its_bytes_do() -> None:
    """A question about a file would otherwise lose the file."""
    pdf: list[Any] = [
        {"type": "text", "text": "What does it say?"},
        {"type": "file", "mime_type": "application/pdf", "base64": "QUJD" * 500_000},
    ]
    said: list[AnyMessage] = [HumanMessage(pdf)]
    assert count(said) < 3_000
    assert fit(said, room=8_000) == said
