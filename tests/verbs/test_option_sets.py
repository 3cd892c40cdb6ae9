"""Options that several functions take: written once, shown by each, and an unknown one refused with the near one."""

from __future__ import annotations

import inspect
import re
from typing import Any, TypedDict, Unpack

import pytest

from htm_core import Memory, RecallOptions
from htm_core.base.option_sets import described, part, type_hints, with_options
from htm_core.memory.open import ModelOptions
from htm_core.prompt.scope import StoreOptions
from htm_core.recall.recall import prepare
from htm_langchain.option_sets import ConversationOptions, RecallToolOptions, RunOptions
from htm_llamaindex.prompt_options import PromptFields, PromptOptions

SETS = [
    RecallOptions,
    ModelOptions,
    StoreOptions,
    ConversationOptions,
    RecallToolOptions,
    PromptOptions,
]


class Size(TypedDict, total=False):
    """The size:

    - `wide`, `high`: in metres.
    """

    wide: float
    high: float | None


@with_options(Size, wide=2.0)
def build(name: str, *, colour: str = "red", **size: Unpack[Size]) -> tuple[Any, ...]:
    """Build a box."""
    return name, colour, *size.values()


def test_a_function_gets_all_options_and_shows_each() -> None:
    assert build("box") == ("box", "red", 2.0, None)
    assert build("box", high=1.0, colour="blue") == ("box", "blue", 2.0, 1.0)
    shown = inspect.signature(build)
    assert str(shown).startswith(
        "(name: 'str', *, colour: 'str' = 'red', wide: 'float' = 2.0, high: 'float | None' = None)"
    )
    assert type_hints(build) == {
        "name": str, "colour": str, "wide": float, "high": float | None, "return": tuple[Any, ...],
    }  # fmt: skip
    assert inspect.getdoc(build) == "Build a box.\n\nThe size:\n\n- `wide`, `high`: in metres."


def test_an_unknown_option_is_refused_with_the_near_one() -> None:
    with pytest.raises(
        TypeError,
        match=r"build\(\) got an unexpected keyword argument 'widht'. Did you mean 'wide'\?",
    ):
        build("box", widht=3)  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"Memory.recall\(\) got an unexpected keyword argument 'zzz'$"
    ):
        Memory("atlas").recall("a question", zzz=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("options", SETS)
def test_every_option_of_a_set_is_described(options: type[Any]) -> None:
    text = described(options)
    assert [
        name
        for name in options.__annotations__
        if not re.search(rf"(`{name}`|^{name}):|`{name}`,", text, re.M)
    ] == []


def test_a_part_of_the_options_is_those_of_its_set() -> None:
    asked: Any = {
        "user": "ann",
        "session": None,
        "tenant": None,
        "trust_context": False,
        "min_score": 0.5,
    }
    assert part(RunOptions, asked) == {
        "user": "ann",
        "session": None,
        "tenant": None,
        "trust_context": False,
    }


def test_what_takes_the_options_has_no_others() -> None:
    assert set(inspect.signature(prepare).parameters) - {"engine", "query"} == set(
        RecallOptions.__annotations__
    )
    assert set(PromptOptions.__annotations__) <= set(PromptFields.model_fields)
