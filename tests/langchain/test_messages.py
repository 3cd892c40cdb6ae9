"""A message comes back with every field of it, whatever was in it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)

from htm_core import Memory
from htm_core.prompt.messages import MAX_SEARCHED
from htm_langchain.messages import decode, draft_of, encode, message_of, role_of, words_of

EVERY_TYPE: list[BaseMessage] = [
    HumanMessage("hello", name="ann", id="1"),
    HumanMessage(
        [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        ]
    ),
    HumanMessage("odd", whatever={"an": ["extra"]}),
    AIMessage(
        "",
        tool_calls=[
            {"name": "look", "args": {"at": [1, {"deep": None}]}, "id": "c1", "type": "tool_call"}
        ],
        invalid_tool_calls=[
            {
                "name": "look",
                "args": "{not json",
                "id": "c2",
                "error": "bad",
                "type": "invalid_tool_call",
            }
        ],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model_provider": "x", "logprobs": [-0.5, float("-inf")]},
        additional_kwargs={"parsed": {"a": 1}},
    ),
    AIMessage(
        [
            {"type": "reasoning", "reasoning": "well"},
            {"type": "text", "text": "so"},
            {"type": "odd", "x": 1},
            "raw",
        ]
    ),
    SystemMessage("be brief"),
    ToolMessage(
        "done",
        tool_call_id="c1",
        artifact={"rows": (1, 2), "raw": b"\x00\xff"},
        status="error",
        name="look",
    ),
    FunctionMessage("result", name="f"),
    ChatMessage("hm", role="critic"),
    RemoveMessage(id="7"),
    HumanMessage("NUL \x00 and lone \ud800 surrogate"),
    AIMessage(
        "when", response_metadata={"at": datetime(2026, 1, 2, tzinfo=UTC), "day": date(2026, 1, 2)}
    ),
]


# One of each of LangChain's kinds of content, and one that it does not know.
BLOCKS: list[Any] = [
    {
        "type": "text",
        "text": "see",
        "annotations": [{"type": "citation", "url": "https://example.org", "start_index": 0}],
    },
    {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "c2ln"}},
    {"type": "refusal", "refusal": "I may not."},
    {"type": "tool_call", "name": "look", "args": {"at": "garden"}, "id": "c1"},
    {"type": "invalid_tool_call", "name": "look", "args": "{", "id": "c2", "error": "bad"},
    {"type": "tool_call_chunk", "name": "look", "args": "{", "id": "c3", "index": 0},
    {"type": "server_tool_call", "name": "search", "args": {"q": "x"}, "id": "s1"},
    {"type": "server_tool_call_chunk", "name": "search", "args": "{", "id": "s1", "index": 1},
    {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": ["found"]},
    {"type": "image", "url": "https://example.org/cat.png", "mime_type": "image/png"},
    {"type": "image", "base64": b"\x89PNG\x00"},
    {"type": "audio", "file_id": "f1"},
    {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
    {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf"},
    {"type": "text-plain", "text": "plain", "title": "notes.txt", "mime_type": "text/plain"},
    {"type": "non_standard", "value": {"at": datetime(2026, 1, 2, tzinfo=UTC), "score": math.inf}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    {"type": "of tomorrow", "nested": [{"deep": (1, b"2")}]},
    "a bare text, NUL \x00 and lone \udc00",
]


@pytest.mark.parametrize("kind", [HumanMessage, AIMessage, SystemMessage])
@pytest.mark.parametrize(
    "block", BLOCKS, ids=lambda block: block["type"] if isinstance(block, dict) else "text"
)
def test_every_kind_of_content_survives_whole(
    memory: Memory, kind: type[BaseMessage], block: Any
) -> None:
    message = kind([{"type": "text", "text": "first"}, block], id="1")
    assert decode(encode(message)) == message
    [said] = memory.log("s").append([draft_of(message, id="1")])
    assert message_of(said) == message
    assert said.content.startswith("first")


@pytest.mark.parametrize("message", EVERY_TYPE, ids=lambda m: type(m).__name__)
def test_every_type_of_message_survives_whole(message: BaseMessage) -> None:
    assert decode(encode(message)) == message
    assert type(decode(encode(message))) is type(message)


def test_the_payload_is_what_langchain_itself_can_read() -> None:
    import json

    message = HumanMessage("hello", id="1")
    assert messages_from_dict([json.loads(encode(message))]) == [message]


ODD = [
    b"\x00\xff", datetime(2026, 1, 2, 3, tzinfo=UTC), date(2026, 1, 2), timedelta(days=1, microseconds=5), Decimal("1.10"),
    UUID(int=7), (1, (2, b"x")), {1, 2}, frozenset({"a"}), {1: "int key", None: 2}, {"$htm": "bytes", "of": "not ours"},
    "\x00", "\ud800", "two lone halves \ud83d\ude00", {"\ud83d\ude00": 1}, 10**40, True, None, 1.5, math.inf, [[], {}],
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_what_json_has_no_word_for_survives(value: Any) -> None:
    back = decode(encode(ToolMessage("x", tool_call_id="1", artifact=value)))
    assert isinstance(back, ToolMessage)
    assert back.artifact == value
    assert type(back.artifact) is type(value)


def test_not_a_number_stays_not_a_number() -> None:
    back = decode(encode(AIMessage("x", additional_kwargs={"score": math.nan})))
    assert math.isnan(back.additional_kwargs["score"])


def test_an_object_without_a_form_is_kept_as_words_and_never_pickled() -> None:
    class Frame:
        def __repr__(self) -> str:
            return "<2 rows>"

    back = decode(encode(ToolMessage("x", tool_call_id="1", artifact=Frame())))
    assert isinstance(back, ToolMessage)
    assert back.artifact == "<2 rows>"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4) | st.integers() | st.just("$htm"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(values)
def test_any_nest_of_values_survives(value: Any) -> None:
    back = decode(encode(AIMessage("x", additional_kwargs={"value": value})))
    assert back.additional_kwargs == {"value": value}


def test_a_chunk_is_kept_as_the_message_it_is_a_chunk_of() -> None:
    back = decode(encode(AIMessageChunk("half", id="1")))
    assert type(back) is AIMessage
    assert back.text == "half"


def test_what_looks_like_a_serialised_object_of_langchains_is_data(memory: Memory) -> None:
    """`load()` would make objects of it, or read the environment."""
    secret = {"lc": 1, "type": "secret", "id": ["HOME"]}
    made = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", "AIMessage"],
        "kwargs": {"content": "x"},
    }
    message = AIMessage(
        "x", additional_kwargs={"a": secret, "b": [made]}, response_metadata={"c": made}, id="1"
    )
    [said] = memory.log("s").append([draft_of(message, id="1")])
    back = message_of(said)
    assert back.additional_kwargs == {"a": secret, "b": [made]}
    assert back.response_metadata == {"c": made}


def test_bytes_of_others_are_refused() -> None:
    for payload in (b'{"type": "human", "data": {"content": "x"}}', b"null", b"\x80pickle"):
        with pytest.raises(ValueError):  # noqa: PT011 - JSON's own errors are ValueErrors too
            decode(payload)


def test_what_is_searched_is_clean_and_bounded_and_the_payload_is_whole() -> None:
    message = HumanMessage("a\x00b\ud800c" + "x" * (2 * MAX_SEARCHED), name=" ", id="i" * 300)
    draft = draft_of(message, id=str(message.id))
    assert draft.content.startswith("a b?c")
    assert len(draft.content) <= MAX_SEARCHED
    assert draft.payload is not None
    assert decode(draft.payload) == message
    assert draft.name is None
    assert draft.id is not None
    assert len(draft.id) == 64
    assert words_of(HumanMessage(" \n")) == ""


def test_roles_are_the_words_of_the_core() -> None:
    assert [role_of(m) for m in (HumanMessage("x"), AIMessage("x"), AIMessageChunk("x"), SystemMessage("x"))] == [
        "user", "assistant", "assistant", "system",
    ]  # fmt: skip
    assert role_of(ToolMessage("x", tool_call_id="1")) == "tool"
    assert role_of(ChatMessage("x", role="assistant")) == "assistant"
    assert role_of(ChatMessage("x", role="critic")) is None


def test_a_mention_that_did_not_come_through_langchain_is_a_message_too(memory: Memory) -> None:
    memory.remember("hello there", role="user", name="ann", session="s")
    memory.remember("good day", role="assistant", session="s", payload=b"somebody else's bytes")
    memory.remember("21 degrees", role="tool", session="s")
    found = [message_of(mention) for mention in memory.timeline(session="s")]
    assert [(m.type, m.text, m.name) for m in found] == [
        ("human", "hello there", "ann"), ("ai", "good day", None), ("tool", "21 degrees", None),
    ]  # fmt: skip
    assert all(message.id for message in found)
