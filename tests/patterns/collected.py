"""Every regular expression of the packages, wherever it is made: when a module is imported, at first use, or in a function.

Run as a program it searches them all for growth, and prints those that grow.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from .growth import all_matches, at_the_start, growing

PACKAGES = ("htm_core", "htm_langchain", "htm_llamaindex")
ROOT = Path(__file__).parents[2]
UNBOUNDED = 1_000_000
AT_START = frozenset({"match", "fullmatch"})
_MAKES = frozenset(
    {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
)
_PLACED = "word"  # stands for what a function puts into an expression
_LATE = ("lazy_pattern.py",)  # whose own calls make the expressions of others


@dataclass(frozen=True, slots=True)
class Found:
    """An expression, where it is made, and whether it is only compared with the beginning of texts."""

    text: str
    flags: int
    where: str
    at_start: bool
    longest: int


def collect() -> list[Found]:
    """All expressions."""
    made = _made_by_importing()
    modules = [
        module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] in PACKAGES
    ]
    uses = _uses(modules)
    caps = _caps()
    found = {
        key: Found(*key, where, uses.get(key, {"search"}) <= AT_START, caps.get(key, UNBOUNDED))
        for key, where in made.items()
    }
    for module in modules:
        for key, where, method in _in_functions(module):
            found.setdefault(key, Found(*key, where, method in AT_START, UNBOUNDED))
    return list(found.values())


def _made_by_importing() -> dict[tuple[str, int], str]:
    """The expressions that are made while everything is imported, and those that wait for their first use."""
    made: dict[tuple[str, int], str] = {}
    compiler: Any = re._compiler  # type: ignore[attr-defined]
    really = compiler.compile

    def noting(pattern: Any, flags: int = 0) -> Any:
        """Note an expression of ours, and compile it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.endswith(
            ("re/__init__.py", "functools.py")
        ):
            frame = frame.f_back
        if frame is not None and isinstance(pattern, str) and _is_ours(frame.f_code.co_filename):
            made.setdefault(
                (pattern, int(flags)), f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"
            )
        return really(pattern, flags)

    compiler.compile = noting
    try:
        for package in PACKAGES:
            importlib.import_module(package)
            for each in pkgutil.walk_packages(sys.modules[package].__path__, f"{package}."):
                if not each.name.endswith("__main__"):
                    importlib.import_module(each.name)
    finally:
        compiler.compile = really
    for each in gc.get_objects():
        key = _late(each)
        if key is not None:
            made.setdefault(key, type(each).__name__)
    return made


def _late(value: object) -> tuple[str, int] | None:
    """An expression that is made at first use."""
    if type(value).__name__ == "LazyPattern":
        return value._text, int(value._flags)  # type: ignore[attr-defined]
    return None


def _caps() -> dict[tuple[str, int], int]:
    """By expression, how many characters of a text it reads at most."""
    caps = {}
    for each in gc.get_objects():
        key = _late(each)
        if key is not None:
            caps[key] = each._longest
    return caps


def _is_ours(path: str) -> bool:
    return any(f"/{package}/" in path for package in PACKAGES) and not path.endswith(_LATE)


def _short(path: str) -> str:
    return str(Path(path).relative_to(ROOT)) if Path(path).is_relative_to(ROOT) else path


def _uses(modules: list[ModuleType]) -> dict[tuple[str, int], set[str]]:
    """By expression, the methods that are called on the names that it has."""
    uses: dict[tuple[str, int], set[str]] = {}
    for module in modules:
        named = {name: keys for name, value in vars(module).items() if (keys := _keys(value))}
        if not named:
            continue
        called: dict[int, str] = {}
        tree = _tree(module)
        for each in ast.walk(tree):
            if isinstance(each, ast.Attribute):
                of = each.value.value if isinstance(each.value, ast.Subscript) else each.value
                called[id(of)] = each.attr
        for each in ast.walk(tree):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in named:
                for key in named[each.id]:
                    uses.setdefault(key, set()).add(called.get(id(each), "search"))
    return uses


def _keys(value: Any) -> list[tuple[str, int]]:
    """The expressions that a name of a module stands for: one, or all those in a collection."""
    key = _late(value)
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        key = _key(value)
    if key is not None:
        return [key]
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, tuple | list)
        else ()
    )
    return [
        key for each in inner if isinstance(each, re.Pattern) or _late(each) for key in _keys(each)
    ]


def _key(pattern: re.Pattern[str]) -> tuple[str, int]:
    """An expression as it was given: the flags in its text are no flags of its own."""
    return pattern.pattern, int(pattern.flags & ~re.UNICODE)


def _in_functions(module: ModuleType) -> Iterator[tuple[tuple[str, int], str, str]]:
    """The expressions that functions of a module make, as far as they are written there."""
    if "re." not in inspect.getsource(module):
        return
    for each in ast.walk(_tree(module)):
        if (
            not isinstance(each, ast.Call)
            or not isinstance(each.func, ast.Attribute)
            or not each.args
        ):
            continue
        if (
            not isinstance(each.func.value, ast.Name)
            or each.func.value.id != "re"
            or each.func.attr not in _MAKES
        ):
            continue
        text = _written(each.args[0], module)
        if text is None:
            continue
        flags = 0
        for given in [
            *each.args[1:],
            *(keyword.value for keyword in each.keywords if keyword.arg == "flags"),
        ]:
            value = _value(given, module)
            if isinstance(value, re.RegexFlag):
                flags = int(value)
        try:
            re.compile(text, flags)
        except re.error:
            continue  # a piece of one, which needs what stands in its place
        yield (text, flags), f"{_short(str(module.__file__))}:{each.lineno}", each.func.attr


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _written(node: ast.expr, module: ModuleType) -> str | None:
    """The text of an expression, with a word for what only the function knows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            str(each.value) if isinstance(each, ast.Constant) else _value(each.value, module)
            for each in node.values
            if isinstance(each, ast.Constant | ast.FormattedValue)
        )
        return "".join(each if isinstance(each, str) else _PLACED for each in parts)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
    ):
        text = _written(node.func.value, module)
        return None if text is None else text.format(*[_PLACED] * len(node.args))
    value = _value(node, module)
    return value if isinstance(value, str) else None


def _value(node: ast.expr, module: ModuleType) -> Any:
    """What names and attributes of a module are; None for anything else."""
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, module), node.attr, None)
    return None


def main() -> None:
    """Write as JSON how many expressions there are, and each that grows with the text on which it does."""
    everything = collect()
    found = []
    for each in everything:
        use = at_the_start if each.at_start else all_matches
        probe = growing(re.compile(each.text, each.flags), use, longest=each.longest)
        if probe is not None:
            found.append(
                f"{each.where}: {each.text[:100]!r} on {probe.before[:40]!r} + {probe.pump[:40]!r} * n"
            )
    sys.stdout.write(json.dumps({"collected": len(everything), "growing": found}))


if __name__ == "__main__":
    main()
