"""`htm import`: transcripts are checked as a whole, then remembered in batches, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from ..errors import HTMError
from ..memory import Memory
from ..rules.identity import node_id
from ..rules.transcripts.turns import Skip
from ..store import mentions
from ..store.owner_claims import claim_of
from ..types import Draft
from .backup import is_backup_file, read_backup
from .import_sources import Source, source_of
from .importing_databases import Choice, CollectionName, DryRun, Kinds, Tables, imported_databases
from .json_output import print_json
from .memories import report_pending_vectors
from .options import CommonOptions
from .rendering import make_table, printable, progress_bar, stdout_console
from .setup import ensure_weights

BATCH = 100


class Format(StrEnum):
    """The format of a transcript."""

    auto = "auto"
    jsonl = "jsonl"
    chatgpt = "chatgpt"
    claude = "claude"
    claude_code = "claude-code"
    codex = "codex"
    langchain = "langchain"
    llamaindex = "llamaindex"
    text = "text"
    backup = "backup"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTranscript:
    """The result for one transcript: turns that were new, changed, known already, and skipped for `reasons`.

    `sessions` is how many conversations it has, `titles` are those of the first few, `examples` the first places of each reason.
    """

    name: str
    format: str
    turns: int
    sessions: int = 0
    titles: tuple[str, ...] = ()
    imported: int = 0
    changed: int = 0
    known: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    examples: tuple[Skip, ...] = ()


def import_files(
    common: CommonOptions,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files, archives, folders, or postgresql://…; - is stdin.", show_default=False
        ),
    ],
    format: Annotated[Format, typer.Option("--format", help="Detected by default.")] = Format.auto,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")] = True,
    tables: Tables = None,
    kinds: Kinds = None,
    collection: CollectionName = None,
    dry_run: DryRun = False,
) -> None:
    """Import what was said elsewhere, a backup, or another package's database. Importing twice adds nothing."""
    chosen = Choice(tables=tables or (), kinds=kinds or (), collection=collection, dry_run=dry_run)
    if imported_databases(common, files, chosen, wait=wait, then=wait_for_vectors):
        return
    paths = list(map(Path, files))
    if format is Format.backup or (format is Format.auto and any(map(is_backup_file, paths))):
        for file in paths:
            read_backup(common, file, wait=wait, then=wait_for_vectors)
        return
    sources = [source_of(file, format=format.value) for file in paths]
    if wait:
        ensure_weights(common)
    with common.memory(works=wait) as memory:
        found = []
        with progress_bar() as progress:
            for source in sources:
                found.append(import_source(memory, source, common=common, works=wait, batch=BATCH, progress=progress))
        if wait:
            wait_for_vectors(memory)
        report(common, found)
        report_pending_vectors(memory)


def import_source(
    memory: Memory, source: Source, *, common: CommonOptions, works: bool, batch: int, progress: Progress
) -> ImportedTranscript:
    """Remember the turns that are not known yet, in batches; after an interruption the next import continues there."""
    task = progress.add_task(f"Importing {source.name}", total=source.turns)
    result = ImportedTranscript(
        name=source.name, format=source.format, turns=source.turns, reasons=source.reasons,
        skipped=sum(source.reasons.values()), sessions=source.sessions, titles=source.titles, examples=source.examples,
    )  # fmt: skip
    turns = source.drafts()
    while some := list(islice(turns, batch)):
        new, changed = new_and_changed(some, common=common, works=works)
        memory.remember_many([*new, *changed])
        known = len(some) - len(new) - len(changed)
        result = replace(
            result,
            imported=result.imported + len(new),
            changed=result.changed + len(changed),
            known=result.known + known,
        )
        progress.advance(task, len(some))
    progress.remove_task(task)
    return result


def new_and_changed(drafts: Sequence[Draft], *, common: CommonOptions, works: bool) -> tuple[list[Draft], list[Draft]]:
    """The drafts with new ids, and those with a known id and another text."""
    owner = common.user or ""
    ids = [(draft.session or "", draft.id or "") for draft in drafts]
    with common.runtime(works=works).database.transaction(common.tenant, claim=claim_of(owner)) as connection:
        known = mentions.nodes_of_ids(connection, ids, owner=owner)
    new = [draft for draft, id in zip(drafts, ids, strict=True) if id not in known]
    changed = [
        draft for draft, id in zip(drafts, ids, strict=True) if id in known and _differs(draft, owner, known[id])
    ]
    return new, changed


def _differs(draft: Draft, owner: str, node: object) -> bool:
    return node is not None and node_id(owner, draft.content) != node


def wait_for_vectors(memory: Memory) -> bool:
    """Wait with a progress bar until all pending vectors are made; False when their model keeps failing."""
    total = memory.stats().pending_jobs
    outcome: list[bool] = []
    # A daemon thread, which Ctrl-C leaves behind: pending jobs stay pending.
    waiting = threading.Thread(target=_flush, args=(memory, outcome), daemon=True)
    waiting.start()
    with progress_bar() as progress:
        task = progress.add_task("Embedding", total=total)
        while waiting.is_alive():
            waiting.join(0.1)
            progress.update(task, completed=max(0, total - memory.stats().pending_jobs))
    return bool(outcome and outcome[0])


def _flush(memory: Memory, outcome: list[bool]) -> None:
    try:
        outcome.append(memory.flush())
    except HTMError:  # the next call gets the same error and reports it
        outcome.append(False)


def report(common: CommonOptions, found: Sequence[ImportedTranscript]) -> None:
    """Print the result for each transcript, and why turns were skipped."""
    if common.json:
        print_json({"files": found})
        return
    figures = ("turns", "imported", "changed", "known", "skipped")
    made = make_table("file", "format", *figures, "skipped because", right=figures)
    for each in found:
        why = ", ".join(f"{reason} ({count:,})" for reason, count in each.reasons.items())
        counts = (f"{getattr(each, name):,}" for name in figures)
        made.add_row(printable(each.name), each.format, *counts, printable(why))
    stdout_console().print(made)
