"""A window holds whole turns, never more than its room, and no call without its result."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
)

from htm_llamaindex import window
from htm_llamaindex.window import DOCUMENT_TOKENS, IMAGE_TOKENS, OVERHEAD, Counted, calls_of, count
from tests.llamaindex.models import calls, calls_legacy, result, said


def words(text: str) -> int:
    return len(text.split())


def counted(messages: list[ChatMessage]) -> list[Counted]:
    return [Counted(message, count(message, count_tokens=words)) for message in messages]


def fit(messages: list[Counted], *, room: int, is_all: bool) -> list[ChatMessage] | None:
    return window.fit(messages, room=room, is_all=is_all, count_tokens=words)


def cost(messages: list[ChatMessage]) -> int:
    return sum(count(message, count_tokens=words) for message in messages)


def turn(size: int, encoding: str, results: int, asking: bool) -> list[ChatMessage]:
    """What one turn may look like: a question, a call in one of the encodings with some of its results, an answer."""
    text = "word " * size
    made = [said(text, "user")] if asking else []
    if encoding == "blocks":
        made += [calls("f", id="a", path="x", text=text), *[result(text, id="a")] * results]
    elif encoding == "legacy":
        made += [calls_legacy("f", id="b", text=text), *[result(text, id="b")] * results]
    elif encoding == "nameless":
        made += [calls("f", id=None, deep={"list": [text, 1]}), *[result(text, id=None)] * results]
    elif encoding == "pictured":
        image = ImageBlock(image=b"\x89PNG\r\n\x1a\n1")
        made.append(
            ChatMessage(role="user", blocks=[TextBlock(text=text), image, TextBlock(text="word")])
        )
    return [*made, said(text)]


turns = st.lists(
    st.builds(
        turn,
        st.one_of(st.integers(1, 9), st.integers(1, 2_000)),
        st.sampled_from(["none", "blocks", "legacy", "nameless", "pictured"]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=8,
).map(lambda made: [message for turn in made for message in turn])


@given(turns, st.integers(OVERHEAD, 400))
def test_no_window_exceeds_its_room_whatever_was_said(
    messages: list[ChatMessage], room: int
) -> None:
    shown = fit(counted(messages), room=room, is_all=True)
    assert shown is not None
    assert cost(shown) <= room


@given(turns, st.integers(0, 400))
def test_a_window_does_not_change_the_messages_that_it_was_given(
    messages: list[ChatMessage], room: int
) -> None:
    before = [message.model_copy(deep=True) for message in messages]
    fit(counted(messages), room=room, is_all=True)
    assert messages == before


@given(turns, st.integers(0, 200))
def test_every_result_has_its_call_and_every_call_its_result(
    messages: list[ChatMessage], room: int
) -> None:
    shown = fit(counted(messages), room=room, is_all=True) or []
    for at, message in enumerate(shown):
        if message.role == MessageRole.TOOL:
            assert calls_of(shown[at - 1])
        if calls_of(message) and at < len(shown) - 1:
            assert shown[at + 1].role == MessageRole.TOOL


@given(turns, st.integers(0, 200))
def test_a_window_that_leaves_something_out_begins_with_a_question(
    messages: list[ChatMessage], room: int
) -> None:
    shown = fit(counted(messages), room=room, is_all=True) or []
    last = [message for message in messages if message.role == MessageRole.USER][-1:]
    if last and len(shown) < len(fit(counted(messages), room=10**6, is_all=True) or []):
        assert shown[0].role == MessageRole.USER
        if cost(last) <= room // 2:
            assert last[0] in shown


@given(turns, st.integers(0, 200), st.integers(0, 20))
def test_what_was_read_of_a_conversation_decides_only_when_it_is_enough(
    messages: list[ChatMessage], room: int, read: int
) -> None:
    some = fit(counted(messages[max(0, len(messages) - read) :]), room=room, is_all=False)
    assert some is None or some == fit(counted(messages), room=room, is_all=True)


def test_a_call_at_the_very_end_waits_for_its_result() -> None:
    messages = [said("look", "user"), calls("f")]
    assert fit(counted(messages), room=100, is_all=True) == messages
    assert fit(counted([*messages, said("never mind", "user")]), room=100, is_all=True) == [
        messages[0],
        said("never mind", "user"),
    ]


def test_a_call_with_two_results_keeps_both() -> None:
    both = ChatMessage(
        role="assistant", blocks=[*calls("f", id="a").blocks, *calls("g", id="b").blocks]
    )
    messages = [
        said("look", "user"),
        both,
        result("one", id="a"),
        result("two", id="b"),
        said("done"),
    ]
    assert fit(counted(messages), room=100, is_all=True) == messages
    torn = [*messages[:2], messages[2], messages[4]]
    assert fit(counted(torn), room=100, is_all=True) == [messages[0], messages[4]]


def test_blocks_calls_and_media_cost_something() -> None:
    assert count(said("three words here"), count_tokens=words) == OVERHEAD + 3
    assert count(calls("f", a="b c"), count_tokens=words) > count(said(""), count_tokens=words)
    assert count(calls_legacy("f"), count_tokens=words) > count(said(""), count_tokens=words)
    image = ChatMessage(blocks=[TextBlock(text="a"), ImageBlock(image=b"\x89PNG\r\n\x1a\n1")])
    assert count(image, count_tokens=words) == OVERHEAD + 1 + IMAGE_TOKENS < DOCUMENT_TOKENS
    assert (
        count(ChatMessage(blocks=[ThinkingBlock(content="a b", num_tokens=7)]), count_tokens=words)
        == OVERHEAD + 7
    )


def test_a_huge_message_of_each_kind_is_shown_by_its_beginning_and_its_end() -> None:
    huge = "BEGIN " + "word " * 200_000 + "END"
    for messages in (
        [said(huge, "user")],
        [said("so?", "user"), said(huge)],
        [said("so?", "user"), calls("f", text=huge), result("ok")],
        [said("so?", "user"), calls_legacy("f", text=huge), result("ok")],
        [said("so?", "user"), calls("f"), result(huge)],
        [said(huge, "user"), said("fine"), said("and then?", "user")],
    ):
        shown = fit(counted(messages), room=1_000, is_all=True) or []
        assert len(shown) == len(messages)
        assert cost(shown) <= 1_000
        text = "\n".join(message.model_dump_json() for message in shown)
        assert "BEGIN" in text
        assert "word END" in text
        assert "characters are left out of this request" in text


def test_arguments_of_a_call_that_were_json_stay_json() -> None:
    huge = 'a "quoted" ' * 50_000
    shown = (
        fit(
            counted([said("so?", "user"), calls_legacy("f", text=huge, n=3)]), room=500, is_all=True
        )
        or []
    )
    arguments = json.loads(shown[1].additional_kwargs["tool_calls"][0]["function"]["arguments"])
    assert arguments["n"] == 3
    assert arguments["text"].startswith('a "quoted"')
    assert len(arguments["text"]) < 5_000


def test_a_picture_that_has_no_room_is_left_out_and_the_question_says_so() -> None:
    image = ChatMessage(
        role="user",
        blocks=[TextBlock(text="what is this?"), ImageBlock(image=b"\x89PNG\r\n\x1a\n1")],
    )
    (shown,) = fit(counted([image]), room=IMAGE_TOKENS // 2, is_all=True) or []
    assert shown.content is not None
    assert shown.content.startswith("what is this?")
    assert "Attachments" in shown.content


def test_a_message_just_over_half_of_the_room_is_shown_whole() -> None:
    for tokens in (1_400, 2_000, 2_300, 3_000):
        answer = said("word " * tokens)
        messages = counted(
            [
                said("older?", "user"),
                said("word " * 3_000),
                said("so?", "user"),
                answer,
                said("ok?", "user"),
            ]
        )
        shown = fit(messages, room=4_000, is_all=True) or []
        assert answer in shown
        assert sum(count(each, count_tokens=words) for each in shown) >= tokens
