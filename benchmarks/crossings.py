"""Code that a reader crosses to follow a verb: the files and functions of the packages that one call runs through.

    python -m benchmarks.crossings             # the table
    python -m benchmarks.crossings --names     # also the functions of each file

A memory on the embedded server is filled and warmed up first, so that opening it, loading the tokenizer and preparing
statements are not counted. Then each verb is called once under `sys.setprofile`, which sees every Python function of the
calling thread. Generator expressions, comprehensions and lambdas are counted with the function that they stand in. What
the worker does in its own thread is not counted. The embedder is a stand-in, so that no model is loaded.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

import htm_core
from benchmarks.corpus import Corpus, RandomEmbedder
from htm_core import Memory, Settings, shutdown

ROOT = (
    Path(htm_core.__file__).resolve().parents[1]
)  # PYTHONPATH may name another checkout, to compare
PACKAGES = tuple(
    f"{ROOT / package}{os.sep}" for package in ("htm_core", "htm_langchain", "htm_llamaindex")
)

Crossed = Mapping[str, set[str]]


def main() -> None:
    """Call each verb, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", action="store_true", help="print the functions of each file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        with Memory(
            "bench", embedder=RandomEmbedder(Corpus(100)), settings=Settings(worker="off")
        ) as memory:
            measured = {name: crossed(call) for name, call in calls(memory).items()}
        shutdown()
    table = Table("verb", "files", "functions")
    for name, files in measured.items():
        table.add_row(name, str(len(files)), str(sum(map(len, files.values()))))
    console = Console(width=120)
    console.print(table)
    if args.names:
        for name, files in measured.items():
            console.print(f"\n{name}")
            for file in sorted(files):
                console.print(
                    f"  {file} ({len(files[file])}): {', '.join(sorted(files[file]))}",
                    highlight=False,
                )


def calls(memory: Memory) -> dict[str, Callable[[], object]]:
    """The calls that are measured, on a memory that has some content and has answered each verb before."""
    memory.remember_many(
        [
            {
                "content": f"Clara likes thing {n} and lives in town {n}.",
                "name": "Clara",
                "session": "s",
            }
            for n in range(30)
        ]
    )
    memory.flush()
    memory.recall("What does Clara like?")
    memory.remember("She has a dog.", tags=["pet:dog"])
    memory.context()
    memory.flush()
    return {
        "recall, hits not held in working memory": lambda: memory.recall(
            "Where does Clara live?", hold=False
        ),
        "recall": lambda: memory.recall("What does Clara like about town 7?"),
        "remember": lambda: memory.remember("A quite new text.", tags=["topic:new"]),
        "context": lambda: memory.context(budget=200),
    }


def crossed(call: Callable[[], object]) -> Crossed:
    """Call once; give the functions that ran, by file."""
    files: dict[str, set[str]] = defaultdict(set)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGES):
            name = code.co_qualname
            while name.endswith(">"):  # of "f.<locals>.<lambda>" only f is counted
                name = name.rpartition(".<")[0].removesuffix(".<locals>")
            if name:
                files[Path(code.co_filename).relative_to(ROOT).as_posix()].add(name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


if __name__ == "__main__":
    main()
