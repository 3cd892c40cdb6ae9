"""Tags: `htm tags` draws them as a tree, looks for them, and gives and takes them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..memory import Memory
from ..rules.text.tag_tree import TagTree
from ..types import TagCount, TagFound, TagRelated
from .json_output import answer
from .memories import nothing
from .options import Whose
from .rendering import console, shown, table


class Act(StrEnum):
    """What to do with tags."""

    tree = "tree"
    popular = "popular"
    search = "search"
    related = "related"
    add = "add"
    remove = "remove"


class Drawing(StrEnum):
    """How a tree is drawn."""

    text = "text"
    mermaid = "mermaid"
    svg = "svg"


TAKES = {
    Act.tree: "[TAG]", Act.popular: "", Act.search: "WORDS", Act.related: "TAG", Act.add: "ID_OR_KEY TAG…",
    Act.remove: "ID_OR_KEY TAG…",
}  # fmt: skip


def tags(
    whose: Whose,
    act: Annotated[Act, typer.Argument(metavar="tree|popular|search|related|add|remove")] = Act.tree,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="A tag, what to look for, or a memory and its tags.")
    ] = None,
    drawn: Annotated[Drawing, typer.Option("--as", help="How a tree is drawn.")] = Drawing.text,
    timeframe: Annotated[str | None, typer.Option("--timeframe", help="For popular: only what was said then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """Show tags as a tree, the popular ones, those that are called so or that go with another; give and take them."""
    given = words or []
    _check(act, given)
    with whose.memory() as memory:
        if act is Act.tree:
            _draw(whose, memory.tags.tree(given[0] if given else None), drawn)
        elif act in (Act.add, Act.remove):
            _change(whose, memory, act, given)
        else:
            _list(whose, _found(memory, act, given, timeframe=timeframe, limit=limit))


def _check(act: Act, given: Sequence[str]) -> None:
    fewest, most = {Act.tree: (0, 1), Act.popular: (0, 0), Act.add: (2, 99), Act.remove: (2, 99)}.get(act, (1, 1))
    if not fewest <= len(given) <= most:
        raise typer.BadParameter(f"expected: htm tags {act.value} {TAKES[act]}".rstrip())


def _found(
    memory: Memory, act: Act, given: Sequence[str], *, timeframe: str | None, limit: int
) -> Sequence[TagCount | TagFound | TagRelated]:
    if act is Act.search:
        return memory.tags.search(given[0], limit=limit)
    if act is Act.related:
        return memory.tags.related(given[0], limit=limit)
    return memory.tags.popular(limit=limit, timeframe=timeframe)


def _draw(whose: Whose, tree: TagTree, drawn: Drawing) -> None:
    if whose.json:
        answer(_nested(tree))
    elif not tree.children and not tree.nodes:
        nothing("There are no tags.")
    elif drawn is Drawing.text:
        console().print(shown(str(tree), longest=1_000_000))
    else:
        typer.echo(tree.mermaid() if drawn is Drawing.mermaid else tree.svg())


def _nested(tree: TagTree) -> dict[str, Any]:
    return {"tag": tree.tag, "nodes": tree.nodes, "children": [_nested(child) for child in tree.children]}


def _change(whose: Whose, memory: Memory, act: Act, given: Sequence[str]) -> None:
    change = memory.tags.add if act is Act.add else memory.tags.remove
    node = change(given[0], given[1:])
    if whose.json:
        answer(node)
    else:
        console().print(shown(f"{node.id}  {', '.join(node.tags) or 'no tags'}"))


def _list(whose: Whose, found: Sequence[TagCount | TagFound | TagRelated]) -> None:
    if whose.json:
        answer(found)
    elif found:
        made = table("nodes", "closeness", "tag", right=("nodes", "closeness"))
        for each in found:
            many = each.shared if isinstance(each, TagRelated) else each.nodes
            close = each.score if isinstance(each, TagFound) else each.weight if isinstance(each, TagRelated) else None
            made.add_row(f"{many:,}", "" if close is None else f"{close:.2f}", shown(each.tag))
        console().print(made)
    if not found:
        nothing("No tag was found.")
