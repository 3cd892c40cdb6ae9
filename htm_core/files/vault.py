"""Marks in a note of a vault beside its words, as Obsidian writes them: `#tags`, `[[links]]`, and
links to files of Markdown.

What stands in code, in a comment, or behind a backslash is none of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from ..text.markdown import fenced_lines

LONGEST = 1_000  # characters of the name of a note with its heading
MARKDOWN_SUFFIXES = (".md", ".markdown")

# None of these looks back at what it has read, so that a line of nothing but signs takes no longer
# than another.
_CODE = re.compile(r"(?<!`)(`++)[^`]++\1(?!`)")
_COMMENTS = (("%%", "%%"), ("<!--", "-->"))
_ESCAPED = re.compile(r"\\[\[\]#`\\]")
_WIKI_LINK = re.compile(rf"\[\[([^\[\]|\n]{{1,{LONGEST}}}+)(?:\|[^\[\]\n]*+)?\]\]")
_MARKDOWN_LINK = re.compile(
    rf"\]\((?:<([^<>\n]{{1,{LONGEST}}}+)>|([^()\s<>]{{1,{LONGEST}}}+))[^()\n]{{0,300}}+\)"
)
_TAG = re.compile(r"""(?<!\S)\#([^\s\#!"$%&'()*+,.:;<=>?@\[\]^`{|}~\\]{1,300})""")


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link to another note: its name or path without the ending, and the heading in it, if one is
    named.
    """

    note: str
    heading: str | None = None

    def __str__(self) -> str:
        return self.note if self.heading is None else f"{self.note}#{self.heading}"


def plain(text: str) -> str:
    """The text with spaces instead of code, comments and what is escaped; every character keeps its
    place.
    """
    blank = list(text)
    for start, stop in fenced_lines(text):
        blank[start:stop] = " " * (stop - start)
    made = _CODE.sub(_blank, "".join(blank))
    for opening, closing in _COMMENTS:
        made = "".join(_without(made, opening, closing))
    return _ESCAPED.sub(_blank, made)


def _without(text: str, opening: str, closing: str) -> Iterator[str]:
    """The parts of a text, blank from an opening to its closing."""
    at = 0
    while (start := text.find(opening, at)) >= 0 and (
        end := text.find(closing, start + len(opening))
    ) >= 0:
        stop = end + len(closing)
        yield text[at:start]
        yield " " * (stop - start)
        at = stop
    yield text[at:]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def note_tags(text: str) -> list[str]:
    """The tags in a plain text as they are written, without "#", each once: "work/berlin". Numbers
    alone are none.
    """
    tags = (match[1].strip("/") for match in _TAG.finditer(text))
    return list(
        dict.fromkeys(
            each for each in tags if any(unicodedata.category(char)[0] in "LS" for char in each)
        )
    )


def tags_of_the_note(text: str) -> list[str]:
    """The tags that are for a whole note: those in lines that have nothing but tags."""
    lines = (line.strip() for line in text.splitlines() if "#" in line)
    alone = [line for line in lines if all(word.startswith("#") for word in line.split())]
    return list(dict.fromkeys(tag for line in alone for tag in note_tags(line)))


def note_links(text: str) -> list[NoteLink]:
    """The links to other notes in a plain text, each once: `[[Note#Heading|alias]]`, `![[Note]]`
    and `[words](Note.md)`.
    """
    links = [(match.start(), _wiki_link(match[1])) for match in _WIKI_LINK.finditer(text)]
    links += [
        (match.start(), _markdown_link(match[1] or match[2]))
        for match in _MARKDOWN_LINK.finditer(text)
    ]
    return list(
        dict.fromkeys(
            link for _, link in sorted(links, key=lambda item: item[0]) if link is not None
        )
    )


def links_of_properties(value: Any) -> Iterator[NoteLink]:
    """The links in the front matter of a note, such as `author: "[[Ines]]"`."""
    if isinstance(value, str):
        yield from note_links(value) if "[[" in value else ()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from links_of_properties(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from links_of_properties(item)


def read_link(written: str) -> NoteLink:
    """A link as `str` wrote it."""
    note, _, heading = written.partition("#")
    return NoteLink(note, heading or None)


def _wiki_link(written: str) -> NoteLink | None:
    # in a table the bar before an alias is escaped
    note, _, heading = written.replace("\\", "").partition("#")
    return _link(note, heading)


def _markdown_link(written: str) -> NoteLink | None:
    note, _, heading = unquote(written).partition("#")
    return (
        _link(note, heading)
        if note.lower().endswith(MARKDOWN_SUFFIXES) and "://" not in note
        else None
    )


def _link(note: str, heading: str) -> NoteLink | None:
    """A link; None for one within the same note."""
    name = unicodedata.normalize("NFC", note.strip())
    for suffix in MARKDOWN_SUFFIXES:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    last = heading.rpartition("#")[2].strip()  # "#One#Two" is below One; "#^id" is a paragraph
    return NoteLink(name, last if last and not last.startswith("^") else None) if name else None


class Notes:
    """The notes of a vault by the names that links have for them."""

    def __init__(self, paths: Iterable[str]) -> None:
        """`paths` are those of the notes, below the vault."""
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for path in paths:
            key = _key(path)
            self._by_name.setdefault(key.rpartition("/")[2], []).append((key, path))

    def find(self, note: str, *, frm: str) -> str | None:
        """The path of the note that a link of the note `frm` means; None where there is none.

        A path from the vault's top is meant first, then one beside the note, then the shortest that
        ends so.
        """
        wanted = _key(note).lstrip("/")
        beside = _key(_joined(PurePosixPath(frm).parent.as_posix(), note))
        ending = [
            (key, path)
            for key, path in self._by_name.get(wanted.rpartition("/")[2], ())
            if key in (wanted, beside) or key.endswith(f"/{wanted}")
        ]
        best = min(
            ending,
            key=lambda item: (item[0] != wanted, item[0] != beside, len(item[0]), item[0]),
            default=None,
        )
        return None if best is None else best[1]


def _joined(folder: str, note: str) -> str:
    parts: list[str] = [] if folder == "." else folder.split("/")
    for part in note.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def _key(path: str) -> str:
    """A path as links are compared: without the ending of Markdown, in one form of its letters,
    whatever their case.
    """
    stem = path
    for suffix in MARKDOWN_SUFFIXES:
        if stem.lower().endswith(suffix):
            stem = stem[: -len(suffix)]
    return unicodedata.normalize("NFC", stem).casefold()
