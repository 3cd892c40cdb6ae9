"""Every notebook runs from top to bottom as a reader would run it, with outputs of the kinds that are committed."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from packaging.requirements import Requirement

from tests.docs import ollama_server
from tests.docs.markdown import ROOT
from tests.docs.notebooks import SECONDS, new_kernel, run

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WITH_A_MODEL = NOTEBOOKS[:3]
LONG = (
    NOTEBOOKS[0],
    NOTEBOOKS[2],
)  # of a hundred turns: they are run with a model, and not without one too
MOST_ASKED = 10  # calls of the model in a notebook
# Paths and addresses of a machine, which a published notebook must not show.
PRIVATE = re.compile(r"/(?:home|root|tmp|var|Users)/|[Cc]:\\|\b\d{1,3}(?:\.\d{1,3}){3}\b")
OUTPUTS = {"stream", "display_data", "execute_result"}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def kernel() -> Iterator[AsyncKernelManager]:
    """One for all notebooks: what they import takes longer than what they do."""
    with new_kernel() as made:
        yield made


@pytest.mark.parametrize(
    ("path", "model"), [*((path, "stand-in-chat") for path in WITH_A_MODEL), *((path, "") for path in NOTEBOOKS if path not in LONG)],
    ids=lambda each: each.stem if isinstance(each, Path) else each or "no-model",
)  # fmt: skip
@pytest.mark.timeout(2 * SECONDS)
def test_a_notebook_runs_from_top_to_bottom_and_asks_a_model_of_ollama_seldom(
    path: Path,
    model: str,
    kernel: AsyncKernelManager,
    empty_database: str,
    weights_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook = read(path)
    committed = [[output.output_type for output in cell.outputs] for cell in code_cells(notebook)]
    asked: list[dict[str, Any]] = []
    answer = ollama_server.said
    monkeypatch.setattr(ollama_server, "said", lambda each: (asked.append(each), answer(each))[1])
    with ollama_server.serving() as ollama:
        own = {
            "HTM_DATABASE_URL": empty_database,
            "HTM_HOME": str(tmp_path),
            "HTM_MODEL_DIR": str(weights_dir),
        }
        run(notebook, kernel, tmp_path, {**own, "OLLAMA_MODEL": model, "OLLAMA_HOST": ollama})
    assert bool(asked) == bool(model)
    assert len(asked) <= MOST_ASKED
    for cell, kinds in zip(code_cells(notebook), committed, strict=True):
        found = {output.output_type for output in cell.outputs if output.get("name") != "stderr"}
        assert found == set(kinds), cell.source


@pytest.mark.parametrize("path", WITH_A_MODEL, ids=lambda path: path.stem)
def test_the_answers_that_are_committed_are_a_models(path: Path) -> None:
    first = code_cells(read(path))[0]
    assert re.fullmatch("answers come from: (Chat)?Ollama", text_of(first.outputs[0]).strip())


@each_notebook
def test_its_outputs_are_committed_and_say_nothing_of_a_machine(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= OUTPUTS
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    assert not PRIVATE.search("".join(text_of(output) for output in outputs))


def text_of(output: nbformat.NotebookNode) -> str:
    shown = output.get("data", {})
    return str(output.get("text", "")) + "".join(
        str(shown[kind]) for kind in shown if kind.startswith("text/")
    )


@each_notebook
def test_something_is_shown_that_is_better_seen_than_read(path: Path) -> None:
    kinds = {
        kind
        for cell in code_cells(read(path))
        for output in cell.outputs
        for kind in output.get("data", {})
    }
    assert kinds & {"image/png", "image/svg+xml", "text/html", "text/markdown"}


@each_notebook
def test_it_tells_a_newcomer_what_to_do_before_the_first_code(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    told = "".join(cell.source for cell in cells[:2])
    assert "pip install -e" in told, "the package is on no index yet"
    assert "jupyter" in told


@each_notebook
def test_what_it_imports_comes_with_what_it_tells_to_install(path: Path) -> None:
    notebook = read(path)
    told = "".join(cell.source for cell in notebook.cells[:2])
    [extras, others] = re.findall(r'pip install -e "\.\[([\w,]+)\]"([^`]*)`', told)[0]
    wanted = [
        "ipykernel",
        *others.split(),
        *re.findall(r"pip install ([\w-]+)`", told),
    ]  # Jupyter brings IPython's kernel
    installed = brought("htm-memory", frozenset(extras.split(","))).union(
        *(brought(name) for name in wanted)
    )
    for cell in code_cells(notebook):
        source = re.sub(r"^(\s*)await ", r"\1", cell.source, flags=re.M)
        for node in ast.walk(ast.parse(source)):
            names = (
                [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                providers = {normal(each) for each in distributions().get(name, [name])}
                assert providers & (installed | {"htm-memory"}) or name.startswith("htm_"), (
                    f"{name} is not installed"
                )


distributions = cache(packages_distributions)  # it reads the metadata of all that is installed


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def brought(name: str, extras: frozenset[str] = frozenset()) -> frozenset[str]:
    """What installing a distribution with extras brings, itself included, as far as it is installed here."""
    found, ahead = set[str](), [(name, extras)]
    while ahead:
        each, wanted = ahead.pop()
        if normal(each) in found:
            continue
        found.add(normal(each))
        with suppress(PackageNotFoundError):
            for line in requires(each) or ():
                requirement = Requirement(line)
                marker = requirement.marker
                if marker is None or any(
                    marker.evaluate({"extra": extra}) for extra in wanted or {""}
                ):
                    ahead.append((requirement.name, frozenset(requirement.extras)))
    return frozenset(found)


def test_the_tutorials_are_there() -> None:
    assert {
        "01_langchain_agent", "02_langchain_chain", "03_llamaindex_chat", "04_llamaindex_query_engine",
    } <= {path.stem for path in NOTEBOOKS}  # fmt: skip
