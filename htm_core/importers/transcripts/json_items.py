"""Read the items of a long JSON list one by one, without ever holding the list.

The text is read in parts; the standard library's own scanner parses each item as soon as it is
complete. A part grows to twice its size while an item is not, so that the work stays proportional
to the text.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Any

from ...base.errors import InvalidInput

PART = 1 << 20  # bytes that are read at once
ITEM_CHARACTERS = 256 << 20  # of one item; the largest conversations have some tens of millions
_SPACE = " \t\n\r"
# What a scanner says of a text that ends too early also where a text is long: the place that it
# names is where it began.
_UNFINISHED = ("Unterminated string", "Invalid \\")
_NEAR_END = 16  # characters: a number or a word may go on behind the last one


class BrokenList(InvalidInput):
    """Where a list is broken or cut off; the items before that place are whole."""


class _Text:
    """A text that is read in parts; `at` is where in the part that is held."""

    def __init__(self, read: Callable[[int], bytes], name: str) -> None:
        self._read, self.name = read, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._first = True
        self.held, self.at, self.ended, self.bytes = "", 0, False, 0

    def more(self, wanted: int) -> None:
        """Read on, so that at least `wanted` characters more are held unless the text ends."""
        parts, got = [self.held[self.at :]], 0
        while got < wanted and not self.ended:
            chunk = self._read(PART)
            self.ended = not chunk
            if self._first and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self._decode = codecs.getincrementaldecoder("utf-16")("strict")
            self._first = False
            try:
                parts.append(self._decode.decode(chunk, final=self.ended))
            except UnicodeDecodeError as error:
                raise InvalidInput(
                    f"{self.name}: expected UTF-8; other bytes came after byte "
                    f"{self.bytes + error.start:,}. Save it as UTF-8."
                ) from None
            self.bytes += len(chunk)
            got += len(parts[-1])
        self.held, self.at = "".join(parts), 0

    def next(self) -> str:
        """The next character that is not white space, which stays; empty at the end."""
        while True:
            while self.at < len(self.held) and self.held[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.held):
                return self.held[self.at]
            if self.ended:
                return ""
            self.more(PART)


def items(read: Callable[[int], bytes], name: str, *, scan: json.JSONDecoder) -> Iterator[Any]:
    """The items of a JSON list in their order. `read(size)` gives the next bytes; `scan` parses.

    Raises `InvalidInput` for broken JSON when it is reached, and for an item of more than
    `ITEM_CHARACTERS`.
    """
    text = _Text(read, name)
    if text.next() != "[":
        raise InvalidInput(
            f"{name}: expected a JSON list; {text.held[text.at : text.at + 40]!a} came."
        )
    text.at += 1
    number = 0
    separator = text.next()
    while separator != "]":
        number += 1
        yield _item(text, scan, where=f"{name}, item {number}")
        separator = text.next()
        if separator == ",":
            text.at += 1
        elif separator != "]":
            raise BrokenList(
                f"{name}: expected a comma or the end of the list after item {number}; "
                f"{separator or 'the end of the file'!a} "
                "came. The file is broken or was cut off: download or copy it again."
            )
    text.at += 1
    if text.next():
        raise InvalidInput(
            f"{name}: expected one JSON list; more came after it. Remove what follows the list."
        )


def _item(text: _Text, scan: json.JSONDecoder, *, where: str) -> Any:
    text.next()
    while True:
        length = len(text.held) - text.at
        try:
            value, end = scan.raw_decode(text.held, text.at)
            if end < len(text.held) or text.ended:
                text.at = end
                return value
        except json.JSONDecodeError as error:
            broken = error.pos < len(text.held) - _NEAR_END and not error.msg.startswith(
                _UNFINISHED
            )
            if text.ended or broken:
                reason = "it ends too early" if text.ended and not broken else error.msg
                raise BrokenList(
                    f"{where}: expected JSON; {reason}. The file is broken or was cut off: "
                    "download or copy it again."
                ) from None
        except (ValueError, RecursionError) as error:
            raise BrokenList(
                f"{where}: expected plain JSON; {error}. Fix or remove that place."
            ) from None
        if length > ITEM_CHARACTERS:
            raise InvalidInput(
                f"{where}: expected at most {ITEM_CHARACTERS >> 20} million characters, got more; "
                "take it out of the file."
            )
        text.more(max(PART, length))
