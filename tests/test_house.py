"""The house keeps its own rules: layers, sizes, no SQL in Python, no verb without its awaited twin."""

from __future__ import annotations

import ast
import inspect
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from htm_core import Collection, Group, Log, Memory, palace
from htm_core.aio import AsyncBackup, AsyncCollection, AsyncGroup, AsyncJobs, AsyncLog, AsyncMemory, AsyncTags
from htm_core.handles.jobs import Jobs
from htm_core.handles.tags import Tags
from htm_core.operations.backup import Backup
from htm_core.store.queries import load

ROOT = Path(__file__).parent.parent
PACKAGES = ("htm_core", "htm_langchain", "htm_llamaindex")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# What a module may import of htm_core: only what stands on a lower layer, or beside it in the same part.
LAYERS = {
    "types": 0, "errors": 0, "settings": 0, "telemetry": 0, "fork": 0,
    "rules": 1, "samples": 1,
    "models": 2,
    "store": 3,
    "engine": 4,
    "operations": 5, "handles": 5, "collections": 5, "jobs": 5, "groups": 5, "runtime": 5,
    "memory": 6, "aio": 6, "__init__": 6,
    "integration": 7,  # what the adapters share; nothing of the core imports it
    "palace": 7,  # stands on the memory's verbs and has an awaited twin of its own
    "cli": 8,
}  # fmt: skip
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


def typing_only(path: Path) -> set[int]:
    """The lines under `if TYPE_CHECKING:`."""
    blocks = [
        node for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]  # fmt: skip
    return {line for block in blocks for line in range(block.lineno, (block.end_lineno or block.lineno) + 1)}


@pytest.mark.parametrize("path", [p for p in MODULES if "htm_core" in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downward_only(path: Path) -> None:
    mine = part(path)
    for name, line in imported(path):
        if line in typing_only(path) or not name.startswith("htm_core."):
            continue
        theirs = name.split(".")[1]
        if theirs in LAYERS and theirs != mine:
            lower = LAYERS[theirs] < LAYERS[mine]
            beside = LAYERS[theirs] == LAYERS[mine] and mine not in ("store", "models", "hive", "palace")
            assert lower or beside, f"{path.name}:{line} imports {name}, which is not below {mine}"


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


def functions() -> list[tuple[str, int]]:
    """Every function's name and length, without its docstring."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = node.body[0] if ast.get_docstring(node) is not None else None
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                lines -= ((doc.end_lineno or doc.lineno) - doc.lineno + 1) if doc else 0
                found.append((f"{path.relative_to(ROOT)}:{node.name}", lines))
    return found


def test_functions_are_short() -> None:
    lengths = sorted(lines for _, lines in functions())
    assert statistics.median(lengths) <= 8
    assert lengths[int(0.9 * len(lengths))] <= 25
    assert [name for name, lines in functions() if lines > 60] == []


def test_modules_are_of_a_size_to_read() -> None:
    assert [str(path) for path in MODULES if len(path.read_text().splitlines()) > 600] == []


def test_no_module_is_named_for_nothing() -> None:
    assert [str(path) for path in MODULES if path.stem in BANNED] == []


def test_every_verb_is_awaitable() -> None:
    """Each public method of Memory, Log and Collection has its twin."""
    twins = (
        (Memory, AsyncMemory), (Group, AsyncGroup), (Log, AsyncLog), (Collection, AsyncCollection), (Tags, AsyncTags),
        (Jobs, AsyncJobs), (Backup, AsyncBackup),
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


@pytest.mark.parametrize("file", sorted((ROOT / "htm_core" / "store").glob("*.sql")), ids=lambda p: p.name)
def test_each_file_of_statements_names_them_once(file: Path) -> None:
    text = file.read_text()
    names = re.findall(r"^-- name: (\w+)", text, re.M)
    assert len(names) == len(set(names)) == len(load(file.stem).names())
