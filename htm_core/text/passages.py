"""Splitting a text into passages that fit an embedding model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import category

from ..base.errors import InvalidInput

LIMIT = 900
OVERLAP = 100

# Where a text may be cut, best first. Each match ends where the next passage may begin. A heading
# ("Next steps:") stays with the text below it, and a list's number ("6.") with its line.
_PARAGRAPH = re.compile(r"(?<!:)(?<!:\*\*)\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(
    r"""(?<!\n\d)(?<!\n\d\d)[.!?…]["'”’»)\]]*\s+(?![a-z])|[。！？｡][」』”’）]*\s*|\n\s*"""  # noqa: RUF001
)
_WORD = re.compile(r"\s+")
_INK = re.compile(r"\S")
_JOINERS = "\u200d\ufe0e\ufe0f"


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A passage's place in its text: text[start:stop], counted in characters."""

    start: int
    stop: int


def split(text: str, *, limit: int = LIMIT, overlap: int = OVERLAP) -> list[PassageSpan]:
    """Cut a text into passages of at most `limit` characters, at paragraphs, else sentences, else
    words.

    Every character but white space lies in a passage, and no passage begins or ends with white
    space. Where the cut is not at the end of a paragraph, the next passage repeats up to `overlap`
    characters, in whole sentences or words if possible. A text of white space has no passage. Takes
    linear time; a text within the limit is one passage.
    """
    if limit < 1 or not 0 <= overlap < max(limit // 2, 1):
        raise InvalidInput(
            "limit and overlap: expected a limit of at least 1 and an overlap from 0 to below "
            "its half, "
            f"got {limit!r} and {overlap!r}."
        )
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    spans: list[PassageSpan] = []
    while stop - start > limit:
        cut, again = _cut(text, start, stop, limit, overlap)
        spans.append(PassageSpan(start, start + len(text[start:cut].rstrip())))
        start = _next_ink(text, cut if text[cut].isspace() else again)  # no overlap across a gap
    return [*spans, PassageSpan(start, stop)] if start < stop else spans


def _cut(text: str, start: int, stop: int, limit: int, overlap: int) -> tuple[int, int]:
    """Where the passage ends, and where the next one begins.

    The passage is at least half full, and leaves at least a quarter of the limit for the next one.
    """
    low, high = start + max(limit // 2, 1), start + min(limit, stop - start - limit // 4)
    if cut := _last(_PARAGRAPH, text, low, high):
        return cut, cut
    for boundary in (_SENTENCE, _WORD):
        if cut := _last(boundary, text, low, high):
            return cut, _first(boundary, text, cut - overlap, cut)
    cut = _between_characters(text, low, high)
    return cut, next(
        (place for place in range(cut - overlap, cut) if _is_between_characters(text, place)), cut
    )


def _last(boundary: re.Pattern[str], text: str, low: int, high: int) -> int | None:
    ends = [found.end() for found in boundary.finditer(text, low, high)]
    return ends[-1] if ends else None


def _first(boundary: re.Pattern[str], text: str, low: int, high: int) -> int:
    match = boundary.search(text, low, high)
    return match.end() if match else high


def _next_ink(text: str, place: int) -> int:
    match = _INK.search(text, place)
    return match.start() if match else len(text)


def _between_characters(text: str, low: int, high: int) -> int:
    """The last place from `low` to `high` that does not split a letter from its marks or a joined
    emoji, else `high`.
    """
    return next(
        (place for place in range(high, low, -1) if _is_between_characters(text, place)), high
    )


def _is_between_characters(text: str, place: int) -> bool:
    character = text[place]
    joins = (
        category(character)[0] == "M"
        or character in _JOINERS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
    return not joins and text[place - 1] != "\u200d"
