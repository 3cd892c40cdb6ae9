"""`htm import`: transcripts are checked as a whole, then remembered in batches, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.progress import Progress

from ..base.errors import HTMError, InvalidInput
from ..base.identity import node_id
from ..base.types import Draft
from ..db.owner_claims import claim_of
from ..importers import (
    FAULTS,
    LINK_TO_NOTHING,
    NO_TAG,
    NOT_STORED,
    NOT_UNDERSTOOD,
    OF_AN_OLDER_EXPORT,
    Omissions,
    Skip,
    Source,
    TableOptions,
    conversations,
    database_of,
    not_understood,
    source_of,
    transcripts_in,
)
from ..memory.memory import Memory
from ..text.readable import is_markdown
from ..text.redaction.redactor import resolve_redactor
from ..text.redaction.values import redact_draft
from ..writing import mentions
from .backup import is_backup_file, read_backup
from .exit_codes import FAILED, resumable
from .import_report import ImportedTranscript, report_import
from .importing_databases import Choice, CollectionName, DryRun, Kinds, Tables, imported_databases
from .memories import report_pending_vectors
from .options import CommonOptions
from .rendering import printable, progress_bar
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
    mem0 = "mem0"
    csv = "csv"
    parquet = "parquet"
    markdown = "markdown"
    mempalace = "mempalace"
    text = "text"
    backup = "backup"


def import_files(
    common: CommonOptions,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files, archives, folders, or postgresql://…; - is stdin.",
            show_default=False,
        ),
    ],
    format: Annotated[Format, typer.Option("--format", help="Detected by default.")] = Format.auto,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="FIELD=COLUMN", help="Of a table: as text=Body; may be repeated."
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone",
            metavar="ZONE",
            help="Of a table's times without an offset, as Europe/Rome.",
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")
    ] = True,
    tables: Tables = None,
    kinds: Kinds = None,
    collection: CollectionName = None,
    dry_run: DryRun = False,
) -> None:
    """Import what was said elsewhere (ChatGPT, Claude, Codex, …), a backup, or another package's
    database, and never twice.
    """
    chosen = Choice(tables=tables or (), kinds=kinds or (), collection=collection, dry_run=dry_run)
    if imported_databases(common, files, chosen, wait=wait, then=wait_for_vectors):
        return
    paths = list(map(Path, files))
    if format is Format.backup or (format is Format.auto and any(map(is_backup_file, paths))):
        if dry_run:
            raise typer.BadParameter(
                "expected --dry-run without a backup, which is restored as a whole; leave it out"
            )
        for file in paths:
            read_backup(common, file, wait=wait, then=wait_for_vectors)
        return
    table = replace(
        table_options(column, timezone), longest=common.settings(works=False).max_content
    )
    if any(map(is_own_palace, paths)) and format is Format.auto:
        raise InvalidInput(
            "expected files of other programs, got a folder of htm palace export; read it with "
            "htm palace import"
        )
    folders = [
        file
        for file in paths
        if format is Format.markdown or (format is Format.auto and is_notes(file))
    ]
    with progress_bar() as progress:
        progress.add_task("Reading", total=None)
        files_of = [file for file in paths if file not in folders]
        sources, failed = _read_all(
            files_of, format=format, table=table, user=common.user, alone=not folders
        )
    if wait and not dry_run:
        ensure_weights(common)
    with (
        nullcontext() if dry_run else resumable(),
        common.memory(works=wait and not dry_run) as memory,
    ):
        imported = []
        with progress_bar() as progress:
            for source in sources:
                imported.append(
                    import_source(
                        memory,
                        source,
                        common=common,
                        works=wait and not dry_run,
                        batch=BATCH,
                        progress=progress,
                        dry_run=dry_run,
                    )
                )
            imported += [
                import_notes(memory, folder, progress=progress, dry_run=dry_run)
                for folder in folders
            ]
        imported += failed
        if wait and not dry_run:
            wait_for_vectors(memory)
        report_import(common, imported, dry_run=dry_run)
        if not dry_run:
            report_pending_vectors(memory)
    if any(FAULTS & each.reasons.keys() for each in imported):
        raise typer.Exit(FAILED)


def _read_all(
    paths: Sequence[Path], *, format: Format, table: TableOptions, user: str | None, alone: bool
) -> tuple[list[Source], list[ImportedTranscript]]:
    """Read files; return their sources, and a report for each that was not understood; raises its
    error if that is all.
    """
    sources, failed, errors = list[Source](), list[ImportedTranscript](), list[InvalidInput]()
    for path in paths:
        try:
            sources.append(source_of(path, format=format.value, table=table, user=user))
        except InvalidInput as error:
            errors.append(error)
            skip = not_understood(error, where=path.name)
            failed.append(
                ImportedTranscript(
                    name=path.name,
                    format="unknown",
                    turns=0,
                    skipped=1,
                    reasons={NOT_UNDERSTOOD: 1},
                    examples=(skip,),
                )
            )
    if errors and alone and not sources:
        raise errors[0]
    return sources, failed


def import_source(
    memory: Memory,
    source: Source,
    *,
    common: CommonOptions,
    works: bool,
    batch: int,
    progress: Progress,
    dry_run: bool = False,
) -> ImportedTranscript:
    """Remember the turns that are not known yet, in batches; after an interruption the next import
    continues there.

    What was taken back since goes. A file that is older than what is known of a conversation adds
    nothing to it. With `dry_run` all of this is only counted.
    """
    task = progress.add_task(
        f"Importing {printable(source.name, longest=30).plain}", total=source.turns
    )
    result = ImportedTranscript(
        name=source.name,
        format=source.format,
        turns=source.turns,
        reasons=source.reasons,
        skipped=sum(source.reasons.values()),
        sessions=source.sessions,
        titles=source.titles,
        examples=source.examples,
    )
    turns = map(
        conversations.FirstTimes(memory._engine, source.conversations).dated, source.drafts()
    )
    stale = conversations.older(memory._engine, source.conversations)
    while some := list(islice(turns, batch)):
        new, changed = new_and_changed(some, common=common, works=works)
        known = len(some) - len(new) - len(changed)
        of_older = [draft for draft in (*new, *changed) if draft.session in stale]
        if of_older:
            new = [draft for draft in new if draft.session not in stale]
            changed = [draft for draft in changed if draft.session not in stale]
            result = result.without(
                [Skip(OF_AN_OLDER_EXPORT, f"{each.session}, {each.id}") for each in of_older]
            )
        refused = [] if dry_run else _remember_batch(memory, source, new, changed)
        if refused:
            new = [draft for draft in new if not any(draft is each for each, _ in refused)]
            changed = [draft for draft in changed if not any(draft is each for each, _ in refused)]
            result = result.without(
                [
                    Skip(NOT_STORED, f"{draft.session}, {draft.id}", str(error))
                    for draft, error in refused
                ]
            )
        result = replace(
            result,
            imported=result.imported + len(new),
            changed=result.changed + len(changed),
            known=result.known + known,
        )
        progress.advance(task, len(some))
    progress.remove_task(task)
    gone = conversations.follow(memory._engine, source.conversations, but=stale, dry_run=dry_run)
    result = replace(result, taken_back=gone)
    if source.identity and not dry_run:
        # few imports need it, and what else uses this module should not import it
        from ..palace import Palace

        palace = Palace(memory)
        if palace.identity() is None:
            palace.identify(source.identity)
    return result


def _remember_batch(
    memory: Memory, source: Source, new: Sequence[Draft], changed: Sequence[Draft]
) -> list[tuple[Draft, InvalidInput]]:
    """Remember turns; gives those that cannot be stored, such as a text that is too long, which
    keep up no others.
    """
    with suppress(InvalidInput):  # then one by one, to find out which
        _remember(memory, source, new, changed)
        return []
    refused: list[tuple[Draft, InvalidInput]] = []
    for draft in (*new, *changed):
        is_new = any(draft is each for each in new)
        try:
            _remember(memory, source, [draft] if is_new else [], [] if is_new else [draft])
        except InvalidInput as error:
            refused.append((draft, error))
    if len(refused) == len(new) + len(changed):
        raise refused[0][1]
    return refused


def _remember(
    memory: Memory, source: Source, new: Sequence[Draft], changed: Sequence[Draft]
) -> None:
    """Remember turns; what belongs into a palace is filed there, and what was filed before keeps
    its place.
    """
    if source.place_of is None:
        memory.remember_many([*new, *changed])
        return
    from ..palace import Palace

    drawers: dict[tuple[str, str], list[Draft]] = {}
    for draft in new:
        drawers.setdefault(source.place_of(draft), []).append(draft)
    for (room, drawer), texts in drawers.items():
        Palace(memory).file_many(texts, room=room, drawer=drawer)
    memory.remember_many(changed)


def is_own_palace(path: Path) -> bool:
    """True if a path is a folder that `htm palace export` wrote."""
    return path.is_dir() and (path / "palace.yaml").is_file() and (path / "rooms").is_dir()


def is_notes(path: Path) -> bool:
    """True if a path is a folder of Markdown files, such as a vault of Obsidian, or
    one such file.
    """
    if is_markdown(path.name):
        return path.is_file()
    return (
        path.is_dir()
        and database_of(path) is None
        and not transcripts_in(path)
        and any(each.is_file() for each in path.rglob("[!.]*.md"))
    )


def import_notes(
    memory: Memory, path: Path, *, progress: Progress, dry_run: bool
) -> ImportedTranscript:
    """Load a folder of Markdown files as `Memory.load` does: run again, it follows what has changed
    on the disk.
    """
    task = progress.add_task(f"Importing {printable(path.name, longest=30).plain}", total=None)
    done = memory.load(
        path,
        dry_run=dry_run,
        progress=lambda _, total: progress.update(task, advance=1, total=total),
    )
    progress.remove_task(task)
    failed = [
        Skip(NOT_UNDERSTOOD, each.path, each.error or "")
        for each in done
        if each.status == "failed"
    ]
    if failed and len(failed) == len(done):
        raise InvalidInput(f"{failed[0].where}: nothing was understood: {failed[0].detail}")
    left_out = Omissions()
    for skip in failed:
        left_out.add(skip)
    for loaded in done:
        for what in loaded.left_out:
            left_out.add(
                Skip(LINK_TO_NOTHING if what.startswith("the link") else NO_TAG, loaded.path, what)
            )
    return ImportedTranscript(
        name=path.name,
        format="markdown",
        turns=sum(each.chunks for each in done),
        sessions=sum(each.status != "unloaded" for each in done),
        imported=sum(each.added for each in done),
        known=sum(each.status == "known" for each in done),
        taken_back=sum(each.removed for each in done),
        skipped=sum(left_out.reasons.values()),
        reasons=dict(left_out.reasons),
        examples=tuple(left_out.examples),
    )


def new_and_changed(
    drafts: Sequence[Draft], *, common: CommonOptions, works: bool
) -> tuple[list[Draft], list[Draft]]:
    """The drafts with new ids, and those with a known id and another text, as it would
    be stored.
    """
    redactor = resolve_redactor(common.settings(works=works).redactor)
    owner = common.user or ""
    ids = [(draft.session or "", draft.id or "") for draft in drafts]
    with common.runtime(works=works).database.transaction(
        common.tenant, claim=claim_of(owner)
    ) as connection:
        known = mentions.nodes_of_ids(connection, ids, owner=owner)
    new = [draft for draft, id in zip(drafts, ids, strict=True) if id not in known]
    changed = [
        draft
        for draft, id in zip(drafts, ids, strict=True)
        if id in known and _differs(redact_draft(draft, redactor), owner, known[id])
    ]
    return new, changed


def _differs(draft: Draft, owner: str, node: object) -> bool:
    return node is not None and node_id(owner, draft.content) != node


def wait_for_vectors(memory: Memory) -> bool:
    """Wait with a progress bar until all pending vectors are made; False when their model keeps
    failing.
    """
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


def table_options(columns: Iterable[str] | None, zone: str | None) -> TableOptions:
    """The values of --column and --timezone; raises `BadParameter` for what is none."""
    column_of: dict[str, str] = {}
    for option in columns or ():
        name, equals, column = option.partition("=")
        if not equals or not column:
            raise typer.BadParameter(
                f"expected --column FIELD=COLUMN, such as text=Body, got {option!r:.80}"
            )
        column_of[name.strip()] = column
    try:
        zone_info = ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise typer.BadParameter(
            f"expected --timezone as UTC or a place such as Europe/Rome, got {zone!r:.80}"
        ) from None
    return TableOptions(columns=column_of, zone=zone_info)
