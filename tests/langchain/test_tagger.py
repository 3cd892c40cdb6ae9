"""Any chat model of LangChain files texts and takes them apart, by its own structured output."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from htm_core import InvalidInput, Memory, ModelError, Settings
from htm_langchain import LangChainPropositioner, LangChainTagger
from tests.conftest import SETTINGS, Make

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})


class ToolCalling(BaseChatModel):
    """A stand-in for a provider's model: it calls the tool it was bound to, with a fixed answer."""

    answers: dict[str, dict[str, Any]]
    model_name: str = "tool-calling"
    bound: list[str] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    configs: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "tool-calling"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        [tool] = tools

        def call(messages: list[BaseMessage], config: Any) -> AIMessage:
            self.seen.append(messages)
            self.configs.append(config)
            made = {"name": tool.__name__, "args": self.answers[tool.__name__], "id": "1"}
            return AIMessage("", tool_calls=[made] if made["args"] else [])

        return RunnableLambda(
            lambda asked, config: call(self._convert_input(asked).to_messages(), config)
        )

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("prose"))])


def chat(**answers: dict[str, Any]) -> ToolCalling:
    return ToolCalling(answers=answers)


def filed(memory: Memory, text: str) -> tuple[str, ...]:
    node = memory.remember(text)
    assert memory.flush(timeout=30)
    return memory.get(node.id).tags


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_memory_is_tagged_by_a_chat_model_wrapped_or_as_it_is(make: Make, wrapped: bool) -> None:
    model = chat(TagAnswer={"tags": ["Food:Coffees"]})
    with make(tagger=LangChainTagger(model) if wrapped else model, settings=IDLE) as memory:
        assert filed(memory, "Ann likes coffee.") == ("food:coffee",)
        [system, human] = model.seen[0]
        assert (system.type, human.type) == ("system", "human")
        assert "Ann likes coffee." in human.text
        filed(memory, "Ben likes tea.")
        assert "Tags in use: food:coffee" in model.seen[1][1].text


def test_facts_are_taken_by_a_chat_model(make: Make) -> None:
    model = chat(FactAnswer={"facts": ["Ann lives in Oslo.", "Ann likes coffee."]})
    with make(propositioner=LangChainPropositioner(model), settings=IDLE) as memory:
        memory.remember("Ann, who lives in Oslo, likes coffee.")
        assert memory.flush(timeout=30)
        assert {
            node.content for node in memory.list(where={"proposition_of": {"$exists": True}})
        } == {
            "Ann lives in Oslo.",
            "Ann likes coffee.",
        }


def test_instructions_and_the_configuration_of_runs_are_ones_own() -> None:
    model = chat(TagAnswer={"tags": ["a"]}, FactAnswer={"facts": []})
    tagger = LangChainTagger(
        model, instructions="File it.", config={"metadata": {"purpose": "filing"}}
    )
    assert tagger.tag("text", []) == ["a"]
    assert model.seen[0][0].text == "File it."
    assert model.configs[0]["metadata"] == {"purpose": "filing"}
    assert tagger.model == "tool-calling"
    assert LangChainPropositioner(model, instructions="Split it.").propose("text") == []
    assert model.seen[1][0].text == "Split it."


def test_a_model_that_calls_no_tool_is_caught_and_its_job_parked(make: Make) -> None:
    with make(tagger=chat(TagAnswer={}), settings=IDLE) as memory:
        memory.remember("text")
        for _ in range(5):
            memory.flush(timeout=30)
        [parked] = memory.jobs.list(parked=True)
        assert "expected a list of tags" in str(parked.error)


def test_a_model_that_cannot_be_reached_is_down_and_nothing_is_parked(make: Make) -> None:
    class Down(ToolCalling):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            raise ConnectionError("nobody there")

    with make(tagger=Down(answers={}), settings=IDLE) as memory:
        memory.remember("text")
        for _ in range(6):
            assert not memory.flush(timeout=30)
        [job] = memory.jobs.list()
        assert (job.kind, job.state, job.attempts) == ("tag", "waiting", 0)
        assert "nobody there" in str(job.error)


def test_what_is_no_model_is_refused_and_a_name_is_looked_up() -> None:
    with pytest.raises(InvalidInput, match="expected a LangChain chat model or a name"):
        LangChainTagger(object())  # type: ignore[arg-type]
    with pytest.raises((ValueError, ImportError, ModelError)):
        LangChainTagger("nobody:knows-this-provider")
