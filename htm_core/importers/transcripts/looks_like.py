"""Descriptions of files that are no transcripts, in words for an error message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

UNDERSTOOD = (
    "exports of ChatGPT and Claude (.zip or conversations.json), sessions of Claude Code and "
    "Codex, chat stores and messages of "
    "LlamaIndex, message dumps of LangChain, memories of mem0, palaces of MemPalace, CSV and "
    "Parquet tables, folders of Markdown, "
    "JSON lines, lines of 'Name: text', and backups of htm export"
)
_MAGIC: Mapping[bytes, str] = {
    b"%PDF-": "a PDF document",
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"SQLite format 3\0": "an SQLite database",
    b"PGDMP": "a dump of pg_dump",
    b"PAR1": "a Parquet table",
    b"ARROW1": "an Arrow table",
    b"\x7fELF": "a program",
    b"MZ": "a program for Windows",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"ID3": "an MP3 recording",
    b"OggS": "an Ogg recording",
    b"{\\rtf": "an RTF document",
}
_TAR = slice(257, 262)
_TEXTS: Mapping[str, str] = {
    r"\s*(<!doctype html|<html)": "an HTML page",
    r"\s*<\?xml": "an XML document",
    r"%PDF-": "a PDF document",
    r"\{\\rtf": "an RTF document",
}
_ADVICE: Mapping[str, str] = {
    "a gzip archive": "unpack it first",
    "a PDF document": "save its text as a file, and load that with htm load",
    "an HTML page": "an export also has a JSON file: import that one",
    "a dump of pg_dump": "restore it into a database, and import that",
}


def looks_like(head: bytes) -> str | None:
    """Describe a file by its first bytes; None for text that may be anything."""
    for magic, words in _MAGIC.items():
        if head.startswith(magic):
            return words
    if head[_TAR] == b"ustar":
        return "a tar archive"
    if head[4:8] == b"ftyp":
        return "a video"
    return text_looks_like(head.decode("ascii", "replace"))


def text_looks_like(start: str) -> str | None:
    """Describe a text by its beginning; None for one that may be a transcript."""
    return next(
        (words for pattern, words in _TEXTS.items() if re.match(pattern, start, re.IGNORECASE)),
        None,
    )


def json_words(value: Any) -> str:
    """Describe a JSON value that no reader knows: its kind, and the fields that it has."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        fields = ", ".join(json.dumps(str(name)[:40]) for name in list(first)[:6])
        what = f"an object with the fields {fields}" if fields else "an object without fields"
        what += ", …" if len(first) > 6 else ""
        return (
            f"a JSON list, whose first item is {what}"
            if isinstance(value, list)
            else f"JSON: {what}"
        )
    return "an empty JSON list" if value == [] else f"JSON: {json.dumps(value)[:60]}"


def refusal(name: str, words: str) -> str:
    """The message of an error: what a file looks like, and what is understood."""
    advice = f" To use it, {_ADVICE[words]}." if words in _ADVICE else ""
    return (
        f"{name}: expected a transcript; it looks like {words}.{advice} Understood are "
        f"{UNDERSTOOD}."
    )
