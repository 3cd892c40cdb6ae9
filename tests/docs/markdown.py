"""Reads Markdown for the tests of the documentation: fenced blocks, headings, links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
GUIDES = sorted(
    [*(ROOT / "docs" / "migrate").glob("*.md"), *(ROOT / "docs" / "recipes").glob("*.md")]
)
EVERYTHING = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^ {0,3}```(\w*)[^\n]*$")
_NOT_RUN = re.compile(r"<!-- not run: \S.*-->")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the number of its first line, and whether it is marked as not run."""

    language: str
    text: str
    line: int
    skipped: bool


def blocks(path: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    found: list[Block] = []
    language, start, above = None, 0, ""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence and language is None:
            language, start = fence[1], number + 1
        elif fence:
            text = "\n".join(lines[start:number])
            found.append(Block(str(language), text, start + 1, _NOT_RUN.search(above) is not None))
            language, above = None, ""
        elif language is None and line.strip():
            above = line
    assert language is None, f"{path.name}: the block that begins at line {start} is not closed"
    return found


def program(path: Path) -> str:
    """The Python of a page as one program. Lines keep their numbers, so that a traceback names the line of the page."""
    lines = [""] * (path.read_text(encoding="utf-8").count("\n") + 1)
    for block in blocks(path):
        if block.language == "python" and not block.skipped:
            for offset, line in enumerate(block.text.splitlines()):
                lines[block.line - 1 + offset] = line
    return "\n".join(lines)


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    lines, inside = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def sections(path: Path) -> dict[str, str]:
    """The text under each heading, of any level, up to the next heading."""
    found: dict[str, list[str]] = {}
    current, inside = "", False
    for line in path.read_text(encoding="utf-8").splitlines():
        inside = inside != bool(_FENCE.match(line))
        heading = None if inside else _HEADING.match(line)
        if heading:
            current = heading[1].replace("`", "")
        found.setdefault(current, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings, and those that the site makes of public names and their members."""
    headings = {
        re.sub(r"[^\w\- ]", "", name).strip().lower().replace(" ", "-") for name in sections(path)
    }
    names = re.findall(r"^::: (\S+)$", prose(path), re.M)
    return headings | {
        anchor
        for name in names
        for anchor in (name, *(f"{name}.{of}" for of in dir(resolve_name(name))))
    }


def links(path: Path) -> list[str]:
    """The targets of a page's links, without those to other sites."""
    return [target for target in _LINK.findall(prose(path)) if not re.match(r"[a-z]+:", target)]
