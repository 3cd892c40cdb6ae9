"""`htm tags`: shows tags as a tree, searches them, adds and removes them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..base.errors import InvalidInput
from ..base.types import TagCount, TagFound, TagRelated
from ..memory.memory import Memory
from ..tags.tag_tree import TagTree
from . import completion
from .ids import memory_id
from .listing import Column, show_rows
from .memories import end_empty
from .options import CommonOptions
from .rendering import print_json, printable, stdout_console


class TagAction(StrEnum):
    """The subcommands."""

    tree = "tree"
    popular = "popular"
    search = "search"
    related = "related"
    add = "add"
    remove = "remove"


class Drawing(StrEnum):
    """The ways to draw a tree."""

    text = "text"
    mermaid = "mermaid"
    svg = "svg"


TAKES = {
    TagAction.tree: "[TAG]",
    TagAction.popular: "",
    TagAction.search: "WORDS",
    TagAction.related: "TAG",
    TagAction.add: "ID_OR_KEY TAG…",
    TagAction.remove: "ID_OR_KEY TAG…",
}


def _closeness(row: TagCount | TagFound | TagRelated) -> float | None:
    return (
        row.score
        if isinstance(row, TagFound)
        else row.weight
        if isinstance(row, TagRelated)
        else None
    )


def _nodes(row: TagCount | TagFound | TagRelated) -> int:
    return row.shared if isinstance(row, TagRelated) else row.nodes


COUNTED: Sequence[Column[TagCount | TagFound | TagRelated]] = (
    Column(name="nodes", value=_nodes, shown=lambda row: f"{_nodes(row):,}", right=True),
    Column(
        name="closeness",
        value=_closeness,
        right=True,
        shown=lambda row: "" if (close := _closeness(row)) is None else f"{close:.2f}",
    ),
    Column(name="tag", value=lambda row: row.tag),
)


def tags(
    common: CommonOptions,
    act: Annotated[
        TagAction, typer.Argument(metavar="tree|popular|search|related|add|remove")
    ] = TagAction.tree,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help="A tag, words to search for, or a memory and its tags.",
            autocompletion=completion.memories,
        ),
    ] = None,
    drawn: Annotated[Drawing, typer.Option("--as", help="How a tree is drawn.")] = Drawing.text,
    timeframe: Annotated[
        str | None, typer.Option("--timeframe", help="For popular: only what was said then.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
    ] = 20,
) -> None:
    """Show tags as a tree, the popular ones, those like a word or related to a tag; add and remove
    tags.
    """
    arguments = words or []
    _check(act, arguments)
    with common.memory() as memory:
        if act is TagAction.tree:
            _draw(common, memory.tags.tree(arguments[0] if arguments else None), drawn)
        elif act in (TagAction.add, TagAction.remove):
            _change(common, memory, act, arguments)
        else:
            _list(common, _found(memory, act, arguments, timeframe=timeframe, limit=limit))


def _check(act: TagAction, arguments: Sequence[str]) -> None:
    fewest, largest = {
        TagAction.tree: (0, 1),
        TagAction.popular: (0, 0),
        TagAction.add: (2, 99),
        TagAction.remove: (2, 99),
    }.get(act, (1, 1))
    if not fewest <= len(arguments) <= largest:
        raise typer.BadParameter(f"expected: htm tags {act.value} {TAKES[act]}".rstrip())


def _found(
    memory: Memory, act: TagAction, arguments: Sequence[str], *, timeframe: str | None, limit: int
) -> Sequence[TagCount | TagFound | TagRelated]:
    if act is TagAction.search:
        return memory.tags.search(arguments[0], limit=limit)
    if act is TagAction.related:
        return memory.tags.related(arguments[0], limit=limit)
    return memory.tags.popular(limit=limit, timeframe=timeframe)


def _draw(common: CommonOptions, tree: TagTree, drawn: Drawing) -> None:
    if common.csv:
        raise InvalidInput(
            "expected no --csv for a tree of tags; htm tags popular --csv lists them"
        )
    if common.json:
        print_json(_nested(tree))
    elif not tree.children and not tree.nodes:
        end_empty("There are no tags.")
    elif drawn is Drawing.text:
        stdout_console().print(printable(str(tree), longest=1_000_000))
    else:
        typer.echo(tree.mermaid() if drawn is Drawing.mermaid else tree.svg())


def _nested(tree: TagTree) -> dict[str, Any]:
    return {
        "tag": tree.tag,
        "nodes": tree.nodes,
        "children": [_nested(child) for child in tree.children],
    }


def _change(
    common: CommonOptions, memory: Memory, act: TagAction, arguments: Sequence[str]
) -> None:
    change = memory.tags.add if act is TagAction.add else memory.tags.remove
    node = change(memory_id(memory, arguments[0]), arguments[1:])
    if common.json:
        print_json(node)
    else:
        stdout_console().print(printable(f"{node.id}  {', '.join(node.tags) or 'no tags'}"))


def _list(common: CommonOptions, rows: Sequence[TagCount | TagFound | TagRelated]) -> None:
    show_rows(common, rows, COUNTED)
    if not rows:
        end_empty("No tags were found.")
