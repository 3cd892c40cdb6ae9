"""Report of `htm import` when it is done: for each source what became of its turns, and what was
not understood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from ..importers import LINK_TO_NOTHING, NO_TAG, NOT_STORED, NOT_UNDERSTOOD, Omissions, Skip
from .options import CommonOptions
from .rendering import print_json, printable, stdout_console

LONGEST_TITLE = 40
# reasons whose first places are shown
SHOWN = (NOT_UNDERSTOOD, NOT_STORED, LINK_TO_NOTHING, NO_TAG)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTranscript:
    """The result for one transcript: turns that were new, changed, known already, and skipped for
    `reasons`.

    `taken_back` is how many were known and hold no more, so that they were hidden.
    `sessions` is how many conversations it has, `titles` are those of the first few, `examples` the
    first places of each reason.
    """

    name: str
    format: str
    turns: int
    sessions: int = 0
    titles: tuple[str, ...] = ()
    imported: int = 0
    changed: int = 0
    known: int = 0
    taken_back: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    examples: tuple[Skip, ...] = ()

    def without(self, refused: Sequence[Skip]) -> ImportedTranscript:
        """The same with more turns that are skipped."""
        skips = Omissions(Counter(self.reasons), list(self.examples))
        for skip in refused:
            skips.add(skip)
        return replace(
            self,
            skipped=self.skipped + len(refused),
            reasons=dict(skips.reasons),
            examples=tuple(skips.examples),
        )


def report_import(
    common: CommonOptions, transcripts: Sequence[ImportedTranscript], *, dry_run: bool
) -> None:
    """Print the result for each source, in lines that fit any terminal."""
    if common.json:
        print_json({"files": transcripts, **({"dry_run": True} if dry_run else {})})
        return
    console = stdout_console()
    for transcript in transcripts:
        for line in _lines(transcript, dry_run=dry_run):
            console.print(line)
    if dry_run:
        console.print("This was a dry run: nothing was imported.")


def _lines(transcript: ImportedTranscript, *, dry_run: bool) -> Iterator[RenderableType]:
    is_notes = transcript.format == "markdown"
    what, parts = ("file", "part") if is_notes else ("conversation", "turn")
    size = (
        f"{transcript.format}: {_count(transcript.sessions, what)}, "
        f"{_count(transcript.turns, parts)}"
        if transcript.sessions
        else transcript.format
    )
    yield Text.assemble((printable(transcript.name, longest=60).plain, "bold"), f" ({size})")
    figures = {
        "to import" if dry_run else "imported": transcript.imported,
        "changed": transcript.changed,
        "known": transcript.known,
        "forgotten as no longer there" if is_notes else "taken back": transcript.taken_back,
    }
    counts = ", ".join(
        f"{name} {count:,}" for name, count in figures.items() if count or "import" in name
    )
    yield _indented(counts)
    if transcript.titles:
        titles = ", ".join(
            f"“{printable(title, longest=LONGEST_TITLE).plain}”" for title in transcript.titles
        )
        more = transcript.sessions - len(transcript.titles)
        yield _indented(f"about {titles}" + (f" and {more:,} more" if more > 0 else ""))
    if transcript.reasons:
        why = ", ".join(f"{reason} ({count:,})" for reason, count in transcript.reasons.items())
        yield _indented(f"skipped {transcript.skipped:,}: {why}")
    for example in transcript.examples:
        if example.reason in SHOWN:
            yield _indented(f"{example.where}: {example.detail}", by=4)


def _indented(words: str, *, by: int = 2) -> Padding:
    return Padding(printable(words), (0, 0, 0, by))


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}" + ("" if number == 1 else "s")
