"""Structure of the code: parts, layers, imports between parts, import circles, and lines.

    python -m benchmarks.structure            # this checkout
    python -m benchmarks.structure FOLDER     # another one, to compare
    python -m benchmarks.structure --edges    # also each import between two parts

A part is a folder of `htm_core`, a module directly in `htm_core`, an adapter package, or the benchmarks. An edge is a part
that imports from another one, counted once however many of its files do. Imports are read from the source, those inside
functions and under `TYPE_CHECKING` included. The layer of a part is 0 when it imports no other part, else one more than the
highest layer among the parts that it imports; parts that import each other share a layer.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("htm_core", "htm_langchain", "htm_llamaindex")
PACKAGES = (*PRODUCT, "benchmarks")

Graph = dict[str, set[str]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=ROOT,
        help="the root of a checkout; default: this one",
    )
    parser.add_argument("--edges", action="store_true", help="print each edge between two parts")
    args = parser.parse_args()
    files = file_graph(args.folder)
    parts = part_graph(files)
    levels = layers(parts)
    console = Console(width=120)
    console.print(summary(args.folder, files, parts, levels))
    console.print(layer_table(levels))
    for circle in circles(files):
        console.print("circle of files: " + ", ".join(circle))
    if args.edges:
        console.print(
            "\n".join(
                f"{part} -> {other}" for part in sorted(parts) for other in sorted(parts[part])
            )
        )


def file_graph(root: Path) -> Graph:
    """For each file of the packages the files that it imports, all by their paths below the root."""
    paths = sorted(
        path.relative_to(root) for package in PACKAGES for path in (root / package).rglob("*.py")
    )
    modules = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path.as_posix()
        for path in paths
    }
    graph: Graph = {}
    for path in paths:
        targets = {
            modules[name]
            for name in imported(root / path, package=path.parent.parts, modules=modules)
        }
        graph[path.as_posix()] = targets - {path.as_posix()}
    return graph


def imported(file: Path, *, package: Sequence[str], modules: Mapping[str, str]) -> Iterator[str]:
    """The modules that a file imports: `from a import b` means the module a.b where there is one, else the module a."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, name in names:
            if f"{base}.{name}" in modules:
                yield f"{base}.{name}"
            elif base in modules:
                yield base


def part_of(file: str) -> str:
    """The part of a file: what stands first below `htm_core`, else its package."""
    package, *rest = file.split("/")
    return rest[0].removesuffix(".py") if package == "htm_core" else package


def part_graph(files: Graph) -> Graph:
    """For each part the other parts that it imports."""
    graph: Graph = {part_of(file): set() for file in files}
    for file, others in files.items():
        graph[part_of(file)] |= {part_of(other) for other in others} - {part_of(file)}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """The groups of files, or parts, that import each other directly or through others (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            start = stack.index(node)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(groups)


def layers(parts: Graph) -> dict[str, int]:
    """The layer of each part."""
    group = {part: part for part in parts} | {
        part: circle[0] for circle in circles(parts) for part in circle
    }
    below: Graph = {each: set() for each in group.values()}
    for part, others in parts.items():
        below[group[part]] |= {group[other] for other in others} - {group[part]}
    level: dict[str, int] = {}
    for name in TopologicalSorter(below).static_order():
        level[name] = max((level[other] + 1 for other in below[name]), default=0)
    return {part: level[group[part]] for part in parts}


def lines(root: Path, folders: Sequence[str], *suffixes: str) -> int:
    """The lines of the files of these kinds in these folders."""
    paths = [
        path for folder in folders for path in (root / folder).rglob("*") if path.suffix in suffixes
    ]
    return sum(path.read_bytes().count(b"\n") for path in paths)


def summary(root: Path, files: Graph, parts: Graph, levels: Mapping[str, int]) -> Table:
    """The numbers."""
    table = Table(title=str(root.resolve().name), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rows = {
        "parts": len(parts),
        "layers": len(set(levels.values())),
        "edges between parts": sum(map(len, parts.values())),
        "circles of parts": len(circles(parts)),
        "circles of files": len(circles(files)),
        "files of the product": sum(not file.startswith("benchmarks/") for file in files),
        "lines of the product, Python": lines(root, PRODUCT, ".py"),
        "lines of the product, SQL": lines(root, PRODUCT, ".sql"),
        "lines of tests": lines(root, ["tests"], ".py"),
        "lines of benchmarks": lines(root, ["benchmarks"], ".py"),
        "lines of docs": lines(root, ["docs"], ".md"),
    }
    for name, value in rows.items():
        table.add_row(name, f"{value:,}")
    return table


def layer_table(levels: Mapping[str, int]) -> Table:
    """The parts of each layer, the highest layer first."""
    table = Table("layer", "parts")
    for level in sorted(set(levels.values()), reverse=True):
        table.add_row(
            str(level), ", ".join(sorted(part for part in levels if levels[part] == level))
        )
    return table


if __name__ == "__main__":
    main()
