"""The reference agrees with the code: signatures, fields, settings, errors, events, loggers, variables."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import htm_core
from htm_core import Changes, Group, HTMError, Jobs, Log, Memory, Settings, Tags
from htm_core.base.filters.filters import KNOWN
from htm_core.base.types import CollectionHit, CollectionItem, Timings
from htm_core.collections.collection import Collection
from htm_core.memory.aio import AsyncMemory
from htm_core.working.memory import WorkingMemory
from tests.docs.markdown import ROOT, blocks, sections

REFERENCE = ROOT / "docs" / "reference.md"
SECTIONS = sections(REFERENCE)
SIGNATURES = "\n".join(block.text for block in blocks(REFERENCE) if block.language == "text")
SOURCES = [
    path for package in ("htm_core", "htm_langchain", "htm_llamaindex") for path in (ROOT / package).rglob("*.py")
]
OWNERS: dict[str, type] = {
    "memory": Memory, "group": Group, "log": Log, "collection": Collection, "tags": Tags, "jobs": Jobs,
    "changes": Changes,
}  # fmt: skip
VERBS = [
    (owner, name)
    for owner, of in OWNERS.items()
    for name, verb in vars(of).items()
    if inspect.isfunction(verb) and not name.startswith("_")
]
# The public part of working memory; plan, apply and others are for the memory that owns it.
WORKING = ["budget", "policy", "items", "tokens", "free", "utilization", "get", "remove", "clear"]


def signature(verb: Callable[..., Any], name: str) -> str:
    """A verb as the reference writes it: names, stars and defaults, without types."""
    parts: list[str] = []
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = parameter.default
        parts.append(parameter.name if default is parameter.empty else f"{parameter.name}={shown(default)}")
    return f"{name}({', '.join(parts)})"


def shown(default: object) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    return f"{default:_}" if type(default) is int and default >= 1_000 else repr(default)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")")


@pytest.mark.parametrize(("owner", "name"), VERBS, ids=lambda value: str(value))
def test_each_verb_has_its_signature_and_a_word_on_every_parameter(owner: str, name: str) -> None:
    verb = getattr(OWNERS[owner], name)
    assert signature(verb, f"{owner}.{name}") in flat(SIGNATURES)
    entry = next(text for text in SECTIONS.values() if f"\n{owner}.{name}(" in text)
    described = entry.split("```")[2]
    for parameter in list(inspect.signature(verb).parameters)[1:]:
        assert re.search(rf"`{parameter}\b", described), f"{owner}.{name} says nothing about {parameter}"


def test_the_constructor_is_there_with_every_option() -> None:
    assert signature(Memory.__init__, "Memory") in flat(SIGNATURES)
    for parameter in list(inspect.signature(Memory.__init__).parameters)[1:]:
        assert f"| `{parameter}` |" in SECTIONS["Memory"], parameter


def test_every_public_name_is_in_the_reference() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert [name for name in htm_core.__all__ if name not in SECTIONS and f"`{name}" not in text] == []


VALUES = [
    value
    for value in [*(getattr(htm_core, name) for name in htm_core.__all__), Timings, CollectionItem, CollectionHit]
    if dataclasses.is_dataclass(value) and isinstance(value, type)
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_every_field_of_a_value_is_described(value: type) -> None:
    entry = SECTIONS[value.__name__]
    fields = [field.name for field in dataclasses.fields(value)]
    properties = [name for name, found in vars(value).items() if isinstance(found, property)]
    assert [name for name in [*fields, *properties] if f"`{name}`" not in entry] == []


def test_every_setting_is_listed_with_its_default() -> None:
    for name, field in Settings.model_fields.items():
        row = re.search(rf"^\| `{field.alias or name}` \| `([^`]+)` \|", SECTIONS["Settings"], re.M)
        assert row, name
        assert row[1].replace("_", "") == str(shown(field.default)).replace("_", ""), name


def errors(of: type[HTMError] = HTMError) -> Iterator[type[HTMError]]:
    yield of
    for below in of.__subclasses__():
        yield from errors(below)


def test_every_error_is_listed() -> None:
    public = {error for error in errors() if error.__module__ == "htm_core.base.errors"}
    assert {error.__name__ for error in public} <= set(htm_core.__all__)
    assert [error.__name__ for error in public if f"`{error.__name__}`" not in SECTIONS["Errors"]] == []


def test_every_filter_operator_is_in_the_table() -> None:
    operators = re.findall(r"\$\w+", KNOWN)
    assert len(operators) > 10
    assert [name for name in operators if f"`{name}`" not in SECTIONS["Filters: where="]] == []


def calls(name: str) -> Iterator[ast.Call]:
    """Every call of a function or method of this name in the packages."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                yield node


def first_text(call: ast.Call) -> str | None:
    found = call.args[0] if call.args else None
    return found.value if isinstance(found, ast.Constant) and isinstance(found.value, str) else None


def test_every_event_is_listed_with_its_numbers() -> None:
    emitted = {first_text(call): [keyword.arg for keyword in call.keywords] for call in calls("emit")}
    events = {name: names for name, names in emitted.items() if name is not None}
    assert {"remember", "recall", "evict"} <= events.keys()
    for name, numbers in events.items():
        row = re.search(rf"^\| `{name}` \| (.+) \|", SECTIONS["Event"], re.M)
        assert row, name
        assert [number for number in numbers if f"`{number}`" not in row[1]] == [], name


def test_every_logger_is_listed() -> None:
    names = {first_text(call) for call in calls("getLogger")} - {None}
    assert len(names) > 4
    assert [name for name in names if f"`{name}`" not in SECTIONS["Loggers"]] == []


def test_every_environment_variable_is_listed() -> None:
    read = {
        name for path in SOURCES for name in re.findall(r"\bHTM_[A-Z]+(?:_[A-Z]+)*\b", path.read_text(encoding="utf-8"))
    }
    assert read >= {"HTM_HOME", "HTM_DATABASE_URL", "HTM_MODEL_DIR"}
    assert [name for name in read if f"`{name}`" not in SECTIONS["Environment variables"]] == []


@pytest.mark.parametrize("name", WORKING)
def test_what_working_memory_shows_is_described(name: str) -> None:
    assert hasattr(WorkingMemory, name)
    assert f"`{name}" in SECTIONS["WorkingMemory"]


def test_the_awaited_verbs_have_the_signatures_that_the_reference_shows() -> None:
    for name in [name for owner, name in VERBS if owner == "memory"]:
        twin = getattr(AsyncMemory, name)
        if inspect.isfunction(twin):  # made by hand, since what it gives is awaited in its turn
            assert signature(twin, name) == signature(getattr(Memory, name), name)
            assert f"`memory.aio.{name}(" in SECTIONS["memory.aio"]


def test_the_embedded_server_and_file_paths_named_exist() -> None:
    for path in re.findall(r"`(htm_core/[\w/]+\.(?:py|sql))`", "\n".join(SECTIONS.values())):
        assert Path(ROOT, path).exists(), path
