"""`htm export --format`: what was said as JSON lines, a folder of Markdown or a Parquet table, for
people and other programs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import typer
import yaml

from ..base.errors import InvalidInput
from ..base.types import Mention
from ..memory.memory import Memory
from ..prompt.origin import speaker
from .options import CommonOptions
from .rendering import print_json, printable, progress_bar, stdout_console, to_json

PAGE = 1_000  # mentions that are read at once
LONGEST_NAME = 60  # characters of a session in its file's name
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


class ExportFormat(StrEnum):
    """The form of an export: everything, for htm import, or what was said, for others."""

    backup = "backup"
    jsonl = "jsonl"
    markdown = "markdown"
    parquet = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMentions:
    """Result of an export: where it was written, in which form, and how many mentions."""

    path: str
    format: str
    mentions: int


Pages = Iterator[Sequence[Mention]]
Step = Callable[[int], object]


def export_mentions(common: CommonOptions, path: Path, *, format: ExportFormat) -> None:
    """Write what was said, oldest first, in one of the forms for other programs."""
    with common.memory() as memory:
        if str(path) == "-":
            if format is not ExportFormat.jsonl:
                raise typer.BadParameter(
                    f"expected a path to write {format.value} to, got -; only JSON lines go to "
                    "stdout"
                )
            _write_lines(sys.stdout, pages(memory, session=common.session), lambda _: None)
            return
        with progress_bar() as progress:
            task = progress.add_task("Writing", total=None)
            step: Step = lambda count: progress.update(task, advance=count)  # noqa: E731
            written = _WRITERS[format](path, pages(memory, session=common.session), step)
    done = ExportedMentions(path=str(path), format=format.value, mentions=written)
    if common.json:
        print_json(done)
    else:
        stdout_console().print(printable(f"{written:,} mentions are in {path}"))


def pages(memory: Memory, *, session: str | None) -> Pages:
    """All that was said, oldest first, some at a time; what is said meanwhile may be missing."""
    ends: list[str | None] = [None]
    while len(page := memory.timeline(session=session, limit=PAGE, before=ends[-1])) == PAGE:
        ends.append(page[0].id)
    for end in reversed(ends):
        if mentions := memory.timeline(session=session, limit=PAGE, before=end):
            yield mentions


def record(mention: Mention) -> dict[str, Any]:
    """A mention as one object of JSON lines, which htm import reads."""
    known = {
        "session": mention.session, "role": mention.role, "name": mention.name,
        "content": mention.content, "at": mention.at.isoformat(), "id": mention.id,
        "metadata": to_json(mention.metadata) or None,
    }  # fmt: skip
    return {name: value for name, value in known.items() if value is not None}


def _write_lines(out: IO[str], batches: Pages, step: Step) -> int:
    written = 0
    for page in batches:
        for mention in page:
            out.write(json.dumps(record(mention), ensure_ascii=False) + "\n")
        written += len(page)
        step(len(page))
    return written


def _jsonl(path: Path, batches: Pages, step: Step) -> int:
    with written_whole(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as out:
        return _write_lines(out, batches, step)


def _parquet(path: Path, batches: Pages, step: Step) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput(
            "expected pyarrow, which writes Parquet, and it is not installed: pip install "
            '"htm-memory[parquet]"'
        ) from None
    text = pyarrow.string()
    kinds = {
        "id": text, "session": text, "role": text, "name": text,
        "at": pyarrow.timestamp("us", tz="UTC"), "content": text, "metadata": text, "robot": text,
    }  # fmt: skip
    schema, written = pyarrow.schema(kinds), 0
    with written_whole(path) as draft, pyarrow.parquet.ParquetWriter(draft, schema) as out:
        for page in batches:
            rows = [{name: _cell(mention, name) for name in kinds} for mention in page]
            out.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            written += len(page)
            step(len(page))
    return written


def _cell(mention: Mention, name: str) -> Any:
    value = getattr(mention, name)
    if name != "metadata":
        return value
    return json.dumps(to_json(value), ensure_ascii=False) if value else None


def _markdown(path: Path, batches: Pages, step: Step) -> int:
    """One file for each session, in a new or an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InvalidInput(
            f"expected a new or an empty folder to write Markdown to, got {path}; name another one"
        )
    begun, written = dict[str | None, Path](), 0
    try:
        path.mkdir(parents=True, exist_ok=True)
        for page in batches:
            for mention in page:
                file = begun.get(mention.session) or path / _file_name(
                    mention, taken={each.name for each in begun.values()}
                )
                with file.open("a", encoding="utf-8", newline="\n") as out:
                    out.write(
                        _said(mention)
                        if mention.session in begun
                        else _front(mention) + _said(mention)
                    )
                begun[mention.session] = file
            written += len(page)
            step(len(page))
    except OSError as error:
        raise InvalidInput(
            f"expected a folder that can be written, got {path}: {error.strerror or error}"
        ) from None
    return written


def _file_name(mention: Mention, *, taken: set[str]) -> str:
    """A name that is one on every system, from the title of a session or the session itself."""
    plain = (
        _NOT_IN_NAMES.sub("-", _title(mention) or mention.session or "no session").strip("-")[
            :LONGEST_NAME
        ]
        or "session"
    )
    if f"{plain}.md".lower() in {each.lower() for each in taken}:
        plain += f"-{sha256((mention.session or '').encode()).hexdigest()[:8]}"
    return f"{plain}.md"


def _title(mention: Mention) -> str | None:
    title = mention.metadata.get("title") if isinstance(mention.metadata, Mapping) else None
    return title if isinstance(title, str) and title.strip() else None


def _front(mention: Mention) -> str:
    """The front matter of a session's file."""
    about = {"session": mention.session, "title": _title(mention), "began": mention.at.isoformat()}
    kept = {name: value for name, value in about.items() if value}
    return f"---\n{yaml.safe_dump(kept, allow_unicode=True, sort_keys=False)}---\n\n"


def _said(mention: Mention) -> str:
    who = speaker(mention.name, mention.role) or mention.robot
    return (
        f"## {' '.join(who.split())}, {mention.at.astimezone(UTC):%Y-%m-%d %H:%M} "
        f"UTC\n\n{mention.content.strip()}\n\n"
    )


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A draft beside a file, which takes its name when it is complete; only the owner
    can read it.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(
            f"expected a file that can be written, got {path}: {error.strerror or error}"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


_WRITERS: Mapping[ExportFormat, Callable[[Path, Pages, Step], int]] = {
    ExportFormat.jsonl: _jsonl,
    ExportFormat.markdown: _markdown,
    ExportFormat.parquet: _parquet,
}
