"""Tags as a tree: to print, and to draw as Mermaid or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from ..base.errors import InvalidInput

DIRECTIONS = ("LR", "TD", "RL", "BT")
_ROW, _INDENT, _CHARACTER, _MARGIN = 26, 28, 8, 16  # pixels of a drawing


@dataclass(frozen=True, slots=True)
class TagTree:
    """A tag with the tags below it and their numbers of nodes; the root's `tag` is empty, or the
    requested prefix.

    Iteration is depth first, without the root. `str()` is the tree as lines of text.
    """

    tag: str
    nodes: int
    children: tuple[TagTree, ...] = ()

    @property
    def level(self) -> str:
        """The last level: "colour" of "user:preference:colour"."""
        return self.tag.rpartition(":")[2]

    def __iter__(self) -> Iterator[TagTree]:
        for child in self.children:
            yield child
            yield from child

    def __str__(self) -> str:
        head = [f"{self.tag} ({self.nodes:,})"] if self.tag else []
        return "\n".join([*head, *_branches(self, "")])

    def mermaid(self, *, direction: str = "LR") -> str:
        """A Mermaid flow chart; `direction` is "LR", "TD", "RL" or "BT"."""
        if direction not in DIRECTIONS:
            raise InvalidInput(
                f"expected direction to be one of {', '.join(DIRECTIONS)}, got {direction!r}"
            )
        drawn = _drawn(self)
        names = {each.tag: f"t{number}" for number, each in enumerate(drawn)}
        lines = [f"flowchart {direction}"]
        lines += [f'  {names[each.tag]}["{_plain(each.level)} ({each.nodes:,})"]' for each in drawn]
        lines += [
            f"  {names[each.tag]} --> {names[child.tag]}"
            for each in drawn
            for child in each.children
        ]
        return "\n".join(lines)

    def svg(self, *, title: str = "Tags") -> str:
        """A complete SVG drawing with one line for each tag."""
        rows = list(_rows(self, 0 if self.tag else -1))
        widest = max(
            (depth * _INDENT + len(_label(each)) * _CHARACTER for depth, each in rows), default=0
        )
        width, height = widest + 3 * _MARGIN, _ROW * (len(rows) + 1) + _MARGIN
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" '
            f'font-family="monospace" font-size="13"><title>{escape(title)}</title>'
        )
        body = "".join(_line(rows, at) for at in range(len(rows)))
        return f'{head}<rect width="100%" height="100%" fill="#ffffff"/>{body}</svg>'


def grow(counts: Mapping[str, int], *, prefix: str | None = None, nodes: int = 0) -> TagTree:
    """The tree of normalized tags, each with its number of nodes; an ancestor without a count of
    its own has 0.

    `prefix` is the root; `nodes` is the number at the root if it has no count of its own.
    """
    below: dict[str, list[str]] = {}
    known: set[str] = set()
    for tag in sorted(counts):
        _plant(tag, below, known)
    return _grown(prefix or "", counts, below, nodes)


def _plant(tag: str, below: dict[str, list[str]], known: set[str]) -> None:
    while tag and tag not in known:
        known.add(tag)
        parent = tag.rpartition(":")[0]
        below.setdefault(parent, []).append(tag)
        tag = parent


def _grown(
    tag: str, counts: Mapping[str, int], below: Mapping[str, list[str]], nodes: int
) -> TagTree:
    children = tuple(_grown(child, counts, below, 0) for child in sorted(below.get(tag, ())))
    return TagTree(tag, counts.get(tag, nodes), children)


def _branches(tree: TagTree, indent: str) -> Iterator[str]:
    for child in tree.children:
        last = child is tree.children[-1]
        yield f"{indent}{'└── ' if last else '├── '}{_label(child)}"
        yield from _branches(child, indent + ("    " if last else "│   "))


def _label(tree: TagTree) -> str:
    return f"{tree.level} ({tree.nodes:,})"


def _drawn(tree: TagTree) -> list[TagTree]:
    return [tree, *tree] if tree.tag else list(tree)


def _plain(level: str) -> str:
    """A level as a Mermaid label, with markup characters as entities."""
    return level.translate({ord("&"): "#amp;", ord("#"): "#35;"})


def _rows(tree: TagTree, depth: int) -> Iterator[tuple[int, TagTree]]:
    if depth >= 0:
        yield depth, tree
    for child in tree.children:
        yield from _rows(child, depth + 1)


def _line(rows: list[tuple[int, TagTree]], at: int) -> str:
    """One tag, and the elbow that joins it to its parent's line."""
    depth, tree = rows[at]
    x, y = _MARGIN + depth * _INDENT, _ROW * (at + 1)
    text = f'<text x="{x}" y="{y + 4}" fill="#1f2933">{escape(_label(tree))}</text>'
    if depth == 0:
        return text
    above = next(before for before in range(at - 1, -1, -1) if rows[before][0] == depth - 1)
    bend = x - _INDENT + 6
    return (
        f'<path d="M{bend} {_ROW * (above + 1) + 8}V{y}H{x - 4}" fill="none" '
        f'stroke="#9aa5b1"/>{text}'
    )
