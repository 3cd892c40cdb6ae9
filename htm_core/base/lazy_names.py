"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

NONE: Mapping[str, str] = {}


def lazily(
    package: str, modules: Mapping[str, str], *, renamed: Mapping[str, str] = NONE
) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: Its `__name__`.
        modules: For each name the module that has it, relative to the package.
        renamed: Older names, each with the name in its module.
    """

    def find(name: str) -> Any:
        """The object of a name, which the package then has itself."""
        own = sys.modules[package]
        if name not in modules:
            listed = ", ".join(own.__all__)
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {listed}")
        value = getattr(import_module(f".{modules[name]}", package), renamed.get(name, name))
        setattr(own, name, value)
        return value

    return find
