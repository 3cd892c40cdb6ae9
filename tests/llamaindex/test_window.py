"""A window holds whole turns, never more than its room, and no call without its result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ThinkingBlock

from htm_llamaindex.window import DOCUMENT_TOKENS, MEDIA_TOKENS, OVERHEAD, Counted, calls_of, count, fit
from tests.llamaindex.models import calls, calls_legacy, result, said


def words(text: str) -> int:
    return len(text.split())


def counted(messages: list[ChatMessage]) -> list[Counted]:
    return [Counted(message, count(message, count_tokens=words)) for message in messages]


def cost(messages: list[ChatMessage]) -> int:
    return sum(count(message, count_tokens=words) for message in messages)


def turn(size: int, encoding: str, results: int, asking: bool) -> list[ChatMessage]:
    """What one turn may look like: a question, a call in one of the encodings with some of its results, an answer."""
    made = [said("word " * size, "user")] if asking else []
    if encoding == "blocks":
        made += [calls("f", id="a"), *[result("word " * size, id="a")] * results]
    elif encoding == "legacy":
        made += [calls_legacy("f", id="b"), *[result("word " * size, id="b")] * results]
    elif encoding == "nameless":
        made += [calls("f", id=None), *[result("word " * size, id=None)] * results]
    return [*made, said("word " * size)]


turns = st.lists(
    st.builds(
        turn,
        st.integers(1, 9),
        st.sampled_from(["none", "blocks", "legacy", "nameless"]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=8,
).map(lambda made: [message for turn in made for message in turn])


@given(turns, st.integers(0, 200))
def test_no_window_exceeds_its_room_but_for_the_last_question(messages: list[ChatMessage], room: int) -> None:
    shown = fit(counted(messages), room=room, is_all=True)
    assert shown is not None
    users = [message for message in shown if message.role == MessageRole.USER]
    assert cost(shown) <= room or len(shown) == 1 or cost(shown) - cost(users[:1]) <= max(0, room - cost(users[:1]))


@given(turns, st.integers(0, 200))
def test_every_result_has_its_call_and_every_call_its_result(messages: list[ChatMessage], room: int) -> None:
    shown = fit(counted(messages), room=room, is_all=True) or []
    for at, message in enumerate(shown):
        if message.role == MessageRole.TOOL:
            assert calls_of(shown[at - 1])
        if calls_of(message) and at < len(shown) - 1:
            assert shown[at + 1].role == MessageRole.TOOL


@given(turns, st.integers(0, 200))
def test_a_window_that_leaves_something_out_begins_with_a_question(messages: list[ChatMessage], room: int) -> None:
    shown = fit(counted(messages), room=room, is_all=True) or []
    last = [message for message in messages if message.role == MessageRole.USER][-1:]
    if cost(messages) > room and last and fit(counted(messages), room=10**6, is_all=True) != shown:
        assert shown[0].role == MessageRole.USER
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
    both = ChatMessage(role="assistant", blocks=[*calls("f", id="a").blocks, *calls("g", id="b").blocks])
    messages = [said("look", "user"), both, result("one", id="a"), result("two", id="b"), said("done")]
    assert fit(counted(messages), room=100, is_all=True) == messages
    torn = [*messages[:2], messages[2], messages[4]]
    assert fit(counted(torn), room=100, is_all=True) == [messages[0], messages[4]]


def test_blocks_calls_and_media_cost_something() -> None:
    assert count(said("three words here"), count_tokens=words) == OVERHEAD + 3
    assert count(calls("f", a="b c"), count_tokens=words) > count(said(""), count_tokens=words)
    assert count(calls_legacy("f"), count_tokens=words) > count(said(""), count_tokens=words)
    image = ChatMessage(blocks=[TextBlock(text="a"), ImageBlock(image=b"\x89PNG\r\n\x1a\n1")])
    assert count(image, count_tokens=words) == OVERHEAD + 1 + MEDIA_TOKENS < DOCUMENT_TOKENS
    assert count(ChatMessage(blocks=[ThinkingBlock(content="a b", num_tokens=7)]), count_tokens=words) == OVERHEAD + 7
