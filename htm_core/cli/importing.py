"""Importing transcripts: read as a whole first, remembered in batches, and never twice."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from ..errors import HTMError, InvalidInput
from ..memory import Memory
from ..rules.identity import node_id
from ..rules.transcripts.read import iter_read, read
from ..store import mentions
from ..types import Draft
from .backup import holds_backup, read_backup
from .json_output import answer
from .memories import owing
from .options import Whose
from .rendering import bar, console, shown, table
from .setup import have_model

BATCH = 100
LONG_FILE = 64 << 20  # bytes, beyond which JSON lines are read line by line instead of at once


class Format(StrEnum):
    """What a transcript is written in."""

    auto = "auto"
    jsonl = "jsonl"
    langchain = "langchain"
    chatgpt = "chatgpt"
    text = "text"
    backup = "backup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One transcript, read through once without an error; `drafts` gives its turns from the beginning."""

    name: str
    format: str
    turns: int
    reasons: dict[str, int] = field(default_factory=dict)
    drafts: Callable[[], Iterator[Draft]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a transcript: turns that were new, that say something else now, that were known, and left out."""

    name: str
    format: str
    turns: int
    imported: int = 0
    changed: int = 0
    known: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


def import_files(
    whose: Whose,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Transcripts; - is stdin.")],
    format: Annotated[Format, typer.Option("--format", help="Found out by default.")] = Format.auto,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the vectors, or leave them.")] = True,
) -> None:
    """Import transcripts: JSON lines, LangChain dumps, ChatGPT exports; or a backup of htm export. Run twice, imported once."""
    if format is Format.backup or (format is Format.auto and any(map(holds_backup, files))):
        for file in files:
            read_backup(whose, file, wait=wait, then=wait_for_vectors)
        return
    sources = [source_of(file, format=format) for file in files]
    if wait:
        have_model(whose)
    with whose.memory(works=wait) as memory:
        found = []
        with bar() as progress:
            for source in sources:
                found.append(remember_all(memory, source, whose=whose, works=wait, batch=BATCH, progress=progress))
        if wait:
            wait_for_vectors(memory)
        report(whose, found)
        owing(memory)


def source_of(file: Path, *, format: Format) -> Source:
    """Read a transcript through, so that nothing is remembered of a file that has a broken place."""
    name = "stdin" if str(file) == "-" else file.name
    try:
        if str(file) != "-" and file.stat().st_size > LONG_FILE and (format == "jsonl" or file.suffix == ".jsonl"):
            return _long(file)
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"expected a transcript to read, got {file}: {error.strerror or error}") from None
    transcript = read(content, name=name, format=format.value)
    return Source(
        name=name,
        format=transcript.format,
        turns=len(transcript),
        reasons=dict(transcript.reasons),
        drafts=lambda: iter(transcript),
    )


def _long(file: Path) -> Source:
    reasons: Counter[str] = Counter()

    def drafts(skip: Callable[[str], object] | None = None) -> Iterator[Draft]:
        with file.open("rb") as lines:
            yield from iter_read(lines, name=file.name, skip=skip)

    turns = sum(1 for _ in drafts(lambda reason: reasons.update([reason])))
    return Source(name=file.name, format="jsonl", turns=turns, reasons=dict(reasons), drafts=drafts)


def remember_all(
    memory: Memory, source: Source, *, whose: Whose, works: bool, batch: int, progress: Progress
) -> Imported:
    """Remember what of a transcript is not known yet, batch by batch; interrupted, the next time goes on there."""
    task = progress.add_task(f"Importing {source.name}", total=source.turns)
    result = Imported(
        name=source.name, format=source.format, turns=source.turns, reasons=source.reasons,
        skipped=sum(source.reasons.values()),
    )  # fmt: skip
    turns = source.drafts()
    while some := list(islice(turns, batch)):
        new, changed = unknown(some, whose=whose, works=works)
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


def unknown(drafts: Sequence[Draft], *, whose: Whose, works: bool) -> tuple[list[Draft], list[Draft]]:
    """The drafts whose ids are new, and those that say something else under an id that is known."""
    owner = whose.user or ""
    ids = [(draft.session or "", draft.id or "") for draft in drafts]
    with whose.runtime(works=works).database.transaction(whose.tenant) as connection:
        known = mentions.nodes_of_ids(connection, ids, owner=owner)
    new = [draft for draft, id in zip(drafts, ids, strict=True) if id not in known]
    changed = [
        draft for draft, id in zip(drafts, ids, strict=True) if id in known and _differs(draft, owner, known[id])
    ]
    return new, changed


def _differs(draft: Draft, owner: str, node: object) -> bool:
    return node is not None and node_id(owner, draft.content) != node


def wait_for_vectors(memory: Memory) -> bool:
    """Wait, with a progress bar, until all vectors that are owed are made; False when their model keeps failing."""
    total = memory.stats().pending_jobs
    outcome: list[bool] = []
    # A thread of its own, which Ctrl-C leaves behind: what is owed stays owed.
    waiting = threading.Thread(target=_flush, args=(memory, outcome), daemon=True)
    waiting.start()
    with bar() as progress:
        task = progress.add_task("Embedding", total=total)
        while waiting.is_alive():
            waiting.join(0.1)
            progress.update(task, completed=max(0, total - memory.stats().pending_jobs))
    return bool(outcome and outcome[0])


def _flush(memory: Memory, outcome: list[bool]) -> None:
    try:
        outcome.append(memory.flush())
    except HTMError:  # whoever waits meets the same error in the next verb, and tells it
        outcome.append(False)


def report(whose: Whose, found: Sequence[Imported]) -> None:
    """Say what became of each transcript, and why anything was left out."""
    if whose.json:
        answer({"files": found})
        return
    figures = ("turns", "imported", "changed", "known", "skipped")
    made = table("file", "format", *figures, "left out because", right=figures)
    for each in found:
        why = ", ".join(f"{reason} ({count:,})" for reason, count in each.reasons.items())
        counts = (f"{getattr(each, name):,}" for name in figures)
        made.add_row(shown(each.name), each.format, *counts, shown(why))
    console().print(made)
