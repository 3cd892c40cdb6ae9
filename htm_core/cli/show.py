"""`htm list` and `htm show`: memories without a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from ..base.types import Job, Mention, Node, Related, Supersession
from ..memory.memory import Memory
from ..prompt.origin import mentions_of
from . import completion
from .ids import memory_id, short
from .listing import Column, show_rows
from .memories import Limit, Tags, Where, end_without_user
from .options import CommonOptions, json_object, split_values
from .relations import path_text
from .rendering import (
    key_value_table,
    local_time,
    make_table,
    print_json,
    printable,
    speaker,
    stdout_console,
)

MENTIONS, RELATED, CHANGES = 20, 20, 20


def _with_tags(node: Node) -> Text:
    text = printable(node.content)
    return Text.assemble(text, (f"\n{', '.join(node.tags)}", "dim")) if node.tags else text


NODES: Sequence[Column[Node]] = (
    Column(name="id", value=lambda node: node.id, shown=lambda node: short(node.id)),
    Column(
        name="when", value=lambda node: node.last_said or node.created_at,
        shown=lambda node: local_time(node.last_said or node.created_at),
    ),
    Column(name="keys", value=lambda node: node.keys, exact=True),
    Column(name="tags", value=lambda node: node.tags, exact=True),
    Column(name="importance", value=lambda node: node.importance, exact=True),
    Column(name="metadata", value=lambda node: node.metadata, exact=True),
    Column(name="memory", value=lambda node: node.content, shown=_with_tags),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMemory:
    """All that `htm show` tells of a memory. `versions` are those of its keys, oldest first."""

    node: Node
    mentions: Sequence[Mention]
    versions: dict[str, Sequence[Node]]
    related: Sequence[Related]
    changes: Sequence[Supersession]
    jobs: Sequence[Job]


def list_memories(
    common: CommonOptions,
    tags: Tags = None,
    where: Where = None,
    limit: Limit = 20,
    after: Annotated[
        str | None,
        typer.Option(
            "--after",
            metavar="ID",
            help="Only older ones than this: the next page.",
            autocompletion=completion.memories,
        ),
    ] = None,
) -> None:
    """List memories, the newest first."""
    with common.memory() as memory:
        follows = None if after is None else memory_id(memory, after, forgotten=True)
        nodes = memory.list(
            tags=split_values(tags), where=json_object(where), limit=limit, after=follows
        )
        show_rows(common, nodes, NODES)
        if not nodes:
            end_without_user(common, memory, "There are no such memories.")


def show(
    common: CommonOptions,
    id_or_key: Annotated[
        str,
        typer.Argument(
            metavar="ID_OR_KEY",
            help="A memory, by its id or its key.",
            autocompletion=completion.memories,
        ),
    ],
) -> None:
    """Show one memory: its text, tags, mentions, versions, relations, changes and jobs."""
    with common.memory() as memory:
        shown = _read(memory, memory.get(memory_id(memory, id_or_key)))
    if common.json:
        print_json(shown)
    else:
        _print(shown)


def _read(memory: Memory, node: Node) -> ShownMemory:
    return ShownMemory(
        node=node,
        mentions=mentions_of(memory, node),
        versions={key: memory.history(key) for key in node.keys},
        related=memory.related(node.id, hops=1, limit=RELATED),
        changes=memory.changes.list(node.id, limit=CHANGES),
        jobs=memory.jobs.list(node=node.id),
    )


def _print(shown: ShownMemory) -> None:
    node, to = shown.node, stdout_console()
    to.print(printable(node.content, longest=100_000))
    to.print()
    metadata = ", ".join(f"{name}={value}" for name, value in node.metadata.items())
    rows = {
        "id": node.id,
        "keys": ", ".join(node.keys),
        "tags": ", ".join(node.tags),
        "importance": f"{node.importance:g}",
        "metadata": metadata,
        "tokens": f"{node.tokens:,}",
        "created": local_time(node.created_at),
        "last used": f"{local_time(node.accessed_at)}, {node.access_count:,} times in all",
        "expires": local_time(node.expires_at),
    }
    to.print(key_value_table((name, value) for name, value in rows.items() if value))
    _print_mentions(shown.mentions)
    for key, versions in shown.versions.items():
        made = make_table(
            "version", "id", f"value of {printable(key, longest=40)}", right=("version",)
        )
        for value in versions:
            made.add_row(str(value.version), short(value.id), printable(value.content, longest=120))
        to.print(made)
    if shown.related:
        made = make_table("weight", "by", "id", "related memory", right=("weight",))
        for related in shown.related:
            made.add_row(
                f"{related.weight:.2f}",
                path_text(node.id, related.path),
                short(related.node.id),
                printable(related.node.content, longest=120),
            )
        to.print(made)
    if shown.changes:
        made = make_table("change", "what", "sure", "state", "now, and formerly", right=("sure",))
        for change in shown.changes:
            both = f"{change.newer.content[:120]}\n{change.older.content[:120]}"
            made.add_row(
                short(change.id),
                change.relation,
                f"{change.confidence:.2f}",
                change.state,
                printable(both),
            )
        to.print(made)
    if shown.jobs:
        made = make_table("job", "kind", "state", "what went wrong")
        for job in shown.jobs:
            made.add_row(
                short(job.id),
                f"{job.kind} {job.model}".strip(),
                job.state,
                printable(job.error or ""),
            )
        to.print(made)


def _print_mentions(mentions: Sequence[Mention]) -> None:
    made = make_table("said", "by", "robot", "in session")
    for mention in mentions[:MENTIONS]:
        made.add_row(
            local_time(mention.at),
            printable(speaker(mention), longest=24),
            printable(mention.robot, longest=20),
            printable(mention.session or ""),
        )
    stdout_console().print(made)
    if len(mentions) > MENTIONS:
        stdout_console().print(f"and {len(mentions) - MENTIONS:,} more before")
