"""Find what is asked in a long message among what is pasted into it: a question above, below or
between a mail, a log or code.

It goes by where a part stands, how long it is, whether it ends with a question mark of any script,
and by blank lines, fences and quoted lines. It reads no words, so it holds in every language. A
message of ordinary length is one question, as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import name

LONG = 400  # characters; a shorter message is searched for as it is
SHORT = 300  # characters of a part that asks, at most
MOST = 3  # parts
REACH = 8_000  # characters that are read from the beginning of a message, and from its end
GIST = 250  # characters from the beginning of what is pasted, and from its end
# without a question mark a part asks if it is at most one of so many parts of the message
UNMARKED_SHARE = 4

_FENCES = ("```", "~~~")
_QUOTES = (">", "|")
_SENTENCE_ENDS = re.compile(
    "[.!?…\u061f;\u037e\u0964\u3002\uff01\uff1f\uff61][^\\w\\s]{0,3}\\s|[\u3002\uff01\uff1f\uff61]|\n"
)


@dataclass(frozen=True, slots=True)
class AskedParts:
    """The parts of a message that ask, and the gist of what stands beside them.

    `surely` says that they have a question mark; else they only look like a question, and the rest
    may matter as much.
    """

    parts: tuple[str, ...]
    beside: str
    surely: bool

    @property
    def words(self) -> str:
        """All that is asked, as one text."""
        return "\n".join(self.parts)


def asked_in(text: str) -> AskedParts | None:
    """Return what a long message asks; None where it is short, or where nothing in it can be told
    from the rest.
    """
    text = ends_of(text.strip())
    if len(text) < LONG:
        return None
    blocks = list(_own_blocks(text))
    if not blocks:
        return None
    marked, unmarked = list[str](), list[str]()
    # Of equal parts the last comes first: mostly a question stands below what is pasted.
    for part in dict.fromkeys((_edge(blocks[-1], at_end=True), _edge(blocks[0], at_end=False))):
        if part:
            (marked if _asks(part) else unmarked).append(part)
    if not marked and (inner := [part for part in _inner(blocks) if _asks(part)]):
        marked = inner
    unmarked = (
        [] if marked else [part for part in unmarked if UNMARKED_SHARE * len(part) <= len(text)]
    )
    parts = tuple([*marked, *dict.fromkeys(unmarked)][:MOST])
    rest = text
    for part in parts:
        rest = rest.replace(part, "\n", 1)
    rest = rest.strip()
    if not parts or not rest:
        return None
    gist = rest if len(rest) <= 2 * GIST else f"{rest[:GIST]} … {rest[-GIST:]}"
    return AskedParts(parts, gist, surely=bool(marked))


def ends_of(text: str) -> str:
    """Return the part of a message that is read: all of it, or the beginning and the end of a very
    long one.
    """
    return text if len(text) <= 2 * REACH else f"{text[:REACH]}\n\n{text[-REACH:]}"


def asked_words(text: str) -> str:
    """The words of a message that ask, where they can be told from the rest; else all of them."""
    asked = asked_in(text)
    return text if asked is None else asked.words


def _own_blocks(text: str) -> Iterator[str]:
    """The blocks of lines that stand outside of fences and are not quoted, without their blank
    lines.
    """
    lines, fence = list[str](), ""
    for line in [*text.split("\n"), ""]:
        begin = line.lstrip()
        if fence:
            fence = "" if begin.startswith(fence) else fence
            continue
        fence = next((each for each in _FENCES if begin.startswith(each)), "")
        if begin and not fence and not begin.startswith(_QUOTES):
            lines.append(line)
        elif lines:
            yield "\n".join(lines).strip()
            lines = []


def _inner(blocks: list[str]) -> Iterator[str]:
    """The short blocks between the first and the last, and the sentences of long ones."""
    for place, block in enumerate(blocks):
        if len(block) > SHORT:
            yield from _sentences(block)
        elif 0 < place < len(blocks) - 1:
            yield block


def _sentences(block: str) -> Iterator[str]:
    """The sentences of a block that are short enough to be a part."""
    ends = [0, *(found.end() for found in _SENTENCE_ENDS.finditer(block)), len(block)]
    for start, stop in pairwise(ends):
        if 0 < len(sentence := block[start:stop].strip()) <= SHORT:
            yield sentence


def _edge(block: str, *, at_end: bool) -> str:
    """Return what may ask at either end of a message: a short block, else the sentences of a long
    one from a question on.
    """
    if len(block) <= SHORT:
        return block
    if at_end:
        near = block[-SHORT:]
        starts = [found.end() for found in _SENTENCE_ENDS.finditer(near)]
        asking = (
            start for start, stop in pairwise([*starts, SHORT]) if _asks_last(near[start:stop])
        )
        first = next(asking, None)
        return "" if first is None else near[first:].strip()
    near = block[:SHORT]
    stops = [found.end() for found in _SENTENCE_ENDS.finditer(near)]
    last = next((stop for stop in reversed(stops) if _asks_last(near[:stop])), 0)
    return near[:last].strip()


def _asks(part: str) -> bool:
    """True if a sentence of a part ends with a question mark."""
    return _asks_last(part) or any(
        _asks_last(part[: found.end()]) for found in _SENTENCE_ENDS.finditer(part)
    )


def _asks_last(text: str) -> bool:
    """True if a text ends with a question mark, of whatever script; that of Greek is a
    semicolon.
    """
    for place in range(len(text) - 1, -1, -1):
        mark = text[place]
        if mark in ";\u037e":
            return place > 0 and name(text[place - 1], "").startswith("GREEK")
        if mark.isalnum() or "QUESTION MARK" in name(mark, ""):
            return not mark.isalnum()
    return False
