"""The structure keeps its own rules: layers, no circles, no SQL in Python, no verb without its awaited twin."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from htm_core import Changes, Collection, Group, Log, Memory, palace
from htm_core.db.queries import load
from htm_core.forgetting.backup import Backup
from htm_core.jobs.jobs import Jobs
from htm_core.memory.aio import (
    AsyncBackup,
    AsyncChanges,
    AsyncCollection,
    AsyncGroup,
    AsyncJobs,
    AsyncLog,
    AsyncMemory,
    AsyncTags,
)
from htm_core.tags.tags import Tags
from tests.pure_modules import PURE
from tests.store.statements import statement_files

ROOT = Path(__file__).parent.parent
PACKAGES = ("htm_core", "htm_langchain", "htm_llamaindex")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
CORE = [path for path in MODULES if "htm_core" in path.parts]
ADAPTERS = [path for path in MODULES if "htm_core" not in path.parts]

# A module may import from a folder of a lower level, or beside its own. docs/architecture.md says what each holds.
LAYERS = {
    "base": 0,
    "text": 1, "timeframes": 1,
    "embedded": 2, "models": 2,
    "db": 3, "reading": 3,
    "working": 4,
    "engine": 5, "writing": 5,
    "change": 6, "collections": 6,
    "files": 7, "forgetting": 7, "jobs": 7, "recall": 7, "tags": 7,
    "importers": 8, "memory": 8, "palace": 8, "prompt": 8,
    "anthropic_tool": 9, "cli": 9, "client": 9, "inspector": 9, "serve": 9,
    "__init__": 8,
}  # fmt: skip
# The awaited twin of a memory is made of its class, and a memory hands it out: the only circle.
CIRCLE = ("htm_core.memory.memory", "htm_core.memory.aio")
BANNED = {"utils", "helpers", "common", "manager", "service"}
SQL = re.compile(
    r"^\s*(select\s.+\sfrom\s|select\s+\w+\(|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\()",
    re.I | re.S,
)


def place(path: Path, line: int) -> str:
    """Where something stands, as an editor opens it."""
    return f"{path.relative_to(ROOT)}:{line}"


def part(path: Path) -> str:
    return path.relative_to(ROOT / "htm_core").parts[0].removesuffix(".py")


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything that a file says, itself first: read once for all tests."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@functools.cache
def imported(path: Path) -> list[tuple[str, int]]:
    """Every absolute module name that a file imports, with its line."""
    package, found = list(path.relative_to(ROOT).with_suffix("").parts[:-1]), []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [
                (base, node.lineno),
                *((f"{base}.{alias.name}", node.lineno) for alias in node.names),
            ]
    return found


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


def test_imports_go_downward_only() -> None:
    wrong = []
    for path in CORE:
        mine = part(path)
        for name, line in imported(path):
            if name.startswith("htm_core."):
                theirs = name.split(".")[1]
                if theirs in LAYERS and theirs != mine and LAYERS[theirs] > LAYERS[mine]:
                    wrong.append(f"{place(path, line)} imports {name}, which is not below {mine}")
    assert wrong == []


def test_no_module_imports_itself_by_a_circle() -> None:
    graph = imports()
    graph[CIRCLE[0]] -= {CIRCLE[1]}
    list(TopologicalSorter(graph).static_order())


def test_imports_inside_a_package_are_relative() -> None:
    wrong = [
        place(path, node.lineno)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and (node.module or "").split(".")[0] == path.relative_to(ROOT).parts[0]
    ]
    assert wrong == [], "these name their own package"


def test_no_part_of_the_core_imports_itself_by_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for path in CORE:
        if module(path) != "htm_core":
            names = {
                name.split(".")[1] for name, _ in imported(path) if name.startswith("htm_core.")
            }
            graph.setdefault(part(path), set()).update(names & LAYERS.keys() - {part(path)})
    list(TopologicalSorter(graph).static_order())


def named(package: Path) -> set[str]:
    """The names that a package imports in its `__init__`, for whoever uses it."""
    init = nodes(package / "__init__.py")
    return {
        alias.asname or alias.name
        for node in init
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("room", ["palace", "importers", "timeframes", "inspector", "embedded"])
def test_a_room_has_one_door(room: str) -> None:
    """What is outside of it imports what its package names, and none of its modules."""
    inside = f"htm_core.{room}."
    doors = {f"{inside}{name}" for name in named(ROOT / "htm_core" / room)}
    wrong = [
        f"{place(path, line)} imports {name}, past the door of {room}"
        for path in MODULES
        if not module(path).startswith(f"htm_core.{room}")
        for name, line in imported(path)
        if name.startswith(inside) and name not in doors
    ]
    assert wrong == []


def test_every_module_has_a_layer() -> None:
    assert {part(path) for path in CORE} <= LAYERS.keys()


def test_only_modules_that_send_sql_import_psycopg() -> None:
    """They are those of the database itself, and each that has its statements in a file beside it."""
    drivers = {"psycopg", "psycopg_pool", "pgvector"}
    wrong = [
        f"{place(path, line)} imports {name}"
        for path in MODULES
        if "db" not in path.parts and not path.with_suffix(".sql").exists()
        for name, line in imported(path)
        if name.split(".")[0] in drivers
    ]
    assert wrong == []


def test_pure_modules_import_only_pure_ones_and_know_no_clock() -> None:
    """What they return depends on their arguments alone."""
    pure = {
        *PURE,
        "htm_core.base.types",
        "htm_core.base.errors",
        "htm_core.base.settings",
        "htm_core.timeframes",
    }
    wrong = []
    for path in CORE:
        if module(path) not in PURE:
            continue
        for name, line in imported(path):
            top, _, rest = name.partition(".")
            inside = (
                top == "htm_core"
                and rest
                and not any(f"{name}.".startswith(f"{each}.") for each in pure)
            )
            if inside and name not in {each.rpartition(".")[0] for each in pure}:
                wrong.append(f"{place(path, line)} imports {name}, which is not pure")
            if top in ("time", "os", "socket", "subprocess", "psycopg", "onnxruntime"):
                wrong.append(f"{place(path, line)} imports {name}")
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "datetime.now",
                "date.today",
            ):
                wrong.append(f"{place(path, node.lineno)} reads the clock")
    assert wrong == []


def test_adapters_use_the_public_names_of_the_core_and_not_each_other() -> None:
    wrong = []
    public = {f"htm_core.palace.{each}" for each in palace.__all__}
    for path in ADAPTERS:
        other = {"htm_langchain": "htm_llamaindex", "htm_llamaindex": "htm_langchain"}[
            path.relative_to(ROOT).parts[0]
        ]
        for name, line in imported(path):
            if name.startswith(other):
                wrong.append(f"{place(path, line)} imports the other adapter")
            if name.startswith("htm_core.") and not (
                len(name.split(".")) == 2 or name.startswith("htm_core.prompt.") or name in public
            ):
                wrong.append(f"{place(path, line)} reaches into {name}; import it from htm_core")
    assert wrong == []


def strings(path: Path) -> Iterator[tuple[str, int]]:
    docs = {id(n.body[0].value) for n in nodes(path)
            if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and n.body and isinstance(n.body[0], ast.Expr)}  # fmt: skip
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value, node.lineno


def test_no_sql_stands_in_python() -> None:
    wrong = [
        place(path, line) for path in MODULES for text, line in strings(path) if SQL.match(text)
    ]
    assert wrong == [], "these hold SQL; it belongs in a .sql file"


def test_no_two_public_classes_of_the_core_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for path in CORE:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module(path))
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_no_module_is_named_for_nothing() -> None:
    assert [str(path) for path in MODULES if path.stem in BANNED] == []


def test_docstrings_are_statements() -> None:
    asks = ("What", "Whether", "How", "Which")
    found = [
        place(path, getattr(node, "lineno", 1))
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and (ast.get_docstring(node) or "").startswith(asks)
    ]
    assert found == []


def test_names_say_what_they_hold() -> None:
    """A variable, parameter or field is called by its content; in a comprehension, which ends with its line, any name will do."""
    vague = {"each", "found", "told", "said", "given"}
    named = []
    for path in MODULES:
        short_lived = {
            id(name)
            for node in nodes(path)
            if isinstance(node, ast.comprehension)
            for name in ast.walk(node.target)
        }
        for node in nodes(path):
            is_assigned = (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and id(node) not in short_lived
            )
            if (is_assigned and node.id in vague) or (
                isinstance(node, ast.arg) and node.arg in vague
            ):
                named.append(place(path, node.lineno))
    assert named == []


def test_every_verb_is_awaitable() -> None:
    """Each public method of Memory, Log and Collection has its twin."""
    twins = (
        (Memory, AsyncMemory), (Group, AsyncGroup), (Log, AsyncLog), (Collection, AsyncCollection), (Tags, AsyncTags),
        (Jobs, AsyncJobs), (Backup, AsyncBackup), (Changes, AsyncChanges),
    )  # fmt: skip
    for blocking, twin in twins:
        verbs = {
            name
            for name, value in vars(blocking).items()
            if inspect.isfunction(value) and not name.startswith("_")
        }
        assert verbs <= set(vars(twin)), verbs - set(vars(twin))


def test_public_functions_say_what_they_do() -> None:
    silent = []
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                nested = any(
                    isinstance(d, ast.Name) and d.id in ("overload", "override")
                    for d in node.decorator_list
                )
                if ast.get_docstring(node) is None and not nested:
                    silent.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert len(silent) <= 40, silent


@pytest.mark.parametrize("file", statement_files(), ids=lambda p: p.name)
def test_each_file_of_statements_names_them_once(file: Path) -> None:
    text = file.read_text()
    names = re.findall(r"^-- name: (\w+)", text, re.M)
    subject = file.relative_to(ROOT / "htm_core").with_suffix("")
    assert len(names) == len(set(names)) == len(load(subject.as_posix()))


def test_each_statement_that_is_named_is_in_its_file() -> None:
    missing = []
    for path in CORE:
        for node in nodes(path):
            # load("subject")["statement"], and the same of an installation's roles
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Call)
                and len(node.value.args) == 1
            ):
                called, subject, name = node.value.func, node.value.args[0], node.slice
                how = getattr(called, "id", getattr(called, "attr", None))
                literal = isinstance(subject, ast.Constant) and isinstance(name, ast.Constant)
                if (
                    how in ("load", "statements")
                    and literal
                    and name.value not in load(subject.value)
                ):
                    missing.append(
                        f"{place(path, node.lineno)} asks {subject.value}.sql for {name.value}"
                    )
    assert missing == []
