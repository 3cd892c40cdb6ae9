"""A chat model is given by its name or as it is, the same for all plugs; what cannot be used says what to do."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from htm_core import InvalidInput, ModelError
from htm_core.models import ollama
from htm_core.models.chat_models import chat_model_of, check_models
from htm_core.models.expanders import resolve_expander
from htm_core.models.judges import DatedSaying, resolve_judge
from htm_core.models.propositioners import resolve_propositioner
from htm_core.models.rerankers import resolve_reranker
from htm_core.models.summarizers import resolve_summarizer
from htm_core.models.taggers import resolve_tagger
from tests.stand_ins import StandInChat

PLUGS = (
    resolve_tagger, resolve_propositioner, resolve_summarizer, resolve_judge, resolve_expander, resolve_reranker,
)  # fmt: skip
NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLLAMA = ("langchain_ollama", "llama_index.llms.ollama")


class OfLlamaIndex:
    """What is used of an LLM of LlamaIndex: it answers each schema with these fields."""

    model = "of-llamaindex"

    def __init__(self, **fields: Any) -> None:
        self.raw = fields

    def as_structured_llm(self, output_cls: type) -> OfLlamaIndex:
        return self

    def chat(self, messages: object) -> OfLlamaIndex:
        return self


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes packages that cannot be imported."""
    return lambda *names: [monkeypatch.setitem(sys.modules, name, None) for name in names]


@pytest.mark.parametrize("resolve", PLUGS)
@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("ollama:qwen2.5:latest", "ollama:qwen2.5"),
        (StandInChat(), "StandInChat:stand-in"),
        (OfLlamaIndex(), "OfLlamaIndex:of-llamaindex"),
    ],
)
def test_every_plug_takes_a_model_of_ollama_of_langchain_and_of_llamaindex(
    resolve: Any, given: object, name: str
) -> None:
    assert resolve(given).name == name


def test_a_model_of_llamaindex_gives_tags_and_puts_hits_in_order() -> None:
    tagger, reranker = (
        resolve_tagger(OfLlamaIndex(tags=["food"])),
        resolve_reranker(OfLlamaIndex(numbers=[2])),
    )
    assert tagger is not None
    assert reranker is not None
    assert tagger.tags("We had soup.") == ("food",)
    assert reranker.order("What?", ["one", "two"], [0.5, 0.4], seconds=5) == [1, 0]


def test_a_name_of_another_provider_is_made_at_once_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    def make(name: str) -> StandInChat:
        made.append(name)
        return StandInChat({"tags": ["food"]})

    monkeypatch.setattr("langchain.chat_models.init_chat_model", make)
    one, two = (resolve_tagger("provider_of_this_test:some-model") for _ in range(2))
    assert made == ["provider_of_this_test:some-model"]
    assert one is not None
    assert two is not None
    assert one.name == "provider_of_this_test:some-model"
    assert two.tags("We had soup.") == ("food",)


@pytest.mark.parametrize(
    ("name", "says"),
    [("groq:llama", "pip install langchain-groq"), ("psychic:mind", "ollama:llama3.2")],
)
def test_a_provider_that_cannot_be_used_is_refused_at_once_with_what_to_do(
    name: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        resolve_propositioner(name)


def test_without_langchain_another_provider_names_what_to_install(without: Any) -> None:
    without("langchain.chat_models")
    with pytest.raises(InvalidInput, match=r"htm-memory\[agents\]"):
        resolve_judge("a_provider_without_langchain:model")


@pytest.mark.parametrize(
    "given", ["", "ollama:", "qwen2.5", "ollama: ", "Ollama:x y\nz", 7, object(), StandInChat, None]
)
def test_what_is_no_chat_model_is_none_and_no_choice_for_models(given: object) -> None:
    assert chat_model_of(given) is None
    with pytest.raises(InvalidInput, match='models: expected None, "ollama:MODEL"'):
        check_models(given)


def test_ollama_is_called_by_llamaindex_where_only_that_is_installed(
    without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    llms = pytest.importorskip("llama_index.llms.ollama")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    without("langchain_ollama")
    check_models("ollama:qwen2.5")
    assert isinstance(ollama.load_chat("qwen2.5"), llms.Ollama)
    judge = resolve_judge("ollama:qwen2.5")
    assert judge is not None
    with pytest.raises(ModelError, match=r"the judge ollama:qwen2\.5 failed: ConnectionError"):
        judge.no_longer(DatedSaying("one", NOW), [DatedSaying("other", NOW)], seconds=30)
    assert not judge.answers()


def test_without_either_package_both_are_named_at_once_unless_another_process_does_the_jobs(
    without: Any,
) -> None:
    without(*OLLAMA)
    with pytest.raises(
        InvalidInput, match=r"htm-memory\[ollama\].*pip install llama-index-llms-ollama"
    ):
        check_models("ollama:qwen2.5")
    check_models("ollama:qwen2.5", calls=False)
    with pytest.raises(ModelError, match="llama-index-llms-ollama"):
        ollama.load_chat("qwen2.5")
