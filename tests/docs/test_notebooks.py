"""Every notebook runs from top to bottom as a reader would run it, with outputs of the kinds that are committed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.markdown import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 280  # for one cell; the first one may start a database
# Paths and addresses of a machine, which a published notebook must not show.
PRIVATE = re.compile(r"/(?:home|root|tmp|var|Users)/|[Cc]:\\|\b\d{1,3}(?:\.\d{1,3}){3}\b")
OUTPUTS = {"stream", "display_data", "execute_result"}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@each_notebook
@pytest.mark.timeout(2 * SECONDS)
def test_a_notebook_runs_from_top_to_bottom(path: Path, empty_database: str, weights_dir: Path, tmp_path: Path) -> None:
    notebook = read(path)
    committed = [[output.output_type for output in cell.outputs] for cell in code_cells(notebook)]
    own = {"HTM_DATABASE_URL": empty_database, "HTM_HOME": str(tmp_path), "HTM_MODEL_DIR": str(weights_dir)}
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(
        env={**os.environ, **own, "PYTHONPATH": str(ROOT), "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    )
    for cell, kinds in zip(code_cells(notebook), committed, strict=True):
        found = {output.output_type for output in cell.outputs if output.get("name") != "stderr"}
        assert found == set(kinds), cell.source


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
    return str(output.get("text", "")) + "".join(str(shown[kind]) for kind in shown if kind.startswith("text/"))


@each_notebook
def test_something_is_shown_that_is_better_seen_than_read(path: Path) -> None:
    kinds = {kind for cell in code_cells(read(path)) for output in cell.outputs for kind in output.get("data", {})}
    assert kinds & {"image/png", "image/svg+xml", "text/html", "text/markdown"}


@each_notebook
def test_it_tells_a_newcomer_what_to_do_before_the_first_code(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert "pip install" in "".join(cell.source for cell in cells[:3])


def test_the_tutorials_are_there() -> None:
    assert {
        "01_langchain_agent", "02_langchain_chain", "03_llamaindex_chat", "04_llamaindex_query_engine",
    } <= {path.stem for path in NOTEBOOKS}  # fmt: skip
