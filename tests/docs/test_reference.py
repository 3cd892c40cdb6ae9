"""The reference agrees with the code: what docstrings must name, and the tables of errors, events, loggers, variables, filters."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

import htm_core
from htm_core import Changes, Group, HTMError, Jobs, Log, Memory, Settings, Signals, Tags
from htm_core.base.filters.filters import KNOWN
from htm_core.collections.collection import Collection
from htm_core.memory.aio import AsyncMemory
from tests.docs.markdown import ROOT, sections

API = ROOT / "docs" / "api"
SOURCES = [
    path
    for package in ("htm_core", "htm_langchain", "htm_llamaindex")
    for path in (ROOT / package).rglob("*.py")
]
VERBS = [
    (owner, name)
    for owner in (Memory, Group, Log, Collection, Tags, Jobs, Changes)
    for name, verb in vars(owner).items()
    if inspect.isfunction(verb) and not name.startswith("_")
]
SHARED = set(
    re.findall(r"`(\w+)`", sections(API / "memory.md")["Arguments that mean the same everywhere"])
)


@pytest.mark.parametrize(
    ("owner", "name"), VERBS, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_parameter_of_a_verb_is_named_in_its_docstring_or_among_the_shared_ones(
    owner: type, name: str
) -> None:
    verb = getattr(owner, name)
    named = {*re.findall(r"\w+", inspect.getdoc(verb) or ""), *SHARED}
    assert [
        parameter
        for parameter in list(inspect.signature(verb).parameters)[1:]
        if parameter not in named
    ] == []


def test_every_option_of_a_memory_is_in_its_docstring() -> None:
    text = inspect.getdoc(Memory) or ""
    options = list(inspect.signature(Memory.__init__).parameters)[1:]
    assert [option for option in options if f"`{option}`" not in text] == []


@pytest.mark.parametrize("settings", [Settings, Signals])
def test_every_setting_says_what_it_is(settings: type[Settings | Signals]) -> None:
    assert [name for name, field in settings.model_fields.items() if not field.description] == []


def test_awaited_verbs_that_are_made_by_hand_have_the_signatures_of_the_others() -> None:
    by_hand = [
        name
        for name, twin in vars(AsyncMemory).items()
        if inspect.isfunction(twin) and hasattr(Memory, name)
    ]
    by_hand = [name for name in by_hand if not name.startswith("_")]
    assert by_hand
    for name in by_hand:
        twin, verb = (
            inspect.signature(getattr(owner, name)).parameters.values()
            for owner in (AsyncMemory, Memory)
        )
        assert [(one.name, one.kind, one.default) for one in twin] == [
            (one.name, one.kind, one.default) for one in verb
        ]


def errors(of: type[HTMError] = HTMError) -> Iterator[type[HTMError]]:
    yield of
    for below in of.__subclasses__():
        yield from errors(below)


def test_every_error_is_in_the_tree() -> None:
    public = {error.__name__ for error in errors() if error.__module__ == "htm_core.base.errors"}
    assert public <= set(htm_core.__all__)
    tree = sections(API / "settings.md")["Errors"].partition("```text")[2].partition("```")[0]
    assert public == set(re.findall(r"^[│├└─ ]*([A-Z]\w+)", tree, re.M))


def test_every_filter_operator_is_in_the_table() -> None:
    operators = re.findall(r"\$\w+", KNOWN)
    assert len(operators) > 10
    table = sections(ROOT / "docs" / "filters.md")["Filters"]
    assert [name for name in operators if f"`{name}`" not in table] == []


def calls(name: str) -> Iterator[ast.Call]:
    """Every call of a function or method of this name in the packages."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == name
            ):
                yield node


def first_text(call: ast.Call) -> str | None:
    found = call.args[0] if call.args else None
    return found.value if isinstance(found, ast.Constant) and isinstance(found.value, str) else None


def test_every_event_is_listed_with_its_numbers() -> None:
    emitted = {
        first_text(call): [keyword.arg for keyword in call.keywords] for call in calls("emit")
    }
    events = {name: names for name, names in emitted.items() if name is not None}
    assert {"remember", "recall", "evict"} <= events.keys()
    listed = sections(API / "values.md")["Events"]
    for name, numbers in events.items():
        row = re.search(rf"^\| `{name}` \| (.+) \|", listed, re.M)
        assert row, name
        assert [number for number in numbers if f"`{number}`" not in row[1]] == [], name


def test_every_logger_is_listed() -> None:
    names = {first_text(call) for call in calls("getLogger")} - {None}
    assert len(names) > 4
    listed = sections(ROOT / "docs" / "telemetry.md")["Loggers"]
    assert [name for name in names if f"`{name}`" not in listed] == []


def test_every_environment_variable_is_listed() -> None:
    read = {
        name
        for path in SOURCES
        for name in re.findall(r"\bHTM_[A-Z]+(?:_[A-Z]+)*\b", path.read_text(encoding="utf-8"))
    }
    assert read >= {"HTM_HOME", "HTM_DATABASE_URL", "HTM_MODEL_DIR"}
    listed = sections(API / "settings.md")["Environment variables"]
    assert [name for name in read if f"`{name}`" not in listed] == []
