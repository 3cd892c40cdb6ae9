"""An answer written to a terminal as it comes, broken between words."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console

from ..rendering import printable

_WORD = re.compile(r"\n|[^\S\n]+|\S+")


class WrappedWriter:
    """Writes text as it comes. A word that finds no room in a line begins the next one; the width
    is read anew for each word.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0
        self._written = False
        self._held = ""  # what may be the beginning of a word

    def write(self, text: str) -> None:
        """Write what is complete of a text, and hold the beginning of its last word."""
        pieces = _WORD.findall(self._held + text)
        self._held = pieces.pop() if pieces and not pieces[-1].isspace() else ""
        for piece in pieces:
            self._put(piece)
        self._console.file.flush()

    def end(self) -> None:
        """Write what is held, and end the line, if there is one."""
        if self._held:
            self._put(self._held)
        self._held = ""
        if self._written:
            self._console.file.write("\n")
        self._console.file.flush()
        self._column = 0

    def _put(self, piece: str) -> None:
        file = self._console.file
        self._written = True
        if piece == "\n":
            file.write(piece)
            self._column = 0
            return
        if not self._console.is_terminal:
            file.write(printable(piece, longest=len(piece)).plain)
            return
        clean = printable(piece, longest=len(piece)).plain.expandtabs(4)
        size, width = cell_len(clean), self._console.width
        if self._column and self._column + size > width:
            file.write("\n")
            self._column = 0
            if clean.isspace():
                return
        file.write(clean)
        self._column = (
            (self._column + size) % max(1, width) if size > width else self._column + size
        )
