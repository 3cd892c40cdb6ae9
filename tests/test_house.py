"""The structure keeps its own rules: layers, no circles, no SQL in Python, no verb without its awaited twin."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from htm_core import Changes, Collection, Group, Log, Memory, palace
from htm_core.aio import (
    AsyncBackup,
    AsyncChanges,
    AsyncCollection,
    AsyncGroup,
    AsyncJobs,
    AsyncLog,
    AsyncMemory,
    AsyncTags,
)
from htm_core.handles.jobs import Jobs
from htm_core.handles.tags import Tags
from htm_core.operations.backup import Backup
from htm_core.store.queries import load

ROOT = Path(__file__).parent.parent
PACKAGES = ("htm_core", "htm_langchain", "htm_llamaindex")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# What a module may import: what stands on a lower layer, or beside it. docs/architecture.md says what each holds.
LAYERS = {
    "types": 0, "errors": 0, "settings": 0, "telemetry": 0, "fork": 0, "time_limit": 0,
    "rules": 1, "samples": 1,
    "models": 2,
    "store": 3,
    "engine": 4,
    "operations": 5, "handles": 5, "collections": 5, "jobs": 5, "groups": 5, "runtime": 5,
    "memory": 6, "aio": 6, "palace": 6, "__init__": 6,
    "integration": 7, "api": 7, "importers": 7,
    "cli": 8, "server": 8, "client": 8, "anthropic_tool": 8,
}  # fmt: skip
# The awaited twin of a memory is made of its class, and a memory hands it out: the only circle.
CIRCLE = ("htm_core.memory", "htm_core.aio")
BANNED = {"utils", "helpers", "common", "manager", "service"}
SQL = re.compile(
    r"^\s*(select\s.+\sfrom\s|select\s+\w+\(|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\()",
    re.I | re.S,
)


def part(path: Path) -> str:
    return path.relative_to(ROOT / "htm_core").parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every absolute module name that a file imports, with its line."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports() -> dict[str, set[str]]:
    """Each module with the modules that it imports, those that only types need included."""
    known = {module(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        names = {name for name, _ in imported(path)}
        while unknown := names - known:  # a name of a module stands for its module
            names = names & known | {name.rpartition(".")[0] for name in unknown if "." in name}
        packages = {name.rpartition(".")[0] for name in names}
        graph[module(path)] = names - packages - {module(path)}
    return graph


@pytest.mark.parametrize("path", [p for p in MODULES if "htm_core" in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downward_only(path: Path) -> None:
    mine = part(path)
    for name, line in imported(path):
        if not name.startswith("htm_core."):
            continue
        theirs = name.split(".")[1]
        if theirs in LAYERS and theirs != mine:
            assert LAYERS[theirs] <= LAYERS[mine], f"{path.name}:{line} imports {name}, which is not below {mine}"


def test_no_module_imports_itself_by_a_circle() -> None:
    graph = imports()
    graph[CIRCLE[0]] -= {CIRCLE[1]}
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_inside_a_package_are_relative(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").split(".")[0] != own, f"{path.name}:{node.lineno} names its own package"


def test_no_part_of_the_core_imports_itself_by_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        if "htm_core" in path.parts and module(path) != "htm_core":
            names = {name.split(".")[1] for name, _ in imported(path) if name.startswith("htm_core.")}
            graph.setdefault(part(path), set()).update(names & LAYERS.keys() - {part(path)})
    graph["memory"] -= {"aio"}
    list(TopologicalSorter(graph).static_order())


def test_every_module_has_a_layer() -> None:
    assert {part(path) for path in MODULES if "htm_core" in path.parts} <= LAYERS.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_store_imports_psycopg_and_only_it(path: Path) -> None:
    drivers = [name for name, _ in imported(path) if name.split(".")[0] in ("psycopg", "psycopg_pool", "pgvector")]
    assert not drivers or "store" in path.parts


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "htm_core" not in p.parts], ids=lambda p: str(p.relative_to(ROOT))
)
def test_adapters_use_the_public_names_of_the_core_and_not_each_other(path: Path) -> None:
    other = {"htm_langchain": "htm_llamaindex", "htm_llamaindex": "htm_langchain"}[path.relative_to(ROOT).parts[0]]
    for name, line in imported(path):
        assert not name.startswith(other), f"{path.name}:{line} imports the other adapter"
        if name.startswith("htm_core."):
            public = {f"htm_core.palace.{each}" for each in palace.__all__}
            assert len(name.split(".")) == 2 or name.startswith("htm_core.integration.") or name in public, (
                f"{path.name}:{line} reaches into {name}; import it from htm_core"
            )


def strings(path: Path) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text())
    docs = {id(n.body[0].value) for n in ast.walk(tree)
            if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and n.body and isinstance(n.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value, node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_sql_stands_in_python(path: Path) -> None:
    for text, line in strings(path):
        assert not SQL.match(text), f"{path.name}:{line} holds SQL; it belongs in a .sql file"


def test_no_two_public_classes_of_the_core_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        if "htm_core" in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(module(path))
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_no_module_is_named_for_nothing() -> None:
    assert [str(path) for path in MODULES if path.stem in BANNED] == []


def test_every_verb_is_awaitable() -> None:
    """Each public method of Memory, Log and Collection has its twin."""
    twins = (
        (Memory, AsyncMemory), (Group, AsyncGroup), (Log, AsyncLog), (Collection, AsyncCollection), (Tags, AsyncTags),
        (Jobs, AsyncJobs), (Backup, AsyncBackup), (Changes, AsyncChanges),
    )  # fmt: skip
    for blocking, twin in twins:
        verbs = {
            name for name, value in vars(blocking).items() if inspect.isfunction(value) and not name.startswith("_")
        }
        assert verbs <= set(vars(twin)), verbs - set(vars(twin))


def test_public_functions_say_what_they_do() -> None:
    silent = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                nested = any(isinstance(d, ast.Name) and d.id in ("overload", "override") for d in node.decorator_list)
                if ast.get_docstring(node) is None and not nested:
                    silent.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert len(silent) <= 40, silent


STATEMENTS = [*(ROOT / "htm_core" / "store").glob("*.sql"), *(ROOT / "htm_core" / "store" / "foreign").glob("*.sql")]


@pytest.mark.parametrize("file", sorted(STATEMENTS), ids=lambda p: p.name)
def test_each_file_of_statements_names_them_once(file: Path) -> None:
    text = file.read_text()
    names = re.findall(r"^-- name: (\w+)", text, re.M)
    subject = file.relative_to(ROOT / "htm_core" / "store").with_suffix("")
    assert len(names) == len(set(names)) == len(load(str(subject)))
