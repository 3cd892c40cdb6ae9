"""A message comes back with every field as it was put, whatever is in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.schema import ImageDocument
from pydantic import BaseModel

from htm_core import Mention
from htm_llamaindex.messages import decode, draft_of, encode, message_of, words_of

anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.decimals(allow_nan=False),
        st.datetimes(timezones=st.just(UTC)), st.dates(), st.uuids(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
blocks = st.one_of(
    st.builds(TextBlock, text=st.text()),
    st.builds(ThinkingBlock, content=st.text(), num_tokens=st.integers(0, 9)),
    st.builds(
        ToolCallBlock,
        tool_call_id=st.none() | st.text(),
        tool_name=st.text(),
        tool_kwargs=st.text(),
    ),
)


@given(
    st.sampled_from(MessageRole),
    st.lists(blocks, max_size=3),
    st.dictionaries(st.text(), anything, max_size=3),
)
def test_what_is_read_is_what_was_written(
    role: MessageRole, parts: list[Any], more: dict[str, Any]
) -> None:
    more.pop("images", None)
    message = ChatMessage(role=role, blocks=parts, additional_kwargs=more)
    found = decode(encode(message))
    assert found == message
    assert found is not message
    assert encode(found) == encode(message)


@pytest.mark.parametrize(
    "block",
    [
        ImageBlock(image=b"\x89PNG\r\n\x1a\n123", detail="low"),
        ImageBlock(url="https://example.org/a.png"),
        DocumentBlock(data=b"%PDF-1.4 x", title="a", document_mimetype="application/pdf"),
        CitableBlock(title="t", source="s", content=[TextBlock(text="inner")]),
        ToolCallBlock(
            tool_call_id="1",
            tool_name="f",
            tool_kwargs={"$htm": "a key of the caller's", "n": [1, {"x": None}]},
        ),
        ThinkingBlock(content="hm", additional_information={"signature": "abc"}),
    ],
    ids=lambda block: f"{block.block_type}",
)
def test_blocks_of_every_kind_come_back(block: Any) -> None:
    message = ChatMessage(role="assistant", blocks=[TextBlock(text=""), block])
    assert decode(encode(message)) == message


def test_what_has_no_form_in_json_keeps_its_type() -> None:
    more = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "d": Decimal("1.10"),
        "s": {1, 2},
        "t": (1, "a"),
        "b": b"\x00",
        "k": {3: "three"},
        "td": timedelta(days=1, microseconds=5),
        "f": frozenset({"a"}),
        "pair": "two lone halves \ud83d\ude00",
        "\ud83d\ude00": 1,
        "nested": {"$htm": "not ours", "\ud83d\ude00": float("inf")},
    }
    assert (
        decode(encode(ChatMessage(content="x", additional_kwargs=more))).additional_kwargs == more
    )


class Call(BaseModel):
    """A client library's own class, as older packages put them among the arguments."""

    id: str


def test_a_clients_own_objects_become_mappings() -> None:
    message = ChatMessage(
        role="assistant", content="", additional_kwargs={"tool_calls": [Call(id="c1")]}
    )
    assert decode(encode(message)).additional_kwargs == {"tool_calls": [{"id": "c1"}]}


class Rude:
    """Cannot even say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def endless() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["self"] = found
    return found


def bottomless() -> list[Any]:
    found: list[Any] = []
    for _ in range(3_000):
        found = [found]
    return found


UNWRITABLE: dict[str, Callable[[], Any]] = {
    "holds itself": endless, "without end": bottomless, "rude": Rude, "too many digits": lambda: 10**5_000,
}  # fmt: skip


@pytest.mark.parametrize("make", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_down_costs_no_more_than_its_own_argument(
    make: Callable[[], Any],
) -> None:
    more = {
        "tool_call_id": "c1",
        "raw_output": make(),
        "deep": {"kept": 1, "lost": make()},
        "at": datetime.now(UTC),
    }
    block = ToolCallBlock(
        tool_call_id="c2", tool_name="look", tool_kwargs={"at": "garden", "odd": make()}
    )
    found = decode(
        encode(
            ChatMessage(
                role="tool", blocks=[TextBlock(text="21 degrees"), block], additional_kwargs=more
            )
        )
    )
    assert (found.role, found.content) == (MessageRole.TOOL, "21 degrees")
    assert found.additional_kwargs["tool_call_id"] == "c1"
    assert found.additional_kwargs["at"] == more["at"]
    assert found.additional_kwargs["deep"]["kept"] == 1
    assert isinstance(found.additional_kwargs["raw_output"], str | dict)
    call = found.blocks[1]
    assert isinstance(call, ToolCallBlock)
    assert (call.tool_call_id, call.tool_name) == ("c2", "look")
    assert isinstance(call.tool_kwargs, dict)
    assert call.tool_kwargs["at"] == "garden"


def test_legacy_images_come_back_once_as_the_blocks_that_they_became() -> None:
    message = ChatMessage(
        content="look", additional_kwargs={"images": [ImageDocument(image=b"\x89PNG\r\n\x1a\n123")]}
    )
    found = decode(encode(message))
    assert found.blocks == message.blocks
    assert len(found.blocks) == 2


@given(st.text())
def test_the_words_can_always_be_stored(text: str) -> None:
    words = words_of(ChatMessage(content=text))
    assert "\x00" not in words
    assert words.encode("utf-8", "strict") is not None
    assert bool(words) == bool(text.replace("\x00", " ").strip())


def test_a_draft_says_who_spoke_in_the_words_of_the_core() -> None:
    roles = {
        role: draft_of(ChatMessage(role=role, content="x"), id="1").role for role in MessageRole
    }
    assert set(roles.values()) == {"user", "assistant", "system", "tool"}
    assert (roles[MessageRole.DEVELOPER], roles[MessageRole.MODEL]) == ("system", "assistant")


def test_a_mention_said_by_other_means_is_made_of_its_role_and_words() -> None:
    said = Mention(
        id="1", node_id=None, robot="r", session="s", role="assistant", name=None, seq=1, at=datetime.now(UTC), content="hi",
        payload=b'{"htm":"langchain/1"}',
    )  # fmt: skip
    assert message_of(said) == ChatMessage(role="assistant", content="hi")
