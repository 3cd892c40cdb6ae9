"""What a provider reads of a request from its cache, by the rules that it publishes, with memory and without.

Anthropic's: a request is cached up to each of at most four breakpoints, from 1,024 tokens on; one is found again when all before it
is the same, by a breakpoint at it or at most 20 blocks after it. What is read costs a tenth, what is written a quarter more. OpenAI's:
the beginning that a request shares with an earlier one is read, from 1,024 tokens on, in steps of 128.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from htm_langchain import HTMMemoryMiddleware, with_memory
from htm_langchain.breakpoints import MOST, with_breakpoint
from htm_langchain.injection import with_block
from htm_langchain.tokens import default_tokens
from tests.conftest import Make

LEAST, LOOKBACK, STEP = 1_024, 20, 128
RULES = "You are a careful assistant, and you weigh your words. " * 110
TOPICS = [
    "harbour",
    "garden",
    "kitchen",
    "bicycle",
    "office",
    "school",
    "museum",
    "forest",
    "river",
    "bakery",
]
TURNS = 12


@tool
def look_up(town: str) -> str:
    """Look a town up."""
    return f"The town of {town} has a mayor, two bridges, and a market on Saturdays."


class Cache:
    """A provider's cache, with what it has read, written and been sent, in tokens."""

    def __init__(self) -> None:
        self.read = self.written = self.sent = self.most = 0
        self._known: set[tuple[str, ...]] = set()
        self._begun: list[list[str]] = []

    @property
    def share(self) -> float:
        return self.read / self.sent

    @property
    def cost(self) -> float:
        """In tokens of input."""
        return self.sent - self.read - self.written + 0.1 * self.read + 1.25 * self.written

    def take(self, payload: dict[str, Any]) -> None:
        """A request to Anthropic."""
        blocks = _blocks(payload)
        texts = tuple(text for text, _ in blocks)
        marks = [at for at, (_, marked) in enumerate(blocks) if marked]
        if payload.get("cache_control"):
            marks.append(len(blocks) - 1)
        assert len(marks) <= MOST
        self.most = max(self.most, len(marks))
        ends = (end for mark in marks for end in range(max(0, mark - LOOKBACK + 1), mark + 1))
        hit = max((end for end in ends if texts[: end + 1] in self._known), default=-1)
        new = {mark for mark in set(marks) if _tokens(texts[: mark + 1]) >= LEAST}
        self._known |= {texts[: mark + 1] for mark in new}
        self.sent += _tokens(texts)
        self.read += _tokens(texts[: hit + 1])
        self.written += _tokens(texts[hit + 1 : max(new, default=hit) + 1])

    def take_automatically(self, payload: dict[str, Any]) -> None:
        """A request to a provider that keeps any beginning."""
        texts = [text for text, _ in _blocks(payload)]
        words = [word for text in texts for word in text.split()]
        shared = max((_common(words, before) for before in self._begun), default=0)
        tokens = _tokens([" ".join(words[:shared])]) // STEP * STEP
        self.sent += _tokens([" ".join(words)])
        self.read += tokens if tokens >= LEAST else 0
        self._begun.append(words)


class Claude(ChatAnthropic):
    """Claude, whose requests go to a cache alone; in every third turn it looks something up."""

    provider: Cache
    automatically: bool = False
    calls: bool = False
    model: str = Field(default="claude-sonnet-4-5", alias="model_name")

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        payload = json.loads(
            json.dumps(self._get_request_payload(messages, stop=stop, **kwargs), default=str)
        )
        (self.provider.take_automatically if self.automatically else self.provider.take)(payload)
        asked = len([each for each in messages if each.type == "human"])
        if self.calls and asked % 3 == 0 and messages[-1].type == "human":
            call = {"name": "look_up", "args": {"town": "Bergen"}, "id": f"c{len(messages)}"}
            return ChatResult(
                generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))]
            )
        said = "Noted, and thank you for telling me of this; I shall keep it in mind."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def claude(**options: Any) -> Claude:
    return Claude(provider=Cache(), api_key="x", model_name="claude-sonnet-4-5", **options)


