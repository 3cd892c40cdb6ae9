"""What users hold on to, read off the packages: names, parameters, fields, settings, commands.

    python -m tests.public_names > tests/public_names.json

writes the list anew at a release. Between releases nothing is added, and a name is never taken away.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import typer
from pydantic import BaseModel

from htm_core import Settings, Signals
from htm_core.cli.app import app

ROOTS = ("htm_core", "htm_langchain", "htm_llamaindex")
MADE_BY_A_VERB = {
    "Changes",
    "Collection",
    "Group",
    "Jobs",
    "Log",
    "Tags",
}  # how they are made is not for users
PACKAGES = ("htm_core", "htm_core.importers", "htm_core.palace", "htm_langchain", "htm_llamaindex")


def listed() -> dict[str, Any]:
    """Every public name, by what it belongs to."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found[f"{package}.{name}"] = described(getattr(module, name))
    found["settings"] = sorted(Settings.model_fields)
    found["signals"] = sorted(Signals.model_fields)
    sources = [path.read_text() for package in ROOTS for path in Path(package).rglob("*.py")]
    found["environment"] = sorted(
        {name for text in sources for name in re.findall(r"HTM_[A-Z_]+[A-Z]", text)}
    )
    found["commands"] = dict(commands())
    return found


def described(thing: Any) -> Any:
    """The parameters of a function; the fields and the methods with their parameters of a class."""
    if not inspect.isclass(thing):
        if isinstance(thing, UnionType):
            return "UnionType"  # as Python up to 3.13 calls it
        return parameters(thing) if callable(thing) else type(thing).__name__
    members: dict[str, Any] = {}
    if dataclasses.is_dataclass(thing):
        members["fields"] = [field.name for field in dataclasses.fields(thing)]
    if issubclass(thing, BaseModel):
        members["fields"] = sorted(thing.model_fields)
    ours = [base for base in thing.__mro__ if base.__module__.split(".")[0].startswith("htm_")]
    for name in sorted({name for base in ours for name in vars(base) if not name.startswith("_")}):
        value = inspect.getattr_static(thing, name)
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if inspect.isfunction(value):
            members[name] = parameters(value)
        elif isinstance(value, property):
            members[name] = "property"
        elif not hasattr(value, "__get__") or not dataclasses.is_dataclass(thing):
            members.setdefault(name, "attribute")
    if thing.__name__ not in MADE_BY_A_VERB and "__init__" in {
        name for base in ours for name in vars(base)
    }:
        members["__init__"] = parameters(thing.__init__)
    return members


def parameters(function: Any) -> list[str]:
    """Each parameter with how it is passed and its default, if it has a plain one."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    plain = (str, int, float, bool, type(None), tuple)
    return [
        f"{'*' if each.kind is each.KEYWORD_ONLY else ''}{each.name}"
        + (f"={each.default!r}" if isinstance(each.default, plain) else "")
        for each in signature.parameters.values()
    ]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the command line with its arguments and options."""
    waiting: list[tuple[str, Any]] = [("htm", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        yield (
            name,
            sorted(
                option for each in command.params for option in (*each.opts, *each.secondary_opts)
            ),
        )
        names = command.list_commands(None) if hasattr(command, "list_commands") else []
        waiting += [(f"{name} {each}", command.get_command(None, each)) for each in sorted(names)]


if __name__ == "__main__":
    json.dump(listed(), sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
