"""`models=` switches on the plugs that are worth it by one chat model; what is given for a plug itself wins."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, Settings
from htm_core.memory.open import BY_MODELS
from tests.cli.conftest import Htm, environment, htm, models  # noqa: F401 - fixtures
from tests.conftest import SETTINGS, Make

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "supersession": 0.5})
KINDS = {"tagger": "tag", "propositioner": "propose", "judge": "judge"}
ANSWERS = {
    "tags": ["place:home"],
    "facts": ["The user lives in a flat in Leeds."],
    "number": 1,
    "over": True,
}


class Model:
    """A chat model of LangChain's kind that answers each schema with what fits it, and keeps the fields that it was asked for."""

    model = "answers-all"

    def __init__(self, field: str = "") -> None:
        self.asked: list[str] = []
        self._field = field

    def with_structured_output(self, schema: Any) -> Any:
        [field] = schema.model_fields
        bound = Model(field)
        bound.asked = self.asked
        return bound

    def invoke(self, messages: object) -> dict[str, Any]:
        self.asked.append(self._field)
        return {self._field: ANSWERS[self._field]}


def lanes(memory: Memory) -> dict[str, str]:
    """The jobs that a new text gets by models, each with its model."""
    return dict(memory._engine._lanes)


def test_one_model_does_the_jobs_of_the_plugs_that_are_worth_it(make: Make) -> None:
    model = Model()
    with make(settings=IDLE, models=model) as memory:
        assert lanes(memory) == {KINDS[plug]: "Model:answers-all" for plug in BY_MODELS}
        memory.remember("I live in a flat in Leeds, near the market.", role="user")
        memory.remember("I moved to Bristol last week, to a small house.", role="user")
        assert memory.flush(timeout=60)
        assert not [job.error for job in memory.jobs.list() if job.error]
        fields = {"tagger": "tags", "propositioner": "facts", "judge": "number"}
        assert {"over", *(fields[plug] for plug in BY_MODELS)} == set(model.asked)


def test_it_does_not_stand_in_for_what_recall_would_wait_for(make: Make) -> None:
    with make(settings=IDLE, models=Model()) as memory:
        assert memory._engine.reranker is None
        assert memory._engine.expander is None


@pytest.mark.parametrize("plug", BY_MODELS)
def test_what_is_given_for_a_plug_wins(make: Make, plug: str) -> None:
    def own(*_: object) -> Any:
        return []

    with make(settings=IDLE, models=Model(), **{plug: own}) as memory:
        others = {KINDS[each]: "Model:answers-all" for each in BY_MODELS if each != plug}
        assert {
            kind: model for kind, model in lanes(memory).items() if kind != KINDS[plug]
        } == others
        assert "own" in lanes(memory)[KINDS[plug]]


def test_settings_name_a_model_for_all_memories_and_a_memory_another(make: Make) -> None:
    settings = IDLE.model_copy(update={"models": "ollama:qwen2.5"})
    with (
        make(settings=settings) as memory,
        make(settings=settings, models="ollama:gemma3") as other,
    ):
        assert set(lanes(memory).values()) == {"ollama:qwen2.5"}
        assert set(lanes(other).values()) == {"ollama:gemma3"}
        assert lanes(memory.of(user="ann")) == lanes(memory)


@pytest.mark.parametrize("given", ["qwen2.5", "ollama:", 7, object()])
def test_what_is_no_chat_model_is_refused_when_the_memory_is_made(make: Make, given: Any) -> None:
    with pytest.raises(InvalidInput, match="models: expected None"):
        make(models=given)


def test_commands_queue_the_jobs_of_htm_models_and_a_worker_does_them(
    htm: Htm,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    tenant: str,
    make: Make,
) -> None:
    name = f"ollama:{uuid.uuid4().hex[:8]}"
    made: list[str] = []

    def load(model: str) -> Model:
        made.append(model)
        return Model()

    monkeypatch.setenv("HTM_MODELS", name)
    monkeypatch.setattr("htm_core.models.ollama.load_chat", load)
    htm("remember", "I live in a flat in Leeds.", "--no-wait")
    with make(settings=IDLE) as memory:
        assert {job.kind for job in memory.jobs.list() if job.model == name} == {
            KINDS[plug] for plug in BY_MODELS
        }
    assert name in htm("worker", "--once", "--json").json["models"]
    assert f"ollama:{made[0]}" == name
    assert htm("worker", "--once", "--models", "qwen").code == 2
