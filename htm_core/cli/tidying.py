"""`htm tidy` and `htm profile`: what a memory can be tidied to, and what it knows of its user."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..base.types import Merge, ProfileLine, Summary, Tidied, TidyKind
from . import completion
from .ids import memory_id, short
from .listing import Column, print_csv, print_table
from .memories import end_without_user
from .options import CommonOptions
from .rendering import local_time, make_table, print_json, printable, stdout_console


class TidyingKind(StrEnum):
    """The kinds of tidying."""

    profile = "profile"
    merge = "merge"
    summarize = "summarize"


def profile(
    common: CommonOptions,
    budget: Annotated[
        int, typer.Option("--budget", min=0, help="Tokens of the text at most.")
    ] = 300,
    text: Annotated[
        bool, typer.Option("--text", help="Print the text alone, as a model gets it.")
    ] = False,
) -> None:
    """Show what is known of a --user by their own words, with where it was said."""
    with common.memory() as memory:
        result = memory.profile(budget=budget)
        if not result and not (common.json or common.csv):
            who = "this user" if common.user else "everyone who shares these memories"
            end_without_user(
                common,
                memory,
                f"Nothing is known of {who} yet: only what they said with the role user, or "
                "without one, counts, and reading it "
                f"needs htm setup ({result.pending:,} messages were not read yet).",
            )
    if common.json:
        print_json(result)
    elif common.csv:
        print_csv(result.lines, LINES)
    elif text:
        stdout_console().print(printable(result.text, longest=100_000))
    else:
        print_table(result.lines, LINES)
        if result.pending:
            stdout_console().print(
                f"{result.pending:,} messages were not read yet; call it again, or leave it to "
                "htm worker. Reading needs htm setup."
            )


def tidy(
    common: CommonOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would do, and change nothing.")
    ] = False,
    kinds: Annotated[
        list[TidyingKind] | None,
        typer.Option(
            "--kind", metavar="profile|merge|summarize", help="Only this; may be repeated."
        ),
    ] = None,
    undo: Annotated[
        str | None,
        typer.Option(
            "--undo",
            metavar="ID",
            help="Undo the merge of this memory, or those into it.",
            autocompletion=completion.memories,
        ),
    ] = None,
    summarizer: Annotated[
        str | None,
        typer.Option(
            "--summarizer", metavar="ollama:MODEL", help="A chat model that writes the summaries."
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=0, help="How many of each to show.")
    ] = 10,
) -> None:
    """Merge memories that say the same, summarise sessions and read the profile; --dry-run shows
    what it would do.
    """
    wanted: list[TidyKind] | None = [each.value for each in kinds] if kinds else None
    with common.memory() as memory:
        if undo is not None:
            apart = memory.unmerge(memory_id(memory, undo, forgotten=True))
            if common.json:
                print_json({"undone": apart})
            else:
                stdout_console().print(f"{apart:,} memories stand for themselves again.")
            return
        done = memory.tidy(dry_run=dry_run, kinds=wanted, summarizer=summarizer)
    if common.json:
        print_json(done)
        return
    _print_merges(done.merges, most=samples)
    _print_summaries(done.summaries, most=samples)
    _print_lines(done.lines, most=samples)
    stdout_console().print(_told(done))


def _told(done: Tidied) -> str:
    would = "would be " if done.dry_run else ""
    return (
        f"{len(done.merges):,} memories {would}merged, {len(done.summaries):,} sessions "
        f"{would}summarised, {done.read:,} messages "
        f"{would}read for the profile, which {'would have' if done.dry_run else 'has'} "
        f"{len(done.lines):,} lines."
        f"{' Nothing was changed.' if done.dry_run else ''}"
    )


def _print_merges(merges: tuple[Merge, ...], *, most: int) -> None:
    if merges[:most]:
        made = make_table("id", "memory", "says the same as")
        for merge in merges[:most]:
            made.add_row(
                short(merge.node_id),
                printable(merge.content, longest=120),
                printable(merge.into_content, longest=120),
            )
        stdout_console().print(made)


def _print_summaries(summaries: tuple[Summary, ...], *, most: int) -> None:
    if summaries[:most]:
        made = make_table("session", "summary")
        for summary in summaries[:most]:
            made.add_row(printable(summary.session or ""), printable(summary.text, longest=600))
        stdout_console().print(made)


def _print_lines(lines: tuple[ProfileLine, ...], *, most: int) -> None:
    if lines[:most]:
        made = make_table("section", "line")
        for line in lines[:most]:
            made.add_row(line.section, printable(_line(line), longest=200))
        stdout_console().print(made)


def _line(line: ProfileLine) -> str:
    former = f" (before: {line.former[0].text})" if line.former else ""
    return f"{line.text}{former}"


LINES: Sequence[Column[ProfileLine]] = (
    Column(name="section", value=lambda line: line.section),
    Column(name="said", value=lambda line: line.times_said, right=True),
    Column(
        name="last", value=lambda line: line.said_at, shown=lambda line: local_time(line.said_at)
    ),
    Column(
        name="session",
        value=lambda line: line.sources[0].session,
        shown=lambda line: printable(line.sources[0].session or "", longest=16),
    ),
    Column(
        name="line",
        value=lambda line: line.text,
        shown=lambda line: printable(_line(line), longest=200),
    ),
)
