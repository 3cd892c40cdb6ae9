"""How many tokens a request takes: counted by the model where it can, else estimated."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from htm_langchain import HTMMemoryMiddleware
from htm_langchain.tokens import HELD, MODELS, Counters, ModelCounts, count, fingerprint
from tests.conftest import Make
from tests.langchain.models import Scripted, scripted
from tests.langchain.test_middleware import config, look, said


class Counting(Scripted):
    """A model that counts a token for every character, and keeps how many messages each call had."""

    asked: list[int] = Field(default_factory=list)

    def get_num_tokens_from_messages(
        self, messages: list[BaseMessage], tools: Sequence[Any] | None = None
    ) -> int:
        self.asked.append(len(messages))
        return sum(len(str(message.text)) for message in messages)


def counting(**options: Any) -> Counting:
    return Counting(messages=scripted().messages, **options)


def test_a_model_that_counts_is_believed(make: Make) -> None:
    model = counting()
    agent = create_agent(
        model, system_prompt="Be brief.", middleware=[HTMMemoryMiddleware(make(), budget=440)]
    )
    agent.invoke(said(*(f"{n} " + "x" * 48 for n in range(20)), "And?"), config())
    request = model.seen[0]
    assert 200 < model.get_num_tokens_from_messages(request) <= 440
    estimated = scripted()
    agent = create_agent(
        estimated, system_prompt="Be brief.", middleware=[HTMMemoryMiddleware(make(), budget=440)]
    )
    agent.invoke(said(*(f"{n} " + "x" * 48 for n in range(20)), "And?"), config("t2"))
    assert len(estimated.seen[0]) > 1.5 * len(
        request
    )  # how much is recalled beside them differs with what is embedded already


def test_a_model_with_a_tokenizer_of_its_own_is_believed_too() -> None:
    model = scripted(custom_get_token_ids=lambda text: list(range(len(text))))
    assert Counters().of(model)([HumanMessage("ten tokens")]) == len("Human: ten tokens")


def test_each_message_is_counted_once() -> None:
    model = counting()
    counts = Counters().of(model)
    said = [HumanMessage("one"), AIMessage("two")]
    assert counts(said) == counts(said) == 6
    assert counts([*said, HumanMessage("three")]) == 11
    assert model.asked == [1, 1, 1]


def test_counts_are_held_for_a_bounded_number_of_messages_and_models() -> None:
    counts = ModelCounts(counting())
    for number in range(HELD + 10):
        counts([HumanMessage(str(number))])
    assert len(counts._known) == HELD
    counters = Counters()
    for _ in range(MODELS + 3):
        counters.of(counting())
    assert len(counters._held) == MODELS


def test_a_model_that_cannot_count_after_all_is_estimated_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Scripted):
        def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
            raise NotImplementedError("no tokenizer")

    counts = Counters().of(Broken(messages=iter([])))
    said = [HumanMessage("hello"), AIMessage("good day")]
    with caplog.at_level(logging.WARNING, "htm"):
        assert counts(said) == count(said)
    assert sum("cannot count" in record.message for record in caplog.records) == 1


def test_a_counter_that_asks_a_server_is_not_asked() -> None:
    class Remote(Scripted):
        def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
            raise AssertionError("asked over the network")

    Remote.get_num_tokens_from_messages.__module__ = "langchain_anthropic.chat_models"
    assert Counters().of(Remote(messages=iter([])))([HumanMessage("hello")]) == count(
        [HumanMessage("hello")]
    )


def test_images_are_estimated_since_a_counter_may_fetch_them() -> None:
    model = counting()
    image = HumanMessage(
        [{"type": "text", "text": "see"}, {"type": "image", "url": "https://nowhere.invalid/x.png"}]
    )
    assert Counters().of(model)([image]) == count([image])
    assert model.asked == []


class Weather(BaseModel):
    degrees: int = Field(description="How warm it is, in degrees. " * 40)


def test_the_schemas_of_tools_and_of_the_answer_count(make: Make) -> None:
    messages = ["word " * 20 for _ in range(20)]

    def shown(tools: list[Any], **options: Any) -> int:
        model = scripted(
            AIMessage("", tool_calls=[{"name": "Weather", "args": {"degrees": 1}, "id": "w"}])
        )
        middleware = HTMMemoryMiddleware(make(), budget=500, recall_limit=0)
        create_agent(model, tools, middleware=[middleware], **options).invoke(
            said(*messages), config(f"t{len(tools)}{len(options)}")
        )
        return len(model.seen[0])

    wordy = StructuredTool.from_function(
        len, name="wordy", description="Very much is said of this tool. " * 40
    )
    bare = shown([])
    assert shown([wordy]) < bare
    assert shown([], response_format=ToolStrategy(Weather)) < bare


def test_tools_count_as_the_text_of_their_schemas_where_the_model_counts() -> None:
    counts = Counters().of(counting())
    assert counts([], tools=[look]) > 40
    assert counts([SystemMessage("x")], tools=[{"type": "web_search"}]) == 1 + len(
        '{"type": "web_search"}'
    )


def test_messages_that_say_something_else_have_other_fingerprints() -> None:
    call = {"name": "look", "args": {}, "id": "c1"}
    messages = [
        HumanMessage("hi"),
        HumanMessage(["hi"]),
        HumanMessage("['hi']"),
        HumanMessage("hi", name="ann"),
        HumanMessage("hi", additional_kwargs={"x": 1}),
        AIMessage("hi"),
        AIMessage("hi", tool_calls=[call]),
        AIMessage("hi", tool_calls=[call | {"args": {"at": 1}}]),
        ToolMessage("hi", tool_call_id="c1"),
        ToolMessage("hi", tool_call_id="c2"),
    ]
    assert len({fingerprint(each) for each in messages}) == len(messages)
    assert [fingerprint(each.model_copy()) for each in messages] == list(map(fingerprint, messages))
