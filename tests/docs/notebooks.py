"""Run notebooks and keep their outputs: `python -m tests.docs.notebooks notebooks/01_langchain_agent.ipynb …`

With `OLLAMA_MODEL` in the environment a model of Ollama answers in those that ask one; its answers are what is published.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

from tests.docs.markdown import ROOT

SECONDS = 280  # for one cell; the first one may start a database


# What a kernel does before each notebook: nothing is left of the one before but the modules that it imported.
ANEW = """
%reset -f
import os, htm_core
htm_core.shutdown()
os.chdir({folder!r})
os.environ.update({own!r})
del os, htm_core
"""


@contextmanager
def new_kernel() -> Iterator[AsyncKernelManager]:
    """A kernel for several notebooks, which is started with the first one."""
    kernel = AsyncKernelManager(kernel_name="python3")
    yield kernel
    run_sync(kernel.shutdown_kernel)(now=True)


def run(
    notebook: nbformat.NotebookNode,
    kernel: AsyncKernelManager,
    folder: Path,
    own: dict[str, str] | None = None,
) -> None:
    """Run all cells in a kernel, which works in the folder and has these variables."""
    first = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(ANEW.format(folder=str(folder.resolve()), own=own or {}))]
    )
    backend = "module://matplotlib_inline.backend_inline"
    for each in (first, notebook):
        client = NotebookClient(
            each,
            km=kernel,
            timeout=SECONDS,
            record_timing=False,
            coalesce_streams=True,
            ipython_hist_file=":memory:",
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": backend})


def main(paths: list[str]) -> None:
    """Run these notebooks, and write each without its warnings when it has ended without an error."""
    for path in map(Path, paths):
        notebook = nbformat.read(path, as_version=4)
        with new_kernel() as kernel:
            run(notebook, kernel, path.parent)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        notebook.metadata.language_info = {"name": "python"}
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