def _blocks(payload: dict[str, Any]) -> list[tuple[str, bool]]:
    system = payload.get("system") or []
    found: list[Any] = [*payload.get("tools", [])]
    found += [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in payload["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            found.append({**block, "role": message["role"]})
    return [
        (
            json.dumps({key: block[key] for key in sorted(block) if key != "cache_control"}),
            "cache_control" in block,
        )
        for block in found
    ]


def _tokens(texts: Sequence[str]) -> int:
    return sum(default_tokens().count(text) for text in texts)


def _common(these: list[str], those: list[str]) -> int:
    pairs = enumerate(zip(these, those, strict=False))
    return next((at for at, (this, that) in pairs if this != that), min(len(these), len(those)))


def talk(model: Claude, middleware: Sequence[Any]) -> Cache:
    """A conversation, of whose questions each has something to recall."""
    agent = create_agent(
        model, [look_up], system_prompt=RULES, middleware=middleware, checkpointer=InMemorySaver()
    )
    for at in range(TURNS):
        question = f"What do you think of the {TOPICS[at % 10]} of town {at}, where I was with my sister last summer?"
        agent.invoke(
            {"messages": [("user", question)]},
            {"configurable": {"user_id": "ann", "thread_id": "t"}},
        )
    return model.provider


@pytest.fixture
def known(make: Make) -> Make:
    memory = make(user="ann", session="old")
    towns = [(topic, at) for at, topic in enumerate(TOPICS * 4)]
    memory.remember_many(
        [
            {"content": f"The {topic} in town {at} is where I met my friend number {at * 7}."}
            for topic, at in towns
        ]
    )
    memory.remember("I live in Bergen.", role="user")
    return make


@pytest.mark.parametrize("calls", [False, True], ids=["talk", "with tools"])
@pytest.mark.parametrize("inject", ["question", "message"])
@pytest.mark.parametrize("first", [True, False], ids=["memory first", "memory last"])
def test_with_anthropics_breakpoints_as_much_of_the_conversation_is_read_as_without_memory(
    known: Make, inject: Any, first: bool, calls: bool
) -> None:
    caching = AnthropicPromptCachingMiddleware()
    without = talk(claude(calls=calls), [caching])
    memory = HTMMemoryMiddleware(known(), inject=inject, budget=16_000)
    cached = talk(claude(calls=calls), [memory, caching] if first else [caching, memory])
    sys.stdout.write(
        f"{inject}, calls={calls}: read without memory {without.share:.0%} (cost {without.cost:,.0f}), with memory "
        f"{cached.share:.0%} (cost {cached.cost:,.0f}, {cached.sent:,} tokens)\n"
    )
    assert cached.sent > 1.05 * without.sent  # memory has added something
    assert cached.read >= 0.9 * without.read
    assert cached.share >= without.share - 0.2
    assert cached.most == MOST


def test_a_provider_that_keeps_any_beginning_reads_nearly_as_much_as_without_memory(
    known: Make,
) -> None:
    without = talk(claude(automatically=True), [])
    cached = talk(claude(automatically=True), [HTMMemoryMiddleware(known(), budget=16_000)])
    sys.stdout.write(
        f"any beginning: read without memory {without.share:.0%}, with memory {cached.share:.0%}\n"
    )
    assert cached.sent > 1.05 * without.sent
    assert cached.read >= 0.9 * without.read


def test_in_the_system_prompt_memory_costs_the_cache_of_the_conversation(known: Make) -> None:
    memory = HTMMemoryMiddleware(known(), inject="system", budget=16_000)
    cached = talk(claude(), [memory, AnthropicPromptCachingMiddleware()])
    anyhow = talk(
        claude(automatically=True), [HTMMemoryMiddleware(known(), inject="system", budget=16_000)]
    )
    sys.stdout.write(
        f"in the system prompt: read {cached.share:.0%}, by any beginning {anyhow.share:.0%}\n"
    )
    assert 0.3 < cached.share < 0.7


def test_without_breakpoints_of_others_memory_sets_none(known: Make) -> None:
    cache = talk(claude(), [HTMMemoryMiddleware(known())])
    assert (cache.most, cache.read) == (0, 0)


BLOCK = "<memory-123456789012345>\nToday is Sun 4 May 2031.\n</memory-123456789012345>"
MARK = {"type": "ephemeral", "ttl": "1h"}


def marked(text: str) -> list[Any]:
    return [{"type": "text", "text": text, "cache_control": MARK}]


def marks_of(messages: Sequence[Any]) -> list[int]:
    """The messages with a breakpoint on their last block."""
    return [
        at for at, each in enumerate(messages)
        if isinstance(each.content, list) and "cache_control" in each.content[-1]
    ]  # fmt: skip


def test_there_are_never_more_breakpoints_than_a_provider_takes() -> None:
    talk = [HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    for before in range(MOST + 2):
        tools = [{"name": str(at), "cache_control": MARK} for at in range(before)]
        shown = with_breakpoint(with_block(talk, BLOCK, inject="question"), BLOCK, tools=tools)
        assert marks_of(shown) == ([1] if 0 < before < MOST else [])
        again = with_breakpoint(shown, BLOCK, tools=[*tools, *tools, *tools, *tools])
        assert marks_of(again) == []


def test_a_breakpoint_is_like_the_last_of_the_others_and_on_what_can_have_one() -> None:
    thinking = AIMessage(
        [{"type": "text", "text": "so"}, {"type": "thinking", "thinking": "hm", "signature": "x"}]
    )
    talk = [
        SystemMessage(marked("rules")),
        HumanMessage("one"),
        thinking,
        AIMessage(""),
        HumanMessage("three"),
    ]
    shown = with_breakpoint(with_block(talk, BLOCK, inject="question"), BLOCK)
    assert marks_of(shown) == [0, 1]
    assert shown[1].content[0] == {"type": "text", "text": "one", "cache_control": MARK}  # type: ignore[index]
    assert shown[2:4] == talk[2:4]
    first = [SystemMessage(marked("rules")), HumanMessage("one")]
    assert marks_of(with_breakpoint(with_block(first, BLOCK, inject="question"), BLOCK)) == [0]


def test_memory_in_the_system_prompt_leaves_the_prompt_before_it_to_be_read() -> None:
    shown = with_block([SystemMessage("rules"), HumanMessage("one")], BLOCK, inject="system")
    found = with_breakpoint(shown, BLOCK, settings={"cache_control": MARK})
    assert [block.get("cache_control") for block in found[0].content] == [MARK, None]  # type: ignore[union-attr]


def test_a_chain_that_is_given_a_breakpoint_gets_one_before_memory(known: Make) -> None:
    model = claude()
    chain = with_memory(model, known(), user="ann", session="s")
    for at in range(6):
        chain.invoke(
            [SystemMessage(marked(RULES)), HumanMessage(f"What of the harbour in town {at}?")]
        )
    assert model.provider.most == 2
    assert model.provider.share > 0.6
