"""Values that are made quickly are the dataclasses that they were."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from htm_core.base.types import Hit, Match, Mention, Node
from htm_core.base.types.quick import quickly_made

NOW = datetime(2026, 11, 26, tzinfo=UTC)


def a_dataclass() -> Any:
    """The same dataclass each time, as one of its own."""

    @dataclass(frozen=True, slots=True)
    class Value:
        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list)
        _: int = field(default=4, kw_only=True)

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("expected 0 or more")

    return Value


Plain, Quick = a_dataclass(), quickly_made(a_dataclass())


@pytest.mark.parametrize(
    "given",
    [((1,), {}), ((1, "x"), {"_": 9}), ((), {"first": 3, "third": [1]}), ((1, "x", [2]), {})],
)
def test_arguments_and_defaults_are_those_of_the_dataclass(given: tuple[tuple, dict]) -> None:
    places, names = given
    assert asdict(Quick(*places, **names)) == asdict(Plain(*places, **names))


@pytest.mark.parametrize(
    "given", [((), {}), ((1, "x", [], 4), {}), ((1,), {"fourth": 1}), ((1,), {"first": 2})]
)
def test_wrong_arguments_are_refused_in_the_same_words(given: tuple[tuple, dict]) -> None:
    places, names = given
    with pytest.raises(TypeError) as quick:
        Quick(*places, **names)
    with pytest.raises(TypeError) as plain:
        Plain(*places, **names)
    assert str(quick.value) == str(plain.value)


def test_each_value_has_a_list_of_its_own_and_its_checks_are_made() -> None:
    assert Quick(1).third is not Quick(1).third
    with pytest.raises(ValueError, match="0 or more"):
        Quick(-1)


def test_its_signature_is_shown_as_before() -> None:
    assert str(inspect.signature(Quick)) == str(inspect.signature(Plain))
    assert "content: 'str'" in str(inspect.signature(Node))


@pytest.mark.parametrize("kind", [Node, Mention, Match, Hit])
def test_public_values_are_frozen_and_compared_copied_and_pickled_by_their_fields(
    kind: type,
) -> None:
    values = {each.name: f"some {each.name}" for each in fields(kind)}
    one, other = kind(**values), kind(**values | {fields(kind)[0].name: "another"})
    assert (
        one == kind(**values) == copy.copy(one) == pickle.loads(pickle.dumps(one)) == replace(one)
    )
    assert one != other == replace(one, **{fields(kind)[0].name: "another"})
    assert {name: getattr(one, name) for name in values} == values
    with pytest.raises(FrozenInstanceError):
        setattr(one, fields(kind)[0].name, "changed")


def test_defaults_that_are_made_anew_are_no_shared_dictionaries() -> None:
    one, other = (Node(id="1", content="x", created_at=NOW, accessed_at=NOW) for _ in range(2))
    assert one.metadata == {}
    assert one.metadata is not other.metadata


def test_what_is_no_dataclass_with_slots_is_refused() -> None:
    @dataclass(frozen=True)
    class Open:
        one: int = 1

    @dataclass(frozen=True, slots=True)
    class Base:
        one: int = 1

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        two: int = 2

    for kind in (Open, Derived, int):
        with pytest.raises(TypeError, match="expected a dataclass with slots"):
            quickly_made(kind)
