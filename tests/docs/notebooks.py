"""Run notebooks and keep their outputs: `python -m tests.docs.notebooks notebooks/01_langchain_agent.ipynb …`

With `OLLAMA_MODEL` in the environment a model of Ollama answers in those that ask one; its answers are what is published.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.docs.markdown import ROOT

SECONDS = 280  # for one cell; the first one may start a database


def run(notebook: nbformat.NotebookNode, folder: Path, own: dict[str, str] | None = None) -> None:
    """Run all cells in a new kernel, which works in the folder and has these variables."""
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
        record_timing=False, coalesce_streams=True,
    )  # fmt: skip
    backend = "module://matplotlib_inline.backend_inline"
    client.execute(env={**os.environ, **(own or {}), "PYTHONPATH": str(ROOT), "MPLBACKEND": backend})


def main(paths: list[str]) -> None:
    """Run these notebooks, and write each without its warnings when it has ended without an error."""
    for path in map(Path, paths):
        notebook = nbformat.read(path, as_version=4)
        run(notebook, path.parent)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        notebook.metadata.language_info = {"name": "python"}
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
